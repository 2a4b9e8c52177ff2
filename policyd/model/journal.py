"""What changed from one state of the nodes to the next, so that only that is looked at again.

Each entry is the place of a node in the list of nodes and the paths that changed there. One
writer appends, under its own lock; readers look only at entries below the version that they were
given, which never change.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policyd.model.tallies import Tallies

EVERYTHING: Final = frozenset({"node"})
"""The change of a node that is another one now, or was not there."""

_KEPT: Final = 1 << 20
"""How many entries are kept; a reader that is further behind looks at all nodes."""


class Journal:
    """The changes of a list of nodes, in order. `version` counts them.

    `tallies` are sums over the nodes that follow it.
    """

    def __init__(self) -> None:
        self.version = 0
        self.tallies = Tallies()
        self.kinds: list[frozenset[str]] = []  # only grows: an entry names one by its place
        self.last: list[int] = []  # of each kind, the version after its last entry
        self._kind_of: dict[frozenset[str], int] = {}
        self._first = 0  # the version of the first entry that is kept
        self._slots: NDArray[np.int32] = np.empty(1024, np.int32)
        self._changes: NDArray[np.int32] = np.empty(1024, np.int32)

    def add(self, slot: int, changed: frozenset[str] = EVERYTHING) -> None:
        """Note that something changed at a node's place."""
        at = self.version - self._first
        if at == len(self._slots):
            at = self._make_room(at)
        kind = self._kind_of.get(changed)
        if kind is None:
            kind = self._kind_of[changed] = len(self.kinds)
            self.kinds.append(changed)
            self.last.append(0)
        self._slots[at] = slot
        self._changes[at] = kind
        self.version += 1
        self.last[kind] = self.version

    def since(self, version: int, until: int) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Give the places and the kinds of the changes from one version to another.

        Nothing where the first of them is not kept any more.
        """
        first, slots, changes = self._first, self._slots, self._changes
        if version < first:
            return None
        return slots[version - first : until - first], changes[version - first : until - first]

    def _make_room(self, used: int) -> int:
        """Double the room, or forget the older half; readers keep the arrays that they have."""
        kept = used if used < _KEPT else used // 2
        size = max(2 * kept, 1024)
        slots, changes = np.empty(size, np.int32), np.empty(size, np.int32)
        slots[:kept] = self._slots[used - kept : used]
        changes[:kept] = self._changes[used - kept : used]
        self._first += used - kept
        self._slots, self._changes = slots, changes
        return kept
