"""Which values are among others, by the language's equality and in linear time.

Equality is not Python's, and is no hash's either: `1 == 1.0`, but 2^53 as a double equals two
integers that are not equal to each other, and NaN equals nothing.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from policyd.language.equality import equal
from policyd.language.limits import MAX_WORK
from policyd.language.sizes import weight
from policyd.values.errors import LimitFault, ValueFault
from policyd.values.numbers import Uint
from policyd.values.optional import Optional

MAX_NESTING: Final = 200
"""How many lists, maps and optionals may stand in each other in a value that is looked up."""

_INTEGERS: Final = frozenset({int, Uint})
_SIMPLE: Final = frozenset({str, bytes, bool, type(None)})  # equal where Python says so


class _EqualsNothingError(Exception):
    """A value that holds a NaN."""


class Members:
    """Values that others can be looked up in. Not to be shared between threads while it grows."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._integers: set[int] = set()
        self._rounded: set[float] = set()  # the integers as doubles
        self._doubles: set[float] = set()
        self._simple: set[tuple[type, Hashable]] = set()
        self._alike: dict[Hashable, list[Any]] = {}
        self._compared = 0
        for value in values:
            self.add(value)

    def add(self, value: Any) -> bool:
        """Add a value and say whether it was new: equal to none that was added before.

        Raises:
            ValueFault: it is nested too deeply; `LimitFault`, it takes too much work to compare.
        """
        if value in self:
            return False
        cls = value.__class__
        if cls in _INTEGERS:
            self._integers.add(value)
            self._rounded.add(float(value))
        elif cls is float:
            if value == value:  # noqa: PLR0124 - not NaN
                self._doubles.add(value)
        elif cls in _SIMPLE:
            self._simple.add((cls, value))
        else:
            self._add_other(value)
        return True

    def __contains__(self, value: Any) -> bool:
        cls = value.__class__
        if cls in _INTEGERS:
            return value in self._integers or float(value) in self._doubles
        if cls is float:
            # A set finds the very same NaN.
            return (value in self._doubles or value in self._rounded) and value == value  # noqa: PLR0124
        if cls in _SIMPLE:
            return (cls, value) in self._simple
        return self._has_other(value)

    def _add_other(self, value: Any) -> None:
        try:
            self._alike.setdefault(_likeness(value, 0), []).append(value)
        except _EqualsNothingError:
            return

    def _has_other(self, value: Any) -> bool:
        try:
            candidates = self._alike.get(_likeness(value, 0))
        except _EqualsNothingError:
            return False
        if candidates is None:
            return False
        self._compared += len(candidates) * weight(value)
        if self._compared > MAX_WORK:
            raise LimitFault("comparing these values takes more work than one evaluation may")
        return any(equal(value, candidate) for candidate in candidates)


def _likeness(value: Any, depth: int) -> Hashable:
    """Give a key that equal values share, and hardly any others."""
    cls: type = value.__class__
    if cls in _INTEGERS or cls is float:
        number = float(value)
        if number != number:  # noqa: PLR0124 - NaN
            raise _EqualsNothingError
        return number
    if depth > MAX_NESTING:
        raise ValueFault(f"values to compare may be nested {MAX_NESTING} levels deep at most")
    if cls is list:
        return (list, *[_likeness(item, depth + 1) for item in value])
    if cls is Optional:
        return (Optional, _likeness(value.value, depth + 1) if value.present else None)
    if isinstance(value, dict):
        return (dict, frozenset((key, _likeness(it, depth + 1)) for key, it in value.items()))
    try:
        hash(value)
    except TypeError:
        return cls
    return (cls, value)
