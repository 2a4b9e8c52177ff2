"""Which conditions are watched, and how they are counted."""

import pytest

from policyd.policy.decide import decide
from policyd.policy.devices import choose
from policyd.ruletests.coverage import Coverage, Point
from tests.policy.build import as_pod, node, pod, rules, snapshot


def _points(text: str, *, nodes=("a",), **settings: str) -> list[Point]:
    """Decide for a pod on nodes of some names, and give the conditions in the order of the text."""
    coverage = Coverage()
    watched = coverage.watch(rules(text, **settings))
    decision = decide(watched, as_pod(pod("p")), snapshot(*(node(name) for name in nodes)))
    if decision.node is not None:
        choose(watched, decision.pod, decision.node, decision.snapshot)
    (file,) = coverage.files()
    return list(file.points)


def _counts(text: str, **more) -> dict[str, tuple[int, int]]:
    return {point.text: (point.true, point.false) for point in _points(text, **more)}


def test_each_part_that_is_true_or_false_is_counted_as_often_as_it_is_evaluated() -> None:
    text = 'rule "r" { require node.name == "a" || node.name.startsWith("b") }'
    assert _counts(text, nodes=("a", "b", "c")) == {
        'node.name == "a" || node.name.startsWith("b")': (2, 1),
        'node.name == "a"': (1, 2),
        'node.name.startsWith("b")': (1, 1),
    }


def test_what_is_passed_over_is_not_counted() -> None:
    text = 'rule "r" { require node.name == "a" ? pod.name == "p" : pod.name == "q" }'
    counts = _counts(text)
    assert counts['pod.name == "p"'] == (1, 0)
    assert counts['pod.name == "q"'] == (0, 0)


def test_a_rule_that_does_not_apply_has_a_when_that_was_false_and_nothing_else() -> None:
    points = _points('rule "r" { when node.name == "x" require node.free.cpu > 0 }')
    assert [(p.clause, p.true, p.false) for p in points] == [("when", 0, 1), ("require", 0, 0)]
    assert [p.missing for p in points] == [("true",), ("true", "false")]


def test_a_negation_and_what_it_negates_are_one_condition() -> None:
    assert _counts('rule "r" { require !(node.name == "a") }', nodes=("a", "b", "c")) == {
        '!(node.name == "a")': (2, 1)
    }


def test_an_error_is_neither_true_nor_false() -> None:
    assert _counts('rule "r" { require 1 / (node.name.size() - 1) > 0 }') == {
        "1 / (node.name.size() - 1) > 0": (0, 0)
    }


def test_a_let_counts_where_it_stands_however_often_it_is_used() -> None:
    text = """
        let good = node.name == "a"
        let named(x) = node.name == x
        rule "r" { when good require good && named("a") }
        rule "s" { require named("b") }
    """
    counts = _counts(text, nodes=("a", "b"))
    assert counts['node.name == "a"'] == (2, 1)  # the `require` is not asked on b
    assert counts["node.name == x"] == (2, 1)


def test_elements_of_macros_are_counted_one_by_one() -> None:
    text = 'rule "r" { require [1, 2, 3].exists(x, x > 1) && [1, 2].all(x, x < node.name.size()) }'
    counts = _counts(text)
    assert counts["x > 1"] == (1, 1)
    assert counts["x < node.name.size()"] == (0, 1)


@pytest.mark.parametrize(
    "clause",
    [
        'prefer node.name == "a" ? 1 : 2',
        'prefer 1 weight (node.name_ == "a" ? 1 : 2)',
        "avoid 1 normalize (max == min ? 0.0 : 1.0)",
        'require node.name != "a" because (node.name == "a" ? "x" : "y")',
    ],
)
def test_conditions_in_any_clause_count(clause: str) -> None:
    text = 'rule "r" { ' + clause.replace("node.name_", "pod.name") + " }"
    assert any(p.clause == "" and (p.true or p.false) for p in _points(text))


def test_keys_of_choose_count_and_those_of_other_blocks_do_not() -> None:
    text = """
        rule "r" { require node.name != "" }
        choose { order (node.name == "a" ? 1 : 2) asc }
        queue { hold when pod.name == "never" because "no" }
    """
    counts = _counts(text, nodes=("a", "b"))
    assert counts == {'node.name != ""': (2, 0), 'node.name == "a"': (1, 1)}


def test_has_is_shown_as_it_is_written() -> None:
    assert list(_counts('rule "r" { require has(pod.spec.nodeName) }')) == [
        "has(pod.spec.nodeName)"
    ]


def test_constants_are_no_conditions() -> None:
    assert _counts('rule "r" { require node.name != "" || false }').keys() == {
        'node.name != "" || false',
        'node.name != ""',
    }


def test_several_rule_sets_of_one_text_are_counted_together() -> None:
    text = 'param least: int = 1\nrule "r" { require node.name.size() > least }'
    coverage = Coverage()
    for setting in ({}, {"least": "0"}):
        decide(coverage.watch(rules(text, **setting)), as_pod(pod("p")), snapshot(node("a")))
    (file,) = coverage.files()
    ((point),) = file.points
    assert (point.true, point.false) == (1, 1)
    assert (file.seen, file.outcomes) == (2, 2)


def test_a_watched_rule_set_decides_alike() -> None:
    text = """
        rule "r" { require node.name != "c" because "c" }
        rule "s" { prefer node.name == "b" weight 3 }
    """
    plain, cluster = rules(text), snapshot(node("a"), node("b"), node("c"))
    watched = Coverage().watch(plain)
    one, other = (
        decide(plain, as_pod(pod("p")), cluster),
        decide(watched, as_pod(pod("p")), cluster),
    )
    assert [(n.name, n.fits, n.total) for n in one.nodes] == [
        (n.name, n.fits, n.total) for n in other.nodes
    ]
    assert one.reasons == other.reasons
