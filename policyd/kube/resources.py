"""The kinds that policyd reads from an API server, and what makes facts of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from policyd.model.faults import decode_part
from policyd.model.namespace import Namespace, make_namespace
from policyd.model.node import Node, make_node
from policyd.model.pod import Pod, make_pod
from policyd.model.wire import NamespaceHead, NodeHead, PodHead

T = TypeVar("T")

Make = Callable[[bytes], T]


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind of objects: where it is, which of them count, and what makes a fact of one's JSON.

    Raises of `make`: `ObjectError`, where an object cannot be read.
    """

    kind: str
    api_version: str
    path: str
    make: Make[T]
    query: tuple[tuple[str, str], ...] = ()


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """What says which state of which object it is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


_META: Final = msgspec.json.Decoder(_Object)
_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MANAGED: Final = b'"managedFields"'


def meta_of(data: bytes | msgspec.Raw) -> Meta:
    """Give an object's name, uid and version.

    Raises:
        msgspec.DecodeError: it is no object of the API.
    """
    return _META.decode(data).metadata


def slimmed(data: bytes, head: Mapping[str, str] | None = None) -> bytes:
    """Give an object without `managedFields`, which no rule needs and which are half of it.

    `head` are fields that the elements of a list lack: `apiVersion` and `kind`.
    """
    if head is None and _MANAGED not in data:
        return data
    fields: dict[str, msgspec.Raw | str | dict[str, msgspec.Raw]] = dict(head or {})
    fields.update(_RAW.decode(data))
    metadata = fields.get("metadata")
    if isinstance(metadata, msgspec.Raw) and _MANAGED in bytes(metadata):
        inner = _RAW.decode(metadata)
        inner.pop("managedFields", None)
        fields["metadata"] = inner
    return msgspec.json.encode(fields)


@dataclass(frozen=True, slots=True)
class Piece(Generic[T]):
    """One object of those that are looked at together, such as a cluster's storage."""

    kind: str
    key: str
    value: T


def pieces(kinds: Mapping[str, str], make: Callable[[str, bytes], T]) -> list[Resource[Piece[T]]]:
    """Give what to reflect for kinds that are looked at together, by their API versions."""
    return [_pieces(kind, version, make) for kind, version in kinds.items()]


def _pieces(kind: str, version: str, make: Callable[[str, bytes], T]) -> Resource[Piece[T]]:
    def piece(data: bytes) -> Piece[T]:
        meta = meta_of(data)
        return Piece(kind, f"{meta.namespace}/{meta.name}", make(kind, data))

    return Resource(kind, version, path_of(kind, version), piece)


def path_of(kind: str, version: str) -> str:
    """Give where all objects of a kind are."""
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    plural = plural.removesuffix("ys") + "ies" if plural.endswith("ys") else plural
    return f"{'/apis' if '/' in version else '/api'}/{version}/{plural}"


def _pod(data: bytes) -> Pod:
    return make_pod(data, decode_part(data, PodHead))


def _node(data: bytes) -> Node:
    return make_node(data, decode_part(data, NodeHead), ())


def _namespace(data: bytes) -> Namespace:
    return make_namespace(data, decode_part(data, NamespaceHead))


PODS: Final = Resource(
    "Pod",
    "v1",
    "/api/v1/pods",
    _pod,
    (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),),
)
"""Pods that have not finished; one that finishes is deleted for who watches these."""

NODES: Final = Resource("Node", "v1", "/api/v1/nodes", _node)
NAMESPACES: Final = Resource("Namespace", "v1", "/api/v1/namespaces", _namespace)
