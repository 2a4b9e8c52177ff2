"""`format`: a string with values in the places that it marks.

There are two definitions of it, which differ in almost every shape. Kubernetes has version 2 of
cel-go's strings extension, which prints as American English writes and nests literals:
`1,234.500000`, exponents as raised digits, `["a", 1.500000]`. CEL's own, cel-go's version 4,
prints `1234.500000`, `1.234500e+03`, `[a, 1.5]`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from policyd.language.declarations import Function, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import type_value
from policyd.language.libraries.conversions import bytes_text
from policyd.language.sizes import bounded_text, text_cost, weight
from policyd.language.types import Kind, Type, parse_type
from policyd.values.doubles import general, named, plain
from policyd.values.errors import ValueFault
from policyd.values.kinds import TypeValue
from policyd.values.maps import decode_key
from policyd.values.numbers import Uint
from policyd.values.quoting import quote
from policyd.values.times import Duration, Timestamp

MAX_PRECISION: Final = 255
"""Digits after the point that a clause may ask for; Kubernetes miscounts more."""

MAX_NESTING: Final = 100
"""How many lists and maps may stand in each other in a value that is formatted."""

_DEFAULT_PRECISION: Final = 6
_CLAUSE: Final = re.compile(r"%(?:%|(?:(\.)([0-9]*+))?(.?))", re.DOTALL)
_INTEGERS: Final = frozenset({int, Uint})
_NUMBERS: Final = frozenset({int, Uint, float})
_TEXTUAL: Final = frozenset({str, bytes, int, Uint, float, bool, Timestamp, Duration, TypeValue})
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_WEIGHT: Final = 2  # units for a part of a value; a double with six decimals has some 20 characters
_LARGE: Final = 1e21
_MAX_DIGITS: Final = 420  # of the largest double, with commas
_Clause = Callable[[Any, int | None], str]


def declare(dialect: Dialect) -> Function:
    """Declare the function in a dialect."""
    clauses = _KUBERNETES if dialect is Dialect.KUBERNETES else _CEL

    def format_(template: str, args: list[Any]) -> str:
        return _format(template, args, clauses)

    return function(
        "format",
        overload("string_format", "string.(list(dyn)) -> string", format_, cost=_cost),
        doc="Puts values in the places that %s, %d, %f, %e, %x, %X, %o and %b mark in a string.",
    )


def _cost(template: str, args: list[Any]) -> int:
    clauses = _CLAUSE.finditer(template) if "." in template else ()
    precisions = sum(min(_precision(found[2]), MAX_PRECISION) for found in clauses if found[1])
    return text_cost(len(template), precisions) + _WEIGHT * weight(args) + _long_doubles(args)


def _long_doubles(args: list[Any]) -> int:
    """Give the units of work for the digits before the point of very large doubles."""
    large = [it for it in args if it.__class__ is float and not -_LARGE < it < _LARGE]
    return text_cost(_MAX_DIGITS) * len(large)


def _precision(digits: str) -> int:
    """Read a precision; one that is too large or absent stays so."""
    if len(digits) > len(str(MAX_PRECISION)) and digits.strip("0"):
        return MAX_PRECISION + 1
    return int(digits or "0")


def _format(template: str, args: list[Any], clauses: dict[str, _Clause]) -> str:
    return "".join(_bounded(_pieces(template, args, clauses)))


def _pieces(template: str, args: list[Any], clauses: dict[str, _Clause]) -> Iterable[str]:
    at = used = 0
    for found in _CLAUSE.finditer(template):
        yield template[at : found.start()]
        at = found.end()
        if found[0] == "%%":
            yield "%"
            continue
        if used >= len(args):
            raise ValueFault(f"format has {len(args)} values, and its string asks for more")
        yield _clause(found[1] or "", found[2] or "", found[3], clauses)(args[used])
        used += 1
    yield template[at:]


def _clause(
    point: str, digits: str, verb: str, clauses: dict[str, _Clause]
) -> Callable[[Any], str]:
    """Find what a clause does to its value."""
    render = clauses.get(verb)
    if render is None or (point and not digits):
        raise ValueFault(f"format has no clause {quote(f'%{point}{digits}{verb}')}")
    precision = _precision(digits) if point else None
    if precision is not None and precision > MAX_PRECISION:
        raise ValueFault(f"format prints at most {MAX_PRECISION} digits after the point")
    return lambda value: render(value, precision)


def _bounded(pieces: Iterable[str]) -> list[str]:
    """Collect pieces of a text for as long as it is within the limit."""
    kept: list[str] = []
    length = 0
    for piece in pieces:
        length = bounded_text(length + len(piece))
        kept.append(piece)
    return kept


def _wrong(clause: str, takes: str, value: Any) -> ValueFault:
    return ValueFault(f"error during formatting: {clause} takes {takes}, not {type_value(value)}")


# --- checking a template before there are values ----------------------------------------------


@dataclass(frozen=True, slots=True)
class Mistake:
    """Why a template and its values can never work. `argument` is the value's place, from 0."""

    message: str
    argument: int | None = None


def find_mistake(template: str, given: Sequence[Type], dialect: Dialect) -> Mistake | None:
    """Find the first clause that cannot print a value of the type it is given.

    As Kubernetes and cel-go do where the template and the list of its values are literals; a
    value too many is a mistake there, too.
    """
    takes = _K8S_TAKES if dialect is Dialect.KUBERNETES else _CEL_TAKES
    clauses = [found for found in _CLAUSE.finditer(template) if found[0] != "%%"]
    for at, found in enumerate(clauses):
        if at >= len(given):
            return Mistake(f"format has {len(given)} values, and its string asks for more")
        verb = found[3]
        try:
            _clause(found[1] or "", found[2] or "", verb, _KUBERNETES)
        except ValueFault as fault:
            return Mistake(fault.message)
        if not _may_print(given[at], takes[verb]):
            return Mistake(f"`%{verb}` cannot print {given[at]}", at)
    if len(given) > len(clauses):
        return Mistake(f"format has {len(given)} values, and its string uses {len(clauses)}")
    return None


def _may_print(type_: Type, names: frozenset[str]) -> bool:
    match type_.kind:
        case Kind.DYN | Kind.ERROR | Kind.VAR | Kind.PARAM:
            return True
        case Kind.NULLABLE:
            return _may_print(type_.params[0], names)
        case Kind.LIST | Kind.MAP:
            return "list" in names and all(_may_print(it, names) for it in type_.params)
        case _:
            return type_.name in names


# --- the clauses that are the same in both ------------------------------------------------------


def _binary(value: Any, _: int | None) -> str:
    if value.__class__ in _INTEGERS or value.__class__ is bool:
        return format(value, "b")
    raise _wrong("%b", "integers and bools", value)


def _octal(value: Any, _: int | None) -> str:
    if value.__class__ in _INTEGERS:
        return format(value, "o")
    raise _wrong("%o", "integers", value)


def _hexadecimal(value: Any, _: int | None) -> str:
    if value.__class__ in _INTEGERS:
        return format(value, "x")
    if value.__class__ is bytes:
        return str(value.hex())
    if value.__class__ is str:
        return value.encode(errors="surrogatepass").hex()
    raise _wrong("%x", "integers, strings and bytes", value)


def _upper_hexadecimal(value: Any, precision: int | None) -> str:
    return _hexadecimal(value, precision).upper()


# --- Kubernetes -------------------------------------------------------------------------------


def _k8s_decimal(value: Any, _: int | None) -> str:
    if value.__class__ in _INTEGERS:
        return str(int(value))
    raise _wrong("%d", "integers", value)


def _k8s_double(clause: str, value: Any) -> float:
    """Give the double of a clause; the names of what is not finite may be strings."""
    if value.__class__ is float:
        number: float = value
        return number
    if value.__class__ is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _wrong(clause, "doubles", value)


def _k8s_infinite(value: float) -> str:
    return named(value).replace("Infinity", "∞")


def _k8s_fixed(value: Any, precision: int | None) -> str:
    number = _k8s_double("%f", value)
    if not isfinite(number):
        return _k8s_infinite(number)
    digits = _DEFAULT_PRECISION if precision is None else precision
    return format(number or 0.0, f",.{digits}f")  # zero has no sign


def _k8s_scientific(value: Any, precision: int | None) -> str:
    """Print with six decimals: version 2 takes the precision for the width."""
    number = _k8s_double("%e", value)
    width = _DEFAULT_PRECISION if precision is None else precision
    if not isfinite(number):
        return _k8s_infinite(number).rjust(width)
    mantissa, _, exponent = format(number or 0.0, ".6e").partition("e")
    return f"{mantissa}\u00d710{exponent.lstrip('+').translate(_SUPERSCRIPTS)}".rjust(width)


def _k8s_string(value: Any, _: int | None) -> str:
    return _k8s_text(value, 0)


def _k8s_text(value: Any, depth: int) -> str:
    """Write a value as `string()` does, and a list or a map as a literal."""
    cls = value.__class__
    if cls is str:
        return str(value)
    if cls is list:
        return _listed((_k8s_literal(item, depth + 1) for item in value), depth)
    if isinstance(value, dict):
        return _k8s_map(value, depth)
    if value is None:
        return "null"
    if cls not in _TEXTUAL:
        raise _wrong("%s", "strings, numbers, bools, bytes, times, types, lists and maps", value)
    return _K8S_TEXTS.get(cls, str)(value)


_K8S_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    bool: lambda value: "true" if value else "false",
    Uint: lambda value: str(int(value)),
    bytes: bytes_text,
    float: general,
    Timestamp: Timestamp.local_text,
    Duration: lambda value: f"{plain(value.seconds)}s",
}


def _k8s_literal(value: Any, depth: int) -> str:
    """Write what is inside a list or a map."""
    cls = value.__class__
    if cls is float:
        if isfinite(value):
            return format(value, ".6f")
        return f'"{general(value)}"'
    text = _k8s_text(value, depth)
    if cls is str:
        return quote(text, len(text))
    if cls is bytes:
        return "b" + quote(text, len(text))
    if cls is Timestamp:
        return f'timestamp("{text}")'
    return f'duration("{text}")' if cls is Duration else text


def _k8s_map(entries: dict[Any, Any], depth: int) -> str:
    pairs: list[tuple[str, Any]] = []
    for coded, value in entries.items():
        key = decode_key(coded)
        if key.__class__ not in (str, bool, int, Uint):
            raise _wrong("a key of a map", "strings, integers and bools", key)
        pairs.append((_k8s_literal(key, depth), value))
    pairs.sort(key=lambda pair: pair[0])
    return _mapped((f"{key}:{_k8s_literal(value, depth + 1)}" for key, value in pairs), depth)


# --- CEL --------------------------------------------------------------------------------------


def _cel_decimal(value: Any, _: int | None) -> str:
    cls = value.__class__
    if cls in _NUMBERS:
        return plain(value) if cls is float else str(int(value))
    raise _wrong("%d", "numbers", value)


def _cel_number(clause: str, value: Any, shape: str, precision: int | None) -> str:
    cls = value.__class__
    if cls not in _NUMBERS:
        raise _wrong(clause, "numbers", value)
    number = float(value)
    if not isfinite(number):
        return named(number)
    return format(number, f".{_DEFAULT_PRECISION if precision is None else precision}{shape}")


def _cel_fixed(value: Any, precision: int | None) -> str:
    return _cel_number("%f", value, "f", precision)


def _cel_scientific(value: Any, precision: int | None) -> str:
    return _cel_number("%e", value, "e", precision)


def _cel_string(value: Any, _: int | None) -> str:
    return _cel_text(value, 0)


def _cel_text(value: Any, depth: int) -> str:
    cls = value.__class__
    if cls is str:
        return str(value)
    if cls is list:
        return _listed((_cel_text(item, depth + 1) for item in value), depth)
    if isinstance(value, dict):
        pairs = sorted(
            ((_cel_text(decode_key(key), depth), it) for key, it in value.items()),
            key=lambda pair: pair[0],
        )
        return _mapped((f"{key}: {_cel_text(it, depth + 1)}" for key, it in pairs), depth)
    if value is None:
        return "null"
    if cls not in _TEXTUAL:
        raise _wrong("%s", "strings, numbers, bools, bytes, times, types, lists and maps", value)
    return _CEL_TEXTS.get(cls, str)(value)


_CEL_TEXTS: Final = _K8S_TEXTS | {
    float: plain,
    Timestamp: str,
    Duration: lambda value: f"{plain(value.seconds)}s",
}


# --- lists and maps in both -------------------------------------------------------------------


def _nested(depth: int) -> None:
    if depth >= MAX_NESTING:
        raise ValueFault(f"format prints at most {MAX_NESTING} lists and maps in each other")


def _listed(items: Iterable[str], depth: int) -> str:
    _nested(depth)
    return f"[{', '.join(_bounded(items))}]"


def _mapped(pairs: Iterable[str], depth: int) -> str:
    _nested(depth)
    return f"{{{', '.join(_bounded(pairs))}}}"


_SHARED: Final[dict[str, _Clause]] = {
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _upper_hexadecimal,
}
_KUBERNETES: Final = _SHARED | {
    "s": _k8s_string,
    "d": _k8s_decimal,
    "f": _k8s_fixed,
    "e": _k8s_scientific,
}
_CEL: Final = _SHARED | {
    "s": _cel_string,
    "d": _cel_decimal,
    "f": _cel_fixed,
    "e": _cel_scientific,
}
_INTEGER_NAMES: Final = frozenset({"int", "uint"})
_SHARED_TAKES: Final = {
    "b": _INTEGER_NAMES | {"bool"},
    "o": _INTEGER_NAMES,
    **dict.fromkeys("xX", _INTEGER_NAMES | {"string", "bytes"}),
    "s": frozenset({"bool", "int", "uint", "double", "string", "bytes", "null_type", "type"})
    | {"list", str(parse_type("timestamp")), str(parse_type("duration"))},
}
# The names of infinity and NaN may stand in strings, which only the value tells.
_K8S_TAKES: Final = _SHARED_TAKES | {
    "d": _INTEGER_NAMES,
    **dict.fromkeys("fe", frozenset({"double", "string"})),
}
_CEL_TAKES: Final = _SHARED_TAKES | dict.fromkeys("dfe", _INTEGER_NAMES | {"double"})
