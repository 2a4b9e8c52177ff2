"""Lists: Kubernetes' answers and faults, and that large lists take linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.libraries.lists import flatten, greatest, least, sort_by, total
from policyd.language.limits import MAX_LIST
from policyd.language.standard import standard_functions
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.quantity import Quantity
from tests.language.libraries.evaluation import (
    CEL,
    KUBERNETES,
    assert_gives,
    evaluate,
    fault_of,
    limit_of,
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 2, 3].isSorted()", "true"),
        ('["a", "b", "b"].isSorted()', "true"),
        ("[2.0, 1.0].isSorted()", "false"),
        ("[true, false].isSorted()", "false"),
        ("[].isSorted()", "true"),
        ("[1, 3].sum()", "4"),
        ("[1.0, 3.0].sum()", "4.0"),
        ("[1u, 2u].sum()", "3u"),
        ("[].sum()", "0"),
        ("[1.5].filter(x, x > 2.0).sum()", "0.0"),
        ("[1u].filter(x, x > 2u).sum()", "0u"),
        ('[duration("1m"), duration("1s")].sum()', 'duration("61s")'),
        ("[0.1, 0.2, 0.3].sum()", "0.1 + 0.2 + 0.3"),
        ("[1e100, 1.0, -1e100].sum()", "0.0"),
        ("[dyn(1), dyn(2.5)].sum()", "3.5"),
        ("[3, 1].min()", "1"),
        ("[1, 3].max()", "3"),
        ('["b", "a"].min()', '"a"'),
        ('["é", "z"].max()', '"é"'),
        ('[b"b", b"a"].max()', 'b"b"'),
        ("[true, false].min()", "false"),
        ("[timestamp(2), timestamp(1)].min()", "timestamp(1)"),
        ('[duration("2s"), duration("3s")].max()', 'duration("3s")'),
        ("([0] + []).min()", "0"),
        ("[dyn(1), dyn(2.5)].max()", "2.5"),
        ('[double("NaN"), 1.0].min()', 'double("NaN")'),
        ('[1.0, double("NaN"), 0.5].min()', "0.5"),
        ('[double("NaN"), 1.0].isSorted()', "true"),
        ("[1, 2, 2, 3].indexOf(2)", "1"),
        ('["a", "b", "b", "c"].lastIndexOf("b")', "2"),
        ("[1.0].indexOf(1.1)", "-1"),
        ('[].indexOf("x")', "-1"),
        ('[].lastIndexOf("x")', "-1"),
        ("[1, 2, 3].indexOf(dyn(2.0))", "1"),
        ("[1, 2, 2].lastIndexOf(dyn(2u))", "2"),
        ('[double("NaN")].indexOf(double("NaN"))', "-1"),
        ("[[1], [2]].indexOf([2])", "1"),
        ('[dyn(true), dyn("a")].indexOf(1)', "-1"),
        ("[1, 2, 3].slice(0, 2)", "[1, 2]"),
        ("[1, 2, 3].slice(3, 3)", "[]"),
        ("[[1, 2], [3], []].flatten()", "[1, 2, 3]"),
        ("[[[1]], [[2]]].flatten()", "[[1], [2]]"),
        ("[dyn(1), dyn([2])].flatten(0)", "[dyn(1), dyn([2])]"),
        ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(1)", "[dyn(1), dyn(2), dyn([3])]"),
        ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(9223372036854775807)", "[1, 2, 3]"),
        ("[3, 1, 2].sort()", "[1, 2, 3]"),
        ('["é", "z", "a", "Z"].sort()', '["Z", "a", "z", "é"]'),
        ("[].sort()", "[]"),
        ("[true, false].sort()", "[false, true]"),
        ("[1, 2, 3].sortBy(x, -x)", "[3, 2, 1]"),
        ('[{"n": 2}, {"n": 1}].sortBy(x, x.n)', '[{"n": 1}, {"n": 2}]'),
        ('["bb", "a", "cc", "d"].sortBy(x, x.size())', '["a", "d", "bb", "cc"]'),
        ("[1, 1, 2].distinct()", "[1, 2]"),
        ("[dyn(1), dyn(1.0), dyn(1u), dyn(2)].distinct()", "[1, 2]"),
        ('[double("NaN"), double("NaN")].distinct()', '[double("NaN"), double("NaN")]'),
        ("[dyn([1]), dyn([1.0])].distinct()", "[[1]]"),
        (
            '[dyn(true), dyn(1), dyn("1"), dyn(b"1"), dyn(null), dyn(null)].distinct()',
            '[dyn(true), dyn(1), dyn("1"), dyn(b"1"), dyn(null)]',
        ),
        ("lists.range(4)", "[0, 1, 2, 3]"),
        ("lists.range(-5)", "[]"),
        ("[1, 2, 3].reverse()", "[3, 2, 1]"),
        ("[1, 2, 3].first()", "optional.of(1)"),
        ("[].first()", "optional.none()"),
        ("[1, 2, 3].last().value()", "3"),
        ("[].last()", "optional.none()"),
    ],
)
def test_functions_of_lists_answer_as_kubernetes(expression, expected):
    assert_gives(expression, expected)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[9223372036854775807, 1].sum()", "integer overflow"),
        ("[9223372036854775807, 1, -1].sum()", "integer overflow"),
        ("[18446744073709551615u, 1u].sum()", "unsigned integer overflow"),
        ("[].min()", "min called on empty list"),
        ("[].max()", "max called on empty list"),
        ("[1, 2, 3].slice(2, 5)", "cannot slice(2, 5), list is length 3"),
        ("[1, 2].slice(-1, 2)", "cannot slice(-1, 2), negative indexes not supported"),
        (
            "[1, 2].slice(2, 1)",
            "cannot slice(2, 1), start index must be less than or equal to end index",
        ),
        ("[[1]].flatten(-1)", "level must be non-negative"),
        ('[dyn(1), dyn("a")].sort()', "list elements must have the same type"),
        ("[dyn(1), dyn(2.0)].sort()", "list elements must have the same type"),
        ("[dyn([1]), dyn([2])].sort()", "list elements must be comparable"),
        ("[dyn(null)].sort()", "list elements must be comparable"),
        ('[dyn(1), dyn("a")].sum()', "no such overload: sum(int, string)"),
        ('[dyn(1), dyn("a")].max()', "no such overload: int and string have no order"),
        ("[dyn([1])].min()", "no such overload: list and list have no order"),
        ("[dyn(null)].isSorted()", "no such overload: null_type and null_type have no order"),
    ],
)
def test_lists_without_an_answer_are_faults(expression, message):
    assert fault_of(expression) == message


def test_quantities_sum_and_sort_as_an_addition_to_kubernetes():
    assert str(evaluate('[quantity("1Gi"), quantity("1Gi")].sum()')) == "2Gi"
    assert str(evaluate('[quantity("1Gi")].filter(q, sign(q) > 2).sum()')) == "0"
    assert str(evaluate('[quantity("2"), quantity("500m")].min()')) == "500m"
    assert str(evaluate('[quantity("2"), quantity("1Ki")].max()')) == "1Ki"
    assert evaluate('[quantity("1"), quantity("2")].isSorted()') is True
    assert list(map(str, evaluate('[quantity("2"), quantity("1")].sort()'))) == ["1", "2"]
    assert evaluate('["a", "b"].sortBy(x, quantity(x == "a" ? "2" : "1"))') == ["b", "a"]
    for name in ("sum", "min", "max", "isSorted", "sort", "@sortByAssociatedKeys"):
        overloads = standard_functions(KUBERNETES)[name].overloads
        assert [it.portable for it in overloads] == ["uantity" not in it.id for it in overloads]


@given(st.lists(st.integers(INT_MIN, INT_MAX), max_size=8))
def test_a_sum_is_a_fault_where_any_step_overflows(items):
    steps = [sum(items[:at]) for at in range(1, len(items) + 1)]
    if all(INT_MIN <= step <= INT_MAX for step in steps):
        assert total(items) == sum(items)
    else:
        with pytest.raises(ValueFault):
            total(items)


def test_sums_keep_their_kind():
    assert total([Uint(UINT_MAX)]).__class__ is Uint
    assert total([1, 2.5]) == 3.5
    assert total([Quantity.parse("1"), Quantity.parse("1")]) == Quantity.parse("2")
    with pytest.raises(ValueFault):
        total([Quantity.parse("1"), 1.5])
    with pytest.raises(ValueFault):
        total([True, True])


def test_sorting_is_stable_and_needs_a_key_for_each_item():
    assert sort_by(["x", "y", "z"], [2, 1, 2]) == ["y", "x", "z"]
    with pytest.raises(ValueFault):
        sort_by(["x"], [1, 2])


def test_the_first_of_equal_extremes_is_given():
    one, same = Quantity.parse("1Ki"), Quantity.parse("1024")
    assert least([one, same]) is one
    assert greatest([same, one]) is same


@pytest.mark.parametrize(
    "expression", ["lists.range(1000000000000)", "lists.range(9223372036854775807)"]
)
def test_an_absurd_range_is_refused_before_memory_is_taken(expression):
    for dialect in (KUBERNETES, CEL):
        limit_of(expression, dialect)
    assert limit_of(f"lists.range({MAX_LIST + 1})") == "a list may have at most 100,000 elements"


def test_flattening_is_bounded_and_takes_linear_time():
    deep = [1]
    for _ in range(100):
        deep = [deep]
    assert flatten([*range(50_000), deep], 1000) == [*range(50_000), 1]
    wide = [list(range(1000))] * 1000
    assert limit_of("l.flatten()", l=wide)
    shared = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert limit_of("l.flatten(100)", l=shared)


@pytest.mark.timing
@pytest.mark.parametrize(
    "expression",
    [
        "l.distinct().size()",
        "l.sort().size()",
        "l.sortBy(x, -x).size()",
        "l.reverse().size()",
        "l.sum()",
        "l.max()",
        "l.isSorted()",
        "l.indexOf(-1)",
        "l.lastIndexOf(-1)",
        "l.slice(1, 100000).size()",
        "[l].flatten().size()",
        "sets.contains(l, l)",
        "sets.equivalent(l, l.reverse())",
        "sets.intersects(l, [-1])",
    ],
)
def test_a_hundred_thousand_elements_take_linear_time(expression):
    numbers = list(range(MAX_LIST))
    start = time.perf_counter()
    try:
        evaluate(expression, l=numbers)
    except Exception as error:  # noqa: BLE001 - the limit of work, and nothing else
        assert type(error).__name__ == "LimitExceeded"  # noqa: PT017 - either end is right
    assert time.perf_counter() - start < 2  # measured: 0.3 at most
