"""Which of the equally good nodes is taken: by the keys of `choose`, then by a hash."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np

from policyd.language.equality import compare
from policyd.policy.kernel.columns import Columns
from policyd.policy.kernel.state import State
from policyd.policy.kernel.tables import Kernel
from policyd.policy.kernel.vector import FAILED, Array, Kind, Unvectorised, Vector
from policyd.policy.order import mixed_array, pod_hash, text_hash
from policyd.policy.ruleset import SortKey
from policyd.values.errors import ValueFault

_NAMES = frozenset({"node.name"})


class Chooser:
    """The keys of `choose { order … }` of a rule set, over all nodes."""

    def __init__(self, keys: Sequence[SortKey], columns: Columns) -> None:
        self._keys = [
            (key.descending, Kernel(key.value.checked, key.value.program, columns)) for key in keys
        ]
        self._hashes = np.zeros(0, np.uint64)
        self._hashed = -1
        self._ranks: dict[int, tuple[int, Array]] = {}

    def first(self, rows: Array, state: State, fixed: Mapping[str, Any]) -> int:
        """Give the node of some that is taken first.

        Raises:
            Unvectorised: the keys have values without an order among them.
        """
        for at, (descending, kernel) in enumerate(self._keys):
            if rows.size == 1 or not kernel.reads:
                continue
            found = kernel.values(state, fixed)
            if found.axes:
                rows = self._best(at, rows, found, descending=descending)
        if rows.size == 1:
            return int(rows[0])
        self._hash(state)
        hashes = mixed_array(self._hashes[rows] ^ np.uint64(pod_hash(fixed["pod"])))
        return int(rows[np.argmin(hashes)])

    def _best(self, at: int, rows: Array, found: Vector, *, descending: bool) -> Array:
        """Give the rows with the best value; null and errors are the last of all."""
        data = found.data
        bad = np.zeros(rows.shape, np.bool_) if found.error is None else found.error[rows]
        if found.kind is Kind.ANY:
            data = self._rank(at, found)
            bad = bad | (data[found.data[rows]] < 0)
            values = data[found.data[rows]]
        else:
            values = data[rows]
        good = rows[~bad]
        if not good.size:
            return rows
        kept = values[~bad]
        if found.kind is Kind.DOUBLE and np.isnan(kept).any():
            raise Unvectorised("NaN has no place in an order")
        best: Array = good[kept == (kept.max() if descending else kept.min())]
        return best

    def _rank(self, at: int, found: Vector) -> Array:
        """Give each value of a domain its place in the order; -1 for null and errors."""
        size = len(found.domain)
        known = self._ranks.get(at)
        if known is not None and known[0] == size and known[1].size == size:
            return known[1]
        ranks = _ranks(list(found.domain))
        self._ranks[at] = (size, ranks)
        return ranks

    def _hash(self, state: State) -> None:
        """Keep the hashes of the names of the nodes."""
        if self._hashed == state.version:
            return
        count = len(state.nodes)
        stale = state.stale(self._hashed, _NAMES)
        if self._hashes.size < count:
            grown = np.zeros(count * 3 // 2, np.uint64)
            grown[: self._hashes.size] = self._hashes
            self._hashes = grown
        for row in stale.tolist():
            self._hashes[row] = text_hash(state.nodes[row].name)
        self._hashed = state.version


def _ranks(domain: Sequence[Any]) -> Array:
    ranks = np.full(len(domain), -1, np.int64)
    ordered: list[int] = [
        at for at, value in enumerate(domain) if value is not None and value is not FAILED
    ]

    def before(left: int, right: int) -> int:
        return compare(domain[left], domain[right]) or 0

    try:
        ordered.sort(key=cmp_to_key(before))
    except ValueFault:
        raise Unvectorised("values without an order among them") from None
    rank = -1
    for place, at in enumerate(ordered):
        if not place or compare(domain[ordered[place - 1]], domain[at]):
            rank += 1
        ranks[at] = rank
    return ranks
