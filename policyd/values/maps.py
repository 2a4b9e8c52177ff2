"""Maps whose keys may be booleans, and maps that have a value for every key.

A map of the language is a Python `dict`. Python's `True` and `1` are the same key while the
language's `true` and `1` are not, so a boolean key is stored as a marker: use `encode_key` to
look a key up and `decode_key` to show one. Maps read from JSON have string keys and need neither.
"""

from typing import Any, Final


class BoolKey:
    """The stand-in for a boolean key. There are two, `TRUE_KEY` and `FALSE_KEY`."""

    __slots__ = ("value",)

    def __init__(self, *, value: bool) -> None:
        self.value: Final = value

    def __repr__(self) -> str:
        return "true" if self.value else "false"


TRUE_KEY: Final = BoolKey(value=True)
FALSE_KEY: Final = BoolKey(value=False)


def encode_key(key: Any) -> Any:
    """Give the `dict` key for a key of the language."""
    if key is True:
        return TRUE_KEY
    if key is False:
        return FALSE_KEY
    return key


def decode_key(key: Any) -> Any:
    """Give the key of the language for a `dict` key."""
    return key.value if key.__class__ is BoolKey else key


class TotalMap(dict[str, Any]):
    """A map that answers `default` for a key it does not hold.

    `in`, `has()`, `[?key]`, iteration and size see only the keys it holds. Used for the short
    names: labels and annotations answer null, amounts answer 0.
    """

    __slots__ = ("default",)

    def __init__(self, entries: dict[str, Any], default: Any) -> None:
        super().__init__(entries)
        self.default = default

    def __missing__(self, key: str) -> Any:
        return self.default
