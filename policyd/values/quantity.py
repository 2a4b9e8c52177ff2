"""Amounts of a resource: exact, and read and written as Kubernetes reads and writes them.

The text form, its rounding and its oddities are those of apimachinery's `resource.Quantity`
(https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity). Here the amount is one integer
of nano-units, so that arithmetic and order are exact integer operations. Beside it stand the
notation it was written in and, because `isInteger()` and `asApproximateFloat()` tell them apart,
the decimal exponent at which Kubernetes would hold it and whether that fits 64 bits there.
"""

import re
from enum import Enum
from functools import lru_cache
from math import inf, isfinite
from sys import hash_info
from typing import Any, ClassVar, Final, NoReturn

from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN
from policyd.values.quoting import quote

NANOS: Final = 10**9
"""Nano-units in one unit."""

MAX_EXPONENT: Final = 1000
"""The largest decimal exponent that a text may carry, up or down."""

MAX_TEXT: Final = 1024
"""The longest text that is read as a quantity, in characters."""

MAX_NANOS: Final = 10**MAX_EXPONENT * NANOS
"""The largest magnitude, in nano-units: 10^1000 units. What would be larger is a fault."""


class Notation(Enum):
    """Which family of suffixes a quantity was written with, and is printed with."""

    DECIMAL = "decimal"  # 100m, 2, 5k, 1G
    BINARY = "binary"  # 64Ki, 1Gi
    EXPONENT = "exponent"  # 1e3, 5E-3


_set: Final = object.__setattr__
_DECIMAL: Final = Notation.DECIMAL
_BINARY: Final = Notation.BINARY
_EXPONENT: Final = Notation.EXPONENT
# The hash of a number is its value modulo a prime, so that equal numbers of all kinds hash alike.
_INVERSE: Final = pow(NANOS, -1, hash_info.modulus)
_NANO: Final = -9
_NARROW_DIGITS: Final = 18  # the decimal digits that Kubernetes trusts to 64 bits
_POWERS: Final = tuple(10**power for power in range(64))
_DECIMAL_SUFFIXES: Final = {
    -9: "n",
    -6: "u",
    -3: "m",
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
    18: "E",
}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# Suffix to notation and exponent: of ten, or of two where the notation is binary.
_SUFFIXES: Final[dict[str, tuple[Notation, int]]] = {
    **{suffix: (_DECIMAL, exponent) for exponent, suffix in _DECIMAL_SUFFIXES.items()},
    **{suffix: (_BINARY, 10 * at) for at, suffix in enumerate(_BINARY_SUFFIXES) if at},
}
# Possessive repeats: a text that does not fit is refused in one pass.
_SHAPE: Final = re.compile(
    r"([+-]?)(0*+)([0-9]*+)(\.[0-9]*+)?([eEinumkKMGTP]*+(?:[+-]?[0-9]*+))", re.ASCII
)


class Quantity:
    """An exact amount. Equal, ordered and hashed by value: `1Gi` equals `1024Mi`.

    A quantity also compares with plain numbers, exactly; NaN is neither below nor above nor
    equal. It is made by `parse` and the `from_` constructors and never changes.
    """

    __slots__ = ("_text", "exponent", "nanos", "narrow", "notation")

    nanos: int
    notation: Notation
    exponent: int
    narrow: bool
    _text: str | None
    cel_type: ClassVar[str] = "kubernetes.Quantity"
    cel_ordered: ClassVar[bool] = True

    def __init__(
        self,
        nanos: int,
        notation: Notation,
        exponent: int,
        text: str | None = None,
        *,
        narrow: bool = True,
    ) -> None:
        """Hold the parts. The constructors below find `exponent` and `narrow`.

        `exponent` is the power of ten at which Kubernetes would hold the amount, `narrow` says
        whether its mantissa fits 64 bits there, and `text` is how it was written, if that is
        how it prints.
        """
        _set(self, "nanos", nanos)
        _set(self, "notation", notation)
        _set(self, "exponent", exponent)
        _set(self, "narrow", narrow)
        _set(self, "_text", text)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} of a Quantity cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.nanos, self.notation, self.exponent, self._text, self.narrow)

    @staticmethod
    def parse(text: str) -> "Quantity":
        """Read a quantity's text, as Kubernetes does: `500m`, `1.5Gi`, `1e3`, `-2`.

        What is finer than a nano-unit is rounded away from zero, and a binary amount is cut at
        2^63 - 1, both as Kubernetes does.

        Raises:
            ValueFault: the text is no quantity, or is past `MAX_TEXT` or `MAX_EXPONENT`.
        """
        return _parse(text)

    @staticmethod
    def from_nanos(nanos: int, notation: Notation = _DECIMAL) -> "Quantity":
        """Make a quantity of nano-units (10^-9 of the unit).

        Raises:
            ValueFault: the amount is past `MAX_NANOS`.
        """
        if not -MAX_NANOS <= nanos <= MAX_NANOS:
            raise ValueFault(f"quantity is outside the limit of 10^{MAX_EXPONENT}")
        exponent = _NANO if nanos % NANOS else 0
        return Quantity(nanos, notation, exponent, narrow=_fits(nanos, exponent))

    @staticmethod
    def from_milli(milli: int, notation: Notation = _DECIMAL) -> "Quantity":
        """Make a quantity of thousandths of the unit, such as millicores."""
        return Quantity.from_nanos(milli * 10**6, notation)

    @staticmethod
    def from_int(units: int, notation: Notation = _DECIMAL) -> "Quantity":
        """Make a quantity of whole units, such as bytes or cores."""
        return Quantity.from_nanos(units * NANOS, notation)

    def plus(self, other: "Quantity") -> "Quantity":
        """Add. The sum prints in this quantity's notation, or the other's where this is zero.

        Raises:
            ValueFault: the sum is past `MAX_NANOS`.
        """
        return self._joined(other, self.nanos + other.nanos)

    def minus(self, other: "Quantity") -> "Quantity":
        """Subtract; the notation is found, and the limit kept, as in `plus`."""
        return self._joined(other, self.nanos - other.nanos)

    def negated(self) -> "Quantity":
        """Give the amount with the other sign."""
        return Quantity.from_nanos(-self.nanos, self.notation)

    def times(self, number: float) -> "Quantity":
        """Multiply by an integer or a double; what is finer than a nano-unit is rounded up.

        A double counts as the exact binary fraction that it is. "Up" is away from zero, as
        Kubernetes rounds quantities.

        Raises:
            ValueFault: the number is NaN or infinite, or the product is past `MAX_NANOS`.
        """
        top, bottom = _ratio_of(number)
        return Quantity.from_nanos(_divide_up(self.nanos * top, bottom), self.notation)

    def over(self, number: float) -> "Quantity":
        """Divide by an integer or a double, rounded as in `times`.

        Raises:
            ValueFault: the number is zero, NaN or infinite, or the result is past `MAX_NANOS`.
        """
        top, bottom = _ratio_of(number)
        if not top:
            raise ValueFault("division by zero")
        if top < 0:
            top, bottom = -top, -bottom
        return Quantity.from_nanos(_divide_up(self.nanos * bottom, top), self.notation)

    def ratio(self, other: "Quantity") -> float:
        """Divide by a quantity into the nearest double; by zero it is infinite, or NaN for 0/0."""
        if other.nanos:
            return _quotient(self.nanos, other.nanos)
        return self.sign * inf

    @property
    def sign(self) -> int:
        """Give -1, 0 or 1."""
        return (self.nanos > 0) - (self.nanos < 0)

    def is_integer(self) -> bool:
        """Say whether Kubernetes' `isInteger()` holds.

        It does where a 64-bit integer was *written*: not for `2000m`, `2.0` or `1Pi` (Kubernetes
        holds an amount of so many binary digits in another form), although they are whole.
        """
        return self.narrow and self.exponent >= 0 and _fits(self.nanos, 0)

    def as_integer(self) -> int:
        """Give the whole number that `is_integer` promises.

        Raises:
            ValueFault: there is none.
        """
        if not self.is_integer():
            raise ValueFault(f"cannot convert value to integer: {self}")
        return self.nanos // NANOS

    def as_float(self) -> float:
        """Give what Kubernetes' `asApproximateFloat()` gives, to the last bit.

        That is the mantissa as a double times a power of ten as a double: off by an ulp here and
        there. `nearest_float` is the correctly rounded one.
        """
        mantissa = _quotient(self.nanos, _unit(self.exponent))
        return mantissa * _power_of_ten(self.exponent) if self.exponent else mantissa

    def nearest_float(self) -> float:
        """Give the nearest double; infinite where there is none."""
        return _quotient(self.nanos, NANOS)

    def value(self) -> int:
        """Give the amount in whole units, rounded up (away from zero)."""
        return _divide_up(self.nanos, NANOS)

    def milli_value(self) -> int:
        """Give the amount in thousandths of the unit, rounded up (away from zero)."""
        return _divide_up(self.nanos, 10**6)

    def __str__(self) -> str:
        return _canonical(self.nanos, self.notation) if self._text is None else self._text

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.nanos * _INVERSE)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quantity):
            return self.nanos == other.nanos
        return NotImplemented if (order := self._order(other)) is None else order == 0

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, Quantity):
            return self.nanos < other.nanos
        return NotImplemented if (order := self._order(other)) is None else order < 0

    def __le__(self, other: Any) -> bool:
        if isinstance(other, Quantity):
            return self.nanos <= other.nanos
        return NotImplemented if (order := self._order(other)) is None else order <= 0

    def __gt__(self, other: Any) -> bool:
        if isinstance(other, Quantity):
            return self.nanos > other.nanos
        return NotImplemented if (order := self._order(other)) is None else order > 0

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, Quantity):
            return self.nanos >= other.nanos
        return NotImplemented if (order := self._order(other)) is None else order >= 0

    def _order(self, number: object) -> float | None:
        """Compare with a number: below zero, zero, above zero or NaN. `None` for other kinds."""
        if isinstance(number, bool) or not isinstance(number, int | float):
            return None
        if isinstance(number, float) and not isfinite(number):
            return -number
        top, bottom = number.as_integer_ratio()
        left, right = self.nanos * bottom, top * NANOS
        return (left > right) - (left < right)

    def _joined(self, other: "Quantity", nanos: int) -> "Quantity":
        """Make the sum or difference `nanos` of this and `other`, held as Kubernetes would."""
        if not -MAX_NANOS <= nanos <= MAX_NANOS:
            raise ValueFault(f"quantity arithmetic passes the limit of 10^{MAX_EXPONENT}")
        notation = self.notation if self.nanos else other.notation
        exponent = min(self.exponent, other.exponent)
        narrow = self.narrow and other.narrow
        if narrow and not (self.nanos and other.nanos):
            exponent = self.exponent if not other.nanos else other.exponent
        elif narrow:
            narrow = (
                _fits(nanos, exponent)
                and _fits(self.nanos, exponent)
                and _fits(other.nanos, exponent)
            )
        return Quantity(nanos, notation, exponent, narrow=narrow)


def _restored(
    nanos: int,
    notation: Notation,
    exponent: int,
    text: str | None,
    narrow: bool,  # noqa: FBT001 - pickle passes by position
) -> Quantity:
    return Quantity(nanos, notation, exponent, text, narrow=narrow)


def _unit(exponent: int) -> int:
    """Give 10^exponent units in nano-units; `exponent` is -9 or more."""
    power = exponent - _NANO
    return _POWERS[power] if power < len(_POWERS) else int(10**power)


def _fits(nanos: int, exponent: int) -> bool:
    """Say whether a 64-bit mantissa at `exponent` holds the amount (a whole multiple of it)."""
    unit = _unit(exponent)
    return INT_MIN * unit <= nanos <= INT_MAX * unit


def _divide_up(top: int, bottom: int) -> int:
    """Divide, rounded away from zero. `bottom` is positive."""
    return -(-top // bottom) if top > 0 else top // bottom


def _quotient(top: int, bottom: int) -> float:
    """Divide integers into the nearest double; past the largest double it is infinite."""
    try:
        return top / bottom
    except OverflowError:
        return inf if (top > 0) == (bottom > 0) else -inf


def _ratio_of(number: float) -> tuple[int, int]:
    """Give the exact fraction of a number, the denominator positive."""
    if not isfinite(number):
        raise ValueFault(f"a quantity cannot be scaled by {number}")
    return number.as_integer_ratio()


def _power_of_ten(exponent: int) -> float:
    """Give the double that Go's `math.Pow10` gives: a product of two table entries."""
    if exponent > 308:
        return inf
    if exponent < 0:
        return 1.0 / float(f"1e{-exponent}")
    return float(f"1e{exponent - exponent % 32}") * float(f"1e{exponent % 32}")


def _canonical(nanos: int, notation: Notation) -> str:
    """Print with the largest suffix that leaves a whole number."""
    if not nanos:
        return "0"
    units, rest = divmod(nanos, NANOS)
    if notation is _BINARY and not rest and abs(units) >= 1024:
        return _canonical_binary(units)
    mantissa, exponent = nanos, _NANO
    while not mantissa % 1000:
        mantissa //= 1000
        exponent += 3
    if notation is _EXPONENT:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    suffix = _DECIMAL_SUFFIXES.get(exponent)
    # Past `E` Kubernetes prints no suffix at all, which is another number. Not so here.
    return f"{mantissa}e{exponent}" if suffix is None else f"{mantissa}{suffix}"


def _canonical_binary(units: int) -> str:
    steps = ((units & -units).bit_length() - 1) // 10
    if steps >= len(_BINARY_SUFFIXES):  # past `Ei` Kubernetes prints no suffix, as above
        return str(units)
    return f"{units >> 10 * steps}{_BINARY_SUFFIXES[steps]}"


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    if len(text) > MAX_TEXT:
        raise ValueFault(f"quantity text is longer than the limit of {MAX_TEXT} characters")
    shape = _SHAPE.fullmatch(text)
    if not text or shape is None:
        raise ValueFault(
            "quantities must be a number, optionally signed, with an optional suffix such as"
            f" `m`, `k`, `Gi` or `e3`: {quote(text)}"
        )
    sign, zeros, whole, fraction, suffix = shape.groups()
    notation, power = _SUFFIXES.get(suffix) or _exponent_of(suffix, text)
    places = fraction[1:] if fraction else ""
    read = _parse_binary if notation is _BINARY else _parse_decimal
    found = read(text, whole or "0", places, power, notation, negative=sign == "-")
    if not (found.narrow or zeros or whole or places):
        # Kubernetes reads a bare `Gi` as 0 and refuses a bare `Ei`. So does this.
        raise ValueFault(f"unable to parse numeric part of quantity: {quote(text)}")
    return found


def _exponent_of(suffix: str, text: str) -> tuple[Notation, int]:
    """Read the suffixes `e3`, `E-9`, `e+1`."""
    digits = suffix[1:].removeprefix("-" if suffix[1:2] == "-" else "+")
    if suffix[:1] not in ("e", "E") or not digits.isdecimal():
        hint = " (kilo is `k`)" if suffix == "K" else ""
        raise ValueFault(f"unable to parse quantity's suffix: {quote(text)}{hint}")
    exponent = int(suffix[1:])
    if abs(exponent) > MAX_EXPONENT:
        raise ValueFault(f"quantity exponent is outside the limit of {MAX_EXPONENT}: {quote(text)}")
    return _EXPONENT, exponent


def _parse_decimal(
    text: str, whole: str, places: str, power: int, notation: Notation, *, negative: bool
) -> Quantity:
    digits = whole + places
    amount = -int(digits) if negative else int(digits)
    exponent = power - len(places)
    if exponent < _NANO:
        return _wide(_divide_up(amount, 10 ** (_NANO - exponent)), notation)
    nanos = amount * _unit(exponent)
    if len(digits) > _NARROW_DIGITS:
        return _wide(nanos, notation, _NANO if nanos else exponent)
    # Kubernetes prints such a text as it was written where it finds it canonical.
    kept = exponent % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return Quantity(nanos, notation, exponent, text if kept else None)


def _parse_binary(
    text: str, whole: str, places: str, power: int, notation: Notation, *, negative: bool
) -> Quantity:
    if places or len(whole) + power * 3 // 10 > _NARROW_DIGITS - 4:
        amount = (int(whole + places) << power) * NANOS
        nanos = min(_divide_up(amount, 10 ** len(places)), INT_MAX * NANOS)
        held = _DECIMAL if 0 < nanos < NANOS else notation
        exponent = 0 if nanos in (0, INT_MAX * NANOS) else _NANO
        return _wide(-nanos if negative else nanos, held, exponent)
    units = int(whole)
    # Kubernetes prints such a text as it was written where it finds it canonical.
    kept = units & 7 != 0
    nanos = (units << power) * NANOS
    return Quantity(-nanos if negative else nanos, notation, 0, text if kept else None)


def _wide(nanos: int, notation: Notation, exponent: int = _NANO) -> Quantity:
    """Make a quantity that Kubernetes holds as a decimal without bounds, not as 64 bits."""
    if not -MAX_NANOS <= nanos <= MAX_NANOS:
        raise ValueFault(f"quantity is outside the limit of 10^{MAX_EXPONENT}")
    return Quantity(nanos, notation, exponent, narrow=False)


ZERO: Final = Quantity(0, _DECIMAL, 0)
