"""The quality of service that a pod gets by its amounts, as Kubernetes 1.36 computes it.

`Guaranteed`: every container limits cpu and memory, and all requests equal the limits.
`BestEffort`: nothing asks for or limits cpu or memory. `Burstable`: everything else. Amounts of
zero count as none, and amounts for the pod as a whole stand in for those of its containers.
"""

from typing import Final

from msgspec.structs import replace

from policyd.model.requests import AmountError, Totals, add, read_amounts, requests
from policyd.model.wire import PodSpec, Resources
from policyd.values.errors import ValueFault

_COUNTED: Final = frozenset({"cpu", "memory"})


def qos_class(spec: PodSpec) -> str:
    """Give the class by the spec.

    Raises:
        ValueFault: an amount cannot be read.
    """
    try:
        return _class_of(_parts(spec))
    except AmountError as error:
        raise ValueFault(error.cause) from None


def _parts(spec: PodSpec) -> list[Resources]:
    if spec.resources is not None:
        return [_pod_level(spec, spec.resources)]
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    return [each.resources or Resources() for each in containers if each is not None]


def _pod_level(spec: PodSpec, own: Resources) -> Resources:
    """Give what is set for the pod as a whole, with the requests that the API server adds."""
    if not own.limits:
        return own
    asked = requests(replace(spec, overhead=None))
    return replace(own, requests={name: str(amount) for name, amount in asked.items()})


def _class_of(parts: list[Resources]) -> str:
    asked: Totals = {}
    limits: Totals = {}
    limited = True
    for part in parts:
        own_limits = _counted(read_amounts(part.limits))
        limited = limited and own_limits.keys() == _COUNTED
        add(limits, own_limits)
        # The API server takes missing requests from the limits.
        add(asked, _counted(read_amounts(part.limits) | read_amounts(part.requests)))
    if not asked and not limits:
        return "BestEffort"
    return "Guaranteed" if limited and asked == limits else "Burstable"


def _counted(amounts: Totals) -> Totals:
    return {name: each for name, each in amounts.items() if name in _COUNTED and each.nanos}
