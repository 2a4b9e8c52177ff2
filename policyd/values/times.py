"""Points in time and spans of time, exact to the nanosecond.

Texts are read as Go reads them (`time.RFC3339`, `time.ParseDuration`), and the ranges are those
of protobuf's `Timestamp` (years 1 to 9999) and of Go's `Duration` (64 bits of nanoseconds), both
as CEL has them (https://github.com/google/cel-spec/blob/master/doc/langdef.md#abstract-types).
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN
from policyd.values.quoting import quote

SECOND: Final = 10**9
"""Nanoseconds in a second."""

_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE
_DAY_SECONDS: Final = 86_400
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MIN_NANOS: Final = (1 - _EPOCH_DAY) * _DAY_SECONDS * SECOND
_MAX_NANOS: Final = (date.max.toordinal() + 1 - _EPOCH_DAY) * _DAY_SECONDS * SECOND - 1
# The calendar repeats after 400 years, weekdays included: a whole number of weeks.
_CYCLE_DAYS: Final = 146_097
_CYCLE_YEARS: Final = 400
_CYCLE_SECONDS: Final = _CYCLE_DAYS * _DAY_SECONDS

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": _MINUTE,
    "h": _HOUR,
}
_MAX_DIGITS: Final = len(str(INT_MAX))
# Possessive repeats: a text that does not fit is refused in one pass.
_PART: Final = re.compile(r"([0-9]*+)(?:\.([0-9]*+))?((?:[nuµμm]?s)|[mh])")
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]++))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_FIXED_ZONE: Final = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{1,2})")
_NAMED_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]{1,32}(?:/[A-Za-z0-9_+-]{1,32}){0,3}")


class _Nanos:
    """What both classes are: a number of nanoseconds, compared within its own class."""

    __slots__ = ("nanos",)

    nanos: int
    cel_ordered: ClassVar[bool] = True

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} of a {self.__class__.__name__} cannot be set")

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.nanos == other.nanos

    def __lt__(self, other: "_Nanos") -> bool:
        return self.nanos < other.nanos if other.__class__ is self.__class__ else NotImplemented

    def __le__(self, other: "_Nanos") -> bool:
        return self.nanos <= other.nanos if other.__class__ is self.__class__ else NotImplemented

    def __gt__(self, other: "_Nanos") -> bool:
        return self.nanos > other.nanos if other.__class__ is self.__class__ else NotImplemented

    def __ge__(self, other: "_Nanos") -> bool:
        return self.nanos >= other.nanos if other.__class__ is self.__class__ else NotImplemented


class Timestamp(_Nanos):
    """A point in time: `nanos` since 1970-01-01T00:00:00Z.

    `offset` is the zone it was written in, in seconds east of UTC. Only `local_text` shows it:
    equality, order and the parts of the time do not depend on it.
    """

    __slots__ = ("offset",)

    offset: int
    cel_type: ClassVar[str] = "google.protobuf.Timestamp"

    def __init__(self, nanos: int, offset: int = 0) -> None:
        """Hold the nanoseconds.

        Raises:
            ValueFault: the time is outside the years 1 to 9999.
        """
        if not _MIN_NANOS <= nanos <= _MAX_NANOS:
            raise ValueFault("timestamp is outside the years 1 to 9999")
        _set(self, "nanos", nanos)
        _set(self, "offset", offset)

    def __reduce__(self) -> tuple[type["Timestamp"], tuple[int, int]]:
        return Timestamp, (self.nanos, self.offset)

    def __repr__(self) -> str:
        return f"Timestamp({self})"

    def __str__(self) -> str:
        return f"{_wall_text(civil_at(self, 0))}Z"

    def local_text(self) -> str:
        """Give the RFC 3339 text in the zone that the timestamp was written in."""
        if not self.offset:
            return str(self)
        minutes = abs(self.offset) // 60
        zone = f"{'-' if self.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
        return _wall_text(civil_at(self, self.offset)) + zone


class Duration(_Nanos):
    """A span of time in nanoseconds, negative where it points back."""

    __slots__ = ()

    cel_type: ClassVar[str] = "google.protobuf.Duration"

    def __init__(self, nanos: int) -> None:
        """Hold the nanoseconds.

        Raises:
            ValueFault: they do not fit 64 bits (about 292 years).
        """
        if not INT_MIN <= nanos <= INT_MAX:
            raise ValueFault("duration is outside 64 bits of nanoseconds (about 292 years)")
        _set(self, "nanos", nanos)

    def __reduce__(self) -> tuple[type["Duration"], tuple[int]]:
        return Duration, (self.nanos,)

    def __repr__(self) -> str:
        return f"Duration({self})"

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nanos), SECOND)
        return f"{'-' if self.nanos < 0 else ''}{whole}{_fraction_text(rest)}s"

    @property
    def seconds(self) -> float:
        """Give the seconds as a double: the sum that Go's `Duration.Seconds` makes, bit by bit."""
        whole, rest = divmod(abs(self.nanos), SECOND)
        total = float(whole) + rest / SECOND
        return -total if self.nanos < 0 else total


_set: Final = object.__setattr__


class CivilTime(NamedTuple):
    """A point in time on the calendar and the clock of a zone.

    `year` is 0 or 10,000 where a zone's clock passes the end of the range. `yearday` counts from
    0 and `weekday` from Sunday, 0; `month` and `day` count from 1.
    """

    year: int
    month: int
    day: int
    weekday: int
    yearday: int
    hour: int
    minute: int
    second: int
    nanos: int


def civil(timestamp: Timestamp, zone: str = "") -> CivilTime:
    """Give the calendar and the clock of a point in time.

    `zone` is an IANA name (`Europe/Berlin`), an offset (`+05:30`, `-08:00`, `02:00`), or empty
    for UTC.

    Raises:
        ValueFault: there is no such zone.
    """
    return civil_at(timestamp, zone_offset(timestamp, zone) if zone else 0)


def civil_at(timestamp: Timestamp, offset: int) -> CivilTime:
    """Give the calendar and the clock at an offset, in seconds east of UTC."""
    total, nanos = divmod(timestamp.nanos, SECOND)
    days, second = divmod(total + offset, _DAY_SECONDS)
    ordinal = days + _EPOCH_DAY
    cycles = 0 if 1 <= ordinal <= date.max.toordinal() else 1 if ordinal < 1 else -1
    day = date.fromordinal(ordinal + cycles * _CYCLE_DAYS)
    return CivilTime(
        year=day.year - cycles * _CYCLE_YEARS,
        month=day.month,
        day=day.day,
        weekday=day.isoweekday() % 7,
        yearday=day.toordinal() - date(day.year, 1, 1).toordinal(),
        hour=second // 3600,
        minute=second // 60 % 60,
        second=second % 60,
        nanos=nanos,
    )


def zone_offset(timestamp: Timestamp, zone: str) -> int:
    """Give how far a zone's clock is ahead of UTC at a point in time, in seconds.

    Raises:
        ValueFault: there is no such zone.
    """
    if zone in ("", "UTC"):
        return 0
    if ":" in zone:
        return _fixed_offset(zone)
    return _offset_in(_named_zone(zone), timestamp.nanos // SECOND)


def _fixed_offset(zone: str) -> int:
    found = _FIXED_ZONE.fullmatch(zone)
    if found is None:
        raise ValueFault(f"{quote(zone)} is not an offset such as +05:30")
    seconds = int(found[2]) * 3600 + int(found[3]) * 60
    return -seconds if found[1] == "-" else seconds


@lru_cache(maxsize=64)
def _named_zone(zone: str) -> tzinfo:
    """Load a zone from the time zone database of the system or of the `tzdata` package."""
    # A name is a path in the database; only what looks like a zone may be looked for there.
    if _NAMED_ZONE.fullmatch(zone):
        from zoneinfo import ZoneInfo  # noqa: PLC0415 - few rules name a zone, and it costs 4 ms

        try:
            return ZoneInfo(zone)
        except (KeyError, ValueError, OSError, ImportError):
            pass  # absent; a file that is no zone; a folder; no package of that name in tzdata
    raise ValueFault(f"unknown time zone {quote(zone)}")


def _offset_in(zone: tzinfo, seconds: int) -> int:
    """Give a zone's offset at `seconds` since the epoch, both in seconds.

    In the first and the last year of the range the local time could be outside of it, so the
    offset is taken from the same day of the calendar's neighbouring cycle: zones had no rules
    yet, or follow the same rules for ever.
    """
    year_seconds = 366 * _DAY_SECONDS
    if seconds < _MIN_NANOS // SECOND + year_seconds:
        seconds += _CYCLE_SECONDS
    elif seconds > _MAX_NANOS // SECOND - year_seconds:
        seconds -= _CYCLE_SECONDS
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(zone).utcoffset()
    return 0 if offset is None else offset.days * _DAY_SECONDS + offset.seconds


def _wall_text(at: CivilTime) -> str:
    return (
        f"{at.year:04d}-{at.month:02d}-{at.day:02d}"
        f"T{at.hour:02d}:{at.minute:02d}:{at.second:02d}{_fraction_text(at.nanos)}"
    )


def _fraction_text(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def timestamp_from_seconds(seconds: int) -> Timestamp:
    """Make a timestamp of whole seconds since 1970-01-01T00:00:00Z.

    Raises:
        ValueFault: the time is outside the years 1 to 9999.
    """
    return Timestamp(seconds * SECOND)


def parse_timestamp(text: str) -> Timestamp:
    """Read an RFC 3339 text such as `2024-01-01T00:00:00.5+02:00`.

    As in Go: `T` and `Z` are capitals, an offset is required, there is no second 60, the hour
    may have one digit, a comma may stand for the point, and digits past the ninth are dropped.

    Raises:
        ValueFault: the text is no such time, or is outside the years 1 to 9999.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise _no_timestamp(text)
    year, month, day, hour, minute, second, fraction, sign, east_hours, east_minutes = (
        found.groups()
    )
    clock = (int(hour), int(minute), int(second))
    days = _days(int(year), int(month), int(day))
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        raise _no_timestamp(text)
    seconds = days * _DAY_SECONDS + clock[0] * 3600 + clock[1] * 60 + clock[2]
    nanos = int(fraction[:9].ljust(9, "0")) if fraction else 0
    if sign is None:
        return Timestamp(seconds * SECOND + nanos)
    if int(east_hours) > 24 or int(east_minutes) > 60:
        raise _no_timestamp(text)
    east = int(east_hours) * 3600 + int(east_minutes) * 60
    offset = -east if sign == "-" else east
    return Timestamp((seconds - offset) * SECOND + nanos, offset)


def _days(year: int, month: int, day: int) -> int | None:
    """Give the days since 1970-01-01; `None` where the calendar has no such day."""
    try:
        if year:
            return date(year, month, day).toordinal() - _EPOCH_DAY
        return date(_CYCLE_YEARS, month, day).toordinal() - _CYCLE_DAYS - _EPOCH_DAY
    except ValueError:
        return None


def _no_timestamp(text: str) -> ValueFault:
    return ValueFault(f"{quote(text)} is not a time such as 2024-01-31T08:00:00Z")


def parse_duration(text: str) -> Duration:
    """Read a duration such as `1h30m`, `-1.5s`, `300ms` or `0`, as Go's `ParseDuration` does.

    Units are `h`, `m`, `s`, `ms`, `us` (or `µs`) and `ns`. A fraction of a nanosecond is dropped.

    Raises:
        ValueFault: the text is no duration, or does not fit 64 bits of nanoseconds.
    """
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return Duration(0)
    at = total = 0
    while (part := _PART.match(unsigned, at)) is not None and (part[1] or part[2]):
        total += _amount(part[1], part[2] or "", _UNITS[part[3]])
        if total > INT_MAX + 1:
            break
        at = part.end()
    else:
        if not at or at < len(unsigned):
            raise ValueFault(f"{quote(text)} is not a duration such as 1h30m or 2.5s")
    return Duration(-total if text[0] == "-" else total)


def _amount(whole: str, fraction: str, unit: int) -> int:
    """Give the nanoseconds of one part; more than 64 bits where the digits say so."""
    digits = whole.lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return INT_MAX * 2
    scaled, scale = 0, 1.0
    for digit in fraction:  # as far as 63 bits reach, like Go; the rest is below a nanosecond
        if scaled > INT_MAX // 10 or scaled * 10 + int(digit) > INT_MAX + 1:
            break
        scaled = scaled * 10 + int(digit)
        scale *= 10.0
    return int(digits or "0") * unit + int(scaled * (unit / scale))


def add_timestamp_duration(timestamp: Timestamp, duration: Duration) -> Timestamp:
    """Move a point in time by a duration.

    Raises:
        ValueFault: the result is outside the years 1 to 9999.
    """
    return Timestamp(timestamp.nanos + duration.nanos, timestamp.offset)


def subtract_timestamp_duration(timestamp: Timestamp, duration: Duration) -> Timestamp:
    """Move a point in time back by a duration.

    Raises:
        ValueFault: the result is outside the years 1 to 9999.
    """
    return Timestamp(timestamp.nanos - duration.nanos, timestamp.offset)


def subtract_timestamps(left: Timestamp, right: Timestamp) -> Duration:
    """Give the time from `right` to `left`.

    Raises:
        ValueFault: it does not fit 64 bits of nanoseconds (about 292 years).
    """
    return Duration(left.nanos - right.nanos)


def add_durations(left: Duration, right: Duration) -> Duration:
    """Add two durations.

    Raises:
        ValueFault: the sum does not fit 64 bits of nanoseconds.
    """
    return Duration(left.nanos + right.nanos)


def subtract_durations(left: Duration, right: Duration) -> Duration:
    """Subtract a duration from another.

    Raises:
        ValueFault: the difference does not fit 64 bits of nanoseconds.
    """
    return Duration(left.nanos - right.nanos)


def negate_duration(duration: Duration) -> Duration:
    """Turn a duration round.

    Raises:
        ValueFault: it is the least one, whose negative does not fit 64 bits of nanoseconds.
    """
    return Duration(-duration.nanos)
