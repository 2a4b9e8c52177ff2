"""Runs one case and says whether the answer is the expected one, and what is different if not.

An error is expected often, and an engine can give one for the wrong reason: because it does not
know the function, or cannot read the expression. Such an error passes only where the row's own
message speaks of that too; otherwise the case fails as vacuous.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from policyd.language.declarations import Function
from policyd.language.diagnostics import RuleError
from policyd.language.dialect import Dialect
from policyd.language.environment import Checked, Environment
from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.types import Type
from tests.conformance.cases import Case, Expected
from tests.conformance.tagged import canonical, encode

_LIMIT = "limit"
"""Stands for the code of an evaluation that took more work or memory than one may."""


@dataclass(frozen=True)
class Answer:
    """What the engine made of a case: a value (tagged) or an error, and the static type."""

    value: Mapping[str, Any] | None = None
    phase: str = ""  # of the error: compile or eval, or crash for one that is not the language's
    codes: tuple[str, ...] = ()
    message: str = ""
    type: str | None = None

    def __str__(self) -> str:
        if self.phase:
            codes = "".join(f"[{code}]" for code in self.codes)
            return f"{self.phase} error{codes}: {self.message}"
        shown = canonical(self.value) if self.value is not None else "not evaluated"
        return f"{shown} of type {self.type}"


@dataclass(frozen=True)
class Verdict:
    """A case, its answer, and why the answer is not the expected one (empty where it is)."""

    case: Case
    answer: Answer
    difference: str

    @property
    def passed(self) -> bool:
        """Say whether the answer is the expected one."""
        return not self.difference


def judge(case: Case) -> Verdict:
    """Run a case and compare."""
    answer = run(case)
    return Verdict(case, answer, _difference(case, answer))


def run(case: Case) -> Answer:
    """Give the engine's answer."""
    try:
        return _run(case)
    except Exception as error:  # noqa: BLE001 - reported as a failure of this case, with its class
        return Answer(phase="crash", message=f"{error.__class__.__name__}: {error}")


def compile_case(case: Case) -> Checked:
    """Compile a case as it is to be evaluated.

    Raises:
        RuleError: it is refused.
    """
    return environment_of(case).compile(case.expr, check=case.check)


def environment_of(case: Case) -> Environment:
    """Give the environment of a case; cases with the same declarations share one."""
    variables = tuple(sorted(case.types.items()))
    return _environment(case.dialect, variables, case.functions, case.container)


def _run(case: Case) -> Answer:
    try:
        checked = compile_case(case)
    except RuleError as error:
        return Answer(
            phase="compile",
            codes=tuple(found.code for found in error.diagnostics),
            message="; ".join(found.message for found in error.diagnostics),
        )
    static = str(checked.type) if case.check else None
    if not case.evaluate:
        return Answer(type=static)
    try:
        value = environment_of(case).program(checked).evaluate(case.bindings)
    except EvaluationError as error:
        codes = (_LIMIT,) if isinstance(error, LimitExceeded) else ()
        return Answer(phase="eval", codes=codes, message=error.message, type=static)
    return Answer(value=encode(value), type=static)


@lru_cache(maxsize=256)
def _environment(
    dialect: Dialect,
    variables: tuple[tuple[str, Type], ...],
    functions: Sequence[Function],
    container: str,
) -> Environment:
    return Environment(dialect, dict(variables), functions=functions, container=container)


def _difference(case: Case, answer: Answer) -> str:
    want = case.expected
    if answer.phase == "crash":
        return "this is not the language's own error"
    if answer.phase and not want.error:
        return "an error was not expected"
    if want.type is not None and answer.type is not None and answer.type != want.type:
        return f"the static type was to be {want.type}"
    if not want.error:
        if want.value is not None and canonical(want.value) != canonical(answer.value or {}):
            return f"the value was to be {canonical(want.value)}"
        return ""
    if not answer.phase:
        return "an error was to come"
    return _wrong_error(want, answer)


def _wrong_error(want: Expected, answer: Answer) -> str:
    """Say why an error is not the one that was to come."""
    if want.phase in ("compile", "eval") and answer.phase != want.phase:
        return f"the error was to come in phase {want.phase}"
    given, wanted = nature(answer), nature_of_text(want.message)
    if given not in ("value", wanted):
        return f"vacuous: a {given} error, where a {wanted} error was to come"
    return ""


_TEXTS = {
    "syntax": re.compile(
        r"Syntax error|reserved identifier|unsupported syntax|unescape string|unicode code point"
        r"|invalid u?int literal|invalid argument to has|must be a simple name"
    ),
    "name": re.compile(r"undeclared reference|unbound function|unknown variable"),
    "type": re.compile(
        r"overload|expected type|does not support field selection|unsupported key type|was given"
        r"|invalid_argument"
    ),
}
_CODES = {
    "E1": "syntax",
    "E201": "name",
    "E202": "name",
    "E208": "value",  # a pattern, and
    "E209": "value",  # a time, that can be judged before it is computed
    "E214": "syntax",  # the shape of a macro
    "E2": "type",
    "E3": "limit",
    _LIMIT: "limit",
}


def nature_of_text(message: str) -> str:
    """Say what sort of error a row's message speaks of: syntax, name, type or value."""
    found = (name for name, pattern in _TEXTS.items() if pattern.search(message))
    return next(found, "value")


def nature(answer: Answer) -> str:
    """Say what sort of error the engine gave: syntax, name, type, limit or value."""
    if answer.codes:
        natures = {_CODES.get(code, _CODES.get(code[:2], "value")) for code in answer.codes}
        return natures.pop() if len(natures) == 1 else "value"
    no_field = " has no field " in answer.message  # which CEL calls an absent key
    return "type" if answer.message.startswith("no such overload") and not no_field else "value"
