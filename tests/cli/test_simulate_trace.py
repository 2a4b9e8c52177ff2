"""`policyd simulate` of a trace, several rule sets side by side, and the plot."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.command import run, write

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"n{at},64000,262144,{2 + at % 3},T4\n" for at in range(5)
)
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n" + "".join(
    f"p{at},{1000 + at},1024,{at % 3},{(at % 3 == 1) * 300},{at * 10},{at * 10 + 500}\n"
    for at in range(20)
)
PACK = """\
let gpu = "nvidia.com/gpu"
rule "fit" {
  require node.free.cpu >= pod.requests.cpu    because "Insufficient cpu"
  require node.free[gpu] >= pod.requests[gpu]  because "Insufficient gpu"
}
choose { order node.name asc }
"""
SPREAD = PACK.replace("node.name asc", "node.name desc")
TRACE = ("--trace", "openb", "--nodes", "nodes.csv", "--pods", "pods.csv")


@pytest.fixture(autouse=True)
def files():
    write("nodes.csv", NODES)
    write("pods.csv", PODS)
    write("pack.expr", PACK)
    write("spread.expr", SPREAD)


def data(*more, rules="pack.expr"):
    ran = run("simulate", rules, *TRACE, "-o", "json", *more)
    assert ran.status in {0, 1}, ran.err
    return ran.status, json.loads(ran.out)["runs"]


def test_the_experiment_brings_130_percent_and_what_fits_nowhere_leaves():
    status, (made,) = data()
    assert status == 1
    assert (made["pending"], made["dropped"] > 0) == (0, True)
    allocation = made["allocation"]
    assert allocation["resource"] == "nvidia.com/gpu"
    assert list(allocation["atArrivals"])[:2] == ["50%", "60%"]
    last = allocation["curve"][-1]
    assert 1.1 < last["arrived"] <= 1.3
    assert last["allocated"] == pytest.approx(made["usage"]["nvidia.com/gpu"]["utilisation"])


def test_less_can_arrive_and_then_all_is_placed():
    status, (made,) = data("--arrivals", "0.5")
    assert (status, made["dropped"]) == (0, 0)
    assert made["allocation"]["curve"][-1]["arrived"] <= 0.5


def test_pods_that_fit_nowhere_can_wait():
    _, (made,) = data("--wait")
    assert (made["pending"] > 0, made["dropped"]) == (True, 0)


def test_by_the_traces_times_pods_come_and_go():
    status, (made,) = data("--times")
    assert (status, made["placed"], made["simulatedSeconds"]) == (0, 20, 690.0)
    assert made["usage"]["nvidia.com/gpu"]["used"] == "0"
    assert max(point["allocated"] for point in made["allocation"]["curve"]) > 0.5


def test_the_seed_decides_what_is_drawn():
    def curve(seed):
        return data("--seed", seed)[1][0]["allocation"]["curve"]

    assert curve("1") == curve("1")
    assert curve("1") != curve("2")


def test_each_compare_is_a_rule_set_of_its_own():
    write("two/a.expr", PACK.partition("choose")[0])
    write("two/b.expr", "choose { order node.name desc }")
    more = ("--compare", "spread.expr", "--compare", "two", "--compare", "two/a.expr,two/b.expr")
    _, runs = data(*more)
    assert [made["rules"] for made in runs] == [
        "pack.expr",
        "spread.expr",
        "two",
        "two/a.expr two/b.expr",
    ]
    curves = [made["allocation"]["curve"] for made in runs]
    assert curves[1] == curves[2] == curves[3]
    assert len({made["ruleset"] for made in runs[2:]}) == 1


def test_the_table_has_the_allocation_at_arrivals_for_each_rule_set():
    ran = run("simulate", "pack.expr", *TRACE, "--compare", "spread.expr")
    assert ran.status == 1
    lines = [line.split() for line in ran.out.splitlines()]
    (at_100,) = [line for line in lines if line[:4] == ["nvidia.com/gpu", "at", "100%", "arrivals"]]
    assert len(at_100) == 6
    assert any(line[:1] == ["dropped"] for line in lines)
    assert "pending or dropped under pack.expr:" in ran.out


def test_another_resource_can_be_followed():
    _, (made,) = data("--resource", "cpu")
    assert made["allocation"]["resource"] == "cpu"
    ran = run("simulate", "pack.expr", *TRACE, "--resource", "nvidia.com/gpus")
    assert (ran.status, "did you mean `nvidia.com/gpu`?" in ran.err) == (2, True)


def test_the_published_files_are_found_in_their_folder():
    write("openb/openb_node_list_gpu_node.csv", NODES)
    write("openb/openb_pod_list_default.csv", PODS)
    write("openb/openb_pod_list_cpu250.csv", PODS)
    arguments = ("simulate", "pack.expr", "--trace", "openb", "--trace-dir", "openb", "-o", "json")
    for more in ((), ("--trace-name", "cpu250")):
        ran = run(*arguments, *more)
        assert ran.status == 1
        assert json.loads(ran.out)["runs"] != []
    gone = run(*arguments, "--trace-name", "cpu25")
    assert gone.status == 2
    assert "did you mean `openb/openb_pod_list_cpu250.csv`?" in gone.err


def test_a_wrong_line_of_a_trace_is_shown_with_its_place():
    write("pods.csv", PODS.replace("p3,1003", "p3,many"))
    ran = run("simulate", "pack.expr", *TRACE)
    assert ran.status == 2
    assert "error: `cpu_milli` is `many`, and not a whole number" in ran.err
    assert "--> pods.csv:5:4" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--trace", "openb"), "give --trace-dir with the published ones, or --nodes and --pods"),
        (("--trace", "openb", "--nodes", "nodes.csv"), "give --trace-dir"),
        ((*TRACE, "--cluster", "c"), "leave out --cluster"),
        ((*TRACE, "--trace-dir", "d"), "leave out --nodes and --pods"),
        ((*TRACE, "--trace-name", "cpu250"), "--trace-name names a file in --trace-dir"),
        ((*TRACE, "--times", "--arrivals", "1"), "give one of the two"),
        (("--nodes", "n", "--pods", "p", "--arrivals", "1"), "add --trace openb"),
        (("--nodes", "n", "--pods", "p", "--trace-dir", "d"), "add --trace openb"),
        ((*TRACE, "--arrivals", "0"), "not in the range"),
        ((*TRACE, "--plot", "p.pdf"), "end the name in `.png` or `.svg`"),
        ((*TRACE, "--plot", "gone/p.png"), "there is no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, message):
    ran = run("simulate", "pack.expr", *arguments)
    assert ran.status == 2
    assert message in " ".join(ran.err.replace("│", " ").split())


# --- the plot ---


def test_a_plot_has_a_line_for_each_rule_set():
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    drawn = []
    for name in ("once.svg", "again.svg"):
        ran = run("simulate", "pack.expr", *TRACE, "--compare", "spread.expr", "--plot", name)
        assert ran.status == 1
        drawn.append(Path(name).read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    for label in ("pack.expr", "spread.expr", "nvidia.com/gpu arrived (% of the cluster)"):
        assert label in drawn[0]


def test_a_plot_can_be_a_picture_and_shows_time_where_pods_come_and_go():
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    run("simulate", "pack.expr", *TRACE, "--times", "--plot", "a.png")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    run("simulate", "pack.expr", *TRACE, "--times", "--plot", "a.svg")
    assert "time (seconds)" in Path("a.svg").read_text(encoding="utf-8")


def test_without_matplotlib_nothing_is_run_and_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = run("simulate", "pack.expr", *TRACE, "--plot", "a.png")
    assert (ran.status, ran.out) == (2, "")
    assert "pip install 'policyd[plot]'" in ran.err
