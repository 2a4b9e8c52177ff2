"""What is kept of nodes and pods: keys, stores, and what goes when there is too much."""

import numpy as np
import pytest

from policyd.policy.kernel.columns import alike
from policyd.policy.kernel.kept import Kept
from policyd.policy.kernel.keys import Facts, Same, frozen
from policyd.policy.kernel.pace import Pace
from policyd.policy.kernel.stores import Store
from policyd.policy.kernel.vector import FAILED, Kind, Unvectorised, from_values, to_values
from policyd.values.maps import TotalMap
from policyd.values.numbers import Uint
from policyd.values.quantity import Quantity
from tests.policy.build import as_pod, pod

DIFFERENT = [
    *(1, 1.0, True, "1", b"1", None, -0.0, 0.0),
    *([1], [1.0], [], {}, {"a": 1}, {"a": 1.0}),
    *(TotalMap({}, None), TotalMap({}, 0), Quantity.parse("1"), Quantity.parse("1000m")),
]


def test_values_that_an_expression_can_tell_apart_have_different_keys():
    keys = {frozen(value) for value in DIFFERENT}
    assert len(keys) == len(DIFFERENT)


def test_equal_values_have_equal_keys():
    again = [*DIFFERENT[:-4], TotalMap({}, None), TotalMap({}, 0), Quantity.parse("1")]
    for one, other in zip(DIFFERENT, again, strict=False):
        assert frozen(one) == frozen(other)


def test_what_is_not_known_is_the_same_only_as_itself():
    one, other = Uint(1), Uint(1)
    assert frozen(one) == frozen(one)
    assert frozen(one) != frozen(other)
    assert Same(one) != one


def test_a_path_that_ends_early_counts_as_what_is_there():
    facts = Facts(["pod.labels.app.name", "pod.spec.missing", "pod.requests.cpu"])
    made = as_pod(pod("p", {"app": "web"}, cpu="1"))
    other = as_pod(pod("q", {"app": "web"}, cpu="1"))
    third = as_pod(pod("q", {"app": "db"}, cpu="1"))
    key = facts.key({"pod": made}, lambda _: None)
    assert facts.key({"pod": other}, lambda _: None) == key
    assert facts.key({"pod": third}, lambda _: None) != key


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (["1Gi", "2Gi"], ["1"]),
        (["1", "2"], ["3m"]),
        (["1m"], ["1n", "5k"]),
        (["1"], ["8E"]),
        (["12E"], ["1n"]),
    ],
)
def test_quantities_stay_exact_whatever_units_come_later(first, then):
    store, texts = Store(Kind.QUANTITY), [*first, *then]
    amounts = [Quantity.parse(text) for text in texts]
    cut = len(first)
    store.put(np.arange(cut), from_values(amounts[:cut], Kind.QUANTITY), cut)
    later = np.arange(cut, len(texts))
    store.put(later, from_values(amounts[cut:], Kind.QUANTITY), len(texts))
    found = store.up_to(len(texts))
    assert [unit * found.scale for unit in found.data.tolist()] == [a.nanos for a in amounts]


def test_values_that_are_nowhere_any_more_are_forgotten():
    store = Store(Kind.ANY)
    for number in range(20_000):
        store.put(np.array([number % 4]), from_values([f"v{number}"], Kind.ANY), 4)
    found = store.up_to(4)
    assert sorted(to_values(found, (4,))) == ["v19996", "v19997", "v19998", "v19999"]
    assert len(found.domain) < 10_000


def test_an_error_goes_when_a_value_comes():
    store = Store(Kind.INT)
    store.put(np.arange(2), from_values([1, FAILED], Kind.INT), 2)
    assert to_values(store.up_to(2), (2,)) == [1, FAILED]
    store.put(np.array([1]), from_values([5], Kind.INT), 2)
    assert to_values(store.up_to(2), (2,)) == [1, 5]


def test_a_store_refuses_what_is_of_another_kind():
    with pytest.raises(Unvectorised):
        Store(Kind.INT).put(np.array([0]), from_values([1.5], Kind.DOUBLE), 1)


def test_what_was_not_used_for_longest_goes_first():
    kept = Kept(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_rows_that_are_alike_are_found_by_all_columns_together():
    rows = np.array([1, 1, 2, 1, 2, 1, 1, 2])
    other = np.array([5, 5, 5, 6, 5, 5, 5, 5])
    first, inverse = alike([rows, other])
    assert [(rows[at], other[at]) for at in first] == [(1, 5), (1, 6), (2, 5)]
    assert first[inverse].tolist() == [0, 0, 2, 3, 2, 0, 0, 2]


def test_rows_that_hardly_repeat_are_left_as_they_are():
    assert alike([np.arange(10)]) is None


def test_few_rows_go_the_way_that_was_faster():
    pace = Pace()
    assert pace.prefers_rows(3)  # the first time, to measure
    pace.took(3, 0.03, by_rows=True)
    assert not pace.prefers_rows(3)
    pace.took(3, 0.001, by_rows=False)
    assert not pace.prefers_rows(3)
    pace.took(1, 0.0001, by_rows=False)
    for _ in range(30):
        pace.took(1, 0.00001, by_rows=True)
    assert pace.prefers_rows(1)
    assert not pace.prefers_rows(10_000)
