"""What a simulation came to: placed, pending and why, utilisation, fragmentation, time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.shadow import shadow_names
from policyd.simulation.curve import Curve
from policyd.simulation.fragmentation import fragmentation
from policyd.simulation.run import Outcome
from policyd.values.quantity import ZERO, Quantity

CURVE_POINTS: Final = 501
"""How many points of the allocation curve the data have at most."""


@dataclass(frozen=True, slots=True)
class Usage:
    """One resource over all nodes.

    `fragmentation` is the part of what is free that the pods of the simulation cannot use (see
    `policyd.simulation.fragmentation`); 0 where nothing is free.
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
    """A simulation in numbers. Times are those of deciding, in seconds of this machine.

    `pending` pods wait at the end, `dropped` ones left because they fitted nowhere; `reasons` are
    of both. `shadow` has of every block in shadow mode how many decisions it would have changed.
    `curve` is the allocation over the arrivals.
    """

    ruleset: str
    placed: int
    pending: int
    dropped: int
    attempts: int
    reasons: tuple[tuple[str, int], ...]
    usage: tuple[Usage, ...]
    simulated_seconds: float
    decision_p50: float
    decision_p99: float
    shadow: tuple[tuple[str, int], ...]
    curve: Curve

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON can carry it."""
        return {
            "ruleset": self.ruleset,
            "placed": self.placed,
            "pending": self.pending,
            "dropped": self.dropped,
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
            "allocation": _curve_data(self.curve),
        }


def _curve_data(curve: Curve) -> dict[str, Any]:
    return {
        "resource": curve.resource,
        "atArrivals": {f"{mark:.0%}": round(part, 6) for mark, part in curve.marks()},
        "curve": [
            {"seconds": seconds, "arrived": round(arrived, 6), "allocated": round(allocated, 6)}
            for seconds, arrived, allocated in curve.thinned(CURVE_POINTS)
        ],
    }


def summarise(outcome: Outcome, pods: Sequence[Pod]) -> Summary:
    """Sum a simulation up; `pods` are those that arrived in it."""
    seconds = sorted(attempt.seconds for attempt in outcome.attempts)
    reasons = Counter(queued.reason or "was not tried" for queued in outcome.pending)
    reasons.update(tried.message for tried in outcome.dropped)
    return Summary(
        ruleset=outcome.ruleset.hash,
        placed=len(outcome.placements),
        pending=len(outcome.pending),
        dropped=len(outcome.dropped),
        attempts=len(outcome.attempts),
        reasons=tuple(reasons.most_common()),
        usage=tuple(_usage(outcome.nodes, pods)),
        simulated_seconds=outcome.seconds,
        decision_p50=_percentile(seconds, 0.5),
        decision_p99=_percentile(seconds, 0.99),
        shadow=tuple(sorted(_shadow_disagreements(outcome).items())),
        curve=outcome.curve,
    )


def _percentile(ordered: Sequence[float], part: float) -> float:
    """Give the value below which a part of the values lies (nearest rank)."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _shadow_disagreements(outcome: Outcome) -> Counter[str]:
    """Count, by block in shadow mode, the decisions that it would have changed."""
    counts = Counter(dict.fromkeys(shadow_names(outcome.ruleset), 0))
    counts.update(name for tried in outcome.attempts for name in tried.disagreeing)
    return counts


def _usage(nodes: Sequence[Node], pods: Sequence[Pod]) -> Iterable[Usage]:
    fragments = fragmentation(nodes, pods)
    resources = dict.fromkeys(name for node in nodes for name in node.allocatable)
    for resource in resources:
        yield Usage(
            resource,
            _total(node.allocatable[resource] for node in nodes),
            _total(node.used[resource] for node in nodes),
            fragments.get(resource, 0.0),
        )


def _total(amounts: Iterable[Quantity]) -> Quantity:
    total = ZERO
    for amount in amounts:
        total = total.plus(amount)
    return total
