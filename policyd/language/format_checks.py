"""Checks `"…".format([…])` when the rule is compiled: every clause has a value of its kind.

As the validator of Kubernetes' API server does for a literal string and a literal list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from policyd.language import typed as ir
from policyd.language.types import Kind, Type

if TYPE_CHECKING:
    from policyd.language.checker import Checker

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.[0-9]+)?([a-zA-Z]))")
_NUMBERS: Final = ("int", "uint", "double")
_TAKES: Final = {
    "d": ("an integer", ("int", "uint", "double")),
    "f": ("a number", _NUMBERS),
    "e": ("a number", _NUMBERS),
    "x": ("an integer, string or bytes", ("int", "uint", "string", "bytes")),
    "X": ("an integer, string or bytes", ("int", "uint", "string", "bytes")),
    "o": ("an integer", ("int", "uint")),
    "b": ("an integer or bool", ("int", "uint", "bool")),
}
_STRINGS: Final = (
    *("string", "bool", "bytes", "int", "uint", "double", "null_type"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)


def check_format(checker: Checker, args: tuple[ir.Typed, ...]) -> None:
    """Report a clause that has no value, or one of a kind that it cannot print."""
    text, values = args
    if not isinstance(text, ir.Constant) or not isinstance(text.value, str):
        return
    if not isinstance(values, ir.MakeList) or values.optional:
        return
    clauses = [m[1] for m in _CLAUSE.finditer(text.value) if m[1]]
    for at, clause in enumerate(clauses):
        if at >= len(values.elements):
            checker.report(
                "E209",
                f"the format has {len(clauses)} clauses and the list {len(values.elements)} values",
                values.span,
            )
            return
        _check_clause(checker, clause, values.elements[at])


def _check_clause(checker: Checker, clause: str, value: ir.Typed) -> None:
    type_ = checker.final(value)
    if type_.kind in (Kind.DYN, Kind.ERROR, Kind.NULLABLE):
        return
    if clause == "s":
        if not _prints(type_):
            checker.report("E209", f"`%s` cannot print {type_}", value.span)
        return
    takes = _TAKES.get(clause)
    if takes is None:
        return
    what, names = takes
    fits = str(type_) in names and not (
        clause == "d" and str(type_) == "double" and _is_fraction(value)
    )
    if not fits:
        checker.report("E209", f"`%{clause}` prints {what}, not {type_}", value.span)


def _is_fraction(value: ir.Typed) -> bool:
    """Say whether a double is certainly no integer; only a constant can be."""
    return isinstance(value, ir.Constant)


def _prints(type_: Type) -> bool:
    return type_.kind in (Kind.LIST, Kind.MAP, Kind.TYPE) or str(type_) in _STRINGS
