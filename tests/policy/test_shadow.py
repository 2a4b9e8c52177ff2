"""What would have been decided with a block in force that is in shadow mode."""

import pytest

from policyd.language.diagnostics import RuleError
from policyd.policy.decide import decide
from policyd.policy.engine import Engine, QuickDecision
from policyd.policy.recording import decision_data
from policyd.policy.shadow import disagreeing, shadow_names, shadows
from policyd.scheduler.cache import Cache
from tests.policy.build import NOW, as_pod, decision, node, pod, rules, snapshot

NODES = (node("a", gpu="2"), node("b"), node("c"))
BEST_A = 'rule "best" { prefer {"a": 30, "b": 20, "c": 10}[node.name] }\n'


def seen(text, *nodes, **requests):
    made = decision(text, pod(**requests), *(nodes or NODES))
    return made, shadows(made)


@pytest.mark.parametrize(
    ("shadow", "node_", "rejected"),
    [
        ('require node.name != "a"', "b", 1),
        ('require node.name == "c"', "c", 2),
        ("require false", None, 3),
        ("require node.name != 'b'", "a", 1),
        ('prefer node.name == "c" weight 0.1', "a", 0),
        ('prefer node.name == "c" weight 5', "c", 0),
        ('when node.name == "a" require false', "b", 1),
        ("require 1 / (node.name.size() - 1) > 0", None, 3),
    ],
)
def test_a_rule_says_what_it_would_have_taken(shadow, node_, rejected):
    made, (found,) = seen(BEST_A + f'rule "dry" {{ mode shadow {shadow} }}')
    assert made.node.name == "a"
    assert (found.word, found.name) == ("rule", "dry")
    assert (found.node, found.rejected) == (node_, rejected)
    assert found.disagrees == (node_ != "a")
    assert disagreeing(made) == (("dry",) if node_ != "a" else ())


def test_what_a_shadow_rule_says_is_what_happens_when_it_is_put_in_force():
    shadow = 'rule "dry" { mode shadow require node.name != "a" prefer node.name == "c" weight 3 }'
    _, (found,) = seen(BEST_A + shadow)
    in_force = decision(BEST_A + shadow.replace("mode shadow", ""), pod(), *NODES)
    assert found.node == in_force.node.name


def test_nothing_disagrees_where_the_pod_fits_nowhere():
    made, (found,) = seen('rule "no" { require false }\nrule "dry" { mode shadow prefer 5 }')
    assert made.node is None
    assert (found.disagrees, found.node) == (False, None)


def test_choose_in_shadow_mode_stands_beside_the_one_in_force_and_changes_nothing():
    text = "choose { order node.name asc }\nchoose { mode shadow order node.name desc }"
    made, (found,) = seen(text)
    assert made.node.name == "a"
    assert (found.word, found.name, found.node, found.disagrees) == ("choose", "choose", "c", True)
    assert disagreeing(made) == ("choose",)


def test_choose_in_shadow_mode_takes_what_it_would_take_in_force():
    text = "choose { order node.name desc }"
    made, (found,) = seen("choose { mode shadow order node.name desc }")
    assert found.node == decision(text, pod(), *NODES).node.name == "c"
    assert found.disagrees == (made.node.name != "c")


@pytest.mark.parametrize("mode", ["", "mode shadow "])
def test_only_one_choose_is_in_force_and_only_one_in_shadow_mode(mode):
    text = f"choose {{ {mode}order node.name }}\n"
    with pytest.raises(RuleError, match="the `choose` is declared twice"):
        rules(text + text)


def test_choose_in_shadow_mode_looks_only_at_nodes_with_the_best_total():
    made, (found,) = seen(BEST_A + "choose { mode shadow order node.name desc }")
    assert (made.node.name, found.node, found.disagrees) == ("a", "a", False)


def test_choose_in_shadow_mode_says_which_devices_it_would_have_taken():
    text = "choose { mode shadow device device.index desc }"
    _, (found,) = seen(text, node("a", gpu="4"), gpu="1")
    assert (found.node, found.disagrees) == ("a", True)
    assert found.devices == {"nvidia.com/gpu": (3,)}


def test_all_blocks_in_shadow_mode_have_a_name():
    text = (
        'rule "x" { mode shadow prefer 1 }\nrule "y" { prefer 1 }\nchoose { mode shadow order 1 }'
    )
    assert shadow_names(rules(text)) == ("x", "choose")


@pytest.mark.parametrize("seed", range(20))
def test_the_tally_and_the_node_that_is_told_agree(seed):
    score = f"(node.name.size() * {seed * 7 + 3} + node.pods.size() * 31) % 100"
    text = (
        f'rule "a" {{ prefer {score} }}\n'
        f'rule "dry" {{ mode shadow require (node.name.size() + {seed}) % 3 != 0 prefer {score} }}'
    )
    nodes = [node("n" * size) for size in range(1, 8)]
    made = decide(rules(text), as_pod(pod()), snapshot(*nodes))
    (found,) = shadows(made)
    assert found.disagrees == made.tallies[1].disagrees
    assert found.disagrees == (found.node != made.node.name)


def test_a_decision_of_the_engine_has_the_same_shadows_and_the_same_record():
    text = (
        BEST_A
        + """
        rule "dry" { mode shadow require node.name != "a" prefer node.name == "c" weight 3 }
        rule "odd" { mode shadow require 1 / (node.name.size() - 1) > 0 }
        choose { mode shadow order node.name desc }
    """
    )
    cache = Cache()
    for each in snapshot(*NODES).nodes:
        cache.put_node(each)
    seen = cache.snapshot(NOW)
    ruleset, made = rules(text), as_pod(pod())
    quick = Engine(cache.journal).decide(ruleset, made, seen)
    assert isinstance(quick, QuickDecision)
    slow = decide(ruleset, made, seen)
    assert shadows(quick) == shadows(slow)
    assert [each.disagrees for each in shadows(slow)] == [True, True, False]
    assert decision_data(quick) == decision_data(slow)
