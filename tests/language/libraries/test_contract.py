"""What every overload of every library owes to the interpreter, whatever values it meets."""

import math
import time
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.dialect import Dialect
from policyd.language.dispatch import takes
from policyd.language.limits import MAX_LIST, MAX_STRING, MAX_WORK
from policyd.language.standard import LIBRARIES, libraries, standard_functions
from policyd.language.types import BOOL, DURATION, INT, Kind, Type, parse_type
from policyd.values.errors import ValueFault
from policyd.values.kinds import TypeValue
from policyd.values.maps import TRUE_KEY, TotalMap
from policyd.values.network import CIDR, IP
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.optional import NONE, Optional
from policyd.values.quantity import Quantity
from policyd.values.semver import Semver
from policyd.values.times import Duration, Timestamp, parse_timestamp
from policyd.values.url import URL

TOO_MUCH = object()
SECONDS = 5  # measured: 0.4 at most; far more than that is work that nobody is charged for


def _nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def _shared(levels):
    value = ["a"]
    for _ in range(levels):
        value = [value, value]
    return value


INTS = (0, 1, -1, 2, 7, 64, 10**6, INT_MAX, INT_MIN)
TEXTS = (
    *("", "a", "é😀", "%s", "%", "a,b", "1", "-5", "1.5", "1h", "true", "10.0.0.0/8", "::1", "1Gi"),
    *(
        "2024-01-01T00:00:00Z",
        "1.2.3",
        "https://a.b/c?d=e",
        "Europe/Berlin",
        "+05:30",
        "\0",
        "\ud800",
    ),
    *("../../etc/passwd", "(", "(a*)*b", "[[:alpha:]]{1000}", "%.255f%e%x", "a" * 300),
    *("a" * MAX_STRING, "%s" * 1000, "1" * 100_000, "ab" * 50_000 + "é"),
)
NUMBERS = (0.0, -0.0, 1.5, -2.5, 1e308, 5e-324, 2.0**63, math.inf, -math.inf, math.nan)
POOL = {
    "bool": (True, False),
    "int": INTS,
    "uint": tuple(map(Uint, (0, 1, 2**63, UINT_MAX))),
    "double": NUMBERS,
    "string": TEXTS,
    "bytes": (b"", b"a", b"\xff\x00", b"x" * MAX_STRING),
    "null_type": (None,),
    "google.protobuf.Timestamp": (
        *(Timestamp(0), parse_timestamp("0001-01-01T00:00:00Z")),
        parse_timestamp("9999-12-31T23:59:59.999999999Z"),
        parse_timestamp("2024-01-01T00:00:00-05:30"),
    ),
    "google.protobuf.Duration": tuple(map(Duration, (0, 1, -1, INT_MAX, INT_MIN))),
    "kubernetes.Quantity": tuple(map(Quantity.parse, ("0", "1Gi", "-500m", "1e1000", "3"))),
    "kubernetes.Semver": tuple(map(Semver.parse, ("1.2.3", "0.0.1-a.1+b"))),
    "kubernetes.URL": tuple(map(URL.parse, ("https://a.b:80/c?d=e&d=f", "/x"))),
    "net.IP": tuple(map(IP.parse, ("10.0.0.1", "::1"))),
    "net.CIDR": tuple(map(CIDR.parse, ("10.0.0.0/8", "::/0"))),
    "type": (TypeValue("int"), TypeValue("x.Y")),
}
ANYTHING = (
    *(it for values in POOL.values() for it in values),
    *(
        [],
        {},
        NONE,
        Optional(1),
        Optional([math.nan]),
        [1, "a", None],
        {"a": [1], TRUE_KEY: 2, 3: {}},
    ),
    *(TotalMap({"a": 1}, None), _nested(150), _shared(40), list(range(MAX_LIST)), ["a"] * MAX_LIST),
    *([[1, 2.5]] * 1000, [{"a": at} for at in range(1000)], [math.nan] * 1000),
)


@lru_cache(maxsize=256)
def _values(type_: Type) -> st.SearchStrategy:
    """Give values that a parameter of the type may meet, awkward ones among them."""
    match type_.kind:
        case Kind.LIST:
            if type_.params[0].kind in (Kind.DYN, Kind.PARAM):
                return st.sampled_from([it for it in ANYTHING if it.__class__ is list])
            inner = _values(type_.params[0])
            many = inner.map(lambda value: [value] * 1000)
            return st.lists(inner, max_size=4) | many | st.just([1, "a", None, 2.5])
        case Kind.MAP:
            return st.sampled_from([it for it in ANYTHING if isinstance(it, dict)])
        case Kind.OPTIONAL:
            return st.just(NONE) | st.builds(Optional, _values(type_.params[0]))
        case Kind.NULLABLE:
            return st.none() | _values(type_.params[0])
        case Kind.DYN | Kind.PARAM:
            return st.sampled_from(ANYTHING)
        case _:
            return st.sampled_from(POOL.get(type_.name) or _produced(type_))


def _produced(type_: Type):
    """Make values of a type that only a function without arguments gives."""
    found = [
        overload.implementation()
        for function in standard_functions(Dialect.KUBERNETES).values()
        for overload in function.overloads
        if overload.result == type_ and not overload.params
    ]
    assert found, f"no values of {type_} to test with"
    return found


@pytest.mark.timing
@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("name", LIBRARIES)
@given(data=st.data())
def test_a_call_gives_a_value_of_its_type_or_a_fault_quickly(name, dialect, data):
    library = libraries(dialect)[LIBRARIES.index(name)]
    overloads = [it for function in library.functions for it in function.overloads]
    overload = data.draw(st.sampled_from(overloads), label="overload")
    args = [data.draw(_values(type_)) for type_ in overload.params]
    start = time.perf_counter()
    outcome = _outcome(overload, args)
    assert time.perf_counter() - start < SECONDS
    if isinstance(outcome, ValueFault):
        assert "\n" not in outcome.message
        assert len(outcome.message) < 1000
    elif outcome is not TOO_MUCH:
        _assert_is_a(outcome, overload.result)


def _outcome(overload, args):
    """Call as the interpreter does: the cost is charged first."""
    try:
        if overload.cost is not None and overload.cost(*args) > MAX_WORK:
            return TOO_MUCH
        return overload.implementation(*args)
    except ValueFault as fault:
        return fault


def _assert_is_a(value, type_: Type) -> None:
    assert takes(type_, value.__class__), f"{value!r:.100} is no {type_}"
    if type_ in (INT, DURATION):
        assert INT_MIN <= getattr(value, "nanos", value) <= INT_MAX
    if value.__class__ is Uint:
        assert 0 <= value <= UINT_MAX
    if value.__class__ in (str, bytes):
        assert len(value) <= MAX_STRING
    if value.__class__ is list:
        assert len(value) <= MAX_LIST


@pytest.mark.parametrize("dialect", list(Dialect))
def test_every_function_is_described_by_one_sentence(dialect):
    for function in standard_functions(dialect).values():
        assert function.doc.endswith("."), function.name
        assert "\n" not in function.doc, function.name


@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_function_has_two_overloads_for_the_same_arguments(dialect):
    for function in standard_functions(dialect).values():
        shapes = [(it.member, it.params) for it in function.overloads]
        assert len(set(shapes)) == len(shapes), function.name
        ids = [it.id for it in function.overloads]
        assert len(set(ids)) == len(ids), function.name


def test_predicates_answer_with_the_singletons():
    for function in standard_functions(Dialect.KUBERNETES).values():
        for overload in function.overloads:
            if overload.result == BOOL and overload.params == (parse_type("string"),) * 2:
                assert overload.implementation("a", "a") in (True, False), overload.id
