"""Values kept by the places of nodes: one each, or a list of objects with their fields."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from policyd.policy.kernel.keys import Key, contents, frozen
from policyd.policy.kernel.numeric import in_unit
from policyd.policy.kernel.vector import (
    DTYPES,
    FAILED,
    Array,
    Domain,
    Kind,
    ListVector,
    Mask,
    Unvectorised,
    Vector,
    from_values,
    widened,
)


class Store:
    """One value for each place, or a padded row of values where they are lists."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._data: Array = np.zeros(0, DTYPES[kind])
        self._error: Mask | None = None
        self._scale = 10**9
        self._domain = Domain()
        self._codes: dict[Key, int] = {}

    def put(self, slots: Array, vector: Vector, count: int) -> None:
        """Set the values at some of `count` places.

        Raises:
            Unvectorised: they are of another kind.
        """
        if vector.kind is not self.kind:
            raise Unvectorised(f"{vector.kind.value} where {self.kind.value} is kept")
        shape = slots.shape if vector.axes < 2 else (*slots.shape, *vector.data.shape[1:])
        self._reserve(count, shape[1:])
        data = self._own(vector)
        self._put(self._data, slots, np.broadcast_to(data, shape))
        self._put_errors(slots, vector.error, shape)
        if self.kind is Kind.ANY and len(self._domain) > 4 * self._data.size + 4096:
            self._compact(count)

    def codes(self, slots: Array) -> Array:
        """Give numbers that are equal for values that nothing can tell apart."""
        data = self._data[slots]
        if data.dtype == object:
            return np.unique(data, return_inverse=True)[1]
        codes = data.view(np.int64) if data.dtype == np.float64 else data.astype(np.int64)
        return codes if self._error is None else codes * 2 + self._error[slots]

    def take(self, slots: Array) -> Vector:
        """Give the values at some places."""
        error = None if self._error is None else self._error[slots]
        return Vector(self.kind, self._data[slots], error, self._scale, self._domain)

    def up_to(self, count: int) -> Vector:
        """Give the values at the first places; a view, for those who only look."""
        error = None if self._error is None else self._error[:count]
        return Vector(self.kind, self._data[:count], error, self._scale, self._domain)

    def _reserve(self, count: int, inner: tuple[int, ...]) -> None:
        have = self._data.shape
        if have[0] >= count and (not inner or (len(have) > 1 and have[1] >= inner[0])):
            return
        rows = max(count, have[0] * 3 // 2) if have[0] < count else have[0]
        wide = (max(inner[0], have[1] if len(have) > 1 else 0),) if inner else have[1:]
        self._data = _grown(self._data, (rows, *wide))
        if self._error is not None:
            self._error = _grown(self._error, (rows, *wide))

    def _put(self, into: Array, slots: Array, values: Array) -> None:
        if into.ndim == 1:
            into[slots] = values
        else:
            into[slots, : values.shape[1]] = values

    def _put_errors(self, slots: Array, error: Mask | None, shape: tuple[int, ...]) -> None:
        if error is None:
            if self._error is not None:
                self._error[slots] = False
            return
        if self._error is None:
            self._error = np.zeros(self._data.shape, np.bool_)
        self._put(self._error, slots, np.broadcast_to(widened(error, len(shape)), shape))

    def _own(self, vector: Vector) -> Array:
        """Give the data in this store's unit or domain."""
        if self.kind is Kind.QUANTITY:
            return self._in_own_unit(vector)
        if self.kind is Kind.ANY:
            codes = np.array([self._code(value) for value in vector.domain], np.int64)
            return codes[vector.data]
        return vector.data

    def _in_own_unit(self, vector: Vector) -> Array:
        if vector.scale < self._scale:
            own = Vector(Kind.QUANTITY, self._data, None, self._scale)
            self._data, self._scale = in_unit(own, vector.scale).copy(), vector.scale
        data = in_unit(vector, self._scale)
        if data.dtype == object and self._data.dtype != object:
            self._data = self._data.astype(object)
        return data

    def _code(self, value: Any) -> int:
        key = frozen(value) if value is not FAILED else FAILED
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self._domain)
            self._domain.append(value)
        return code

    def _compact(self, count: int) -> None:
        """Forget the values that are nowhere any more."""
        kept, inverse = np.unique(self._data[:count], return_inverse=True)
        values = [self._domain[code] for code in kept.tolist()]
        self._domain, self._codes = Domain(), {}
        codes = np.array([self._code(value) for value in values], np.int64)
        self._data = np.zeros(self._data.shape, np.int64)
        self._data[:count] = codes[inverse.reshape(self._data[:count].shape)]


def _grown(array: Array, shape: tuple[int, ...]) -> Array:
    """Give an array with more room, and zeros there; one without a second axis may get one."""
    made = np.zeros(shape, array.dtype)
    if array.size:
        made[tuple(slice(size) for size in array.shape)] = array
    return made


class ListStore:
    """A list of objects for each place, with their fields as padded rows when asked for."""

    def __init__(self) -> None:
        self._lists: list[list[Any]] = []
        self._sizes: Array = np.zeros(0, np.int64)
        self._error: Mask = np.zeros(0, np.bool_)
        self._codes: Array = np.zeros(0, np.int64)
        self._numbers: dict[Key, int] = {}
        self._next = 0
        self._fields: dict[tuple[str, Kind], Store] = {}

    def put(self, slots: Array, lists: Sequence[Any], count: int) -> None:
        """Set the lists at some of `count` places; `FAILED` stands for an error."""
        if len(self._sizes) < count:
            self._sizes = _grown(self._sizes, (count,))
            self._error = _grown(self._error, (count,))
            self._codes = _grown(self._codes, (count,))
            self._lists.extend([] for _ in range(count - len(self._lists)))
        for slot, items in zip(slots.tolist(), lists, strict=True):
            self._error[slot] = items is FAILED
            self._lists[slot] = [] if items is FAILED else items
            self._sizes[slot] = len(self._lists[slot])
            self._codes[slot] = self._number(items)
        for (name, kind), store in self._fields.items():
            self._fill(store, name, kind, slots)

    def codes(self, slots: Array) -> Array:
        """Give numbers that are equal for lists that nothing can tell apart."""
        return self._codes[slots]

    def take(self, slots: Array) -> ListVector:
        """Give the lists at some places."""
        sizes = self._sizes[slots]
        longest = int(sizes.max(initial=0))
        at = np.arange(longest)
        valid = None if np.all(sizes == longest) else at < sizes[:, None]
        lists = [self._lists[slot] for slot in slots.tolist()]
        codes = np.arange(len(lists) * longest).reshape(len(lists), longest)
        elements = Vector(Kind.ANY, codes, None, 1, Padded(lists, longest))
        error = self._error[slots] if self._error[slots].any() else None
        return ListVector(
            1, elements, valid, longest, error, lambda n, k: self._field(n, k, slots, longest)
        )

    def _number(self, items: Any) -> int:
        """Give the contents of a list a number. Numbers only grow, so what is forgotten is new."""
        key = -1 if items is FAILED else tuple(map(contents, items))
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) > 4 * len(self._lists) + 4096:
                self._numbers.clear()
            self._next += 1
            number = self._numbers[key] = self._next
        return number

    def _field(self, name: str, kind: Kind, slots: Array, longest: int) -> Vector | None:
        if kind is Kind.ANY:
            return None
        store = self._fields.get((name, kind))
        if store is None:
            store = self._fields[name, kind] = Store(kind)
            self._fill(store, name, kind, np.arange(len(self._lists)))
        whole = store.take(slots)
        error = None if whole.error is None else whole.error[:, :longest]
        return Vector(kind, whole.data[:, :longest], error, whole.scale, whole.domain)

    def _fill(self, store: Store, name: str, kind: Kind, slots: Array) -> None:
        lists = [self._lists[slot] for slot in slots.tolist()]
        longest = max(1, *(len(items) for items in lists)) if lists else 1
        filler = from_values([], kind)
        values = [getattr(item, name) for items in lists for item in items]
        made = from_values(values, kind) if values else filler
        if made.kind is not kind:
            raise Unvectorised(f"the field {name} is not {kind.value} everywhere")
        data = np.zeros((len(lists), longest), made.data.dtype)
        sizes = np.array([len(items) for items in lists], np.int64)
        data[np.arange(longest) < sizes[:, None]] = made.data
        store.put(slots, Vector(kind, data, None, made.scale), len(self._lists))


class Padded(Sequence[Any]):
    """The objects of some lists by their places in a padded table; the places between have none."""

    def __init__(self, lists: Sequence[Sequence[Any]], width: int) -> None:
        self._lists = lists
        self._width = width

    def __len__(self) -> int:
        return max(1, len(self._lists) * self._width)

    def __getitem__(self, at: Any) -> Any:
        row, place = divmod(at, self._width) if self._width else (0, 0)
        items: Sequence[Any] = self._lists[row] if row < len(self._lists) else ()
        return items[place] if place < len(items) else FAILED

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))
