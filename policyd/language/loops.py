"""How macros over lists and maps are evaluated.

The work of a loop is charged when it starts: the number of elements times the size of its body.
Nothing is charged for each element, so that counting costs next to nothing. Loops inside the
body charge for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from policyd.language import typed as ir
from policyd.language.equality import type_value
from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.limits import MAX_LIST
from policyd.language.types import BOOL
from policyd.language.work import Evaluate, Frame, charge
from policyd.values.maps import decode_key, encode_key

if TYPE_CHECKING:
    from policyd.language.interpreter import Planner
    from policyd.language.source import Span


def plan_loop(planner: Planner, node: ir.Loop) -> Evaluate:
    """Plan a macro."""
    places = tuple(planner.at(slot) for slot in node.slots)
    over = _Range(
        planner.plan(node.range),
        places,
        turn_size(node),
        node.range.span,
    )
    keep = None if node.keep is None else planner.plan(node.keep)
    body = planner.plan(node.body) if node.body is not None else _load(places[-1])
    body_span = node.body.span if node.body is not None else node.span
    match node.kind:
        case "all" | "exists":
            deciding = node.kind == "exists"
            if over.place is not None and node.body is not None and node.body.type == BOOL:
                return _quantified_plainly(over, over.place, body, deciding=deciding)
            return _quantified(over, body, body_span, deciding=deciding)
        case "exists_one":
            return _exists_one(over, body, body_span)
        case "list":
            return _collected(over, keep, body, node.span)
        case _:
            return _mapped(over, keep, body, node)


def _load(place: int) -> Evaluate:
    return lambda frame: frame[place]


def turn_size(node: ir.Loop) -> int:
    """Give the work that one element costs, without that of loops inside."""
    return sum(_size(part) for part in (node.keep, node.body) if part is not None) + 1


def _size(node: ir.Typed) -> int:
    """Count the nodes that one turn of a loop visits; loops inside count for themselves."""
    if isinstance(node, ir.LetRef):
        return 1  # its body is evaluated once, whatever goes round
    if isinstance(node, ir.Loop):
        return 1 + _size(node.range)
    return 1 + sum(_size(part) for part in ir.operands(node))


class _Range:
    """What a loop goes over: evaluates it, charges for it, and sets the variables by turns."""

    __slots__ = ("_evaluate", "_places", "_size", "_span")

    def __init__(self, evaluate: Evaluate, places: tuple[int, ...], size: int, span: Span) -> None:
        self._evaluate = evaluate
        self._places = places
        self._size = size
        self._span = span

    @property
    def place(self) -> int | None:
        """Give the place of the variable, where there is one only."""
        return self._places[0] if len(self._places) == 1 else None

    def items(self, frame: Frame) -> list[Any] | dict[Any, Any]:
        """Evaluate what the loop goes over, and charge for going over it."""
        value = self._evaluate(frame)
        if value.__class__ is not list and not isinstance(value, dict):
            raise EvaluationError(
                f"no such overload: a macro goes over a list or a map, not {type_value(value)}",
                self._span,
            )
        charge(frame, len(value) * self._size, self._span)
        items: list[Any] | dict[Any, Any] = value
        return items

    def turns(self, frame: Frame) -> Iterable[Any]:
        """Set the variables for each turn; gives the key under which a map's entry stands."""
        value = self.items(frame)
        if isinstance(value, dict):
            return self._over_map(frame, value)
        return self._over_list(frame, value)

    def _over_list(self, frame: Frame, items: list[Any]) -> Iterable[Any]:
        if len(self._places) == 1:
            (place,) = self._places
            for item in items:
                frame[place] = item
                yield None
            return
        first, second = self._places
        for at, item in enumerate(items):
            frame[first], frame[second] = at, item
            yield at

    def _over_map(self, frame: Frame, entries: dict[Any, Any]) -> Iterable[Any]:
        first, last = self._places[0], self._places[-1]
        two = len(self._places) == 2
        for key, value in entries.items():
            frame[first] = decode_key(key)
            if two:
                frame[last] = value
            yield key


def _quantified(over: _Range, body: Evaluate, span: Span, *, deciding: bool) -> Evaluate:
    """Plan `all` and `exists`: errors are dropped where another element decides."""
    going_on = not deciding

    def quantify(frame: Frame) -> bool:
        fault: EvaluationError | None = None
        for _ in over.turns(frame):
            try:
                value = body(frame)
            except EvaluationError as error:
                if error.final:
                    raise
                fault = fault or error
                continue
            if value is deciding:
                return bool(deciding)
            if value is not going_on:
                fault = fault or _not_bool(value, span)
        if fault is not None:
            raise fault
        return going_on

    return quantify


def _quantified_plainly(over: _Range, place: int, body: Evaluate, *, deciding: bool) -> Evaluate:
    """Plan `all` and `exists` with one variable and a condition that is certainly bool."""
    going_on = not deciding

    def quantify(frame: Frame) -> bool:
        fault: EvaluationError | None = None
        items = over.items(frame)
        for item in items if items.__class__ is list else map(decode_key, items):
            frame[place] = item
            try:
                if body(frame) is deciding:
                    return bool(deciding)
            except EvaluationError as error:
                if error.final:
                    raise
                fault = fault or error
        if fault is not None:
            raise fault
        return going_on

    return quantify


def _exists_one(over: _Range, body: Evaluate, span: Span) -> Evaluate:
    def count(frame: Frame) -> bool:
        found = 0
        for _ in over.turns(frame):
            value = body(frame)
            if value is True:
                found += 1
            elif value is not False:
                raise _not_bool(value, span)
        return found == 1

    return count


def _collected(over: _Range, keep: Evaluate | None, body: Evaluate, span: Span) -> Evaluate:
    def collect(frame: Frame) -> list[Any]:
        if keep is None:
            return [body(frame) for _ in over.turns(frame)]
        return [body(frame) for _ in over.turns(frame) if _kept(keep, frame, span)]

    return collect


def _kept(keep: Evaluate, frame: Frame, span: Span) -> bool:
    value = keep(frame)
    if value is True or value is False:
        return bool(value)
    raise _not_bool(value, span)


def _mapped(over: _Range, keep: Evaluate | None, body: Evaluate, node: ir.Loop) -> Evaluate:
    """Plan `transformMap` and `transformMapEntry`."""
    span = node.span
    whole = node.kind == "entries"

    def make(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key in over.turns(frame):
            if keep is not None and not _kept(keep, frame, span):
                continue
            value = body(frame)
            if whole:
                _add_entry(made, value, span)
            else:
                made[key] = value
        return made

    return make


def _add_entry(made: dict[Any, Any], entry: Any, span: Span) -> None:
    if not isinstance(entry, dict):
        raise EvaluationError(f"no such overload: {type_value(entry)} is no map entry", span)
    for key, value in entry.items():
        if key in made:
            raise EvaluationError(f"insert failed: the key {key} is there already", span)
        made[key] = value
    if len(made) > MAX_LIST:
        raise LimitExceeded(f"a map may have at most {MAX_LIST:,} entries", span)


_KEYS: Final = (bool, int, str)
_ODD_KEYS: Final = (*_KEYS, float, NoneType)


def map_key(key: Any, span: Span, *, strict: bool) -> Any:
    """Give the `dict` key for the key of a map literal.

    Doubles and null are keys where not `strict`.

    Raises:
        EvaluationError: its kind cannot be a key.
    """
    if isinstance(key, _KEYS if strict else _ODD_KEYS):
        return encode_key(key)
    raise EvaluationError(f"unsupported key type: {type_value(key)}", span)


def _not_bool(value: Any, span: Span) -> EvaluationError:
    return EvaluationError(f"no such overload: a condition is {type_value(value)}, not bool", span)
