"""Parts of expressions that are kept for all pods: columns of the nodes, and constants.

A column reads the node and nothing of the pod, so that one serves every pod, and expressions of
one meaning share it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.limits import MAX_WORK
from policyd.language.program import Program
from policyd.policy.kernel.batch import Batch, Part, Step
from policyd.policy.kernel.kept import Kept
from policyd.policy.kernel.keys import Key
from policyd.policy.kernel.lists import unified
from policyd.policy.kernel.state import State
from policyd.policy.kernel.stores import ListStore, Store
from policyd.policy.kernel.vector import (
    FAILED,
    Array,
    Kind,
    ListVector,
    Mask,
    Unvectorised,
    Value,
    Vector,
    constant,
    failed,
    from_values,
    kind_of,
)

ROW: Final = "node"
"""The variable that the rows are values of."""

_ELEMENTS: Final = 200_000
"""How many elements of an array are computed at once; more would not fit the processor's cache."""

_ROWS: Final = (64, 8192)
"""The fewest and the most rows that are computed at once."""

_WORTH: Final = 0.7
"""The part of distinct rows below which it is worth to compute each of them once only."""

_FEW: Final = 24
"""Rows below which looking for rows that are alike costs more than it saves."""

_MANY: Final = 512
"""Rows from which on a few are tried first: it may come out that all are the same."""


class Chunk:
    """How many rows are computed at once, by how many elements came of a row so far."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def learn(self, elements: int) -> None:
        """Take note of the elements that come of a row."""
        self.rows = min(max(_ELEMENTS // elements, _ROWS[0]), _ROWS[1])


def first_chunk(*, has_loops: bool) -> Chunk:
    """Give the rows to begin with: few where macros may make many elements of each."""
    return Chunk(256 if has_loops else _ROWS[1])


class Columns:
    """The columns and constants of the expressions of a rule set, by their signatures."""

    def __init__(self) -> None:
        self.signatures: dict[Key, int] = {}
        self._columns: dict[int, Kept[_Column]] = {}

    def column(
        self, part: Part, state: State, bindings: Mapping[str, Any], rows: Array
    ) -> tuple[Value, int]:
        """Give a column at some rows, and the most work of one of them."""
        kept = self._columns.get(part.signature)
        if kept is None:
            kept = self._columns[part.signature] = Kept(16)
        key = part.outside.key(bindings, state.aspect)
        column = kept.get(key)
        if column is None:
            column = _Column(part)
            kept.put(key, column)
        column.refresh(self, state, bindings)
        return column.take(rows), column.work

    def representatives(
        self,
        parts: Sequence[Part],
        state: State,
        bindings: Mapping[str, Any],
        rows: Array,
    ) -> tuple[Array, Array] | None:
        """Give one row of each kind of rows in which parts have the same values; see `alike`."""
        if rows.size < _FEW or not parts:
            return None
        codes = []
        for part in dict.fromkeys(parts):
            self.column(part, state, bindings, rows[:0])
            kept = self._columns[part.signature].get(part.outside.key(bindings, state.aspect))
            if kept is None:
                return None
            codes.append(kept.codes(rows))
        return alike(codes)


def alike(codes: Sequence[Array]) -> tuple[Array, Array] | None:
    """Give one row of each kind of rows, and for each row which of them it is like.

    Nothing where hardly any rows are alike.
    """
    found, inverse = np.unique(codes[0], return_inverse=True)
    for more in codes[1:]:
        if found.size > _WORTH * inverse.size:
            return None
        _, other = np.unique(more, return_inverse=True)
        found, inverse = np.unique(inverse * (other.max() + 1) + other, return_inverse=True)
    if found.size > _WORTH * inverse.size:
        return None
    first = np.zeros(found.size, np.int64)
    first[inverse[::-1]] = np.arange(inverse.size - 1, -1, -1)
    return first, inverse


class _Column:
    """One part of an expression on every node."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._store: Store | ListStore = ListStore() if part.is_list else Store(kind_of(part.type))
        self._version = -1
        self.work = 0
        self._chunk = first_chunk(has_loops=part.step is not None)
        self._constants: dict[Key, tuple[Value, int]] = {}

    def take(self, rows: Array) -> Value:
        return self._store.take(rows)

    def codes(self, rows: Array) -> Array:
        return self._store.codes(rows)

    def refresh(self, columns: Columns, state: State, bindings: Mapping[str, Any]) -> None:
        """Compute it anew where it is stale."""
        if self._version == state.version:
            return
        stale = state.stale(self._version, self._part.reads)
        if stale.size:
            self._compute(columns, state, bindings, stale)
        self._version = state.version

    def _compute(
        self, columns: Columns, state: State, bindings: Mapping[str, Any], rows: Array
    ) -> None:
        part, count = self._part, len(state.nodes)
        if part.step is not None:
            try:
                made, work = self._over_arrays(part.step, columns, state, bindings, rows)
            except Unvectorised:
                pass
            else:
                self.work = max(self.work, work)
                assert isinstance(self._store, Store)  # noqa: S101 - a macro's list is no column
                self._store.put(rows, over_rows(made, rows.size), count)
                return
        nodes = [state.nodes[row] for row in rows.tolist()]
        values, work = row_values(part.program, bindings, ROW, nodes)
        self.work = max(self.work, work)
        if isinstance(self._store, ListStore):
            self._store.put(rows, values, count)
        else:
            self._store.put(rows, from_values(values, self._store.kind), count)

    def _over_arrays(
        self,
        step: Step,
        columns: Columns,
        state: State,
        bindings: Mapping[str, Any],
        rows: Array,
    ) -> tuple[Vector, int]:
        source = Constants(columns, state, bindings, self._constants)
        return source.compute(step, self._part.columns, rows, self._chunk)


class Constants:
    """What steps are computed from: the constants of one key, and the columns."""

    def __init__(
        self,
        columns: Columns,
        state: State,
        bindings: Mapping[str, Any],
        constants: dict[Key, tuple[Value, int]],
    ) -> None:
        self._columns = columns
        self._state = state
        self._bindings = bindings
        self._constants = constants

    def constant(self, part: Part) -> tuple[Value, int]:
        """Give a constant; computed once for a key."""
        found = self._constants.get(part.signature)
        if found is None:
            found = self._constants[part.signature] = evaluate_constant(part, self._bindings)
        return found

    def kept(self, key: Key, make: Callable[[], tuple[Value, int]]) -> tuple[Value, int]:
        """Give what depends on constants only; computed once for a key."""
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = make()
        return found

    def compute(
        self, step: Step, parts: Sequence[Part], rows: Array, chunk: Chunk
    ) -> tuple[Vector, int]:
        """Compute a step over rows, each kind of rows once, and say what work one is at most.

        What does not depend on the row comes without an axis.

        Raises:
            Unvectorised: it comes to a list, or has no form over arrays for these values.
        """
        if parts and rows.size > _MANY:
            value, work = self._in_chunks(step, rows[:_FEW], chunk)
            if is_even(value):
                return value, work
        same = self._columns.representatives(parts, self._state, self._bindings, rows)
        if same is None:
            return self._in_chunks(step, rows, chunk)
        first, inverse = same
        value, work = self._in_chunks(step, rows[first], chunk)
        if is_even(value):
            return value, work
        value = over_rows(value, first.size)
        error = None if value.error is None else value.error[inverse]
        return Vector(value.kind, value.data[inverse], error, value.scale, value.domain), work

    def _in_chunks(self, step: Step, rows: Array, chunk: Chunk) -> tuple[Vector, int]:
        pieces: list[Vector] = []
        at, most = 0, 0
        while not pieces or at < rows.size:
            part = rows[at : at + chunk.rows]
            batch = Batch(self, part)
            value = step(batch)
            if isinstance(value, ListVector):
                raise Unvectorised("a list is the result")
            if not at and (is_even(value) or part.size == rows.size):
                return value, batch.work
            pieces.append(over_rows(value, part.size))
            at, most = at + part.size, max(most, batch.work)
            chunk.learn(batch.most)
        return joined_rows(pieces), most

    def column(self, part: Part, rows: Array) -> tuple[Value, int]:
        """Give a column."""
        return self._columns.column(part, self._state, self._bindings, rows)


def evaluate_constant(part: Part, bindings: Mapping[str, Any]) -> tuple[Vector, int]:
    """Compute a part that does not read the row, and say what work that was.

    Raises:
        Unvectorised: a limit is reached.
    """
    frame = part.program.frame(bindings)
    try:
        value = part.program.run(frame)
    except LimitExceeded:
        raise Unvectorised("a limit is reached") from None
    except EvaluationError:
        return failed_as(kind_of(part.type)), MAX_WORK - frame[0]
    return constant(value, part.type), MAX_WORK - frame[0]


def failed_as(kind: Kind) -> Vector:
    """Give the vector of one error, of a kind."""
    if kind is Kind.ANY:
        return failed()
    made = from_values([FAILED], kind)
    error = np.ones((), np.bool_)
    return Vector(kind, made.data.reshape(()), error, made.scale, made.domain)


def over_rows(value: Vector, count: int) -> Vector:
    """Give a value the axis of rows in full."""
    data = np.broadcast_to(value.data, (count,))
    error = None if value.error is None else np.broadcast_to(value.error, (count,))
    return Vector(value.kind, data, error, value.scale, value.domain)


def joined_rows(pieces: Sequence[Vector]) -> Vector:
    """Give the rows of some vectors one after the other.

    Raises:
        Unvectorised: they are of several kinds.
    """
    same = unified(pieces)
    data = np.concatenate([piece.data for piece in same])
    error = None
    if any(piece.error is not None for piece in same):
        error = np.concatenate([_errors(piece) for piece in same])
    return Vector(same[0].kind, data, error, same[0].scale, same[0].domain)


def _errors(piece: Vector) -> Mask:
    return np.zeros(piece.data.shape, np.bool_) if piece.error is None else piece.error


def is_even(vector: Vector) -> bool:
    """Say whether it is one value, or one error, for all rows."""
    return not vector.axes and (vector.error is None or not vector.error.ndim)


def row_values(
    program: Program, bindings: Mapping[str, Any], row: str, values: Sequence[Any]
) -> tuple[list[Any], int]:
    """Evaluate for each value of one variable; give the results and the most work of one.

    `FAILED` stands for an error.

    Raises:
        Unvectorised: a limit is reached.
    """
    template = program.frame({**bindings, row: None})
    place = 1 + program.variables.index(row)
    run, found, least = program.run, [], MAX_WORK
    for value in values:
        frame = template.copy()
        frame[place] = value
        try:
            found.append(run(frame))
        except LimitExceeded:
            raise Unvectorised("a limit is reached") from None
        except EvaluationError:
            found.append(FAILED)
        least = min(least, frame[0])
    return found, MAX_WORK - least
