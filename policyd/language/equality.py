"""Equality, order and the type of values, as the language defines them.

Equality is total: values of different kinds are unequal, numbers of all kinds compare on one
number line, NaN equals nothing
(https://github.com/google/cel-spec/blob/master/doc/langdef.md#equality). A comparison of an
integer with a double is made in double, as cel-go and NumPy do it, so it is lossy past 2^53.
"""

from typing import Any, Final

from policyd.values.errors import ValueFault
from policyd.values.kinds import TypeValue
from policyd.values.numbers import Uint
from policyd.values.optional import Optional

_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    TypeValue: "type",
    Optional: "optional_type",
}
_TYPE_VALUES: Final = {cls: TypeValue(name) for cls, name in _NAMES.items()}
_INTEGERS: Final = frozenset({int, Uint})
_NUMBERS: Final = frozenset({int, Uint, float})
_ORDERED: Final = frozenset({bool, str, bytes})


def type_value(value: Any) -> TypeValue:
    """Give the type of a value as a value.

    Classes of other rooms name their type in a class attribute `cel_type`, and say in
    `cel_ordered` whether their values have an order.
    """
    cls = value.__class__
    found = _TYPE_VALUES.get(cls)
    if found is None:
        name = getattr(cls, "cel_type", None)
        if name is None:
            name = "map" if isinstance(value, dict) else cls.__name__
        found = _TYPE_VALUES[cls] = TypeValue(name)
    return found


def equal(left: Any, right: Any) -> bool:
    """Say whether two values are equal. Never fails."""
    a, b = left.__class__, right.__class__
    if a is b:
        if a is list:
            return len(left) == len(right) and all(map(equal, left, right))
        if a is Optional:
            if not (left.present and right.present):
                return bool(left.present == right.present)
            return equal(left.value, right.value)
        if not isinstance(left, dict):
            return bool(left == right)
    elif a in _NUMBERS and b in _NUMBERS:
        if a is float or b is float:
            return float(left) == float(right)
        return bool(left == right)
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_maps(left, right)
    return False


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and equal(value, right[key]) for key, value in left.items())


def compare(left: Any, right: Any) -> int | None:
    """Order two values: negative, zero or positive; `None` where one of them is NaN.

    Raises:
        ValueFault: the two have no order.
    """
    a, b = left.__class__, right.__class__
    if a in _NUMBERS and b in _NUMBERS:
        if a not in _INTEGERS or b not in _INTEGERS:
            left, right = float(left), float(right)
            if left != left or right != right:  # noqa: PLR0124 - NaN
                return None
    elif a is not b or not (a in _ORDERED or getattr(a, "cel_ordered", False)):
        raise ValueFault(
            f"no such overload: {type_value(left)} and {type_value(right)} have no order"
        )
    return int(left > right) - int(left < right)


def no_overload(name: str, *values: Any) -> ValueFault:
    """Make the error for a call whose arguments fit no signature of the function."""
    kinds = ", ".join(type_value(value).name for value in values)
    return ValueFault(f"no such overload: {name}({kinds})")
