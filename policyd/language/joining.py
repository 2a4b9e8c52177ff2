"""Expressions of several parts that need one type: conditionals, lists and maps."""

from collections.abc import Sequence

from policyd.language import typed as ir
from policyd.language.check import Check
from policyd.language.overloads import apply
from policyd.language.syntax import (
    Conditional,
    ListOf,
    MapOf,
)
from policyd.language.types import (
    BOOL,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    Kind,
    Type,
    has_error,
    list_of,
    map_of,
    nullable,
)


def check_conditional(check: Check, expr: Conditional) -> ir.Typed:
    """Check `a ? b : c`."""
    condition = check.check(expr.condition)
    then, otherwise = check.check(expr.then), check.check(expr.otherwise)
    if not check.typed:
        return ir.Choice(condition, then, otherwise, DYN, expr.span)
    if not check.types.assignable((condition.type,), (BOOL,)):
        check.report(
            "E204",
            f"the condition before `?` must be bool, not {check.final(condition)}",
            condition.span,
        )
    then, otherwise = _numbers_meet(check, (then, otherwise))
    type_ = check.types.join(then.type, otherwise.type) or _or_null(check, then, otherwise)
    if type_ is None:
        check.report(
            "E204",
            "the two results of `? :` have different types",
            expr.span,
            related=(
                (then.span, str(check.final(then))),
                (otherwise.span, str(check.final(otherwise))),
            ),
        )
        type_ = ERROR
    return ir.Choice(condition, then, otherwise, type_, expr.span)


def _or_null(check: Check, then: ir.Typed, otherwise: ir.Typed) -> Type | None:
    """Give the type of a value that is null in one case, which CEL knows of objects only."""
    types = [check.type_of(then), check.type_of(otherwise)]
    if check.is_strict() or NULL not in types:
        return None
    null = then if types[0] == NULL else otherwise
    check.not_portable("`null` beside a value of a plain type is policyd's own", null.span)
    return nullable(types[1] if null is then else types[0])


def check_list(check: Check, expr: ListOf) -> ir.Typed:
    """Check a list literal."""
    nodes = tuple(check.check(element.value) for element in expr.elements)
    optional = frozenset(at for at, e in enumerate(expr.elements) if e.optional)
    if not optional:
        nodes = _numbers_meet(check, nodes)
    types = [
        _inner_of_optional(check, node) if at in optional else node.type
        for at, node in enumerate(nodes)
    ]
    element = _join_all(check, types, nodes, "list")
    type_ = list_of(element) if check.typed else DYN
    return ir.MakeList(nodes, optional, type_, expr.span)


def check_map(check: Check, expr: MapOf) -> ir.Typed:
    """Check a map literal."""
    keys = tuple(check.check(entry.key) for entry in expr.entries)
    values = tuple(check.check(entry.value) for entry in expr.entries)
    optional = frozenset(at for at, e in enumerate(expr.entries) if e.optional)
    types = [
        _inner_of_optional(check, node) if at in optional else node.type
        for at, node in enumerate(values)
    ]
    key = _join_all(check, [k.type for k in keys], keys, "map")
    value = _join_all(check, types, values, "map")
    _check_keys(check, keys)
    type_ = map_of(key, value) if check.typed else DYN
    return ir.MakeMap(keys, values, optional, check.is_strict(), type_, expr.span)


def _numbers_meet(check: Check, nodes: tuple[ir.Typed, ...]) -> tuple[ir.Typed, ...]:
    """Turn ints that stand among doubles into doubles, where nothing else is there."""
    if check.is_strict() or check.mixing or not check.typed:
        return nodes
    types = [check.type_of(node) for node in nodes]
    if set(types) != {INT, DOUBLE}:
        return nodes
    return tuple(
        _as_double(check, node) if type_ == INT else node
        for node, type_ in zip(nodes, types, strict=True)
    )


def _as_double(check: Check, node: ir.Typed) -> ir.Typed:
    check.not_portable("an int among doubles becomes a double", node.span)
    return apply(check, "double", "double", (node,), node.span, node.span)


def _check_keys(check: Check, keys: tuple[ir.Typed, ...]) -> None:
    """Report keys of types that no map can have."""
    if not check.is_strict():
        return
    for key in keys:
        kind = check.final(key)
        if (
            check.typed
            and kind.kind is not Kind.DYN
            and str(kind) not in (*("int", "uint", "bool", "string", "error"),)
        ):
            check.report("E204", f"{kind} cannot be the key of a map", key.span)


def _inner_of_optional(check: Check, node: ir.Typed) -> Type:
    type_ = check.type_of(node)
    if type_.kind is Kind.OPTIONAL:
        return type_.params[0]
    if check.typed and type_.kind not in (Kind.DYN, Kind.ERROR, Kind.VAR):
        check.report(
            "E204", f"`?` is for optional values, and this is {check.final(node)}", node.span
        )
    return DYN


def _join_all(check: Check, types: list[Type], nodes: Sequence[ir.Typed], what: str) -> Type:
    if not types:
        return check.types.fresh()
    joined = types[0]
    for at, type_ in enumerate(types[1:], 1):
        both = check.types.join(joined, type_)
        if both is None:
            if check.typed and not check.is_strict() and not check.mixing:
                _mixed(check, joined, nodes, at, what)
                return ERROR
            return DYN
        joined = both
    return joined


def _mixed(check: Check, joined: Type, nodes: Sequence[ir.Typed], at: int, what: str) -> None:
    if any(has_error(check.types.resolve(t)) for t in (joined, nodes[at].type)):
        return  # something inside is wrong already, and said
    check.report(
        "E213",
        f"this {what} mixes {check.types.final(joined)} and {check.final(nodes[at])}",
        nodes[at].span,
        label=str(check.final(nodes[at])),
        related=((nodes[0].span, str(check.types.final(joined))),),
        helps=("put `dyn(…)` around one of them if that is meant",),
    )
