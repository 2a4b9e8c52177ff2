"""How much of what is free the pods of a workload cannot use.

The measure is that of "Beware of Fragmentation" (USENIX ATC 2023), for any resource: the mean,
over the pods that ask for the resource, of what is free and of no use to the pod, as a part of all
that is free. On a node where the pod does not fit nothing is of use to it; where it fits, devices
are not that have less left than it needs of one. The pods are the most frequent of the workload,
as many as make up 95 % of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.workload import COVERED
from policyd.values.quantity import NANOS, Quantity

_PODS: Final = "pods"

Amounts = Mapping[str, int]
"""Amounts by resource, in nano-units."""


@dataclass(frozen=True, slots=True)
class _Room:
    """What a node has free, of each resource and of each device."""

    free: Amounts
    devices: Mapping[str, Sequence[int]]


def fragmentation(nodes: Sequence[Node], pods: Iterable[Pod]) -> dict[str, float]:
    """Give the fragmentation of each resource that some pod asks for, from 0 to 1."""
    rooms = [_room(node) for node in nodes]
    shapes = _frequent(pods)
    asking = {resource for shape, _ in shapes for resource, amount in shape.items() if amount > 0}
    useless: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for shape, count in shapes:
        wasted = _useless(shape, rooms)
        for resource, amount in shape.items():
            if amount > 0:
                useless[resource] += count * wasted[resource]
                weights[resource] += count
    free = {r: sum(max(room.free.get(r, 0), 0) for room in rooms) for r in asking}
    return {r: useless[r] / (weights[r] * free[r]) if free[r] else 0.0 for r in asking}


def _room(node: Node) -> _Room:
    devices: dict[str, list[int]] = {}
    for device in node.devices:
        devices.setdefault(device.resource, []).append(device.free.nanos)
    return _Room({name: amount.nanos for name, amount in node.free.items()}, devices)


def _frequent(pods: Iterable[Pod]) -> list[tuple[Amounts, int]]:
    """Give the requests of the most frequent pods, and how many pods have them."""
    counts: Counter[tuple[tuple[str, Quantity], ...]] = Counter(
        tuple(sorted(pod.requests.items())) for pod in pods
    )
    wanted, covered = COVERED * counts.total(), 0
    kept: list[tuple[Amounts, int]] = []
    for shape, count in counts.most_common():
        if covered >= wanted:
            break
        covered += count
        kept.append(({name: amount.nanos for name, amount in shape}, count))
    return kept


def _useless(shape: Amounts, rooms: Sequence[_Room]) -> Counter[str]:
    """Give what is free of each resource and of no use to a pod."""
    useless: Counter[str] = Counter()
    for room in rooms:
        fits = _fits(shape, room)
        for resource in shape:
            devices = room.devices.get(resource)
            if not fits:
                useless[resource] += max(room.free.get(resource, 0), 0)
            elif devices:
                each = min(shape[resource], NANOS)
                useless[resource] += sum(free for free in devices if 0 < free < each)
    return useless


def _fits(shape: Amounts, room: _Room) -> bool:
    free = room.free
    if free.get(_PODS, 0) < NANOS:
        return False
    for resource, amount in shape.items():
        if amount > free.get(resource, 0):
            return False
        devices = room.devices.get(resource)
        if devices and amount > 0:
            each = min(amount, NANOS)
            if sum(left >= each for left in devices) < max(amount // NANOS, 1):
                return False
    return True
