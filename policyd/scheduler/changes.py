"""What changed in the cluster, in the words of the rules: the paths that a rule may have read.

A pod that a rule rejected waits for a change of what the rule read, and for no other.
"""

from collections.abc import Iterable
from typing import Final

from policyd.model.node import Node

NODE_ADDED: Final = frozenset({"node", "cluster"})
NODE_REMOVED: Final = frozenset({"cluster"})
PODS_CHANGED: Final = frozenset(
    {
        *("node.used", "node.free", "node.pods", "node.devices"),
        *("cluster.used", "cluster.free", "cluster.pods", "cluster.shapes"),
    }
)
NAMESPACE_CHANGED: Final = frozenset({"namespace"})
TIME_PASSED: Final = frozenset({"now"})

_LABELS: Final = ("node.labels", "node.metadata.labels", "node.zone", "node.region", "node.devices")
_ANNOTATIONS: Final = ("node.annotations", "node.metadata.annotations", "node.devices")
_SPEC: Final = ("node.spec", "node.taints", "node.unschedulable")
_STATUS: Final = ("node.status", "node.ready", "node.images")
_AMOUNTS: Final = (
    *("node.allocatable", "node.free", "node.devices"),
    *("cluster.allocatable", "cluster.free"),
)


def node_changes(before: Node, after: Node) -> frozenset[str]:
    """Give the paths whose values may differ between two states of a node."""
    changed: set[str] = set()
    if before.labels != after.labels:
        changed.update(_LABELS)
    if before.annotations != after.annotations:
        changed.update(_ANNOTATIONS)
    if before.spec != after.spec:
        changed.update(_SPEC)
    if before.status != after.status:
        changed.update(_STATUS)
    if before.allocatable != after.allocatable:
        changed.update(_AMOUNTS)
    return frozenset(changed)


def concerns(changed: Iterable[str], read: Iterable[str]) -> bool:
    """Say whether something that changed was read: one path is the other's beginning."""
    wanted = [path.removesuffix(".*") for path in read]
    return any(_related(change, path) for change in changed for path in wanted)


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
