"""The functions of `math`, as in cel-go's math extension. Kubernetes has none of them.

https://pkg.go.dev/github.com/google/cel-go/ext#Math
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from policyd.language.declarations import Function, Library, Overload, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import compare, no_overload
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MIN, UINT_MAX, Uint

MAX_ARGUMENTS: Final = 16
"""How many numbers `math.greatest` and `math.least` compare; a list may hold more."""

_NUMBERS: Final = ("int", "uint", "double")
_CLASSES: Final = frozenset({int, Uint, float})
_BITS: Final = 64
_Declared = tuple[str, str, Callable[..., Any]]


def library(dialect: Dialect) -> Library:
    """Declare the functions; in Kubernetes' dialect all of them are policyd's additions."""
    portable = dialect is Dialect.CEL

    def declare(name: str, doc: str, *overloads: _Declared) -> Function:
        made = (overload(*it, portable=portable) for it in overloads)
        return function(f"math.{name}", *made, doc=doc)

    return Library(
        "math",
        (
            _extreme("greatest", "@max", _greater, "Gives the greatest number.", portable=portable),
            _extreme("least", "@min", _lesser, "Gives the least number.", portable=portable),
            *_rounding(declare),
            *_signs(declare),
            *_bits(declare),
            *((_exp(),) if dialect is Dialect.KUBERNETES else ()),
        ),
    )


def _exp() -> Function:
    numbers = ("double", "int")
    made = (overload(f"math_exp_{n}", f"({n}) -> double", exp, portable=False) for n in numbers)
    return function("math.exp", *made, doc="Gives e to the power of a number.")


def exp(power: float) -> float:
    """Give e to a power; infinite past the largest double."""
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf


# --- the greatest and the least --------------------------------------------------------------


def _extreme(
    name: str, id_: str, pick: Callable[[Any, Any], Any], doc: str, *, portable: bool
) -> Function:
    """Declare a function of one number, of a list, or of up to `MAX_ARGUMENTS` numbers.

    Numbers of one type give that type, others give one that only the values tell.
    """
    full = f"math.{name}"

    def of_list(items: list[Any]) -> Any:
        if not items:
            raise ValueFault(f"{full} of an empty list")
        for item in items:
            if item.__class__ not in _CLASSES:
                raise no_overload(full, item)
        return reduce(pick, items)

    def of_numbers(*items: Any) -> Any:
        return of_list(list(items))

    def declare(suffix: str, params: str, result: str, compute: Callable[..., Any]) -> Overload:
        cost = len if compute is of_list else None
        return overload(
            f"math_{id_}_{suffix}", f"({params}) -> {result}", compute, cost=cost, portable=portable
        )

    overloads = [declare(type_, type_, type_, of_numbers) for type_ in _NUMBERS]
    overloads += [declare(f"list_{it}", f"list({it})", it, of_list) for it in _NUMBERS]
    overloads += [
        declare(f"{a}_{b}", f"{a}, {b}", a if a == b else "dyn", of_numbers)
        for a in _NUMBERS
        for b in _NUMBERS
    ]
    overloads += [
        declare(f"{type_}_{count}", ", ".join([type_] * count), type_, of_numbers)
        for count in range(3, MAX_ARGUMENTS + 1)
        for type_ in (*_NUMBERS, "dyn")
    ]
    return function(full, *overloads, doc=doc)


def _greater(left: Any, right: Any) -> Any:
    return right if _order(left, right) < 0 else left


def _lesser(left: Any, right: Any) -> Any:
    return right if _order(left, right) > 0 else left


def _order(left: Any, right: Any) -> int:
    order = compare(left, right)
    if order is None:
        raise ValueFault("NaN values cannot be ordered")
    return order


# --- rounding and signs ----------------------------------------------------------------------


def _rounding(declare: Callable[..., Function]) -> tuple[Function, ...]:
    def of_double(name: str, result: str, compute: Callable[[float], Any], doc: str) -> Function:
        return declare(name, doc, (f"math_{name}_double", f"(double) -> {result}", compute))

    return (
        of_double("ceil", "double", _rounded_by(math.ceil), "Rounds up to a whole number."),
        of_double("floor", "double", _rounded_by(math.floor), "Rounds down to a whole number."),
        of_double(
            "round", "double", _round, "Rounds to the nearest whole number, halves away from zero."
        ),
        of_double("trunc", "double", _rounded_by(math.trunc), "Cuts the fraction off."),
        of_double("isInf", "bool", math.isinf, "Says whether a double is infinite."),
        of_double("isNaN", "bool", math.isnan, "Says whether a double is not a number."),
        of_double("isFinite", "bool", math.isfinite, "Says whether a double is a finite number."),
        declare(
            "sqrt",
            "Gives the square root of a number, NaN where it is negative.",
            *((f"math_sqrt_{it}", f"({it}) -> double", _sqrt) for it in _NUMBERS),
        ),
    )


def _rounded_by(compute: Callable[[float], int]) -> Callable[[float], float]:
    """Round to a double; zero keeps the sign, and what is not finite stays as it is."""

    def rounded(value: float) -> float:
        return math.copysign(compute(value), value) if math.isfinite(value) else value

    return rounded


def _round(value: float) -> float:
    if not math.isfinite(value):
        return value
    whole = math.trunc(value)
    if abs(value - whole) >= 0.5:
        whole += 1 if value > 0 else -1
    return math.copysign(whole, value)


def _sqrt(value: float) -> float:
    number = float(value)
    return math.nan if number < 0 else math.sqrt(number)


def _signs(declare: Callable[..., Function]) -> tuple[Function, ...]:
    return (
        declare(
            "abs",
            "Gives a number without its sign.",
            ("math_abs_double", "(double) -> double", abs),
            ("math_abs_int", "(int) -> int", _abs_int),
            ("math_abs_uint", "(uint) -> uint", lambda value: value),
        ),
        declare(
            "sign",
            "Gives -1, 0 or 1 for a negative number, zero or a positive one.",
            ("math_sign_double", "(double) -> double", _sign_double),
            ("math_sign_int", "(int) -> int", lambda value: (value > 0) - (value < 0)),
            ("math_sign_uint", "(uint) -> uint", lambda value: Uint(value > 0)),
        ),
    )


def _abs_int(value: int) -> int:
    if value == INT_MIN:
        raise ValueFault("integer overflow")
    return abs(value)


def _sign_double(value: float) -> float:
    return value if math.isnan(value) else float((value > 0) - (value < 0))


# --- bits ------------------------------------------------------------------------------------


def _bits(declare: Callable[..., Function]) -> tuple[Function, ...]:
    def of_two(name: str, doc: str, compute: Callable[[int, int], int]) -> Function:
        return declare(
            name,
            doc,
            (f"math_{name}_int_int", "(int, int) -> int", compute),
            (f"math_{name}_uint_uint", "(uint, uint) -> uint", _unsigned(compute)),
        )

    def shift(name: str, doc: str, compute: Callable[[int, int], int]) -> Function:
        return declare(
            name,
            doc,
            (f"math_{name}_int_int", "(int, int) -> int", _signed_shift(compute)),
            (f"math_{name}_uint_int", "(uint, int) -> uint", _unsigned(compute)),
        )

    return (
        of_two("bitAnd", "Gives the bits that two integers both have.", lambda a, b: a & b),
        of_two("bitOr", "Gives the bits that one of two integers has.", lambda a, b: a | b),
        of_two("bitXor", "Gives the bits in which two integers differ.", lambda a, b: a ^ b),
        declare(
            "bitNot",
            "Turns every bit of an integer over.",
            ("math_bitNot_int_int", "(int) -> int", lambda value: ~value),
            ("math_bitNot_uint_uint", "(uint) -> uint", lambda value: Uint(UINT_MAX - value)),
        ),
        shift(
            "bitShiftLeft", "Moves bits up by so many places; those past the 64th are lost.", _left
        ),
        shift("bitShiftRight", "Moves bits down by so many places, zeros following.", _right),
    )


def _unsigned(compute: Callable[[int, int], int]) -> Callable[[int, int], Uint]:
    return lambda left, right: Uint(compute(int(left), int(right)))


def _signed_shift(compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Shift the 64 bits of two's complement."""

    def shifted(value: int, places: int) -> int:
        bits = compute(value & UINT_MAX, places)
        return bits - (UINT_MAX + 1) if bits >> (_BITS - 1) else bits

    return shifted


def _left(bits: int, places: int) -> int:
    return (bits << _places(places)) & UINT_MAX


def _right(bits: int, places: int) -> int:
    return bits >> _places(places)


def _places(places: int) -> int:
    if places < 0:
        raise ValueFault(f"negative offset: {places}")
    return min(places, _BITS)
