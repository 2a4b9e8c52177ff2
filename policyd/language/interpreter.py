"""The reference interpreter: what an expression means.

A checked tree is planned once into nested closures, each of which takes a frame and gives a
value or raises `EvaluationError`. A frame is a list: the work that is left, then the variables,
then the local slots. What the types have settled is not asked again; the rest is settled by the
values (`dispatch.py`). Anything faster than this must agree with it.
"""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final, assert_never

from policyd.language import loops
from policyd.language import typed as ir
from policyd.language.access import has_field, select_field
from policyd.language.dispatch import Dispatcher, is_settled
from policyd.language.equality import type_value
from policyd.language.errors import EvaluationError
from policyd.language.fetching import (
    as_optional,
    attributed,
    constant_item,
    native_field,
    optional_field,
    optional_item,
    variable_item,
)
from policyd.language.invoking import costed, direct, dispatched, folded, or_else, words
from policyd.language.late import bind, load, once
from policyd.language.program import Program
from policyd.language.source import Source, Span
from policyd.language.types import BOOL, INT, STRING, Kind, Type
from policyd.language.work import Evaluate, Frame
from policyd.values.optional import NONE, Optional

_DIRECT: Final = frozenset({BOOL, INT, STRING})
"""Types whose equality is Python's own, given that both sides have the type."""


def plan(root: ir.Typed, variables: tuple[str, ...], slots: int, source: Source) -> Program:
    """Plan a checked tree."""
    places = {name: at for at, name in enumerate(variables, 1)}
    planner = Planner(places, len(variables) + 1)
    return Program(source, variables, slots, planner.plan(root))


class Planner:
    """Turns nodes into closures; knows where each variable and slot is in the frame."""

    def __init__(self, places: Mapping[str, int], first_slot: int) -> None:
        self._places = places
        self._first_slot = first_slot
        self._late: set[int] = set()
        self._lets: dict[int, Evaluate] = {}  # a let that is used often is planned once

    def at(self, slot: int) -> int:
        """Give the place of a local slot in the frame."""
        return self._first_slot + slot

    def plan(self, node: ir.Typed) -> Evaluate:
        """Plan one node and all inside it."""
        match node:
            case ir.Constant(value=value):
                return lambda _: value
            case ir.Fault(message=message, span=span):
                return _failing(message, span)
            case ir.Variable(name=name):
                return itemgetter(self._places[name])
            case ir.Local(slot=slot):
                return load(self.at(slot)) if slot in self._late else itemgetter(self.at(slot))
            case ir.LetRef(slot=slot, body=body):
                if slot not in self._lets:
                    self._lets[slot] = once(self.at(slot), self.plan(body))
                return self._lets[slot]
            case ir.Field():
                return self._field(node)
            case ir.Item():
                return self._item(node)
            case ir.Apply():
                return self._apply(node)
            case ir.Junction():
                return self._junction(node)
            case ir.Choice():
                return self._choice(node)
            case ir.MakeList():
                return self._list(node)
            case ir.MakeMap():
                return self._map(node)
            case ir.Loop():
                return loops.plan_loop(self, node)
            case ir.Bind(slot=slot, init=init, body=body):
                self._late.add(slot)
                return bind(self.at(slot), self.plan(init), self.plan(body))
            case ir.OptionalMap():
                return self._optional_map(node)
            case _:
                assert_never(node)

    # --- fields and items ---

    def _field(self, node: ir.Field) -> Evaluate:
        operand, name, span = self.plan(node.operand), node.name, node.span
        if node.test:
            return lambda frame: attributed(has_field, operand(frame), name, span)
        if node.optional:
            return optional_field(operand, name, span)
        if node.native and node.operand.type.kind is Kind.OBJECT:
            return native_field(operand, name, span)

        def select(frame: Frame) -> Any:
            value = operand(frame)
            try:
                return value[name]
            except (KeyError, TypeError, IndexError):
                return attributed(select_field, value, name, span)

        return select

    def _item(self, node: ir.Item) -> Evaluate:
        operand, span = self.plan(node.operand), node.span
        if node.optional:
            return optional_item(operand, self.plan(node.index), span)
        if isinstance(node.index, ir.Constant) and isinstance(node.index.value, str):
            return constant_item(operand, node.index.value, span)
        return variable_item(operand, self.plan(node.index), span)

    # --- calls ---

    def _apply(self, node: ir.Apply) -> Evaluate:
        if node.name in ("or", "orValue") and node.overloads[0].id.startswith("optional_"):
            return or_else(self.plan(node.args[0]), self.plan(node.args[1]), node)
        args = [self.plan(arg) for arg in node.args]
        types = tuple(arg.type for arg in node.args)
        settled = is_settled(node.overloads, types)
        cost = node.overloads[0].cost
        if settled is None:
            return dispatched(Dispatcher(node.name, node.overloads), args, node.span)
        if node.name == "in" and types[0] == STRING and (known := words(node.args[1])):
            value = args[0]
            return lambda frame: value(frame) in known
        compared = self._comparison(node, args, types)
        if compared is not None:
            return compared
        if cost is not None:
            return costed(settled, cost, args, node.span)
        constant = folded(settled, node)
        if constant is not None:
            return constant
        return direct(settled, args, node.span)

    def _comparison(
        self, node: ir.Apply, args: list[Evaluate], types: tuple[Type, ...]
    ) -> Evaluate | None:
        """Plan an equality of plain values without a call."""
        if node.name not in ("==", "!=") or types[0] != types[1] or types[0] not in _DIRECT:
            return None
        left, right = args
        constant = node.args[1]
        if isinstance(constant, ir.Constant):
            value = constant.value
            if node.name == "==":
                return lambda frame: left(frame) == value
            return lambda frame: left(frame) != value
        if types[0] == STRING:
            return None  # both may be long
        if node.name == "==":
            return lambda frame: left(frame) == right(frame)
        return lambda frame: left(frame) != right(frame)

    def _junction(self, node: ir.Junction) -> Evaluate:
        parts = [self.plan(operand) for operand in node.operands]
        spans = [operand.span for operand in node.operands]
        deciding = not node.conjunction
        symbol = "&&" if node.conjunction else "||"
        if len(parts) == 2 and all(operand.type == BOOL for operand in node.operands):
            return _both(parts[0], parts[1], deciding=deciding)

        def junction(frame: Frame) -> Any:
            fault: EvaluationError | None = None
            for part, span in zip(parts, spans, strict=True):
                try:
                    value = part(frame)
                except EvaluationError as error:
                    if error.final:
                        raise
                    fault = fault or error
                    continue
                if value is deciding:
                    return deciding
                if value is not True and value is not False:
                    fault = fault or _not_bool(symbol, value, span)
            if fault is not None:
                raise fault
            return not deciding

        return junction

    def _choice(self, node: ir.Choice) -> Evaluate:
        condition = self.plan(node.condition)
        then, otherwise, span = self.plan(node.then), self.plan(node.otherwise), node.span

        def choose(frame: Frame) -> Any:
            chosen = condition(frame)
            if chosen is True:
                return then(frame)
            if chosen is False:
                return otherwise(frame)
            raise _not_bool("? :", chosen, span)

        return choose

    # --- lists, maps, optionals ---

    def _list(self, node: ir.MakeList) -> Evaluate:
        if not node.optional and all(isinstance(e, ir.Constant) for e in node.elements):
            values = [e.value for e in node.elements if isinstance(e, ir.Constant)]
            return lambda _: values  # values are never changed, so one list serves all
        parts = [self.plan(element) for element in node.elements]
        if not node.optional:
            return lambda frame: [part(frame) for part in parts]
        optional, span = node.optional, node.span

        def make(frame: Frame) -> list[Any]:
            made: list[Any] = []
            for at, part in enumerate(parts):
                value = part(frame)
                if at not in optional:
                    made.append(value)
                elif as_optional(value, span).present:
                    made.append(value.value)
            return made

        return make

    def _map(self, node: ir.MakeMap) -> Evaluate:
        pairs = [
            (self.plan(key), self.plan(value), at in node.optional, key.span)
            for at, (key, value) in enumerate(zip(node.keys, node.values, strict=True))
        ]
        span, strict = node.span, node.strict

        def make(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key_of, value_of, optional, key_span in pairs:
                key = loops.map_key(key_of(frame), key_span, strict=strict)
                value = value_of(frame)
                if optional:
                    if not as_optional(value, span).present:
                        continue
                    value = value.value
                if strict and key in made:
                    raise EvaluationError("a map cannot have the same key twice", key_span)
                made[key] = value
            return made

        return make

    def _optional_map(self, node: ir.OptionalMap) -> Evaluate:
        target, body, place = self.plan(node.target), self.plan(node.body), self.at(node.slot)
        flat, span = node.flat, node.span

        def apply(frame: Frame) -> Any:
            value = as_optional(target(frame), span)
            if not value.present:
                return NONE
            frame[place] = value.value
            result = body(frame)
            return as_optional(result, span) if flat else Optional(result)

        return apply


def _failing(message: str, span: Span) -> Evaluate:
    def fail(_: Frame) -> Any:
        raise EvaluationError(message, span)

    return fail


def _both(left: Evaluate, right: Evaluate, *, deciding: bool) -> Evaluate:
    """Plan `&&` or `||` of two operands that are certainly bool."""

    def both(frame: Frame) -> bool:
        try:
            if left(frame) is deciding:
                return bool(deciding)
        except EvaluationError as error:
            if error.final or right(frame) is not deciding:
                raise
            return bool(deciding)
        value: bool = right(frame)
        return value

    return both


def _not_bool(what: str, value: Any, span: Span) -> EvaluationError:
    return EvaluationError(f"no such overload: `{what}` of {type_value(value)}", span)
