"""What an expression comes to on every node, kept for each key of facts and repaired.

A table belongs to one expression and one key of what the expression reads beside the node: pods
that agree in that share it. It is repaired for the nodes where something that the expression
reads has changed, and for no others.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any, Final, Generic, TypeVar

import numpy as np

from policyd.language.checked import Checked
from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.limits import MAX_WORK
from policyd.language.program import Program
from policyd.language.types import Type
from policyd.policy.kernel.columns import ListStore, State, Store, row_values
from policyd.policy.kernel.keys import Key
from policyd.policy.kernel.plan import Batch, Part, Planner, Step, has_loops
from policyd.policy.kernel.vector import (
    FAILED,
    Array,
    Kind,
    ListVector,
    Unvectorised,
    Value,
    Vector,
    constant,
    either,
    failed,
    from_values,
    kind_of,
)
from policyd.values.quantity import Quantity

ROW: Final = "node"
"""The variable that the rows are values of."""

_CHUNK: Final = 4096
"""How many rows are computed at once; more would not fit the processor's cache."""

_CHUNK_OF_LOOPS: Final = 256
"""The same where macros add axes."""

_WORTH: Final = 0.7
"""The part of distinct rows below which it is worth to compute each of them once only."""

_FEW: Final = 24
"""Rows below which looking for rows that are alike costs more than it saves."""

_MANY: Final = 48
"""Rows from which on arrays are faster in any case."""

_AGAIN: Final = 64
"""After how many calls the other way is tried again."""

_FACTOR: Final = 10
"""By how much the other way may be slower to be tried again."""

_WORTHWHILE: Final = 2e-4
"""Seconds of rows one by one from which on arrays are tried."""

_TABLES: Final = 1024
"""How many keys are kept of one expression."""

T = TypeVar("T")


class Kept(Generic[T]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Key, T] = OrderedDict()

    def get(self, key: Key) -> T | None:
        """Give what is kept under a key."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: T) -> None:
        """Keep something under a key."""
        self._entries[key] = value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


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
        step = _CHUNK if self._part.step is None else _CHUNK_OF_LOOPS
        for at in range(0, stale.size, step):
            self._compute(columns, state, bindings, stale[at : at + step])
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
        source = _Source(columns, state, bindings, self._constants)
        return source.compute(step, self._part.columns, rows)


class _Source:
    """The constants of one key, and the columns, for a batch."""

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

    def compute(self, step: Step, parts: Sequence[Part], rows: Array) -> tuple[Vector, int]:
        """Compute a step over rows, each kind of rows once, and say what work one is at most.

        What does not depend on the row comes without an axis.

        Raises:
            Unvectorised: it comes to a list, or has no form over arrays for these values.
        """
        same = self._columns.representatives(parts, self._state, self._bindings, rows)
        if same is None:
            return self._computed(step, rows)
        first, inverse = same
        value, work = self._computed(step, rows[first])
        if _is_even(value):
            return value, work
        value = over_rows(value, first.size)
        error = None if value.error is None else value.error[inverse]
        return Vector(value.kind, value.data[inverse], error, value.scale, value.domain), work

    def _computed(self, step: Step, rows: Array) -> tuple[Vector, int]:
        batch = Batch(self, rows)
        value = step(batch)
        if isinstance(value, ListVector):
            raise Unvectorised("a list is the result")
        return value, batch.work

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


class Pace:
    """Which way is faster for a few rows: one by one, or all at once, as measured so far.

    Measured in the thread's own time, and once in a while the slower way again.
    """

    def __init__(self) -> None:
        self._row = 0.0  # seconds
        self._batch = 0.0
        self._calls = 0

    def prefers_rows(self, count: int) -> bool:
        """Say whether so many rows are faster one by one."""
        if count > _MANY or not self._row:
            return count <= _MANY
        by_rows, batch = count * self._row, self._batch or _WORTHWHILE
        self._calls += 1
        if self._calls % _AGAIN == 0 and max(by_rows, batch) < _FACTOR * min(by_rows, batch):
            return by_rows >= batch
        return by_rows < batch

    def took(self, count: int, seconds: float, *, by_rows: bool) -> None:
        """Take note of what some rows took."""
        if not 0 < count <= _MANY:
            return
        if by_rows:
            self._row = _moved(self._row, seconds / count)
        else:
            self._batch = _moved(self._batch, seconds)


def _moved(mean: float, latest: float) -> float:
    """Move a mean towards the latest value; one disturbance does not decide for long."""
    return latest if not mean else min(0.8 * mean + 0.2 * latest, 4 * mean)


class Kernel:
    """One expression over all nodes. Belongs to one thread.

    With `as_score` its values are turned into numbers, as those of `prefer` are: a bool is 0 or
    100, a quantity its approximate double.
    """

    def __init__(
        self, checked: Checked, program: Program, columns: Columns, *, as_score: bool = False
    ) -> None:
        planner = Planner(checked, ROW, columns.signatures)
        self._program = program
        self._columns = columns
        self._whole = planner.part(checked.root)
        self._as_score = as_score
        self.reads = self._whole.reads
        self.refusal = ""  # why it is done row by row, where it is
        self._step: Step | None = None
        if as_score and kind_of(checked.root.type) is Kind.QUANTITY:
            self.refusal = "the double of a quantity depends on how it is written"
        else:
            self._plan(planner, checked)
        self.kind = _score_kind(checked.root.type) if as_score else kind_of(checked.root.type)
        self._tables: Kept[Table] = Kept(_TABLES)
        self.pace = Pace()
        self._parts = planner.columns if has_loops(checked.root) else ()
        self.chunk = _CHUNK if not has_loops(checked.root) else _CHUNK_OF_LOOPS

    def _plan(self, planner: Planner, checked: Checked) -> None:
        try:
            self._step = planner.plan(checked.root)
        except Unvectorised as refusal:
            self.refusal = str(refusal)

    @property
    def is_vectorised(self) -> bool:
        """Say whether it has a form over arrays."""
        return self._step is not None

    def table(self, state: State, bindings: Mapping[str, Any]) -> "Table":
        """Give the table for what is bound, repaired for the state of the nodes."""
        key = self._whole.outside.key(bindings, state.aspect)
        table = self._tables.get(key)
        if table is None:
            table = Table(self)
            self._tables.put(key, table)
        table.refresh(state, bindings)
        return table

    def values(self, state: State, bindings: Mapping[str, Any]) -> Vector:
        """Give the values on all nodes; without an axis where they do not depend on the node."""
        if self.reads:
            return self.table(state, bindings).values(len(state.nodes))
        made = from_values([self._evaluate_once(bindings)], self.kind)
        error = None if made.error is None else made.error.reshape(())
        return Vector(made.kind, made.data.reshape(()), error, made.scale, made.domain)

    def on(self, state: State, bindings: Mapping[str, Any], rows: Array) -> Vector:
        """Compute the values at some rows, and keep nothing."""
        return over_rows(self.evaluate(state, bindings, rows, {}), rows.size)

    @property
    def reads_feasible(self) -> bool:
        """Say whether it depends on where the pod fits, so that nothing can be kept."""
        return "feasible" in self._program.variables

    def _evaluate_once(self, bindings: Mapping[str, Any]) -> Any:
        try:
            value = self._program.evaluate(bindings)
        except EvaluationError:
            return FAILED
        return number(value) if self._as_score else value

    def evaluate(
        self,
        state: State,
        bindings: Mapping[str, Any],
        rows: Array,
        constants: dict[Key, tuple[Value, int]],
    ) -> Vector:
        """Compute the expression at some rows, in the way that is faster for so many.

        What does not depend on the row comes without an axis, where it is found out.
        """
        started = thread_time()
        if self._step is not None and not self.pace.prefers_rows(rows.size):
            try:
                found = self._over_arrays(self._step, state, bindings, rows, constants)
            except Unvectorised as refusal:
                self.refusal = str(refusal)
            else:
                self.pace.took(rows.size, thread_time() - started, by_rows=False)
                return _numbers(found, self.kind) if self._as_score else found
        nodes = [state.nodes[row] for row in rows.tolist()]
        values = from_values(self._row_by_row(bindings, nodes), self.kind)
        self.pace.took(rows.size, thread_time() - started, by_rows=True)
        return values

    def _row_by_row(self, bindings: Mapping[str, Any], nodes: Sequence[Any]) -> list[Any]:
        """Evaluate as the interpreter does; here a limit that is reached is an error."""
        evaluate = self._program.over(bindings, ROW)
        found: list[Any] = []
        for node in nodes:
            try:
                value = evaluate(node)
            except EvaluationError:
                value = FAILED
            found.append(number(value) if self._as_score else value)
        return found

    def _over_arrays(
        self,
        step: Step,
        state: State,
        bindings: Mapping[str, Any],
        rows: Array,
        constants: dict[Key, tuple[Value, int]],
    ) -> Vector:
        source = _Source(self._columns, state, bindings, constants)
        with np.errstate(all="ignore"):
            return source.compute(step, self._parts, rows)[0]


def _score_kind(type_: Type) -> Kind:
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


def _numbers(vector: Vector, kind: Kind) -> Vector:
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


class Table:
    """An expression on every node, for one key.

    What turns out not to depend on the node is kept once, and never stale: its key says all.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._reads = kernel.reads
        self._store = Store(kernel.kind)
        self._even: Vector | None = None
        self._constants: dict[Key, tuple[Value, int]] = {}
        self._version = -1

    def refresh(self, state: State, bindings: Mapping[str, Any]) -> None:
        """Compute it anew where it is stale."""
        if self._version == state.version or self._even is not None:
            return
        count = len(state.nodes)
        stale = state.stale(self._version, self._reads)
        for at in range(0, stale.size, self._kernel.chunk):
            rows = stale[at : at + self._kernel.chunk]
            made = self._kernel.evaluate(state, bindings, rows, self._constants)
            if self._version < 0 and not at and _is_even(made):
                self._even = made
                return
            if made.kind is not self._store.kind:
                self._store = self._converted(made.kind)
            self._store.put(rows, over_rows(made, rows.size), count)
        self._version = state.version

    def _converted(self, kind: Kind) -> Store:
        """Start anew with another kind, where what an expression gives is not its type's."""
        if self._version >= 0 or self._store.kind is kind:
            raise Unvectorised("an expression that gives values of several kinds")
        return Store(kind)

    def values(self, count: int) -> Vector:
        """Give the values at the first places, or the one value of all; a view."""
        return self._store.up_to(count) if self._even is None else self._even


def _is_even(vector: Vector) -> bool:
    return not vector.axes and (vector.error is None or not vector.error.ndim)
