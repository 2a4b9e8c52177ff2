"""Doubles as text: what Go reads and writes, and that hostile texts are refused quickly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.values.doubles import general, named, parse_double, plain
from policyd.values.errors import ValueFault

MINUS_ZERO = -0.0


@pytest.mark.parametrize(
    ("value", "as_general", "as_plain"),
    [
        (0.0, "0", "0"),
        (MINUS_ZERO, "-0", "-0"),
        (1.0, "1", "1"),
        (100.0, "100", "100"),
        (0.1, "0.1", "0.1"),
        (-4.5e-3, "-0.0045", "-0.0045"),
        (123456.0, "123456", "123456"),
        (1000000.0, "1e+06", "1000000"),
        (1234567.0, "1.234567e+06", "1234567"),
        (123456.789, "123456.789", "123456.789"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1e-7, "1e-07", "0.0000001"),
        (1e21, "1e+21", "1" + "0" * 21),
        (1e23, "1e+23", "1" + "0" * 23),
        (1.7976931348623157e308, "1.7976931348623157e+308", "17976931348623157" + "0" * 292),
        (5e-324, "5e-324", "0." + "0" * 323 + "5"),
        (math.inf, "+Inf", "Infinity"),
        (-math.inf, "-Inf", "-Infinity"),
        (math.nan, "NaN", "NaN"),
    ],
)
def test_a_double_prints_as_go_prints_it(value, as_general, as_plain):
    assert general(value) == as_general
    assert plain(value) == as_plain


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_reads_back_what_it_prints(value):
    for text in (general(value), plain(value)):
        assert repr(parse_double(text)) == repr(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("+.5e+3", 500.0),
        ("5.", 5.0),
        ("-0.0", MINUS_ZERO),
        ("1_0.0", 10.0),
        ("1e5_0", 1e50),
        ("1e-400", 0.0),
        ("-1e-400", MINUS_ZERO),
        ("0e99999999999999999999", 0.0),
        ("0x1p3", 8.0),
        ("-0x1p-2", -0.25),
        ("0X1P+3", 8.0),
        ("0x.8p1", 1.0),
        ("0x8.p1", 16.0),
        ("0x1.8p1", 3.0),
        ("0x_1p3", 8.0),
        ("0x1_0p3", 128.0),
        ("0x1p-2000", 0.0),
        ("0x0p99999999999", 0.0),
        ("0x1p-99999999999999999999", 0.0),
        ("-0x1p-99999999999999999999", MINUS_ZERO),
        ("inf", math.inf),
        ("INFINITY", math.inf),
        ("+Inf", math.inf),
        ("-infinity", -math.inf),
        ("NaN", math.nan),
    ],
)
def test_a_double_is_read_as_go_reads_it(text, value):
    assert repr(parse_double(text)) == repr(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "+", "1e", "1e+", "e5", " 1", "1 ", "1f", "1,5", "0b1", "0o7", "１", "1\0"),  # noqa: RUF001
        *("_1", "1_", "1__0", "1_.5", "1._5", "1_e5", "1e_5"),
        *("0x1", "0x1p", "0xp1", "0x", "0x.p1", "0x_.8p1", "0x1p1_", "0x1_p1", "0x_p1"),
        *("-nan", "+nan", "infi", "in", "infinity1", "--1"),
        *("1e400", "-1e400", "0x1p1024", "0x1p99999999999999999999", "1e" + "9" * 1_000_000),
        *("1_" * 500_000, "1" * 1_000_000 + "x", "0x" + "1_" * 500_000),
    ],
)
def test_what_is_no_double_is_a_fault_with_a_short_message(text):
    with pytest.raises(ValueFault) as fault:
        parse_double(text)
    assert len(fault.value.message) < 200


def test_what_is_not_finite_has_the_names_of_protobuf():
    assert [named(it) for it in (math.inf, -math.inf, math.nan)] == ["Infinity", "-Infinity", "NaN"]
