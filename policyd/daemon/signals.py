"""Signals, as something that the main thread waits for.

A handler of Python runs between any two steps of the main thread, which may hold a lock at that
moment. So nothing is done there but to note the signal, and the main thread is woken by a pipe.
"""

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Any, Final, Self

ENDING: Final = (signal.SIGTERM, signal.SIGINT)
"""The signals that end the process: the first one orderly, a second one at once."""


class Signals:
    """The signals of the process while it runs. Belongs to the main thread, but for `wake`."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}
        self._fd_before = -1

    def __enter__(self) -> Self:
        self._fd_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in ENDING:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        os.close(self._read)
        os.close(self._write)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for a signal, or until somebody wakes this; give the signal that came, if any."""
        select.select([self._read], [], [], timeout)
        try:
            while os.read(self._read, 512):
                pass
        except BlockingIOError:
            pass
        return self.received

    def wake(self) -> None:
        """Have `wait` return. Any thread."""
        try:
            os.write(self._write, b"\0")
        except (BlockingIOError, OSError):  # it is full, and so wakes anyway; or closed
            return

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:
            os._exit(128 + number)  # who asks twice does not want to wait
        self.received = number
