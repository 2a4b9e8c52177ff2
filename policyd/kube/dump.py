"""Reads from a cluster what decisions depend on, as one list of objects: a dump.

What `policyd simulate` and `policyd eval` read is what is written: nodes, pods and namespaces, and
where the cluster lets policyd read them, classes, storage, and what selects pods.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from policyd.kube.client import ApiClient
from policyd.kube.errors import FORBIDDEN, NOT_FOUND, ApiError
from policyd.kube.reflector import list_all
from policyd.kube.resources import path_of, slimmed
from policyd.model.manifests import KINDS
from policyd.model.owners import OWNER_KINDS

NEEDED: Final = ("Node", "Namespace", "Pod")
"""The kinds without which there is no dump."""


@dataclass(frozen=True, slots=True)
class Source:
    """A kind, and where its objects are."""

    kind: str
    api_version: str

    @property
    def path(self) -> str:
        """Give where all objects of the kind are."""
        return path_of(self.kind, self.api_version)


def sources() -> list[Source]:
    """Give what a dump is made of; nodes come first, then namespaces and pods."""
    kinds = {**{kind: KINDS[kind] for kind in NEEDED}, **KINDS, **OWNER_KINDS}
    return [Source(kind, version) for kind, version in kinds.items()]


@dataclass(slots=True)
class Dump:
    """The objects of a cluster, read while they are gone through; `left_out` says what is not."""

    client: ApiClient
    change: Callable[[bytes], bytes] = bytes
    counts: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def objects(self) -> Iterator[bytes]:
        """Give all objects as JSON.

        Raises:
            ApiError: nodes, namespaces or pods cannot be read, or the server cannot be reached.
        """
        for source in sources():
            self.counts[source.kind] = 0
            try:
                yield from self._of(source)
            except ApiError as error:
                if source.kind in NEEDED or error.status not in (FORBIDDEN, NOT_FOUND):
                    raise
                why = "is not permitted" if error.status == FORBIDDEN else "is not served"
                self.left_out.append(f"{source.kind}: reading it {why}")

    def _of(self, source: Source) -> Iterator[bytes]:
        head = {"apiVersion": source.api_version, "kind": source.kind}
        for item in list_all(self.client, source.path):
            self.counts[source.kind] += 1
            yield self.change(slimmed(item, head))

    def document(self) -> Iterator[bytes]:
        """Give the dump as pieces of one JSON document, an object a line."""
        yield b'{"apiVersion": "v1", "kind": "List", "items": ['
        separator = b"\n"
        for each in self.objects():
            yield separator + each
            separator = b",\n"
        yield b"\n]}\n"


def decoded(data: bytes) -> dict[str, Any]:
    """Give an object as Python has it."""
    found: dict[str, Any] = msgspec.json.decode(data)
    return found
