"""Decides what a rule test asks for, by the reference interpreter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policyd.model.node import Node
from policyd.policy.decide import Decision, NodeVerdict, decide
from policyd.policy.devices import Choice, with_devices
from policyd.policy.ruleset import Ruleset
from policyd.ruletests.cases import Case


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided for a case.

    `nodes` are the verdicts on all nodes in the order of the decision. Where the best node's
    devices do not suffice, the decision is made again on those whose devices do: the others are
    `refused`.
    """

    choice: Choice
    nodes: Mapping[str, NodeVerdict]
    refused: frozenset[str]

    @property
    def decision(self) -> Decision:
        """Give the decision."""
        return self.choice.decision

    @property
    def feasible(self) -> list[str]:
        """Give the names of the nodes that fit, the best first."""
        return [verdict.name for verdict in self.decision.nodes if verdict.fits]


def rule_on(case: Case, ruleset: Ruleset) -> Ruling:
    """Decide for the pod of a case, its devices included."""
    snapshot = case.snapshot

    def on(nodes: Sequence[Node]) -> Decision:
        return decide(ruleset, case.pod, snapshot, nodes)

    first = on(snapshot.nodes)
    choice = with_devices(first, snapshot, on)
    verdicts = {verdict.name: verdict for verdict in first.nodes}
    final = {verdict.name: verdict for verdict in choice.decision.nodes}
    return Ruling(
        choice,
        final | {n: v for n, v in verdicts.items() if n not in final},
        frozenset(verdicts.keys() - final.keys()),
    )
