"""What an expression comes to on every node, kept for each key of facts and repaired.

A table belongs to one expression and one key of what the expression reads beside the node: pods
that agree in that share it. It is repaired for the nodes where something that the expression
reads has changed, and for no others.
"""

from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Any, Final

import numpy as np

from policyd.language.checked import Checked
from policyd.language.errors import EvaluationError
from policyd.language.program import Program
from policyd.policy.kernel.batch import Step
from policyd.policy.kernel.columns import (
    ROW,
    Columns,
    Constants,
    first_chunk,
    is_even,
    over_rows,
)
from policyd.policy.kernel.kept import Kept
from policyd.policy.kernel.keys import Key
from policyd.policy.kernel.numbers import number, numbers, score_kind
from policyd.policy.kernel.pace import Pace
from policyd.policy.kernel.plan import Planner, has_loops
from policyd.policy.kernel.state import State
from policyd.policy.kernel.stores import Store
from policyd.policy.kernel.vector import (
    FAILED,
    Array,
    Kind,
    Unvectorised,
    Value,
    Vector,
    from_values,
    kind_of,
)

_TABLES: Final = 1024
"""How many keys are kept of one expression."""


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
        self.kind = score_kind(checked.root.type) if as_score else kind_of(checked.root.type)
        self._tables: Kept[Table] = Kept(_TABLES)
        self.pace = Pace()
        self._parts = planner.columns if has_loops(checked.root) else ()
        self._chunk = first_chunk(has_loops=has_loops(checked.root))

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
                return numbers(found, self.kind) if self._as_score else found
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
        source = Constants(self._columns, state, bindings, constants)
        with np.errstate(all="ignore"):
            return source.compute(step, self._parts, rows, self._chunk)[0]


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
        if stale.size:
            made = self._kernel.evaluate(state, bindings, stale, self._constants)
            if self._version < 0 and is_even(made):
                self._even = made
                return
            if made.kind is not self._store.kind:
                self._store = self._converted(made.kind)
            self._store.put(stale, over_rows(made, stale.size), count)
        self._version = state.version

    def _converted(self, kind: Kind) -> Store:
        """Start anew with another kind, where what an expression gives is not its type's."""
        if self._version >= 0 or self._store.kind is kind:
            raise Unvectorised("an expression that gives values of several kinds")
        return Store(kind)

    def values(self, count: int) -> Vector:
        """Give the values at the first places, or the one value of all; a view."""
        return self._store.up_to(count) if self._even is None else self._even
