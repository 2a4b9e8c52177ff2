"""Says where the threads of the process spend their time, by looking at their stacks.

The samples are taken by the thread that asks, a hundred a second. The text has a line for each
stack, its frames from the outermost on with `;` between, and the number of samples: what flame
graph tools call collapsed stacks. Threads that wait are in it too, under their names.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Final

MAX_SECONDS: Final = 60.0
"""How long one profile may take."""

INTERVAL_SECONDS: Final = 0.01
_MOST_FRAMES: Final = 200

_Stack = tuple[int, tuple[CodeType, ...]]


class Profiler:
    """Takes one profile at a time.

    `wait` waits so many seconds and says whether the process is ending, which ends the profile.
    """

    def __init__(
        self,
        wait: Callable[[float], bool],
        timer: Callable[[], float],
        frames: Callable[[], Mapping[int, FrameType]] = sys._current_frames,  # noqa: SLF001 - the one way to see other threads
    ) -> None:
        self._wait = wait
        self._timer = timer
        self._frames = frames
        self._lock = threading.Lock()

    def run(self, seconds: float) -> str | None:
        """Watch for so many seconds; give the collapsed stacks, or nothing if one runs already."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._watch(seconds)
        finally:
            self._lock.release()

    def _watch(self, seconds: float) -> str:
        seen: Counter[_Stack] = Counter()
        names = _thread_names()
        own, end = threading.get_ident(), self._timer() + seconds
        while True:
            for thread, frame in self._frames().items():
                if thread != own:
                    seen[thread, _codes(frame)] += 1
            if self._timer() >= end or self._wait(INTERVAL_SECONDS):
                break
        return _collapsed(seen, names | _thread_names())


def _thread_names() -> dict[int, str]:
    return {thread.ident: thread.name for thread in threading.enumerate() if thread.ident}


def _codes(frame: FrameType | None) -> tuple[CodeType, ...]:
    """Give the functions of a stack, the outermost first."""
    codes: list[CodeType] = []
    while frame is not None and len(codes) < _MOST_FRAMES:
        codes.append(frame.f_code)
        frame = frame.f_back
    return tuple(reversed(codes))


def _collapsed(seen: Mapping[_Stack, int], names: Mapping[int, str]) -> str:
    lines: Counter[str] = Counter()
    for (thread, codes), count in seen.items():
        frames = [names.get(thread, f"thread-{thread}"), *map(_frame_name, codes)]
        lines[";".join(frame.replace(";", ":") for frame in frames)] += count
    return "".join(f"{line} {count}\n" for line, count in sorted(lines.items()))


def _frame_name(code: CodeType) -> str:
    """Give `folder/file.py:function`, without where Python or policyd are installed."""
    file = "/".join(code.co_filename.rsplit("/", 2)[-2:])
    return f"{file}:{code.co_qualname}"
