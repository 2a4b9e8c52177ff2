"""A line as a terminal shows it: which characters share a cell, how wide each is, what is unsafe.

The widths are those of Unicode's East Asian Width property, with what terminals have in common
about combining marks and emoji sequences. Nothing that could steer a terminal or reorder a line
passes: it is shown as its picture (`␛`) or its number (`<U+202E>`).
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

_TAB: Final = 4
_JOINER: Final = "\u200d"
_EMOJI_STYLE: Final = "\ufe0f"
_ELLIPSIS: Final = "…"
_KEYS: Final = frozenset("#*0123456789")


class Cell(NamedTuple):
    """What is shown together: where it starts in the line, as what, and how many columns wide."""

    start: int
    shown: str
    width: int


def visible(text: str) -> str:
    """Give a text that can be printed anywhere: one line, without control characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(cell.shown for cell in cells(text, 0, len(text)))


def cells(line: str, start: int, end: int) -> list[Cell]:
    """Give the cells of a piece of a line."""
    made: list[Cell] = []
    column = 0
    for at in range(start, end):
        char = line[at]
        if char.isascii():
            cell = _ascii(char, at, column)
        elif made and (joined := _joined(made[-1], char)) is not None:
            column += joined.width - made[-1].width
            made[-1] = joined
            continue
        else:
            cell = _alone(char, at)
        column += cell.width
        made.append(cell)
    return made


def _ascii(char: str, at: int, column: int) -> Cell:
    if char == "\t":
        width = _TAB - column % _TAB
        return Cell(at, " " * width, width)
    if char.isprintable():
        return Cell(at, char, 1)
    return Cell(at, "\u2421" if char == "\x7f" else chr(0x2400 + ord(char)), 1)


def _alone(char: str, at: int) -> Cell:
    """Give the cell of a character that joins nothing before it."""
    kind = unicodedata.category(char)
    if kind in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        shown = f"<U+{ord(char):04X}>"
        return Cell(at, shown, len(shown))
    if kind in ("Mn", "Me"):
        return Cell(at, f"\u25cc{char}", 1)
    return Cell(at, char, 2 if unicodedata.east_asian_width(char) in "WF" else 1)


def _joined(before: Cell, char: str) -> Cell | None:
    """Give the cell that a character makes with the one before it, if it joins it."""
    width = before.width
    if char == _EMOJI_STYLE:
        width = 2 if _is_symbol(before.shown[-1]) or before.shown in _KEYS else width
    elif char == _JOINER:
        if not (_is_symbol(before.shown[-1]) or before.shown[-1] == _EMOJI_STYLE):
            return None
    elif before.shown[-1] == _JOINER and _is_symbol(char):
        width = 2
    elif _is_flag_half(char):
        if not (len(before.shown) == 1 and _is_flag_half(before.shown)):
            return None
        width = 2
    elif (extra := _added_width(before, char)) is not None:
        width += extra
    else:
        return None
    return Cell(before.start, before.shown + char, width)


def _added_width(before: Cell, char: str) -> int | None:
    """Say how many columns a mark adds to the cell before it, or that it is no mark."""
    kind = unicodedata.category(char)
    if kind in ("Mn", "Me") or _is_inner_jamo(char):
        return 0
    if "\U0001f3fb" <= char <= "\U0001f3ff" and before.width == 2:  # a skin tone
        return 0
    return 1 if kind == "Mc" else None


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk")


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_inner_jamo(char: str) -> bool:
    """Say whether a letter is a vowel or an end of a Korean syllable that a block began."""
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"


class Row:
    """A line laid out in columns, from 0."""

    def __init__(self, made: list[Cell], end: int) -> None:
        self._made = made
        self._starts = [cell.start for cell in made]
        self._columns = [0]
        self._end = end
        for cell in made:
            self._columns.append(self._columns[-1] + cell.width)

    @property
    def text(self) -> str:
        """What is printed."""
        return "".join(cell.shown for cell in self._made)

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return self._columns[-1]

    def columns(self, start: int, end: int) -> tuple[int, int]:
        """Give the columns of the characters from `start` up to `end`: at least one."""
        left = self.width if start >= self._end else self._columns[self._index(start)]
        if end <= start:
            return left, left + 1
        return left, max(left + 1, self._columns[self._index(end - 1) + 1])

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self._starts, offset) - 1) if self._made else -1


def fit(line: str, anchors: Iterable[int], width: int) -> Row:
    """Lay out a line in `width` columns: what is far from every anchor becomes `…`."""
    points = sorted({min(max(anchor, 0), len(line)) for anchor in anchors} or {0})
    near = _near(line, points, 2 * width)
    row = Row(near, len(line))
    if row.width <= width:
        return row
    middles = [bisect_right(near, point, key=_start) - 1 for point in points]
    low, high = 0, len(near)
    while low < high:
        context = (low + high + 1) // 2
        kept = sum(cell.width for cell in _kept(near, middles, context))
        low, high = (context, high) if kept <= width else (low, context - 1)
    return Row(_kept(near, middles, low), len(line))


def _start(cell: Cell) -> int:
    return cell.start


def _near(line: str, points: list[int], reach: int) -> list[Cell]:
    """Give the cells within reach of the points, so that a huge line costs no more than they."""
    made: list[Cell] = []
    done = 0
    for start, end in _merged([(p - reach, p + reach) for p in points], len(line)):
        if start > done:
            made.append(Cell(done, _ELLIPSIS, 1))
        made.extend(cells(line, start, end))
        done = end
    if done < len(line):
        made.append(Cell(done, _ELLIPSIS, 1))
    return made


def _kept(near: list[Cell], middles: list[int], context: int) -> list[Cell]:
    """Give the cells at most `context` cells from a middle, and one `…` for each gap."""
    made: list[Cell] = []
    done = 0
    for start, end in _merged([(m - context, m + context + 1) for m in middles], len(near)):
        if start > done:
            made.append(Cell(near[done].start, _ELLIPSIS, 1))
        made.extend(near[start:end])
        done = end
    if done < len(near):
        made.append(Cell(near[done].start, _ELLIPSIS, 1))
    return made


def _merged(ranges: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """Cut ranges, sorted by their starts, to 0..end, and join those that touch."""
    merged: list[tuple[int, int]] = []
    for start, stop in ranges:
        low, high = max(0, start), min(end, stop)
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
