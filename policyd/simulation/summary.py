"""What a simulation came to: placed, pending and why, utilisation, fragmentation, time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.simulation.run import Outcome
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity


@dataclass(frozen=True, slots=True)
class Usage:
    """One resource over all nodes.

    `fragmentation` is the part of what is free that the pods of the simulation cannot use: the
    mean, over those that ask for the resource, of what is free on nodes where the pod does not
    fit (the measure of "Beware of Fragmentation", USENIX ATC 2023, with the simulation's own
    pods as the typical ones). It is 0 where nothing is free.
    """

    resource: str
    allocatable: Quantity
    used: Quantity
    fragmentation: float

    @property
    def utilisation(self) -> float:
        """Give the part of the resource that is used, from 0 to 1 (more if over-committed)."""
        return self.used.ratio(self.allocatable) if self.allocatable > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """A simulation in numbers. Times are those of deciding, in seconds of this machine."""

    ruleset: str
    placed: int
    pending: int
    attempts: int
    reasons: tuple[tuple[str, int], ...]
    usage: tuple[Usage, ...]
    simulated_seconds: float
    decision_p50: float
    decision_p99: float
    shadow: tuple[tuple[str, int], ...]

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON can carry it."""
        return {
            "ruleset": self.ruleset,
            "placed": self.placed,
            "pending": self.pending,
            "attempts": self.attempts,
            "reasons": dict(self.reasons),
            "usage": {
                u.resource: {
                    "allocatable": str(u.allocatable),
                    "used": str(u.used),
                    "utilisation": round(u.utilisation, 6),
                    "fragmentation": round(u.fragmentation, 6),
                }
                for u in self.usage
            },
            "simulatedSeconds": self.simulated_seconds,
            "decisionSeconds": {"p50": self.decision_p50, "p99": self.decision_p99},
            "shadowDisagreements": dict(self.shadow),
        }


def summarise(outcome: Outcome, pods: Sequence[Pod]) -> Summary:
    """Sum a simulation up; `pods` are those that arrived in it."""
    seconds = sorted(attempt.seconds for attempt in outcome.attempts)
    reasons = Counter(queued.reason or "was not tried" for queued in outcome.pending)
    return Summary(
        ruleset=outcome.ruleset.hash,
        placed=len(outcome.placements),
        pending=len(outcome.pending),
        attempts=len(outcome.attempts),
        reasons=tuple(reasons.most_common()),
        usage=tuple(_usage(outcome.nodes, pods)),
        simulated_seconds=outcome.seconds,
        decision_p50=_percentile(seconds, 0.5),
        decision_p99=_percentile(seconds, 0.99),
        shadow=tuple(sorted(_shadow_disagreements(outcome).items())),
    )


def _percentile(ordered: Sequence[float], part: float) -> float:
    """Give the value below which a part of the values lies (nearest rank)."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _shadow_disagreements(outcome: Outcome) -> Counter[str]:
    """Count, by shadow rule, the placements that it would have changed."""
    return Counter(
        tally.rule.name
        for attempt in outcome.attempts
        if attempt.decision is not None
        for tally in attempt.decision.tallies
        if tally.disagrees
    )


def _usage(nodes: Sequence[Node], pods: Sequence[Pod]) -> Iterable[Usage]:
    shapes = Counter(tuple(sorted(pod.requests.items())) for pod in pods)
    resources = dict.fromkeys(name for node in nodes for name in node.allocatable)
    for resource in resources:
        yield Usage(
            resource,
            _total(node.allocatable[resource] for node in nodes),
            _total(node.used[resource] for node in nodes),
            _fragmentation(nodes, resource, shapes),
        )


def _total(amounts: Iterable[Quantity]) -> Quantity:
    total = ZERO
    for amount in amounts:
        total = total.plus(amount)
    return total


Shape = tuple[tuple[str, Quantity], ...]


def _fragmentation(nodes: Sequence[Node], resource: str, shapes: Counter[Shape]) -> float:
    asking = {s: n for s, n in shapes.items() if any(r == resource and a > 0 for r, a in s)}
    free = _total(node.free[resource] for node in nodes if node.free[resource] > 0)
    if not asking or free <= 0:
        return 0.0
    weighted = sum(
        count * _unusable(nodes, resource, shape).ratio(free) for shape, count in asking.items()
    )
    return weighted / sum(asking.values())


def _unusable(nodes: Sequence[Node], resource: str, shape: Shape) -> Quantity:
    return _total(
        node.free[resource]
        for node in nodes
        if node.free[resource] > 0 and not _fits(node.free, shape)
    )


def _fits(free: TotalMap, shape: Shape) -> bool:
    return free["pods"] >= 1 and all(free[resource] >= amount for resource, amount in shape)
