"""Nodes, as rules see them, with what the pods on them take."""

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from policyd.model.devices import Device, annotations_in, devices_with, make_devices
from policyd.model.faults import of_amount
from policyd.model.objects import API_FIELDS, ApiObject, Fields, name_of, texts
from policyd.model.pod import Pod
from policyd.model.requests import AmountError, Totals, add, read_amounts, settled
from policyd.model.wire import Image, NodeDetail, NodeHead, NodeStatus, Taint
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity
from policyd.values.times import parse_timestamp

ZONE: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
"""The labels that name a node's zone, the one that counts first."""

REGION: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
"""The labels that name a node's region, the one that counts first."""

_FIELDS: Final = {
    "name": ("string", "The node's name."),
    "labels": ("map(string, string?)", "The labels; an absent key gives null."),
    "annotations": ("map(string, string?)", "The annotations; an absent key gives null."),
    "taints": ("list(v1.Taint)", "The taints, with key, value and effect always there."),
    "allocatable": (
        "map(string, quantity)",
        "What the node has for pods (its capacity where it does not say); else 0.",
    ),
    "used": (
        "map(string, quantity)",
        "What the pods on the node take, their number under `pods`; else 0.",
    ),
    "free": (
        "map(string, quantity)",
        "What is left: `allocatable - used`, below zero where too much was promised; else 0.",
    ),
    "nonZeroUsed": (
        "map(string, quantity)",
        "`used` as scores count it, by the pods' `nonZeroRequests`; else 0.",
    ),
    "pods": ("list(Pod)", "The pods on the node that have not finished."),
    "devices": (
        "list(Device)",
        "The devices of extended resources that have such, in the order of their numbers.",
    ),
    "images": (
        "list(v1.ContainerImage)",
        "The images that the node has, with names and sizeBytes always there.",
    ),
    "ready": ("bool", "Whether the node's condition `Ready` is true."),
    "zone": ("string?", "The zone, by the well-known label, or null."),
    "region": ("string?", "The region, by the well-known label, or null."),
    "created": ("timestamp?", "When the node was created, or null."),
    "age": ("duration?", "How long before `now` the node was created, or null."),
    "unschedulable": ("bool", "Whether the node is cordoned."),
    **API_FIELDS,
    "spec": ("v1.NodeSpec", "The API's own spec, under the API's own field names."),
    "status": ("v1.NodeStatus", "The API's own status, under the API's own field names."),
}


class Node(ApiObject, frozen=True, kw_only=True):
    """A node. `guessed` says that some pod on it has devices, and none on record."""

    cel_type: ClassVar[str] = "Node"
    kind: ClassVar[str] = "Node"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)

    allocatable: TotalMap
    used: TotalMap
    free: TotalMap
    pods: list[Pod]
    ready: bool
    unschedulable: bool
    devices: list[Device] = msgspec.field(default_factory=list)
    guessed: bool = False

    @property
    def zone(self) -> str | None:
        """The zone."""
        return _first(self.labels, ZONE)

    @property
    def region(self) -> str | None:
        """The region."""
        return _first(self.labels, REGION)

    @cached_property
    def nonZeroUsed(self) -> TotalMap:  # noqa: N802 - named as kube-scheduler does
        """What the pods on it take, as scores count it."""
        totals: Totals = dict(self.used)
        for resource in ("cpu", "memory"):
            amounts = [pod.non_zero_charge[resource] for pod in self.pods]
            totals[resource] = reduce(Quantity.plus, amounts, ZERO)
        return TotalMap(totals, ZERO)

    @cached_property
    def taints(self) -> list[dict[str, Any]]:
        """The taints with all fields."""
        spec = self.part(NodeDetail).spec
        taints = (spec and spec.taints) or ()
        return [_taint(each) for each in taints if each is not None]

    @cached_property
    def images(self) -> list[dict[str, Any]]:
        """The images with all fields."""
        status = self.part(NodeDetail).status
        images = (status and status.images) or ()
        return [_image(each) for each in images if each is not None]


def make_node(data: bytes, head: NodeHead, pods: Sequence[Pod]) -> Node:
    """Make a node of its JSON, the parts decoded from it, and the pods that are bound to it.

    Raises:
        ObjectError: it has no name, or an amount in it cannot be read.
    """
    status = head.status or NodeStatus()
    allocatable = _allocatable(status)
    running = [pod for pod in pods if not pod.is_finished]
    used = _used(running)
    labels = texts(head.metadata.labels if head.metadata else None)
    devices, guessed = _devices(data, allocatable, labels, running)
    return Node(
        json=data,
        name=name_of(head.metadata),
        labels=labels,
        allocatable=allocatable,
        used=used,
        free=rest(allocatable, used),
        pods=running,
        ready=_is_ready(status),
        unschedulable=bool(head.spec and head.spec.unschedulable),
        devices=devices,
        guessed=guessed,
    )


def _devices(
    data: bytes, allocatable: TotalMap, labels: TotalMap, pods: Sequence[Pod]
) -> tuple[list[Device], bool]:
    """Give the devices with the pods on them, and whether some pod's were guessed."""
    try:
        devices = make_devices(allocatable, labels, annotations_in(data))
    except AmountError as error:
        raise of_amount(error) from None
    return devices_with(devices, pods) if devices else ([], False)


def rest(allocatable: Mapping[str, Quantity], used: Mapping[str, Quantity]) -> TotalMap:
    """Give what is left of each resource; below zero where more is used than there is."""
    names = dict.fromkeys((*allocatable, *used))
    left = {name: allocatable.get(name, ZERO).minus(used.get(name, ZERO)) for name in names}
    return TotalMap(left, ZERO)


def _allocatable(status: NodeStatus) -> TotalMap:
    """Read what there is for pods; the API server takes it from the capacity where it is absent."""
    field = "capacity" if status.allocatable is None else "allocatable"
    try:
        return settled(read_amounts(getattr(status, field)))
    except AmountError as error:
        raise of_amount(error.within("status", field)) from None


def _used(pods: Sequence[Pod]) -> TotalMap:
    totals: Totals = {}
    for pod in pods:
        add(totals, pod.charge)
    totals["pods"] = Quantity.from_int(len(pods))
    return TotalMap(totals, ZERO)


def _is_ready(status: NodeStatus) -> bool:
    conditions = status.conditions or ()
    return any(
        each is not None and each.type == "Ready" and each.status == "True" for each in conditions
    )


def _first(labels: Mapping[str, str | None], keys: tuple[str, ...]) -> str | None:
    return next((labels[key] for key in keys if key in labels), None)


def _taint(raw: Taint) -> dict[str, Any]:
    made: dict[str, Any] = {
        "key": raw.key or "",
        "value": raw.value or "",
        "effect": raw.effect or "",
    }
    if raw.time_added:
        made["timeAdded"] = parse_timestamp(raw.time_added)
    return made


def _image(raw: Image) -> dict[str, Any]:
    return {
        "names": [name or "" for name in raw.names or ()],
        "sizeBytes": raw.size_bytes or 0,
    }
