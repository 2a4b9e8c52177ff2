"""Lists: sums and extremes, positions, order, parts.

`isSorted`, `sum`, `min`, `max`, `indexOf` and `lastIndexOf` are Kubernetes' own
(https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library); the others are
cel-go's lists extension (https://pkg.go.dev/github.com/google/cel-go/ext#Lists). Where a list is
known to hold one type the checker picks an overload for it; the implementations go by the values.
"""

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Final

from policyd.language.declarations import Function, Library, Overload, function, overload
from policyd.language.dialect import Dialect
from policyd.language.equality import compare, equal, no_overload
from policyd.language.limits import MAX_LIST, MAX_WORK
from policyd.language.members import Members
from policyd.language.sizes import bounded_list, scan_cost, weight
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.optional import NONE, Optional
from policyd.values.quantity import ZERO, Quantity
from policyd.values.times import Duration, add_durations

_DURATION: Final = "google.protobuf.Duration"
_QUANTITY: Final = "kubernetes.Quantity"
# The types with an order: their names, and their names in Kubernetes' overload ids.
_ORDERED: Final = {
    "int": "int",
    "uint": "uint",
    "double": "double",
    "bool": "bool",
    _DURATION: "duration",
    "google.protobuf.Timestamp": "timestamp",
    "string": "string",
    "bytes": "bytes",
    _QUANTITY: "quantity",
}
_ZEROS: Final[dict[str, Any]] = {
    "int": 0,
    "uint": Uint(0),
    "double": 0.0,
    _DURATION: Duration(0),
    _QUANTITY: ZERO,
}
# Classes whose Python order is the language's, so that a whole list of one needs no `compare`.
_PLAINLY_ORDERED: Final = frozenset({int, Uint, str, bytes, bool})


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both
    """Declare the functions."""
    return Library("lists", (*_extremes(), *_positions(), *_order(), *_parts(), *_shape()))


def _portable(type_: str) -> bool:
    return type_ != _QUANTITY


# --- sums and extremes -----------------------------------------------------------------------


def _extremes() -> tuple[Function, ...]:
    return (
        function(
            "sum",
            *(_adding(type_, zero) for type_, zero in _ZEROS.items()),
            doc="Adds the numbers, durations or quantities of a list; the sum of none is zero.",
        ),
        function(
            "min",
            *(_extreme("min", type_, least) for type_ in _ORDERED),
            doc="Gives the least element of a list.",
        ),
        function(
            "max",
            *(_extreme("max", type_, greatest) for type_ in _ORDERED),
            doc="Gives the greatest element of a list.",
        ),
        function(
            "isSorted",
            *(
                overload(
                    f"list_{short}_is_sorted_bool",
                    f"list({type_}).() -> bool",
                    is_sorted,
                    cost=weight,
                    portable=_portable(type_),
                )
                for type_, short in _ORDERED.items()
            ),
            doc="Says whether no element of a list is greater than the next one.",
        ),
    )


def _adding(type_: str, zero: Any) -> Overload:
    short = _ORDERED[type_]
    return overload(
        f"list_{short}_sum_{short}",
        f"list({type_}).() -> {type_}",
        lambda items: total(items, zero),
        cost=len,
        portable=_portable(type_),
    )


def _extreme(name: str, type_: str, compute: Callable[[list[Any]], Any]) -> Overload:
    short = _ORDERED[type_]
    return overload(
        f"list_{short}_{name}_{short}",
        f"list({type_}).() -> {type_}",
        compute,
        cost=weight,
        portable=_portable(type_),
    )


def total(items: list[Any], zero: Any = 0) -> Any:
    """Add up a list from its first element to its last; `zero` is the sum of none.

    Raises:
        ValueFault: a sum on the way does not fit its type, or two elements cannot be added.
    """
    if not items:
        return zero
    cls = _only_class(items)
    if cls is float:
        return reduce(add, items, 0.0)  # not `sum()`, which is more exact since Python 3.12
    if cls is int and sum(map(abs, items)) <= INT_MAX:
        return sum(items)
    return reduce(_plus, items)


def _plus(left: Any, right: Any) -> Any:
    kinds = {left.__class__, right.__class__}
    if kinds == {int}:
        return _fitting(left + right)
    if kinds == {Uint}:
        return _fitting_uint(int(left) + int(right))
    if kinds <= {int, float}:
        return float(left) + float(right)
    if kinds == {Duration}:
        return add_durations(left, right)
    if kinds == {Quantity}:
        return left.plus(right)
    raise no_overload("sum", left, right)


def _fitting(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise ValueFault("integer overflow")


def _fitting_uint(value: int) -> Uint:
    if value <= UINT_MAX:
        return Uint(value)
    raise ValueFault("unsigned integer overflow")


def least(items: list[Any]) -> Any:
    """Give the first of the least elements; NaN gives way to nothing and takes no place.

    Raises:
        ValueFault: the list is empty, or its elements have no order.
    """
    if _only_class(items) in _PLAINLY_ORDERED:
        return min(items)
    return _preferred(items, "min", lambda order: order > 0)


def greatest(items: list[Any]) -> Any:
    """Give the first of the greatest elements; NaN as in `least`.

    Raises:
        ValueFault: the list is empty, or its elements have no order.
    """
    if _only_class(items) in _PLAINLY_ORDERED:
        return max(items)
    return _preferred(items, "max", lambda order: order < 0)


def _preferred(items: list[Any], name: str, gives_way: Callable[[int], bool]) -> Any:
    if not items:
        raise ValueFault(f"{name} called on empty list")
    found = items[0]
    for item in items:  # the first one too: it must have an order
        if gives_way(compare(found, item) or 0):
            found = item
    return found


def is_sorted(items: list[Any]) -> bool:
    """Say whether no element is greater than the next.

    Raises:
        ValueFault: the elements have no order.
    """
    if items:
        compare(items[0], items[0])
    return all((compare(left, right) or 0) <= 0 for left, right in pairwise(items))


def _only_class(items: list[Any]) -> type | None:
    """Give the class of all elements, or nothing where there is no such class."""
    classes = set(map(type, items))
    return classes.pop() if len(classes) == 1 else None


# --- positions -------------------------------------------------------------------------------


def _positions() -> tuple[Function, ...]:
    return (
        function(
            "indexOf",
            overload("list_a_index_of_int", "list(A).(A) -> int", index_of, cost=scan_cost),
            doc="Gives where an element or a string stands first, from 0, or -1.",
        ),
        function(
            "lastIndexOf",
            overload(
                "list_a_last_index_of_int", "list(A).(A) -> int", last_index_of, cost=scan_cost
            ),
            doc="Gives where an element or a string stands last, from 0, or -1.",
        ),
        function(
            "first",
            overload("list_first", "list(A).() -> optional_type(A)", _first),
            doc="Gives the first element of a list, or no value where the list is empty.",
        ),
        function(
            "last",
            overload("list_last", "list(A).() -> optional_type(A)", _last),
            doc="Gives the last element of a list, or no value where the list is empty.",
        ),
    )


def index_of(items: list[Any], value: Any) -> int:
    """Give where the first element that equals the value stands, from 0, or -1."""
    return next((at for at, item in enumerate(items) if equal(item, value)), -1)


def last_index_of(items: list[Any], value: Any) -> int:
    """Give where the last element that equals the value stands, from 0, or -1."""
    last = len(items) - 1
    return next((last - at for at, item in enumerate(reversed(items)) if equal(item, value)), -1)


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


# --- order -----------------------------------------------------------------------------------


def _order() -> tuple[Function, ...]:
    return (
        function(
            "sort",
            *(
                overload(
                    f"list_{type_}_sort",
                    f"list({type_}).() -> list({type_})",
                    lambda items: sort_by(items, items),
                    cost=_sort_cost,
                    portable=_portable(type_),
                )
                for type_ in _ORDERED
            ),
            doc="Puts the elements of a list into ascending order.",
        ),
        function(
            "@sortByAssociatedKeys",
            *(
                overload(
                    f"list_{type_}_sortByAssociatedKeys",
                    f"list(T).(list({type_})) -> list(T)",
                    sort_by,
                    cost=lambda _, keys: _sort_cost(keys),
                    portable=_portable(type_),
                )
                for type_ in _ORDERED
            ),
            doc="Puts the elements of a list into the ascending order of their keys.",
        ),
    )


def _sort_cost(keys: list[Any]) -> int:
    """Give the cost of sorting: each key is compared about log2(n) times, in machine code."""
    return weight(keys) * (1 + len(keys).bit_length() // 4)


def sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    """Sort by keys, one for each item; items with equal keys stay in their order.

    Raises:
        ValueFault: the keys have no order, are of several types, or are not as many as the items.
    """
    if len(items) != len(keys):
        raise ValueFault(f"sorting {len(items)} elements needs as many keys, not {len(keys)}")
    if not keys:
        return items
    try:
        compare(keys[0], keys[0])
    except ValueFault:
        raise ValueFault("list elements must be comparable") from None
    if _only_class(keys) is None:
        raise ValueFault("list elements must have the same type")
    return [items[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]


# --- parts and shape -------------------------------------------------------------------------


def _parts() -> tuple[Function, ...]:
    return (
        function(
            "slice",
            overload("list_slice", "list(T).(int, int) -> list(T)", slice_list, cost=_slice_cost),
            doc="Gives the part of a list from one position up to but without another.",
        ),
        function(
            "distinct",
            overload("list_distinct", "list(T).() -> list(T)", distinct, cost=weight),
            doc="Gives a list without the elements that equal an earlier one.",
        ),
    )


def _slice_cost(items: list[Any], start: int, end: int) -> int:
    return max(0, min(end, len(items)) - max(start, 0))


def slice_list(items: list[Any], start: int, end: int) -> list[Any]:
    """Give the elements from `start` up to but without `end`.

    Raises:
        ValueFault: the positions are negative, in the wrong order, or past the end.
    """
    if start < 0 or end < 0:
        raise ValueFault(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise ValueFault(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(items):
        raise ValueFault(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def distinct(items: list[Any]) -> list[Any]:
    """Give the elements that equal no earlier one."""
    seen = Members()
    return [item for item in items if seen.add(item)]


def _shape() -> tuple[Function, ...]:
    return (
        function(
            "flatten",
            overload(
                "list_flatten",
                "list(list(T)).() -> list(T)",
                lambda items: flatten(items, 1),
                cost=lambda items: sum(map(_own_length, items)),
            ),
            overload(
                "list_flatten_int",
                "list(dyn).(int) -> list(dyn)",
                flatten,
                cost=lambda items, _: weight(items),
            ),
            doc="Puts the elements of inner lists in their place, one level or as many as given.",
        ),
        function(
            "reverse",
            overload("list_reverse", "list(T).() -> list(T)", lambda items: items[::-1], cost=len),
            doc="Turns a list or a string round.",
        ),
        function(
            "lists.range",
            overload("lists_range", "(int) -> list(int)", range_list, cost=_range_cost),
            doc="Gives the list of the integers from 0 up to but without the argument.",
        ),
    )


def _own_length(item: Any) -> int:
    return 1 + (len(item) if item.__class__ is list else 0)


def flatten(items: list[Any], depth: int) -> list[Any]:
    """Put the elements of inner lists in their place, `depth` levels deep.

    Raises:
        ValueFault: `depth` is negative; `LimitFault`, the list would be too long.
    """
    if depth < 0:
        raise ValueFault("level must be non-negative")
    flat: list[Any] = []
    open_ = [iter(items)]
    while open_:
        for item in open_[-1]:
            if item.__class__ is list and len(open_) <= depth:
                open_.append(iter(item))
                break
            flat.append(item)
            if len(flat) > MAX_LIST:
                bounded_list(len(flat))
        else:
            open_.pop()
    return flat


def _range_cost(count: int) -> int:
    return min(max(count, 0), MAX_WORK)


def range_list(count: int) -> list[int]:
    """Give the integers from 0 up to but without `count`.

    Raises:
        LimitFault: they are too many.
    """
    return list(range(bounded_list(count)))
