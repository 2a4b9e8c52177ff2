"""Lays out documents: texts with the places where lines may end and how far they are set in.

After Wadler, "A prettier printer" (2003): a group stands on one line where that fits, else each
of its own lines ends, and its inner groups are asked again. Widths are counted while documents
are made, so that a group is decided without looking into it, and time is linear in the document.

Comments are parts of documents. What follows one begins a new line, wherever it stands, so that
nothing can end up behind `//`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from policyd.language.page import Page

PAGE_WIDTH: Final = 100
"""Columns that a line may have where there is a choice."""

_DEEPEST: Final = 60
"""Columns that lines are set in at most: deep nesting would else fill a text with blanks."""


class Shape(NamedTuple):
    """The room that a document needs.

    `width` is that of all of it on one line, `lead` of what stands before the first place where a
    line may end, if there is one, which `ends` says. `fresh`: it begins with a whole line comment.
    """

    width: int
    lead: int
    ends: bool = False
    fresh: bool = False


_LINE_ENDS: Final = Shape(0, 0, ends=True)
_COMMENT_LINE: Final = Shape(0, 0, ends=True, fresh=True)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is written as it stands. It may have several lines, as long strings do."""

    text: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Space:
    """Blanks within a line; nothing at a line's start or end."""

    width: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Line:
    """The end of a line, or `width` blanks where the group stands on one line."""

    width: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a line in any case, with an empty line after it where `blank`."""

    blank: bool
    shape: Shape = _LINE_ENDS


@dataclass(frozen=True, slots=True)
class Closing:
    """A text that stands only where the group is broken, right behind the code before it."""

    text: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Leading:
    """A comment on a line of its own, with an empty line before it where `blank`."""

    text: str
    blank: bool
    shape: Shape = _COMMENT_LINE


@dataclass(frozen=True, slots=True)
class Trailing:
    """A comment at the end of the line."""

    text: str
    shape: Shape = _LINE_ENDS


@dataclass(frozen=True, slots=True)
class Concat:
    """Documents one after another."""

    parts: tuple["Doc", ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Nest:
    """A document whose lines are set in by `amount` more."""

    amount: int
    doc: "Doc"
    shape: Shape


@dataclass(frozen=True, slots=True)
class Group:
    """A document that stands on one line where it fits and is not `broken`."""

    doc: "Doc"
    broken: bool
    shape: Shape


Doc = Text | Space | Line | Break | Closing | Leading | Trailing | Concat | Nest | Group


# --- making documents ---


def text(written: str) -> Text:
    """Make a text."""
    width = written.find("\n")
    if width < 0:
        return Text(written, Shape(len(written), len(written)))
    return Text(written, Shape(width, width, ends=True))


def space(width: int = 1) -> Space:
    """Make blanks."""
    return Space(width, Shape(width, width))


def line(width: int = 1) -> Line:
    """Make the end of a line, or `width` blanks."""
    return Line(width, Shape(width, 0, ends=True))


def closing(written: str) -> Closing:
    """Make a text for broken groups only."""
    return Closing(written, Shape(0, len(written)))


def concat(*parts: Doc) -> Doc:
    """Put documents one after another."""
    return parts[0] if len(parts) == 1 else Concat(parts, _shape(parts))


def nest(amount: int, doc: Doc) -> Nest:
    """Set the lines of a document in."""
    return Nest(amount, doc, doc.shape)


def group(doc: Doc, *, broken: bool = False) -> Group:
    """Keep a document on one line if it can be."""
    return Group(doc, broken, doc.shape)


def _shape(parts: Iterable[Doc]) -> Shape:
    width = lead = 0
    ends = fresh = False
    for part in parts:
        shape = part.shape
        fresh = fresh or (shape.fresh and width == 0)
        if not ends:
            lead += shape.lead
            ends = shape.ends
        width += shape.width
    return Shape(width, lead, ends, fresh)


# --- laying them out ---


def render(doc: Doc, width: int = PAGE_WIDTH) -> str:
    """Lay a document out on lines of `width` columns and give its text, without a final newline."""
    page = Page()
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while stack:
        indent, flat, item = stack.pop()
        match item:
            case Text():
                page.write(indent, item.text)
            case Concat():
                stack.extend([(indent, flat, part) for part in reversed(item.parts)])
            case Group():
                flat = flat or _fits(page, width, indent, item, stack)
                stack.append((indent, flat, item.doc))
            case Nest():
                stack.append((min(indent + item.amount, _DEEPEST), flat, item.doc))
            case Space():
                page.space(item.width)
            case Line() if flat and not page.waits:
                page.space(item.width)
            case Line():
                page.end_line(indent)
            case Closing():
                if not flat:
                    page.write_closing(item.text)
            case Break():
                page.end_line(indent, blank=item.blank)
            case Leading():
                page.comment(indent, item.text, blank=item.blank)
            case Trailing():
                page.trail(item.text)
    return page.text(width)


def _fits(
    page: Page, width: int, indent: int, item: Group, rest: Sequence[tuple[int, bool, Doc]]
) -> bool:
    """Say whether a group and what must stand behind it fit on the rest of the line."""
    if item.broken:
        return False
    column = indent if page.waits or item.shape.fresh else page.column
    room = width - column - item.shape.width
    for _, _, following in reversed(rest):
        if room < 0 or following.shape.ends:
            return room >= following.shape.lead
        room -= following.shape.lead
    return room >= 0
