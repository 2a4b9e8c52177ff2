"""Decoding arbitrary JSON: only its own error, only the types of the schema, and once is enough."""

import copy
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from policyd.model.decode import DecodeError, decode
from policyd.model.schema import api_types, schema
from policyd.values.times import Timestamp

ROOTS = ("v1.Pod", "v1.Node", "v1.Namespace", "v1.PersistentVolumeClaim", "v1.PodDisruptionBudget")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**80), max_value=2**80)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2024-05-01T10:00:00Z", "1Gi", "500m", "80", "true", "-1"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
TIMES = st.datetimes().map(lambda time: time.isoformat() + "Z")
AMOUNTS = st.sampled_from(["1", "500m", "1.5Gi", "1e3", 2, 0.35, 1.0])
INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100).map(float)


def inner_text(text):
    return text[5:-1] if text.startswith("list(") else text.partition(", ")[2][:-1]


@cache
def valid(text, *, amount=False):
    """Make JSON that the API server would accept for a type."""
    if text.startswith("list("):
        return st.lists(valid(inner_text(text), amount=amount), max_size=2)
    if text.startswith("map("):
        return st.dictionaries(
            st.text(max_size=5), valid(inner_text(text), amount=amount), max_size=2
        )
    simple = {
        "string": AMOUNTS if amount else st.text(max_size=5),
        "bool": st.booleans(),
        "int": INTS,
        "timestamp": TIMES,
        "dyn": st.integers(0, 9) | st.text(max_size=3),
    }
    return simple[text] if text in simple else objects(text, valid)


@cache
def near(text, *, amount=False):
    """Make JSON that is right in most places."""
    if text.startswith(("list(", "map(")) or text not in api_types():
        return valid(text, amount=amount) | st.none() | ANYTHING
    return objects(text, near)


def objects(name, make):
    """Make an object with a few of its fields and perhaps one unknown."""
    amounts = schema().quantities.get(name, ())

    @st.composite
    def build(draw):
        fields = api_types()[name]
        chosen = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4))
        made = {field: draw(make(fields[field], amount=field in amounts)) for field in chosen}
        if make is near and draw(st.booleans()):
            made[draw(st.text(max_size=5))] = draw(ANYTHING)
        return made

    return build()


def assert_is(text, value):
    """Fail unless a decoded value is of the type that the checker believes it to be."""
    if text.startswith("list("):
        assert type(value) is list
        for each in value:
            assert_is(inner_text(text), each)
    elif text.startswith("map("):
        assert type(value) is dict
        for key, each in value.items():
            assert type(key) is str
            assert_is(inner_text(text), each)
    elif text in api_types():
        assert type(value) is dict
        for field, each in value.items():
            assert_is(api_types()[text].get(field, "dyn"), each)
    else:
        assert_is_scalar(text, value)


def assert_is_scalar(text, value):
    if text == "dyn":
        assert isinstance(value, (str, int, float, list, dict, type(None)))
        return
    kinds = {"string": str, "bool": bool, "int": int, "timestamp": Timestamp}
    assert type(value) is kinds[text]
    if text == "int":
        assert -(2**63) <= value < 2**63


def attempt(name, raw):
    """Give the decoded object, empty where there is none, and the error, if any."""
    try:
        return decode(name, raw), ""
    except DecodeError as error:
        return {}, error


@given(st.sampled_from(sorted(api_types())), ANYTHING)
def test_arbitrary_json_ends_in_a_value_or_in_a_decode_error(name, raw):
    made, error = attempt(name, raw)
    assert_is(name, made)
    assert str(error).isprintable()


@given(st.data(), st.sampled_from(ROOTS))
def test_nearly_right_json_ends_in_a_value_of_its_type_or_in_a_decode_error(data, name):
    raw = data.draw(near(name))
    before = copy.deepcopy(raw)
    made, error = attempt(name, raw)
    assert_is(name, made)
    assert str(error).isprintable()
    assert repr(decode(name, made)) == repr(made)
    assert repr(raw) == repr(before)


@given(st.data(), st.sampled_from(ROOTS))
def test_right_json_is_decoded_and_a_second_time_changes_nothing(data, name):
    raw = data.draw(valid(name))
    before = copy.deepcopy(raw)
    made = decode(name, raw)
    assert_is(name, made)
    assert made.keys() == raw.keys()
    assert decode(name, made) == made
    assert raw == before
