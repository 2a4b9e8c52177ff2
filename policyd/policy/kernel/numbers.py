"""What a score's values are as numbers: bools, quantities and null among them."""

from typing import Any

import numpy as np

from policyd.language.types import Type
from policyd.policy.kernel.vector import (
    FAILED,
    Kind,
    Unvectorised,
    Vector,
    either,
    from_values,
    kind_of,
)
from policyd.values.quantity import Quantity


def score_kind(type_: Type) -> Kind:
    """Give the kind of a score's numbers; with null among them there is no kind for all."""
    kind = kind_of(type_)
    return Kind.DOUBLE if kind in (Kind.BOOL, Kind.QUANTITY) else kind


def number(value: Any) -> Any:
    """Give the number that a score's value is, or null; `FAILED` where it is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return 100.0 if value else 0.0
    if isinstance(value, Quantity):
        return value.as_float()
    return value if isinstance(value, int | float) else FAILED


def numbers(vector: Vector, kind: Kind) -> Vector:
    """Turn what a score came to into numbers."""
    if vector.kind is Kind.BOOL:
        return Vector(Kind.DOUBLE, np.where(vector.data, 100.0, 0.0), vector.error)
    if vector.kind is not Kind.ANY:
        return vector
    if kind is not Kind.ANY:
        raise Unvectorised("scores of several kinds")
    used, inverse = np.unique(vector.data, return_inverse=True)
    inverse = inverse.reshape(vector.data.shape)
    made = from_values([number(vector.domain[code]) for code in used.tolist()], kind)
    error = either(vector.error, None if made.error is None else np.asarray(made.error[inverse]))
    return Vector(made.kind, np.asarray(made.data[inverse]), error, 1, made.domain)
