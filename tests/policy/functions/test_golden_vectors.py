"""The 22 worked vectors of kube-scheduler's formulas, by the rules that ship.

V1, V2 and so on are their numbers in the reference. Every rule is asked alone, with its weight.
"""

import pytest

from policyd.assets.locate import shipped
from policyd.language.source import Source
from policyd.policy.decide import decide
from policyd.policy.load import load
from tests.policy.build import as_pod, decision, node, pod, snapshot

FILES = ("kubernetes", "most-allocated", "requested-to-capacity-ratio")


def text(name):
    return shipped("rules").joinpath(f"{name}.expr").read_text(encoding="utf-8")


def scores(rule, manifest, *objects, change=("", ""), **settings):
    """Give what a rule gives each node, where the pod fits."""
    sources = [Source(name, text(name).replace(*change)) for name in FILES]
    made = decide(load(sources, settings), as_pod(manifest), snapshot(*objects))
    return {
        each.name: verdict.score
        for each in made.nodes
        for verdict in each.verdicts
        if each.fits and verdict.rule.name == rule
    }


def score(rule, manifest, *objects, **more):
    [only] = scores(rule, manifest, *objects, **more).values()
    return only


WEIGHTS = 'let weights = {"cpu": 1, "memory": 1}'
EVEN = pod(cpu="3", memory="5000")
SMALL = node("a", cpu="4", memory="10000")


@pytest.mark.parametrize(
    ("number", "cpu", "change", "expected"),
    [
        ("V1", "4", ("", ""), 37),
        ("V2", "6", ("", ""), 50),
        ("V3", "4", (WEIGHTS, 'let weights = {"cpu": 1, "memory": 2}'), 41),
    ],
)
def test_least_allocated(number, cpu, change, expected):
    on = node("a", cpu=cpu, memory="10000")
    assert score("NodeResourcesFit", EVEN, on, change=change) == expected, number


def test_v4_a_container_without_requests_counts_for_a_little():
    on = node("a", cpu="4", memory="8Gi")
    assert score("NodeResourcesFit", pod(), on) == 97
    assert score("NodeResourcesFit", pod(), on, pod("other", on="a")) == 95


def test_v5_most_allocated():
    assert score("MostAllocated", EVEN, SMALL) == 62
    # what is taken beyond what there is counts as full; more can be there where nothing is asked
    over = pod("other", on="a", cpu="5", memory="5000")
    assert score("MostAllocated", pod(cpu="0", memory="0"), SMALL, over) == 75


def test_v6_v7_a_shape_over_the_utilisation():
    assert score("RequestedToCapacityRatio", EVEN, SMALL) == 63
    some = pod(cpu="0", memory="5000")
    assert score("RequestedToCapacityRatio", some, SMALL) == 50
    with_gpu = pod(cpu="0", memory="5000", gpu="3")
    on = node("a", cpu="4", memory="10000", gpu="4")
    weights = '{"cpu": 1, "memory": 1, "nvidia.com/gpu": 3}'
    assert score("RequestedToCapacityRatio", with_gpu, on, shapeWeights=weights) == 69


def test_v8_a_falling_shape_is_cut_towards_zero():
    falling = {"shapeUtilization": "[0, 30]", "shapeScore": "[10, 0]"}
    one = '{"cpu": 1}'
    seven = pod(cpu="7", memory="0")
    on = node("a", cpu="100")
    assert score("RequestedToCapacityRatio", seven, on, shapeWeights=one, **falling) == 77


def test_v9_halves_are_rounded_up():
    falling = {"shapeUtilization": "[0, 100]", "shapeScore": "[10, 0]"}
    asked = pod(cpu="3333m", memory="5000")
    on = node("a", cpu="10", memory="10000")
    assert score("RequestedToCapacityRatio", asked, on, **falling) == 59


BALANCED = "NodeResourcesBalancedAllocation"


def test_v10_v11_v12_balance_is_compared_with_what_it_was():
    assert score(BALANCED, EVEN, SMALL) == 68
    on = node("a", cpu="4", memory="4Gi")
    there = pod("other", on="a", cpu="0", memory="2Gi")
    assert score(BALANCED, pod(cpu="2", memory="0"), on, there) == 87
    assert score(BALANCED, pod(cpu="4", memory="0"), on) == 50


THREE = """
    rule "three" {
      let resources = ["cpu", "memory", "nvidia.com/gpu"]
      let fill(r) = math.least(1.0, pod.requests[r] / node.allocatable[r])
      let mean = resources.map(r, fill(r)).sum() / 3.0
      let gaps = resources.map(r, (fill(r) - mean) * (fill(r) - mean))
      prefer 50 + (50 + int((1.0 - math.sqrt(gaps.sum() / 3.0)) * 100.0) - 100) / 2
    }
"""


@pytest.mark.parametrize(("memory", "expected"), [("1000", 75), ("2000", 69)])
def test_v13_balance_of_three_resources_is_a_rule_of_its_own(memory, expected):
    on = node("a", cpu="4", memory="4000", gpu="4")
    made = decision(THREE, pod(cpu="1", memory=memory, gpu="1"), on)
    assert made.nodes[0].total == expected


def test_v14_soft_taints_count_against_a_node():
    def tainted(name, count):
        made = node(name)
        taint = {"value": "", "effect": "PreferNoSchedule"}
        made["spec"] = {"taints": [{**taint, "key": f"t{at}"} for at in range(count)]}
        return made

    found = scores("TaintToleration", pod(), tainted("a", 3), tainted("b", 1), tainted("c", 0))
    assert found == {"a": 0, "b": 3 * 67, "c": 300}


def test_v15_preferred_node_affinity_is_stretched():
    wanting = pod()
    wanting["spec"]["affinity"] = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": weight,
                    "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
                }
                for key, weight in (("two", 2), ("five", 5))
            ]
        }
    }
    found = scores(
        "NodeAffinity",
        wanting,
        node("a"),
        node("b", {"two": ""}),
        node("c", {"five": ""}),
        node("d", {"two": "", "five": ""}),
    )
    assert found == {"a": 0, "b": 2 * 28, "c": 2 * 71, "d": 200}


def test_v16_preferred_pod_affinity_goes_from_the_least_to_the_most():
    wanting = pod()
    terms = {
        kind: [
            {
                "weight": weight,
                "podAffinityTerm": {
                    "topologyKey": "zone",
                    "labelSelector": {"matchLabels": {"app": kind}},
                },
            }
        ]
        for kind, weight in (("near", 3), ("far", 5))
    }
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    wanting["spec"]["affinity"] = {
        "podAffinity": {preferred: terms["near"]},
        "podAntiAffinity": {preferred: terms["far"]},
    }
    found = scores(
        "InterPodAffinity",
        wanting,
        *(node(name, {"zone": name}) for name in ("a", "b", "c")),
        pod("far", {"app": "far"}, on="a"),
        pod("near", {"app": "near"}, on="c"),
    )
    assert found == {"a": 0, "b": 2 * 62, "c": 200}


@pytest.mark.parametrize(
    ("number", "skew", "counts", "expected"),
    [
        ("V17", 1, (2, 1, 0), (0, 33, 100)),
        ("V18", 5, (10, 9), (88, 100)),
        ("V19", 1, (1, 0), (0, 100)),
    ],
)
def test_spread_prefers_domains_with_fewer_pods(number, skew, counts, expected):
    spread = pod(labels={"app": "web"})
    spread["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": skew,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    names = "abc"[: len(counts)]
    there = [
        pod(f"{name}{at}", {"app": "web"}, on=name)
        for name, count in zip(names, counts, strict=True)
        for at in range(count)
    ]
    nodes = [node(name, {"zone": name}) for name in names]
    found = scores("PodTopologySpread", spread, *nodes, *there)
    assert tuple(found[name] for name in names) == tuple(2 * each for each in expected), number


def with_image(name, size):
    made = node(name)
    if size:
        made["status"]["images"] = [{"names": ["i:latest"], "sizeBytes": size}]
    return made


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("number", "sizes", "expected"),
    [
        ("V20", (250 * MIB, 0), (10, 0)),
        ("V20", (250 * MIB, 250 * MIB), (23, 23)),
        ("V20", (1000 * MIB,), (100,)),
        ("V21", (76_595_658, 0, 0), (0, 0, 0)),
    ],
)
def test_images_that_are_there_are_preferred(number, sizes, expected):
    names = "abc"[: len(sizes)]
    nodes = [with_image(name, size) for name, size in zip(names, sizes, strict=True)]
    found = scores("ImageLocality", pod(), *nodes)
    assert tuple(found[name] for name in names) == expected, number


def test_v22_nodes_are_not_sampled():
    """kube-scheduler looks at 420 of 1,000 nodes; policyd scores every one."""
    nodes = [node(f"n{at}") for at in range(1000)]
    found = scores("NodeResourcesFit", pod(), *nodes)
    assert len(found) == 1000
    assert None not in found.values()
