"""Watches the directories that rules depend on, by the kernel's notices or by looking again.

An adapter to watchdog. Its observer has threads of its own, which do nothing here but note that
something changed. A watch of a directory that was removed or replaced is made anew by the next
`follow`; where the kernel watches nothing more (its limits are reached) or cannot, directories
are looked at every second instead, and the log says so.
"""

import errno
import logging
import os
from collections.abc import Callable
from typing import Final, Protocol

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserver

from policyd.daemon.reload_files import Trail

LOOK_SECONDS: Final = 1.0
"""How often directories are looked at where the kernel does not tell of changes."""

# The kernel is asked for what these stand for, and not for reads: ours would wake us for ever.
# The base class lets everything through that comes of it.
_EVENTS: Final = [
    *(FileSystemEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent),
    *(FileClosedEvent, DirCreatedEvent, DirDeletedEvent, DirMovedEvent),
]
_EXHAUSTED: Final = frozenset(
    {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSYS}
)
_LOOKING: Final = "changes of rule files are not told (%s): they are looked for every %g s instead"
_LOG: Final = logging.getLogger(__name__)


class _WithoutEnd(logging.Filter):
    """Leaves out what watchdog says where its thread is ended in the middle of a read: no fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "called when the thread is inactive" not in record.getMessage()


_WITHOUT_END: Final = _WithoutEnd()

Changed = Callable[[str, bool | None], None]


class MakeObserver(Protocol):
    """Makes an observer of watchdog; may raise an `OSError`."""

    def __call__(self, *, timeout: float) -> BaseObserver:
        """Make one. `timeout` is how often it looks, where it has to."""
        ...


class Watch:
    """Watches on some directories. Belongs to one thread, but for `_Handler`.

    `changed` is called by watchdog's threads: with a path, and whether it is being written (or no
    longer), where that is known.
    """

    def __init__(self, changed: Changed, make_observer: MakeObserver = Observer) -> None:
        self._changed = changed
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._watched: dict[str, tuple[_Handler, ObservedWatch]] = {}
        self.trail = Trail()
        self.is_told = False
        """Whether the kernel tells of changes, and of the end of writing."""

    def start(self) -> None:
        """Begin, with nothing to watch yet."""
        logging.getLogger("watchdog.observers.inotify").addFilter(_WITHOUT_END)
        try:
            observer = self._make_observer(timeout=LOOK_SECONDS)
            observer.start()
        except OSError as error:
            self._look_instead(error)
            return
        self._observer = observer
        self.is_told = not isinstance(observer, PollingObserver)
        if not self.is_told:
            _LOG.warning(_LOOKING, "the system does not tell of changes", LOOK_SECONDS)

    def follow(self, trail: Trail) -> bool:
        """Watch the directories of a trail and no others; say whether there are new ones."""
        self.trail = trail
        wanted = {path: found for path in trail.directories if (found := _identity(path))}
        for path, (handler, _) in list(self._watched.items()):
            if handler.is_dead or wanted.get(path) != handler.identity:
                self._forget(path)
        new = [path for path in sorted(wanted) if path not in self._watched]
        for path in new:
            if path not in self._watched:  # else all were watched anew in the meantime
                self._watch(path, wanted[path])
        return any(path in self._watched for path in new)

    def renew(self) -> None:
        """Make all watches anew: they did not tell of something."""
        for path in list(self._watched):
            self._forget(path)
        self.follow(self.trail)

    def stop(self) -> None:
        """End all watching, and watchdog's threads."""
        observer, self._observer = self._observer, None
        self._watched.clear()
        if observer is not None:
            observer.stop()
            observer.join()

    def _watch(self, path: str, identity: tuple[int, int]) -> None:
        if self._observer is None:
            return
        handler = _Handler(self, path, identity)
        try:
            watch = self._observer.schedule(handler, path, event_filter=_EVENTS)
        except OSError as error:
            if error.errno in _EXHAUSTED and self.is_told:
                self._look_instead(error)
                self.follow(self.trail)
            else:  # it has gone in the meantime, or cannot be read
                _LOG.debug("%s cannot be watched: %s", path, error)
        else:
            self._watched[path] = (handler, watch)

    def _forget(self, path: str) -> None:
        _, watch = self._watched.pop(path)
        if self._observer is not None:
            self._observer.unschedule(watch)

    def _look_instead(self, error: OSError) -> None:
        """Go on without the kernel."""
        self.stop()
        self.is_told = False
        _LOG.warning(_LOOKING, error.strerror or str(error), LOOK_SECONDS)
        self._observer = PollingObserver(timeout=LOOK_SECONDS)
        self._observer.start()

    def note(self, event: FileSystemEvent) -> None:
        """Tell of an event if it matters. Called by watchdog's threads."""
        if event.is_directory and event.event_type == "modified":
            return  # an entry of it was changed, and that event comes too
        is_open = self._is_open(event.event_type) if self.is_told else None
        for given in (event.src_path, event.dest_path):
            path = os.fsdecode(given)
            if path and self.trail.concerns(path):
                self._changed(path, is_open)

    @staticmethod
    def _is_open(kind: str) -> bool | None:
        if kind == "modified":
            return True
        return False if kind in ("closed", "moved", "deleted") else None


class _Handler(FileSystemEventHandler):
    """Passes on the events of one directory, and notes when it has gone and is watched no more."""

    def __init__(self, watch: Watch, path: str, identity: tuple[int, int]) -> None:
        self._watch = watch
        self._path = path
        self.identity = identity
        self.is_dead = False

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Pass an event on. What goes wrong must not end watchdog's thread."""
        try:
            if event.event_type == "deleted" and os.fsdecode(event.src_path) == self._path:
                self.is_dead = True
            self._watch.note(event)
        except Exception:  # noqa: BLE001 - see above
            _LOG.exception("a change of rule files could not be noted")


def _identity(path: str) -> tuple[int, int] | None:
    """Give what tells a directory from another one at the same path."""
    try:
        found = os.stat(path)  # noqa: PTH116 - paths are strings here
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
