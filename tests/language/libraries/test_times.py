"""The accessors of timestamps and durations, by zone and by dialect."""

import pytest

from tests.language.libraries.evaluation import CEL, KUBERNETES, assert_gives, evaluate, fault_of

AT = 'timestamp("2009-02-13T23:31:20.123456789Z")'


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("accessor", "in_utc", "in_sydney"),
    [
        ("getFullYear", 2009, 2009),
        ("getMonth", 1, 1),
        ("getDate", 13, 14),
        ("getDayOfMonth", 12, 13),
        ("getDayOfWeek", 5, 6),
        ("getDayOfYear", 43, 44),
        ("getHours", 23, 10),
        ("getMinutes", 31, 31),
        ("getSeconds", 20, 20),
        ("getMilliseconds", 123, 123),
    ],
)
def test_a_timestamp_has_parts_in_utc_and_in_a_zone(accessor, in_utc, in_sydney, dialect):
    assert evaluate(f"{AT}.{accessor}()", dialect) == in_utc
    assert evaluate(f'{AT}.{accessor}("UTC")', dialect) == in_utc
    assert evaluate(f'{AT}.{accessor}("")', dialect) == in_utc
    assert evaluate(f'{AT}.{accessor}("Australia/Sydney")', dialect) == in_sydney
    assert evaluate(f'{AT}.{accessor}("+11:00")', dialect) == in_sydney


def test_without_a_zone_the_one_that_was_written_does_not_count():
    assert evaluate('timestamp("2024-01-01T00:00:00+02:00").getHours()') == 22


@pytest.mark.parametrize("zone", ["Nope/Zone", "../../etc/passwd", "Local", "99999:00", "\0"])
def test_a_zone_that_does_not_exist_is_a_fault(zone):
    assert len(fault_of(f"{AT}.getHours(zone)", zone=zone)) < 200


@pytest.mark.parametrize(
    ("expression", "kubernetes", "cel"),
    [
        ('duration("10000s").getHours()', 2, 2),
        ('duration("-90m").getHours()', -1, -1),
        ('duration("3730s").getMinutes()', 62, 62),
        ('duration("-90s").getMinutes()', -1, -1),
        ('duration("-1.9s").getSeconds()', -1, -1),
        ('duration("123.321456789s").getMilliseconds()', 123321, 321),
        ('duration("-1.999s").getMilliseconds()', -1999, -999),
        ('duration("2562047h47m16.854775807s").getHours()', 2562047, 2562047),
    ],
)
def test_a_duration_counts_whole_units_toward_zero(expression, kubernetes, cel):
    assert evaluate(expression, KUBERNETES) == kubernetes
    assert evaluate(expression, CEL) == cel


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{AT} + duration('1h') - {AT}", "duration('3600s')"),
        (f"duration('1h') + {AT} > {AT}", "true"),
        ("duration('1h') - duration('1m')", "duration('59m')"),
        (f"[{AT}, timestamp(0)].min()", "timestamp(0)"),
        ("[duration('1m'), duration('1s')].sum()", "duration('61s')"),
    ],
)
def test_times_add_compare_and_sort(expression, expected):
    assert_gives(expression, expected)
