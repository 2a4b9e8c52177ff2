"""Every case of the CEL conformance suite and of Kubernetes' answers, one test a row."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.cases import Case, exceptions, load
from tests.conformance.judge import compile_case, judge
from tests.conformance.run import FILES, PAGE, report, shared_files, status
from tests.shared import needs_shared, shared_file

NOT_PORTABLE = "N601"
KNOWN = exceptions(PAGE)
CASES = {path.name: load(path) for path in shared_files()}


def _rows(name: str) -> list[object]:
    """Give the rows of a file as parameters, or one skipped parameter that says why."""
    if name not in CASES:
        return [pytest.param(None, marks=needs_shared, id="all")]
    return [pytest.param(case, id=case.id) for case in CASES[name]]


@pytest.mark.parametrize("case", _rows("conformance.json"))
def test_the_answer_is_the_one_of_the_cel_conformance_suite(case: Case) -> None:
    _holds(case)


@pytest.mark.parametrize("case", _rows("k8s_vectors.json"))
def test_the_answer_is_the_one_of_kubernetes(case: Case) -> None:
    _holds(case)


def _holds(case: Case) -> None:
    verdict = judge(case)
    assert status(verdict, KNOWN) != "failed", f"\n{report(verdict, KNOWN)}"


@needs_shared
def test_every_documented_exception_is_a_case_of_the_files() -> None:
    keys = {case.key for cases in CASES.values() for case in cases}
    assert set(KNOWN) <= keys


def _shown(tagged: Mapping[str, Any]) -> str:
    """Write a tagged value as the page does."""
    ((tag, raw),) = tagged.items()
    return raw if tag == "quantity" else json.dumps(raw)


@needs_shared
@pytest.mark.parametrize("key", KNOWN)
def test_the_page_says_what_is_answered_instead(key: str) -> None:
    (case,) = (case for cases in CASES.values() for case in cases if case.key == key)
    answer = judge(case).answer
    assert KNOWN[key].answer == (str(answer) if answer.value is None else _shown(answer.value))


def _is_portable(case: Case) -> bool:
    return all(found.code != NOT_PORTABLE for found in compile_case(case).findings)


@needs_shared
def test_each_documented_difference_and_nothing_that_kubernetes_accepts_is_noted() -> None:
    """`policyd check --portable` shows these notes."""
    cases = CASES["k8s_vectors.json"]
    noted = {it.key for it in cases if not it.expected.error and not _is_portable(it)}
    assert noted == set()
    rejected = [it for it in cases if it.key in KNOWN and it.expected.error]
    assert len(rejected) == len(KNOWN) - 1  # the other one differs in its type only
    assert [it.key for it in rejected if _is_portable(it)] == []


@needs_shared
def test_both_files_of_cases_are_there() -> None:
    assert sorted(CASES) == sorted(FILES), f"look in {shared_file('data', 'cel')}"
