"""Checks `"…".format([…])` when the rule is compiled: every clause has a value of its kind.

As the validator of Kubernetes' API server does for a literal string and a literal list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policyd.language import typed as ir
from policyd.language.libraries.formatting import find_mistake

if TYPE_CHECKING:
    from policyd.language.check import Check


def check_format(check: Check, args: tuple[ir.Typed, ...]) -> None:
    """Report a clause that has no value, or one of a kind that it cannot print."""
    if len(args) != 2:
        return  # which is a fault of its own, and reported
    text, values = args
    if not isinstance(text, ir.Constant) or not isinstance(text.value, str):
        return
    if not isinstance(values, ir.MakeList) or values.optional:
        return
    given = [check.final(value) for value in values.elements]
    mistake = find_mistake(text.value, given, check.env.dialect)
    if mistake is not None:
        at = mistake.argument
        span = values.span if at is None else values.elements[at].span
        check.report("E209", mistake.message, span)
