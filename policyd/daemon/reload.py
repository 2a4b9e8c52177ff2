"""Reloads rules from files and directories while they are in force.

A change is noticed, waited for until it has come to rest, read, and offered to the store, all on
one thread that is not the deciding one. Now and then the files are read without a notice too,
since a notice can be missed.
"""

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Final

from watchdog.observers import Observer

from policyd.daemon.reload_files import Offers, read_paths, trail_of
from policyd.daemon.reload_settle import Settling
from policyd.daemon.reload_watch import MakeObserver, Watch
from policyd.daemon.threads import Threads
from policyd.policy.store import RulesetStore
from policyd.scheduler.protocols import Clock

PROVIDER: Final = "files"
"""The name under which a store can await the first reading."""

READ_SECONDS: Final = 5.0
"""How often files are read without notice of a change."""

_MOST_READINGS: Final = 10

_LOG: Final = logging.getLogger(__name__)


class FileReload:
    """Keeps a store at what files and directories say. Each path is a source of the store.

    The lock is held for a turn of the thread that `start` makes, and to stop.
    """

    def __init__(
        self,
        paths: Sequence[str],
        store: RulesetStore,
        clock: Clock,
        *,
        make_observer: MakeObserver = Observer,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self._paths = tuple(paths)
        self._store = store
        self._clock = clock
        self._settling = Settling(clock)
        self._watch = Watch(self._settling.changed, make_observer)
        self._read_seconds = read_seconds
        self._next_read = 0.0
        self._offered: Offers = {}
        self._lock = Lock()

    def start(self, threads: Threads) -> None:
        """Read everything once, and then on a thread of its own whenever something changes.

        When this returns, the store has a rule set or says why not. The thread ends when
        `threads` stop.
        """
        self._watch.start()
        self._watch.follow(trail_of(self._paths))
        self._offer(read_paths(self._paths))
        self._follow()

        def turn(seconds: float) -> None:
            if self._settling.is_stopped:
                threads.stopping.wait(seconds)
            else:
                self._turn(seconds)

        threads.repeat(f"reload-{self._store.name}", turn)

    def stop(self) -> None:
        """End watching and reading. Any thread, at any time; a compilation is waited for."""
        self._settling.stop()
        with self._lock:
            self._watch.stop()

    # --- on the thread of its own ---

    def _turn(self, seconds: float) -> None:
        """Wait at most so long for a change, and take it over."""
        left = self._next_read - self._clock.monotonic()
        has_changed = self._settling.wait(min(seconds, max(left, 0.0)))
        with self._lock:
            if self._settling.is_stopped:
                return
            try:
                if has_changed:
                    self._reload(is_told=self._watch.is_told)
                elif self._clock.monotonic() >= self._next_read:
                    self._look()
            except Exception:  # noqa: BLE001 - the rules in force stay, and the thread goes on
                _LOG.exception("rule files could not be reloaded")
                self._next_read = self._clock.monotonic() + self._read_seconds

    def _reload(self, *, is_told: bool) -> None:
        """Take over a change; `is_told` says whether the end of writing is told of."""
        reading = self._settled_reading(is_told=is_told)
        if self._settling.is_stopped:
            return  # what was read need not have come to rest
        self._offer(reading)
        self._settling.taken()
        self._follow()

    def _settled_reading(self, *, is_told: bool) -> Offers:
        while True:
            self._settling.until_quiet()
            reading = read_paths(self._paths)
            if not is_told:
                reading = self._read_again(reading)
            if self._settling.is_settled():
                return reading

    def _read_again(self, reading: Offers) -> Offers:
        """Read until two readings are the same."""
        for _ in range(_MOST_READINGS):
            self._settling.pause()
            again = read_paths(self._paths)
            if again == reading:
                break
            reading = again
        return reading

    def _look(self) -> None:
        """Read without notice; where that finds something, the watches are blind: renew them."""
        reading = read_paths(self._paths)
        if reading == self._offered:
            self._next_read = self._clock.monotonic() + self._read_seconds
            self._follow()
        else:
            _LOG.info("rule files have changed without notice")
            self._watch.renew()
            self._settling.changed("")
            self._reload(is_told=False)

    def _offer(self, reading: Offers) -> None:
        self._store.update(reading, PROVIDER)
        self._offered = reading
        self._next_read = self._clock.monotonic() + self._read_seconds

    def _follow(self) -> None:
        """Watch what was read; what has changed before it was watched counts as a change."""
        for _ in range(_MOST_READINGS):
            if not self._watch.follow(trail_of(self._paths)):
                return
            if read_paths(self._paths) != self._offered:
                self._settling.changed("")
