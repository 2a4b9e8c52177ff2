"""The text of a rule file or an expression, and places in it.

Offsets count code points. `decoding.py` makes a source of a file's bytes; everything after it
works on the same offsets.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

# CEL's own definition (NEWLINE in its language definition), and what editors count as lines.
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Span(NamedTuple):
    """A piece of a text: from `start` up to but not including `end`, in code points."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A text under the name that diagnostics show.

    `dropped` counts the bytes of the file before the text, which are a byte order mark's.
    """

    name: str
    text: str
    dropped: int = 0

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Give the line and the column of an offset, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_span(self, number: int) -> Span:
        """Give where a line stands, from 1, without its end."""
        start = self._starts[number - 1]
        end = _LINE_END.search(self.text, start)
        return Span(start, end.start() if end else len(self.text))

    def line(self, number: int) -> str:
        """Give the text of a line, from 1, without its end."""
        return self.slice(self.line_span(number))

    def slice(self, span: Span) -> str:
        """Give the text of a span."""
        return self.text[span.start : span.end]
