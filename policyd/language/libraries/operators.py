"""The operators, as functions with the names that CEL gives them (`_+_`, `_<_`, `@in`).

https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions
"""

import operator
from collections.abc import Callable
from math import inf, isnan, nan
from typing import Any, Final

from policyd.language.declarations import Function, Library, Overload, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import equal
from policyd.language.limits import MAX_LIST, MAX_STRING
from policyd.language.sizes import comparing_cost, one_text_cost, scan_cost
from policyd.values import times
from policyd.values.errors import LimitFault, ValueFault
from policyd.values.maps import encode_key
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.quantity import Quantity

_TIME: Final = "google.protobuf.Timestamp"
_SPAN: Final = "google.protobuf.Duration"
_AMOUNT: Final = "kubernetes.Quantity"


def _int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise ValueFault("integer overflow")


def _uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise ValueFault("unsigned integer overflow")


def add_int(left: int, right: int) -> int:
    """Add, within 64 bits."""
    total = left + right
    if INT_MIN <= total <= INT_MAX:
        return total
    raise ValueFault("integer overflow")


def subtract_int(left: int, right: int) -> int:
    """Subtract, within 64 bits."""
    total = left - right
    if INT_MIN <= total <= INT_MAX:
        return total
    raise ValueFault("integer overflow")


def multiply_int(left: int, right: int) -> int:
    """Multiply, within 64 bits."""
    total = left * right
    if INT_MIN <= total <= INT_MAX:
        return total
    raise ValueFault("integer overflow")


def divide_int(left: int, right: int) -> int:
    """Divide, truncating toward zero."""
    if right == 0:
        raise ValueFault("division by zero")
    quotient = abs(left) // abs(right)
    return _int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo_int(left: int, right: int) -> int:
    """Give the remainder, with the sign of the dividend."""
    if right == 0:
        raise ValueFault("modulus by zero")
    if right == -1 and left == INT_MIN:
        raise ValueFault("integer overflow")
    remainder = abs(left) % abs(right)
    return remainder if left >= 0 else -remainder


def divide_uint(left: int, right: int) -> Uint:
    """Divide unsigned integers."""
    if right == 0:
        raise ValueFault("division by zero")
    return Uint(int(left) // int(right))


def modulo_uint(left: int, right: int) -> Uint:
    """Give the remainder of unsigned integers."""
    if right == 0:
        raise ValueFault("modulus by zero")
    return Uint(int(left) % int(right))


def divide_double(left: float, right: float) -> float:
    """Divide as IEEE 754 does: by zero gives an infinity, or NaN."""
    if right != 0.0:
        return left / right
    if left == 0.0 or isnan(left):
        return nan
    negative = (left < 0) != (str(right)[0] == "-")
    return -inf if negative else inf


def add_strings(left: str, right: str) -> str:
    """Join two strings."""
    if len(left) + len(right) > MAX_STRING:
        raise LimitFault(f"a string may have at most {MAX_STRING:,} characters")
    return left + right


def add_bytes(left: bytes, right: bytes) -> bytes:
    """Join two byte strings."""
    if len(left) + len(right) > MAX_STRING:
        raise LimitFault(f"bytes may have at most {MAX_STRING:,} octets")
    return left + right


def add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Join two lists."""
    if len(left) + len(right) > MAX_LIST:
        raise LimitFault(f"a list may have at most {MAX_LIST:,} elements")
    return left + right


def in_list(value: Any, items: list[Any]) -> bool:
    """Say whether a list has an element that equals the value."""
    if value.__class__ is str:
        return value in items
    return any(equal(value, item) for item in items)


def in_map(key: Any, entries: dict[Any, Any]) -> bool:
    """Say whether a map has a key."""
    if key.__class__ is list or isinstance(key, dict):
        return False
    return encode_key(key) in entries


def _flip(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: compute(right, left)


def _as_doubles(compute: Callable[[float, float], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: compute(float(left), float(right))


def _sum_length(left: Any, right: Any) -> int:
    return (len(left) + len(right)) // 10


def _mixed(name: str, compute: Callable[[float, float], Any], result: str) -> list[Overload]:
    """Declare int with double and double with int: policyd's own."""
    return [
        overload(f"{name}_{a}_{b}", f"({a}, {b}) -> {result}", _as_doubles(compute), portable=False)
        for a, b in (("int", "double"), ("double", "int"))
    ]


def _own(name: str, signature: str, compute: Callable[..., Any]) -> Overload:
    return overload(name, signature, compute, portable=False)


def _addition() -> Function:
    return function(
        "_+_",
        overload("add_int64", "(int, int) -> int", add_int),
        overload("add_uint64", "(uint, uint) -> uint", lambda a, b: _uint(int(a) + int(b))),
        overload("add_double", "(double, double) -> double", operator.add),
        overload("add_string", "(string, string) -> string", add_strings, cost=_sum_length),
        overload("add_bytes", "(bytes, bytes) -> bytes", add_bytes, cost=_sum_length),
        overload("add_list", "(list(A), list(A)) -> list(A)", add_lists, cost=_sum_length),
        overload(
            "add_timestamp_duration", f"({_TIME}, {_SPAN}) -> {_TIME}", times.add_timestamp_duration
        ),
        overload(
            "add_duration_timestamp",
            f"({_SPAN}, {_TIME}) -> {_TIME}",
            _flip(times.add_timestamp_duration),
        ),
        overload("add_duration_duration", f"({_SPAN}, {_SPAN}) -> {_SPAN}", times.add_durations),
        *_mixed("add", operator.add, "double"),
        _own("add_quantity", f"({_AMOUNT}, {_AMOUNT}) -> {_AMOUNT}", Quantity.plus),
        _own(
            "add_quantity_int",
            f"({_AMOUNT}, int) -> {_AMOUNT}",
            lambda a, b: a.plus(Quantity.from_int(b)),
        ),
        _own(
            "add_int_quantity",
            f"(int, {_AMOUNT}) -> {_AMOUNT}",
            lambda a, b: b.plus(Quantity.from_int(a)),
        ),
        doc="Adds numbers, times and quantities; joins strings, bytes and lists.",
    )


def _subtraction() -> Function:
    return function(
        "_-_",
        overload("subtract_int64", "(int, int) -> int", subtract_int),
        overload("subtract_uint64", "(uint, uint) -> uint", lambda a, b: _uint(int(a) - int(b))),
        overload("subtract_double", "(double, double) -> double", operator.sub),
        overload(
            "subtract_timestamp_timestamp",
            f"({_TIME}, {_TIME}) -> {_SPAN}",
            times.subtract_timestamps,
        ),
        overload(
            "subtract_timestamp_duration",
            f"({_TIME}, {_SPAN}) -> {_TIME}",
            times.subtract_timestamp_duration,
        ),
        overload(
            "subtract_duration_duration", f"({_SPAN}, {_SPAN}) -> {_SPAN}", times.subtract_durations
        ),
        *_mixed("subtract", operator.sub, "double"),
        _own("subtract_quantity", f"({_AMOUNT}, {_AMOUNT}) -> {_AMOUNT}", Quantity.minus),
        _own(
            "subtract_quantity_int",
            f"({_AMOUNT}, int) -> {_AMOUNT}",
            lambda a, b: a.minus(Quantity.from_int(b)),
        ),
        doc="Subtracts numbers, times and quantities.",
    )


def _multiplication() -> Function:
    return function(
        "_*_",
        overload("multiply_int64", "(int, int) -> int", multiply_int),
        overload("multiply_uint64", "(uint, uint) -> uint", lambda a, b: _uint(int(a) * int(b))),
        overload("multiply_double", "(double, double) -> double", operator.mul),
        *_mixed("multiply", operator.mul, "double"),
        *(
            _own(f"multiply_quantity_{n}", f"({_AMOUNT}, {n}) -> {_AMOUNT}", Quantity.times)
            for n in ("int", "double")
        ),
        *(
            _own(f"multiply_{n}_quantity", f"({n}, {_AMOUNT}) -> {_AMOUNT}", _flip(Quantity.times))
            for n in ("int", "double")
        ),
        doc="Multiplies numbers; scales a quantity.",
    )


def _division() -> Function:
    return function(
        "_/_",
        overload("divide_int64", "(int, int) -> int", divide_int),
        overload("divide_uint64", "(uint, uint) -> uint", divide_uint),
        overload("divide_double", "(double, double) -> double", divide_double),
        *_mixed("divide", divide_double, "double"),
        _own("divide_quantity", f"({_AMOUNT}, {_AMOUNT}) -> double", Quantity.ratio),
        *(
            _own(f"divide_quantity_{n}", f"({_AMOUNT}, {n}) -> {_AMOUNT}", Quantity.over)
            for n in ("int", "double")
        ),
        doc="Divides numbers, integers toward zero; a quantity by a quantity gives their ratio.",
    )


def _remainder() -> Function:
    return function(
        "_%_",
        overload("modulo_int64", "(int, int) -> int", modulo_int),
        overload("modulo_uint64", "(uint, uint) -> uint", modulo_uint),
        doc="Gives the remainder of a division of integers, with the sign of the dividend.",
    )


def _quantity_with_numbers() -> list[tuple[str, str]]:
    pairs = [(_AMOUNT, _AMOUNT)]
    pairs += [pair for n in ("int", "double") for pair in ((_AMOUNT, n), (n, _AMOUNT))]
    return pairs


def _short(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _equality() -> list[Function]:
    pairs = [("int", "double"), ("double", "int"), *_quantity_with_numbers()[1:]]
    equals: list[Overload] = [overload("equals", "(A, A) -> bool", equal, cost=comparing_cost)]
    differs: list[Overload] = [
        overload("not_equals", "(A, A) -> bool", lambda a, b: not equal(a, b), cost=comparing_cost)
    ]
    for a, b in pairs:
        numeric = _AMOUNT not in (a, b)
        same = _as_doubles(operator.eq) if numeric else operator.eq
        other = _as_doubles(operator.ne) if numeric else operator.ne
        suffix = f"{_short(a)}_{_short(b)}"
        equals.append(_own(f"equals_{suffix}", f"({a}, {b}) -> bool", same))
        differs.append(_own(f"not_equals_{suffix}", f"({a}, {b}) -> bool", other))
    return [
        function("_==_", *equals, doc="Says whether two values are equal."),
        function("_!=_", *differs, doc="Says whether two values differ."),
    ]


_ORDERS: Final[tuple[tuple[str, str, Callable[[Any, Any], bool]], ...]] = (
    ("_<_", "less", operator.lt),
    ("_<=_", "less_equals", operator.le),
    ("_>_", "greater", operator.gt),
    ("_>=_", "greater_equals", operator.ge),
)
_SAME_ORDERED: Final = (
    *(("bool", "bool"), ("int", "int64"), ("uint", "uint64"), ("double", "double")),
    *(("string", "string"), ("bytes", "bytes"), (_TIME, "timestamp"), (_SPAN, "duration")),
)


def _order(symbol: str, name: str, compute: Callable[[Any, Any], bool]) -> Function:
    same = [
        overload(
            f"{name}_{short}",
            f"({kind}, {kind}) -> bool",
            compute,
            cost=comparing_cost if kind in ("string", "bytes") else None,
        )
        for kind, short in _SAME_ORDERED
    ]
    crossed = [
        overload(
            f"{name}_{a}_{b}",
            f"({a}, {b}) -> bool",
            _as_doubles(compute) if "double" in (a, b) else compute,
        )
        for a in ("int", "uint", "double")
        for b in ("int", "uint", "double")
        if a != b
    ]
    own = [
        _own(f"{name}_{_short(a)}_{_short(b)}", f"({a}, {b}) -> bool", compute)
        for a, b in _quantity_with_numbers()
    ]
    return function(symbol, *same, *crossed, *own, doc="Compares two values that have an order.")


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both
    """Give the operators."""
    return Library(
        "operators",
        (
            function(
                "!_", overload("logical_not", "(bool) -> bool", operator.not_), doc="Negates."
            ),
            function(
                "-_",
                overload("negate_int64", "(int) -> int", lambda a: _int(-a)),
                overload("negate_double", "(double) -> double", operator.neg),
                _own("negate_quantity", f"({_AMOUNT}) -> {_AMOUNT}", Quantity.negated),
                doc="Changes the sign of a number or a quantity.",
            ),
            _addition(),
            _subtraction(),
            _multiplication(),
            _division(),
            _remainder(),
            *_equality(),
            *(_order(*each) for each in _ORDERS),
            function(
                "@in",
                overload(
                    "in_list",
                    "(A, list(A)) -> bool",
                    in_list,
                    cost=lambda value, items: scan_cost(items, value),
                ),
                overload(
                    "in_map",
                    "(A, map(A, B)) -> bool",
                    in_map,
                    cost=lambda key, _: one_text_cost(key),
                ),
                doc="Says whether a list has an element, or a map has a key.",
            ),
        ),
    )
