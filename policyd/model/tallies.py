"""Sums over all nodes that are kept from one state of the cluster to the next.

A tally adds up what each node contributes (numbers by some key), and follows the journal: of a
newer state only the nodes that changed are looked at. Whoever looks at an older state, or at one
without a journal, adds up everything for once.

One lock, that of `Tallies`; nothing that takes a lock is called while it is held.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Final, Protocol

from policyd.model.node import Node

Contribution = tuple[tuple[Any, int], ...]
"""What a node adds: for some keys a number, which may be 0."""

Contribute = Callable[[Node], Contribution]

_MOST: Final = 128
"""How many tallies are kept; one is made for each template of pods that asks for it."""


class Changes(Protocol):
    """The changes of a list of nodes, in order, as a journal has them."""

    def since(self, version: int, until: int) -> tuple[Any, Any] | None:
        """Give the places and the kinds of the changes; nothing where they are not kept."""
        ...


class _Tally:
    """What one kind of contribution adds up to at one version."""

    def __init__(self, nodes: Sequence[Node], version: int, contribute: Contribute) -> None:
        self.version = version
        self._contribute = contribute
        self._each: list[Contribution] = [contribute(node) for node in nodes]
        self._totals: dict[Any, list[int]] = {}  # the sum, and how many nodes add to it
        for contribution in self._each:
            self._add(contribution, 1)

    def sums(self) -> dict[Any, int]:
        """Give the sum of each key that some node contributes to."""
        return {key: total for key, (total, _) in self._totals.items()}

    def follow(self, nodes: Sequence[Node], slots: Iterable[int], version: int) -> None:
        """Take the nodes that changed, and forget those beyond the end of the list."""
        count = len(nodes)
        while len(self._each) > count:
            self._add(self._each.pop(), -1)
        for slot in slots:
            if slot < count:
                self._set(slot, self._contribute(nodes[slot]))
        self.version = version

    def _set(self, slot: int, contribution: Contribution) -> None:
        while len(self._each) <= slot:
            self._each.append(())
        before = self._each[slot]
        if before != contribution:
            self._add(before, -1)
            self._add(contribution, 1)
            self._each[slot] = contribution

    def _add(self, contribution: Contribution, sign: int) -> None:
        totals = self._totals
        for key, number in contribution:
            total = totals.get(key)
            if total is None:
                total = totals[key] = [0, 0]
            total[0] += sign * number
            total[1] += sign
            if not total[1]:
                del totals[key]


class Tallies:
    """The tallies of one journal. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Tally] = OrderedDict()

    def sums(
        self,
        key: Hashable,
        contribute: Contribute,
        nodes: Sequence[Node],
        changes: Changes,
        version: int,
    ) -> Mapping[Any, int]:
        """Add up what the nodes contribute; `key` stands for all else that this depends on."""
        with self._lock:
            tally = self._kept.get(key)
            if tally is not None and tally.version > version:
                return sums_of(nodes, contribute)
            found = changes.since(tally.version, version) if tally is not None else None
            if tally is None or found is None:
                tally = self._kept[key] = _Tally(nodes, version, contribute)
            else:
                tally.follow(nodes, sorted({int(slot) for slot in found[0]}), version)
            self._kept.move_to_end(key)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
            return tally.sums()


def sums_of(nodes: Sequence[Node], contribute: Contribute) -> Mapping[Any, int]:
    """Add up what nodes contribute, for once."""
    return _Tally(nodes, 0, contribute).sums()
