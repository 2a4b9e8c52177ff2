"""Devices: the single pieces of an extended resource, of which pods take whole ones or shares.

A node's extended resource whose name ends in `/gpu`, or that the node's annotation
`policyd.io/device-resources` names, consists of devices: `nvidia.com/gpu: 8` is eight devices
with a total of 1 each. A pod asks for whole devices by its ordinary request, or for a share of
one by its annotation `policyd.io/device-share`. Which devices a placed pod has stands in its
annotation `policyd.io/devices`, written when it is bound; for a pod without that record (one that
another scheduler placed) the devices are guessed, the same ones every time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final, Protocol

import msgspec

from policyd.model.objects import Fields
from policyd.model.requests import AmountError, Totals, read_amounts
from policyd.values.maps import TotalMap
from policyd.values.quantity import NANOS, ZERO, Quantity

RECORD: Final = "policyd.io/devices"
"""The pod's annotation that says which devices it has: `nvidia.com/gpu=0,3`."""

SHARE: Final = "policyd.io/device-share"
"""The pod's annotation that asks for a part of one device: `nvidia.com/gpu=460m`."""

MODELS: Final = "policyd.io/device-models"
"""The pod's annotation that names the models it can use: `V100M16|V100M32`."""

RESOURCES: Final = "policyd.io/device-resources"
"""The node's annotation that names, with commas between, the resources that are devices."""

MODEL: Final = "policyd.io/device-model"
"""The node's annotation that says of which model its devices are: `nvidia.com/gpu=A10`."""

MAX_DEVICES: Final = 256
"""Of a resource of which a node has more, the devices are not told apart."""

Taken = Mapping[str, tuple[int, ...]]
"""The devices that a pod has, by their numbers, for each resource."""

_GPU: Final = "/gpu"
_PRODUCT: Final = ".product"  # the label of NVIDIA's feature discovery: nvidia.com/gpu.product
_ONE: Final = Quantity.from_int(1)
_HINT: Final = b"policyd.io"
_NOTHING: Final[Taken] = MappingProxyType({})

_FIELDS: Final = {
    "index": ("int", "The device's number on its node, from 0."),
    "resource": ("string", "The resource that it is one of, such as `nvidia.com/gpu`."),
    "model": ("string?", "The device's model, or null where the node does not say."),
    "total": ("quantity", "The device's capacity; 1 for a whole device."),
    "used": ("quantity", "What pods have of it."),
    "free": ("quantity", "What is left of it."),
    "whole": ("bool", "Whether nothing of it is used."),
}


class Device(msgspec.Struct, frozen=True, gc=False):
    """One device of a node, and what is taken of it."""

    cel_type: ClassVar[str] = "Device"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)

    index: int
    resource: str
    model: str | None
    total: Quantity
    used: Quantity
    free: Quantity

    @property
    def whole(self) -> bool:
        """Whether nothing of it is used."""
        return self.used.nanos == 0

    def __repr__(self) -> str:
        return f"<Device {self.resource} {self.index}>"


class Occupant(Protocol):
    """A pod, as far as devices go: what it counts for, and what it is on record to have."""

    @property
    def namespace(self) -> str:
        """Its namespace."""
        ...

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def charge(self) -> TotalMap:
        """What it counts for on its node."""
        ...

    @property
    def taken(self) -> Taken:
        """The devices that its record names."""
        ...


# --- reading annotations ---


class _Annotations(msgspec.Struct, frozen=True):
    annotations: dict[str, str | None] | None = None


class _Annotated(msgspec.Struct, frozen=True):
    metadata: _Annotations | None = None


def annotations_in(data: bytes) -> Mapping[str, str | None]:
    """Give an object's annotations if some can be about devices, and else none.

    Most objects have none of them, which a look at the bytes tells without decoding.
    """
    if _HINT not in data and b"\\u" not in data:
        return {}
    found = msgspec.json.decode(data, type=_Annotated).metadata
    return (found and found.annotations) or {}


def asked_share(annotations: Mapping[str, str | None]) -> Totals:
    """Give the parts of single devices that a pod asks for, rounded up to thousandths.

    Raises:
        AmountError: the annotation is not of its form, or a part is not above 0 and at most 1.
    """
    text = annotations.get(SHARE)
    if not text:
        return {}
    try:
        entries = _entries(text, "nvidia.com/gpu=460m")
        shares = read_amounts(dict(entries))
        for resource, share in shares.items():
            if not 0 < share.nanos <= NANOS:
                raise AmountError(f"a share of a device is above 0 and at most 1: {share}", ())  # noqa: TRY301 - said once, with its place below
            _named(resource)
    except AmountError as error:
        raise AmountError(error.cause, ("metadata", "annotations", SHARE)) from None
    return shares


def recorded(annotations: Mapping[str, str | None]) -> Taken:
    """Give the devices that a pod is on record to have.

    A record that cannot be read is none: it was written by a program, for programs, and the pod
    runs whatever it says.
    """
    text = annotations.get(RECORD)
    return _recorded(text) if text else _NOTHING


@lru_cache(maxsize=4096)
def _recorded(text: str) -> Taken:
    try:
        entries = _entries(text, "nvidia.com/gpu=0,3")
        return {resource: tuple(map(_index, value.split(","))) for resource, value in entries}
    except (AmountError, ValueError):
        return _NOTHING


def record(taken: Taken) -> str:
    """Write the record of a pod's devices as `recorded` reads it."""
    return ";".join(f"{resource}={','.join(map(str, at))}" for resource, at in taken.items())


def _index(text: str) -> int:
    at = text.strip()
    if not (at.isascii() and at.isdecimal()):
        raise ValueError(at)
    return int(at)


def _entries(text: str, example: str) -> list[tuple[str, str]]:
    """Read `resource=value` entries with semicolons between."""
    entries: dict[str, str] = {}
    for part in text.split(";"):
        resource, equals, value = (piece.strip() for piece in part.partition("="))
        if not (resource and equals and value) or resource in entries:
            raise AmountError(f"expected `{example}`, with `;` between several, got `{text}`")
        entries[resource] = value
    return list(entries.items())


def _named(resource: str) -> None:
    if "/" not in resource:
        raise AmountError(f"`{resource}` is no extended resource; write it as in `nvidia.com/gpu`")


# --- a node's devices ---


def make_devices(
    allocatable: Mapping[str, Quantity],
    labels: Mapping[str, str | None],
    annotations: Mapping[str, str | None],
) -> list[Device]:
    """Give the devices that a node has, with nothing taken of them.

    The model is that of the annotation, else of the label `nvidia.com/gpu.product` (the
    resource's name and `.product`), else null.

    Raises:
        AmountError: an annotation about devices is not of its form.
    """
    resources = _device_resources(allocatable, annotations)
    if not resources:
        return []
    models = _models(annotations)
    devices: list[Device] = []
    for resource in resources:
        model = models.get(resource) or labels.get(f"{resource}{_PRODUCT}")
        devices += [
            Device(at, resource, model, _ONE, ZERO, _ONE)
            for at in range(allocatable[resource].value())
        ]
    return devices


def _device_resources(
    allocatable: Mapping[str, Quantity], annotations: Mapping[str, str | None]
) -> list[str]:
    if (text := annotations.get(RESOURCES)) is not None:
        named = [part.strip() for part in text.split(",") if part.strip()]
        found = [name for name in dict.fromkeys(named) if name in allocatable]
    else:
        found = [name for name in allocatable if name.endswith(_GPU)]
    return [name for name in found if allocatable[name].value() <= MAX_DEVICES]


def _models(annotations: Mapping[str, str | None]) -> dict[str, str]:
    text = annotations.get(MODEL)
    if not text:
        return {}
    try:
        return dict(_entries(text, "nvidia.com/gpu=A10"))
    except AmountError as error:
        raise AmountError(error.cause, ("metadata", "annotations", MODEL)) from None


# --- what is taken ---


def devices_with(devices: Sequence[Device], pods: Iterable[Occupant]) -> tuple[list[Device], bool]:
    """Give a node's devices with all its pods on them, and whether some pod's were guessed.

    Pods on record have what the record says. Then the others are given devices in the order of
    their names, as `default_choice` does, so that the answer depends on nothing but the pods.
    """
    made = [Device(d.index, d.resource, d.model, d.total, ZERO, d.total) for d in devices]
    guessed: list[Occupant] = []
    for pod in pods:
        held = held_by(made, pod)
        if held is None:
            guessed.append(pod)
        else:
            made = changed(made, pod.charge, held, Quantity.plus)
    for pod in sorted(guessed, key=lambda pod: (pod.namespace, pod.name)):
        for resource in _asked(made, pod.charge):
            chosen = _guess(of_resource(made, resource), pod.charge[resource])
            made = changed(made, pod.charge, {resource: chosen}, Quantity.plus)
    return made, bool(guessed)


def held_by(devices: Sequence[Device], pod: Occupant) -> Taken | None:
    """Give the devices that a pod has by its record; nothing where the record does not fit.

    A pod that takes no device has none, which needs no record.
    """
    asked = _asked(devices, pod.charge)
    held: dict[str, tuple[int, ...]] = {}
    for resource in asked:
        at = pod.taken.get(resource, ())
        count = sum(1 for device in devices if device.resource == resource)
        wanted = whole_devices(pod.charge[resource]) or 1
        if len(at) != wanted or len(set(at)) != wanted or max(at) >= count:
            return None
        held[resource] = at
    return held


def changed(
    devices: Sequence[Device],
    charge: TotalMap,
    taken: Taken,
    change: Callable[[Quantity, Quantity], Quantity],
) -> list[Device]:
    """Give devices with more taken of some (`Quantity.plus`), or less (`Quantity.minus`)."""
    made = list(devices)
    for resource, indices in taken.items():
        each = charge[resource] if len(indices) == 1 else _ONE
        for at, device in enumerate(made):
            if device.resource == resource:
                for _ in range(indices.count(device.index)):
                    made[at] = _used(made[at], change(made[at].used, each))
    return made


def _used(device: Device, used: Quantity) -> Device:
    left = device.total.minus(used)
    return Device(device.index, device.resource, device.model, device.total, used, left)


def of_resource(devices: Iterable[Device], resource: str) -> list[Device]:
    """Give the devices of one resource."""
    return [device for device in devices if device.resource == resource]


def _asked(devices: Sequence[Device], charge: TotalMap) -> list[str]:
    """Give the resources of which a pod takes devices."""
    resources = dict.fromkeys(device.resource for device in devices)
    return [resource for resource in resources if charge[resource].nanos > 0]


def whole_devices(amount: Quantity) -> int:
    """Give how many whole devices an amount is; 0 where it is a share of one."""
    return 0 if amount.nanos < NANOS else amount.value()


def sufficient(devices: Iterable[Device], amount: Quantity) -> list[Device]:
    """Give the devices of one resource that suffice.

    A share needs as much free of one device; whole devices are those of which nothing is used.
    """
    if whole_devices(amount):
        return [device for device in devices if device.whole]
    return [device for device in devices if device.free.nanos >= amount.nanos]


def default_choice(devices: Iterable[Device], amount: Quantity) -> tuple[int, ...] | None:
    """Choose among the devices of one resource, where the policy does not; None if too few suffice.

    A share goes to the device that has the least free and still suffices; of equal ones, and of
    wholly free ones, the first are taken.
    """
    found = sufficient(devices, amount)
    count = whole_devices(amount)
    if len(found) < (count or 1):
        return None
    if count:
        return tuple(device.index for device in found[:count])
    return (min(found, key=lambda device: (device.free.nanos, device.index)).index,)


def _guess(devices: Sequence[Device], amount: Quantity) -> tuple[int, ...]:
    """Say where a pod without a record may be; also where more is promised than there is."""
    chosen = default_choice(devices, amount)
    if chosen is not None or not devices:
        return chosen or ()
    freest = sorted(devices, key=lambda device: (-device.free.nanos, device.index))
    count = whole_devices(amount) or 1
    return tuple(freest[at % len(freest)].index for at in range(count))
