"""Turns a checked tree into steps over vectors.

What does not read the row is a constant, computed once for a key of facts. What reads nothing
else than the row is a column, kept for all pods. The rest is computed where it is asked for. A
part is left to the interpreter where it is cheap there (a column without a macro), and the whole
expression where some part has no form over arrays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol, assert_never

import numpy as np

from policyd.language import typed as ir
from policyd.language.access import find_field, find_item, has_field, index_value, select_field
from policyd.language.checked import Checked
from policyd.language.dispatch import Dispatcher, is_settled
from policyd.language.interpreter import plan as plan_rows
from policyd.language.limits import MAX_LIST, MAX_WORK
from policyd.language.loops import turn_size
from policyd.language.program import Program
from policyd.language.reads import reads
from policyd.language.types import DYN, Type
from policyd.language.types import Kind as TypeKind
from policyd.policy.kernel import lists, numeric
from policyd.policy.kernel.keys import Facts, Key, frozen
from policyd.policy.kernel.vector import (
    Answers,
    Array,
    Domain,
    Kind,
    ListVector,
    Unvectorised,
    Value,
    Vector,
    constant,
    elementwise,
    from_values,
    kind_of,
    to_values,
)
from policyd.values.optional import Optional

Step = Callable[["Batch"], Value]

_ANY: Final = Kind.ANY


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of an expression that is kept by itself: a constant, or a column.

    `step` computes it over arrays; without it the interpreter does, row by row. `signature` is
    equal for parts with the same meaning. `outside` gives the key of what is read beside the
    row, `reads` are the paths of the row.
    """

    program: Program
    type: Type
    signature: int
    outside: Facts
    reads: frozenset[str]
    step: Step | None = None
    columns: tuple["Part", ...] = ()  # those that the step is made of

    @property
    def is_list(self) -> bool:
        """Say whether it is a list of objects, whose fields are columns of their own."""
        return self.type.kind is TypeKind.LIST and self.type.params[0].kind is TypeKind.OBJECT


class Source(Protocol):
    """Where a batch has constants and columns from."""

    def constant(self, part: Part) -> tuple[Value, int]:
        """Give the value of a constant, and the work of computing it."""
        ...

    def column(self, part: Part, rows: Array) -> tuple[Value, int]:
        """Give the values of a column at some rows, and the most work of one of them."""
        ...

    def kept(self, key: Key, make: Callable[[], tuple[Value, int]]) -> tuple[Value, int]:
        """Give what was made for a key before, or make it."""
        ...


@dataclass(slots=True)
class Batch:
    """The evaluation of one expression over some rows.

    `work` bounds from above what the interpreter would count for any of the rows; `turns` is how
    often the part that is being computed is gone through.
    """

    source: Source
    rows: Array
    given: Mapping[str, Vector] = field(default_factory=dict)
    slots: dict[int, Value] = field(default_factory=dict)
    fields: dict[int, Any] = field(default_factory=dict)
    axes: int = 1
    turns: int = 1
    work: int = 0

    def charge(self, units: int) -> None:
        """Count work of the part that is being computed.

        Raises:
            Unvectorised: the interpreter might reach its limit.
        """
        self.work += self.turns * units
        if self.work > MAX_WORK:
            raise Unvectorised("the interpreter might find it too much work")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a node of the tree depends on."""

    variables: frozenset[str]
    locals: frozenset[int]
    loops: bool


class Planner:
    """Plans one expression. `row` is the variable that the rows are values of."""

    def __init__(
        self,
        checked: Checked,
        row: str,
        signatures: dict[Key, int],
        given: frozenset[str] = frozenset(),
    ) -> None:
        """Plan for a row variable; parts of one meaning have one number in `signatures`."""
        self._checked = checked
        self._row = row
        self._signatures = signatures
        self._given = given
        self._known: dict[int, _Facts] = {}
        self._lets: dict[int, Step] = {}
        self.columns: list[Part] = []  # those that the steps planned so far are made of
        self._even: set[int] = set()  # slots of macros over constants: the same for every batch

    def plan(self, node: ir.Typed) -> Step:
        """Plan a node and all inside it.

        Raises:
            Unvectorised: some part of it has no form over arrays.
        """
        if isinstance(node, ir.Constant):
            return self._constant(node)
        facts = self._facts(node)
        if not facts.locals and not facts.variables & self._given:
            if self._row not in facts.variables:
                return self._constant(node)
            if facts.variables.isdisjoint(_OF_THE_POD) and _can_be_kept(node.type, facts):
                return self._column(node, facts)
        if self._is_even(node, facts):
            return self._once(node)
        return self._inner(node)

    def _is_even(self, node: ir.Typed, facts: _Facts) -> bool:
        """Say whether it depends on nothing but the elements of constants."""
        return (
            not isinstance(node, ir.Local)
            and self._row not in facts.variables
            and facts.variables.isdisjoint(self._given)
            and facts.locals <= self._even
        )

    def _once(self, node: ir.Typed) -> Step:
        """Compute it for the first batch only."""
        step = self._inner(node)
        place = object()

        def once(batch: Batch) -> Value:
            def make() -> tuple[Value, int]:
                before = batch.work
                return _staying(step(batch)), batch.work - before

            value, work = batch.source.kept((place, batch.axes), make)
            batch.charge(-(-work // batch.turns))
            return value

        return once

    # --- parts that are kept ---

    def part(self, node: ir.Typed, step: Step | None = None, columns: Sequence[Part] = ()) -> Part:
        """Make a part that the interpreter can compute."""
        variables = tuple(sorted(self._facts(node).variables))
        paths = reads(node)
        return Part(
            plan_rows(node, variables, self._checked.slots, self._checked.source),
            node.type,
            self._signatures.setdefault(_signature(node), len(self._signatures)),
            Facts(path for path in paths if path.partition(".")[0] in _OUTSIDE),
            self._rows_read(variables, paths),
            step,
            tuple(columns),
        )

    def _rows_read(self, variables: Sequence[str], paths: frozenset[str]) -> frozenset[str]:
        """Give what is read of the row: all of it where it is named and not read."""
        found = frozenset(path for path in paths if path.partition(".")[0] == self._row)
        return found or frozenset({self._row} if self._row in variables else ())

    def _constant(self, node: ir.Typed) -> Step:
        part = self.part(node)

        def constant(batch: Batch) -> Value:
            value, work = batch.source.constant(part)
            batch.charge(work)
            return value

        return constant

    def _column(self, node: ir.Typed, facts: _Facts) -> Step:
        part = self._part_with_step(node) if facts.loops else self.part(node)
        self.columns.append(part)

        def column(batch: Batch) -> Value:
            value, work = batch.source.column(part, batch.rows)
            batch.charge(work)
            return value

        return column

    def _part_with_step(self, node: ir.Typed) -> Part:
        """Plan a column by itself, with the columns that it is made of."""
        around, self.columns = self.columns, []
        try:
            step = self._inner(node)
        except Unvectorised:
            return self.part(node)
        else:
            return self.part(node, step, self.columns)
        finally:
            self.columns = around

    # --- the kinds of nodes ---

    def _inner(self, node: ir.Typed) -> Step:
        match node:
            case ir.Constant():
                return self._constant(node)
            case ir.Variable(name=name):
                return self._variable(name)
            case ir.Local(slot=slot):
                return lambda batch: batch.slots[slot]
            case ir.LetRef():
                return self._let(node)
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
            case ir.Loop():
                return self._loop(node)
            case ir.Bind(slot=slot, init=init, body=body):
                return self._bind(slot, init, body)
            case ir.Fault() | ir.MakeMap() | ir.OptionalMap():
                raise Unvectorised(_FORMLESS[type(node)])
            case _:
                assert_never(node)

    def _variable(self, name: str) -> Step:
        if name in self._given:
            return lambda batch: batch.given[name]
        raise Unvectorised(f"`{name}` is passed on whole")

    def _let(self, node: ir.LetRef) -> Step:
        slot = -1 - node.slot  # apart from those of macros, which are set anew by every turn
        if slot not in self._lets:
            self._lets[slot] = self.plan(node.body)
        body = self._lets[slot]

        def let(batch: Batch) -> Value:
            found = batch.slots.get(slot)
            if found is None:
                axes, turns = batch.axes, batch.turns
                batch.axes, batch.turns = 1, 1
                found = batch.slots[slot] = body(batch)
                batch.axes, batch.turns = axes, turns
            return found

        return let

    def _bind(self, slot: int, init_node: ir.Typed, body_node: ir.Typed) -> Step:
        facts = self._facts(init_node)
        if self._row not in facts.variables and facts.locals <= self._even:
            self._even.add(slot)
        init, body = self.plan(init_node), self.plan(body_node)
        source = init_node.slot if isinstance(init_node, ir.Local) else None

        def bind(batch: Batch) -> Value:
            batch.slots[slot] = init(batch)
            batch.fields[slot] = None if source is None else batch.fields.get(source)
            return body(batch)

        return bind

    def _field(self, node: ir.Field) -> Step:
        name, kind = node.name, kind_of(node.type)
        if isinstance(node.operand, ir.Local) and not node.test and not node.optional:
            return self._field_of_element(node.operand.slot, node)
        operand = self.plan(node.operand)
        compute, result = _selection(node, name, kind)
        answers = Answers()
        return lambda batch: elementwise(compute, [_scalar(operand(batch))], result, answers)

    def _field_of_element(self, slot: int, node: ir.Field) -> Step:
        name, kind = node.name, kind_of(node.type)
        compute, result = _selection(node, name, kind)
        answers = Answers()

        def select(batch: Batch) -> Value:
            columns = batch.fields.get(slot)
            found: Vector | None = columns(name, kind) if columns is not None else None
            if found is not None:
                return found
            return elementwise(compute, [_scalar(batch.slots[slot])], result, answers)

        return select

    def _item(self, node: ir.Item) -> Step:
        operand, index = self.plan(node.operand), self.plan(node.index)
        kind = _ANY if node.optional else kind_of(node.type)
        compute = find_item if node.optional else index_value
        answers = Answers()

        def item(batch: Batch) -> Value:
            batch.charge(1)
            args = [_scalar(operand(batch)), _scalar(index(batch))]
            return elementwise(compute, args, kind, answers)

        return item

    def _apply(self, node: ir.Apply) -> Step:
        if node.name in ("or", "orValue") and node.overloads[0].id.startswith("optional_"):
            return self._or_value(node)
        args = [self.plan(arg) for arg in node.args]
        types = tuple(arg.type for arg in node.args)
        settled = is_settled(node.overloads, types)
        general = _general(node, settled)
        if settled is None:
            return lambda batch: general(batch, [_scalar(arg(batch)) for arg in args])
        id_ = node.overloads[0].id
        native = _NATIVE.get(id_)

        def call(batch: Batch) -> Value:
            values = [arg(batch) for arg in args]
            if native is not None:
                found = native(batch, values)
                if found is not None:
                    return found
            return general(batch, [_scalar(value) for value in values])

        return call

    def _or_value(self, node: ir.Apply) -> Step:
        """Plan `orValue`, which needs its argument only where there is no value."""
        first, other = node.args
        if node.name == "or":
            raise Unvectorised("an alternative is needed only where there is no value")
        instead, kind = self.plan(other), kind_of(node.type)
        if isinstance(first, ir.OptionalMap) and not first.flat and self.is_constant(first.target):
            return self._mapped_or(first, instead)
        optional, answers = self.plan(first), Answers()

        def choose(batch: Batch) -> Value:
            alternative = _scalar(instead(batch))
            if alternative.error is not None:
                raise Unvectorised("an alternative that fails where it may not be needed")
            return elementwise(_present, [_scalar(optional(batch)), alternative], kind, answers)

        return choose

    def _mapped_or(self, node: ir.OptionalMap, instead: Step) -> Step:
        """Plan `constant.optMap(x, body).orValue(other)`: one of the two is computed."""
        slot, inner = node.slot, node.target.type.params
        self._even.add(slot)
        target, body = self.plan(node.target), self.plan(node.body)

        def choose(batch: Batch) -> Value:
            found = to_values(_scalar(target(batch)), ())[0]
            if found.__class__ is not Optional:
                raise Unvectorised("no optional, or none that can be computed")
            if not found.present:
                return instead(batch)
            batch.slots[slot] = constant(found.value, inner[0] if inner else DYN)
            batch.fields[slot] = None
            return body(batch)

        return choose

    def _junction(self, node: ir.Junction) -> Step:
        parts = [self.plan(operand) for operand in node.operands]
        deciding = not node.conjunction

        def junction(batch: Batch) -> Value:
            values = []
            for part in parts:
                value = _bool(part(batch))
                if not value.axes and value.error is None and bool(value.data) is deciding:
                    return value
                values.append(value)
            return lists.joined(values, deciding=deciding)

        return junction

    def _choice(self, node: ir.Choice) -> Step:
        condition = self.plan(node.condition)
        then, otherwise = self.plan(node.then), self.plan(node.otherwise)

        def choose(batch: Batch) -> Value:
            test = _bool(condition(batch))
            if not test.axes and test.error is None:
                return then(batch) if test.data else otherwise(batch)
            return lists.chosen(test, _scalar(then(batch)), _scalar(otherwise(batch)))

        return choose

    def _list(self, node: ir.MakeList) -> Step:
        if node.optional:
            raise Unvectorised("elements that may be absent")
        parts = [self.plan(element) for element in node.elements]
        return lambda batch: lists.stacked([_scalar(part(batch)) for part in parts])

    def _loop(self, node: ir.Loop) -> Step:
        if node.kind in ("map", "entries"):
            raise Unvectorised("maps are not made over arrays")
        if node.range.type.kind not in (TypeKind.LIST, TypeKind.MAP):
            raise Unvectorised("what a macro goes over is not known")
        return _Loop(self, node).run

    # --- what a node depends on ---

    def is_constant(self, node: ir.Typed) -> bool:
        """Say whether it depends on neither the row nor what is around it."""
        facts = self._facts(node)
        return not facts.locals and facts.variables.isdisjoint({self._row, *self._given})

    def even(self, slots: Sequence[int]) -> None:
        """Note that the variables of a macro go over a constant."""
        self._even.update(slots)

    def _facts(self, node: ir.Typed) -> _Facts:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = self._find_facts(node)
        return known

    def _find_facts(self, node: ir.Typed) -> _Facts:
        if isinstance(node, ir.Variable):
            return _Facts(frozenset({node.name}), frozenset(), loops=False)
        if isinstance(node, ir.Local):
            return _Facts(frozenset(), frozenset({node.slot}), loops=False)
        inner = [self._facts(part) for part in ir.operands(node)]
        variables = frozenset().union(*(facts.variables for facts in inner))
        free = frozenset().union(*(facts.locals for facts in inner))
        loops = isinstance(node, ir.Loop) or any(facts.loops for facts in inner)
        return _Facts(variables, free - frozenset(_bound_slots(node)), loops)


_OF_THE_POD: Final = frozenset({"pod", "namespace", "device", "victim", "tenant", "feasible"})
"""Variables that differ from pod to pod: what reads them is no column of a node."""

_OUTSIDE: Final = frozenset({*_OF_THE_POD, "cluster", "now"})
"""Variables whose values are facts of a decision; the others are the rule set's own."""


def has_loops(node: ir.Typed) -> bool:
    """Say whether there is a macro in it."""
    return isinstance(node, ir.Loop) or any(map(has_loops, ir.operands(node)))


def _can_be_kept(type_: Type, facts: _Facts) -> bool:
    """Say whether a store holds such values: lists that macros make are no column."""
    return not facts.loops or type_.kind not in (TypeKind.LIST, TypeKind.MAP)


_FORMLESS: Final[Mapping[type, str]] = {
    ir.Fault: "what cannot be resolved is an error of each node",
    ir.MakeMap: "a map that depends on the node is not made over arrays",
    ir.OptionalMap: "an optional that depends on the node is not mapped over arrays",
}


def _bound_slots(node: ir.Typed) -> Sequence[int]:
    match node:
        case ir.Loop(slots=slots):
            return slots
        case ir.Bind(slot=slot) | ir.OptionalMap(slot=slot):
            return (slot,)
        case _:
            return ()


def _signature(node: Any) -> Key:
    """Give what is equal for trees of one meaning: everything but the places in the text."""
    if isinstance(node, ir.Typed):
        parts = [_signature(getattr(node, f.name)) for f in fields(node) if f.name not in _PLACES]
        return (type(node).__name__, *parts)
    if isinstance(node, tuple):
        return tuple(map(_signature, node))
    if isinstance(node, str | int | frozenset | Type) or node is None:
        return (type(node).__name__, node)
    overload = getattr(node, "id", None)
    return overload if isinstance(overload, str) else frozen(node)


_PLACES: Final = frozenset({"span"})


def _selection(node: ir.Field, name: str, kind: Kind) -> tuple[Callable[[Any], Any], Kind]:
    """Give how a field of one value is fetched, and the kind of the result."""
    if node.test:
        return (lambda value: has_field(value, name)), Kind.BOOL
    if node.optional:
        return (lambda value: find_field(value, name)), _ANY
    return (lambda value: select_field(value, name)), kind


# --- values of steps as what is needed ---


def _scalar(value: Value) -> Vector:
    if isinstance(value, ListVector):
        return lists.whole(value)
    return value


def _present(optional: Any, other: Any) -> Any:
    if optional.__class__ is not Optional:
        raise Unvectorised("no optional")
    return optional.value if optional.present else other


def _bool(value: Value) -> Vector:
    if isinstance(value, ListVector) or value.kind is not Kind.BOOL:
        raise Unvectorised("a condition that is no bool")
    return value


# --- calls ---

_General = Callable[[Batch, Sequence[Vector]], Vector]


def _general(node: ir.Apply, settled: Callable[..., Any] | None) -> _General:
    """Call the function itself, for each combination of values that occurs."""
    kind, answers = kind_of(node.type), Answers()
    costs = any(overload.cost is not None for overload in node.overloads)
    dispatcher = Dispatcher(node.name, node.overloads)
    most = 0  # the highest cost of all calls so far: answers that are kept have cost it too

    def compute(*values: Any) -> Any:
        nonlocal most
        if settled is not None and not costs:
            return settled(*values)
        overload = node.overloads[0] if settled is not None else dispatcher.choose(values)
        if overload.cost is not None:
            most = max(most, overload.cost(*values))
        return overload.implementation(*values)

    def call(batch: Batch, args: Sequence[Vector]) -> Vector:
        found = elementwise(compute, args, kind, answers)
        if most:
            batch.charge(most)
        return found

    return call


_Native = Callable[[Batch, Sequence[Value]], Vector | None]


def _numeric(kernel: numeric.Kernel) -> _Native:
    def native(_: Batch, args: Sequence[Value]) -> Vector | None:
        vectors = [arg for arg in args if isinstance(arg, Vector) and arg.kind is not _ANY]
        return kernel(*vectors) if len(vectors) == len(args) else None

    return native


def _equality(*, negated: bool) -> _Native:
    def native(_: Batch, args: Sequence[Value]) -> Vector | None:
        left, right = args
        if isinstance(left, ListVector) or isinstance(right, ListVector):
            return None
        found = numeric.equal(left, right)
        return numeric.logical_not(found) if found is not None and negated else found

    return native


def _of_list(compute: Callable[[ListVector], Vector]) -> _Native:
    def native(batch: Batch, args: Sequence[Value]) -> Vector | None:
        (items,) = args
        if not isinstance(items, ListVector):
            return None
        batch.charge(items.size)
        return compute(items)

    return native


def _membership(batch: Batch, args: Sequence[Value]) -> Vector | None:
    value, items = args
    if not isinstance(items, ListVector) or isinstance(value, ListVector):
        return None
    batch.charge(2 * items.size)
    return lists.contains(value, items) if value.kind is not _ANY else None


def _natives() -> Iterator[tuple[str, _Native]]:
    for id_, kernel in numeric.KERNELS.items():
        yield id_, _numeric(kernel)
    yield "equals", _equality(negated=False)
    yield "not_equals", _equality(negated=True)
    yield "size_list", _of_list(lists.size)
    yield "list_size", _of_list(lists.size)
    yield "in_list", _membership
    for kind in ("int", "double", "quantity"):
        yield f"list_{kind}_sum_{kind}", _of_list(lists.summed)
        yield f"list_{kind}_min_{kind}", _of_list(lambda it: lists.extreme(it, least=True))
        yield f"list_{kind}_max_{kind}", _of_list(lambda it: lists.extreme(it, least=False))


_NATIVE: Final[Mapping[str, _Native]] = dict(_natives())


# --- macros ---


def _staying(value: Value) -> Value:
    """Give a value whose domain stays, so that what is made of it can be kept too."""
    if isinstance(value, Vector) and value.kind is _ANY:
        domain = Domain(value.domain)
        return Vector(value.kind, value.data, value.error, value.scale, domain)
    return value


class _Loop:
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
        batch.axes, batch.turns = axes + 1, turns * max(1, items.size)
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
            return self._entries(_scalar(found), batch)
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
            items = lists.filtered(items, _bool(self._keep(batch)))
        if self._body is None:
            return items
        body = self._body(batch)
        match self._kind:
            case "all" | "exists":
                return lists.quantified(items, _bool(body), deciding=self._kind == "exists")
            case "exists_one":
                return lists.counted_once(items, _bool(body))
            case _:
                return lists.collected(items, _scalar(body))
