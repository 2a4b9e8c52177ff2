"""Optional values: made, asked and taken.

https://github.com/google/cel-spec/wiki/proposal-246. The macros `optMap` and `optFlatMap`, and
the syntax `a.?b`, `a[?b]`, are the language's own.
"""

from typing import Any, Final

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import no_overload
from policyd.values.errors import ValueFault
from policyd.values.optional import NONE, Optional
from policyd.values.times import Duration, Timestamp

_ZEROS: Final = (bool, int, float, str, bytes, list, dict)


def _has_value(optional: Any) -> bool:
    return bool(_certain("hasValue", optional).present)


def _value(optional: Any) -> Any:
    if _certain("value", optional).present:
        return optional.value
    raise ValueFault("optional.none() dereference")


def _certain(name: str, value: Any) -> Optional:
    """Give an optional, and refuse the null that may stand in its place."""
    if value.__class__ is not Optional:
        raise no_overload(name, value)
    made: Optional = value
    return made


def _is_zero(value: Any) -> bool:
    if isinstance(value, Duration | Timestamp):
        return value.nanos == 0
    return value is None or (isinstance(value, _ZEROS) and not value)


def _unwrap(optionals: list[Any]) -> list[Any]:
    return [o.value for o in optionals if o.__class__ is Optional and o.present]


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both
    """Give the functions on optional values."""
    return Library(
        "optionals",
        (
            function(
                "optional.of",
                overload("optional_of", "(V) -> optional_type(V)", Optional),
                doc="Makes an optional that has the value.",
            ),
            function(
                "optional.none",
                overload("optional_none", "() -> optional_type(V)", lambda: NONE),
                doc="Makes an optional that has no value.",
            ),
            function(
                "optional.ofNonZeroValue",
                overload(
                    "optional_ofNonZeroValue",
                    "(V) -> optional_type(V)",
                    lambda v: NONE if _is_zero(v) else Optional(v),
                ),
                doc="Makes an optional that has the value unless it is zero, empty, false or null.",
            ),
            function(
                "hasValue",
                overload("optional_hasValue", "optional_type(V).() -> bool", _has_value),
                doc="Says whether an optional has a value.",
            ),
            function(
                "value",
                overload("optional_value", "optional_type(V).() -> V", _value),
                doc="Gives the value of an optional, or an error where it has none.",
            ),
            function(
                "or",
                overload(
                    "optional_or_optional",
                    "optional_type(V).(optional_type(V)) -> optional_type(V)",
                    lambda o, other: o if _certain("or", o).present else other,
                ),
                doc="Gives the first of two optionals that has a value.",
            ),
            function(
                "orValue",
                overload(
                    "optional_orValue_value",
                    "optional_type(V).(V) -> V",
                    lambda o, other: o.value if _certain("orValue", o).present else other,
                ),
                doc="Gives the value of an optional, or else another value.",
            ),
            function(
                "optional.unwrap",
                overload(
                    "optional_unwrap",
                    "(list(optional_type(V))) -> list(V)",
                    _unwrap,
                    cost=len,
                ),
                doc="Gives the values of those in a list of optionals that have one.",
            ),
            function(
                "unwrapOpt",
                overload(
                    "optional_unwrapOpt",
                    "list(optional_type(V)).() -> list(V)",
                    _unwrap,
                    cost=len,
                ),
                doc="Gives the values of those in a list of optionals that have one.",
            ),
        ),
    )
