"""What the streams can show: colours, signs, columns.

`NO_COLOR` takes colours away, `FORCE_COLOR` gives them where no terminal is.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Final, Literal, TextIO

StreamName = Literal["stdout", "stderr"]

_WIDTH: Final = 100
"""The columns of what is no terminal."""

_STYLES: Final = {
    "bold": "\x1b[1m",
    "red": "\x1b[1;31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "cyan": "\x1b[36m",
    "dim": "\x1b[2m",
}
_RESET: Final = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of a table: a rule that is met, that rejects, that does not apply."""

    met: str
    rejects: str
    absent: str


_UNICODE: Final = Signs("✓", "✗", "–")  # noqa: RUF001 - the sign for nothing is an en dash
_ASCII: Final = Signs("ok", "no", "-")


def wants_colour(name: StreamName) -> bool:
    """Say whether a stream is to be coloured."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(name) and os.environ.get("TERM") != "dumb"


def is_terminal(name: StreamName) -> bool:
    """Say whether somebody looks at a stream as it is written."""
    stream: TextIO | None = getattr(sys, name)
    return stream is not None and stream.isatty()


def columns(name: StreamName) -> int:
    """Give how wide a line may be: the terminal's width, or 100 columns where there is none."""
    return shutil.get_terminal_size().columns if is_terminal(name) else _WIDTH


def signs() -> Signs:
    """Give the signs that standard output can carry."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        f"{_UNICODE.met}{_UNICODE.rejects}{_UNICODE.absent}".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _UNICODE


def carries_unicode() -> bool:
    """Say whether standard output can carry any text."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "").startswith("utf")


def painted(text: str, style: str, *, colour: bool) -> str:
    """Give a text in a style; the style `plain` is none."""
    if not colour or not text or style == "plain":
        return text
    return f"{_STYLES[style]}{text}{_RESET}"
