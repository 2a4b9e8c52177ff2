"""Kubernetes' quantity library and policyd's conversions of quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.libraries.quantity import (
    quantity_to_double,
    quantity_to_int,
    quantity_to_string,
)
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN
from policyd.values.quantity import Quantity
from tests.language.libraries.evaluation import CEL, KUBERNETES, evaluate, fault_of

q = Quantity.parse


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('isQuantity("1.3Gi")', True),
        ('isQuantity("200K")', False),
        ('isQuantity("1e999999999")', False),
        ('sign(quantity("-5"))', -1),
        ('sign(quantity("0"))', 0),
        ('sign(quantity("1n"))', 1),
        ('quantity("200M").compareTo(quantity("0.2G"))', 0),
        ('quantity("50M").compareTo(quantity("50Mi"))', -1),
        ('quantity("50Mi").compareTo(quantity("50M"))', 1),
        ('quantity("50M").isLessThan(quantity("100M"))', True),
        ('quantity("100Mi").isLessThan(quantity("100Mi"))', False),
        ('quantity("150Mi").isGreaterThan(quantity("100Mi"))', True),
        ('quantity("2000m").isInteger()', False),
        ('quantity("50k").asInteger()', 50_000),
        ('quantity("50.703k").asApproximateFloat()', 50_703.0),
        ('quantity("1Gi") == quantity("1024Mi")', True),
        ('quantity("1Gi") in [quantity("1024Mi")]', True),
    ],
)
def test_answers_are_those_of_kubernetes(expression, value, dialect):
    assert evaluate(expression, dialect) == value


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ('quantity("50k").add(quantity("20k"))', "70k"),
        ('quantity("50k").add(20)', "50020"),
        ('quantity("50k").sub(20000)', "30k"),
        ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000)', "20"),
        ('quantity("0").add(20000)', "20e3"),
        ('quantity("0").sub(-9223372036854775808)', "9223372036854775808"),
    ],
)
def test_sums_print_as_in_kubernetes(expression, printed):
    assert str(evaluate(expression)) == printed


def test_an_int_is_given_only_where_kubernetes_gives_it():
    assert "cannot convert value to integer" in fault_of('quantity("2000m").asInteger()')


@given(st.integers(-(10**30), 10**30).map(Quantity.from_nanos))
def test_conversions_are_exact_or_faults(quantity):
    assert q(quantity_to_string(quantity)) == quantity
    assert quantity_to_double(quantity) == quantity.nanos / 10**9
    try:
        assert quantity == quantity_to_int(quantity)
    except ValueFault:
        assert quantity.nanos % 10**9 or not INT_MIN <= quantity.value() <= INT_MAX


def test_int_takes_a_whole_quantity_however_it_is_written():
    assert quantity_to_int(q("2000m")) == 2
    assert quantity_to_int(q("1Pi")) == 2**50
    assert quantity_to_int(q("-9223372036854775808")) == INT_MIN
    with pytest.raises(ValueFault, match="1500m is not a whole number"):
        quantity_to_int(q("1500m"))
    with pytest.raises(ValueFault, match="outside the range of int"):
        quantity_to_int(q("9223372036854775808"))
