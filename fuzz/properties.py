"""The target that goes by way of the property tests' strategies: well-typed expressions.

Hypothesis turns the bytes into choices, so that the fuzzer's corpus grows by what it reaches
behind the parser and the checker.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyd.language.diagnostics import RuleError
from policyd.language.errors import EvaluationError
from policyd.language.printer import print_expression
from tests.language.typed_strategies import ENVIRONMENT, expressions
from tests.language.typed_values import bindings, conforms


@settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions(), st.data())
def _holds(tree, data) -> None:
    text = print_expression(tree)
    try:
        checked = ENVIRONMENT.compile(text)
    except RuleError:
        return
    values = data.draw(bindings(checked.variables))
    try:
        value = ENVIRONMENT.program(checked).evaluate(values, work=100_000)
    except EvaluationError:
        return
    except Exception as error:
        error.add_note(f"{text} with {values}")
        raise
    assert conforms(value, checked.type), (text, values, value, str(checked.type))


def typed(data: bytes) -> None:
    """A well-typed expression that the bytes choose: a value of its type, or an error."""
    _holds.hypothesis.fuzz_one_input(data)
