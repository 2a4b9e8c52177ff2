"""Kernels against the interpreter: the same value, or an error in both, on every node."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyd.language.diagnostics import RuleError
from policyd.language.errors import EvaluationError
from policyd.language.printer import print_expression
from policyd.language.types import BOOL, DOUBLE, INT, QUANTITY, STRING, list_of
from policyd.model.journal import Journal
from policyd.policy.kernel.columns import Columns
from policyd.policy.kernel.keys import frozen
from policyd.policy.kernel.state import State
from policyd.policy.kernel.tables import Kernel
from policyd.policy.kernel.vector import FAILED, Kind
from policyd.values.quantity import Quantity
from tests.language.typed_strategies import Pool, expressions
from tests.policy.kernel.facts import cluster, narrowed, waiting

ENVIRONMENT = narrowed()
POOL = Pool(ENVIRONMENT)
SNAPSHOT = cluster()
POD = waiting()
BINDINGS = {
    "pod": POD,
    "cluster": SNAPSHOT.cluster,
    "now": SNAPSHOT.now,
    "free": [3, 1, 2, 9],
}
TYPES = (BOOL, DOUBLE, INT, QUANTITY, STRING, list_of(INT))


def kernel_of(text: str, columns: Columns | None = None) -> tuple[Kernel, object]:
    checked = ENVIRONMENT.compile(text)
    program = ENVIRONMENT.program(checked)
    kernel = Kernel(checked, program, columns or Columns())
    kernel.pace.prefers_rows = lambda _: False  # few as they are, by arrays
    return kernel, program


def by_kernel(kernel: Kernel) -> list:
    state = State(SNAPSHOT.nodes, Journal(), 0)
    found = kernel.values(state, BINDINGS)
    count = len(SNAPSHOT.nodes)
    data = found.data.tolist() if found.data.ndim else [found.data.item()] * count
    errors = [False] * count
    if found.error is not None:
        errors = found.error.tolist() if found.error.ndim else [found.error.item()] * count
    return [FAILED if e else _value(found, d) for d, e in zip(data, errors, strict=True)]


def _value(found, item):
    if found.kind is Kind.ANY:
        return found.domain[item]
    if found.kind is Kind.QUANTITY:
        return Quantity.from_nanos(item * found.scale)
    return item


def by_interpreter(program) -> list:
    found = []
    for node in SNAPSHOT.nodes:
        try:
            found.append(program.evaluate({**BINDINGS, "node": node}))
        except EvaluationError:
            found.append(FAILED)
    return found


def agree(one, other) -> bool:
    if one is FAILED or other is FAILED:
        return one is other
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one == other
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return frozen(one) == frozen(other)


@settings(max_examples=400)
@given(st.data())
def test_a_kernel_gives_what_the_interpreter_gives(data):
    tree = data.draw(expressions(data.draw(st.sampled_from(TYPES)), 4, POOL, certain=True))
    text = print_expression(tree)
    try:
        kernel, program = kernel_of(text)
    except RuleError:  # an expression that certainly fails
        assume(False)
    assume("node" in program.variables)
    expected = by_interpreter(program)
    found = by_kernel(kernel)
    assert all(map(agree, found, expected)), (text, found, expected)
