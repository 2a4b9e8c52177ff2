"""A clock that stands still until it is moved."""

from policyd.values.times import Timestamp

_NANOS = 10**9


class SimulatedClock:
    """The time of a simulation. Belongs to the thread that runs it."""

    def __init__(self, start: Timestamp) -> None:
        self._start = start
        self._seconds = 0.0

    def now(self) -> Timestamp:
        """Give the time of day."""
        return Timestamp(self._start.nanos + int(self._seconds * _NANOS))

    def monotonic(self) -> float:
        """Give the seconds since the start."""
        return self._seconds

    def advance_to(self, seconds: float) -> None:
        """Move to a moment, in seconds since the start; never back."""
        self._seconds = max(self._seconds, seconds)
