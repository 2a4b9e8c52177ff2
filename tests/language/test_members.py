"""Members: the language's equality, without comparing each value with each other."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.equality import equal
from policyd.language.members import MAX_NESTING, Members
from policyd.values.errors import LimitFault, ValueFault
from policyd.values.numbers import Uint
from policyd.values.optional import NONE, Optional
from policyd.values.quantity import Quantity
from policyd.values.times import Duration, Timestamp

EDGE = 2**53

SCALARS = st.sampled_from(
    [
        *(0, 1, Uint(1), 1.0, 0.0, -0.0, True, False, None, "", "1", b"1", math.nan),
        *(EDGE, EDGE + 1, float(EDGE), Uint(EDGE + 1), NONE, Duration(0), Timestamp(0)),
        *(Quantity.parse("1Ki"), Quantity.parse("1024")),
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", 1]), inner, max_size=2)
        | st.builds(Optional, inner)
    ),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=8), VALUES)
def test_a_value_is_among_others_where_it_equals_one_of_them(values, value):
    assert (value in Members(values)) == any(equal(value, it) for it in values)


@given(st.lists(VALUES, max_size=10))
def test_a_value_is_new_where_it_equals_none_that_was_added(values):
    seen, kept = Members(), []
    for value in values:
        new = not any(equal(value, it) for it in kept)
        assert seen.add(value) is new
        if new:
            kept.append(value)


@pytest.mark.parametrize("value", [math.nan, [math.nan], {"a": math.nan}, Optional(math.nan)])
def test_the_very_same_nan_equals_nothing(value):
    assert value not in Members([value])


def test_values_that_python_cannot_hash_are_compared():
    class Mutable:
        __hash__ = None

        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

    assert Mutable("a") in Members([Mutable("b"), Mutable("a")])
    assert Mutable("c") not in Members([Mutable("b"), Mutable("a")])


@pytest.mark.timing
def test_many_large_lists_are_looked_up_in_linear_time():
    values = [[at, str(at), {"k": at}] for at in range(20_000)]
    start = time.perf_counter()
    members = Members(values)
    assert all(value in members for value in values)
    assert (
        time.perf_counter() - start < 5
    )  # measured: 0.3; one by one it is 200 million comparisons


@pytest.mark.timing
def test_values_made_to_look_alike_end_in_the_limit():
    alike = [[2**62 + at, 1.5] for at in range(512)]  # the integers are one and the same double
    members = Members(alike)
    start = time.perf_counter()
    with pytest.raises(LimitFault):
        all(value in members for _ in range(100) for value in alike)
    assert time.perf_counter() - start < 5  # measured: 0.5


def test_what_is_nested_too_deeply_is_a_fault():
    value = []
    for _ in range(MAX_NESTING + 1):
        value = [value]
    with pytest.raises(ValueFault):
        Members([value])
