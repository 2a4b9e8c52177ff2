"""A node with one pod more or one pod less: what a placement changes, and nothing else."""

from collections.abc import Callable

import msgspec

from policyd.model.cluster import Cluster
from policyd.model.devices import Device, changed, devices_with, held_by
from policyd.model.node import Node, rest
from policyd.model.pod import Pod
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity

_ONE = Quantity.from_int(1)


def with_pod(node: Node, pod: Pod) -> Node:
    """Give the node with a pod more."""
    return _changed(node, [*node.pods, pod], pod, Quantity.plus)


def without_pod(node: Node, pod: Pod) -> Node:
    """Give the node with a pod less. The pod is known by its uid, else by its full name."""
    left = [other for other in node.pods if not same_pod(other, pod)]
    if len(left) == len(node.pods):
        return node
    return _changed(node, left, pod, Quantity.minus)


def same_pod(one: Pod, other: Pod) -> bool:
    """Say whether two states are of one pod."""
    if one.uid and other.uid:
        return one.uid == other.uid
    return (one.namespace, one.name) == (other.namespace, other.name)


def _changed(
    node: Node, pods: list[Pod], pod: Pod, change: Callable[[Quantity, Quantity], Quantity]
) -> Node:
    used = TotalMap(dict(node.used), ZERO)
    for resource, amount in pod.charge.items():
        used[resource] = change(used[resource], amount)
    used["pods"] = change(used["pods"], _ONE)
    devices, guessed = node.devices, node.guessed
    if devices:
        devices, guessed = _devices(node, pods, pod, change)
    return msgspec.structs.replace(
        node,
        pods=pods,
        used=used,
        free=rest(node.allocatable, used),
        devices=devices,
        guessed=guessed,
    )


def _devices(
    node: Node, pods: list[Pod], pod: Pod, change: Callable[[Quantity, Quantity], Quantity]
) -> tuple[list[Device], bool]:
    """Give the devices after the change, and whether some pod's are guessed.

    Where every pod's devices are on record only those of this pod change. A guess depends on
    all pods of the node, so that then they are gone through again.
    """
    held = held_by(node.devices, pod)
    if held is None or (held and node.guessed):
        return devices_with(node.devices, pods)
    if not held:
        return node.devices, node.guessed
    return changed(node.devices, pod.charge, held, change), False


def _add(
    totals: TotalMap, amounts: TotalMap, change: Callable[[Quantity, Quantity], Quantity]
) -> None:
    for resource, amount in amounts.items():
        totals[resource] = change(totals[resource], amount)


def totals_after(cluster: Cluster, before: Node | None, after: Node | None) -> Cluster:
    """Give the cluster's totals when one node's state became another; none is no node."""
    allocatable, used = cluster.allocatable, TotalMap(dict(cluster.used), ZERO)
    states = [(node, c) for node, c in ((before, Quantity.minus), (after, Quantity.plus)) if node]
    if before is None or after is None or before.allocatable is not after.allocatable:
        allocatable = TotalMap(dict(allocatable), ZERO)
        for node, change in states:
            _add(allocatable, node.allocatable, change)
    for node, change in states:
        _add(used, node.used, change)
    nodes = cluster.nodes + (after is not None) - (before is not None)
    left = rest(allocatable, used)
    return Cluster(allocatable, used, left, nodes, cluster.pods, cluster.workload)
