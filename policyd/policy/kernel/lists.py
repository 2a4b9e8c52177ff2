"""Lists over many rows: what macros make of their bodies, and sums, sizes and extremes."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from policyd.policy.kernel.numeric import equal, same_scale
from policyd.policy.kernel.vector import (
    FAILED,
    Array,
    Kind,
    ListVector,
    Mask,
    Unvectorised,
    Vector,
    aligned,
    either,
    from_values,
    to_values,
    widened,
)
from policyd.values.maps import decode_key

_WIDE: Final = 1 << 62


def joined(values: Sequence[Vector], *, deciding: bool) -> Vector:
    """Give `&&` (false decides) or `||` (true decides): an error gives way to what decides."""
    decided: Any = np.False_
    for value in aligned(*values):
        hit = value.data == deciding
        decided = decided | (hit if value.error is None else hit & ~value.error)
    error = either(*(value.error for value in aligned(*values)))
    if error is not None:
        error = np.asarray(error & ~decided)
    return Vector(Kind.BOOL, np.asarray(decided == deciding), error)


def spread(vector: Vector, kind: Kind, *, values: bool = False) -> ListVector:
    """Take lists, or the keys of maps, apart: the elements stand along one more axis.

    `kind` is that of the elements. With `values` it is the values of maps that are taken.

    Raises:
        Unvectorised: there is something else among them.
    """
    items: list[Any] = []
    starts, sizes = [], []
    for value in vector.domain:
        found = [] if value is FAILED else _items(value, values=values)
        starts.append(len(items))
        sizes.append(len(found))
        items.extend(found)
    longest = max(sizes, default=0)
    at = np.arange(longest)
    start, size = np.array(starts, np.int64), np.array(sizes, np.int64)
    codes = np.where(at < size[:, None], start[:, None] + at, 0)
    if not items:
        codes = codes[:, :0]
    made = from_values(items or [FAILED], kind)
    data = made.data[codes[vector.data]]
    elements = Vector(made.kind, data, None, made.scale, made.domain)
    valid = None if np.all(size == longest) else (at < size[:, None])[vector.data]
    return ListVector(vector.axes, elements, valid, longest, vector.error)


def _items(value: Any, *, values: bool) -> list[Any]:
    if values and isinstance(value, dict):
        return list(value.values())
    if value.__class__ is list and not values:
        items: list[Any] = value
        return items
    if isinstance(value, dict):
        return [decode_key(key) for key in value]
    raise Unvectorised("a macro over something that is no list and no map")


def stacked(elements: Sequence[Vector]) -> ListVector:
    """Make lists of vectors: the first elements, the second ones and so on."""
    if not elements:
        raise Unvectorised("an empty list has no kind")
    same = unified(elements)
    shape = np.broadcast_shapes(*(v.data.shape for v in same))
    axes = len(shape)
    data = np.stack([np.broadcast_to(v.data, shape) for v in same], axis=axes)
    error = either(*(v.error for v in same))
    made = Vector(same[0].kind, data, None, same[0].scale, same[0].domain)
    return ListVector(axes, made, None, len(same), error)


def unified(vectors: Sequence[Vector]) -> tuple[Vector, ...]:
    """Give vectors of one kind the same axes, unit and domain.

    Raises:
        Unvectorised: they are of several kinds.
    """
    kinds = {vector.kind for vector in vectors}
    same = aligned(*vectors)
    if len(kinds) > 1:
        raise Unvectorised("values of several kinds")
    kind = same[0].kind
    if kind is Kind.QUANTITY:
        return _in_one_unit(same)
    if kind is Kind.ANY:
        return _in_one_domain(same)
    return same


def _in_one_unit(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    smallest = min(vectors, key=lambda v: v.scale)
    made = []
    for vector in vectors:
        data, _, scale = same_scale(vector, smallest)
        made.append(Vector(Kind.QUANTITY, data, vector.error, scale))
    return tuple(made)


def _in_one_domain(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    domain: list[Any] = []
    made = []
    for vector in vectors:
        made.append((vector, len(domain)))
        domain.extend(vector.domain)
    return tuple(
        Vector(Kind.ANY, vector.data + offset, vector.error, 1, domain) for vector, offset in made
    )


def chosen(condition: Vector, then: Vector, otherwise: Vector) -> Vector:
    """Give `then` where the condition holds, else `otherwise`, with the errors of that one only."""
    one, other = unified((then, otherwise))
    axes = max(condition.axes, one.axes, other.axes)
    test, one, other = condition.shaped(axes), one.shaped(axes), other.shaped(axes)
    data = np.where(test.data, one.data, other.data)
    error = test.error
    if one.error is not None or other.error is not None:
        inner = np.where(test.data, _mask(one), _mask(other))
        error = either(error, np.asarray(inner))
    return Vector(one.kind, np.asarray(data), error, one.scale, one.domain)


def _mask(vector: Vector) -> Any:
    return np.False_ if vector.error is None else widened(vector.error, vector.axes)


# --- what macros make of their bodies ---


def _full(items: ListVector, body: Vector) -> tuple[Array, Array, Mask]:
    """Give the values of a body, its errors and what is valid, over the whole last axis.

    The three have one shape; what is not valid is no error.
    """
    axes = items.axes + 1
    body = body.shaped(axes)
    error = np.False_ if body.error is None else widened(body.error, axes)
    valid = np.True_ if items.valid is None else widened(items.valid, axes)
    shape = np.broadcast_shapes(
        body.data.shape, np.shape(error), np.shape(valid), (1,) * items.axes + (items.size,)
    )
    filled = np.broadcast_to(valid, shape)
    wrong = np.broadcast_to(error, shape) & filled
    return np.broadcast_to(body.data, shape), wrong, filled


def _bool(vector: Vector) -> Vector:
    if vector.kind is not Kind.BOOL:
        raise Unvectorised("a condition that is no bool")
    return vector


def quantified(items: ListVector, body: Vector, *, deciding: bool) -> Vector:
    """Give `all` (false decides) or `exists` (true decides): an error gives way to what decides."""
    data, wrong, valid = _full(items, _bool(body))
    decides = (data == deciding) & valid & ~wrong
    decided = decides.any(axis=-1)
    error = items.error
    if wrong.any():
        error = either(error, np.asarray(wrong.any(axis=-1) & ~decided))
    return Vector(Kind.BOOL, np.asarray(decided == deciding), error)


def counted_once(items: ListVector, body: Vector) -> Vector:
    """Give `exists_one`: any error is an error."""
    data, wrong, valid = _full(items, _bool(body))
    once = (data & valid).sum(axis=-1) == 1
    error = either(items.error, np.asarray(wrong.any(axis=-1))) if wrong.any() else items.error
    return Vector(Kind.BOOL, np.asarray(once), error)


def filtered(items: ListVector, keep: Vector) -> ListVector:
    """Give the elements for which a condition holds; an error of it is one of the list."""
    data, wrong, valid = _full(items, _bool(keep))
    error = either(items.error, np.asarray(wrong.any(axis=-1))) if wrong.any() else items.error
    kept = np.asarray(data & valid)
    return ListVector(items.axes, items.elements, kept, items.size, error, items.fields)


def collected(items: ListVector, body: Vector) -> ListVector:
    """Give the lists of what a body gives for each element; its errors are the list's."""
    axes = items.axes + 1
    body = body.shaped(axes)
    error = items.error
    if body.error is not None:
        _, wrong, _ = _full(items, body)
        error = either(error, np.asarray(wrong.any(axis=-1)))
    if not body.axes:
        body = Vector(body.kind, body.data.reshape((1,) * axes), None, body.scale, body.domain)
    made = Vector(body.kind, body.data, None, body.scale, body.domain)
    return ListVector(items.axes, made, items.valid, items.size, error)


def positions(items: ListVector) -> Vector:
    """Give each element's place in its list."""
    if items.valid is None:
        return Vector(Kind.INT, np.arange(items.size).reshape((1,) * items.axes + (-1,)))
    full = np.broadcast_to(
        items.valid, np.broadcast_shapes(items.valid.shape, (1,) * items.axes + (items.size,))
    )
    return Vector(Kind.INT, np.cumsum(full, axis=-1) - 1)


# --- functions of lists ---


def size(items: ListVector) -> Vector:
    """Count the elements."""
    if items.valid is None:
        return Vector(Kind.INT, np.full((1,) * items.axes, items.size, np.int64), items.error)
    shape = np.broadcast_shapes(items.valid.shape, (1,) * items.axes + (items.size,))
    count = np.broadcast_to(items.valid, shape).sum(axis=-1)
    return Vector(Kind.INT, np.asarray(count, np.int64), items.error)


def summed(items: ListVector) -> Vector:
    """Add up from the first element to the last, as `total` of the lists library does."""
    body = items.elements
    data, _, valid = _full(items, body)
    if body.kind is Kind.DOUBLE:
        return Vector(Kind.DOUBLE, _running_total(np.where(valid, data, 0.0)), items.error)
    if body.kind not in (Kind.INT, Kind.QUANTITY) or data.dtype == object:
        raise Unvectorised("a sum of something else")
    if data.size and max(abs(int(data.max())), abs(int(data.min()))) * items.size >= _WIDE:
        raise Unvectorised("the sum may not fit")
    total = np.where(valid, data, 0).sum(axis=-1)
    scale = body.scale if body.kind is Kind.QUANTITY else 1
    return Vector(body.kind, np.asarray(total, np.int64), items.error, scale)


def _running_total(data: Array) -> Array:
    """Add doubles in order: `sum` adds in pairs, and its last bits differ."""
    if not data.shape[-1]:
        return np.zeros(data.shape[:-1])
    return np.asarray(np.cumsum(data, axis=-1)[..., -1] + 0.0)


def extreme(items: ListVector, *, least: bool) -> Vector:
    """Give the least or the greatest element; of no elements it is an error."""
    body = items.elements
    if body.kind not in (Kind.INT, Kind.DOUBLE, Kind.QUANTITY) or body.data.dtype == object:
        raise Unvectorised("an extreme of something else")
    data, _, valid = _full(items, body)
    if body.kind is Kind.DOUBLE and (np.isnan(data).any() or _negative_zeros(data)):
        raise Unvectorised("which of such doubles is taken depends on their order")
    if not items.size:
        nothing = np.ones(data.shape[:-1], np.bool_)
        zeros = np.zeros(data.shape[:-1], data.dtype)
        return Vector(body.kind, zeros, nothing, body.scale)
    if body.kind is Kind.DOUBLE:
        fill: Any = np.inf if least else -np.inf
    else:
        fill = np.iinfo(np.int64).max if least else np.iinfo(np.int64).min
    filled = np.where(valid, data, fill)
    found = filled.min(axis=-1) if least else filled.max(axis=-1)
    empty = ~valid.any(axis=-1)
    error = items.error
    if empty.any():
        error = either(error, np.asarray(empty))
        found = np.where(empty, 0, found)
    return Vector(body.kind, np.asarray(found), error, body.scale)


def _negative_zeros(data: Array) -> bool:
    return bool((np.signbit(data) & (data == 0)).any())


def contains(value: Vector, items: ListVector) -> Vector:
    """Say whether a number or bool is among the elements.

    Raises:
        Unvectorised: the values are of other kinds.
    """
    axes = max(value.axes, items.axes)
    found = equal(value.shaped(axes).shaped(axes + 1), items.lifted(axes).elements)
    if found is None:
        raise Unvectorised("membership of something else")
    held = quantified(items.lifted(axes), found, deciding=True)
    return Vector(held.kind, held.data, either(held.error, value.error))


def whole(items: ListVector) -> Vector:
    """Put lists together again as Python's lists, for a function that takes them.

    Raises:
        Unvectorised: they are quantities.
    """
    axes = items.axes + 1
    elements = items.elements.shaped(axes)
    valid = np.True_ if items.valid is None else widened(items.valid, axes)
    shape = np.broadcast_shapes(
        elements.data.shape, np.shape(valid), (1,) * items.axes + (items.size,)
    )
    outer = shape[:-1]
    values = to_values(elements, shape)
    kept = np.broadcast_to(valid, shape).ravel().tolist()
    step = items.size
    lists = (
        [
            [v for v, k in zip(values[at : at + step], kept[at : at + step], strict=True) if k]
            for at in range(0, len(values), step)
        ]
        if step
        else [[] for _ in range(int(np.prod(outer)))]
    )
    made = from_values(lists, Kind.ANY)
    return Vector(Kind.ANY, made.data.reshape(outer), items.error, 1, made.domain or ([],))
