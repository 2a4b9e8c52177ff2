"""Every thread of the process: named, started and joined here, with a heartbeat where it matters.

`Threads` runs what must go on for as long as the process does; `WorkerPool` does what waits for
the cluster. A thread that dies takes nothing with it but its heartbeat, which `/livez` looks at.
"""

import heapq
import logging
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from policyd.scheduler.protocols import Clock

POOL_THREADS: Final = 16
"""How many threads wait for the cluster: binds, conditions and events."""

POOL_BACKLOG: Final = 1000
"""How much work may wait in the pool before the thread that hands in more has to."""

HEARTBEAT_SECONDS: Final = 1.0
"""How often a thread that has nothing to do still shows that it is there."""

SILENCE_SECONDS: Final = 30.0
"""After how long without a sign of life a thread counts as stuck."""

TURN_SECONDS: Final = 0.001
"""How long a thread may compute while others want to: a fifth of what Python has by itself."""

Work = Callable[[], None]

_LOG: Final = logging.getLogger(__name__)


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns often, in the whole process.

    A thread that comes back from a call of the system waits for the turn of the one that decides
    to end. A bind and a reload are ten to twenty such calls.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Threads:
    """The threads that run for as long as the process. One lock, this object's.

    `failed` is called, once, by a thread that ends with an exception.
    """

    def __init__(self, clock: Clock, failed: Callable[[str], None] = lambda _: None) -> None:
        self._clock = clock
        self._failed = failed
        self._lock = threading.Lock()
        self._running: list[threading.Thread] = []
        self._beats: dict[str, float] = {}
        self._dead: list[str] = []
        self.stopping = threading.Event()

    def start(self, name: str, target: Work) -> None:
        """Run something on a thread of its own, until it returns by itself."""

        def run() -> None:
            try:
                target()
            except BaseException:  # noqa: BLE001 - whatever it is, it is told of
                _LOG.exception("the thread %s ended with an error", name)
                with self._lock:
                    self._dead.append(name)
                self._failed(name)

        thread = threading.Thread(target=run, name=name, daemon=True)
        with self._lock:
            self._running.append(thread)
        thread.start()

    def repeat(self, name: str, turn: Callable[[float], Any]) -> None:
        """Run a turn again and again on a thread, until all stop; it beats between the turns.

        A turn is told how long it may wait, in seconds, for something to do.
        """
        self._beat(name)

        def loop() -> None:
            while not self.stopping.is_set():
                self.beat()
                turn(HEARTBEAT_SECONDS)
            with self._lock:
                del self._beats[name]

        self.start(name, loop)

    def beat(self) -> None:
        """Show that the thread that calls this is there, though it waits within a turn."""
        name = threading.current_thread().name
        if name in self._beats:
            self._beat(name)

    def _beat(self, name: str) -> None:
        with self._lock:
            self._beats[name] = self._clock.monotonic()

    def silent(self) -> list[str]:
        """Name the threads that ended with an error, or that have not beaten for too long."""
        now = self._clock.monotonic()
        with self._lock:
            late = [name for name, beat in self._beats.items() if now - beat > SILENCE_SECONDS]
            return sorted({*self._dead, *late})

    def stop(self) -> None:
        """Ask all that `repeat` to end after their turn."""
        self.stopping.set()

    def join(self, timeout: float, prefix: str = "") -> list[str]:
        """Wait for threads to end, so many seconds in total; name those that are still there.

        With a prefix only for those whose names begin with it.
        """
        end = self._clock.monotonic() + timeout
        with self._lock:
            running = [thread for thread in self._running if thread.name.startswith(prefix)]
        for thread in running:
            thread.join(max(0.0, end - self._clock.monotonic()))
        return [thread.name for thread in running if thread.is_alive()]


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """What a pool did: work taken, done, and ended with an error; and what waits now."""

    taken: int
    done: int
    failed: int
    waiting: int
    busy: int
    dropped: int


@dataclass(frozen=True, slots=True)
class _Item:
    work: Work
    lane: int


@dataclass(slots=True)
class _Lanes:
    """What waits: for each key its work in order, and the keys whose first work can be done."""

    chains: dict[object, deque[_Item]] = field(default_factory=dict)
    ready: tuple[deque[object], deque[object]] = field(default_factory=lambda: (deque(), deque()))

    def add(self, key: object, item: _Item) -> bool:
        """Add work; say whether it can be done now."""
        chain = self.chains.get(key)
        if chain is not None:
            chain.append(item)
            return False
        self.chains[key] = deque([item])
        self.ready[item.lane].append(key)
        return True

    def take(self) -> tuple[object, _Item] | None:
        for keys in self.ready:
            if keys:
                key = keys.popleft()
                return key, self.chains[key][0]
        return None

    def finish(self, key: object) -> None:
        """Note that the first work of a key is done, so that the next can be."""
        chain = self.chains[key]
        chain.popleft()
        if not chain:
            del self.chains[key]
            return
        self.ready[chain[0].lane].append(key)


class WorkerPool:
    """Threads that do what waits for the cluster. One lock, this object's.

    Work of one key is done in the order in which it came, one at a time. Work that trails (what
    is written for people) is done when nothing more urgent waits. Who hands in work has to wait
    while too much waits already, so that nothing grows without bound and nothing is dropped;
    only the pool's own threads never wait. Stopping does all that was taken.
    """

    def __init__(
        self,
        clock: Clock,
        size: int = POOL_THREADS,
        backlog: int = POOL_BACKLOG,
        name: str = "pool",
    ) -> None:
        """Make a pool whose threads are not started yet; until then work waits."""
        self._clock = clock
        self._size = size
        self._name = name
        self._backlog = backlog
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)  # for the pool's threads
        self._room = threading.Condition(self._lock)  # for who hands in, and who stops the pool
        self._lanes = _Lanes()
        self._delayed: list[tuple[float, int, object, _Item]] = []
        self._numbers = count()
        self._waiting = 0
        self._busy = 0
        self._counts: Counter[str] = Counter()
        self._stopping = False
        self._own = threading.local()
        self._threads: Threads | None = None

    def start(self, threads: Threads) -> None:
        """Start the pool's threads."""
        self._threads = threads
        for number in range(self._size):
            threads.start(f"{self._name}-{number}", self._serve)

    def submit(self, work: Work, key: str = "") -> None:
        """Do the work soon, after what came before it under the same key."""
        self._hand_in(key, _Item(work, 0))

    def trail(self, work: Work, key: str = "") -> None:
        """Do the work once nothing urgent waits, after what came before it under the same key."""
        self._hand_in(key, _Item(work, 1))

    def later(self, seconds: float, work: Work, key: str = "") -> None:
        """Do the work after so many seconds, or when the pool stops, if that comes first."""
        with self._lock:
            if self._stopping:
                self._drop()
                return
            due = self._clock.monotonic() + seconds
            self._counts["taken"] += 1
            self._waiting += 1
            entry = (due, next(self._numbers), key or object(), _Item(work, 0))
            heapq.heappush(self._delayed, entry)
            self._work.notify()

    def counts(self) -> PoolCounts:
        """Give the counts."""
        with self._lock:
            c = self._counts
            return PoolCounts(
                c["taken"], c["done"], c["failed"], self._waiting, self._busy, c["dropped"]
            )

    def stop(self, timeout: float) -> bool:
        """Do all that was taken, and end; say whether that worked in so many seconds."""
        end = self._clock.monotonic() + timeout
        with self._lock:
            self._stopping = True
            self._work.notify_all()
            self._room.notify_all()
            while self._waiting or self._busy:
                left = end - self._clock.monotonic()
                if left <= 0:
                    return False
                self._room.wait(left)
            return True

    # --- the pool's own threads ---

    def _serve(self) -> None:
        self._own.serves = True
        while True:
            with self._lock:
                taken = self._wait_for_work()
                if taken is None:
                    return
                self._waiting -= 1
                self._busy += 1
                self._room.notify()
            key, item = taken
            done = self._do(item)
            with self._lock:
                self._busy -= 1
                self._counts["done" if done else "failed"] += 1
                self._lanes.finish(key)  # what follows it, this thread may take itself
                if self._stopping:
                    self._work.notify_all()
                    self._room.notify_all()

    def _wait_for_work(self) -> tuple[object, _Item] | None:
        """Give what can be done, or nothing once the pool has stopped and all is done."""
        while True:
            self._release_delayed()
            taken = self._lanes.take()
            if taken is not None:
                return taken
            if self._stopping and not self._waiting and not self._busy:
                return None
            due = self._delayed[0][0] - self._clock.monotonic() if self._delayed else None
            self._work.wait(due)

    def _release_delayed(self) -> None:
        now = self._clock.monotonic()
        while self._delayed and (self._stopping or self._delayed[0][0] <= now):
            _, _, key, item = heapq.heappop(self._delayed)
            if self._lanes.add(key, item):
                self._work.notify()

    def _do(self, item: _Item) -> bool:
        try:
            item.work()
        except Exception:  # noqa: BLE001 - one piece of work must not end the thread
            _LOG.exception("work of the pool ended with an error")
            return False
        return True

    # --- handing in ---

    def _hand_in(self, key: str, item: _Item) -> None:
        with self._lock:
            if not getattr(self._own, "serves", False):
                while self._waiting >= self._backlog and not self._stopping:
                    self._room.wait(HEARTBEAT_SECONDS)
                    if self._threads is not None:
                        self._threads.beat()  # that the cluster is slow is no fault of the thread
                if self._stopping:
                    self._drop()
                    return
            self._counts["taken"] += 1
            self._waiting += 1
            if self._lanes.add(key or object(), item):
                self._work.notify()

    def _drop(self) -> None:
        self._counts["dropped"] += 1
        _LOG.warning("work came after the pool was stopped, and is not done")
