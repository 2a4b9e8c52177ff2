"""What the default policy's rules read decides what a rejected pod waits for."""

import pytest

from tests.parity.compare import default_rules

RULES = {rule.name: rule for rule in default_rules().rules}


@pytest.mark.parametrize(
    ("rule", "reads", "others"),
    [
        ("TaintToleration", {"node.taints", "pod.tolerations"}, {"node.pods", "cluster.pods"}),
        ("NodeAffinity", {"node.labels", "node.name"}, {"node.pods", "node.*", "cluster.pods"}),
        ("NodePorts", {"node.pods"}, {"cluster.pods", "node.labels"}),
        ("NodeResourcesFit", {"node.free", "node.allocatable", "node.pods"}, {"cluster.pods"}),
        ("VolumeBinding", {"cluster.storage", "node.labels"}, {"cluster.pods", "node.pods"}),
        ("VolumeRestrictions", {"cluster.storage", "cluster.pods", "node.pods"}, {"node.labels"}),
        (
            "PodTopologySpread",
            {"cluster.pods", "cluster.nodes", "cluster.owners", "node.labels"},
            {"cluster.storage", "cluster.namespaces", "node.free"},
        ),
        (
            "InterPodAffinity",
            {"cluster.pods", "cluster.nodes", "cluster.namespaces", "node.labels"},
            {"cluster.storage", "node.free", "node.pods"},
        ),
        ("DynamicResources", {"pod.spec.resourceClaims"}, {"node.labels", "cluster.pods"}),
    ],
)
def test_a_rule_waits_for_what_it_reads_and_for_no_more(rule, reads, others):
    found = RULES[rule].reads
    assert reads <= found
    assert not others & found


@pytest.mark.parametrize(
    ("rule", "resolvable", "general"),
    [
        ("NodeUnschedulable", [False], [False]),
        ("NodeAffinity", [False, False, False], [True, False, False]),
        ("NodePorts", [True], [False]),
        ("NodeResourcesFit", [False, True], [False, False]),
        ("VolumeRestrictions", [False, True, True], [True, False, False]),
        ("NodeVolumeLimits", [True], [False]),
        ("VolumeBinding", [False, False, False], [True, True, False]),
        ("VolumeZone", [False, False], [True, False]),
        ("PodTopologySpread", [True, False], [False, False]),
        ("InterPodAffinity", [False, True, True], [False, False, False]),
        ("DynamicResources", [False], [True]),
    ],
)
def test_whether_eviction_helps_is_derived_for_every_requirement(rule, resolvable, general):
    requirements = RULES[rule].requirements
    assert [each.resolvable for each in requirements] == resolvable
    assert [each.general for each in requirements] == general
