"""The engines beside which policyd is measured, each behind the same two calls.

`prepare(expression)` compiles, `evaluate(program, node)` evaluates once. What can be prepared
for each node beforehand is prepared, for every engine: the times are of evaluation alone.
"""

from collections.abc import Callable
from typing import Any

from policyd.language.declarations import Field, ObjectType
from policyd.language.environment import Environment
from policyd.language.types import DYN, object_type, parse_type
from policyd.values.quantity import Quantity
from tests.bench.cases import FIELDS

Evaluate = Callable[[Any], Any]


def policyd_typed(expression: str, nodes: list[dict[str, Any]]) -> tuple[Evaluate, list[Any]]:
    """Take the node as an object with declared fields, as rules do."""
    fields = {name: Field(parse_type(text)) for name, text in FIELDS.items()}
    env = Environment(
        variables={"node": object_type("Node")}, objects={"Node": ObjectType("Node", fields)}
    )
    return _policyd(env, expression, nodes)


def policyd_dyn(expression: str, nodes: list[dict[str, Any]]) -> tuple[Evaluate, list[Any]]:
    """Take the node as JSON of which nothing is known, as the other engines do."""
    return _policyd(Environment(variables={"node": DYN}), expression, nodes)


def _policyd(
    env: Environment, expression: str, nodes: list[dict[str, Any]]
) -> tuple[Evaluate, list[Any]]:
    program = env.program(env.compile(expression))
    return program.evaluate, [{"node": node} for node in nodes]


def cel_python(expression: str, nodes: list[dict[str, Any]]) -> tuple[Evaluate, list[Any]]:
    """Run cel-python's interpreted runner, on values that it converted before."""
    import celpy  # noqa: PLC0415 - only benchmarks have it

    def quantity(text: Any) -> Any:
        return celpy.celtypes.DoubleType(Quantity.parse(str(text)).as_float())

    def greater(left: Any, right: Any) -> Any:
        return celpy.celtypes.BoolType(left > right)

    env = celpy.Environment()
    program = env.program(
        env.compile(expression), functions={"quantity": quantity, "isGreaterThan": greater}
    )
    return program.evaluate, [{"node": celpy.json_to_cel(node)} for node in nodes]


def rust_cel(expression: str, nodes: list[dict[str, Any]]) -> tuple[Evaluate, list[Any]]:
    """Run common-expression-language, on contexts that were filled before."""
    import cel  # noqa: PLC0415 - only benchmarks have it

    program = cel.compile(expression)
    contexts = []
    for node in nodes:
        context = cel.Context()
        context.add_variable("node", node)
        context.add_function("quantity", lambda text: Quantity.parse(text).as_float())
        context.add_function("isGreaterThan", lambda left, right: left > right)
        contexts.append(context)
    return program.execute, contexts


ENGINES = {
    "policyd": policyd_typed,
    "policyd (dyn)": policyd_dyn,
    "cel-python": cel_python,
    "common-expression-language": rust_cel,
}
