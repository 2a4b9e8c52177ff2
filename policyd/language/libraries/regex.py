r"""Regular expressions: `matches` of CEL, `find` and `findAll` of Kubernetes.

They run on RE2, so that no pattern takes more than time linear in the text
(https://github.com/google/re2/wiki/Syntax). Where RE2 and the Go package that Kubernetes uses
differ, Go's answer is given: `\C` is refused, and an empty match right after another is no match.
RE2 is imported when the first pattern is read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.limits import MAX_LIST
from policyd.language.sizes import bounded_list, text_cost
from policyd.values.errors import LimitFault, ValueFault
from policyd.values.quoting import quote

MAX_PATTERN: Final = 4096
"""The longest pattern that is read, in characters."""

MAX_MEMORY: Final = 1_048_576
"""Bytes that RE2 may use for one pattern: its program, and the states met while matching."""

KEPT: Final = 256
"""Compiled patterns that are kept for the next call."""

READINGS: Final = 500
"""How often `findAll` may read a long text in search of one match after the other."""

# Units charged for a pattern that RE2 refuses: it can take it 20 ms to find it too large, and 10 us
# a character to find another fault.
_COST_OF_LARGE: Final = 20_000
_COST_OF_CHARACTER: Final = 5
_INSTRUCTIONS: Final = 32  # of a program, for one unit at ten characters
_TOO_LARGE: Final = "pattern too large"
_MEMORY: Final = f"it needs more than the limit of {MAX_MEMORY} bytes"
_PERL: Final = "invalid perl operator: "
_ESCAPE: Final = "invalid escape sequence: "
# A quoted piece, or one escaped character.
_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both dialects
    """Declare the functions."""
    return Library(
        "regex",
        (
            function(
                "matches",
                overload("matches", "(string, string) -> bool", _matches, cost=_cost),
                overload("matches_string", "string.(string) -> bool", _matches, cost=_cost),
                doc="Says whether a regular expression matches somewhere in the string.",
            ),
            function(
                "find",
                overload("string_find_string", "string.(string) -> string", _find, cost=_cost),
                doc="Gives the first match of a regular expression, or the empty string.",
            ),
            function(
                "findAll",
                overload(
                    "string_find_all_string",
                    "string.(string) -> list(string)",
                    _find_all,
                    cost=_cost_of_all,
                ),
                overload(
                    "string_find_all_string_int",
                    "string.(string, int) -> list(string)",
                    _find_all,
                    cost=_cost_of_all,
                ),
                doc="Gives the matches of a regular expression, at most as many as the limit says"
                " if that is not negative.",
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that RE2 has read. `size` is the number of instructions of its program."""

    text: str
    compiled: Any
    size: int

    def matches(self, data: bytes) -> bool:
        """Say whether the pattern matches somewhere in the UTF-8 text `data`."""
        return next(self.spans(data), None) is not None

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Give where the pattern matches, without overlap.

        Raises:
            LimitFault: looking for one match after the other would read the text too often.
        """
        at, end_before, left = 0, -1, self.allowance(len(data))
        while at <= len(data):
            left -= len(data) - at
            if left < 0 < at:
                raise LimitFault("finding every match would read the text too often")
            match = self.compiled.search(data, at)
            if match is None:
                return
            start, end = match.span()
            if start == end and _inside(data, start):
                at = start + 1  # `\B` holds between the bytes of a character, which is no place
                continue
            if start < end or start != end_before:
                yield start, end
            end_before = end
            at = _after(data, at) if end == at else end

    def allowance(self, length: int) -> int:
        """Give the bytes that may be read to find every match in a text of so many.

        The search for one match may read to the end of the text, for each match anew.
        """
        return READINGS * (length + 10_000) // (1 + self.size // _INSTRUCTIONS)


def _inside(data: bytes, at: int) -> bool:
    """Say whether a place is inside a character."""
    return at < len(data) and data[at] & 0xC0 == 0x80


def _after(data: bytes, at: int) -> int:
    """Give the place after the character that begins at one."""
    at += 1
    while _inside(data, at):
        at += 1
    return at


def compile_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        ValueFault: RE2 does not take it, for the reason in the message; or it is longer than
            `MAX_PATTERN` or needs more than `MAX_MEMORY`.
    """
    found = _read(text)
    if isinstance(found, str):
        raise ValueFault(found)
    return found


def _read(text: str) -> Pattern | str:
    """Give the pattern, or what is wrong with it."""
    if len(text) > MAX_PATTERN:  # said here, so that long texts are not kept
        return f"the pattern is longer than the limit of {MAX_PATTERN} characters"
    return _compiled(text)


# Faults are kept like patterns: finding one can take as long.
@lru_cache(maxsize=KEPT)
def _compiled(text: str) -> Pattern | str:
    import re2  # noqa: PLC0415 - takes longer to import than most programs run

    if any(escaped[1] == "C" for escaped in _ESCAPED.finditer(text)):
        return f"invalid regular expression {quote(text)}: {_ESCAPE}\\C"
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(text, options)
    except UnicodeEncodeError:
        return f"invalid regular expression {quote(text)}: half of a surrogate pair"
    except re2.error as error:
        return f"invalid regular expression {quote(text)}: {_reason(error.args[0])}"
    return Pattern(text, compiled, compiled.programsize)


def _reason(raw: bytes) -> str:
    """Say why RE2 refuses a pattern, and for what people miss most that RE2 has none of it."""
    reason = raw.decode("utf-8", "replace")
    operator = reason.removeprefix(_PERL)
    if reason.startswith(_TOO_LARGE):
        return _MEMORY
    if operator.startswith(("(?=", "(?!", "(?<=", "(?<!")):
        return f"lookahead and lookbehind are not supported: {operator}"
    if reason.startswith(_ESCAPE) and reason[-1:] in "123456789":
        return f"back references are not supported: {reason.removeprefix(_ESCAPE)}"
    return quote(reason)[1:-1].replace("\\\\", "\\")


def _matches(text: str, pattern: str) -> bool:
    return compile_pattern(pattern).matches(_encoded(text))


def _find(text: str, pattern: str) -> str:
    data = _encoded(text)
    for start, end in compile_pattern(pattern).spans(data):
        return data[start:end].decode()
    return ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    data = _encoded(text)
    spans = compile_pattern(pattern).spans(data)
    most = MAX_LIST + 1 if limit < 0 else min(limit, MAX_LIST + 1)
    found = [data[start:end].decode() for start, end in islice(spans, most)]
    bounded_list(len(found))
    return found


def _encoded(text: str) -> bytes:
    """Give the UTF-8 form of a text, which is what RE2 reads."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueFault(f"half of a surrogate pair in {quote(text)}") from None


def _cost(text: str, pattern: str) -> int:
    """Charge for matching, and for reading the pattern, as if it had never been read.

    RE2 falls back to following every instruction of the program at each character when its
    memory is full: 3 ns each, as measured, so a unit for thirty-two of them at ten characters.
    Whether the pattern is at hand must not change the charge, or the same evaluation
    would reach the limit on one day and not on the other.
    """
    found = _read(pattern)
    if isinstance(found, Pattern):
        return text_cost(len(text)) * (1 + found.size // _INSTRUCTIONS) + found.size // 8
    return _COST_OF_LARGE if found.endswith(_MEMORY) else _COST_OF_CHARACTER * len(pattern) + 1


def _cost_of_all(text: str, pattern: str, limit: int = -1) -> int:  # noqa: ARG001 - as CEL calls it
    # The text may be read up to `READINGS` times, and there may be as many matches as characters.
    return 64 * _cost(text, pattern) + len(text)
