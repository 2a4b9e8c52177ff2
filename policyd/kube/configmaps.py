"""Rules in ConfigMaps: what is read of those with a label, and what is written to them.

Each ConfigMap is a source of rules. Of its keys those that end in `.expr` are texts, in the order
of their names; several ConfigMaps are put in order by their annotation `policyd.io/order`, a whole
number (0 without it), and then by namespace and name. What became of a source stands in an event
on its ConfigMap.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from policyd.kube.events import NORMAL, WARNING, Events, Occurrence, Reference
from policyd.kube.resources import Resource
from policyd.model.faults import ObjectError, decode_part

LABEL: Final = "policyd.io/rules"
"""The label of ConfigMaps with rules. Its value is the scheduler name that they are for."""

ORDER: Final = "policyd.io/order"
"""The annotation that says where a ConfigMap comes among several: the lowest number first."""

SUFFIX: Final = ".expr"

ACCEPTED: Final = "RulesAccepted"
REFUSED: Final = "RulesRefused"


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str | None] | None = None


class _ConfigMap(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    data: dict[str, str | None] | None = None
    binary_data: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class RuleMap:
    """A ConfigMap with rules.

    `texts` are the rules, each with the name that messages call it; `faults` say why something in
    it cannot be read.
    """

    name: str
    order: int
    texts: tuple[tuple[str, bytes], ...]
    faults: tuple[str, ...]
    reference: Reference
    version: str
    json: bytes


def rule_maps(namespace: str, profile: str) -> Resource[RuleMap]:
    """Give what to reflect for the rules of a scheduler name; an empty namespace stands for all."""
    inside = f"/namespaces/{namespace}" if namespace else ""
    return Resource(
        "ConfigMap",
        "v1",
        f"/api/v1{inside}/configmaps",
        make_rule_map,
        (("labelSelector", f"{LABEL}={profile}"),),
    )


def make_rule_map(data: bytes) -> RuleMap:
    """Make a source of rules of a ConfigMap's JSON.

    Raises:
        ObjectError: it is no ConfigMap.
    """
    raw = decode_part(data, _ConfigMap)
    metadata = raw.metadata
    name = f"configmap/{metadata.namespace}/{metadata.name}"
    faults: list[str] = []
    texts = {key: (text or "").encode() for key, text in (raw.data or {}).items()}
    for key, encoded in (raw.binary_data or {}).items():
        try:
            texts[key] = b64decode(encoded or "", validate=True)
        except Base64Error:
            raise ObjectError("expected bytes in base64", ("binaryData", key)) from None
    rules = tuple(
        (f"{name}/{key}", text) for key, text in sorted(texts.items()) if key.endswith(SUFFIX)
    )
    if not rules:
        faults.append(f"this ConfigMap has no keys that end in `{SUFFIX}`")
    return RuleMap(
        name=name,
        order=_order(metadata, faults),
        texts=rules,
        faults=tuple(faults),
        reference=Reference(
            "ConfigMap",
            metadata.namespace,
            metadata.name,
            metadata.uid,
            resource_version=metadata.resource_version,
        ),
        version=metadata.resource_version,
        json=data,
    )


def _order(metadata: _Metadata, faults: list[str]) -> int:
    text = (metadata.annotations or {}).get(ORDER) or "0"
    try:
        return int(text)
    except ValueError:
        faults.append(f"the annotation {ORDER} is no whole number: {text[:40]!r}")
        return 0


Offered = Callable[[Mapping[str, RuleMap], Mapping[str, RuleMap]], None]
"""Told which ConfigMaps are new or changed, and which are gone, by their names."""


class RuleMapFeed:
    """Gathers what a reflector tells of ConfigMaps. Belongs to the reflector's thread.

    The difference to a new list is offered in one step, so that rules that are spread over several
    ConfigMaps never count in part when policyd starts; a single change is offered at once.
    """

    def __init__(self, offered: Offered) -> None:
        self._offered = offered
        self._is_listing = False
        self._changed: dict[str, RuleMap] = {}
        self._gone: dict[str, RuleMap] = {}

    def listing(self) -> None:
        """Begin to gather."""
        self._is_listing = True

    def added(self, new: RuleMap) -> None:
        """Take a ConfigMap that appeared."""
        self._gone.pop(new.name, None)
        self._changed[new.name] = new
        self._flush()

    def modified(self, old: RuleMap, new: RuleMap) -> None:
        """Take a ConfigMap's new state."""
        del old
        self.added(new)

    def deleted(self, old: RuleMap) -> None:
        """Take note that a ConfigMap is gone, or lost its label."""
        self._changed.pop(old.name, None)
        self._gone[old.name] = old
        self._flush()

    def synced(self) -> None:
        """Offer what was gathered; where that is nothing, it is known that there is none."""
        self._is_listing = False
        self._flush(always=True)

    def _flush(self, *, always: bool = False) -> None:
        if self._is_listing or not (always or self._changed or self._gone):
            return
        changed, self._changed = self._changed, {}
        gone, self._gone = self._gone, {}
        self._offered(changed, gone)


class RuleMapEvents:
    """Writes on ConfigMaps what became of their rules, without waiting for it. Any thread.

    `speaks` says whether this replica is the one that tells; `controller` is its scheduler name.
    """

    def __init__(
        self, events: Events, controller: str, speaks: Callable[[], bool] = lambda: True
    ) -> None:
        self._events = events
        self._controller = controller
        self._speaks = speaks

    def accepted(self, about: RuleMap, note: str) -> None:
        """Write that a ConfigMap's rules are in force."""
        self._write(about, NORMAL, ACCEPTED, note)

    def refused(self, about: RuleMap, note: str) -> None:
        """Write that a ConfigMap's rules are held back, and why."""
        self._write(about, WARNING, REFUSED, note)

    def _write(self, about: RuleMap, kind: str, reason: str, note: str) -> None:
        if self._speaks():
            self._events.enqueue(
                Occurrence(about.reference, kind, reason, "Reload", note, self._controller)
            )
