"""Shows a diagnostic: as text for people, and as data for editors and pipelines.

The text form is the one of `docs/language.md`: headline, place, the source's lines with marks,
what to do. Whatever the source holds, the text is safe to print on a terminal.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from policyd.language.cells import Row, fit, visible
from policyd.language.diagnostics import Diagnostic, Severity
from policyd.language.source import Source, Span

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_FRAME: Final = "\x1b[1;34m"
_COLOURS: Final = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;36m",
}
_MOST_LINES: Final = 4
_LONG_QUOTE: Final = re.compile(r"`([^`]{48})[^`]{33,}`")


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is marked in one line: offsets in the line, and the label beside the marks."""

    start: int
    end: int
    label: str
    primary: bool


@dataclass(frozen=True, slots=True)
class _Placed:
    """A mark in columns of the line as it is shown."""

    left: int
    right: int
    label: str
    primary: bool


def render(diagnostic: Diagnostic, *, colour: bool = False, width: int = 100) -> str:
    """Give the text form, without a line end after its last line.

    `width` is in columns; a source line that is longer is cut around its marks. Messages are
    not wrapped.
    """
    return _Page(diagnostic, colour=colour, width=width).text()


class _Page:
    """One diagnostic on its way to the terminal."""

    def __init__(self, diagnostic: Diagnostic, *, colour: bool, width: int) -> None:
        self.diagnostic = diagnostic
        self.colour = colour
        self.accent = _COLOURS[diagnostic.severity]
        self.marks = _marks(diagnostic)
        last = max(self.marks, default=diagnostic.source.position(_clamped(diagnostic).start)[0])
        self.gutter = len(str(last))
        self.width = max(20, width - self.gutter - 4)

    def text(self) -> str:
        lines = [self.headline(), self.place()]
        if self.marks:
            lines += [self.framed(""), *self.snippet()]
        sayings = [
            *(("help", text) for text in self.diagnostic.helps),
            *(("note", text) for text in self.diagnostic.notes),
        ]
        if sayings and self.marks:
            lines.append(self.framed(""))
        for word, text in sayings:
            lines += self.saying(word, text)
        return "\n".join(lines)

    def painted(self, text: str, how: str) -> str:
        return f"{how}{text}{_RESET}" if self.colour and text else text

    def headline(self) -> str:
        found = self.diagnostic
        head = self.painted(f"{found.severity.value}[{found.code}]", self.accent)
        return head + self.painted(f": {_said(found.message)}", _BOLD)

    def place(self) -> str:
        source = self.diagnostic.source
        line, column = source.position(_clamped(self.diagnostic).start)
        arrow = self.painted(f"{' ' * (self.gutter + 1)}-->", _FRAME)
        return f"{arrow} {visible(source.name)}:{line}:{column}"

    def framed(self, text: str, number: str = "") -> str:
        frame = self.painted(f"{number:>{self.gutter + 1}} |", _FRAME)
        return f"{frame} {text}" if text else frame

    def saying(self, word: str, text: str) -> list[str]:
        first, *rest = text.split("\n")
        sign = self.painted(f"{' ' * (self.gutter + 2)}=", _FRAME)
        indent = " " * (self.gutter + 6 + len(word))
        said = [f"{sign} {self.painted(f'{word}:', _BOLD)} {_said(first)}"]
        return [*said, *(f"{indent}{_said(line)}".rstrip() for line in rest)]

    def snippet(self) -> list[str]:
        lines: list[str] = []
        before = 0
        for number in sorted(self.marks):
            if before and number == before + 2:
                lines += self.source_line(number - 1, [])
            elif before and number > before + 2:
                lines.append(self.painted("...", _FRAME))
            lines += self.source_line(number, self.marks[number])
            before = number
        return lines

    def source_line(self, number: int, marks: list[_Mark]) -> list[str]:
        line = self.diagnostic.source.line(number)
        ends = [at for mark in marks for at in (mark.start, max(mark.start, mark.end - 1))]
        row = fit(line, ends, self.width)
        shown = self.framed(row.text.rstrip(), str(number))
        return [shown, *(self.framed(text) for text in self.mark_lines(row, marks))]

    def mark_lines(self, row: Row, marks: list[_Mark]) -> list[str]:
        """Draw the marks under a line, and the labels: the last beside, the others below."""
        placed = sorted(
            (_Placed(*row.columns(m.start, m.end), m.label, m.primary) for m in marks),
            key=lambda mark: (mark.left, mark.right),
        )
        if not placed:
            return []
        labelled = [mark for mark in placed if mark.label]
        beside = ""
        last = placed[-1]
        if last.label and last.right == max(mark.right for mark in placed):
            beside = self.painted(f" {_said(last.label)}", self.accent_of(last))
            labelled.remove(last)
        lines = [self.drawn(placed) + beside]
        while labelled:
            mark = labelled.pop()
            label = self.painted(_said(mark.label), self.accent_of(mark))
            lines.append(self.hung(labelled, mark.left) + label)
        return lines

    def accent_of(self, mark: _Placed) -> str:
        return self.accent if mark.primary else _FRAME

    def drawn(self, placed: list[_Placed]) -> str:
        """Draw the marks; where two meet, the finding's own is on top."""
        row = [" "] * max(mark.right for mark in placed)
        for mark in sorted(placed, key=lambda mark: mark.primary):
            sign = "^" if mark.primary else "-"
            row[mark.left : mark.right] = sign * (mark.right - mark.left)
        return self.coloured("".join(row))

    def coloured(self, drawn: str) -> str:
        if not self.colour:
            return drawn
        runs: list[str] = []
        for sign in drawn:
            if runs and runs[-1][0] == sign:
                runs[-1] += sign
            else:
                runs.append(sign)
        how = {"^": self.accent, "-": _FRAME, "|": _FRAME}
        return "".join(self.painted(run, how[run[0]]) if run[0] in how else run for run in runs)

    def hung(self, others: list[_Placed], column: int) -> str:
        """Give the start of a label's line: bars for the labels that are still to come."""
        row = [" "] * column
        for mark in others:
            if mark.left < column:
                row[mark.left] = "|"
        return self.coloured("".join(row))


def _said(text: str) -> str:
    """Give a sentence as it is printed; what it quotes from the source may be of any length."""
    return visible(_LONG_QUOTE.sub(r"`\1…`", text))


def _clamped(diagnostic: Diagnostic) -> Span:
    return _inside(diagnostic.source, diagnostic.span)


def _inside(source: Source, span: Span) -> Span:
    """Keep a span inside the text."""
    start = min(max(span.start, 0), len(source.text))
    return Span(start, min(max(span.end, start), len(source.text)))


def _marks(diagnostic: Diagnostic) -> dict[int, list[_Mark]]:
    """Give the marks of each line that is shown, by its number."""
    marks: dict[int, list[_Mark]] = {}
    if not diagnostic.source.text:
        return marks
    places = [(diagnostic.span, diagnostic.label, True)]
    places += [(span, label, False) for span, label in diagnostic.related]
    for span, label, primary in places:
        inside = _inside(diagnostic.source, span)
        _add_marks(marks, diagnostic.source, inside, label, primary=primary)
    return marks


def _add_marks(
    marks: dict[int, list[_Mark]],
    source: Source,
    span: Span,
    label: str,
    *,
    primary: bool,
) -> None:
    """Mark a span line by line; of a long one the first two lines and the last."""
    first, _ = source.position(span.start)
    last, _ = source.position(max(span.start, span.end - 1))
    numbers = list(range(first, last + 1))
    if len(numbers) > _MOST_LINES:
        numbers = [*numbers[:2], last]
    for number in numbers:
        line = source.line_span(number)
        text = source.slice(line)
        indent = len(text) - len(text.lstrip())
        start = span.start - line.start if number == first else indent
        end = min(span.end - line.start, len(text))
        if number in (first, last) or end > start:
            mark = _Mark(start, end, label if number == last else "", primary)
            marks.setdefault(number, []).append(mark)


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Give a diagnostic as JSON data.

    Places are given in every unit that tools count in. From 0 in the whole text: `offset` (code
    points), `byte` (UTF-8, of the file as it is stored) and `utf16` (units of UTF-16, without a
    byte order mark). From 1: `line`, and in it `column` (code points) and `utf16_column`. Ends
    are exclusive.
    """
    source = diagnostic.source
    edit = diagnostic.edit
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": source.name,
        "range": _range(source, diagnostic.span),
        "label": diagnostic.label,
        "related": [
            {"range": _range(source, span), "label": label} for span, label in diagnostic.related
        ],
        "helps": list(diagnostic.helps),
        "notes": list(diagnostic.notes),
        "edit": edit and {"range": _range(source, edit.span), "text": edit.text},
    }


def _range(source: Source, span: Span) -> dict[str, dict[str, int]]:
    inside = _inside(source, span)
    return {"start": _point(source, inside.start), "end": _point(source, inside.end)}


def _point(source: Source, offset: int) -> dict[str, int]:
    line, column = source.position(offset)
    before = source.text[:offset]
    return {
        "offset": offset,
        "byte": source.dropped + len(before.encode("utf-8", "surrogatepass")),
        "utf16": _utf16_length(before),
        "line": line,
        "column": column,
        "utf16_column": _utf16_length(before[offset + 1 - column :]) + 1,
    }


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
