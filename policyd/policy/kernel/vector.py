"""Values over many rows: the arrays that stand for what the interpreter computes one by one.

The first axis is the row (a node). Inside a macro each level adds an axis at the end, so that a
value of an outer level has the leading axes of an inner one. A value that is the same everywhere
has no axes. Beside the data stands a mask of the places where there is an error instead of a
value; the data there mean nothing.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from policyd.language.types import BOOL, DOUBLE, INT, QUANTITY, Type
from policyd.values.errors import LimitFault, ValueFault
from policyd.values.quantity import Quantity

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class Unvectorised(Exception):  # noqa: N818 - not an error: the interpreter takes over
    """Something that is not computed over arrays exactly as the interpreter computes it."""


class Kind(Enum):
    """What the data of a vector are."""

    BOOL = "bool"  # bool
    INT = "int"  # int64
    DOUBLE = "double"  # float64
    QUANTITY = "quantity"  # int64, or Python integers; times `scale` in nano-units
    ANY = "any"  # places in `domain`


_KINDS: Final = {BOOL: Kind.BOOL, INT: Kind.INT, DOUBLE: Kind.DOUBLE, QUANTITY: Kind.QUANTITY}
_CLASSES: Final = {Kind.BOOL: bool, Kind.INT: int, Kind.DOUBLE: float, Kind.QUANTITY: Quantity}
DTYPES: Final[dict[Kind, Any]] = {
    Kind.BOOL: np.bool_,
    Kind.INT: np.int64,
    Kind.DOUBLE: np.float64,
    Kind.QUANTITY: np.int64,
    Kind.ANY: np.int64,
}
SCALES: Final = (10**9, 10**6, 10**3, 1)
"""The units in which quantities are held, in nano-units: the largest that all are whole in."""

FAILED: Final = object()
"""What stands in a list of values where there is an error."""


def kind_of(type_: Type) -> Kind:
    """Give the kind of the values of a type."""
    return _KINDS.get(type_, Kind.ANY)


class Domain(list[Any]):
    """The values of a domain that stays: more may be added, and none is changed.

    What a function gives for such values can be kept by their places.
    """

    __slots__ = ()


class Vector(msgspec.Struct, frozen=True, gc=False):
    """One value for each place.

    `error` has the axes of the data, or can be broadcast to them; without it there is no error.
    """

    kind: Kind
    data: Array
    error: Mask | None = None
    scale: int = 1
    domain: Sequence[Any] = ()

    @property
    def axes(self) -> int:
        """Give how many axes there are."""
        return self.data.ndim

    def shaped(self, axes: int) -> "Vector":
        """Give it with so many axes; the new ones come at the end."""
        if self.data.ndim in (0, axes):
            return self
        more = (1,) * (axes - self.data.ndim)
        error = self.error
        if error is not None and error.ndim:
            error = error.reshape(error.shape + (1,) * (axes - error.ndim))
        return Vector(
            self.kind, self.data.reshape(self.data.shape + more), error, self.scale, self.domain
        )


Fields = Callable[[str, Kind], Vector | None]
"""Gives a field of the elements of a list, by its name and kind, where a column has it."""


class ListVector(msgspec.Struct, frozen=True):
    """A list for each place: its elements along one more axis, the last.

    `axes` is how many axes the lists themselves have. `valid` says which elements there are: the
    others only fill the axis up, or were filtered out. `size` is the length of the axis.
    `fields` gives a field of the elements from columns, where there are such.
    """

    axes: int
    elements: Vector
    valid: Mask | None
    size: int
    error: Mask | None = None
    fields: Fields | None = None

    def lifted(self, axes: int) -> "ListVector":
        """Give it as it is inside macros, where values have so many axes."""
        if axes == self.axes:
            return self
        between = (1,) * (axes - self.axes)

        def lift(array: Array) -> Array:
            return array.reshape(array.shape[: self.axes] + between + array.shape[self.axes :])

        error = self.error
        if error is not None and error.ndim:
            error = error.reshape(error.shape + (1,) * (axes - error.ndim))
        fields = self.fields
        return ListVector(
            axes,
            _mapped(self.elements, lift),
            None if self.valid is None else lift(self.valid),
            self.size,
            error,
            None if fields is None else lambda name, kind: _lifted(fields(name, kind), lift),
        )


Value = Vector | ListVector


def _mapped(vector: Vector, change: Callable[[Array], Array]) -> Vector:
    error = None if vector.error is None else change(vector.error)
    return Vector(vector.kind, change(vector.data), error, vector.scale, vector.domain)


def _lifted(vector: Vector | None, lift: Callable[[Array], Array]) -> Vector | None:
    return None if vector is None else _mapped(vector, lift)


def either(*masks: Mask | None) -> Mask | None:
    """Join masks of errors, which may have fewer axes than one another."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    if len(given) == 1:
        return given[0]
    axes = max(mask.ndim for mask in given)
    joined: Mask = np.asarray(
        np.logical_or.reduce(np.broadcast_arrays(*(widened(mask, axes) for mask in given)))
    )
    return joined


def widened(array: Array, axes: int) -> Array:
    """Give an array more axes at its end; one without axes fits everywhere."""
    if array.ndim in (0, axes):
        return array
    return array.reshape(array.shape + (1,) * (axes - array.ndim))


def aligned(*vectors: Vector) -> tuple[Vector, ...]:
    """Give vectors the same number of axes."""
    axes = max(vector.axes for vector in vectors)
    return tuple(vector.shaped(axes) for vector in vectors)


# --- from and to Python's values ---


def constant(value: Any, type_: Type) -> Vector:
    """Give the vector of one value; its kind is that of the type, if the value is of it."""
    made = from_values([value], kind_of(type_))
    return Vector(made.kind, made.data.reshape(()), None, made.scale, made.domain)


def failed() -> Vector:
    """Give the vector of one error."""
    return Vector(Kind.ANY, np.zeros((), np.int64), np.ones((), np.bool_), 1, (FAILED,))


def from_values(values: Sequence[Any], kind: Kind) -> Vector:
    """Give a vector of Python's values; `FAILED` stands for an error.

    Values that are not all of the kind's class give a vector of the kind `ANY`.
    """
    error = np.fromiter((value is FAILED for value in values), np.bool_, len(values))
    mask = error if error.any() else None
    cls = _CLASSES.get(kind)
    if cls is not None and all(v.__class__ is cls or v is FAILED for v in values):
        if kind is Kind.QUANTITY:
            nanos = [0 if v is FAILED else v.nanos for v in values]
            scale, data = scaled(nanos)
            return Vector(kind, data, mask, scale)
        zero = cls()
        data = np.array([zero if v is FAILED else v for v in values], DTYPES[kind])
        return Vector(kind, data, mask)
    return Vector(Kind.ANY, np.arange(len(values)), mask, 1, values)


def scaled(nanos: Sequence[int]) -> tuple[int, Array]:
    """Hold amounts in the largest unit in which all are whole: 64 bits, or Python's integers."""
    scale = next(s for s in SCALES if s == 1 or not any(n % s for n in nanos))
    units = [n // scale for n in nanos]
    if units and max(map(abs, units)) >= 1 << 62:
        return scale, np.array(units, object)
    return scale, np.array(units, np.int64)


def to_values(vector: Vector, shape: tuple[int, ...]) -> list[Any]:
    """Give Python's values, place after place of a shape; `FAILED` where there is an error."""
    axes = len(shape)
    data = np.broadcast_to(widened(vector.data, axes), shape).ravel().tolist()
    values = [_python(vector, item) for item in data]
    if vector.error is None:
        return values
    errors = np.broadcast_to(widened(vector.error, axes), shape).ravel().tolist()
    return [FAILED if bad else v for v, bad in zip(values, errors, strict=True)]


def _python(vector: Vector, item: Any) -> Any:
    if vector.kind is Kind.ANY:
        return vector.domain[item]
    if vector.kind is Kind.QUANTITY:
        raise Unvectorised("how a quantity is written is not kept")
    return item


# --- functions of values, one by one ---

_MOST_ANSWERS: Final = 512
"""For how many domains the answers of a call are kept."""

_RADIX: Final = 1 << 20
"""More than the values of a domain, to number combinations."""


def distinct(codes: Array, size: int) -> tuple[Array, Array]:
    """Give the codes that occur, and for each place which of them it is. Codes are below `size`."""
    if size > 4 * codes.size + 1024:
        found, inverse = np.unique(codes, return_inverse=True)
        return found, inverse.reshape(codes.shape)
    present = np.zeros(size, np.bool_)
    present[codes] = True
    found = np.flatnonzero(present)
    place = np.empty(size, np.int64)
    place[found] = np.arange(found.size)
    return found, place[codes]


class Answers:
    """What one call in an expression gave for combinations of values, by the domains of these.

    Only for domains that stay. The values that are the same everywhere must be the very same
    objects as before.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], _Answered] = {}

    def of(self, domains: Sequence[Sequence[Any]], fixed: Sequence[Any]) -> "_Answered | None":
        """Give the answers for domains and fixed values; nothing where they cannot be kept."""
        if not all(domain.__class__ is Domain for domain in domains):
            return None
        objects = (*domains, *fixed)
        key = tuple(map(id, objects))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_ANSWERS:
                self._known.clear()
            found = self._known[key] = _Answered(objects)
        return found


class _Answered:
    """The answers for some domains, which it keeps so that they stay the same objects."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects
        self._places: dict[int, int] = {}
        self._values: list[Any] = []
        self._vector: Vector | None = None

    def give(self, codes: Array, compute: Callable[[int], Any], result: Kind) -> Vector:
        """Give the answers for codes of combinations; those that are new are computed."""
        places = self._places
        wanted = codes.tolist()
        for code in wanted:
            if code not in places:
                places[code] = len(self._values)
                self._values.append(compute(code))
                self._vector = None
        if self._vector is None:
            self._vector = from_values(list(self._values), result)
        at = np.array([places[code] for code in wanted], np.int64)
        made = self._vector
        error = None if made.error is None else made.error[at]
        return Vector(made.kind, made.data[at], error, made.scale, made.domain)


def elementwise(
    compute: Callable[..., Any],
    args: Sequence[Vector],
    result: Kind,
    answers: Answers | None = None,
) -> Vector:
    """Apply a function of Python's values; what it refuses is an error at that place.

    Where the arguments take few values together, it is called once for each combination, and
    the answers are kept where they can be.
    """
    masks = either(*(arg.error for arg in args))
    varying = [arg for arg in args if arg.axes]
    if not varying:
        values = [_call(compute, [to_values(arg, ())[0] for arg in args])]
        made = from_values(values, result)
        return _with_mask(_reshaped(made, ()), masks)
    shaped = aligned(*args)
    if all(arg.kind is Kind.ANY for arg in varying):
        return _with_mask(_by_combination(compute, shaped, result, answers), masks)
    shape = np.broadcast_shapes(*(arg.data.shape for arg in shaped))
    columns = [to_values(arg, shape) for arg in shaped]
    values = [_call(compute, row) for row in zip(*columns, strict=True)]
    return _with_mask(_reshaped(from_values(values, result), shape), masks)


def _by_combination(
    compute: Callable[..., Any], args: Sequence[Vector], result: Kind, answers: Answers | None
) -> Vector:
    varying = [at for at, arg in enumerate(args) if arg.axes]
    domains = [args[at].domain for at in varying]
    code, size = _numbered([args[at] for at in varying], domains)
    found, inverse = distinct(code, size)
    fixed = [None if arg.axes else to_values(arg, ())[0] for arg in args]

    def of(number: int) -> Any:
        row = fixed.copy()
        for at, domain in zip(reversed(varying), reversed(domains), strict=True):
            number, place = divmod(number, _RADIX) if len(domains) > 1 else (0, number)
            row[at] = domain[place]
        return _call(compute, row)

    answered = None if answers is None else answers.of(domains, fixed)
    if answered is not None:
        made = answered.give(found, of, result)
    else:
        made = from_values([of(number) for number in found.tolist()], result)
    error = None if made.error is None else made.error[inverse]
    return Vector(made.kind, made.data[inverse], error, made.scale, made.domain)


def _numbered(args: Sequence[Vector], domains: Sequence[Sequence[Any]]) -> tuple[Array, int]:
    """Give each combination of codes a number, and a bound of the numbers."""
    if len(args) == 1:
        return args[0].data, len(domains[0])
    if len(args) > 3 or any(len(domain) >= _RADIX for domain in domains):
        raise Unvectorised("too many combinations to number")
    code: Array = args[0].data
    for arg in args[1:]:
        code = code * _RADIX + arg.data
    return code, 1 << 62


def _call(compute: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call with one place's values. An argument that failed is masked, so nothing is computed."""
    if any(arg is FAILED for arg in args):
        return FAILED
    try:
        return compute(*args)
    except LimitFault:
        raise Unvectorised("a limit is reached") from None
    except ValueFault:
        return FAILED


def _reshaped(vector: Vector, shape: tuple[int, ...]) -> Vector:
    error = None if vector.error is None else vector.error.reshape(shape)
    return Vector(vector.kind, vector.data.reshape(shape), error, vector.scale, vector.domain)


def _with_mask(vector: Vector, mask: Mask | None) -> Vector:
    if mask is None:
        return vector
    return Vector(vector.kind, vector.data, either(vector.error, mask), vector.scale, vector.domain)
