"""The shapes of a cluster's pods: what most of them ask for, and how often.

A shape is what a pod asks for of cpu and of extended resources, and the device models that it can
use. Memory is no part of it: its amounts hardly ever repeat. The shapes of a workload are those
of its most frequent pods, as many as make up 95 % of them, as the "typical pods" of "Beware of
Fragmentation" (USENIX ATC 2023).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Final

import msgspec

from policyd.model.objects import Fields
from policyd.model.pod import Pod
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity

COVERED: Final = 0.95
"""The part of a workload's pods that its shapes make up, at least."""

_FIELDS: Final = {
    "frequency": ("double", "The part of the listed shapes' pods that have it; all add up to 1."),
    "requests": (
        "map(string, quantity)",
        "What such a pod asks for of cpu and of extended resources; else 0.",
    ),
    "models": ("list(string)", "The device models that it can use; empty where any will do."),
}

_Key = tuple[tuple[tuple[str, Quantity], ...], tuple[str, ...]]


class Shape(msgspec.Struct, frozen=True):
    """What many pods have in common, and how many of them."""

    cel_type: ClassVar[str] = "Shape"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)

    frequency: float
    requests: TotalMap
    models: list[str]

    def __repr__(self) -> str:
        return f"<Shape {self.requests}>"


class Workload:
    """Some pods, whose shapes are found when they are first asked for.

    `fixed` says that it is to stay as it is while pods come and go, as that of a simulation does.
    Any thread may read it: two that meet compute the same.
    """

    def __init__(self, pods: Iterable[Pod] = (), *, fixed: bool = False) -> None:
        self._pods: Sequence[Pod] = tuple(pods)
        self.fixed = fixed

    @cached_property
    def shapes(self) -> list[Shape]:
        """The most frequent shapes, those first; of equal ones the one that asks for more."""
        counts = Counter(_key(pod) for pod in self._pods if not pod.is_finished)
        wanted, covered = COVERED * counts.total(), 0
        kept: list[tuple[_Key, int]] = []
        for key, count in sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True):
            if covered >= wanted:
                break
            covered += count
            kept.append((key, count))
        return [
            Shape(count / covered, TotalMap(dict(requests), ZERO), list(models))
            for (requests, models), count in kept
        ]


def _key(pod: Pod) -> _Key:
    amounts = pod.requests.items()
    counted = [(name, each) for name, each in amounts if name == "cpu" or "/" in name]
    return tuple(sorted(counted)), tuple(sorted(pod.models))
