"""The OpenB trace: how its files are read, what arrives, and where the policies place it."""

import gzip
from collections import Counter
from random import Random

import pytest

from policyd.language.source import Source
from policyd.model.devices import MODELS, SHARE
from policyd.policy.load import load
from policyd.simulation.openb import (
    GPU,
    NAMESPACE,
    Trace,
    TraceError,
    TracePod,
    as_node,
    as_pod,
    by_times,
    experiment,
)
from policyd.simulation.openb_files import published, read_trace
from policyd.simulation.run import Arrival, Scenario, simulate
from policyd.values.quantity import Quantity
from tests.policy.build import NOW
from tests.shared import ROOT, needs_shared, shared_file
from tests.simulation.openb_oracle import POLICIES, Job, Machine, place, shapes_of

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,96000,393216,8,V100M16\n"
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p1,12000,16384,1,460,,LS,Running,100,200,100
p2,4000,8192,2,1000,V100M16|P100,BE,Running,50,,
p3,1000,1024,0,0,,BE,Pending,70,90,
"""


def trace(tmp_path, nodes=NODES, pods=PODS):
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "pods.csv").write_text(pods)
    return read_trace([tmp_path / "nodes.csv"], [tmp_path / "pods.csv"])


def problems(tmp_path, **texts):
    with pytest.raises(TraceError) as caught:
        trace(tmp_path, **texts)
    return [(p.place.line, p.place.column, p.cause, p.remedy) for p in caught.value.problems]


# --- reading ---


def test_nodes_have_devices_with_a_model(tmp_path):
    first, second = trace(tmp_path).nodes
    assert (first.name, len(first.devices), first.devices[0].model) == ("n1", 2, "P100")
    assert second.allocatable["cpu"] == Quantity.from_int(96)
    assert second.allocatable["memory"] == Quantity.parse("384Gi")
    assert second.ready
    assert trace(tmp_path).capacity == 10_000


def test_pods_ask_for_a_share_for_whole_gpus_or_for_none(tmp_path):
    shared_, whole, none = (as_pod(pod, NOW) for pod in trace(tmp_path).pods)
    assert shared_.annotations == {SHARE: f"{GPU}=460m"}
    assert (shared_.labels["qos"], shared_.namespace) == ("LS", NAMESPACE)
    assert whole.requests[GPU] == 2
    assert whole.models == ["V100M16", "P100"]
    assert whole.annotations == {MODELS: "V100M16|P100"}
    assert GPU not in none.requests


def test_one_whole_gpu_is_no_share(tmp_path):
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n"
    (pod,) = trace(tmp_path, pods=pods).pods
    assert as_pod(pod, NOW).annotations == {}
    assert as_pod(pod, NOW).requests[GPU] == 1


def test_files_may_be_compressed_and_have_a_byte_order_mark(tmp_path):
    (tmp_path / "nodes.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + NODES.encode()))
    (tmp_path / "pods.csv").write_text(PODS)
    assert len(read_trace([tmp_path / "nodes.csv.gz"], [tmp_path / "pods.csv"]).nodes) == 2


def test_the_columns_are_found_by_their_names(tmp_path):
    nodes = "model,gpu,memory_mib,sn,cpu_milli\nP100,2,262144,n1,64000\n"
    (node,) = trace(tmp_path, nodes=nodes).nodes
    assert (node.name, str(node.allocatable["cpu"])) == ("n1", "64")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "p1,12000",
            "p1,12.5",
            (2, 4, "`cpu_milli` is `12.5`, and not a whole number", "write one from 0 to"),
        ),
        (
            "1,460,",
            "1,1460,",
            (2, 18, "`gpu_milli` is `1460`, and not a whole number", "from 0 to 1000"),
        ),
        ("1,460,", "1,0,", (2, 18, "a pod with one GPU asks for none of it", "write 1 to 1000")),
        ("8192,2,", "8192,,", (3, 14, "`num_gpu` is empty, and not a whole number", "0 to 256")),
        ("p3,1000", "p1,1000", (4, 1, "`p1` stands in", "remove one of them")),
        (",70,90,", ",70,60,", (4, 33, "the pod ends before it arrives", "check the two times")),
        ("p3,1000,1024", "p3,1000", (4, 1, "this line has 10 values, and the first line 11", "")),
        ("p3,", ",", (4, 1, "the pod has no name", "give it one")),
    ],
)
def test_what_is_wrong_with_a_line_is_said_with_its_place(tmp_path, old, new, expected):
    assert PODS.count(old) == 1
    ((line, column, cause, remedy),) = problems(tmp_path, pods=PODS.replace(old, new))
    assert (line, column) == expected[:2]
    assert cause.startswith(expected[2])
    assert expected[3] in remedy


def test_all_wrong_lines_are_reported(tmp_path):
    found = problems(tmp_path, nodes=NODES.replace("64000", "x").replace("96000", "y"))
    assert [line for line, *_ in found] == [2, 3]


def test_a_missing_column_is_named_with_those_that_are_needed(tmp_path):
    ((_, _, cause, remedy),) = problems(tmp_path, nodes=NODES.replace("gpu,", "gpus,"))
    assert cause == "there is no column `gpu`"
    assert remedy == "the first line names the columns: sn, cpu_milli, memory_mib, gpu, model"


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"\x1f\x8b broken", "the file cannot be decompressed"),
        (b"sn,cpu\xff", "the file is not UTF-8"),
        (b'sn,"cpu', "this is no CSV"),
    ],
)
def test_files_that_are_no_csv_are_refused(tmp_path, data, cause):
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "nodes.csv").write_bytes(data)
    with pytest.raises(TraceError, match=cause):
        read_trace([tmp_path / "nodes.csv"], [tmp_path / "pods.csv"])


def test_the_published_files_are_found_compressed_or_not(tmp_path):
    (tmp_path / "openb_pod_list_cpu250.csv.gz").touch()
    assert [path.name for path in published(tmp_path, "cpu250")] == [
        "openb_node_list_gpu_node.csv",
        "openb_pod_list_cpu250.csv.gz",
    ]


@needs_shared
@pytest.mark.parametrize("name", ["default", "gpushare100", "multigpu50", "cpu250", "gpuspec33"])
def test_the_published_traces_can_be_read(name):
    nodes, pods = published(shared_file("data", "openb"), name)
    made = read_trace([nodes], [pods])
    assert (len(made.nodes), made.capacity) == (1213, 6_212_000)
    assert len(made.pods) >= 8152


# --- what arrives ---


def small(gpus, *milli):
    nodes = (as_node("n", 64000, 1000, gpus, ""),)
    pods = tuple(
        TracePod(f"p{at}", 1, 1, each // 1000 or bool(each), min(each, 1000))
        for at, each in enumerate(milli)
    )
    return Trace(nodes, pods, "here")


def asked(arrivals):
    return sum(arrival.pod.requests[GPU].milli_value() for arrival in arrivals)


@pytest.mark.parametrize("seed", range(5))
def test_pods_are_drawn_until_the_next_would_be_too_many(seed):
    made = experiment(small(8, 300, 500, 1000, 0), 1.3, seed, NOW).arrivals
    assert 10_400 - 1000 < asked(made) <= 10_400


@pytest.mark.parametrize("seed", range(5))
def test_too_many_pods_become_fewer(seed):
    made = experiment(small(1, *[500] * 40), 1.3, seed, NOW).arrivals
    assert asked(made) == 1000


def test_a_pod_that_comes_again_has_a_name_of_its_own():
    made = experiment(small(8, 300, 500), 1.3, 1, NOW).arrivals
    names = [arrival.pod.name for arrival in made]
    assert len(set(names)) == len(names) > 2
    assert {name.partition("-")[0] for name in names} == {"p0", "p1"}


def test_the_seed_decides_what_arrives_and_when():
    def names(seed):
        return [
            each.pod.name for each in experiment(small(8, 300, 500, 0), 1.3, seed, NOW).arrivals
        ]

    assert names(1) == names(1)
    assert names(1) != names(2)


def test_nodes_get_a_random_rank_in_front_of_their_names(tmp_path):
    made = trace(tmp_path, nodes=NODES + "".join(f"m{at},1,1,1,T4\n" for at in range(30)))
    first, again, other = (experiment(made, 1.3, seed, NOW).nodes for seed in (1, 1, 2))
    assert [node.name for node in first] == [node.name for node in again]
    assert [node.name for node in first] != [node.name for node in other]
    assert sorted(int(node.name.partition("-")[0]) for node in first) == list(range(32))
    assert [node.name.partition("-")[2] for node in first] == [node.name for node in made.nodes]
    assert first[0].metadata["name"] == first[0].name
    assert first[0].devices == made.nodes[0].devices


def test_pods_without_gpus_alone_arrive_once():
    assert len(experiment(small(8, 0, 0), 1.3, 1, NOW).arrivals) == 2


def test_by_times_pods_arrive_and_end_as_in_the_trace(tmp_path):
    made = by_times(trace(tmp_path), 0, NOW)
    assert [(a.pod.name, a.at, a.end) for a in made] == [
        ("p2", 0.0, None),
        ("p3", 20.0, 40.0),
        ("p1", 50.0, 150.0),
    ]
    assert made[2].pod.created.nanos - NOW.nanos == 50 * 10**9


def test_a_trace_without_times_cannot_be_played_by_them():
    with pytest.raises(TraceError, match="does not say when the pod p0 arrives"):
        by_times(small(1, 300), 0, NOW)


# --- the policies ---


def policy(name):
    path = ROOT / "rules" / "openb" / name / f"{name}.expr"
    return load([Source(path.name, path.read_text())])


def drawn(seed):
    """Give a small cluster, and jobs of a few shapes that ask for more than it has."""
    random = Random(seed)  # noqa: S311 - a small cluster, the same for a seed
    models = ["T4", "A10", "V100"]
    machines = [
        (
            f"n{at}",
            random.choice([32000, 64000, 96000]),
            random.choice([131072, 262144]),
            random.choice([1, 2, 4, 8]),
            random.choice(models),
        )
        for at in random.sample(range(10, 99), 8)
    ]
    shapes = [
        (
            random.choice([2000, 4000, 8000, 12000, 16500]),
            random.choice([4096, 30517]),
            *random.choice([(0, 0), (1, 70), (1, 250), (1, 500), (1, 810), (1, 1000), (2, 1000)]),
            random.choice([(), (), ("T4",), ("A10", "V100")]),
        )
        for _ in range(14)
    ]
    drawn_ = [random.choice(shapes) for _ in range(110)]
    jobs = [
        Job(f"p{at}", cpu, memory, gpus, milli, models if gpus else ())
        for at, (cpu, memory, gpus, milli, models) in enumerate(drawn_)
    ]
    return machines, jobs


def simulated(name, machines, jobs):
    pods = tuple(TracePod(j.name, j.cpu, j.memory, j.gpus, j.milli, j.models) for j in jobs)
    made = Trace(tuple(as_node(*machine) for machine in machines), pods, "drawn")
    scenario = Scenario(
        NOW,
        made.nodes,
        arrivals=[Arrival(as_pod(pod, NOW, uid=f"0-{pod.name}")) for pod in pods],
        workload=made.workload(NOW),
        drops=True,
    )
    outcome = simulate(policy(name), scenario)
    placed = dict.fromkeys([job.name for job in jobs])
    for node in outcome.nodes:
        for pod in node.pods:
            placed[pod.name] = node.name, tuple(sorted(pod.taken.get(GPU, ())))
    return placed, outcome


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_the_rules_place_every_pod_where_their_description_does(name, seed):
    machines, jobs = drawn(seed)
    expected = place(name, [Machine(*machine) for machine in machines], jobs, shapes_of(jobs))
    found, outcome = simulated(name, machines, jobs)
    assert found == expected
    assert 0 < len(outcome.dropped) == sum(place_ is None for place_ in expected.values())
    assert outcome.pending == ()


def test_random_takes_any_node_and_any_device_that_suffices():
    machines, jobs = drawn(1)
    found, outcome = simulated("random", machines, jobs)
    for node in outcome.nodes:
        assert all(0 <= device.used <= device.total for device in node.devices)
    used = Counter(placed[0] for placed in found.values() if placed)
    assert len(used) == len(machines)
    first = [pod for pod in found.items() if pod[1]][:20]
    assert len({placed[0] for _, placed in first}) > 4
    assert outcome.dropped


def test_the_same_seed_gives_the_same_placements():
    machines, jobs = drawn(2)
    assert simulated("random", machines, jobs)[0] == simulated("random", machines, jobs)[0]
