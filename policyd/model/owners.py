"""What selects pods: Services, and the controllers that own them.

Pods that say nothing of how they are to be spread are spread among those that the same Services and
the same controller select.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from policyd.model.faults import ObjectError, decode_part
from policyd.model.pod import Pod
from policyd.model.selectors import Selector, equal_to, label_selector
from policyd.model.wire_placement import (
    PlainSelectorSpec,
    PlainSelectorWire,
    SelectorSpec,
    SelectorWire,
    StorageMetadata,
)
from policyd.values.errors import ValueFault

OWNER_KINDS: Final = {
    "Service": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
"""The kinds that select pods, and their API versions."""

_PLAIN: Final = frozenset({"Service", "ReplicationController"})


@dataclass(frozen=True, slots=True)
class Owner:
    """A Service or a controller, and the pods that it selects; `labels` where it has no more."""

    kind: str
    namespace: str
    name: str
    selector: Selector
    labels: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Owners:
    """Services by namespace, and controllers by kind, namespace and name."""

    services: Mapping[str, tuple[Owner, ...]] = field(default_factory=dict)
    controllers: Mapping[tuple[str, str, str], Owner] = field(default_factory=dict)

    def selector_for(self, pod: Pod) -> Selector:
        """Give the selector of the pods that belong together with a pod; maybe an empty one.

        Follows `DefaultSelector` of kube-scheduler's plugin helpers.
        """
        labels: dict[str, str] = {}
        for service in self.services.get(pod.namespace, ()):
            if service.selector.matches(pod.labels):
                labels |= service.labels or {}
        controller = self._controller(pod)
        if controller is None:
            return equal_to(labels)
        if controller.labels is not None:
            return equal_to(labels | dict(controller.labels))
        return equal_to(labels).with_requirements(controller.selector.requirements)

    def _controller(self, pod: Pod) -> Owner | None:
        owner = pod.owner
        if owner is None or OWNER_KINDS.get(owner["kind"]) != owner["apiVersion"]:
            return None
        return self.controllers.get((owner["kind"], pod.namespace, owner["name"]))


def make_owner(kind: str, data: bytes) -> Owner:
    """Make an object of one of `OWNER_KINDS` of its JSON.

    Raises:
        ObjectError: it has no name, or a selector that the API server would refuse.
    """
    if kind in _PLAIN:
        plain = decode_part(data, PlainSelectorWire)
        named = plain.metadata
        given = (plain.spec or PlainSelectorSpec()).selector
        labels = None if given is None else {key: value or "" for key, value in given.items()}
        selector = label_selector(None) if labels is None else equal_to(labels)
        return _owner(kind, named, selector, labels or {})
    wire = decode_part(data, SelectorWire)
    try:
        return _owner(
            kind,
            wire.metadata,
            label_selector((wire.spec or SelectorSpec()).selector),
            None,
        )
    except ValueFault as fault:
        raise ObjectError(fault.message, ("spec", "selector")) from None


def _owner(
    kind: str,
    metadata: StorageMetadata | None,
    selector: Selector,
    labels: Mapping[str, str] | None,
) -> Owner:
    if metadata is None or not metadata.name:
        raise ObjectError("the object has no name", ("metadata",))
    return Owner(kind, metadata.namespace or "default", metadata.name, selector, labels)


def join_owners(owners: Iterable[Owner]) -> Owners:
    """Put what selects pods together; of two with one name the first counts."""
    services: dict[str, tuple[Owner, ...]] = {}
    controllers: dict[tuple[str, str, str], Owner] = {}
    for each in owners:
        if each.kind == "Service":
            services[each.namespace] = (*services.get(each.namespace, ()), each)
        else:
            controllers.setdefault((each.kind, each.namespace, each.name), each)
    return Owners(services, controllers)
