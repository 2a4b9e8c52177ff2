"""Fields and items: `a.b`, `a.?b`, `has(a.b)`, `a[b]`, `a[?b]`."""

from typing import Any, Final

from policyd.language import typed as ir
from policyd.language.check import Check
from policyd.language.declarations import Field
from policyd.language.deriving import derived_field
from policyd.language.diagnostics import Edit
from policyd.language.resolving import qualified_name
from policyd.language.suggest import (
    hint_for_field,
)
from policyd.language.syntax import (
    Index,
    Literal,
    Select,
)
from policyd.language.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    Kind,
    Type,
    optional_of,
)

_ESCAPES: Final = (
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
)


def check_select(check: Check, expr: Select) -> ir.Typed:
    """Check `a.b` and `a.?b`."""
    if not expr.optional and not expr.quoted:
        qualified = qualified_name(check, expr)
        if qualified is not None:
            return qualified
    return select(check, check.check(expr.operand), expr)


def select(check: Check, operand: ir.Typed, expr: Select, *, test: bool = False) -> ir.Typed:
    """Check a selection on a checked operand; `test` is for `has()`."""
    if expr.quoted:
        check.not_portable("Kubernetes does not have quoted field names", expr.name_span)
    base = check.type_of(operand)
    wrapped = base.kind is Kind.OPTIONAL
    inner = base.params[0] if wrapped else base
    if inner.kind is Kind.NULLABLE:
        inner = inner.params[0]
    name, field = _field(check, inner, expr)
    optional = wrapped or expr.optional
    if field.derived is not None:
        return derived_field(check, operand, name, field, expr.span, optional=optional, test=test)
    type_, native = field.type, field.native
    if test:
        return ir.Field(operand, name, BOOL, expr.span, wrapped, test=True, native=native)
    result = optional_of(type_) if optional and type_.kind is not Kind.OPTIONAL else type_
    return ir.Field(operand, name, result, expr.span, optional, test=False, native=native)


def _field(check: Check, base: Type, expr: Select) -> tuple[str, Field]:
    """Give the field's name in the object, and what is known of it."""
    if not check.typed:
        return expr.name, _unknown(check, expr.name)
    match base.kind:
        case Kind.MAP:
            return expr.name, Field(base.params[1])
        case Kind.OBJECT:
            return _object_field(check, base, expr)
        case Kind.ERROR:
            return expr.name, Field(base)
        case Kind.DYN | Kind.VAR:
            check.types.assignable((base,), (DYN,))
            return expr.name, _unknown(check, expr.name)
        case _:
            _no_fields(check, base, expr)
            return expr.name, Field(ERROR)


def _unknown(check: Check, name: str) -> Field:
    """Give what is known of a field of an object whose type is not known."""
    derived = check.env.derived.get(name)
    known = derived is not None and derived.variable in check.env.variables
    return Field(DYN, derived=derived if known else None)


def _object_field(check: Check, base: Type, expr: Select) -> tuple[str, Field]:
    declared = check.env.objects[base.name].fields
    for name in (expr.name, _unescape(expr.name)):
        found: Field | None = declared.get(name)
        if found is not None:
            return name, found
    hint = hint_for_field(expr.name)
    near = None if hint else check.near(expr.name, lambda: list(declared))
    check.report(
        "E203",
        f"{_noun(base.name)} has no field `{expr.name}`",
        expr.name_span,
        label=f"did you mean `{near}`?" if near else "",
        helps=(hint,) if hint else () if near else (f"its fields are {_listed(declared)}",),
        edit=Edit(expr.name_span, near) if near else None,
    )
    return expr.name, Field(ERROR)


def _no_fields(check: Check, base: Type, expr: Select) -> None:
    final = check.types.final(base)
    function = check.env.function_table.get(expr.name)
    hint = hint_for_field(expr.name)
    helps = (f"`{expr.name}` is a function: call it with `()`",) if function else ()
    helps = (hint,) if hint and not function else helps
    check.report("E216", f"{final} has no fields, so no `{expr.name}`", expr.name_span, helps=helps)


def check_index(check: Check, expr: Index) -> ir.Typed:
    """Check `a[b]` and `a[?b]`."""
    operand, index = check.check(expr.operand), check.check(expr.index)
    base = check.type_of(operand)
    wrapped = base.kind is Kind.OPTIONAL
    inner = base.params[0] if wrapped else base
    optional = wrapped or expr.optional
    type_ = _item(check, inner, operand, index, expr)
    if optional and type_.kind is not Kind.OPTIONAL:
        type_ = optional_of(type_)
    return ir.Item(operand, index, type_, expr.span, optional)


def _item(check: Check, base: Type, operand: ir.Typed, index: ir.Typed, expr: Index) -> Type:
    if not check.typed:
        return DYN
    if base.kind is Kind.NULLABLE:
        base = base.params[0]
    match base.kind:
        case Kind.LIST:
            wanted, result = INT, base.params[0]
        case Kind.MAP:
            wanted, result = base.params
        case Kind.ERROR:
            return base
        case Kind.DYN | Kind.VAR:
            check.types.assignable((base,), (DYN,))
            return DYN
        case _:
            _not_indexable(check, base, operand, expr)
            return ERROR
    if not check.types.assignable((index.type,), (wanted,), lenient=True):
        what = "list" if base.kind is Kind.LIST else "map"
        check.report(
            "E204",
            f"this {what} is indexed by {check.types.final(wanted)}, not {check.final(index)}",
            index.span,
        )
    return result


def _not_indexable(check: Check, base: Type, operand: ir.Typed, expr: Index) -> None:
    name = expr.index.value if isinstance(expr.index, Literal) else None
    helps: tuple[str, ...] = ()
    if base.kind is Kind.OBJECT and isinstance(name, str):
        helps = (f"select the field: `{check.source.slice(operand.span)}.{name}`",)
    check.report(
        "E216", f"{check.types.final(base)} cannot be indexed with `[ ]`", expr.span, helps=helps
    )


def _unescape(name: str) -> str:
    """Give the API's name for a field as Kubernetes' CEL escapes it: `__namespace__`."""
    for escaped, plain in _ESCAPES:
        name = name.replace(escaped, plain)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return name[2:-2]
    return name


def _noun(object_name: str) -> str:
    return object_name.lower() if "." not in object_name else object_name.partition(".")[2]


def _listed(names: Any) -> str:
    shown = sorted(names)
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
