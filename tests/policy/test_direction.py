"""Which rules one pod more can help: what is said not to be helped never is."""

from itertools import pairwise

import pytest

from policyd.model.placement import totals_after, with_pod
from policyd.policy.decide import decide
from policyd.policy.direction import placement_helps
from tests.policy.build import as_pod, node, pod, rules, snapshot

LACKING = "let lacking(amounts) = pod.requests.filter(r, pod.requests[r] > amounts[r])"
NOT_HELPED = [
    'require node.labels["zone"] == "a"',
    "require node.free.cpu >= pod.requests.cpu",
    'require pod.requests.cpu <= node.free["cpu"]',
    "require !(node.free.cpu < pod.requests.cpu)",
    "require pod.requests.all(r, node.free[r] >= pod.requests[r])",
    "require node.used.cpu + pod.requests.cpu <= node.allocatable.cpu",
    "require node.free.cpu - pod.requests.cpu >= node.allocatable.cpu * 0.1",
    "require node.used.cpu / node.allocatable.cpu < 0.8",
    "require node.pods.size() < node.allocatable.pods",
    "require size(node.pods) + 1 <= 3",
    "require cluster.free.cpu > 2",
    f"{LACKING} require lacking(node.free).size() == 0",
    f"{LACKING} require size(lacking(node.free)) < 1",
    (
        f'{LACKING} let full = node.pods.size() >= 3 ? ["full"] : []'
        ' require (full + lacking(node.free).map(r, "Insufficient " + r)).size() == 0'
    ),
    "when pod.requests.cpu > 0 require node.free.cpu >= pod.requests.cpu",
    "when node.pods.size() > 0 require node.free.cpu > 1",
    'require node.labels["zone"] == "a" ? node.free.cpu > 1 : node.free.memory > 1Gi',
    "require cel.bind(left, node.free, left.cpu > 1 && left.memory > 1Gi)",
    "require node.free.cpu > 1 || node.free.memory > 60Gi",
    "require double(node.pods.size()) < 3.0",
]
MAY_HELP = [
    "require node.free.cpu < 2",
    "require node.used.cpu > 1",
    "require node.pods.size() > 1",
    "require node.free.cpu == quantity('2')",
    "require node.free.cpu - node.used.cpu != quantity('4')",
    "require node.pods.exists(p, p.name == 'p1')",
    "require node.pods.map(p, p.name) != []",
    "when node.free.cpu > 1 require node.labels['zone'] == 'b'",
    "require node.free.cpu > 3 ? false : true",
    "require [node.used.cpu][0] > 1",
    "require has(node.used.cpu)",
    "require cluster.used.cpu >= 1",
    "require -1 * node.free.cpu.asInteger() > -3",
    "require node == node",
]


def helped(text):
    """Fill a node pod by pod; say whether a pod that did not fit came to fit by that."""
    ruleset, waiting = rules(f'rule "r" {{ {text} }}'), as_pod(pod("w", cpu="1", memory="1Gi"))
    cluster = snapshot(node("a", {"zone": "a"}, cpu="5", memory="64Gi"))
    [made], totals, fits = cluster.nodes, cluster.cluster, []
    for at in range(5):
        object.__setattr__(cluster, "nodes", [made])
        object.__setattr__(cluster, "cluster", totals)
        fits.append(decide(ruleset, waiting, cluster).fits)
        after = with_pod(made, as_pod(pod(f"p{at}", on="a", cpu="1", memory="20Gi")))
        made, totals = after, totals_after(totals, made, after)
    return any(not before and after for before, after in pairwise(fits))


@pytest.mark.parametrize("text", NOT_HELPED)
def test_who_waits_for_room_is_not_helped_by_another_pod(text):
    assert not placement_helps(rules(f'rule "r" {{ {text} }}').rules[0])
    assert not helped(text)


@pytest.mark.parametrize("text", MAY_HELP)
def test_what_is_not_certain_may_help(text):
    assert placement_helps(rules(f'rule "r" {{ {text} }}').rules[0])


def test_some_of_these_do_help():
    assert sum(map(helped, MAY_HELP)) >= 6
