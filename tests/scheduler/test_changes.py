"""What differs between two states, in the words of rules, and which rules differ."""

import pytest

from policyd.scheduler.changes import changed_rules, node_changes, pod_changes
from tests.policy.build import as_pod, node, pod, rules, snapshot

HOUR = "2026-06-01T{}:00:00Z"


def a_node(change=None):
    made = node("a", {"zone": "x"}) | {"spec": {}}
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": HOUR.format("10")}
    made["status"]["conditions"] = [ready]
    if change is not None:
        change(made)
    return snapshot(made).nodes[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, set()),
        (
            lambda made: made["metadata"]["labels"].update(disk="ssd"),
            {"node.labels", "node.metadata.labels", "node.devices", "cluster.nodes"},
        ),
        (
            lambda made: made["spec"].update(unschedulable=True),
            {"node.unschedulable", "node.spec.unschedulable"},
        ),
        (
            lambda made: made["spec"].update(taints=[{"key": "k", "effect": "NoSchedule"}]),
            {"node.taints", "node.spec.taints", "cluster.nodes"},
        ),
        (
            lambda made: made["status"]["conditions"][0].update(
                lastHeartbeatTime=HOUR.format("11")
            ),
            {"node.status.conditions"},
        ),
        (
            lambda made: made["status"]["conditions"][0].update(status="False"),
            {"node.status.conditions", "node.ready"},
        ),
        (
            lambda made: made["metadata"].update(resourceVersion="2"),
            {"node.metadata.resourceVersion"},
        ),
        (
            lambda made: made["status"]["allocatable"].update(cpu="8"),
            {
                *("node.allocatable", "node.status.allocatable", "node.free", "node.devices"),
                *("cluster.allocatable", "cluster.free"),
            },
        ),
    ],
)
def test_what_changes_of_a_node_is_what_rules_can_have_read(change, expected):
    assert node_changes(a_node(), a_node(change)) == expected


def test_a_condition_that_is_written_to_a_pod_is_a_change_of_its_status_alone():
    before, after = pod("p"), pod("p")
    after["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    after["metadata"]["resourceVersion"] = "2"
    assert pod_changes(as_pod(before), as_pod(after)) == {
        "pod.status.conditions",
        "pod.metadata.resourceVersion",
    }


def test_what_a_pod_asks_for_is_known_by_all_its_names():
    found = pod_changes(as_pod(pod("p", cpu="1")), as_pod(pod("p", cpu="2")))
    assert {"pod.requests", "pod.spec.containers"} <= found
    assert not {"pod.labels", "pod.name"} & found


BASE = """
param most: int = 3
let small = pod.requests.cpu < 2
rule "one" { when small require node.name != "x" }
rule "two" { require node.name != "y" }
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"y"', '"z"', {"two"}),
        ('rule "two"', 'rule "three"', {"two", "three"}),
        ('rule "two" {', 'rule "two" { mode shadow', {"two"}),
        ("< 2", "< 3", {"one", "two", "four"}),
        ("most: int = 3", "most: int = 4", None),
        ("most: int = 3", "most: double = 3", None),
        ('{ when small require node.name != "x" }', "{ require true }", {"one"}),
    ],
)
def test_a_rule_is_what_it_was_if_all_that_it_can_refer_to_is(old, new, expected):
    text = BASE + 'rule "four" { require size(node.pods) < most }'
    assert text.count(old) == 1
    assert changed_rules(rules(text), rules(text.replace(old, new))) == expected


def test_rules_that_were_not_there_before_may_all_have_changed():
    assert changed_rules(None, rules(BASE + 'rule "r" { require most > 0 }')) is None
