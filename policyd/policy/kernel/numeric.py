"""Operators on numbers, bools and quantities over arrays, to the last bit as one by one.

Each is named by the id of its overload. An operation that cannot be exact over arrays for the
values that it meets raises `Unvectorised`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from policyd.policy.kernel.vector import (
    Array,
    Kind,
    Mask,
    Unvectorised,
    Vector,
    aligned,
    either,
)
from policyd.values.quantity import NANOS, Quantity

Kernel = Callable[..., Vector]

_EXACT: Final = 1 << 53
"""Integers below this are exact as doubles."""

_WIDE: Final = 1 << 62

_INT_MIN: Final = np.int64(-(2**63))


def _masked(kind: Kind, data: Any, error: Mask | None, scale: int = 1) -> Vector:
    return Vector(kind, np.asarray(data), error, scale)


def _both(left: Vector, right: Vector) -> tuple[Array, Array, Mask | None]:
    a, b = aligned(left, right)
    return a.data, b.data, either(a.error, b.error)


def _with_faults(kind: Kind, data: Any, error: Mask | None, faults: Array) -> Vector:
    """Add the places where the operation itself fails."""
    if not faults.any():
        return _masked(kind, data, error)
    return _masked(kind, data, either(error, np.asarray(faults)))


# --- integers ---


def add_int(left: Vector, right: Vector) -> Vector:
    """Add; what does not fit 64 bits is an error."""
    a, b, error = _both(left, right)
    total = np.add(a, b)
    return _with_faults(Kind.INT, total, error, np.asarray(((a ^ total) & (b ^ total)) < 0))


def subtract_int(left: Vector, right: Vector) -> Vector:
    """Subtract; what does not fit 64 bits is an error."""
    a, b, error = _both(left, right)
    rest = np.subtract(a, b)
    return _with_faults(Kind.INT, rest, error, np.asarray(((a ^ b) & (a ^ rest)) < 0))


def multiply_int(left: Vector, right: Vector) -> Vector:
    """Multiply; what does not fit 64 bits is an error."""
    a, b, error = _both(left, right)
    product = np.multiply(a, b)
    large = np.abs(np.multiply(a.astype(np.float64), b.astype(np.float64))) >= float(_WIDE)
    if not large.any():
        return _masked(Kind.INT, product, error)
    exact = np.multiply(a.astype(object), b.astype(object))
    faults = np.asarray((exact < -(2**63)) | (exact >= 2**63)).astype(np.bool_)
    return _with_faults(Kind.INT, product, error, faults)


def divide_int(left: Vector, right: Vector) -> Vector:
    """Divide toward zero; by zero, and where the result does not fit, it is an error."""
    a, b, error = _both(left, right)
    faults = np.asarray((b == 0) | ((a == _INT_MIN) & (b == -1)))
    safe = np.where(faults, 1, b)
    quotient = np.floor_divide(a, safe)
    inexact = np.multiply(quotient, safe) != a
    towards_zero = quotient + (inexact & ((a < 0) != (safe < 0)))
    return _with_faults(Kind.INT, towards_zero, error, faults)


def modulo_int(left: Vector, right: Vector) -> Vector:
    """Give the remainder with the sign of the dividend."""
    a, b, error = _both(left, right)
    faults = np.asarray((b == 0) | ((a == _INT_MIN) & (b == -1)))
    return _with_faults(Kind.INT, np.fmod(a, np.where(faults, 1, b)), error, faults)


def negate_int(operand: Vector) -> Vector:
    """Change the sign."""
    faults = np.asarray(operand.data == _INT_MIN)
    return _with_faults(Kind.INT, np.negative(operand.data), operand.error, faults)


# --- doubles ---


def as_double(vector: Vector) -> Vector:
    """Give the nearest doubles of integers; doubles as they are."""
    if vector.kind is Kind.DOUBLE:
        return vector
    if vector.kind is not Kind.INT:
        raise Unvectorised("not a number")
    return _masked(Kind.DOUBLE, vector.data.astype(np.float64), vector.error)


def _doubles(compute: Callable[[Array, Array], Any], kind: Kind) -> Kernel:
    def kernel(left: Vector, right: Vector) -> Vector:
        a, b, error = _both(as_double(left), as_double(right))
        return _masked(kind, compute(a, b), error)

    return kernel


def negate_double(operand: Vector) -> Vector:
    """Change the sign."""
    return _masked(Kind.DOUBLE, np.negative(operand.data), operand.error)


def double_to_int(operand: Vector) -> Vector:
    """Cut towards zero; both ends of the 64 bits are out of range, as in the conversion."""
    inside = np.asarray((operand.data > -(2.0**63)) & (operand.data < 2.0**63))
    data = np.where(inside, operand.data, 0.0).astype(np.int64)
    return _with_faults(Kind.INT, data, operand.error, ~inside)


# --- comparisons ---


def _same_kind(compute: Callable[[Array, Array], Any], kind: Kind) -> Kernel:
    def kernel(left: Vector, right: Vector) -> Vector:
        if left.kind is not kind or right.kind is not kind:
            raise Unvectorised("not of the kind that was expected")
        a, b, error = _both(left, right)
        return _masked(Kind.BOOL, compute(a, b), error)

    return kernel


def logical_not(operand: Vector) -> Vector:
    """Negate."""
    return _masked(Kind.BOOL, np.logical_not(operand.data), operand.error)


# --- quantities ---


def same_scale(left: Vector, right: Vector) -> tuple[Array, Array, int]:
    """Give the amounts of two vectors of quantities in one unit."""
    scale = min(left.scale, right.scale)
    return in_unit(left, scale), in_unit(right, scale), scale


def in_unit(vector: Vector, scale: int) -> Array:
    """Give amounts in a smaller unit, or in the same."""
    factor = vector.scale // scale
    if factor == 1:
        return vector.data
    if vector.data.dtype == object:
        return np.asarray(vector.data * factor)
    if _largest(vector.data) * factor >= _WIDE:
        return np.asarray(vector.data.astype(object) * factor)
    return np.asarray(vector.data * np.int64(factor))


def _largest(data: Array) -> int:
    if not data.size:
        return 0
    return max(abs(int(data.max())), abs(int(data.min())))


def amount(vector: Vector) -> Vector:
    """Give integers as whole units; quantities as they are."""
    if vector.kind is Kind.QUANTITY:
        return vector
    if vector.kind is not Kind.INT:
        raise Unvectorised("not an amount")
    return Vector(Kind.QUANTITY, vector.data, vector.error, NANOS)


def _amounts(compute: Callable[[Array, Array], Any]) -> Kernel:
    """Add or subtract quantities. Sums of 62 bits fit 64."""

    def kernel(left: Vector, right: Vector) -> Vector:
        one, other = aligned(amount(left), amount(right))
        a, b, scale = same_scale(one, other)
        if max(_largest(a), _largest(b)) >= _WIDE:
            a, b = a.astype(object), b.astype(object)
        return _masked(Kind.QUANTITY, compute(a, b), either(one.error, other.error), scale)

    return kernel


def _amounts_compared(compute: Callable[[Array, Array], Any]) -> Kernel:
    def kernel(left: Vector, right: Vector) -> Vector:
        one, other = aligned(amount(left), amount(right))
        a, b, _ = same_scale(one, other)
        data = np.asarray(compute(a, b)).astype(np.bool_)
        return _masked(Kind.BOOL, data, either(one.error, other.error))

    return kernel


def scale_amount(left: Vector, right: Vector) -> Vector:
    """Multiply a quantity by an integer."""
    one, number = aligned(amount(left), right)
    if number.kind is not Kind.INT:
        raise Unvectorised("a double scales a quantity exactly, which arrays do not")
    a, b = one.data, number.data
    if _largest(a) * _largest(b) >= _WIDE:
        a, b = a.astype(object), b.astype(object)
    product = np.multiply(a, b)
    return _masked(Kind.QUANTITY, product, either(one.error, number.error), one.scale)


def ratio(left: Vector, right: Vector) -> Vector:
    """Divide quantities into the nearest double; by zero it is infinite, or NaN for 0/0."""
    one, other = aligned(left, right)
    if one.kind is not Kind.QUANTITY or other.kind is not Kind.QUANTITY:
        raise Unvectorised("not amounts")
    a, b, _ = same_scale(one, other)
    if max(_largest(a), _largest(b)) >= _EXACT:
        quotient = _exact_quotient(a, b)
    else:
        quotient = np.divide(a.astype(np.float64), b.astype(np.float64))
    return _masked(Kind.DOUBLE, quotient, either(one.error, other.error))


def _exact_quotient(a: Array, b: Array) -> Array:
    """Divide integers that doubles do not hold, one by one."""
    left, right = np.broadcast_arrays(a, b)
    pairs = zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
    found = [Quantity.from_nanos(top).ratio(Quantity.from_nanos(bottom)) for top, bottom in pairs]
    return np.array(found, np.float64).reshape(left.shape)


def amount_to_double(operand: Vector) -> Vector:
    """Give the nearest double of a quantity."""
    if _largest(operand.data) >= _EXACT:
        raise Unvectorised("the quotient of such large integers is not exact in doubles")
    units = operand.data.astype(np.float64) / (NANOS // operand.scale)
    return _masked(Kind.DOUBLE, units, operand.error)


def _negated_amount(operand: Vector) -> Vector:
    return _masked(Kind.QUANTITY, np.negative(operand.data), operand.error, operand.scale)


def _sign(operand: Vector) -> Vector:
    data = np.asarray(np.sign(operand.data)).astype(np.int64)
    return _masked(Kind.INT, data, operand.error)


def _compared_to(left: Vector, right: Vector) -> Vector:
    difference = _amounts(np.subtract)(left, right)
    return _sign(difference)


# --- equality of whatever it is ---


def equal(left: Vector, right: Vector) -> Vector | None:
    """Compare two vectors of one kind that arrays can compare; nothing for others."""
    if left.kind is Kind.QUANTITY and right.kind is Kind.QUANTITY:
        return _amounts_compared(np.equal)(left, right)
    if left.kind is not right.kind or left.kind is Kind.ANY:
        return None
    a, b, error = _both(left, right)
    return _masked(Kind.BOOL, np.equal(a, b), error)


def _flipped(kernel: Kernel) -> Kernel:
    return lambda left, right: kernel(right, left)


_Compute = Callable[[Array, Array], Any]

_COMPARISONS: Final[tuple[tuple[str, _Compute], ...]] = (
    ("less", np.less),
    ("less_equals", np.less_equal),
    ("greater", np.greater),
    ("greater_equals", np.greater_equal),
)


def _kernels() -> Mapping[str, Kernel]:
    made: dict[str, Kernel] = {
        "logical_not": logical_not,
        "add_int64": add_int,
        "subtract_int64": subtract_int,
        "multiply_int64": multiply_int,
        "divide_int64": divide_int,
        "modulo_int64": modulo_int,
        "negate_int64": negate_int,
        "negate_double": negate_double,
        "negate_quantity": _negated_amount,
        "int64_to_double": as_double,
        "double_to_double": lambda operand: operand,
        "int64_to_int64": lambda operand: operand,
        "double_to_int64": double_to_int,
        "divide_quantity": ratio,
        "quantity_to_double": amount_to_double,
        "multiply_quantity_int": scale_amount,
        "multiply_int_quantity": _flipped(scale_amount),
        "quantity_sign": _sign,
        "quantity_compare_to": _compared_to,
        "quantity_is_less_than": _amounts_compared(np.less),
        "quantity_is_greater_than": _amounts_compared(np.greater),
    }
    doubles = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
    for name, compute in doubles.items():
        for pair in ("double", "int_double", "double_int"):
            made[f"{name}_{pair}"] = _doubles(compute, Kind.DOUBLE)
    sums = {"add": np.add, "subtract": np.subtract}
    for name, compute in sums.items():
        for pair in ("quantity", "quantity_int", "int_quantity"):
            made[f"{name}_{pair}"] = _amounts(compute)
        made[f"quantity_{name[:3]}"] = made[f"quantity_{name[:3]}_int"] = _amounts(compute)
    compared: list[tuple[str, _Compute]] = [*_COMPARISONS]
    compared += [("equals", np.equal), ("not_equals", np.not_equal)]
    for name, compare in compared:
        for pair in ("int_double", "double_int"):
            made[f"{name}_{pair}"] = _doubles(compare, Kind.BOOL)
        for pair in ("quantity_quantity", "quantity_int", "int_quantity"):
            made[f"{name}_{pair}"] = _amounts_compared(compare)
    for name, compare in _COMPARISONS:
        made[f"{name}_int64"] = _same_kind(compare, Kind.INT)
        made[f"{name}_double"] = _same_kind(compare, Kind.DOUBLE)
        made[f"{name}_bool"] = _same_kind(compare, Kind.BOOL)
    return made


KERNELS: Final[Mapping[str, Kernel]] = _kernels()
"""The operations, by the ids of their overloads."""
