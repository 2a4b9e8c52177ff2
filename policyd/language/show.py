"""Values as text, as an expression would write them, and as JSON."""

import json
import math
from typing import Any, Final

from policyd.language.equality import type_value
from policyd.values.doubles import general
from policyd.values.kinds import TypeValue
from policyd.values.maps import decode_key
from policyd.values.numbers import Uint
from policyd.values.optional import Optional
from policyd.values.quantity import Quantity

_MAX_ITEMS: Final = 20
_MAX_TEXT: Final = 200
_MAX_DIGITS: Final = 12
_SIZES: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def show(value: Any, *, full: bool = False) -> str:
    """Write a value as text. Long ones are cut unless `full`.

    The text is an expression that gives the value where there is one: `2Gi`, `duration("60s")`,
    `optional.of(1)`.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Uint():
            return f"{int(value)}u"
        case int():
            return str(value)
        case float():
            return _double(value)
        case str():
            return _cut(json.dumps(value, ensure_ascii=False), full=full)
        case bytes():
            return _cut('b"' + "".join(f"\\x{octet:02x}" for octet in value) + '"', full=full)
        case Optional():
            inner = show(value.value, full=full) if value.present else ""
            return f"optional.of({inner})" if value.present else "optional.none()"
        case list():
            return _joined(
                "[", (show(item, full=full) for item in value), "]", len(value), full=full
            )
        case dict():
            pairs = (f"{show(decode_key(k))}: {show(v, full=full)}" for k, v in value.items())
            return _joined("{", pairs, "}", len(value), full=full)
        case TypeValue():
            return value.name
        case _:
            return _opaque(value)


def _double(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f'double("{general(value)}")'
    text = general(value)
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _opaque(value: Any) -> str:
    name = type_value(value).name
    short = name.rpartition(".")[2].lower()
    if isinstance(value, Quantity):
        return _quantity(value)
    if hasattr(value.__class__, "FIELDS"):
        return f"{short} {getattr(value, 'name', '')}".strip()
    return f'{short}("{value}")'


def _quantity(value: Quantity) -> str:
    """Write a quantity; one with a long tail, as scaling by a double leaves it, is rounded."""
    text = str(value)
    if len(text) <= _MAX_DIGITS or not text.endswith(("n", "u")):
        return text
    number = value.nearest_float()
    for suffix, size in _SIZES:
        if abs(number) >= size:
            return f"≈{number / size:.4g}{suffix}"
    return f"≈{number:.4g}"


def _joined(start: str, parts: Any, end: str, count: int, *, full: bool) -> str:
    shown: list[str] = []
    length = 0
    for part in parts:
        if not full and (len(shown) >= _MAX_ITEMS or length > _MAX_TEXT):
            return f"{start}{', '.join(shown)}, … {count - len(shown)} more{end}"
        shown.append(part)
        length += len(part)
    return f"{start}{', '.join(shown)}{end}"


def _cut(text: str, *, full: bool) -> str:
    if full or len(text) <= _MAX_TEXT:
        return text
    return f"{text[: _MAX_TEXT - 1]}…{text[-1]}"


def to_json(value: Any) -> Any:
    """Turn a value into what JSON can carry: quantities, times and the like become strings."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            return value if math.isfinite(value) else general(value)
        case bytes():
            return value.decode("utf-8", errors="backslashreplace")
        case Optional():
            return to_json(value.value) if value.present else None
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {_key_text(decode_key(key)): to_json(item) for key, item in value.items()}
        case _ if hasattr(value.__class__, "FIELDS"):
            return getattr(value, "name", None)
        case _:
            return str(value)


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else show(key)
