"""A case passes for the right value, of the right kind, or for the right reason only."""

from typing import Any

import pytest

from policyd.language.dialect import Dialect
from policyd.language.types import DYN
from tests.conformance.cases import Case, Documented, Expected
from tests.conformance.judge import Answer, judge, nature, nature_of_text
from tests.conformance.run import status


def _case(
    expr: str,
    value: dict[str, Any] | None = None,
    *,
    error: str = "",
    phase: str = "",
    type_: str | None = None,
    **bindings: Any,
) -> Case:
    return Case(
        id="group/1",
        group="group",
        expr=expr,
        dialect=Dialect.KUBERNETES,
        types=dict.fromkeys(bindings, DYN),
        bindings=bindings,
        functions=(),
        container="",
        check=True,
        evaluate=True,
        expected=Expected(value, error=bool(error), type=type_, phase=phase, message=error),
    )


PASSES = [
    _case("1 + x", {"int": 3}, x=2),
    _case("0.0 / 0.0", {"double": "NaN"}),
    _case("-0.0", {"double": -0.0}),
    _case(
        "{'b': 1, 'a': 2}", {"map": [[{"string": "a"}, {"int": 2}], [{"string": "b"}, {"int": 1}]]}
    ),
    _case("[1].map(x, x)", {"list": [{"int": 1}]}, type_="list(int)"),
    _case("1 / 0", error="division by zero", phase="eval"),
    _case("1 / 0", error="divide by zero"),
    _case("int('x')", error="type conversion error", phase="program"),
    _case("nothing", error="undeclared reference to 'nothing'", phase="compile"),
    _case("1 +", error="Syntax error: mismatched input", phase="compile"),
    _case("'a' + 1", error="found no matching overload for '_+_'", phase="compile"),
    _case("x + 1", error="no such overload", phase="eval", x="a"),
]
FAILS = [
    (_case("1", {"uint": 1}), "the value was to be"),
    (_case("1", {"double": 1.0}), "the value was to be"),
    (_case("0.0", {"double": -0.0}), "the value was to be"),
    (_case("[1, 2]", {"list": [{"int": 2}, {"int": 1}]}), "the value was to be"),
    (_case("dyn(1)", {"int": 1}, type_="int"), "the static type was to be int"),
    (_case("1 / 0", {"int": 0}), "an error was not expected"),
    (_case("1", error="division by zero", phase="eval"), "an error was to come"),
    (_case("1 / 0", error="division by zero", phase="compile"), "in phase compile"),
    (_case("'a' + 1", error="no such overload", phase="eval"), "in phase eval"),
    (_case("nothing(1) / 0", error="division by zero"), "vacuous: a name error"),
    (_case("1 / ", error="division by zero"), "vacuous: a syntax error"),
    (_case("'a' / 0", error="division by zero"), "vacuous: a type error"),
    (_case("x / 0", error="division by zero", x="a"), "vacuous: a type error"),
    (_case("nothing(1)", error="Syntax error", phase="compile"), "vacuous: a name error"),
    (_case("(" * 500 + ")" * 500, error="Syntax error", phase="compile"), "vacuous: a limit error"),
]


@pytest.mark.parametrize("case", PASSES, ids=lambda case: case.expr)
def test_the_expected_answer_passes(case: Case) -> None:
    assert judge(case).difference == ""


@pytest.mark.parametrize(("case", "difference"), FAILS, ids=lambda it: str(it)[:40])
def test_another_answer_fails_and_says_what_is_different(case: Case, difference: str) -> None:
    verdict = judge(case)
    assert not verdict.passed
    assert difference in verdict.difference


def test_an_exception_that_is_not_the_language_s_own_never_passes() -> None:
    odd = _case("x + 1", error="no such overload", phase="eval", x=_Raises())
    verdict = judge(odd)
    assert verdict.answer.phase == "crash"
    assert verdict.difference == "this is not the language's own error"


class _Raises:
    """No value of the language: it fails wherever it is touched."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_a_documented_difference_is_known_and_one_that_is_gone_is_a_failure() -> None:
    known = {"1": Documented("1", "deliberate")}
    assert status(judge(_case("1", {"int": 2})), known) == "known"
    assert status(judge(_case("1", {"int": 1})), known) == "failed"
    assert status(judge(_case("2", {"int": 2})), known) == "passed"
    assert status(judge(_case("2", {"int": 3})), known) == "failed"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("ERROR: <input>:1:3: Syntax error: extraneous input", "syntax"),
        ("undeclared reference to 'x' (in container '')", "name"),
        ("found no matching overload for '_+_' applied to '(int, string)'", "type"),
        ("no such key: a", "value"),
        ("index out of range: 7", "value"),
        ("", "value"),
    ],
)
def test_the_nature_of_an_error_is_read_from_the_row_s_message(message: str, expected: str) -> None:
    assert nature_of_text(message) == expected


def test_errors_of_several_natures_are_of_none_that_could_be_vacuous() -> None:
    assert nature(Answer(phase="compile", codes=("E101", "E202"))) == "value"
    assert nature(Answer(phase="compile", codes=("E201", "E202"))) == "name"
