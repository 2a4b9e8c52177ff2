"""The cluster's totals, as rules see them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from policyd.model.node import Node, rest
from policyd.model.objects import Fields
from policyd.model.requests import Totals, add
from policyd.model.surroundings import Surroundings
from policyd.model.workload import Shape, Workload
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO

_FIELDS: Final = {
    "allocatable": ("map(string, quantity)", "What all nodes have for pods; else 0."),
    "used": ("map(string, quantity)", "What the pods on all nodes take; else 0."),
    "free": ("map(string, quantity)", "What is left on all nodes: `allocatable - used`; else 0."),
    "nodes": ("int", "How many nodes there are."),
    "pods": ("int", "How many pods there are that have not finished, on nodes or waiting."),
    "shapes": (
        "list(Shape)",
        "What most pods ask for, the most frequent first: as many as make up 95 % of the pods.",
    ),
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Sums over all nodes, cordoned and unready ones included, and what the pods are like.

    `around` is what functions that are given the cluster look into.
    """

    cel_type: ClassVar[str] = "Cluster"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)

    allocatable: TotalMap
    used: TotalMap
    free: TotalMap
    nodes: int
    pods: int
    workload: Workload = field(default_factory=Workload, compare=False)
    around: Surroundings = field(default_factory=Surroundings, compare=False, repr=False)

    @property
    def shapes(self) -> list[Shape]:
        """What most pods of the workload ask for."""
        return self.workload.shapes


def make_cluster(nodes: Sequence[Node], pods: int, workload: Workload | None = None) -> Cluster:
    """Add up the nodes; `pods` is the number of pods that have not finished."""
    allocatable: Totals = {}
    used: Totals = {}
    for node in nodes:
        add(allocatable, node.allocatable)
        add(used, node.used)
    return Cluster(
        allocatable=TotalMap(allocatable, ZERO),
        used=TotalMap(used, ZERO),
        free=rest(allocatable, used),
        nodes=len(nodes),
        pods=pods,
        workload=workload or Workload(),
    )
