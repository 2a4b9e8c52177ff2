"""Lists taken as sets: containment, equivalence and intersection.

https://pkg.go.dev/github.com/google/cel-go/ext#Sets
"""

from collections.abc import Callable
from typing import Any

from policyd.language.declarations import Function, Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.members import Members
from policyd.language.sizes import weight


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both
    """Declare the functions."""
    return Library(
        "sets",
        (
            _declare("contains", contains, "Says whether a list has all elements of another list."),
            _declare(
                "equivalent", equivalent, "Says whether each of two lists has all the other has."
            ),
            _declare("intersects", intersects, "Says whether two lists have an element in common."),
        ),
    )


def _declare(name: str, compute: Callable[[list[Any], list[Any]], bool], doc: str) -> Function:
    made = overload(
        f"list_sets_{name}_list", "(list(T), list(T)) -> bool", compute, cost=_both_weights
    )
    return function(f"sets.{name}", made, doc=doc)


def _both_weights(left: list[Any], right: list[Any]) -> int:
    return weight(left) + weight(right)


def contains(items: list[Any], part: list[Any]) -> bool:
    """Say whether every element of `part` equals one of `items`."""
    members = Members(items)
    return all(item in members for item in part)


def equivalent(left: list[Any], right: list[Any]) -> bool:
    """Say whether each list contains the other; how often an element is in it does not count."""
    return contains(left, right) and contains(right, left)


def intersects(left: list[Any], right: list[Any]) -> bool:
    """Say whether an element of one list equals one of the other."""
    members = Members(right)
    return any(item in members for item in left)
