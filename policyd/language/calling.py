"""Calls: of macros, of functions and methods, and of `let` functions, which are written out."""

from typing import Final

from policyd.language import typed as ir
from policyd.language.check import Check
from policyd.language.diagnostics import Edit
from policyd.language.dialect import Dialect
from policyd.language.format_checks import check_format
from policyd.language.limits import MAX_INLINED
from policyd.language.literal_checks import check_literal_arguments
from policyd.language.macros import MACROS, Macro
from policyd.language.overloads import apply
from policyd.language.resolving import enter_let
from policyd.language.suggest import (
    hint_for_function,
)
from policyd.language.syntax import (
    Call,
    Expr,
    Name,
    Select,
)
from policyd.language.types import (
    Kind,
)

_MIXING: Final = frozenset({"format"})
"""Functions whose list of arguments is of mixed types by its nature."""

_BEYOND: Final = ("math.", "base64.")
"""Beginnings of the names of CEL's own functions that Kubernetes leaves out."""


def check_call(check: Check, expr: Call) -> ir.Typed:
    """Check a call: a macro, a function of a dotted name, a method, or a `let` function."""
    macro = _macro(check, expr)
    if macro is not None:
        expanded = macro(check, expr)
        if expanded is not None:
            return expanded
    if expr.target is None:
        return _global_call(check, expr)
    namespaced = _namespaced(check, expr)
    if namespaced is not None:
        return _apply_named(check, namespaced, expr, None)
    return _apply_named(check, expr.name, expr, check.check(expr.target))


def _macro(check: Check, expr: Call) -> Macro | None:
    if expr.target is None:
        return MACROS.get((expr.name, False))
    if isinstance(expr.target, Name) and check.find_local(expr.target.name) is None:
        found = MACROS.get((f"{expr.target.name}.{expr.name}", False))
        if found is not None:
            return found
    return MACROS.get((expr.name, True))


def _global_call(check: Check, expr: Call) -> ir.Typed:
    let = check.env.lets.get(expr.name)
    if let is not None:
        return _call_let(check, expr, let.parameters)
    for full in check.env.candidates(expr.name, root=expr.root):
        if full in check.env.function_table:
            return _apply_named(check, full, expr, None)
    return _apply_named(check, expr.name, expr, None)


def _namespaced(check: Check, expr: Call) -> str | None:
    """Give the function that `a.b.f(x)` names, where `a.b` is no value."""
    names: list[str] = [expr.name]
    node: Expr | None = expr.target
    while isinstance(node, Select) and not (node.optional or node.quoted):
        names.append(node.name)
        node = node.operand
    if not isinstance(node, Name):
        return None
    if not node.root and check.find_local(node.name) is not None:
        return None
    dotted = ".".join([node.name, *reversed(names)])
    for full in check.env.candidates(dotted, root=node.root):
        if full in check.env.function_table:
            return full
    return None


def _apply_named(check: Check, name: str, expr: Call, target: ir.Typed | None) -> ir.Typed:
    if name.startswith(_BEYOND) and check.env.dialect is Dialect.KUBERNETES:
        check.not_portable(f"Kubernetes does not have `{name}`", expr.name_span)
    check.mixing += name in _MIXING
    args = tuple(check.check(arg) for arg in expr.args)
    check.mixing -= name in _MIXING
    if name not in check.env.function_table:
        if not check.typed:
            return check.unresolved(f"unbound function: {name}", expr.span)
        _unknown_function(check, name, expr, target)
        return check.error(expr.span)
    member = target is not None
    given = args if target is None else (target, *args)
    node = apply(check, name, name, given, expr.span, expr.name_span, member=member)
    if check.typed:
        check_literal_arguments(check, name, given)
        if name == "format" and member:
            check_format(check, given)
    return node


def _unknown_function(check: Check, name: str, expr: Call, target: ir.Typed | None) -> None:
    if target is not None and check.type_of(target).kind is Kind.ERROR:
        return
    hint = hint_for_function(name, is_method=target is not None, argument_count=len(expr.args))
    near = None if hint else check.near(name, lambda: _callable_names(check, target))
    check.report(
        "E202",
        f"there is no {'method' if target is not None else 'function'} `{name}`",
        expr.name_span,
        label=f"did you mean `{near}`?" if near else "",
        helps=(hint,) if hint else (),
        edit=Edit(expr.name_span, near) if near else None,
    )


def _callable_names(check: Check, target: ir.Typed | None) -> list[str]:
    member = target is not None
    names = [
        name
        for name, function in check.env.function_table.items()
        if name[0].isalpha() and any(o.member == member for o in function.overloads)
    ]
    names.extend(name for name, is_member in MACROS if is_member == member)
    if not member:
        names.extend(n for n, let in check.env.lets.items() if let.parameters is not None)
    return names


def _call_let(check: Check, expr: Call, parameters: tuple[str, ...] | None) -> ir.Typed:
    """Write a `let` function out: its arguments are evaluated when first needed."""
    check.used.add(expr.name)
    args = [check.check(arg) for arg in expr.args]
    if parameters is None:
        message = f"`{expr.name}` is a value, not a function"
        check.report("E202", message, expr.name_span, helps=("leave the parentheses out",))
        return check.error(expr.span)
    if len(args) != len(parameters):
        check.report(
            "E212",
            f"`{expr.name}` takes {_counted(len(parameters), 'argument')}, not {len(args)}",
            expr.name_span,
        )
        return check.error(expr.span)
    if not enter_let(check, expr.name, expr.name_span):
        return check.error(expr.span)
    body = _write_out(check, expr, parameters, args)
    check.open_lets.pop()
    return body


def _write_out(
    check: Check, expr: Call, parameters: tuple[str, ...], args: list[ir.Typed]
) -> ir.Typed:
    let = check.env.lets[expr.name]
    check.inlined += let.body.span.end - let.body.span.start
    if check.inlined > MAX_INLINED * 4:
        check.report(
            "E306",
            f"this expression has more than {MAX_INLINED:,} parts once its `let` functions"
            " are written out",
            expr.span,
            helps=("call them less often inside each other",),
        )
        return check.error(expr.span)
    if not check.may_nest(len(args), expr.span):
        return check.error(expr.span)
    locals_ = [
        check.local(name, arg.type, arg.span) for name, arg in zip(parameters, args, strict=True)
    ]
    for local, arg in zip(locals_, args, strict=True):
        check.hold(local.slot, arg)
    scopes, check.scopes = check.scopes, [{local.name: local for local in locals_}]
    with check.deeper(len(locals_)):
        body = check.check(let.body)
    check.scopes = scopes
    for local, arg in zip(reversed(locals_), reversed(args), strict=True):
        body = ir.Bind(local.slot, arg, body, body.type, expr.span)
    return body


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
