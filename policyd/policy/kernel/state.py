"""The nodes at one version of their journal, and what changed since another."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from policyd.language.reads import concerns
from policyd.model.cluster import Cluster
from policyd.model.journal import EVERYTHING, Journal
from policyd.model.node import Node
from policyd.model.surroundings import Surroundings
from policyd.policy.kernel.keys import Key, Same
from policyd.policy.kernel.vector import Array


class State:
    """The nodes at one version of their journal."""

    def __init__(
        self,
        nodes: Sequence[Node],
        journal: Journal,
        version: int,
        around: Surroundings | None = None,
    ) -> None:
        self.nodes = nodes
        self.journal = journal
        self.version = version
        self._around = around
        self._aspects: dict[tuple[str, ...], Key] = {}

    def aspect(self, path: tuple[str, ...]) -> Key:
        """Give what stands for an aspect of the cluster, which functions may look into.

        What is of nodes or of the pods on them is known by the version of its last change, what
        lies around by itself. The whole cluster is another one in each decision.
        """
        found = self._aspects.get(path)
        if found is None:
            found = self._aspects[path] = self._find_aspect(path)
        return found

    def _find_aspect(self, path: tuple[str, ...]) -> Key:
        name = path[1] if len(path) > 1 else "*"
        if name in ("owners", "storage", "namespaces"):
            return Same(getattr(self._around, name, None))
        if name in ("nodes", "images", "pods"):
            return self._last_change(f"cluster.{name}")
        return Same(self) if name not in Cluster.FIELDS else None

    def _last_change(self, path: str) -> int:
        journal = self.journal
        changes = zip(journal.kinds, journal.last, strict=False)
        wanted = frozenset({path})
        versions = [v for kind, v in changes if kind == EVERYTHING or _concerns(kind, wanted)]
        return max(versions, default=0)

    def stale(self, since: int, reads: frozenset[str]) -> Array:
        """Give the places where something that is read changed since a version, in order."""
        count = len(self.nodes)
        found = self.journal.since(since, self.version) if since >= 0 else None
        if found is None:
            return np.arange(count)
        slots, kinds = found
        if slots.size <= 32:
            return self._few(slots.tolist(), kinds.tolist(), reads)
        matters = np.fromiter((_concerns(kind, reads) for kind in self.journal.kinds), np.bool_)
        changed = np.zeros(max(count, int(slots.max()) + 1), np.bool_)
        changed[slots[matters[kinds]]] = True
        return np.flatnonzero(changed[:count])

    def _few(self, slots: list[int], kinds: list[int], reads: frozenset[str]) -> Array:
        known = self.journal.kinds
        count = len(self.nodes)
        found = {
            slot
            for slot, kind in zip(slots, kinds, strict=True)
            if slot < count and _concerns(known[kind], reads)
        }
        return np.array(sorted(found), np.int64)


@lru_cache(maxsize=4096)
def _concerns(changed: frozenset[str], reads: frozenset[str]) -> bool:
    return concerns(changed, reads)
