"""Which way is faster for a few rows: one by one, or all at once."""

from typing import Final

_MANY: Final = 48
"""Rows from which on arrays are faster in any case."""

_AGAIN: Final = 64
"""After how many calls the other way is tried again."""

_FACTOR: Final = 10
"""By how much the other way may be slower to be tried again."""

_WORTHWHILE: Final = 2e-4
"""Seconds of rows one by one from which on arrays are tried."""


class Pace:
    """What rows took, one by one and all at once, and which of the two to take.

    Measured in the thread's own time, and once in a while the slower way again.
    """

    def __init__(self) -> None:
        self._row = 0.0  # seconds
        self._batch = 0.0
        self._calls = 0

    def prefers_rows(self, count: int) -> bool:
        """Say whether so many rows are faster one by one."""
        if count > _MANY or not self._row:
            return count <= _MANY
        by_rows, batch = count * self._row, self._batch or _WORTHWHILE
        self._calls += 1
        if self._calls % _AGAIN == 0 and max(by_rows, batch) < _FACTOR * min(by_rows, batch):
            return by_rows >= batch
        return by_rows < batch

    def took(self, count: int, seconds: float, *, by_rows: bool) -> None:
        """Take note of what some rows took."""
        if not 0 < count <= _MANY:
            return
        if by_rows:
            self._row = _moved(self._row, seconds / count)
        else:
            self._batch = _moved(self._batch, seconds)


def _moved(mean: float, latest: float) -> float:
    """Move a mean towards the latest value; one disturbance does not decide for long."""
    return latest if not mean else min(0.8 * mean + 0.2 * latest, 4 * mean)
