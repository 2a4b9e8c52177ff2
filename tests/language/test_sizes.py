"""Sizes: what a value weighs, and that weighing ends."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.limits import MAX_LIST, MAX_STRING, MAX_WORK
from policyd.language.sizes import bounded_list, bounded_text, text_cost, weight
from policyd.values.errors import LimitFault
from policyd.values.optional import NONE, Optional


@pytest.mark.parametrize(
    ("value", "units"),
    [
        (1, 1),
        (None, 1),
        ("", 1),
        ("a" * 11, 3),
        (b"a" * 10, 2),
        ([], 1),
        ([1, [2, "a"]], 6),
        ({"a": 1}, 4),
        (NONE, 2),
        (Optional([1]), 3),
    ],
)
def test_every_part_of_a_value_counts(value, units):
    assert weight(value) == units


@pytest.mark.timing
def test_weighing_a_list_that_shares_its_parts_ends_at_the_limit():
    value = ["a"]
    for _ in range(100):
        value = [value, value]
    start = time.perf_counter()
    assert weight(value) > MAX_WORK
    assert time.perf_counter() - start < 2  # measured: 0.1


@given(st.lists(st.integers(0, 1000), max_size=4))
def test_ten_characters_are_one_unit(lengths):
    assert text_cost(*lengths) == (sum(lengths) + 9) // 10


def test_results_past_the_limits_are_refused():
    assert bounded_text(MAX_STRING) == MAX_STRING
    assert bounded_list(MAX_LIST) == MAX_LIST
    with pytest.raises(LimitFault):
        bounded_text(MAX_STRING + 1)
    with pytest.raises(LimitFault):
        bounded_list(MAX_LIST + 1)
