"""Kubernetes' semver library."""

import pytest

from tests.language.libraries.evaluation import CEL, KUBERNETES, evaluate, fault_of


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('semver("1.2.3").major()', 1),
        ('semver("1.2.3").minor()', 2),
        ('semver("1.2.3").patch()', 3),
        ('semver("1.2.3", false).patch()', 3),
        ('isSemver("1.0.0")', True),
        ('isSemver("v1.0")', False),
        ('isSemver("v1.0", false)', False),
        ('isSemver("v1.0", true)', True),
        ('isSemver("")', False),
        ('semver("1.2.3") == semver("1.2.3+build")', True),
        ('semver("1.2.3-alpha").isLessThan(semver("1.2.3"))', True),
        ('semver("1.10.0").isGreaterThan(semver("1.9.0"))', True),
        ('semver("1.2.3-alpha.1").compareTo(semver("1.2.3-alpha.beta"))', -1),
        ('semver("1.2.3").compareTo(semver("1.2.3+build"))', 0),
        ('semver("550.54.15", true).compareTo(semver("535.0.0"))', 1),
    ],
)
def test_answers_are_those_of_kubernetes(expression, value, dialect):
    assert evaluate(expression, dialect) == value


def test_a_number_past_int_is_a_fault_where_it_is_asked_for():
    text = '"18446744073709551615.9223372036854775807.0"'
    assert evaluate(f"semver({text}).minor()") == 2**63 - 1
    assert "outside the range of int" in fault_of(f"semver({text}).major()")
    assert evaluate(f"semver({text}) == semver({text})") is True
