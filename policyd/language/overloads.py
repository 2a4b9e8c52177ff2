"""Which overloads of a function fit its arguments.

policyd's additions to CEL are considered only where CEL itself rejects a call, so that they never
change the meaning of what CEL accepts.
"""

from collections.abc import Sequence

from policyd.language import typed as ir
from policyd.language.check import Check
from policyd.language.declarations import Overload
from policyd.language.mismatch import explain_mismatch
from policyd.language.source import Span
from policyd.language.types import (
    DYN,
    ERROR,
    NULL,
    Kind,
    Type,
)


def apply(
    check: Check,
    name: str,
    shown: str,
    args: tuple[ir.Typed, ...],
    span: Span,
    name_span: Span,
    *,
    member: bool = False,
) -> ir.Typed:
    """Choose the overloads of a function for checked arguments."""
    function = check.env.function_table[name]
    considered = [o for o in function.overloads if o.member == member]
    if not check.typed:
        fitting = tuple(o for o in considered if len(o.params) == len(args) and o.portable)
        if not fitting:
            return check.unresolved(f"no such overload: {name}", span)
        return ir.Apply(shown, fitting, args, DYN, span)
    types = tuple(arg.type for arg in args)
    for overloads, lenient in (
        ([o for o in considered if o.portable], False),
        ([o for o in considered if not o.portable], False),
        (considered, True),
    ):
        chosen, result = _fitting(check, overloads, types, lenient=lenient)
        if chosen:
            if not chosen[0].portable or lenient:
                check.not_portable(
                    f"`{shown}` of {_shown_types(check, args)} is policyd's own", name_span
                )
            return ir.Apply(shown, tuple(chosen), args, result, span)
    if not any(check.type_of(arg).kind is Kind.ERROR for arg in args):
        explain_mismatch(check, name, shown, args, name_span, member=member)
    return check.error(span)


def _shown_types(check: Check, args: Sequence[ir.Typed]) -> str:
    return " and ".join(str(check.final(arg)) for arg in args)


def _fitting(
    check: Check, overloads: Sequence[Overload], types: tuple[Type, ...], *, lenient: bool
) -> tuple[list[Overload], Type]:
    """Give the overloads that fit, and their common result type: dyn where they differ."""
    found: list[tuple[Overload, Type]] = []
    for candidate in overloads:
        if len(candidate.params) != len(types):
            continue
        params, declared = check.types.instantiate(candidate.params, candidate.result)
        if not candidate.portable and any(
            given == NULL and wanted.kind is Kind.OPAQUE
            for given, wanted in zip(types, params, strict=True)
        ):
            continue  # null is no quantity
        if check.types.assignable(types, params, lenient=lenient):
            found.append((candidate, check.types.resolve(declared)))
    if not any(check.types.resolve(type_).kind in (Kind.DYN, Kind.VAR) for type_ in types):
        # What takes anything is there for arguments that nothing else takes.
        found = [each for each in found if DYN not in each[0].params] or found
    results = {result for _, result in found}
    common = DYN if len(results) > 1 else next(iter(results), ERROR)
    return [overload for overload, _ in found], common
