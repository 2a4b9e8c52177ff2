"""Namespaces, as rules see them."""

from types import MappingProxyType
from typing import ClassVar, Final

import msgspec

from policyd.model.objects import API_FIELDS, ApiObject, Fields, name_of, texts
from policyd.model.wire import NamespaceHead

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label by which the API server gives each namespace its own name."""

_FIELDS: Final = {
    "name": ("string", "The namespace's name."),
    "labels": ("map(string, string?)", "The labels; an absent key gives null."),
    "annotations": ("map(string, string?)", "The annotations; an absent key gives null."),
    "created": ("timestamp?", "When the namespace was created, or null."),
    "age": ("duration?", "How long before `now` the namespace was created, or null."),
    **API_FIELDS,
    "spec": ("v1.NamespaceSpec", "The API's own spec, under the API's own field names."),
    "status": ("v1.NamespaceStatus", "The API's own status, under the API's own field names."),
}


class Namespace(ApiObject, frozen=True, kw_only=True):
    """A namespace."""

    cel_type: ClassVar[str] = "Namespace"
    kind: ClassVar[str] = "Namespace"
    FIELDS: ClassVar[Fields] = MappingProxyType(_FIELDS)


def make_namespace(data: bytes, head: NamespaceHead) -> Namespace:
    """Make a namespace of its JSON and the parts decoded from it.

    Raises:
        ObjectError: it has no name.
    """
    name = name_of(head.metadata)
    labels = texts(head.metadata.labels if head.metadata else None)
    labels[NAME_LABEL] = name
    return Namespace(json=data, name=name, labels=labels)


def bare_namespace(name: str) -> Namespace:
    """Make a namespace of which nothing but the name is known."""
    metadata = {"labels": {NAME_LABEL: name}, "name": name}
    data = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return make_namespace(data, msgspec.json.decode(data, type=NamespaceHead))
