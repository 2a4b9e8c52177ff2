"""The clock of the machine."""

import time

from policyd.values.times import Timestamp


class SystemClock:
    """Time of day, and monotonic time, as the machine has them. Any thread."""

    def now(self) -> Timestamp:
        """Give the time of day."""
        return Timestamp(time.time_ns())

    def monotonic(self) -> float:
        """Give seconds since some moment; never goes back."""
        return time.monotonic()
