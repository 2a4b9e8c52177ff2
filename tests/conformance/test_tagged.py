"""Values of the case files are told apart by kind, and go both ways unchanged."""

import itertools
from typing import Any

import pytest

from policyd.values.kinds import TypeValue
from policyd.values.maps import TRUE_KEY
from policyd.values.numbers import Uint
from policyd.values.optional import NONE
from policyd.values.times import Duration, Timestamp
from tests.conformance.tagged import canonical, decode, encode

DISTINCT: list[dict[str, Any]] = [
    {"null": None},
    {"bool": True},
    {"bool": False},
    {"int": 1},
    {"uint": 1},
    {"double": 1.0},
    {"double": 0.0},
    {"double": -0.0},
    {"double": "NaN"},
    {"double": "Infinity"},
    {"double": "-Infinity"},
    {"string": "1"},
    {"string": "NaN"},
    {"bytes": "MQ=="},
    {"list": []},
    {"list": [{"int": 1}]},
    {"list": [{"double": 1.0}]},
    {"list": [{"int": 1}, {"int": 2}]},
    {"list": [{"int": 2}, {"int": 1}]},
    {"map": []},
    {"map": [[{"bool": True}, {"int": 1}]]},
    {"map": [[{"int": 1}, {"int": 1}]]},
    {"map": [[{"string": "1"}, {"int": 1}]]},
    {"type": "int"},
    {"type": "list"},
    {"optional": None},
    {"optional": {"int": 1}},
    {"optional": {"null": None}},
    {"timestamp": [1, 5]},
    {"timestamp": [-1, 999_999_999]},
    {"duration": [1, 5]},
    {"duration": [-1, -500_000_000]},
    {"duration": [0, -1]},
]


@pytest.mark.parametrize("tagged", DISTINCT, ids=repr)
def test_a_value_that_is_read_and_written_again_is_the_same(tagged: dict[str, Any]) -> None:
    assert canonical(encode(decode(tagged))) == canonical(tagged)


def test_values_of_different_kinds_and_signs_are_never_the_same() -> None:
    for left, right in itertools.combinations(DISTINCT, 2):
        assert canonical(left) != canonical(right)


def test_the_order_of_a_map_s_entries_and_the_way_a_double_is_written_do_not_count() -> None:
    entries: list[Any] = [
        [{"string": "a"}, {"double": 1}],
        [{"string": "b"}, {"list": [{"double": 2.0}]}],
    ]
    same: list[Any] = [
        [{"string": "b"}, {"list": [{"double": 2}]}],
        [{"string": "a"}, {"double": 1.0}],
    ]
    assert canonical({"map": entries}) == canonical({"map": same})


def test_bindings_become_values_of_the_language() -> None:
    assert decode({"uint": 7}).__class__ is Uint
    assert decode({"double": "NaN"}) != decode({"double": "NaN"})
    assert decode({"map": [[{"bool": True}, {"null": None}]]}) == {TRUE_KEY: None}
    assert decode({"timestamp": [-1, 5]}) == Timestamp(-999_999_995)
    assert decode({"duration": [-1, -5]}) == Duration(-1_000_000_005)
    assert decode({"optional": None}) is NONE
    assert decode({"type": "int"}) == TypeValue("int")


def test_what_is_no_value_of_the_language_equals_nothing() -> None:
    assert canonical(encode((1, 2))) not in {canonical(tagged) for tagged in DISTINCT}
