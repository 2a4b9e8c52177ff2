"""Says when files that change have come to rest, so that none is read half written.

Whoever sees a change tells of it, on any thread; the thread that reads waits here. A file that
was written to counts as being written until whoever writes closes it, if that can be seen.
"""

from threading import Condition
from typing import Final

from policyd.scheduler.protocols import Clock

QUIET_SECONDS: Final = 0.02
"""How long nothing may change before files are read."""

LONGEST_SECONDS: Final = 0.1
"""After how long files are read that keep changing without being open."""

OPEN_SECONDS: Final = 2.0
"""How long a file is waited for that somebody writes to and does not close."""


class Settling:
    """What has changed since the last look, and what is still being written. One lock, its own.

    Moments are the clock's monotonic seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._condition = Condition()
        self._has_changed = False
        self._is_stopped = False
        self._first: float | None = None  # of the changes that are not taken over yet
        self._last = clock.monotonic()
        self._open: dict[str, float] = {}

    def changed(self, path: str, is_open: bool | None = None) -> None:  # noqa: FBT001 - three states
        """Note that something changed at a path.

        `is_open` says that it is being written to, or that this is over, where that is known.
        """
        now = self._clock.monotonic()
        with self._condition:
            self._has_changed = True
            self._first = now if self._first is None else self._first
            self._last = now
            if is_open:
                self._open.setdefault(path, now)
            elif is_open is False:
                self._open.pop(path, None)
            self._condition.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until something changed, at most so long; say whether it did."""
        end = self._clock.monotonic() + seconds
        with self._condition:
            while not (self._has_changed or self._is_stopped):
                left = end - self._clock.monotonic()
                if left <= 0:
                    return False
                self._condition.wait(left)
            return self._has_changed and not self._is_stopped

    def until_quiet(self) -> None:
        """Wait until what changed has come to rest, or has taken too long for that."""
        with self._condition:
            while not self._is_stopped and (left := self._left()) > 0:
                self._condition.wait(left)
            self._has_changed = False

    def _left(self) -> float:
        """Give how long it takes until files can be read, if nothing more happens."""
        now = self._clock.monotonic()
        being_written = [at for at in self._open.values() if now - at < OPEN_SECONDS]
        if being_written:
            return max(being_written) + OPEN_SECONDS - now
        first = self._last if self._first is None else self._first
        return min(self._last + QUIET_SECONDS, first + LONGEST_SECONDS) - now

    def pause(self) -> None:
        """Wait as long as nothing may change before files are read."""
        end = self._clock.monotonic() + QUIET_SECONDS
        with self._condition:
            while not self._is_stopped and (left := end - self._clock.monotonic()) > 0:
                self._condition.wait(left)

    def is_settled(self) -> bool:
        """Say whether nothing changed while files were read, or it has taken too long for that."""
        now = self._clock.monotonic()
        with self._condition:
            first = now if self._first is None else self._first
            return not self._has_changed or self._is_stopped or now - first >= LONGEST_SECONDS

    def taken(self) -> None:
        """Note that what had changed is taken over."""
        now = self._clock.monotonic()
        with self._condition:
            self._first = self._last if self._has_changed else None
            self._open = {p: at for p, at in self._open.items() if now - at < OPEN_SECONDS}

    @property
    def is_stopped(self) -> bool:
        """Say whether nobody waits any more."""
        return self._is_stopped

    def stop(self) -> None:
        """End all waiting, now and from now on."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()
