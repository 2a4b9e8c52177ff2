"""Lays out a table for people: columns side by side, long headings folded at their joints.

A table that is wider than the terminal is shown in bands, each of which starts with the first
column. Nothing is cut off.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from policyd.cli.terminal import painted
from policyd.language.cells import cells, visible

_GAP: Final = "  "
_HEADING: Final = 14
"""Up to how many columns a heading may take before it is folded."""

_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PART: Final = re.compile(r"[^-_./ \0]*[-_./ ]+|[^-_./ \0]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table, and its style."""

    text: str
    style: str = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it holds numbers, which are set to the right."""

    heading: str
    is_number: bool = False


def draw(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int | None, colour: bool
) -> str:
    """Draw a table without a line end after its last line; `width` is the terminal's, if any."""
    headings = [_folded(visible(column.heading)) for column in columns]
    shown = [[Cell(_safe(cell.text), cell.style) for cell in row] for row in rows]
    widths = [
        max([display_width(text) for text in (*headings[at], *(row[at].text for row in shown))])
        for at in range(len(columns))
    ]
    bands = [
        _draw_band(band, columns, headings, shown, widths, colour=colour)
        for band in _bands(widths, width)
    ]
    return "\n\n".join(bands)


@lru_cache(maxsize=8192)
def display_width(text: str) -> int:
    """Say how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(cell.width for cell in cells(text, 0, len(text)))


@lru_cache(maxsize=8192)
def _safe(text: str) -> str:
    """Give a text that can be printed; a table has the same one many times."""
    return visible(text)


def _folded(heading: str) -> list[str]:
    """Fold a long heading between words, and those after hyphens, dots and inner capitals."""
    if display_width(heading) <= _HEADING:
        return [heading]
    lines = [""]
    for word in heading.split():
        if lines[-1] and display_width(f"{lines[-1]} {word}") <= _HEADING:
            lines[-1] += f" {word}"
        else:
            lines += _folded_word(word)
    return [line for line in lines if line]


def _folded_word(word: str) -> list[str]:
    if display_width(word) <= _HEADING:
        return [word]
    lines = [""]
    for part in _parts(word):
        if lines[-1] and display_width(lines[-1] + part) > _HEADING:
            lines.append(part)
        else:
            lines[-1] += part
    return lines


def _parts(heading: str) -> list[str]:
    return _PART.findall(_CAPITAL.sub("\0", heading))


def _bands(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Divide the columns so that each band fits; the first column is in all of them."""
    bands = [[0]]
    taken = widths[0]
    for at in range(1, len(widths)):
        more = len(_GAP) + widths[at]
        if width is not None and taken + more > width and len(bands[-1]) > 1:
            bands.append([0])
            taken = widths[0]
        bands[-1].append(at)
        taken += more
    return bands


def _draw_band(
    band: Sequence[int],
    columns: Sequence[Column],
    headings: Sequence[Sequence[str]],
    rows: Sequence[Sequence[Cell]],
    widths: Sequence[int],
    *,
    colour: bool,
) -> str:
    def line(of: Sequence[Cell]) -> str:
        placed = [
            _placed(cell, widths[at], to_right=columns[at].is_number, colour=colour)
            for at, cell in zip(band, of, strict=True)
        ]
        return _GAP.join(placed).rstrip()

    depth = max(len(headings[at]) for at in band)
    lines = [
        line([Cell(_line_of(headings[at], depth, number), "bold") for at in band])
        for number in range(depth)
    ]
    lines += [line([row[at] for at in band]) for row in rows]
    return "\n".join(lines)


def _line_of(heading: Sequence[str], depth: int, number: int) -> str:
    """Give a line of a folded heading, which stands at the bottom of its cell."""
    at = number - (depth - len(heading))
    return heading[at] if at >= 0 else ""


def _placed(cell: Cell, width: int, *, to_right: bool, colour: bool) -> str:
    space = " " * (width - display_width(cell.text))
    text = painted(cell.text, cell.style, colour=colour)
    return space + text if to_right else text + space
