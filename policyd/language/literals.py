"""The values of literals: numbers and their bounds, strings and their escapes.

https://github.com/google/cel-spec/blob/master/doc/langdef.md#values
"""

import re
from typing import Any, Final

from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, UINT_MAX, Uint
from policyd.values.quantity import Quantity


class LiteralFault(Exception):  # noqa: N818 - becomes a diagnostic, is no error of the program
    """A literal without a value. `start` and `end` are offsets in its text."""

    def __init__(self, code: str, message: str, start: int, end: int, help_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.help = help_


_ESCAPE: Final = re.compile(
    r"\\(?:(?P<simple>[abfnrtv\\?\"'`])|[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2}))"
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def integer(text: str) -> int:
    """Give the value of an int literal. 2^63 is allowed, for a minus sign may stand before it.

    Raises:
        LiteralFault: it is larger.
    """
    value = _whole(text)
    if value > INT_MAX + 1:
        raise _out_of_range(text, "int", "-9223372036854775808 to 9223372036854775807")
    return value


def unsigned(text: str) -> Uint:
    """Give the value of a uint literal.

    Raises:
        LiteralFault: it is out of range.
    """
    value = _whole(text[:-1])
    if value > UINT_MAX:
        raise _out_of_range(text, "uint", "0 to 18446744073709551615")
    return Uint(value)


def quantity(text: str) -> str:
    """Give the text of a quantity literal.

    Raises:
        LiteralFault: it is past what a quantity can be.
    """
    try:
        Quantity.parse(text)
    except ValueFault as fault:
        raise LiteralFault("E105", fault.message, 0, len(text)) from None
    return text


def _whole(text: str) -> int:
    digits = text[2:] if text[:2] == "0x" else text
    if len(digits.lstrip("0")) > 20:
        return UINT_MAX + 1
    return int(text, 16) if text[:2] == "0x" else int(text)


def _out_of_range(text: str, kind: str, bounds: str) -> LiteralFault:
    shown = text if len(text) <= 24 else f"{text[:20]}…"
    return LiteralFault(
        "E105", f"`{shown}` is out of range for {kind}", 0, len(text), f"an {kind} holds {bounds}"
    )


def string(text: str) -> str:
    """Give the value of a string literal.

    Raises:
        LiteralFault: an escape is not one of the language's.
    """
    raw = text[0] in "rR"
    body, start = _body(text, 1 if raw else 0)
    if raw or "\\" not in body:
        return body
    return "".join(_unescape(body, start, octets=False))


def octets(text: str) -> bytes:
    """Give the value of a bytes literal: characters are their UTF-8 octets.

    Raises:
        LiteralFault: an escape is not one of the language's.
    """
    raw = text[1] in "rR"
    body, start = _body(text, 2 if raw else 1)
    if raw or "\\" not in body:
        return body.encode()
    return b"".join(
        part.encode("latin-1") if escaped else part.encode()
        for part, escaped in _pieces(body, start, octets=True)
    )


def _body(text: str, prefix: int) -> tuple[str, int]:
    width = 3 if text[prefix : prefix + 3] in ('"""', "'''") and len(text) >= prefix + 6 else 1
    # Line ends are those of the language, however the file spells them.
    return text[prefix + width : -width].replace("\r\n", "\n"), prefix + width


def _unescape(body: str, start: int, *, octets: bool) -> list[str]:
    return [part for part, _ in _pieces(body, start, octets=octets)]


def _pieces(body: str, start: int, *, octets: bool) -> list[tuple[str, bool]]:
    pieces: list[tuple[str, bool]] = []
    at = 0
    while (slash := body.find("\\", at)) >= 0:
        pieces.append((body[at:slash], False))
        match = _ESCAPE.match(body, slash)
        if match is None:
            raise _bad_escape(body, slash, start)
        pieces.append((_escaped(match, start, octets=octets), match["simple"] is None))
        at = match.end()
    pieces.append((body[at:], False))
    return pieces


def _escaped(match: re.Match[str], start: int, *, octets: bool) -> str:
    if (simple := match["simple"]) is not None:
        return _SIMPLE.get(simple, simple)
    if (octal := match["octal"]) is not None:
        return chr(int(octal, 8))
    if (two := match["hex"]) is not None:
        return chr(int(two, 16))
    where = start + match.start(), start + match.end()
    if octets:
        raise LiteralFault(
            "E104", f"`{match[0]}` cannot stand in bytes", *where, "write its octets as `\\xHH`"
        )
    point = int(match["short"] or match["long"], 16)
    if 0xD800 <= point <= 0xDFFF or point > 0x10FFFF:
        raise LiteralFault("E104", f"`{match[0]}` is not a character of Unicode", *where)
    return chr(point)


def _bad_escape(body: str, slash: int, start: int) -> LiteralFault:
    wrong = body[slash : slash + 2]
    return LiteralFault(
        "E104",
        f"`{wrong}` is not an escape",
        start + slash,
        start + slash + len(wrong),
        "write `\\\\` for a backslash, or put `r` before the string to take it as it stands",
    )


def number(text: str) -> Any:
    """Give the value of a double literal; too large is infinite, as IEEE 754 rounds it."""
    return float(text)
