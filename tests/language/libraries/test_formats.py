"""Kubernetes' format library."""

import pytest

from policyd.values.formats import FORMATS
from tests.language.libraries.evaluation import evaluate


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_format_is_found_by_function_and_by_name(name):
    assert evaluate(f"format.{name}()") is FORMATS[name]
    assert evaluate(f'format.named("{name}").value() == format.{name}()') is True


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('format.named("nope").hasValue()', False),
        ('format.dns1123Label().validate("my-label").hasValue()', False),
        ('format.date().validate("2021-13-01").value()', ["invalid date"]),
        ('format.named("uuid").value().validate("x").value()', ["does not match the UUID format"]),
        ("type(format.uri()) == type(format.uuid())", True),
    ],
)
def test_validation_gives_the_faults_or_none(expression, value):
    assert evaluate(expression) == value
