"""Where in an input something stands, and what a reader has to say about it: as data.

Rendering is the command line's. A `Problem` means that something was not read; a `Note` that
something was left out, or read in a way worth knowing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an input: `line` and `column` count from 1, in lines and characters.

    `item` is the position of an object in its list, such as `items[3]`, or empty.
    """

    file: str
    line: int = 1
    column: int = 1
    item: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that cannot be read: what is wrong, and what to do about it."""

    place: Place
    cause: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """An object that was left out or changed on the way in, and why."""

    kind: str
    name: str
    place: Place
    reason: str
