"""The text of a rule file or an expression, and places in it.

Offsets count code points. Bytes become text here: the encoding, a byte order mark, line ends and
NUL bytes are dealt with once, and everything after works on the same offsets.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a text: from `start` up to but not including `end`, in code points."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A text under the name that diagnostics show."""

    name: str
    text: str
    _lines: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts.extend(at + 1 for at, char in enumerate(self.text) if char == "\n")
        object.__setattr__(self, "_lines", starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Give the line and the column of an offset, both from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line(self, number: int) -> str:
        """Give the text of a line, from 1, without its end."""
        start = self._lines[number - 1]
        end = self._lines[number] - 1 if number < len(self._lines) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def slice(self, span: Span) -> str:
        """Give the text of a span."""
        return self.text[span.start : span.end]
