"""What rules mean for a pod on nodes: feasibility, reasons, scores, order."""

from dataclasses import replace

import pytest

from policyd.language.diagnostics import RuleError
from policyd.policy.decide import decide
from policyd.values.times import parse_timestamp
from tests.policy.build import as_pod, decision, node, pod, rules, snapshot

TWO = (node("a", {"disk": "ssd"}), node("b", {"disk": "hdd"}))


def totals(made):
    return {verdict.name: verdict.total for verdict in made.nodes}


def reasons(made, name):
    verdict = next(v for v in made.nodes if v.name == name)
    return [reason for rule in verdict.verdicts for reason in rule.reasons]


def test_require_keeps_nodes_out_and_gives_its_reason():
    made = decision(
        'rule "r" { require node.labels["disk"] == "ssd" because node.name + " is slow" }',
        pod(),
        *TWO,
    )
    assert [(v.name, v.fits) for v in made.nodes] == [("a", True), ("b", False)]
    assert reasons(made, "b") == ["b is slow"]


def test_without_because_the_condition_is_the_reason():
    made = decision('rule "r" { require node.name ==   "a" }', pod(), *TWO)
    assert reasons(made, "b") == ['not: node.name == "a"']


def test_a_list_of_reasons_gives_each():
    text = """rule "r" {
      require false because ["Insufficient cpu", "Insufficient memory"]
    }"""
    assert reasons(decision(text, pod(), node("a")), "a") == [
        "Insufficient cpu",
        "Insufficient memory",
    ]


def test_when_says_where_the_rule_applies():
    text = 'rule "r" { when node.name == "a" require false because "no" }'
    made = decision(text, pod(), *TWO)
    assert [(v.name, v.fits) for v in made.nodes] == [("b", True), ("a", False)]


def test_all_rejections_are_given_not_only_the_first():
    text = """
    rule "one" { require false because "1" require false because "2" }
    rule "two" { require false because "3" }
    """
    assert reasons(decision(text, pod(), node("a")), "a") == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("clause", "a", "b"),
    [
        ('prefer node.name == "a"', 100, 0),
        ('avoid node.name == "a"', 0, 100),
        ('prefer node.name == "a" weight 3', 300, 0),
        ('prefer node.name == "a" ? 30 : 20', 30, 20),
        ('avoid node.name == "a" ? 30 : 20', 70, 80),
        ('prefer node.name == "a" ? 400.0 : -3.0', 100, 0),
        ('prefer node.name == "a" ? 2 : 3 normalized', 66, 100),
        ('prefer node.name == "a" ? 2.0 : 3.0 normalized', 100 * 2 / 3, 100),
        ('avoid node.name == "a" ? 2 : 3 normalized', 34, 0),
        ("prefer 0 normalized", 0, 0),
        ("avoid 0 normalized", 100, 100),
        ('prefer node.name == "a" ? 5 : 9 normalize 100 * (raw - min) / (max - min)', 0, 100),
        ("prefer 10 prefer 20 weight 2", 50, 50),
        ("prefer 2", 2, 2),
        ("prefer node.allocatable.cpu", 4, 4),
    ],
)
def test_scores(clause, a, b):
    made = totals(decision(f'rule "r" {{ {clause} }}', pod(), *TWO))
    assert made == pytest.approx({"a": a, "b": b})


def test_normalisation_is_over_the_feasible_nodes_only():
    text = """
    rule "fit" { require node.name != "c" }
    rule "score" { prefer {"a": 2, "b": 4, "c": 8}[node.name] normalized }
    """
    made = decision(text, pod(), *TWO, node("c"))
    assert totals(made) == {"b": 100, "a": 50, "c": None}


def test_a_rule_that_does_not_apply_to_a_node_adds_nothing_and_is_left_out_of_normalising():
    text = 'rule "r" { when node.name != "b" prefer {"a": 2, "b": 8}[node.name] normalized }'
    assert totals(decision(text, pod(), *TWO)) == {"a": 100, "b": 0}


def test_clamped_scores_are_marked():
    made = decision('rule "r" { prefer node.name == "a" ? 101 : 5 }', pod(), *TWO)
    assert [v.verdicts[0].scores[0].clamped for v in made.nodes] == [True, False]


def test_an_error_in_require_keeps_the_node_out_with_the_error_as_reason():
    text = 'rule "r" { require node.metadata.labels["gone"] == "x" because "never" }'
    made = decision(text, pod(), node("a", {"x": "y"}))
    assert not made.fits
    assert reasons(made, "a") == ["the rule cannot be evaluated: no such key: gone"]
    assert made.nodes[0].verdicts[0].errors


def test_an_error_in_the_when_of_a_requiring_rule_keeps_the_node_out():
    text = 'rule "r" { when 1 / int(node.name) > 0 require true }'
    assert not decision(text, pod(), node("0")).fits


def test_an_error_in_the_when_of_a_scoring_rule_counts_for_nothing():
    text = 'rule "r" { when 1 / int(node.name) > 0 prefer 50 }'
    made = decision(text, pod(), node("0"), node("1"))
    assert totals(made) == {"1": 50, "0": 0}


def test_an_error_in_prefer_counts_for_nothing_and_the_others_are_scored():
    made = decision('rule "r" { prefer 100 / int(node.name) }', pod(), node("0"), node("4"))
    assert totals(made) == {"4": 25, "0": 0}


def test_an_error_in_a_reason_is_told_beside_the_condition():
    text = 'rule "r" { require false because string(1 / int(node.name)) }'
    assert reasons(decision(text, pod(), node("0")), "0") == [
        "not: false (its reason fails: division by zero)"
    ]


def test_a_shadow_rule_is_evaluated_and_changes_nothing():
    text = 'rule "r" { mode shadow require false because "no" prefer 100 }'
    made = decision(text, pod(), node("a"))
    assert made.fits
    assert made.nodes[0].total == 0
    assert made.nodes[0].verdicts[0].reasons == ("no",)


def test_parameters_are_read_by_name_and_under_params():
    text = """
    param best: string = "a"
    rule "r" { prefer node.name == best && params.best == best }
    """
    assert decision(text, pod(), *TWO).chosen.name == "a"
    assert decision(text, pod(), *TWO, best="b").chosen.name == "b"


def test_lets_of_a_rule_and_of_the_file_and_functions_of_both():
    text = """
    let ssd = node.labels["disk"] == "ssd"
    let score(good) = good ? 80 : 10
    rule "r" {
      let doubled(x) = 2 * score(x)
      prefer doubled(ssd) / 2
    }
    """
    assert totals(decision(text, pod(), *TWO)) == {"a": 80, "b": 10}


def test_choose_breaks_ties():
    for direction, first in (("asc", "a"), ("desc", "c")):
        text = f"choose {{ order node.name {direction} }}"
        assert decision(text, pod(), node("b"), node("c"), node("a")).chosen.name == first


def test_without_choose_ties_are_broken_the_same_way_each_time_and_not_always_the_same_way():
    nodes = [node(name) for name in "abcdefgh"]
    chosen = [decision("", pod(f"p{at}"), *nodes).chosen.name for at in range(20)]
    assert chosen == [decision("", pod(f"p{at}"), *nodes).chosen.name for at in range(20)]
    assert len(set(chosen)) > 3


def test_used_and_free_count_the_pods_on_the_node():
    text = 'rule "r" { require node.free.cpu >= pod.requests.cpu prefer node.used.cpu }'
    bound = pod("bound", on="a", cpu="3500m")
    made = decision(text, pod(cpu="1"), *TWO, bound)
    assert [(v.name, v.fits) for v in made.nodes] == [("b", True), ("a", False)]


def test_no_nodes_is_no_fit():
    assert not decision('rule "r" { require true }', pod()).fits


def test_ages_follow_the_time_of_the_decision_and_not_that_of_the_facts():
    text = """
    rule "young" { require node.age < duration("1h") && pod.age < duration("1h") because "old" }
    """
    manifest = pod()
    manifest["metadata"]["creationTimestamp"] = "2026-06-01T11:30:00Z"
    made = node("a")
    made["metadata"]["creationTimestamp"] = "2026-06-01T11:30:00Z"
    waiting, cluster, ruleset = as_pod(manifest), snapshot(made), rules(text)
    assert decide(ruleset, waiting, cluster).fits
    later = replace(cluster, now=parse_timestamp("2026-06-01T12:40:00Z"))
    assert later.nodes[0] is cluster.nodes[0]
    assert not decide(ruleset, waiting, later).fits
    assert ruleset.rules[0].reads == {"node.created", "pod.created", "now.*"}


def test_whose_pod_it_is_cannot_depend_on_its_age():
    with pytest.raises(RuleError) as caught:
        rules('share "s" { tenant string(pod.age) }')
    assert "`age` is derived from `now`" in caught.value.diagnostics[0].message
