"""Doubles as text, exactly as Go reads and writes them, whose shapes Kubernetes' users know.

Reading follows Go's `strconv.ParseFloat` (underscores, hexadecimal mantissas, `inf`), writing its
`%g` and `%f` with the fewest digits that read back as the same double.
"""

import re
from math import inf, isfinite, isinf, nan
from typing import Final

from policyd.values.errors import ValueFault
from policyd.values.quoting import quote

# An underscore may stand between two digits, and after `0x`. Possessive: one pass, no retries.
_DIGITS: Final = r"[0-9]++(?:_[0-9]++)*+"
_HEX: Final = r"[0-9a-fA-F]++(?:_[0-9a-fA-F]++)*+"
_DECIMAL: Final = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEXADECIMAL: Final = re.compile(
    rf"[+-]?0[xX](?=[._]?[0-9a-fA-F])(?:_?{_HEX})?(?:\.(?:{_HEX})?)?[pP]([+-]?{_DIGITS})"
)
_NAMED: Final = {
    "nan": nan,
    **{s + n: float(s + n) for s in ("", "+", "-") for n in ("inf", "infinity")},
}
_LARGEST_EXPONENT: Final = 100_000
# Go's `%g` without a precision turns to an exponent outside these powers of ten.
_GENERAL: Final = range(-4, 6)


def parse_double(text: str) -> float:
    """Read a double: `1`, `-1.5e3`, `.5`, `1_000.0`, `0x1p-2`, `inf`, `NaN`.

    Raises:
        ValueFault: the text is no number, or the number is past the largest double.
    """
    found: float | None = None
    if _DECIMAL.fullmatch(text):
        found = float(text)
    elif (hexadecimal := _HEXADECIMAL.fullmatch(text)) is not None:
        found = _parse_hexadecimal(text.replace("_", ""), hexadecimal[1].replace("_", ""))
    elif len(text) <= len("+infinity"):
        named = _NAMED.get(text.lower())
        if named is not None:
            return named
    if found is None or isinf(found):
        raise ValueFault(f"cannot read {quote(text)} as a double")
    return found


def _parse_hexadecimal(text: str, exponent: str) -> float:
    """Read a hexadecimal double; past the largest double it is infinite."""
    digits = exponent.lstrip("+-").lstrip("0")
    if len(digits) > len(str(_LARGEST_EXPONENT)):  # more than the mantissa could make up for
        mantissa = text[: text.lower().index("p")]
        vanishes = exponent.startswith("-") or not mantissa.strip("+-0xX.")
        return (-0.0 if text.startswith("-") else 0.0) if vanishes else inf
    try:
        return float.fromhex(text)
    except OverflowError:
        return inf


def general(value: float) -> str:
    """Write a double as Go's `%g` does: `1`, `0.1`, `1e+06`, `1.5e-07`, `+Inf`, `NaN`."""
    if not isfinite(value):
        return _infinite(value)
    sign, digits, point = _shortest(value)
    exponent = point - 1
    if exponent in _GENERAL:
        return sign + _placed(digits, point)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def plain(value: float) -> str:
    """Write a double with the fewest digits and no exponent: `1`, `0.00001`, `Infinity`."""
    if not isfinite(value):
        return named(value)
    sign, digits, point = _shortest(value)
    return sign + _placed(digits, point)


def named(value: float) -> str:
    """Write infinity or NaN as protobuf's JSON form and CEL do."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124


def _infinite(value: float) -> str:
    return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"  # noqa: PLR0124 - NaN


def _shortest(value: float) -> tuple[str, str, int]:
    """Give the sign, the shortest digits, and how many of them stand before the point."""
    text = repr(value)
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    point = len(whole) + int(exponent or 0) - leading
    digits = digits.strip("0")
    return (sign, digits, point) if digits else (sign, "0", 1)


def _placed(digits: str, point: int) -> str:
    """Put the point into digits, with zeros where there are too few of them."""
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"
