"""What rejects a node first, whether eviction could help, and scores that are none."""

import pytest

from tests.policy.build import decision, node, pod, rules

WORDS = """
    rule "room" {
      require node.free.cpu >= pod.requests.cpu because "full"
    }
    rule "size" {
      require node.allocatable.cpu >= pod.requests.cpu because "small"
    }
    rule "name" {
      require pod.name != "bad" because "bad name"
    }
"""


def first(verdict):
    rule, rejection = verdict.rejection
    return rule.name, rejection.reasons, rejection.resolvable


def test_the_first_rule_that_rejects_counts():
    full = pod("other", on="a", cpu="4")
    a = decision(WORDS, pod(cpu="1"), node("a", cpu="4"), full).nodes[0]
    assert first(a) == ("room", ("full",), True)


def test_what_is_the_same_on_every_node_comes_first():
    a = decision(WORDS, pod("bad", cpu="8"), node("a", cpu="4")).nodes[0]
    assert first(a) == ("name", ("bad name",), False)
    assert [v.rule.name for v in a.verdicts if v.rejects] == ["room", "size", "name"]


def test_a_node_that_fits_has_no_rejection():
    assert decision(WORDS, pod(cpu="1"), node("a")).nodes[0].rejection is None


@pytest.mark.parametrize(
    ("condition", "resolvable", "general"),
    [
        ("node.free.cpu > 0", True, False),
        ("node.used.cpu > 0", True, False),
        ("node.pods.size() > 0", True, False),
        ("cluster.free.cpu > 0", True, False),
        ("node.allocatable.cpu > 0", False, False),
        ("node.labels['a'] == 'b'", False, False),
        ("node.taints.all(t, pod.tolerates(t))", False, False),
        ("pod.priority > 0", False, True),
        ("namespace.labels['a'] == 'b' && cluster.nodes > 1", False, True),
        ("cluster.pods > 1", True, False),
    ],
)
def test_whether_eviction_could_help_follows_from_what_is_read(condition, resolvable, general):
    requirement = rules(f'rule "r" {{ require {condition} }}').rules[0].requirements[0]
    assert (requirement.resolvable, requirement.general) == (resolvable, general)


def test_a_requirement_is_not_general_where_its_rule_applies_to_some_nodes():
    [rule] = rules('rule "r" { when node.ready  require pod.priority > 0 }').rules
    assert not rule.requirements[0].general


def test_null_is_no_score_and_does_not_count_for_the_others():
    made = decision(
        """
        let room = node.allocatable.pods.asInteger()
        rule "r" { prefer node.name == "c" ? null : room  normalized }
        """,
        pod(),
        node("a", pods="50"),
        node("b", pods="100"),
        node("c", pods="200"),
    )
    assert {n.name: n.verdicts[0].score for n in made.nodes} == {"a": 50, "b": 100, "c": None}
    assert {n.name: n.total for n in made.nodes} == {"a": 50, "b": 100, "c": 0}


def test_a_score_can_read_where_the_pod_fits():
    made = decision(
        """
        rule "fits" { require node.name != "c" }
        rule "few" { prefer feasible.size() }
        """,
        pod(),
        node("a"),
        node("b"),
        node("c"),
    )
    assert {n.name: n.total for n in made.nodes} == {"a": 2, "b": 2, "c": None}
