"""Pods, as rules see them."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from policyd.model.devices import (
    MODELS,
    RECORD,
    SHARE,
    Taken,
    annotations_in,
    asked_share,
    record,
    recorded,
)
from policyd.model.faults import of_amount
from policyd.model.objects import API_FIELDS, ApiObject, Fields, name_of, texts
from policyd.model.qos import qos_class
from policyd.model.requests import (
    AmountError,
    Totals,
    charge,
    limits,
    non_zero_charge,
    non_zero_requests,
    requests,
)
from policyd.model.wire import (
    Named,
    PodDetail,
    PodHead,
    PodSpec,
    PodSpecDetail,
    PodStatus,
    Toleration,
)
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""The phases in which a pod takes nothing of its node any more."""

_FIELDS: Final = {
    "name": ("string", "The pod's name; for a pod template, the name of its workload."),
    "namespace": ("string", "The name of the pod's namespace."),
    "uid": ("string", "The uid, or an empty text before the API server gave one."),
    "labels": ("map(string, string?)", "The labels; an absent key gives null."),
    "annotations": ("map(string, string?)", "The annotations; an absent key gives null."),
    "priority": ("int", "The priority; 0 where neither the pod nor a class says otherwise."),
    "requests": (
        "map(string, quantity)",
        "What the pod asks for by the scheduler's arithmetic; an absent resource gives 0.",
    ),
    "nonZeroRequests": (
        "map(string, quantity)",
        "`requests` as scores count them: 100m of cpu and 200Mi where a container asks for none.",
    ),
    "limits": (
        "map(string, quantity)",
        "What the pod may use at most; an absent resource gives 0.",
    ),
    "owner": ("v1.OwnerReference?", "The controller that owns the pod, or null."),
    "created": ("timestamp?", "When the pod was created, or null."),
    "age": ("duration?", "How long before `now` the pod was created, or null."),
    "qos": ("string", "The quality of service: `Guaranteed`, `Burstable` or `BestEffort`."),
    "images": (
        "list(string)",
        "The images of init containers, containers and image volumes, in this order.",
    ),
    "tolerations": (
        "list(v1.Toleration)",
        "The tolerations, with key, operator, value and effect always there.",
    ),
    "gates": ("list(string)", "The names of the scheduling gates that hold the pod."),
    "models": (
        "list(string)",
        "The models of `policyd.io/device-models`, its annotation; empty where any will do.",
    ),
    "nodeName": ("string", "The node that the pod is bound to, or an empty text."),
    "phase": ("string", "The phase: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`."),
    **API_FIELDS,
    "spec": ("v1.PodSpec", "The API's own spec, under the API's own field names."),
    "status": ("v1.PodStatus", "The API's own status, under the API's own field names."),
}


class Pod(ApiObject, frozen=True, kw_only=True):
    """A pod. `charge` is what it counts for on its node, and `workload` the kind that made it.

    `workload` is empty for a pod that was read as such, and else the kind of object that the
    pod's template was in. `taken` are the devices that it is on record to have.
    """

    cel_type: ClassVar[str] = "Pod"
    kind: ClassVar[str] = "Pod"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)

    namespace: str
    uid: str
    priority: int
    requests: TotalMap
    charge: TotalMap
    nodeName: str  # noqa: N815 - the API's own name
    phase: str
    workload: str = ""
    taken: Taken = msgspec.field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether it has run to its end, so that it takes nothing of its node."""
        return self.phase in FINISHED

    @cached_property
    def limits(self) -> TotalMap:
        """What it may use at most."""
        try:
            return limits(self._head().spec or PodSpec())
        except AmountError as error:
            raise ValueFault(error.cause) from None

    @cached_property
    def nonZeroRequests(self) -> TotalMap:  # noqa: N802 - named as kube-scheduler does
        """What it asks for, as scores count it."""
        try:
            scored = non_zero_requests(self._head().spec or PodSpec())
        except AmountError as error:
            raise ValueFault(error.cause) from None
        plain = {resource: scored[resource] for resource in ("cpu", "memory")}
        return TotalMap({**self.requests, **plain}, ZERO)

    @cached_property
    def non_zero_charge(self) -> TotalMap:
        """What it counts for in scores where it is bound."""
        head = self._head()
        try:
            return non_zero_charge(head.spec or PodSpec(), head.status or PodStatus())
        except AmountError as error:
            raise ValueFault(error.cause) from None

    @cached_property
    def qos(self) -> str:
        """The quality of service that the status says, or that the kubelet would give."""
        status = self._detail().status
        if status is not None and status.qos_class:
            return status.qos_class
        return qos_class(self._head().spec or PodSpec())

    @cached_property
    def owner(self) -> dict[str, Any] | None:
        """The owner that controls it."""
        for owner in self._metadata_detail().owner_references or ():
            if owner is not None and owner.controller:
                return {
                    "apiVersion": owner.api_version or "",
                    "kind": owner.kind or "",
                    "name": owner.name or "",
                    "uid": owner.uid or "",
                }
        return None

    @cached_property
    def images(self) -> list[str]:
        """The images that a node needs to run it, one for each use."""
        spec = self._spec_detail()
        used = [*(spec.init_containers or ()), *(spec.containers or ())]
        volumes = [each.image for each in spec.volumes or () if each is not None]
        images = [each.image for each in used if each is not None]
        images += [each.reference for each in volumes if each is not None]
        return [image for image in images if image]

    @cached_property
    def tolerations(self) -> list[dict[str, Any]]:
        """The tolerations with their defaults."""
        tolerations = self._spec_detail().tolerations or ()
        return [_toleration(each) for each in tolerations if each is not None]

    @cached_property
    def gates(self) -> list[str]:
        """The names of its scheduling gates."""
        gates = self._spec_detail().scheduling_gates or ()
        return [gate.name or "" for gate in gates if gate is not None]

    @cached_property
    def models(self) -> list[str]:
        """The device models that it can use; none where any will do."""
        named = (self.annotations[MODELS] or "").split("|")
        return [model.strip() for model in named if model.strip()]

    def _head(self) -> PodHead:
        return self.part(PodHead)

    def _detail(self) -> PodDetail:
        return self.part(PodDetail)

    def _spec_detail(self) -> PodSpecDetail:
        return self._detail().spec or PodSpecDetail()


def make_pod(data: bytes, head: PodHead, workload: str = "") -> Pod:
    """Make a pod of its JSON and the parts decoded from it.

    Raises:
        ObjectError: it has no name, or an amount in it cannot be read.
    """
    metadata, spec = head.metadata or Named(), head.spec or PodSpec()
    status = head.status or PodStatus()
    annotations = annotations_in(data)
    try:
        asked = requests(spec)
        charged = charge(spec, status) if spec.node_name and _is_measured(status) else asked
        if share := _share(annotations, asked, is_bound=bool(spec.node_name)):
            asked = TotalMap({**asked, **share}, ZERO)
            charged = TotalMap({**charged, **share}, ZERO)
    except AmountError as error:
        raise of_amount(error) from None
    return Pod(
        json=data,
        name=name_of(metadata),
        namespace=metadata.namespace or "default",
        uid=metadata.uid or "",
        labels=texts(metadata.labels),
        priority=spec.priority or 0,
        requests=asked,
        charge=charged,
        nodeName=spec.node_name or "",
        phase=status.phase or "Pending",
        workload=workload,
        taken=recorded(annotations),
    )


def with_record(pod: Pod, taken: Taken) -> Pod:
    """Give a pod with the devices that it gets on record, in its annotation `policyd.io/devices`.

    A record of an earlier placement goes. A pod that takes no devices stays as it is.
    """
    if not taken and not pod.taken:
        return pod
    raw: dict[str, Any] = msgspec.json.decode(pod.json)
    metadata = dict(raw.get("metadata") or {})
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != RECORD}
    if taken:
        annotations[RECORD] = record(taken)
    raw["metadata"] = {**metadata, "annotations": annotations}
    return msgspec.structs.replace(pod, json=msgspec.json.encode(raw), taken=taken)


def _share(annotations: Mapping[str, str | None], asked: TotalMap, *, is_bound: bool) -> Totals:
    """Give the shares of devices that a pod asks for, besides what its containers ask for.

    A pod that runs counts for what its containers take, whatever was written on it since.

    Raises:
        AmountError: the annotation cannot be read, or containers ask for whole devices of the
            same resource; and the pod is not bound.
    """
    try:
        share = asked_share(annotations)
        for resource in share:
            if asked[resource].nanos:
                cause = f"the pod asks for whole devices of {resource} and for a share of one"
                raise AmountError(cause, ("metadata", "annotations", SHARE))  # noqa: TRY301 - as the other
    except AmountError:
        if not is_bound:
            raise
        return {}
    return share


def _is_measured(status: PodStatus) -> bool:
    """Say whether the kubelet reports amounts, which may differ from the spec's."""
    if status.resources is not None:
        return True
    statuses = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return any(each is not None and each.resources is not None for each in statuses)


def _toleration(raw: Toleration) -> dict[str, Any]:
    made: dict[str, Any] = {
        "key": raw.key or "",
        "operator": raw.operator or "Equal",
        "value": raw.value or "",
        "effect": raw.effect or "",
    }
    if raw.toleration_seconds is not None:
        made["tolerationSeconds"] = raw.toleration_seconds
    return made
