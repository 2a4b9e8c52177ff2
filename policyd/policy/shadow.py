"""What would have been decided with a block in force that is in `mode shadow`.

Each is looked at by itself: a rule as if it were in force besides those that are, a `choose` as if
it stood in place of the one that is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile

from policyd.language.source import Source, Span
from policyd.model.devices import Taken
from policyd.model.node import Node
from policyd.policy.decide import Decision, NodeVerdict, bindings
from policyd.policy.devices import choose
from policyd.policy.order import tie_break
from policyd.policy.ruleset import PolicyBlock, Ruleset


@dataclass(frozen=True, slots=True)
class Shadow:
    """A block in `mode shadow` and what it would have changed of a decision.

    `rejected` is on how many nodes it would have kept the pod from, `errors` on how many it could
    not be evaluated. `disagrees` says that the decision would have been another one: the pod on
    `node` (nothing: on none), with `devices` where it would have taken those.
    """

    word: str
    name: str
    source: Source
    span: Span
    disagrees: bool
    node: str | None
    rejected: int = 0
    errors: int = 0
    devices: Taken = field(default_factory=dict)


def shadows(decision: Decision) -> tuple[Shadow, ...]:
    """Give every rule and every `choose` in `mode shadow` with what it would have changed."""
    return (*_rules(decision), *_choices(decision))


def disagreeing(decision: Decision) -> tuple[str, ...]:
    """Give the names of the blocks in `mode shadow` that would have led to another decision."""
    rules = (tally.rule.name for tally in decision.tallies if tally.disagrees)
    return (*rules, *(each.name for each in _choices(decision) if each.disagrees))


def shadow_names(ruleset: Ruleset) -> tuple[str, ...]:
    """Give the names of the rules and `choose` blocks in `mode shadow`."""
    rules = (rule.name for rule in ruleset.rules if rule.shadow)
    return (*rules, *(block.name or block.word for block in _shadow_choices(ruleset)))


def has_shadows(ruleset: Ruleset) -> bool:
    """Say whether there is anything for `shadows` to look at."""
    return bool(shadow_names(ruleset))


def _shadow_choices(ruleset: Ruleset) -> Iterator[PolicyBlock]:
    return (block for block in ruleset.blocks if block.word == "choose" and block.shadow)


def _rules(decision: Decision) -> Iterator[Shadow]:
    chosen = decision.node.name if decision.node else None
    for at, tally in enumerate(decision.tallies):
        rule = tally.rule
        if not rule.shadow:
            continue
        node = _node_under(decision, at) if tally.disagrees else chosen
        yield Shadow(
            word="rule",
            name=rule.name,
            source=rule.source,
            span=rule.span,
            disagrees=tally.disagrees,
            node=node,
            rejected=tally.rejected,
            errors=tally.errors,
        )


def _node_under(decision: Decision, at: int) -> str | None:
    """Give the node that is the best with a shadow rule in force; the first of equal ones."""
    fitting = [each for each in decision.nodes if each.fits and not each.verdicts[at].rejections]
    best = max(fitting, key=lambda each: _total_under(each, at), default=None)
    return None if best is None else best.name


def _total_under(node: NodeVerdict, at: int) -> float:
    return (node.total or 0.0) + (node.verdicts[at].score or 0.0)


def _choices(decision: Decision) -> Iterator[Shadow]:
    for block in _shadow_choices(decision.ruleset):
        node, devices, disagrees = _taken_under(decision, block)
        yield Shadow(
            word="choose",
            name=block.name or block.word,
            source=block.source,
            span=block.span,
            disagrees=disagrees,
            node=node,
            devices=devices,
        )


def _taken_under(decision: Decision, block: PolicyBlock) -> tuple[str | None, Taken, bool]:
    """Give the node and the devices with a shadow `choose` in force, and whether they differ."""
    if decision.node is None:
        return None, {}, False
    ruleset = _in_force(decision.ruleset, block)
    node = _first_of_equals(decision, ruleset)
    pod, snapshot = decision.pod, decision.snapshot
    devices = choose(ruleset, pod, node, snapshot) or {}
    if node is not decision.node:
        return node.name, devices, True
    taken = choose(decision.ruleset, pod, node, snapshot) or {}
    return node.name, devices, devices != taken


def _in_force(ruleset: Ruleset, block: PolicyBlock) -> Ruleset:
    """Give a rule set with a shadow `choose` in place of the one in force."""
    others = (each for each in ruleset.blocks if each.word != block.word)
    return replace(ruleset, blocks=(*others, replace(block, shadow=False)))


def _first_of_equals(decision: Decision, ruleset: Ruleset) -> Node:
    """Give the node that a rule set takes of those with the best total."""
    top = decision.nodes[0].total
    tied = [
        verdict.node
        for verdict in takewhile(lambda each: each.fits and each.total == top, decision.nodes)
    ]
    places = tie_break(ruleset, bindings(ruleset, decision.pod, decision.snapshot), tied)
    return tied[places.index(0)]
