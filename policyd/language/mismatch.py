"""Says why no signature of a function fits its arguments, in the words of the rule's author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from policyd.language import typed as ir
from policyd.language.source import Span
from policyd.language.types import Kind, Type

if TYPE_CHECKING:
    from policyd.language.check import Check

_VERBS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "take the remainder of",
}
_JOINERS: Final = {"+": "and", "-": "and", "*": "and", "/": "and", "%": "and"}
_MAX_SHOWN: Final = 5


def explain_mismatch(
    check: Check,
    name: str,
    shown: str,
    args: Sequence[ir.Typed],
    name_span: Span,
    *,
    member: bool,
) -> None:
    """Report a call that fits no overload."""
    types = [check.final(arg) for arg in args]
    if name == "@in" or (not name[0].isalpha() and "_" in name):
        _operator(check, shown, args, types, name_span)
        return
    function = check.env.function_table[name]
    considered = [o for o in function.overloads if o.member == member]
    if not considered:
        other = "a method" if not member else "a function"
        form = f"x.{name}(…)" if not member else f"{name}(x)"
        check.report("E204", f"`{name}` is {other}", name_span, helps=(f"write `{form}`",))
        return
    counts = sorted({len(o.params) - member for o in considered})
    given = len(args) - member
    if given not in counts:
        check.report(
            "E212",
            f"`{name}` takes {_counts(counts)}, not {given}",
            name_span,
            helps=_signatures(check, name, member=member),
        )
        return
    of = (
        f"{types[0]}.{name}({', '.join(map(str, types[1:]))})"
        if member
        else (f"{name}({', '.join(map(str, types))})")
    )
    check.report(
        "E204",
        f"there is no `{of}`",
        name_span,
        helps=_signatures(check, name, member=member),
    )


def _operator(
    check: Check, op: str, args: Sequence[ir.Typed], types: Sequence[Type], span: Span
) -> None:
    related = tuple((arg.span, str(t)) for arg, t in zip(args, types, strict=True))
    if len(args) == 1:
        message = f"`{op}` is not defined for {types[0]}"
    elif op == "in":
        message = f"`in` cannot look for {types[0]} in {types[1]}"
    elif op in _VERBS:
        message = f"cannot {_VERBS[op]} {types[0]} {_JOINERS[op]} {types[1]}"
    else:
        message = f"cannot compare {types[0]} with {types[1]} by `{op}`"
    check.report("E204", message, span, related=related, helps=_remedy(op, types))


def _remedy(op: str, types: Sequence[Type]) -> tuple[str, ...]:
    """Give the conversion that would make the operands fit, where there is one."""
    names = [str(t) for t in types]
    if "string" in names and op == "+":
        return ("put `string(…)` around the other operand",)
    if op in ("==", "!=", "<", "<=", ">", ">=") and "string" in names:
        if "kubernetes.Quantity" in names:
            return ("put `quantity(…)` around the string",)
        if {"int", "double"} & set(names):
            return ("put `int(…)` or `double(…)` around the string",)
    if "uint" in names and {"int", "double"} & set(names):
        return ("convert one of them: `int(…)`, `uint(…)` or `double(…)`",)
    if any(t.kind is Kind.OPTIONAL for t in types):
        return ("take the value of the optional with `.orValue(…)`",)
    if op == "%" and "double" in names:
        return ("the remainder is defined for int and uint",)
    return ()


def _counts(counts: Sequence[int]) -> str:
    text = " or ".join(map(str, counts))
    return f"{text} argument" if counts == [1] else f"{text} arguments"


def _signatures(check: Check, name: str, *, member: bool) -> tuple[str, ...]:
    overloads = [o for o in check.env.function_table[name].overloads if o.member == member]
    shown = []
    for o in overloads[:_MAX_SHOWN]:
        params = ", ".join(map(str, o.params[1:] if member else o.params))
        start = f"{o.params[0]}." if member else ""
        shown.append(f"`{start}{name}({params})`")
    more = ", …" if len(overloads) > _MAX_SHOWN else ""
    return (f"there is {', '.join(shown)}{more}",)
