"""Conversions: what cel-go gives for each pair of types, and what it refuses."""

import pytest

from policyd.language.libraries.conversions import to_bytes
from policyd.values.errors import ValueFault
from tests.language.libraries.evaluation import (
    CEL,
    KUBERNETES,
    assert_gives,
    evaluate,
    fault_of,
)

BOTH = (KUBERNETES, CEL)


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *((f'bool("{it}")', "true") for it in ("1", "t", "T", "true", "TRUE", "True")),
        *((f'bool("{it}")', "false") for it in ("0", "f", "F", "false", "FALSE", "False")),
        ("bool(true)", "true"),
        ('bytes("é")', 'b"\\303\\251"'),
        ('bytes(b"\\xff")', 'b"\\xff"'),
        ("double(1)", "1.0"),
        ("double(9007199254740993)", "9007199254740992.0"),
        ("double(18446744073709551615u)", "18446744073709551615.0"),
        ('double("0x1p3")', "8.0"),
        ('double("1_0.0")', "10.0"),
        ('double("-0.0")', "-0.0"),
        ("double(1.5)", "1.5"),
        ('duration(duration("1s"))', 'duration("1s")'),
        ("int(1)", "1"),
        ("int(42u)", "42"),
        ("int(1.9)", "1"),
        ("int(-7.9)", "-7"),
        ("int(9223372036854774784.0)", "9223372036854774784"),
        ('int("+1")', "1"),
        ('int("-9223372036854775808")', "-9223372036854775808"),
        ('int("000000000000000000000000000000001")', "1"),
        ('int(timestamp("1969-12-31T23:59:59.5Z"))', "-1"),
        ('int(timestamp("2004-09-16T23:59:59Z"))', "1095379199"),
        ("string(true)", '"true"'),
        ("string(-456)", '"-456"'),
        ("string(9876u)", '"9876"'),
        ("string(1.0)", '"1"'),
        ("string(-0.0)", '"-0"'),
        ("string(1e21)", '"1e+21"'),
        ("string(1e-7)", '"1e-07"'),
        ("string(1000000.0)", '"1e+06"'),
        ('string(double("-inf"))', '"-Inf"'),
        ('string(b"\\303\\277")', '"ÿ"'),
        ('string("x")', '"x"'),
        ('string(duration("1h1ms"))', '"3600.001s"'),
        ('string(timestamp("2024-01-01T00:00:00.100Z"))', '"2024-01-01T00:00:00.1Z"'),
        ("timestamp(1700000000)", 'timestamp("2023-11-14T22:13:20Z")'),
        ("timestamp(timestamp(0))", "timestamp(0)"),
        ("uint(1u)", "1u"),
        ("uint(1729)", "1729u"),
        ("uint(25.9)", "25u"),
        ("uint(-0.0)", "0u"),
        ('uint("18446744073709551615")', "18446744073709551615u"),
        ("dyn(1)", "1"),
        ("type(1)", "int"),
        ("type(type(1))", "type"),
        ("type(null)", "null_type"),
        ("type([1])", "list"),
        ("type({})", "map"),
        ("type(optional.none())", "optional_type"),
        ('type(duration("1s"))', "google.protobuf.Duration"),
        ("type(timestamp(0))", "google.protobuf.Timestamp"),
    ],
)
def test_a_value_converts_as_in_cel_go(expression, expected, dialect):
    assert_gives(expression, expected, dialect)


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("function", "value"),
    [
        *(("bool", it) for it in ("", "yes", "TrUe", "FALSE ")),
        *(("int", it) for it in ("", "-", "1.0", " 1", "0x1F", "1_000", "9223372036854775808")),
        *(("int", it) for it in ("１", "9" * 1_000_000, "1" * 4301)),  # noqa: RUF001 - full width
        *(("int", it) for it in (9223372036854775807.0, -9223372036854775808.0, float("nan"))),
        *(("int", it) for it in (float("inf"), 1e99)),
        *(("uint", it) for it in ("", "+1", "-0", "1u", "18446744073709551616")),
        *(("uint", it) for it in (-1, -0.5, 18446744073709551615.0, float("nan"), float("-inf"))),
        *(("double", it) for it in ("", "1e400", "x", " 1")),
        ("string", b"\x00\xff"),
        ("string", b"\xed\xa0\x80"),
        ("bytes", "\ud800"),
        *(("duration", it) for it in ("", "1d", "1")),
        *(("timestamp", it) for it in ("", "2024-01-01", 253402300800, -62135596801)),
    ],
)
def test_what_does_not_convert_is_a_fault(function, value, dialect):
    assert len(fault_of(f"{function}(v)", dialect, v=value)) < 200


def test_an_unsigned_integer_past_the_signed_ones_is_a_fault():
    assert fault_of("int(18446744073709551615u)") == "integer overflow"


def test_a_string_with_half_a_surrogate_pair_has_no_bytes():
    with pytest.raises(ValueFault):
        to_bytes("a\udfff")


def test_kubernetes_prints_a_timestamp_in_its_zone_and_a_duration_as_a_double():
    at = 'timestamp("2024-01-01T00:00:00+02:00")'
    assert evaluate(f"string({at} + duration('1h'))") == "2024-01-01T01:00:00+02:00"
    assert evaluate(f"string({at})", CEL) == "2023-12-31T22:00:00Z"
    span = 'duration("123456789.123456789s")'
    assert evaluate(f"string({span})") == "123456789.12345679s"
    assert evaluate(f"string({span})", CEL) == "123456789.123456789s"


def test_only_kubernetes_gives_a_duration_as_an_int():
    assert evaluate('int(duration("1h"))') == 3_600_000_000_000
    assert "no such overload" in fault_of('int(dyn(duration("1h")))', CEL)
