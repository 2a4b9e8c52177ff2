"""Whether one pod more on a node can help a pod that a rule rejected.

Most rules ask for room, of which a placement leaves less: who waits for room need not be asked
again whenever another pod is placed. That is seen in the text: a condition is followed down to
what a placement changes (`free` goes down; `used` and the number of pods go up), through
operators that keep or turn the direction. What is not understood may help.
"""

from collections.abc import Iterable
from typing import Final

from policyd.language import typed as ir
from policyd.language.types import Kind
from policyd.policy.ruleset import Expression, Rule

_DOWN, _SAME, _UP = -1, 0, 1

_AMOUNTS: Final = {"free": _DOWN, "used": _UP, "nonZeroUsed": _UP}
_CHANGED: Final = frozenset({*_AMOUNTS, "pods", "devices", "shapes"})
_NEVER_BELOW_ZERO: Final = frozenset({"allocatable", "requests", "limits", "nonZeroRequests"})
_KEEPING: Final = frozenset({"int", "double", "quantity"})
_LISTED: Final = frozenset({Kind.LIST})

Direction = int | None
"""Where a value can go when a pod is placed; nothing where it may go anywhere."""


def placement_helps(rule: Rule) -> bool:
    """Say whether a pod that the rule rejected may fit because another pod was placed."""
    if rule.when is not None and _of(rule.when) not in (_SAME, _UP):
        return True
    return any(_of(each.condition) not in (_SAME, _DOWN) for each in rule.requirements)


def _of(expression: Expression) -> Direction:
    return _Follow().value(expression.checked.root)


def _turned(direction: Direction) -> Direction:
    return None if direction is None else -direction


def _joined(directions: Iterable[Direction]) -> Direction:
    """Give the direction of what grows with each of some values."""
    joined = _SAME
    for direction in directions:
        if direction is None or direction * joined < 0:
            return None
        joined = joined or direction
    return joined


class _Follow:
    """A walk through one expression; knows what its local names stand for."""

    def __init__(self) -> None:
        self._bound: dict[int, ir.Typed] = {}  # what a slot holds
        self._steady: set[int] = set()  # variables of macros over what no placement changes

    # --- values: numbers, bools, and maps of amounts ---

    def value(self, node: ir.Typed) -> Direction:
        """Give where a value goes; of a list, whether it stays the same."""
        match node:
            case ir.Constant() | ir.Fault():
                return _SAME
            case ir.Variable(name=name):
                return None if name in ("node", "cluster") else _SAME
            case ir.Local(slot=slot):
                return self._local(slot)
            case ir.LetRef(body=body):
                return self.value(body)
            case ir.Bind(slot=slot, init=init, body=body):
                self._bound[slot] = init
                return self.value(body)
            case ir.Field():
                return self._field(node)
            case ir.Item():
                return self._item(node)
            case ir.Junction(operands=operands):
                return _joined(map(self.value, operands))
            case ir.Choice(condition=condition, then=then, otherwise=otherwise):
                if self.value(condition) != _SAME:
                    return None
                return _joined((self.value(then), self.value(otherwise)))
            case ir.Loop():
                return self._loop(node)
            case ir.Apply():
                return self._apply(node)
            case _:
                return self._unless_changed(ir.operands(node))

    def _local(self, slot: int) -> Direction:
        if slot in self._steady:
            return _SAME
        return self.value(self._bound[slot]) if slot in self._bound else None

    def _field(self, node: ir.Field) -> Direction:
        operand = node.operand
        if isinstance(operand, ir.Variable) and operand.name in ("node", "cluster"):
            if node.name in _AMOUNTS and not (node.test or node.optional):
                return _AMOUNTS[node.name]
            return None if node.name in _CHANGED else _SAME
        direction = self.value(operand)
        is_plain = self._is_amounts(operand) and not (node.test or node.optional)
        return direction if is_plain else self._same(direction)

    @staticmethod
    def _same(direction: Direction) -> Direction:
        return _SAME if direction == _SAME else None

    def _item(self, node: ir.Item) -> Direction:
        if self.value(node.index) != _SAME:
            return None
        direction = self.value(node.operand)
        is_plain = self._is_amounts(node.operand) and not node.optional
        return direction if is_plain else self._same(direction)

    def _is_amounts(self, node: ir.Typed) -> bool:
        """Say whether it is a map of amounts, whose entries go where it goes."""
        if isinstance(node, ir.Local) and node.slot in self._bound:
            return self._is_amounts(self._bound[node.slot])
        return isinstance(node, ir.Field) and node.name in _AMOUNTS

    def _loop(self, node: ir.Loop) -> Direction:
        """Give the direction of `all` and `exists` over what stays; else only whether it stays."""
        if self.value(node.range) != _SAME:
            return None
        self._steady.update(node.slots)
        parts = [part for part in (node.keep, node.body) if part is not None]
        if node.kind in ("all", "exists"):
            return _joined(map(self.value, parts))
        return self._unless_changed(parts)

    def _apply(self, node: ir.Apply) -> Direction:
        args = node.args
        match node.name, args:
            case "!" | "-", (only,):
                return _turned(self.value(only))
            case _, (only,) if node.name in _KEEPING:
                return self.value(only)
            case "size", (only,) if only.type.kind in _LISTED:
                return self.size(only)
            case "+", (left, right) if node.type.kind not in _LISTED:
                return _joined((self.value(left), self.value(right)))
            case "-" | ">" | ">=", (left, right):
                return _joined((self.value(left), _turned(self.value(right))))
            case "<" | "<=", (left, right):
                return _joined((_turned(self.value(left)), self.value(right)))
            case "*" | "/", (left, right) if self._never_below_zero(right):
                return self.value(left) if self.value(right) == _SAME else None
            case "*", (left, right) if self._never_below_zero(left):
                return self.value(right) if self.value(left) == _SAME else None
            case "==", (left, ir.Constant(value=0)) if _is_size(left):
                return _turned(self.value(left))
            case "!=", (left, ir.Constant(value=0)) if _is_size(left):
                return self.value(left)
            case _:
                return self._unless_changed(args)

    def _never_below_zero(self, node: ir.Typed) -> bool:
        if isinstance(node, ir.Constant):
            return isinstance(node.value, int | float) and node.value >= 0
        if isinstance(node, ir.Item | ir.Field):
            if isinstance(node, ir.Field) and node.name in _NEVER_BELOW_ZERO:
                return True
            return self._never_below_zero(node.operand)
        return False

    def _unless_changed(self, nodes: Iterable[ir.Typed]) -> Direction:
        return _SAME if all(self.value(node) == _SAME for node in nodes) else None

    # --- sizes of lists ---

    def size(self, node: ir.Typed) -> Direction:
        """Give where the size of a list goes, whatever is in it."""
        match node:
            case ir.MakeList(optional=optional) if not optional:
                return _SAME
            case ir.LetRef(body=body):
                return self.size(body)
            case ir.Bind(slot=slot, init=init, body=body):
                self._bound[slot] = init
                return self.size(body)
            case ir.Local(slot=slot) if slot in self._bound:
                return self.size(self._bound[slot])
            case ir.Field(operand=ir.Variable(name="node"), name="pods", test=False):
                return _UP
            case ir.Apply(name="+", args=(left, right)):
                return _joined((self.size(left), self.size(right)))
            case ir.Choice(
                condition=condition, then=ir.MakeList() as then, otherwise=ir.MakeList() as other
            ):
                return self._size_of_choice(condition, then, other)
            case ir.Choice(condition=condition, then=then, otherwise=other):
                if self.value(condition) != _SAME:
                    return None
                return _joined((self.size(then), self.size(other)))
            case ir.Loop(kind="list"):
                return self._size_of_loop(node)
            case _:
                return self._same(self.value(node))

    def _size_of_choice(
        self, condition: ir.Typed, then: ir.MakeList, other: ir.MakeList
    ) -> Direction:
        if then.optional or other.optional:
            return None
        more = len(then.elements) - len(other.elements)
        direction = self.value(condition)
        if not more:
            return _SAME
        return direction if more > 0 else _turned(direction)

    def _size_of_loop(self, node: ir.Loop) -> Direction:
        if node.keep is None:
            return self.size(node.range)
        if self.value(node.range) != _SAME:
            return None
        self._steady.update(node.slots)
        return self.value(node.keep)


def _is_size(node: ir.Typed) -> bool:
    return isinstance(node, ir.Apply) and node.name == "size"
