"""What the objects that rules see have in common: the API's own fields, decoded when asked for.

An object keeps its compact JSON. What every decision reads is decoded once when it is made;
everything else when a rule first asks for it, and then kept. Objects never change: another state
of the cluster is made of other objects.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from policyd.model.decode import DecodeError, decode
from policyd.model.faults import ObjectError, decode_part, path_text
from policyd.model.wire import MetadataDetail, Named
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.times import Timestamp, parse_timestamp

Fields = Mapping[str, tuple[str, str]]
"""A class's fields as rules see them: the text of the type, and a sentence of documentation."""

Derivations = Mapping[str, tuple[str, str, str]]
"""Derived fields: for each a variable, an operator, and the field that it is applied to."""

T = TypeVar("T")

DERIVED: Final[Derivations] = {"age": ("now", "-", "created")}
"""An object does not change as time passes, so that its age is no part of it."""

API_FIELDS: Final = {
    "apiVersion": ("string", "The API version of the object, such as `v1`."),
    "kind": ("string", "The kind of the object, such as `Pod`."),
    "metadata": ("v1.ObjectMeta", "The API's own metadata, under the API's own field names."),
}


class ApiObject(msgspec.Struct, frozen=True, dict=True, eq=False, kw_only=True):
    """An object of the API.

    `json` is the object. `dict` gives it room for what is decoded later. `DERIVED` are the fields
    that are no attributes, since they follow from another one and from the time of the decision.
    """

    cel_type: ClassVar[str]
    kind: ClassVar[str]
    apiVersion: ClassVar[str] = "v1"  # noqa: N815 - the API's own name
    FIELDS: ClassVar[Fields]
    DERIVED: ClassVar[Derivations] = DERIVED

    json: bytes
    name: str
    labels: TotalMap

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What the functions of the language found out about the object, kept with it."""
        return {}

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The API's own metadata."""
        return self._api_field("metadata", "v1.ObjectMeta")

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The API's own spec; empty where the object has none."""
        return self._api_field("spec", f"v1.{self.kind}Spec")

    @cached_property
    def status(self) -> dict[str, Any]:
        """The API's own status; empty where the object has none."""
        return self._api_field("status", f"v1.{self.kind}Status")

    @cached_property
    def annotations(self) -> TotalMap:
        """The annotations, with null for absent keys."""
        return texts(self._metadata_detail().annotations)

    @cached_property
    def created(self) -> Timestamp | None:
        """When the API server created it."""
        text = self._metadata_detail().creation_timestamp
        return parse_timestamp(text) if text else None

    def part(self, part: type[T]) -> T:
        """Decode declared parts of the object.

        Raises:
            ValueFault: a part is not of its type.
        """
        try:
            return decode_part(self.json, part)
        except ObjectError as error:
            raise ValueFault(_at(error.path, error.cause)) from None

    def _metadata_detail(self) -> MetadataDetail:
        return self.part(_WithMetadata).metadata or MetadataDetail()

    def _api_field(self, field: str, type_name: str) -> dict[str, Any]:
        content = self.part(_PARTS[field])
        raw = getattr(content, field)
        if raw is None:
            return {}
        try:
            return decode(type_name, raw)
        except DecodeError as error:
            place = f"{field}.{error.path}" if error.path else field
            raise ValueFault(f"{place}: {error.problem}") from None


class _WithMetadata(msgspec.Struct, frozen=True):
    metadata: MetadataDetail | None = None


class _Metadata(msgspec.Struct, frozen=True):
    metadata: dict[str, Any] | None = None


class _Spec(msgspec.Struct, frozen=True):
    spec: dict[str, Any] | None = None


class _Status(msgspec.Struct, frozen=True):
    status: dict[str, Any] | None = None


_PARTS: Final[dict[str, Any]] = {"metadata": _Metadata, "spec": _Spec, "status": _Status}


def texts(raw: Mapping[str, str | None] | None) -> TotalMap:
    """Give labels or annotations: absent keys answer null, and a null in JSON is an empty text."""
    if not raw:
        return TotalMap({}, None)
    if None in raw.values():
        return TotalMap({key: value or "" for key, value in raw.items()}, None)
    return TotalMap(dict(raw), None)


def name_of(metadata: Named | None) -> str:
    """Give an object's name, or the start of the name that the API server would generate.

    Raises:
        ObjectError: there is none.
    """
    name = metadata and (metadata.name or metadata.generate_name)
    if not name:
        raise ObjectError("the object has no name", ("metadata",))
    return name


def _at(path: tuple[str | int, ...], cause: str) -> str:
    return f"{path_text(path)}: {cause}" if path else cause
