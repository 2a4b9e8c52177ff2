"""Derived fields: written out, as what they are derived from, when an expression is checked.

`node.age`, declared as `now - created`, becomes `node.created == null ? null : now -
node.created`. So nothing after the checker knows of them: evaluation, the analysis of what is
read, and whatever is faster than the interpreter see two fields and an operator. Only where the
type of the object is not known does a function find out at evaluation.
"""

from collections.abc import Callable
from typing import Any

from policyd.language import typed as ir
from policyd.language.access import find_field, has_field, select_field, wrapped
from policyd.language.check import Check
from policyd.language.declarations import Derived, Field, Function, Overload
from policyd.language.dispatch import Dispatcher
from policyd.language.overloads import apply
from policyd.language.source import Span
from policyd.language.types import BOOL, DYN, NULL, Kind, Type, optional_of
from policyd.values.optional import NONE, Optional

_Find = Callable[[Any, Any], Any]
"""Takes an object and the variable's value, and gives what is derived."""


def derived_field(
    check: Check,
    operand: ir.Typed,
    name: str,
    field: Field,
    span: Span,
    *,
    optional: bool,
    test: bool,
) -> ir.Typed:
    """Check a selection of a derived field on a checked operand; `test` is for `has()`."""
    derived = field.derived
    assert derived is not None  # noqa: S101 - the caller has seen it
    variable = check.env.variables.get(derived.variable)
    if variable is None:
        _unavailable(check, name, derived, span)
        return check.error(span)
    if check.type_of(operand).kind is not Kind.OBJECT:
        return _looked_up(check, operand, name, field, span, optional=optional, test=test)
    if test:
        return ir.Field(operand, derived.field, BOOL, span, test=True, native=True)
    if isinstance(operand, ir.Variable | ir.Local):
        return _written_out(check, operand, field, span, optional=optional)
    slot = check.slot()
    check.hold(slot, operand)
    local = ir.Local(name, slot, operand.type, operand.span)
    body = _written_out(check, local, field, span, optional=optional)
    return ir.Bind(slot, operand, body, body.type, span)


def _unavailable(check: Check, name: str, derived: Derived, span: Span) -> None:
    """Report a field whose variable this clause cannot read."""
    why = check.env.unavailable.get(derived.variable, f"there is no `{derived.variable}` here")
    check.report("E217", f"`{name}` is derived from `{derived.variable}`: {why}", span)


def _variable(check: Check, derived: Derived, span: Span) -> ir.Variable:
    check.variables.add(derived.variable)
    type_ = check.env.variables[derived.variable]
    return ir.Variable(derived.variable, type_ if check.typed else DYN, span)


# --- where the object's type is known ---


def _written_out(
    check: Check, operand: ir.Typed, field: Field, span: Span, *, optional: bool
) -> ir.Typed:
    derived = field.derived
    assert derived is not None  # noqa: S101 - the caller has seen it
    source = check.env.objects[check.type_of(operand).name].fields[derived.field].type
    present = source.params[0] if source.kind is Kind.NULLABLE else source

    def select(type_: Type) -> ir.Field:
        return ir.Field(operand, derived.field, type_, span, native=True)

    null = ir.Constant(None, NULL, span)
    absent = _equality(check, select(source), null, span)
    given = (_variable(check, derived, span), select(present))
    value = apply(check, f"_{derived.operator}_", derived.operator, given, span, span)
    if not optional:
        return ir.Choice(absent, null, value, field.type, span)
    made = apply(check, "optional.of", "optional.of", (value,), span, span)
    return ir.Choice(absent, ir.Constant(NONE, made.type, span), made, made.type, span)


def _equality(check: Check, left: ir.Typed, right: ir.Typed, span: Span) -> ir.Typed:
    """Compare by CEL's own equality, which takes two values of any type."""
    function: Function = check.env.function_table["_==_"]
    return ir.Apply("==", (function.overloads[0],), (left, right), BOOL, span)


# --- where it is not ---


def _looked_up(
    check: Check,
    operand: ir.Typed,
    name: str,
    field: Field,
    span: Span,
    *,
    optional: bool,
    test: bool,
) -> ir.Typed:
    """Give a call of a function that finds the field in the value that is there."""
    derived = field.derived
    assert derived is not None  # noqa: S101 - the caller has seen it
    if test:
        find, type_ = _tester(name, derived), BOOL
    elif optional:
        inner = field.type.params[0] if field.type.kind is Kind.NULLABLE else field.type
        find, type_ = _finder(name, derived, _operation(check, derived)), optional_of(inner)
    else:
        find, type_ = _selector(name, derived, _operation(check, derived)), field.type
    if not check.typed:
        type_ = DYN
    args = (operand, _variable(check, derived, span))
    return ir.Apply(
        name, (Overload(f"derived_{name}", (DYN, DYN), type_, find),), args, type_, span
    )


def _operation(check: Check, derived: Derived) -> _Find:
    """Give the operator as a function of the field's value and the variable's."""
    overloads = check.env.function_table[f"_{derived.operator}_"].overloads
    dispatcher = Dispatcher(derived.operator, overloads)

    def compute(source: Any, given: Any) -> Any:
        return dispatcher.choose((given, source)).implementation(given, source)

    return compute


def _derives(value: Any, name: str) -> bool:
    return name in getattr(value.__class__, "DERIVED", ())


def _selector(name: str, derived: Derived, compute: _Find) -> _Find:
    def select(value: Any, given: Any) -> Any:
        if value.__class__ is Optional:
            return find(value, given)
        if not _derives(value, name):
            return select_field(value, name)
        source = getattr(value, derived.field)
        return None if source is None else compute(source, given)

    find = _finder(name, derived, compute)
    return select


def _finder(name: str, derived: Derived, compute: _Find) -> _Find:
    def find(value: Any, given: Any) -> Any:
        if value.__class__ is Optional:
            return find(value.value, given) if value.present else NONE
        if not _derives(value, name):
            return find_field(value, name)
        source = getattr(value, derived.field)
        return NONE if source is None else wrapped(compute(source, given))

    return find


def _tester(name: str, derived: Derived) -> _Find:
    def test(value: Any, given: Any) -> bool:
        if value.__class__ is Optional:
            return value.present and test(value.value, given)
        if not _derives(value, name):
            return has_field(value, name)
        return getattr(value, derived.field) is not None

    return test
