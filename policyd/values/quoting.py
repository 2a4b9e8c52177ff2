"""How a text from outside is shown inside a message: in quotes, escaped, on one line, short."""

from typing import Final

SHOWN: Final = 80
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str, limit: int = SHOWN) -> str:
    """Put `text` in double quotes and escape what cannot be printed.

    After `limit` characters it is cut and the number of characters left out is said, so that a
    hostile text cannot flood a log.
    """
    shown = "".join(map(_escape, text[:limit]))
    left = len(text) - limit
    return f'"{shown}"' if left <= 0 else f'"{shown}..." ({left} more characters)'


def _escape(char: str) -> str:
    escaped = _ESCAPES.get(char)
    if escaped is not None:
        return escaped
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
