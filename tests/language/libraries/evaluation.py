"""Evaluates expressions for the tests of the libraries, and tells values apart by kind."""

from typing import Any

import pytest

from policyd.language.dialect import Dialect
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.types import parse_type
from tests.conformance.tagged import canonical, encode

KUBERNETES = Dialect.KUBERNETES
CEL = Dialect.CEL


def evaluate(expression: str, dialect: Dialect = KUBERNETES, **bindings: Any) -> Any:
    """Give the value of an expression; the names bound are of type dyn."""
    return evaluate_typed(expression, dict.fromkeys(bindings, "dyn"), dialect, **bindings)


def evaluate_typed(
    expression: str, types: dict[str, str], dialect: Dialect = KUBERNETES, **bindings: Any
) -> Any:
    """Give the value of an expression over names of the given types."""
    variables = {name: parse_type(it) for name, it in types.items()}
    environment = Environment(dialect=dialect, variables=variables)
    return environment.program(environment.compile(expression)).evaluate(bindings)


def assert_gives(expression: str, expected: str, dialect: Dialect = KUBERNETES) -> None:
    """Check that two expressions have the same value: `1`, `1u` and `1.0` are three."""
    got, want = evaluate(expression, dialect), evaluate(expected, dialect)
    assert canonical(encode(got)) == canonical(encode(want))


def fault_of(expression: str, dialect: Dialect = KUBERNETES, **bindings: Any) -> str:
    """Give the message of the error that an expression ends in."""
    with pytest.raises(EvaluationError) as error:
        evaluate(expression, dialect, **bindings)
    assert not isinstance(error.value, LimitExceeded)
    return error.value.message


def limit_of(expression: str, dialect: Dialect = KUBERNETES, **bindings: Any) -> str:
    """Give the message of the limit that an expression meets."""
    with pytest.raises(LimitExceeded) as error:
        evaluate(expression, dialect, **bindings)
    return error.value.message
