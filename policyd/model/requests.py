"""What a pod asks for, and what it counts for on its node, exactly as the scheduler computes it.

Follows `PodRequests` and `PodLimits` of Kubernetes' component-helpers, after the defaults that
the API server sets: amounts are rounded up to thousandths, missing requests are taken from
limits, and pod-level limits stand in for pod-level requests of what no container asks for. In the
result cpu is in thousandths and everything else in whole units, both rounded up.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from policyd.model.wire import (
    Amounts,
    Container,
    ContainerStatus,
    PodSpec,
    PodStatus,
    Resources,
)
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity

Totals = dict[str, Quantity]
"""Amounts by resource while they are being added up."""

Path = tuple[str | int, ...]

_NONE: Final = Resources()
_SCORED: Final = {"cpu": Quantity.parse("100m"), "memory": Quantity.parse("200Mi")}
_POD_LEVEL: Final = frozenset({"cpu", "memory"})  # and huge pages
_HUGE_PAGES: Final = "hugepages-"


class AmountError(Exception):
    """An amount that is no quantity, or below zero: where in the object, and what is wrong."""

    def __init__(self, cause: str, path: Path = ()) -> None:
        super().__init__(cause)
        self.cause: Final = cause
        self.path = path

    def within(self, *steps: str | int) -> "AmountError":
        """Give the same error as seen from further outside."""
        return AmountError(self.cause, (*steps, *self.path))


def requests(spec: PodSpec) -> TotalMap:
    """Give what a pod asks for, by its spec alone.

    Raises:
        AmountError: an amount cannot be read.
    """
    return settled(_total(_Pod(spec), want="requests"))


def limits(spec: PodSpec) -> TotalMap:
    """Give what a pod may use at most; resources without a limit are absent.

    Raises:
        AmountError: an amount cannot be read.
    """
    return settled(_total(_Pod(spec), want="limits"))


def charge(spec: PodSpec, status: PodStatus) -> TotalMap:
    """Give what a pod on a node counts for: the most of what it asks for, has and was allotted.

    While a container is resized in place these differ. The spec does not count where the kubelet
    said that it can never be had.

    Raises:
        AmountError: an amount cannot be read.
    """
    return settled(_total(_Pod(spec, status), want="requests"))


def non_zero_requests(spec: PodSpec) -> TotalMap:
    """Give what a pod asks for as scores count it: a container that says nothing asks for a little.

    `DefaultMilliCPURequest` and `DefaultMemoryRequest` of kube-scheduler. As there, what is asked
    for the pod as a whole does not count.

    Raises:
        AmountError: an amount cannot be read.
    """
    plain = msgspec.structs.replace(spec, resources=None)
    return settled(_total(_Pod(plain, missing=_SCORED), want="requests"))


def non_zero_charge(spec: PodSpec, status: PodStatus) -> TotalMap:
    """Give what a pod on a node counts for in scores; here what is asked for the whole counts.

    Raises:
        AmountError: an amount cannot be read.
    """
    missing = _SCORED
    own = spec.resources
    if own is not None and (own.requests or own.limits):
        charged = charge(spec, status)
        missing = {name: each for name, each in _SCORED.items() if name not in charged}
    return settled(_total(_Pod(spec, status, missing), want="requests"))


def settled(totals: Mapping[str, Quantity]) -> TotalMap:
    """Round as the scheduler does: cpu up to thousandths, everything else up to whole units."""
    return TotalMap({name: _settle(name, amount) for name, amount in totals.items()}, ZERO)


def _settle(name: str, amount: Quantity) -> Quantity:
    if name == "cpu" or amount.exponent >= 0:  # read amounts are in thousandths already
        return amount
    return Quantity.from_int(amount.value(), amount.notation)


def read_amounts(raw: Amounts | None) -> Totals:
    """Read amounts, each rounded up to thousandths as the API server does.

    Raises:
        AmountError: an amount is no quantity or is below zero.
    """
    if not raw:
        return {}
    totals: Totals = {}
    for name, amount in raw.items():
        try:
            totals[name] = _amount(amount)
        except ValueFault as fault:
            raise AmountError(fault.message, (name,)) from None
    return totals


@lru_cache(maxsize=16384)
def _amount(raw: str | float | None) -> Quantity:
    if raw is None:
        return ZERO
    text = raw.strip() if isinstance(raw, str) else str(raw)
    amount = Quantity.parse(text)
    if amount.nanos < 0:
        raise ValueFault(f"{text} is below zero")
    milli = amount.milli_value()
    if milli * 10**6 == amount.nanos:
        return amount
    return Quantity.from_milli(milli, amount.notation)


def add(totals: Totals, more: Mapping[str, Quantity]) -> None:
    """Add amounts to totals."""
    for name, amount in more.items():
        total = totals.get(name)
        totals[name] = amount if total is None else total.plus(amount)


def _raise(totals: Totals, others: Mapping[str, Quantity]) -> None:
    """Raise totals to at least the other amounts."""
    for name, amount in others.items():
        total = totals.get(name)
        if total is None or amount.nanos > total.nanos:
            totals[name] = amount


class _Pod:
    """A pod's spec and, where it counts, its status."""

    __slots__ = ("infeasible", "missing", "spec", "status")

    def __init__(
        self,
        spec: PodSpec,
        status: PodStatus | None = None,
        missing: Mapping[str, Quantity] | None = None,
    ) -> None:
        self.spec = spec
        self.missing = missing or {}  # what each container asks for that does not say
        self.status = status
        self.infeasible = status is not None and _is_infeasible(status)

    def containers(self, *, init: bool) -> Iterable[tuple[Container, ContainerStatus | None]]:
        """Give the containers, each with its status where that counts."""
        spec, status = self.spec, self.status
        containers = spec.init_containers if init else spec.containers
        found: dict[str | None, ContainerStatus] = {}
        if status is not None:
            statuses = status.init_container_statuses if init else status.container_statuses
            found = {each.name: each for each in statuses or () if each and each.resources}
        for container in containers or ():
            if container is not None:
                counts = not init or _is_sidecar(container)
                yield container, found.get(container.name) if counts else None


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _is_infeasible(status: PodStatus) -> bool:
    """Say whether the kubelet ruled out the resize that the spec asks for."""
    for condition in status.conditions or ():
        if condition is not None and condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _total(pod: _Pod, *, want: str) -> Totals:
    totals = _of_containers(pod, want)
    for name, amount in _of_pod_level(pod, totals, want).items():
        totals[name] = amount
    try:
        overhead = read_amounts(pod.spec.overhead)
    except AmountError as error:
        raise error.within("spec", "overhead") from None
    if want == "limits":  # only what is limited at all is limited to more
        overhead = {name: each for name, each in overhead.items() if totals.get(name, ZERO).nanos}
    add(totals, overhead)
    return totals


def _of_containers(pod: _Pod, want: str) -> Totals:
    """Give the larger of what all need together and what each step of starting up needs."""
    totals: Totals = {}
    for at, (container, status) in enumerate(pod.containers(init=False)):
        add(totals, _of_container(container, status, pod, want, ("spec", "containers", at)))
    sidecars: Totals = {}
    most: Totals = {}
    for at, (container, status) in enumerate(pod.containers(init=True)):
        own = _of_container(container, status, pod, want, ("spec", "initContainers", at))
        if _is_sidecar(container):
            add(totals, own)
            add(sidecars, own)
            _raise(most, sidecars)
        else:
            step = dict(own)
            add(step, sidecars)
            _raise(most, step)
    _raise(totals, most)
    return totals


def _of_container(
    container: Container, status: ContainerStatus | None, pod: _Pod, want: str, path: Path
) -> Totals:
    found = _with_status(container, status, pod, want, path)
    return {**pod.missing, **found} if pod.missing else found


def _with_status(
    container: Container, status: ContainerStatus | None, pod: _Pod, want: str, path: Path
) -> Totals:
    try:
        asked = _with_defaults(container.resources or _NONE, want)
    except AmountError as error:
        raise error.within(*path, "resources") from None
    if status is None or status.resources is None:
        return asked
    try:
        has = _part(status.resources, want)
        if want == "requests":
            _raise(has, read_amounts(status.allocated_resources))
    except AmountError as error:
        raise error.within("status") from None
    if not pod.infeasible:
        _raise(has, asked)
    return has


def _part(resources: Resources, want: str) -> Totals:
    try:
        return read_amounts(resources.requests if want == "requests" else resources.limits)
    except AmountError as error:
        raise error.within(want) from None


def _with_defaults(resources: Resources, want: str) -> Totals:
    """Give requests, those that are missing taken from the limits; or the limits."""
    asked = _part(resources, want)
    if want == "requests" and resources.limits:
        for name, amount in _part(resources, "limits").items():
            asked.setdefault(name, amount)
    return asked


def _of_pod_level(pod: _Pod, totals: Totals, want: str) -> Totals:
    """Give what is set for the pod as a whole, which replaces what the containers add up to."""
    resources = pod.spec.resources
    if resources is None:
        return {}
    try:
        own = _part(resources, want)
        if want == "requests":
            for name, amount in _part(resources, "limits").items():
                # A request for huge pages always equals its limit.
                if name not in totals or name.startswith(_HUGE_PAGES):
                    own.setdefault(name, amount)
    except AmountError as error:
        raise error.within("spec", "resources") from None
    own = {name: amount for name, amount in own.items() if _has_pod_level(name)}
    return _resized(own, pod) if want == "requests" else own


def _has_pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith(_HUGE_PAGES)


def _resized(own: Totals, pod: _Pod) -> Totals:
    status = pod.status
    if status is None or status.resources is None:
        return own
    try:
        has = _part(status.resources, "requests")
        _raise(has, read_amounts(status.allocated_resources))
    except AmountError as error:
        raise error.within("status") from None
    has = {name: amount for name, amount in has.items() if name in own}
    if not pod.infeasible or not has:
        _raise(has, own)
    return has
