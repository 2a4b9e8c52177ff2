"""Macros over vectors: the body is computed along one more axis, for all elements at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyd.language import typed as ir
from policyd.language.limits import MAX_LIST
from policyd.language.loops import turn_size
from policyd.language.types import Kind as TypeKind
from policyd.policy.kernel import lists
from policyd.policy.kernel.batch import Batch, condition, scalar
from policyd.policy.kernel.vector import (
    Kind,
    ListVector,
    Unvectorised,
    Value,
    Vector,
    from_values,
    kind_of,
)

if TYPE_CHECKING:
    from policyd.policy.kernel.plan import Planner


class Macro:
    """A macro: evaluates what it goes over, then its body along one more axis."""

    def __init__(self, planner: Planner, node: ir.Loop) -> None:
        self._kind = node.kind
        self._slots = node.slots
        self._range = planner.plan(node.range)
        self._element = kind_of(node.range.type.params[0])  # of a map its keys
        if planner.is_constant(node.range):
            planner.even(node.slots)
        self._keep = None if node.keep is None else planner.plan(node.keep)
        self._body = None if node.body is None else planner.plan(node.body)
        self._size = turn_size(node)
        self._values = (
            kind_of(node.range.type.params[1])
            if len(node.slots) == 2 and node.range.type.kind is TypeKind.MAP
            else None
        )
        result = node.type.params[0] if node.type.params else node.type
        self._nothing = from_values([], kind_of(result))

    def run(self, batch: Batch) -> Value:
        """Evaluate it."""
        items = self._items(batch)
        if not items.size:
            return self._of_nothing(items)
        batch.charge(items.size * self._size)
        axes, turns = batch.axes, batch.turns
        batch.axes, batch.turns = axes + 1, turns * items.size
        batch.most = max(batch.most, batch.turns)
        try:
            return self._over(batch, items)
        finally:
            batch.axes, batch.turns = axes, turns

    def _of_nothing(self, items: ListVector) -> Value:
        """Give what comes of empty lists, whatever the body is."""
        if self._kind == "list":
            made = ListVector(0, self._nothing, None, 0).lifted(items.axes)
            return ListVector(items.axes, made.elements, None, 0, items.error)
        return Vector(Kind.BOOL, np.asarray(self._kind == "all"), items.error)

    def _items(self, batch: Batch) -> ListVector:
        found = self._range(batch)
        if self._values is not None:
            return self._entries(scalar(found), batch)
        if isinstance(found, Vector):
            found = lists.spread(found, self._element)
        if found.size > MAX_LIST:
            raise Unvectorised("a list that long")
        return found.lifted(batch.axes)

    def _entries(self, maps: Vector, batch: Batch) -> ListVector:
        """Give the keys of maps, and keep the values for the second variable."""
        if self._values is None:
            raise Unvectorised("no maps")
        values = lists.spread(maps, self._values, values=True).lifted(batch.axes)
        batch.slots[self._slots[1]] = values.elements
        batch.fields[self._slots[1]] = None
        return lists.spread(maps, self._element).lifted(batch.axes)

    def _over(self, batch: Batch, items: ListVector) -> Value:
        element = self._slots[-1] if self._values is None else self._slots[0]
        batch.slots[element] = items.elements
        batch.fields[element] = items.fields
        if len(self._slots) == 2 and self._values is None:
            batch.slots[self._slots[0]] = lists.positions(items)
        if self._keep is not None:
            items = lists.filtered(items, condition(self._keep(batch)))
        if self._body is None:
            return items
        body = self._body(batch)
        match self._kind:
            case "all" | "exists":
                return lists.quantified(items, condition(body), deciding=self._kind == "exists")
            case "exists_one":
                return lists.counted_once(items, condition(body))
            case _:
                return lists.collected(items, scalar(body))
