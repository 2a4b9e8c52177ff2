"""What a call's work grows with, measured before the call: sizes of values and of results.

Libraries declare the cost of an overload with these, and refuse results past the limits of
`limits.py` before memory is taken for them.
"""

from typing import Any, Final

from policyd.language.limits import MAX_LIST, MAX_STRING, MAX_WORK
from policyd.values.errors import LimitFault
from policyd.values.optional import Optional

CHARACTERS: Final = 10
"""Characters that are touched for one unit of work, as in Kubernetes."""

COMPARED: Final = 1_000
"""Characters that are compared for one unit of work: it is done in machine code."""

_ENOUGH: Final = MAX_WORK + 1


def text_cost(*lengths: int) -> int:
    """Give the units of work for touching texts of these lengths, in characters or bytes."""
    return -(-sum(lengths) // CHARACTERS)


def weight(value: Any) -> int:
    """Give the units of work for visiting every part of a value.

    Each value counts 1, and texts their characters besides. Lists that share their parts can be
    exponentially larger than they look, so counting stops once the limit is passed.
    """
    total = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        cls = item.__class__
        total += 1
        if cls is str or cls is bytes:
            total += text_cost(len(item))
        elif cls is list:
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif cls is Optional:
            waiting.append(item.value)
        if total + len(waiting) > _ENOUGH:
            return _ENOUGH
    return total


def comparing_cost(left: Any, right: Any) -> int:
    """Give the units of work for finding out whether two values are equal.

    As `weight` does, it stops counting once the limit is passed.
    """
    cls = left.__class__
    if not (cls is list or cls is Optional or isinstance(left, dict)):
        return one_text_cost(left)
    total = 0
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        total += 1
        cls = one.__class__
        if cls is list and other.__class__ is list:
            if len(one) == len(other):
                waiting.extend(zip(one, other, strict=True))
        elif cls is Optional and other.__class__ is Optional:
            waiting.append((one.value, other.value))
        elif isinstance(one, dict) and isinstance(other, dict) and len(one) == len(other):
            waiting.extend((value, other[key]) for key, value in one.items() if key in other)
        else:
            total += one_text_cost(one)
        if total + len(waiting) > _ENOUGH:
            return _ENOUGH
    return total


def one_text_cost(value: Any) -> int:
    """Give the units of work for comparing a value with another; only texts cost any.

    Values of a library that are texts inside tell their length as `cel_length`.
    """
    cls = value.__class__
    if cls is str or cls is bytes:
        return len(value) // COMPARED
    length: int = getattr(value, "cel_length", 0)
    return length // COMPARED


def scan_cost(items: list[Any], value: Any) -> int:
    """Give the units of work for looking for a value in a list."""
    cls = value.__class__
    if cls is list or cls is Optional or isinstance(value, dict):
        return weight(items)
    return len(items) * (1 + one_text_cost(value))


def bounded_text(length: int) -> int:
    """Give back the length of a text that is to be made.

    Raises:
        LimitFault: no text may be so long.
    """
    if length > MAX_STRING:
        raise LimitFault(f"a string may have at most {MAX_STRING:,} characters")
    return length


def bounded_list(length: int) -> int:
    """Give back the length of a list that is to be made.

    Raises:
        LimitFault: no list may be so long.
    """
    if length > MAX_LIST:
        raise LimitFault(f"a list may have at most {MAX_LIST:,} elements")
    return length
