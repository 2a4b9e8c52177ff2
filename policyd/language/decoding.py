"""From the bytes of a file to the text of a rule, or to the diagnostic that says why not.

Kept apart from `source.py`, on which diagnostics are built. Line ends stay as they are in the
file, so that offsets are the file's own.
"""

import codecs
from typing import Final

from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.limits import MAX_SOURCE
from policyd.language.source import Source, Span

MAX_BYTES: Final = 4 * MAX_SOURCE + len(codecs.BOM_UTF8)
"""Longer files cannot hold few enough characters. A reader may stop one byte after it."""

_OTHER_ENCODINGS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_SAVE_AS: Final = "save the file as UTF-8"


def decode(name: str, data: bytes) -> Source:
    """Make a source of a file's bytes: UTF-8, with or without a byte order mark.

    Raises:
        RuleError: the file is too large (E301), is not UTF-8 (E304) or holds a NUL (E305).
    """
    dropped = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    if len(data) > MAX_BYTES:
        raise RuleError((_too_many_bytes(name, data, dropped),))
    _refuse_other_encodings(name, data)
    try:
        source = Source(name, data[dropped:].decode("utf-8"), dropped)
    except UnicodeDecodeError as error:
        raise RuleError((_not_utf8(name, data[dropped:], error, dropped),)) from None
    if len(source.text) > MAX_SOURCE:
        raise RuleError((too_long(source),))
    _refuse_nul(source)
    return source


def too_long(source: Source) -> Diagnostic:
    """Say that a text has more characters than are read, and mark where reading stops."""
    return _past_limit(source, f"{len(source.text):,} characters")


def _too_many_bytes(name: str, data: bytes, dropped: int) -> Diagnostic:
    start = data[dropped : MAX_BYTES + 1].decode("utf-8", "replace")
    return _past_limit(Source(name, start, dropped), f"{len(data):,} bytes")


def _past_limit(source: Source, size: str) -> Diagnostic:
    return Diagnostic(
        "E301",
        f"this is {size} long; at most {MAX_SOURCE:,} characters are read",
        source,
        Span(MAX_SOURCE, MAX_SOURCE),
        label="the limit is reached here",
        helps=("split it into several files",),
    )


def _refuse_other_encodings(name: str, data: bytes) -> None:
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            source = Source(name, data.decode(encoding, "replace").replace("\0", "\ufffd"))
            message = f"this file is {encoding}; rules are read as UTF-8"
            raise RuleError((Diagnostic("E304", message, source, Span(0, 0), helps=(_SAVE_AS,)),))


def _not_utf8(name: str, data: bytes, error: UnicodeDecodeError, dropped: int) -> Diagnostic:
    """Show the file with what can be read of it, and mark the first byte that cannot."""
    start = len(data[: error.start].decode("utf-8"))
    source = Source(name, data.decode("utf-8", "replace"), dropped)
    wrong = data[error.start]
    helps = [_SAVE_AS]
    if wrong >= 0xA0:
        helps.append(f"in Latin-1 this byte is `{chr(wrong)}`: was the file saved as that?")
    return Diagnostic(
        "E304",
        f"byte 0x{wrong:02X} at offset {dropped + error.start:,} is not UTF-8",
        source,
        Span(start, start + 1),
        label="the first byte that cannot be read",
        helps=tuple(helps),
    )


def _refuse_nul(source: Source) -> None:
    at = source.text.find("\0")
    if at < 0:
        return
    helps = ["remove it"]
    # A UTF-16 file without a mark has one at every other byte.
    if source.text.count("\0") * 3 > len(source.text):
        helps = [f"this may be UTF-16 text: {_SAVE_AS}"]
    message = "this is a NUL byte; a rule cannot hold one"
    raise RuleError((Diagnostic("E305", message, source, Span(at, at + 1), helps=tuple(helps)),))
