"""The macros: calls whose arguments are not values but pieces of text to evaluate by turns.

Each takes the checker and the call and gives the checked node, or nothing where the call is none
of the macro after all (another number of arguments, say) and a function of that name may fit.
https://github.com/google/cel-spec/blob/master/doc/langdef.md#macros
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from policyd.language import typed as ir
from policyd.language.overloads import apply
from policyd.language.selecting import select
from policyd.language.syntax import Call, Expr, ListOf, Literal, MapOf, Name, Select, unwrap
from policyd.language.types import (
    BOOL,
    DYN,
    INT,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
)

if TYPE_CHECKING:
    from policyd.language.check import Check

Macro = Callable[["Check", Call], "ir.Typed | None"]


def _variable(check: Check, expr: Expr) -> str | None:
    """Give the name that a macro's variable argument declares."""
    inner = unwrap(expr)
    if isinstance(inner, Name) and not inner.root and inner is expr:
        return inner.name
    if isinstance(inner, Call) and _is_cel(inner, "iterVar"):
        return _numbered(inner, "@it")
    check.report(
        "E214",
        "a macro's variable must be a plain name",
        expr.span,
        helps=("write `items.all(item, item > 0)`",),
    )
    return None


def _is_cel(call: Call, name: str) -> bool:
    return call.name == name and isinstance(call.target, Name) and call.target.name == "cel"


def _numbered(call: Call, prefix: str) -> str:
    parts = [str(a.value) for a in call.args if isinstance(a, Literal)]
    return ":".join([prefix, *parts])


def _element_types(check: Check, range_: ir.Typed, count: int) -> tuple[Type, ...] | None:
    """Give the types of one or two variables over a range."""
    type_ = check.type_of(range_)
    if type_.kind is Kind.NULLABLE:
        type_ = type_.params[0]
    match type_.kind:
        case Kind.LIST:
            return (type_.params[0],) if count == 1 else (INT, type_.params[0])
        case Kind.MAP:
            return type_.params[:1] if count == 1 else type_.params
        case Kind.DYN | Kind.ERROR:
            return (DYN,) * count
        case Kind.VAR:
            check.types.assignable((type_,), (DYN,))
            return (DYN,) * count
        case _:
            message = f"a macro goes over a list or a map, not {check.final(range_)}"
            check.report("E214", message, range_.span)
            return None


def _loop_scope(
    check: Check, call: Call, names: tuple[Expr, ...]
) -> tuple[ir.Typed, tuple[ir.Local, ...]] | None:
    """Check a macro's range and make its variables."""
    assert call.target is not None  # noqa: S101 - macros of this kind are methods
    range_ = check.check(call.target)
    variables = [_variable(check, name) for name in names]
    types = _element_types(check, range_, len(names))
    if types is None or None in variables:
        return None
    if len(variables) == 2 and variables[0] == variables[1]:
        check.report("E214", "the two variables of a macro need two names", names[1].span)
        return None
    locals_ = tuple(
        check.local(variable or "", type_, name.span)
        for variable, type_, name in zip(variables, types, names, strict=True)
    )
    return range_, locals_


def _scope_of(locals_: tuple[ir.Local, ...]) -> dict[str, ir.Typed]:
    return {local.name: local for local in locals_}


def _slots(locals_: tuple[ir.Local, ...]) -> tuple[int, ...]:
    return tuple(local.slot for local in locals_)


def _quantifier(kind: str) -> Macro:
    def expand(check: Check, call: Call) -> ir.Typed | None:
        if len(call.args) not in (2, 3):
            return None
        if call.name == "existsOne" and len(call.args) == 2:
            check.not_portable("Kubernetes calls this `exists_one`", call.name_span)
        made = _loop_scope(check, call, call.args[:-1])
        if made is None:
            return check.error(call.span)
        range_, locals_ = made
        with check.scope(_scope_of(locals_)):
            body = check.check(call.args[-1])
        check.require(body, BOOL, f"the condition of `{call.name}`")
        return ir.Loop(kind, range_, _slots(locals_), None, body, BOOL, call.span)

    return expand


def _filter(check: Check, call: Call) -> ir.Typed | None:
    if len(call.args) != 2:
        return None
    made = _loop_scope(check, call, call.args[:1])
    if made is None:
        return check.error(call.span)
    range_, locals_ = made
    with check.scope(_scope_of(locals_)):
        keep = check.check(call.args[1])
    check.require(keep, BOOL, "the condition of `filter`")
    type_ = list_of(locals_[0].type)
    return ir.Loop("list", range_, _slots(locals_), keep, None, type_, call.span)


def _mapping(kind: str, variables: int) -> Macro:
    def expand(check: Check, call: Call) -> ir.Typed | None:
        if len(call.args) not in (variables + 1, variables + 2):
            return None
        made = _loop_scope(check, call, call.args[:variables])
        if made is None:
            return check.error(call.span)
        range_, locals_ = made
        with check.scope(_scope_of(locals_)):
            conditions = call.args[variables:-1]
            keep = check.check(conditions[0]) if conditions else None
            body = check.check(call.args[-1])
        if keep is not None:
            check.require(keep, BOOL, f"the condition of `{call.name}`")
        type_ = _mapped_type(check, kind, range_, body)
        return ir.Loop(kind, range_, _slots(locals_), keep, body, type_, call.span)

    return expand


def _mapped_type(check: Check, kind: str, range_: ir.Typed, body: ir.Typed) -> Type:
    if kind == "list":
        return list_of(body.type)
    if kind == "map":
        base = check.type_of(range_)
        key = {Kind.MAP: base.params[0] if base.params else DYN, Kind.LIST: INT}
        return map_of(key.get(base.kind, DYN), body.type)
    final = check.type_of(body)
    return final if final.kind is Kind.MAP else map_of(DYN, DYN)


def _entries(check: Check, call: Call) -> ir.Typed | None:
    if len(call.args) not in (3, 4):
        return None
    result = unwrap(call.args[-1])
    if isinstance(result, MapOf) and len(result.entries) > 1:
        check.report("E214", "`transformMapEntry` makes one entry for each element", result.span)
        return check.error(call.span)
    expanded = _mapping("entries", 2)(check, call)
    if isinstance(expanded, ir.Loop) and expanded.body is not None:
        check.require(expanded.body, map_of(DYN, DYN), "the result of `transformMapEntry`")
    return expanded


def _has(check: Check, call: Call) -> ir.Typed | None:
    if len(call.args) != 1:
        check.report("E212", "`has` takes 1 argument", call.name_span)
        return check.error(call.span)
    field = unwrap(call.args[0])
    if isinstance(field, Select) and not field.optional:
        return select(check, check.check(field.operand), field, test=True)
    check.report(
        "E214",
        "`has` takes a field selection such as `pod.spec.nodeName`",
        call.args[0].span,
        helps=('ask whether a map has a key with `"key" in map`',),
    )
    return check.error(call.span)


def _optional_map(*, flat: bool) -> Macro:
    def expand(check: Check, call: Call) -> ir.Typed | None:
        if len(call.args) != 2 or call.target is None:
            return None
        target = check.check(call.target)
        name = _variable(check, call.args[0])
        type_ = check.type_of(target)
        known = type_.kind in (Kind.DYN, Kind.ERROR, Kind.VAR)
        if name is None or not (known or type_.kind is Kind.OPTIONAL):
            if name is not None:
                message = f"`{call.name}` is of optional values, not of {check.final(target)}"
                check.report("E214", message, call.name_span)
            return check.error(call.span)
        inner = type_.params[0] if type_.kind is Kind.OPTIONAL else DYN
        local = check.local(name, inner, call.args[0].span)
        with check.scope({name: local}):
            body = check.check(call.args[1])
        if flat:
            check.require(body, optional_of(DYN), "the result of `optFlatMap`")
        result = optional_of(body.type)
        if flat:  # `optional.none()` where the target has no value, whatever the body gives
            none = optional_of(check.types.fresh())
            result = check.types.join(body.type, none) or body.type
        return ir.OptionalMap(target, local.slot, body, flat, result, call.span)

    return expand


def _bind(check: Check, call: Call) -> ir.Typed | None:
    if len(call.args) != 3:
        check.report("E212", "`cel.bind` takes a name, a value and an expression", call.name_span)
        return check.error(call.span)
    name = _variable(check, call.args[0])
    init = check.check(call.args[1])
    local = check.local(name or "", init.type, call.args[0].span)
    check.hold(local.slot, init)
    with check.scope({name: local} if name else {}):
        body = check.check(call.args[2])
    return ir.Bind(local.slot, init, body, body.type, call.span)


def _block(check: Check, call: Call) -> ir.Typed | None:
    """Expand `cel.block([a, b], body)`, where `cel.index(n)` is the n-th of the list."""
    if len(call.args) != 2 or not isinstance(call.args[0], ListOf):
        check.report("E214", "`cel.block` takes a list and an expression", call.name_span)
        return check.error(call.span)
    if not check.may_nest(len(call.args[0].elements), call.span):
        return check.error(call.span)
    scope: dict[str, ir.Typed] = {}
    bound: list[tuple[ir.Local, ir.Typed]] = []
    with check.scope(scope), check.deeper(len(call.args[0].elements)):
        for at, element in enumerate(call.args[0].elements):
            init = check.check(element.value)
            local = check.local(f"@index:{at}", init.type, element.value.span)
            check.hold(local.slot, init)
            scope[local.name] = local
            bound.append((local, init))
        body = check.check(call.args[1])
    for local, init in reversed(bound):
        body = ir.Bind(local.slot, init, body, body.type, call.span)
    return body


def _reference(prefix: str) -> Macro:
    def expand(check: Check, call: Call) -> ir.Typed | None:
        return check.check(Name(_numbered(call, prefix), span=call.span))

    return expand


def _sort_by(check: Check, call: Call) -> ir.Typed | None:
    """Expand `list.sortBy(x, key)` to the list and the list of its keys."""
    if len(call.args) != 2:
        return None
    made = _loop_scope(check, call, call.args[:1])
    if made is None:
        return check.error(call.span)
    range_, locals_ = made
    with check.scope(_scope_of(locals_)):
        key = check.check(call.args[1])
    items = check.local("@items", range_.type, range_.span)
    check.hold(items.slot, range_)
    keys = ir.Loop("list", items, _slots(locals_), None, key, list_of(key.type), call.span)
    body = apply(
        check,
        "@sortByAssociatedKeys",
        "sortBy",
        (items, keys),
        call.span,
        call.name_span,
        member=True,
    )
    return ir.Bind(items.slot, range_, body, body.type, call.span)


MACROS: Final[Mapping[tuple[str, bool], Macro]] = {
    ("has", False): _has,
    ("all", True): _quantifier("all"),
    ("exists", True): _quantifier("exists"),
    ("exists_one", True): _quantifier("exists_one"),
    ("existsOne", True): _quantifier("exists_one"),
    ("filter", True): _filter,
    ("map", True): _mapping("list", 1),
    ("transformList", True): _mapping("list", 2),
    ("transformMap", True): _mapping("map", 2),
    ("transformMapEntry", True): _entries,
    ("optMap", True): _optional_map(flat=False),
    ("optFlatMap", True): _optional_map(flat=True),
    ("sortBy", True): _sort_by,
    ("cel.bind", False): _bind,
    ("cel.block", False): _block,
    ("cel.index", False): _reference("@index"),
    ("cel.iterVar", False): _reference("@it"),
}
"""The macros by name and by whether they are methods."""
