"""Which values are among others, by the language's equality and in linear time.

Equality is not Python's, and is no hash's either: `1 == 1.0`, but 2^53 as a double equals two
integers that are not equal to each other, and NaN equals nothing.
"""

from collections.abc import Callable, Hashable, Iterable
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
        self._alike: dict[Hashable, dict[Hashable, Any]] = {}
        self._compared = 0
        for value in values:
            self._record(value)

    def add(self, value: Any) -> bool:
        """Add a value unless it equals one that is there, and say whether it was added.

        Raises:
            ValueFault: it is nested too deeply; `LimitFault`, it takes too much work to compare.
        """
        if value in self:
            return False
        self._record(value)
        return True

    def _record(self, value: Any) -> None:
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
            self._record_other(value)

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

    def _record_other(self, value: Any) -> None:
        try:
            alike = self._alike.setdefault(_likeness(value, float), {})
        except _EqualsNothingError:
            return
        alike.setdefault(_likeness(value, _exactly) if alike else None, value)

    def _has_other(self, value: Any) -> bool:
        try:
            alike = self._alike.get(_likeness(value, float), {})
        except _EqualsNothingError:
            return False
        units = weight(value) if len(alike) > 1 else 0
        for candidate in alike.values():
            self._compared += units
            if self._compared > MAX_WORK:
                raise LimitFault("comparing these values takes more work than one evaluation may")
            if equal(value, candidate):
                return True
        return False


def _exactly(number: float) -> Hashable:
    return (number.__class__, number)


def _likeness(value: Any, of_number: Callable[[Any], Hashable], depth: int = 0) -> Hashable:
    """Give a key that equal values share, and hardly any others: numbers go by `of_number`."""
    cls: type = value.__class__
    if cls in _INTEGERS or cls is float:
        if value != value:  # noqa: PLR0124 - NaN
            raise _EqualsNothingError
        return of_number(value)
    if depth > MAX_NESTING:
        raise ValueFault(f"values to compare may be nested {MAX_NESTING} levels deep at most")
    deeper = depth + 1
    if cls is list:
        return (list, *[_likeness(item, of_number, deeper) for item in value])
    if cls is Optional:
        return (Optional, _likeness(value.value, of_number, deeper) if value.present else None)
    if isinstance(value, dict):
        entries = ((key, _likeness(item, of_number, deeper)) for key, item in value.items())
        return (dict, frozenset(entries))
    try:
        hash(value)
    except TypeError:
        return cls
    return (cls, value)
