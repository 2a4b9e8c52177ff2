"""What would have to be otherwise for a condition to hold: the smallest change that is found.

A condition that is false is followed down to the comparisons that would have to come out
differently: all false operands of `&&`, the cheapest operand of `||`, every element for which
`all` fails, every element that keeps `….filter(…).size() == 0` from being true. Of an order
comparison of numbers or quantities the amount that is missing is given.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Final

from policyd.language import typed as ir
from policyd.language.errors import EvaluationError
from policyd.language.show import show
from policyd.policy.parts import Filter, Parts, Plans, shown
from policyd.policy.ruleset import Expression
from policyd.values.quantity import Quantity

MAX_NEEDS: Final = 6
"""How many needs are told of one condition."""

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_IN_WORDS: Final = {
    "<": "less than",
    "<=": "at most",
    ">": "more than",
    ">=": "at least",
    "==": "equal to",
    "!=": "other than",
    "in": "one of",
}
_OF_THE_POD: Final = 1e9
"""The size of a need that is no amount and about the pod, which its owner can change."""


@dataclass(frozen=True, slots=True)
class Need:
    """A part of a condition that would have to be otherwise.

    `text` is the part, with the elements of macros in place of their names, and `value` what it
    is. It would have to be `relation` (in words) `bound`. `missing` is the distance of the two,
    where they are amounts, and `size` the same in relation to the bound, for comparing needs:
    amounts come first, then what is asked of the pod, then what is asked of the node.
    """

    text: str
    value: str
    relation: str
    bound: str
    missing: str = ""
    size: float = inf


class Asker:
    """Finds what is missing for one condition, on any number of nodes. Belongs to one thread."""

    def __init__(self, condition: Expression) -> None:
        self._plans = Plans(condition.checked, condition.program)

    def needs(self, values: Mapping[str, Any]) -> tuple[Need, ...]:
        """Give what would have to be otherwise for the condition to hold for some input."""
        try:
            parts = Parts(self._plans, values)
        except EvaluationError:
            return ()
        search = _Search(parts)
        found: dict[Need, None] = {}
        for need in search.needs(parts.root, wanted=True):
            found[need] = None
            if len(found) == MAX_NEEDS:
                break
        return tuple(found)


class _Search:
    """One search through a condition with values for its parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def needs(self, node: ir.Typed, *, wanted: bool) -> Iterator[Need]:
        """Give what must change for a part that is bool to come out as it is wanted."""
        match node:
            case ir.Junction(conjunction=conjunction, operands=operands):
                yield from self._junction(operands, wanted=wanted, every=conjunction is wanted)
            case ir.Apply(name="!", args=(inner,)):
                yield from self.needs(inner, wanted=not wanted)
            case ir.Choice(condition=condition, then=then, otherwise=otherwise):
                taken = then if self._parts.value(condition) is True else otherwise
                yield from self.needs(taken, wanted=wanted)
            case ir.LetRef(body=body):
                self._parts.value(node)
                yield from self.needs(body, wanted=wanted)
            case ir.Bind():
                yield from self.needs(self._parts.enter(node), wanted=wanted)
            case ir.Loop(kind="all" | "exists", body=body) if body is not None:
                every = (node.kind == "all") is wanted
                yield from self._elements(node, body, wanted=wanted, every=every)
            case ir.Apply(name="==" | "!=" | "<" | "<=" | ">" | ">=" | "in", args=(_, _)):
                yield from self._comparison(node, wanted=wanted)
            case _:
                yield self._bool(node, wanted=wanted)

    def _junction(
        self, operands: Sequence[ir.Typed], *, wanted: bool, every: bool
    ) -> Iterator[Need]:
        """Go into the operands that are not as wanted: all of them, or the nearest."""
        wrong = [each for each in operands if self._parts.value(each) is not wanted]
        ways = (tuple(self.needs(each, wanted=wanted)) for each in wrong)
        yield from _all(ways) if every else _nearest(ways)

    def _elements(
        self, loop: ir.Loop, body: ir.Typed, *, wanted: bool, every: bool
    ) -> Iterator[Need]:
        """Go into the elements of a macro that are not as wanted: all of them, or the nearest."""
        ways = [
            tuple(self.needs(body, wanted=wanted))
            for _ in self._parts.turns(loop)
            if self._parts.value(body) is not wanted
        ]
        if ways:
            yield from _all(ways) if every else _nearest(ways)
        else:
            yield self._bool(loop, wanted=wanted)

    def _comparison(self, node: ir.Apply, *, wanted: bool) -> Iterator[Need]:
        left, right = node.args
        operator = node.name if wanted else _NEGATED.get(node.name)
        if operator is None:  # not one of a list
            yield self._bool(node, wanted=wanted)
            return
        kept = _kept_out(left, right, operator, self._parts)
        if kept is not None:
            yield from self._elements(*kept, wanted=False, every=True)
            return
        if operator in _MIRRORED and _reads(right, "node") and not _reads(left, "node"):
            left, right, operator = right, left, _MIRRORED[operator]
        yield self._compared(left, operator, right)

    def _compared(self, left: ir.Typed, operator: str, right: ir.Typed) -> Need:
        value, bound = self._parts.value(left), self._parts.value(right)
        gap = _gap(value, operator, bound)
        missing = shown(gap) if gap is not None and _number(gap) > 0 else ""
        size = _size(left) if gap is None else _number(gap) / max(abs(_number(bound)), 1e-9)
        return Need(
            self._parts.written(left),
            shown(value),
            _IN_WORDS[operator],
            shown(bound),
            missing,
            size,
        )

    def _bool(self, node: ir.Typed, *, wanted: bool) -> Need:
        value = shown(self._parts.value(node))
        return Need(
            self._parts.written(node), value, _IN_WORDS["=="], show(wanted), size=_size(node)
        )


def _all(ways: Iterable[tuple[Need, ...]]) -> Iterator[Need]:
    for way in ways:
        yield from way


def _nearest(ways: Iterable[tuple[Need, ...]]) -> tuple[Need, ...]:
    """Give the way with the fewest needs, and of those the one with the smallest."""
    return min(ways, key=lambda way: (len(way), distance(way)), default=())


def distance(needs: Iterable[Need]) -> float:
    """Say how far needs are from being met: the largest, in relation to what it is to be."""
    return max((need.size for need in needs), default=0.0)


def _kept_out(left: ir.Typed, right: ir.Typed, operator: str, parts: Parts) -> Filter | None:
    """Find the `filter` that a condition wants to be empty, where it is one."""
    if operator not in ("==", "<=", "<"):
        return None
    bound = parts.value(right)
    match left:
        case ir.Apply(name="size", args=(counted,)):
            is_empty = bound == (1 if operator == "<" else 0) and not isinstance(bound, bool)
        case _:
            counted, is_empty = left, operator == "==" and bound == []
    return parts.filter(counted) if is_empty else None


def _size(node: ir.Typed) -> float:
    """Give the size of a need that is no amount."""
    return _OF_THE_POD if _reads(node, "pod") else inf


def _gap(value: Any, operator: str, bound: Any) -> Any:
    """Give how much of an amount is missing; nothing where none is compared."""
    if operator not in _MIRRORED:
        return None
    gap = _minus(bound, value) if operator in (">", ">=") else _minus(value, bound)
    if operator in ("<", ">") and isinstance(gap, int):
        return gap + 1  # whole numbers: the next one
    return gap


def _minus(left: Any, right: Any) -> Any:
    """Subtract amounts; nothing where they are none."""
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, int | float | Quantity):
            return None
        if isinstance(value, float) and not isfinite(value):
            return None
    if isinstance(left, Quantity) or isinstance(right, Quantity):
        return _subtracted(left, right)
    return left - right


def _subtracted(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return _number(left) - _number(right)
    sides = [Quantity.from_int(side) if isinstance(side, int) else side for side in (left, right)]
    return sides[0].minus(sides[1])


def _number(value: Any) -> float:
    return value.nearest_float() if isinstance(value, Quantity) else float(value)


def _reads(node: ir.Typed, variable: str) -> bool:
    """Say whether a part depends on a variable."""
    if isinstance(node, ir.Variable):
        return node.name == variable
    return any(_reads(inner, variable) for inner in ir.operands(node))
