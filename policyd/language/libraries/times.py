"""The calendar and the clock of timestamps, and the parts of durations.

Numbering is CEL's: months, days of the year and `getDayOfMonth` count from 0, `getDate` from 1,
and the week starts on Sunday with 0
(https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions).
"""

from collections.abc import Callable
from typing import Final

from policyd.language.declarations import Function, Library, Overload, function, overload
from policyd.language.dialect import Dialect
from policyd.values.times import SECOND, CivilTime, Duration, Timestamp, civil

_MILLISECOND: Final = 10**6
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_Part = Callable[[CivilTime], int]


def library(dialect: Dialect) -> Library:
    """Declare the accessors.

    `getMilliseconds` of a duration is the whole of it in Kubernetes, as its siblings are, and
    the part below a second in CEL.
    """
    milliseconds = _part_of_second if dialect is Dialect.CEL else _in_units_of(_MILLISECOND)
    return Library(
        "times",
        (
            *_calendar(),
            _accessor(
                "getHours",
                "hours",
                lambda at: at.hour,
                _duration("hours", _in_units_of(3600 * SECOND)),
                doc="Gives the hour of a timestamp from 0 to 23, or a duration in whole hours.",
            ),
            _accessor(
                "getMinutes",
                "minutes",
                lambda at: at.minute,
                _duration("minutes", _in_units_of(60 * SECOND)),
                doc="Gives the minute of a timestamp, or a duration in whole minutes.",
            ),
            _accessor(
                "getSeconds",
                "seconds",
                lambda at: at.second,
                _duration("seconds", _in_units_of(SECOND)),
                zoned_id="timestamp_to_seconds_tz",
                doc="Gives the second of a timestamp, or a duration in whole seconds.",
            ),
            _accessor(
                "getMilliseconds",
                "milliseconds",
                lambda at: at.nanos // _MILLISECOND,
                _duration("milliseconds", milliseconds),
                doc="Gives the milliseconds of a timestamp within its second, or of a duration.",
            ),
        ),
    )


def _calendar() -> tuple[Function, ...]:
    return (
        _accessor("getFullYear", "year", lambda at: at.year, doc="Gives the year of a timestamp."),
        _accessor(
            "getMonth",
            "month",
            lambda at: at.month - 1,
            doc="Gives the month of a timestamp, from 0 for January to 11.",
        ),
        _accessor(
            "getDate",
            "day_of_month_1_based",
            lambda at: at.day,
            doc="Gives the day of the month of a timestamp, from 1 to 31.",
        ),
        _accessor(
            "getDayOfMonth",
            "day_of_month",
            lambda at: at.day - 1,
            doc="Gives the day of the month of a timestamp, from 0 to 30.",
        ),
        _accessor(
            "getDayOfWeek",
            "day_of_week",
            lambda at: at.weekday,
            doc="Gives the day of the week of a timestamp, from 0 for Sunday to 6.",
        ),
        _accessor(
            "getDayOfYear",
            "day_of_year",
            lambda at: at.yearday,
            doc="Gives the day of the year of a timestamp, from 0 to 365.",
        ),
    )


def _accessor(
    name: str, id_: str, part: _Part, *more: Overload, doc: str, zoned_id: str = ""
) -> Function:
    """Declare an accessor of timestamps: in UTC, and in the zone that its argument names."""

    def in_utc(timestamp: Timestamp) -> int:
        return part(civil(timestamp))

    def in_zone(timestamp: Timestamp, zone: str) -> int:
        return part(civil(timestamp, zone))

    zoned = zoned_id or f"timestamp_to_{id_}_with_tz"
    return function(
        name,
        overload(f"timestamp_to_{id_}", f"{_TIMESTAMP}.() -> int", in_utc),
        overload(zoned, f"{_TIMESTAMP}.(string) -> int", in_zone),
        *more,
        doc=f"{doc[:-1]}; in UTC, or in the zone of the argument.",
    )


def _duration(id_: str, implementation: Callable[[Duration], int]) -> Overload:
    return overload(f"duration_to_{id_}", f"{_DURATION}.() -> int", implementation)


def _in_units_of(unit: int) -> Callable[[Duration], int]:
    """Give the function that counts whole units of so many nanoseconds, towards zero."""

    def count(duration: Duration) -> int:
        whole = abs(duration.nanos) // unit
        return -whole if duration.nanos < 0 else whole

    return count


def _part_of_second(duration: Duration) -> int:
    part = abs(duration.nanos) % SECOND // _MILLISECOND
    return -part if duration.nanos < 0 else part
