"""The reference interpreter: what an expression means.

A checked tree is planned once into nested closures, each of which takes a frame and gives a
value or raises `EvaluationError`. A frame is a list: the work that is left, then the variables,
then the local slots. What the types have settled is not asked again; the rest is settled by the
values (`dispatch.py`). Anything faster than this must agree with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Final, assert_never

from policyd.language import loops
from policyd.language import typed as ir
from policyd.language.access import has_field, index_value, select_field
from policyd.language.dispatch import Dispatcher, is_settled
from policyd.language.equality import type_value
from policyd.language.errors import EvaluationError
from policyd.language.limits import MAX_WORK
from policyd.language.sizes import COMPARED
from policyd.language.source import Source, Span
from policyd.language.types import BOOL, INT, STRING, Kind, Type
from policyd.language.work import Evaluate, Frame, charge, located
from policyd.values.errors import ValueFault
from policyd.values.maps import encode_key
from policyd.values.optional import NONE, Optional

UNSET: Final = object()
"""What a slot holds before its value is needed for the first time."""

_ORDERINGS: Final = frozenset({"<", "<=", ">", ">="})
_DIRECT: Final = frozenset({BOOL, INT, STRING})
"""Types whose equality is Python's own, given that both sides have the type."""


@dataclass(frozen=True, slots=True)
class Program:
    """A planned expression. Evaluating it changes nothing but the frame, so threads share it."""

    source: Source
    variables: tuple[str, ...]
    slots: int
    run: Evaluate

    def frame(self, bindings: Mapping[str, Any], work: int = MAX_WORK) -> Frame:
        """Make the frame of one evaluation. `work` bounds it, in the units of `limits.py`.

        Raises:
            EvaluationError: a variable that the expression uses has no value.
        """
        frame: Frame = [work]
        for name in self.variables:
            if name not in bindings:
                raise EvaluationError(f"`{name}` has no value", Span(0, 0))
            frame.append(bindings[name])
        frame.extend([UNSET] * self.slots)
        return frame

    def evaluate(self, bindings: Mapping[str, Any], work: int = MAX_WORK) -> Any:
        """Evaluate once.

        Raises:
            EvaluationError: there is no value; `LimitExceeded`, it takes too much work.
        """
        return self.run(self.frame(bindings, work))

    def over(
        self, bindings: Mapping[str, Any], name: str, work: int = MAX_WORK
    ) -> Callable[[Any], Any]:
        """Give the expression as a function of one variable, with the others fixed.

        Each call is an evaluation of its own. One that does not read the variable is evaluated
        once, when it is first called. The function belongs to one thread.

        Raises:
            EvaluationError: another variable that the expression uses has no value.
        """
        if name not in self.variables:
            return _Once(self.run, self.frame(bindings, work))
        template = self.frame({**bindings, name: None}, work)
        place = 1 + self.variables.index(name)
        run = self.run

        def evaluate(value: Any) -> Any:
            frame = template.copy()
            frame[place] = value
            return run(frame)

        return evaluate


class _Once:
    """An evaluation whose value, or error, is the same whatever the variable is."""

    __slots__ = ("_frame", "_outcome", "_run")

    def __init__(self, run: Evaluate, frame: Frame) -> None:
        self._run = run
        self._frame = frame
        self._outcome: tuple[Any, EvaluationError | None] | None = None

    def __call__(self, _: Any) -> Any:
        if self._outcome is None:
            try:
                self._outcome = self._run(self._frame), None
            except EvaluationError as error:
                self._outcome = None, error
        value, fault = self._outcome
        if fault is not None:
            raise fault.with_traceback(None)
        return value


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
                return _load(self.at(slot)) if slot in self._late else itemgetter(self.at(slot))
            case ir.LetRef(slot=slot, body=body):
                if slot not in self._lets:
                    self._lets[slot] = _once(self.at(slot), self.plan(body))
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
                return _bind(self.at(slot), self.plan(init), self.plan(body))
            case ir.OptionalMap():
                return self._optional_map(node)
            case _:
                assert_never(node)

    # --- fields and items ---

    def _field(self, node: ir.Field) -> Evaluate:
        operand, name, span = self.plan(node.operand), node.name, node.span
        if node.test:
            return lambda frame: _attributed(has_field, operand(frame), name, span)
        if node.optional:
            return _optional_field(operand, name, span)
        if node.native and node.operand.type.kind is Kind.OBJECT:
            return _native_field(operand, name, span)

        def select(frame: Frame) -> Any:
            value = operand(frame)
            try:
                return value[name]
            except (KeyError, TypeError, IndexError):
                return _attributed(select_field, value, name, span)

        return select

    def _item(self, node: ir.Item) -> Evaluate:
        operand, span = self.plan(node.operand), node.span
        if node.optional:
            return _optional_item(operand, self.plan(node.index), span)
        if isinstance(node.index, ir.Constant) and isinstance(node.index.value, str):
            return _constant_item(operand, node.index.value, span)
        return _variable_item(operand, self.plan(node.index), span)

    # --- calls ---

    def _apply(self, node: ir.Apply) -> Evaluate:
        if node.name in ("or", "orValue") and node.overloads[0].id.startswith("optional_"):
            return _or_else(self.plan(node.args[0]), self.plan(node.args[1]), node)
        args = [self.plan(arg) for arg in node.args]
        types = tuple(arg.type for arg in node.args)
        settled = is_settled(node.overloads, types)
        cost = node.overloads[0].cost
        if settled is None:
            return _dispatched(Dispatcher(node.name, node.overloads), args, node.span)
        if node.name == "in" and types[0] == STRING and (words := _words(node.args[1])):
            (value, _), known = args, words
            return lambda frame: value(frame) in known
        compared = self._comparison(node, args, types)
        if compared is not None:
            return compared
        if cost is not None:
            return _costed(settled, cost, args, node.span)
        folded = _folded(settled, node)
        if folded is not None:
            return folded
        return _direct(settled, args, node.span)

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
                elif _optional(value, span).present:
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
                    if not _optional(value, span).present:
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
            value = _optional(target(frame), span)
            if not value.present:
                return NONE
            frame[place] = value.value
            result = body(frame)
            return _optional(result, span) if flat else Optional(result)

        return apply


class _Later:
    """A value that `cel.bind` computes when it is first needed."""

    __slots__ = ("init", "place")

    def __init__(self, place: int, init: Evaluate) -> None:
        self.place = place
        self.init = init

    def force(self, frame: Frame) -> Any:
        try:
            value = frame[self.place] = self.init(frame)
        except EvaluationError as error:
            frame[self.place] = _Failed(error)
            raise
        return value


class _Failed:
    """What stands for a value that could not be computed, so that it is tried only once."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error

    def force(self, _: Frame) -> Any:
        raise self.error.with_traceback(None)


def _failing(message: str, span: Span) -> Evaluate:
    def fail(_: Frame) -> Any:
        raise EvaluationError(message, span)

    return fail


def _load(place: int) -> Evaluate:
    def load(frame: Frame) -> Any:
        value = frame[place]
        cls = value.__class__
        return value.force(frame) if cls is _Later or cls is _Failed else value

    return load


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


def _bind(place: int, init: Evaluate, body: Evaluate) -> Evaluate:
    later = _Later(place, init)

    def bind(frame: Frame) -> Any:
        frame[place] = later
        return body(frame)

    return bind


def _once(place: int, body: Evaluate) -> Evaluate:
    later = _Later(place, body)

    def let(frame: Frame) -> Any:
        value = frame[place]
        if value is UNSET:
            return later.force(frame)
        return value.force(frame) if value.__class__ is _Failed else value

    return let


def _attributed(compute: Callable[..., Any], first: Any, second: Any, span: Span) -> Any:
    """Compute, and say where it failed if it does."""
    try:
        return compute(first, second)
    except ValueFault as fault:
        raise located(fault, span) from None


def _not_bool(what: str, value: Any, span: Span) -> EvaluationError:
    return EvaluationError(f"no such overload: `{what}` of {type_value(value)}", span)


def _optional(value: Any, span: Span) -> Optional:
    if value.__class__ is Optional:
        made: Optional = value
        return made
    raise EvaluationError(f"an optional is needed here, not {type_value(value)}", span)


def _native_field(operand: Evaluate, name: str, span: Span) -> Evaluate:
    get = attrgetter(name)

    def select(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return get(value)
        except AttributeError:
            return _attributed(select_field, value, name, span)
        except ValueFault as fault:  # a field that is read from the object's JSON when asked for
            raise located(fault, span) from None

    return select


def _constant_item(operand: Evaluate, key: str, span: Span) -> Evaluate:
    def item(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return value[key]
        except (KeyError, TypeError):
            return _attributed(index_value, value, key, span)

    return item


def _variable_item(operand: Evaluate, index: Evaluate, span: Span) -> Evaluate:
    def item(frame: Frame) -> Any:
        value, key = operand(frame), index(frame)
        if key.__class__ is str:
            charge(frame, len(key) // COMPARED, span)
        return _attributed(index_value, value, key, span)

    return item


def _optional_field(operand: Evaluate, name: str, span: Span) -> Evaluate:
    def select(frame: Frame) -> Optional:
        value = operand(frame)
        if value.__class__ is Optional:
            if not value.present:
                return NONE
            value = value.value
        if not _attributed(has_field, value, name, span):
            return NONE
        return _wrapped(_attributed(select_field, value, name, span))

    return select


def _optional_item(operand: Evaluate, index: Evaluate, span: Span) -> Evaluate:
    def item(frame: Frame) -> Optional:
        value, key = operand(frame), index(frame)
        if key.__class__ is str:
            charge(frame, len(key) // COMPARED, span)
        if value.__class__ is Optional:
            if not value.present:
                return NONE
            value = value.value
        if isinstance(value, dict):
            encoded = encode_key(key) if key.__class__ is not list else key
            try:
                return _wrapped(value[encoded]) if encoded in value else NONE
            except TypeError:
                return NONE
        try:
            return _wrapped(_attributed(index_value, value, key, span))
        except EvaluationError as error:
            if value.__class__ is list and "out of bounds" in error.message:
                return NONE
            raise

    return item


def _wrapped(value: Any) -> Optional:
    return value if value.__class__ is Optional else Optional(value)


def _words(node: ir.Typed) -> frozenset[str] | None:
    """Give the strings of a list of constant strings."""
    if not isinstance(node, ir.MakeList) or node.optional:
        return None
    values = [e.value for e in node.elements if isinstance(e, ir.Constant)]
    if len(values) != len(node.elements) or not all(isinstance(v, str) for v in values):
        return None
    return frozenset(values)


def _folded(compute: Callable[..., Any], node: ir.Apply) -> Evaluate | None:
    """Compute a call of constants once. One that fails is left to fail where it is needed."""
    if not node.args or not all(isinstance(arg, ir.Constant) for arg in node.args):
        return None
    try:
        value = compute(*[arg.value for arg in node.args if isinstance(arg, ir.Constant)])
    except ValueFault:
        return None
    return lambda _: value


def _or_else(optional: Evaluate, other: Evaluate, node: ir.Apply) -> Evaluate:
    """Plan `or` and `orValue`, which need their argument only where there is no value."""
    take = node.name == "orValue"
    span = node.args[0].span

    def choose(frame: Frame) -> Any:
        first = _optional(optional(frame), span)
        if first.present:
            return first.value if take else first
        return other(frame)

    return choose


def _direct(compute: Callable[..., Any], args: list[Evaluate], span: Span) -> Evaluate:
    """Plan a call whose overload is known."""
    if len(args) == 1:
        (only,) = args

        def call_one(frame: Frame) -> Any:
            try:
                return compute(only(frame))
            except ValueFault as fault:
                raise located(fault, span) from None

        return call_one
    if len(args) == 2:
        left, right = args

        def call_two(frame: Frame) -> Any:
            try:
                return compute(left(frame), right(frame))
            except ValueFault as fault:
                raise located(fault, span) from None

        return call_two

    def call(frame: Frame) -> Any:
        try:
            return compute(*[arg(frame) for arg in args])
        except ValueFault as fault:
            raise located(fault, span) from None

    return call


def _costed(
    compute: Callable[..., Any], cost: Callable[..., int], args: Sequence[Evaluate], span: Span
) -> Evaluate:
    """Plan a call that is charged by the sizes of its arguments."""

    def call(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        try:
            charge(frame, cost(*values), span)
            return compute(*values)
        except ValueFault as fault:
            raise located(fault, span) from None

    return call


def _dispatched(dispatcher: Dispatcher, args: Sequence[Evaluate], span: Span) -> Evaluate:
    """Plan a call whose overload the values decide."""

    def call(frame: Frame) -> Any:
        values = tuple([arg(frame) for arg in args])
        try:
            overload = dispatcher.choose(values)
            if overload.cost is not None:
                charge(frame, overload.cost(*values), span)
            return overload.implementation(*values)
        except ValueFault as fault:
            raise located(fault, span) from None

    return call
