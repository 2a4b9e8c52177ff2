"""The allocation of a resource over what arrives: the curve by which placements are compared."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from policyd.model.cluster import Cluster
from policyd.model.pod import Pod
from policyd.values.quantity import ZERO, Quantity

MARKS: Final = tuple(mark / 100 for mark in range(50, 1001, 10))
"""The arrivals at which a summary gives the allocation, in parts of the cluster."""

_NEAR: Final = 0.005
"""How near to a mark the end of the arrivals counts as having reached it."""


class Point(NamedTuple):
    """A moment: the time since the start, and what arrived and is allocated so far.

    Both amounts are parts of what the cluster has. Pods that were on nodes from the start count
    as arrived; what arrived and ended does so too.
    """

    seconds: float
    arrived: float
    allocated: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The allocation of one resource, a point after each arrival or change."""

    resource: str
    points: tuple[Point, ...]

    def at(self, arrived: float) -> float | None:
        """Give the allocation when so much had arrived; nothing if less did."""
        if not self.points or self.points[-1].arrived < arrived - _NEAR:
            return None
        place = bisect_left(self.points, arrived, key=lambda point: point.arrived)
        return self.points[min(place, len(self.points) - 1)].allocated

    def marks(self) -> tuple[tuple[float, float], ...]:
        """Give the arrivals of `MARKS` that were reached, each with the allocation there."""
        found = ((mark, self.at(mark)) for mark in MARKS)
        return tuple((mark, allocated) for mark, allocated in found if allocated is not None)

    def thinned(self, most: int) -> Sequence[Point]:
        """Give at most so many of the points, at even distances, the last one among them."""
        if len(self.points) <= most:
            return self.points
        last = len(self.points) - 1
        return [self.points[round(at * last / (most - 1))] for at in range(most)]


class CurveRecorder:
    """Follows a simulation, and belongs to its thread."""

    def __init__(self, resource: str, totals: Cluster) -> None:
        """Start with what the cluster has and with what is on it already."""
        self._resource = resource
        self._all = totals.allocatable[resource]
        self._arrived = totals.used[resource]
        self._points: list[Point] = []

    def arrived(self, pod: Pod) -> None:
        """Count a pod that arrives."""
        self._arrived = self._arrived.plus(pod.requests[self._resource])

    def record(self, seconds: float, totals: Cluster) -> None:
        """Add a point where something differs from the last one."""
        allocated = self._part(totals.used[self._resource])
        point = Point(seconds, self._part(self._arrived), allocated)
        if not self._points or self._points[-1][1:] != point[1:]:
            self._points.append(point)

    @property
    def curve(self) -> Curve:
        """The curve so far."""
        return Curve(self._resource, tuple(self._points))

    def _part(self, amount: Quantity) -> float:
        return amount.ratio(self._all) if self._all > ZERO else 0.0
