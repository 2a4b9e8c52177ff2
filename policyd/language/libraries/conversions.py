"""Conversions between the types of CEL, and the type of a value.

What converts and how is cel-go's, down to the shape of a double's text and the words that are a
bool; libraries with types of their own add overloads to the same functions. Kubernetes prints a
timestamp in the zone it was written in, and gives a duration as an int in nanoseconds.
"""

import math
import re
from typing import Any, Final

from policyd.language.declarations import Function, Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import type_value
from policyd.language.sizes import bounded_text, text_cost
from policyd.values.doubles import general, parse_double, plain
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.quoting import quote
from policyd.values.times import (
    SECOND,
    Duration,
    Timestamp,
    parse_duration,
    parse_timestamp,
    timestamp_from_seconds,
)

_TIMESTAMP: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_BOOLS: Final = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
_DIGITS: Final = re.compile(r"[0-9]++")
_MAX_DIGITS: Final = len(str(UINT_MAX))


def library(dialect: Dialect) -> Library:
    """Declare the functions."""
    kubernetes = dialect is Dialect.KUBERNETES
    return Library(
        "conversions",
        (
            _bool(),
            _bytes(),
            _double(),
            _duration(),
            _int(kubernetes=kubernetes),
            _string(kubernetes=kubernetes),
            _timestamp(),
            _uint(),
            function(
                "dyn",
                overload("to_dyn", "(A) -> dyn", _same),
                doc="Gives the value itself, whose type the checker then leaves open.",
            ),
            function(
                "type",
                overload("type", "(A) -> type(A)", type_value),
                doc="Gives the type of a value.",
            ),
        ),
    )


def _bool() -> Function:
    return function(
        "bool",
        overload("bool_to_bool", "(bool) -> bool", _same),
        overload("string_to_bool", "(string) -> bool", parse_bool),
        doc="Reads a bool from `true`, `True`, `TRUE`, `t`, `T`, `1` or their opposites.",
    )


def _bytes() -> Function:
    return function(
        "bytes",
        overload("bytes_to_bytes", "(bytes) -> bytes", _same),
        overload("string_to_bytes", "(string) -> bytes", to_bytes, cost=_by_length),
        doc="Gives the UTF-8 bytes of a string.",
    )


def _double() -> Function:
    return function(
        "double",
        overload("double_to_double", "(double) -> double", _same),
        overload("int64_to_double", "(int) -> double", float),
        overload("string_to_double", "(string) -> double", parse_double, cost=_by_length),
        overload("uint64_to_double", "(uint) -> double", float),
        doc="Gives the double nearest to a number, or reads one from a string.",
    )


def _duration() -> Function:
    return function(
        "duration",
        overload("duration_to_duration", f"({_DURATION}) -> {_DURATION}", _same),
        overload("string_to_duration", f"(string) -> {_DURATION}", parse_duration, cost=_by_length),
        doc="Reads a duration from a string such as `1h30m`; the units are h, m, s, ms, us and ns.",
    )


def _int(*, kubernetes: bool) -> Function:
    in_kubernetes = (
        overload("duration_to_int64", f"({_DURATION}) -> int", lambda value: value.nanos),
    )
    return function(
        "int",
        overload("int64_to_int64", "(int) -> int", _same),
        overload("double_to_int64", "(double) -> int", double_to_int),
        overload("string_to_int64", "(string) -> int", parse_int, cost=_by_length),
        overload("timestamp_to_int64", f"({_TIMESTAMP}) -> int", _unix_seconds),
        overload("uint64_to_int64", "(uint) -> int", uint_to_int),
        *(in_kubernetes if kubernetes else ()),
        doc="Cuts a number to an integer, reads one, or gives a timestamp's seconds since 1970.",
    )


def _string(*, kubernetes: bool) -> Function:
    timestamp_text = Timestamp.local_text if kubernetes else str
    duration_text = _rounded_text if kubernetes else str
    return function(
        "string",
        overload("string_to_string", "(string) -> string", _same),
        overload("bool_to_string", "(bool) -> string", bool_text),
        overload("bytes_to_string", "(bytes) -> string", bytes_text, cost=_by_length),
        overload("double_to_string", "(double) -> string", general),
        overload("duration_to_string", f"({_DURATION}) -> string", duration_text),
        overload("int64_to_string", "(int) -> string", str),
        overload("timestamp_to_string", f"({_TIMESTAMP}) -> string", timestamp_text),
        overload("uint64_to_string", "(uint) -> string", uint_text),
        doc="Writes a value as a string.",
    )


def _timestamp() -> Function:
    return function(
        "timestamp",
        overload("timestamp_to_timestamp", f"({_TIMESTAMP}) -> {_TIMESTAMP}", _same),
        overload("int64_to_timestamp", f"(int) -> {_TIMESTAMP}", timestamp_from_seconds),
        overload(
            "string_to_timestamp", f"(string) -> {_TIMESTAMP}", parse_timestamp, cost=_by_length
        ),
        doc="Reads a timestamp from an RFC 3339 string, or takes seconds since 1970.",
    )


def _uint() -> Function:
    return function(
        "uint",
        overload("uint64_to_uint64", "(uint) -> uint", _same),
        overload("double_to_uint64", "(double) -> uint", double_to_uint),
        overload("int64_to_uint64", "(int) -> uint", int_to_uint),
        overload("string_to_uint64", "(string) -> uint", parse_uint, cost=_by_length),
        doc="Cuts a number to an unsigned integer, or reads one from a string.",
    )


def _same(value: Any) -> Any:
    return value


def _by_length(value: str | bytes) -> int:
    return text_cost(len(value))


def parse_bool(text: str) -> bool:
    """Read a bool, as Go's `strconv.ParseBool` does.

    Raises:
        ValueFault: it is none of the words.
    """
    found = _BOOLS.get(text)
    if found is None:
        raise ValueFault(f"cannot read {quote(text)} as a bool")
    return found


def parse_int(text: str) -> int:
    """Read a decimal integer with an optional sign.

    Raises:
        ValueFault: the text is no integer, or it does not fit 64 bits.
    """
    found = _magnitude(text[1:] if text[:1] in ("+", "-") else text)
    if found is not None and text[0] == "-":
        found = -found
    if found is None or not INT_MIN <= found <= INT_MAX:
        raise ValueFault(f"cannot read {quote(text)} as an int")
    return found


def parse_uint(text: str) -> Uint:
    """Read a decimal integer without a sign.

    Raises:
        ValueFault: the text is no such integer, or it does not fit 64 bits.
    """
    found = _magnitude(text)
    if found is None or found > UINT_MAX:
        raise ValueFault(f"cannot read {quote(text)} as a uint")
    return Uint(found)


def _magnitude(text: str) -> int | None:
    if _DIGITS.fullmatch(text) is None:
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else UINT_MAX + 1


def double_to_int(value: float) -> int:
    """Cut a double towards zero. Both ends of the 64 bits are out of range, as in cel-go.

    Raises:
        ValueFault: it does not fit, or is NaN.
    """
    if not INT_MIN < value < INT_MAX:
        raise ValueFault("integer overflow")
    return math.trunc(value)


def double_to_uint(value: float) -> Uint:
    """Cut a double towards zero.

    Raises:
        ValueFault: it is negative or NaN, or does not fit 64 bits.
    """
    if not 0 <= value < UINT_MAX + 1:
        raise ValueFault("unsigned integer overflow")
    return Uint(math.trunc(value))


def int_to_uint(value: int) -> Uint:
    """Give an unsigned integer.

    Raises:
        ValueFault: the value is negative.
    """
    if value < 0:
        raise ValueFault("unsigned integer overflow")
    return Uint(value)


def uint_to_int(value: Uint) -> int:
    """Give a signed integer.

    Raises:
        ValueFault: the value does not fit.
    """
    if value > INT_MAX:
        raise ValueFault("integer overflow")
    return int(value)


def to_bytes(text: str) -> bytes:
    """Give the UTF-8 bytes of a string.

    Raises:
        ValueFault: the string holds half of a surrogate pair, or the bytes pass the limit.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValueFault("string holds an unpaired surrogate, which has no bytes") from None
    bounded_text(len(data))
    return data


def bool_text(value: bool) -> str:  # noqa: FBT001 - a value of the language, not a flag
    """Write a bool."""
    return "true" if value else "false"


def bytes_text(data: bytes) -> str:
    """Read bytes as UTF-8.

    Raises:
        ValueFault: they are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueFault("invalid UTF-8 in bytes, cannot convert to string") from None


def uint_text(value: Uint) -> str:
    """Write an unsigned integer, without the `u` of a literal."""
    return str(int(value))


def _unix_seconds(timestamp: Timestamp) -> int:
    return timestamp.nanos // SECOND


def _rounded_text(duration: Duration) -> str:
    """Write a duration as cel-go does: in seconds as a double, exact up to about 104 days."""
    return f"{plain(duration.seconds)}s"
