"""Which devices of its node a pod takes, as `choose { device … }` says.

The rules say on which nodes a pod fits, and read `node.devices` for it. That the devices of the
node suffice is made sure of besides, whatever the rules say, so that no device is ever promised
twice: a decision whose best node has no devices left for the pod is made again on the nodes that
have them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from typing import Any, Final

from policyd.language.reads import reads_of
from policyd.model.devices import (
    Device,
    Taken,
    default_choice,
    of_resource,
    sufficient,
    whole_devices,
)
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.policy.decide import Decision, bindings
from policyd.policy.kernel.keys import Same
from policyd.policy.order import compare_keys, key_value
from policyd.policy.ruleset import Ruleset, SortKey

_DEVICE: Final = "device"

REASON: Final = "no device has enough left"
"""Why a node is refused whose devices do not suffice, whatever the rules say."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision, and the devices that the pod takes of the chosen node.

    `refused` is the number of nodes that were left out because their devices do not suffice; it
    is 0 unless the rules would have taken one of them.
    """

    decision: Decision
    taken: Taken
    refused: int = 0


def with_devices(
    decision: Decision,
    snapshot: Snapshot,
    again: Callable[[Sequence[Node]], Decision],
    nodes: Sequence[Node] | None = None,
) -> Choice:
    """Choose the devices for a decision; where those of its node do not suffice, decide again.

    `nodes` are those that were decided on, if not all of the snapshot; `again` decides on some.
    """
    node, pod = decision.node, decision.pod
    if node is None:
        return Choice(decision, {})
    taken = choose(decision.ruleset, pod, node, snapshot)
    if taken is not None:
        return Choice(decision, taken)
    considered = snapshot.nodes if nodes is None else nodes
    able = [node for node in considered if suffice(node, pod)]
    second = again(able)
    devices = None
    if second.node is not None:
        devices = choose(second.ruleset, pod, second.node, snapshot)
    return Choice(second, devices or {}, len(considered) - len(able))


def suffice(node: Node, pod: Pod) -> bool:
    """Say whether a node's devices suffice for a pod; one without devices has no say."""
    return all(
        default_choice(of_resource(node.devices, resource), pod.requests[resource]) is not None
        for resource in _asked(node, pod)
    )


def choose(ruleset: Ruleset, pod: Pod, node: Node, snapshot: Snapshot) -> Taken | None:
    """Give the devices that a pod takes of a node, for each resource; None if they do not suffice.

    Of those that suffice (a part of one device as large as the pod's share; wholly free devices
    for a pod that takes whole ones) the first by the keys of `choose { device … }` are taken.
    Where keys are equal, or null, or cannot be evaluated, the lower number goes first. Without
    keys a share goes to the device with the least left, and whole devices are taken in order.
    """
    asked = _asked(node, pod)
    if not asked:
        return {}
    by_keys = _Keys(ruleset, pod, node, snapshot)
    taken: dict[str, tuple[int, ...]] = {}
    for resource in asked:
        chosen = by_keys.take(of_resource(node.devices, resource), resource)
        if chosen is None:
            return None
        taken[resource] = chosen
    return taken


def device_keys(ruleset: Ruleset) -> tuple[SortKey, ...]:
    """Give the keys by which a rule set chooses devices; a block in shadow mode does not."""
    return tuple(
        key
        for block in ruleset.blocks
        if block.word == "choose" and not block.shadow
        for clause in block.clauses
        if clause.word == "device"
        for key in clause.keys
    )


def _asked(node: Node, pod: Pod) -> list[str]:
    """Give the resources of which the pod takes devices of the node."""
    if not node.devices:
        return []
    resources = dict.fromkeys(device.resource for device in node.devices)
    return [resource for resource in resources if pod.requests[resource].nanos > 0]


@lru_cache(maxsize=16)
def _keys_of(ruleset: Same) -> tuple[tuple[SortKey, ...], tuple[str, ...]]:
    """Give the keys of a rule set, and the fields of the device that they read."""
    keys = device_keys(ruleset.value)
    return keys, _fields_read(keys)


def _fields_read(keys: Sequence[SortKey]) -> tuple[str, ...]:
    """Give the fields of the device that keys read; all of them where it is passed on whole."""
    paths = reads_of(key.value.checked.root for key in keys)
    fields = {path.split(".")[1] for path in paths if path.startswith(f"{_DEVICE}.")}
    return tuple(Device.FIELDS) if fields - Device.FIELDS.keys() else tuple(sorted(fields))


class _Keys:
    """The choice by keys of devices of one node for one pod."""

    def __init__(self, ruleset: Ruleset, pod: Pod, node: Node, snapshot: Snapshot) -> None:
        self._pod = pod
        self._keys, self._fields = _keys_of(Same(ruleset))
        self._values: Mapping[str, Any] = {}
        if self._keys:
            self._values = {**bindings(ruleset, pod, snapshot), "node": node}

    def take(self, devices: list[Device], resource: str) -> tuple[int, ...] | None:
        """Choose among the devices of a resource; None where too few suffice."""
        amount = self._pod.requests[resource]
        if not self._keys:
            return default_choice(devices, amount)
        found = sufficient(devices, amount)
        count = whole_devices(amount) or 1
        if len(found) < count:
            return None
        return self._first(found, count)

    def _first(self, devices: Sequence[Device], count: int) -> tuple[int, ...]:
        """Take the first by the keys. Devices in which all that keys read is equal are equal."""
        alike: dict[tuple[Any, ...], list[int]] = {}
        first: list[Device] = []
        for device in devices:
            facts = tuple(getattr(device, field) for field in self._fields)
            if facts not in alike:
                alike[facts] = []
                first.append(device)
            alike[facts].append(device.index)
        if len(alike) == 1:
            return tuple(device.index for device in devices[:count])
        rows = [
            (row, index)
            for row, indices in zip(map(self._row, first), alike.values(), strict=True)
            for index in indices
        ]
        rows.sort(key=cmp_to_key(self._before))
        return tuple(index for _, index in rows[:count])

    def _row(self, device: Device) -> list[Any]:
        values = {**self._values, "device": device}
        return [key_value(key, values) for key in self._keys]

    def _before(self, left: tuple[list[Any], int], right: tuple[list[Any], int]) -> int:
        return compare_keys(self._keys, left[0], right[0]) or left[1] - right[1]
