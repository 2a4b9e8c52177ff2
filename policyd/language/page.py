"""The lines of a laid out text while they are written, and the comments at their ends.

What follows a comment begins a new line. Comments at the ends of neighbouring lines are aligned.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

_COMMENT_DISTANCE: Final = 2


class _Written(NamedTuple):
    """A line of the page. `verbatim`: part of it is of a text of several lines."""

    indent: int
    code: str
    comment: str | None = None
    verbatim: bool = False


class Page:
    """The lines written so far, and the one that is being written."""

    def __init__(self) -> None:
        self._lines: list[_Written] = []
        self.column = 0
        self._indent = 0
        self._parts: list[str] = []
        self._comment: str | None = None
        self._full = False
        self._verbatim = False

    @property
    def waits(self) -> bool:
        """Whether a comment ends the line, so that what follows begins a new one."""
        return self._full

    def write(self, indent: int, written: str) -> None:
        """Write code, on a new line set in by `indent` where a comment ends this one."""
        if self._full:
            self.end_line(indent)
        head, *rest = written.split("\n")
        self._append(head)
        for part in rest:
            self._verbatim = True
            self._push(self._code())
            self._append(part)
        self._verbatim = self._verbatim or bool(rest)

    def _append(self, part: str) -> None:
        self._parts.append(part)
        self.column += len(part)

    def write_closing(self, written: str) -> None:
        """Write code on this line, even where a comment ends it."""
        self._append(written)

    def space(self, width: int) -> None:
        """Write blanks between code and code."""
        if self._parts and not self._full:
            self._append(" " * width)

    def end_line(self, indent: int, *, blank: bool = False) -> None:
        """Begin a new line, unless this one is empty, and set it in."""
        if self._parts or self._full:
            self._push(self._code().rstrip(" "))
        if blank and self._lines:
            self._lines.append(_Written(0, ""))
        self._indent = self.column = indent

    def comment(self, indent: int, written: str, *, blank: bool) -> None:
        """Write a comment on a line of its own."""
        self.end_line(indent, blank=blank)
        self._append(written)
        self._full = True

    def trail(self, written: str) -> None:
        """Write a comment at the end of the line."""
        self._comment = written
        self._full = True

    def text(self, width: int) -> str:
        """End the last line and give the text, with comments aligned where `width` allows it."""
        self.end_line(0)
        columns = _comment_columns(self._lines, width)
        return "\n".join([_joined(line, columns.get(at)) for at, line in enumerate(self._lines)])

    def _code(self) -> str:
        return "".join(self._parts)

    def _push(self, code: str) -> None:
        self._lines.append(_Written(self._indent, code, self._comment, self._verbatim))
        self._parts = []
        self._comment = None
        self._full = self._verbatim = False
        self._indent = self.column = 0


def _joined(line: _Written, column: int | None) -> str:
    code = " " * line.indent + line.code if line.code else ""
    if line.comment is None:
        return code
    return f"{code.ljust((column or 0) - _COMMENT_DISTANCE)}{' ' * _COMMENT_DISTANCE}{line.comment}"


def _comment_columns(lines: Sequence[_Written], width: int) -> dict[int, int]:
    """Give the columns of comments that are aligned, by the numbers of their lines.

    Those are aligned that stand between two empty lines behind code that is set in alike, if the
    page has room for all of them.
    """
    columns: dict[int, int] = {}
    alike: dict[int, list[int]] = {}
    for at, line in enumerate((*lines, _Written(0, ""))):
        if not line.code:
            for members in alike.values():
                columns.update(_aligned(lines, members, width))
            alike = {}
        elif line.comment is not None and not line.verbatim:
            alike.setdefault(line.indent, []).append(at)
    return columns


def _aligned(lines: Sequence[_Written], members: list[int], width: int) -> dict[int, int]:
    indent = lines[members[0]].indent
    column = indent + max(len(lines[at].code) for at in members) + _COMMENT_DISTANCE
    longest = max(len(lines[at].comment or "") for at in members)
    return dict.fromkeys(members, column) if column + longest <= width else {}
