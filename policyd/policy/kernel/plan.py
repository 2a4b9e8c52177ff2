"""Turns a checked tree into steps over vectors.

What does not read the row is a constant, computed once for a key of facts. What reads nothing
else than the row is a column, kept for all pods. The rest is computed where it is asked for. A
part is left to the interpreter where it is cheap there (a column without a macro), and the whole
expression where some part has no form over arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, assert_never

from policyd.language import typed as ir
from policyd.language.access import find_field, find_item, has_field, index_value, select_field
from policyd.language.checked import Checked
from policyd.language.dispatch import is_settled
from policyd.language.interpreter import plan as plan_rows
from policyd.language.reads import reads
from policyd.language.types import DYN, Type
from policyd.language.types import Kind as TypeKind
from policyd.policy.kernel import lists
from policyd.policy.kernel.batch import Batch, Part, Step, condition, scalar
from policyd.policy.kernel.calls import NATIVE, general
from policyd.policy.kernel.keys import Facts, Key, frozen
from policyd.policy.kernel.macros import Macro
from policyd.policy.kernel.vector import (
    Answers,
    Domain,
    Kind,
    Unvectorised,
    Value,
    Vector,
    constant,
    elementwise,
    kind_of,
    to_values,
)
from policyd.values.optional import Optional

_ANY: Final = Kind.ANY


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
        return lambda batch: elementwise(compute, [scalar(operand(batch))], result, answers)

    def _field_of_element(self, slot: int, node: ir.Field) -> Step:
        name, kind = node.name, kind_of(node.type)
        compute, result = _selection(node, name, kind)
        answers = Answers()

        def select(batch: Batch) -> Value:
            columns = batch.fields.get(slot)
            found: Vector | None = columns(name, kind) if columns is not None else None
            if found is not None:
                return found
            return elementwise(compute, [scalar(batch.slots[slot])], result, answers)

        return select

    def _item(self, node: ir.Item) -> Step:
        operand, index = self.plan(node.operand), self.plan(node.index)
        kind = _ANY if node.optional else kind_of(node.type)
        compute = find_item if node.optional else index_value
        answers = Answers()

        def item(batch: Batch) -> Value:
            batch.charge(1)
            args = [scalar(operand(batch)), scalar(index(batch))]
            return elementwise(compute, args, kind, answers)

        return item

    def _apply(self, node: ir.Apply) -> Step:
        if node.name in ("or", "orValue") and node.overloads[0].id.startswith("optional_"):
            return self._or_value(node)
        args = [self.plan(arg) for arg in node.args]
        types = tuple(arg.type for arg in node.args)
        settled = is_settled(node.overloads, types)
        by_values = general(node, settled)
        if settled is None:
            return lambda batch: by_values(batch, [scalar(arg(batch)) for arg in args])
        id_ = node.overloads[0].id
        native = NATIVE.get(id_)

        def call(batch: Batch) -> Value:
            values = [arg(batch) for arg in args]
            if native is not None:
                found = native(batch, values)
                if found is not None:
                    return found
            return by_values(batch, [scalar(value) for value in values])

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
            alternative = scalar(instead(batch))
            if alternative.error is not None:
                raise Unvectorised("an alternative that fails where it may not be needed")
            return elementwise(_present, [scalar(optional(batch)), alternative], kind, answers)

        return choose

    def _mapped_or(self, node: ir.OptionalMap, instead: Step) -> Step:
        """Plan `constant.optMap(x, body).orValue(other)`: one of the two is computed."""
        slot, inner = node.slot, node.target.type.params
        self._even.add(slot)
        target, body = self.plan(node.target), self.plan(node.body)

        def choose(batch: Batch) -> Value:
            found = to_values(scalar(target(batch)), ())[0]
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
                value = condition(part(batch))
                if not value.axes and value.error is None and bool(value.data) is deciding:
                    return value
                values.append(value)
            return lists.joined(values, deciding=deciding)

        return junction

    def _choice(self, node: ir.Choice) -> Step:
        tested = self.plan(node.condition)
        then, otherwise = self.plan(node.then), self.plan(node.otherwise)

        def choose(batch: Batch) -> Value:
            test = condition(tested(batch))
            if not test.axes and test.error is None:
                return then(batch) if test.data else otherwise(batch)
            return lists.chosen(test, scalar(then(batch)), scalar(otherwise(batch)))

        return choose

    def _list(self, node: ir.MakeList) -> Step:
        if node.optional:
            raise Unvectorised("elements that may be absent")
        parts = [self.plan(element) for element in node.elements]
        return lambda batch: lists.stacked([scalar(part(batch)) for part in parts])

    def _loop(self, node: ir.Loop) -> Step:
        if node.kind in ("map", "entries"):
            raise Unvectorised("maps are not made over arrays")
        if node.range.type.kind not in (TypeKind.LIST, TypeKind.MAP):
            raise Unvectorised("what a macro goes over is not known")
        return Macro(self, node).run

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


def _present(optional: Any, other: Any) -> Any:
    if optional.__class__ is not Optional:
        raise Unvectorised("no optional")
    return optional.value if optional.present else other


def _staying(value: Value) -> Value:
    """Give a value whose domain stays, so that what is made of it can be kept too."""
    if isinstance(value, Vector) and value.kind is _ANY:
        domain = Domain(value.domain)
        return Vector(value.kind, value.data, value.error, value.scale, domain)
    return value
