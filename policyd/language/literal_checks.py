"""Finds arguments that are wrong whatever the input: a regex, a time or a zone in the text.

As Kubernetes does since 1.29, a literal that cannot be read is refused when the rule is
compiled. Only functions with no other way out are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from policyd.language import typed as ir
from policyd.language.libraries.regex import compile_pattern
from policyd.values.errors import ValueFault
from policyd.values.times import parse_duration, parse_timestamp

if TYPE_CHECKING:
    from policyd.language.check import Check

_READERS: Final[Mapping[str, tuple[int, str, str, Callable[[Any], Any]]]] = {
    "matches": (1, "E208", "regular expression", compile_pattern),
    "find": (1, "E208", "regular expression", compile_pattern),
    "findAll": (1, "E208", "regular expression", compile_pattern),
    "duration": (0, "E209", "duration", parse_duration),
    "timestamp": (0, "E209", "timestamp", parse_timestamp),
}


def check_literal_arguments(check: Check, name: str, args: tuple[ir.Typed, ...]) -> None:
    """Report a literal argument that the function cannot take."""
    known = _READERS.get(name)
    if known is None:
        return
    at, code, what, read = known
    if at >= len(args):
        return
    argument = args[at]
    if not isinstance(argument, ir.Constant) or not isinstance(argument.value, str):
        return
    try:
        read(argument.value)
    except ValueFault as fault:
        message = fault.message if what in fault.message else f"this is no {what}: {fault.message}"
        check.report(code, message, argument.span)
