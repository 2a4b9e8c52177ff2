"""Events for people, in the shape of kube-scheduler's: `events.k8s.io/v1`, with series.

An event that repeats becomes a series: its second occurrence is written at once, further ones are
counted and written once a minute, and at the end. A new sentence about the same object is a new
event, up to a limit per object. What the server cannot take now is kept, bounded, and sent before
whatever follows, so that the order stays.

One lock, the object's; nothing is sent while it is held.
"""

import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Condition
from typing import Any, Final

from policyd.kube.client import MERGE_PATCH, ApiClient
from policyd.kube.errors import NOT_FOUND, ApiError
from policyd.scheduler.protocols import Clock
from policyd.values.times import Timestamp

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

MAX_NOTE_BYTES: Final = 1024
"""The API's limit; a note is cut to it as kube-scheduler cuts its messages."""

SERIES_SECONDS: Final = 60.0
"""How often the count of a series is written."""

FORGET_SECONDS: Final = 360.0
"""After how long without a repetition a series is over; client-go's finishTime."""

BURST: Final = 25
REFILL_SECONDS: Final = 300.0
"""How many different events an object may have at once, and how long one more takes; the limits
of client-go's EventSourceObjectSpamFilter."""

MOST_SERIES: Final = 4096
MOST_UNSENT: Final = 4096
"""How many series, and how many events that could not be sent, are remembered."""

ANSWER_SECONDS: Final = 10.0
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS: Final = 10**9
_CUT: Final = b" ..."
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reference:
    """The object that an event is about."""

    kind: str
    namespace: str
    name: str
    uid: str
    api_version: str = "v1"
    resource_version: str = ""

    def as_data(self) -> dict[str, str]:
        """Give it as the API has it."""
        data = {
            "kind": self.kind,
            "apiVersion": self.api_version,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }
        return {key: value for key, value in data.items() if value}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What happened. `controller` is the scheduler name that reports it."""

    regarding: Reference
    type: str
    reason: str
    action: str
    note: str
    controller: str

    @property
    def key(self) -> tuple[str, ...]:
        """Give what repetitions have in common."""
        about = self.regarding
        return (
            *(about.kind, about.namespace, about.name, about.uid),
            *(self.type, self.reason, self.action, self.note, self.controller),
        )


@dataclass(slots=True)
class _Series:
    """An event that was written, and how often it happened. The lock of `Events` guards it."""

    path: str
    name: str
    last: Timestamp
    seen: float  # monotonic seconds
    sent: float
    count: int = 1
    is_dirty: bool = False


@dataclass(slots=True)
class _Bucket:
    """How many more events an object may have."""

    tokens: float = BURST
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Write:
    """A call that is still to be made: a new event, or the count of a series."""

    path: str
    body: Mapping[str, Any]
    series: _Series | None = None
    occurrence: Occurrence | None = None


@dataclass(slots=True)
class _Unsent:
    """What waits, in order, and whether somebody is sending it."""

    writes: deque[_Write] = field(default_factory=deque)
    is_busy: bool = False
    until: float = 0.0  # monotonic seconds: before that it makes no sense


class Events:
    """Writes events. Any thread.

    `instance` is what `reportingInstance` ends in: the host.
    """

    def __init__(self, client: ApiClient, clock: Clock, instance: str) -> None:
        self._client = client
        self._clock = clock
        self._instance = instance
        self._lock = Condition()
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], _Bucket] = OrderedDict()
        self._unsent = _Unsent()
        self._counts: Counter[str] = Counter()
        self._latest = 0  # nanoseconds: names are made of times, and must differ

    def write(self, occurrence: Occurrence) -> None:
        """Write an event, or count it to its series. What cannot be sent now is kept.

        Raises:
            ApiError: the server refuses it for good.
        """
        with self._lock:
            write = self._next_write(occurrence)
            if write is None:
                return
            if self._unsent.writes or self._unsent.is_busy:
                self._keep(write)
                return
        self._send(write)

    def enqueue(self, occurrence: Occurrence) -> None:
        """Have an event written soon by whoever tends, without waiting for the server."""
        with self._lock:
            write = self._next_write(occurrence)
            if write is not None:
                self._keep(write)

    def tend(self, seconds: float = 0.0) -> None:
        """Send what could not be sent before, and counts of series that are due.

        Waits up to so many seconds where there is nothing to do.
        """
        with self._lock:
            if not self._is_due():
                self._lock.wait(seconds)
            self._collect(self._clock.monotonic() - SERIES_SECONDS)
        self._send_unsent()

    def flush(self) -> bool:
        """Send everything that waits, as far as the server takes it; say whether it took all."""
        with self._lock:
            self._collect(float("inf"))
            self._unsent.until = 0.0
        self._send_unsent()
        with self._lock:
            return not self._unsent.writes

    def counts(self) -> Mapping[str, int]:
        """Count what became of events: `written`, `counted`, `limited`, `kept`, `dropped`."""
        with self._lock:
            return dict(self._counts)

    # --- under the lock ---

    def _next_write(self, occurrence: Occurrence) -> _Write | None:
        """Give the call that an occurrence needs now, if any."""
        now = self._clock.monotonic()
        known = self._series.get(occurrence.key)
        if known is not None and now - known.seen < FORGET_SECONDS:
            self._series.move_to_end(occurrence.key)
            return self._counted(known, now)
        if not self._is_allowed(occurrence, now):
            self._counts["limited"] += 1
            return None
        write = self._created(occurrence)
        series = write.series
        if series is not None:
            self._series[occurrence.key] = series
            self._series.move_to_end(occurrence.key)
        while len(self._series) > MOST_SERIES:
            _, oldest = self._series.popitem(last=False)
            if oldest.is_dirty:
                self._keep(_count_of(oldest, now))
        return write

    def _counted(self, series: _Series, now: float) -> _Write | None:
        series.count += 1
        series.last, series.seen = self._clock.now(), now
        if series.count > 2 and now - series.sent < SERIES_SECONDS:
            series.is_dirty = True
            self._counts["counted"] += 1
            return None
        return _count_of(series, now)

    def _created(self, occurrence: Occurrence) -> _Write:
        now = self._clock.now()
        self._latest = max(self._latest + 1, now.nanos)
        about = occurrence.regarding
        namespace = about.namespace or "default"
        name = f"{about.name[:200]}.{self._latest:x}"
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_time(now),
            "reportingController": occurrence.controller,
            "reportingInstance": f"{occurrence.controller}-{self._instance}"[:128],
            "action": occurrence.action,
            "reason": occurrence.reason,
            "regarding": about.as_data(),
            "note": cut(occurrence.note),
            "type": occurrence.type,
        }
        seen = self._clock.monotonic()
        return _Write(path, body, _Series(path, name, now, seen, seen), occurrence)

    def _is_allowed(self, occurrence: Occurrence, now: float) -> bool:
        about = occurrence.regarding
        key = (about.kind, about.namespace, about.name, about.uid)
        bucket = self._buckets.setdefault(key, _Bucket(at=now))
        self._buckets.move_to_end(key)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        while len(self._buckets) > MOST_SERIES:
            self._buckets.popitem(last=False)
        return True

    def _keep(self, write: _Write) -> None:
        if len(self._unsent.writes) >= MOST_UNSENT:
            self._counts["dropped"] += 1
            _LOG.warning("an event is dropped, since %d wait already", MOST_UNSENT)
            return
        self._unsent.writes.append(write)
        self._counts["kept"] += 1
        self._lock.notify()

    def _is_due(self) -> bool:
        return bool(self._unsent.writes) and self._unsent.until <= self._clock.monotonic()

    def _collect(self, before: float) -> None:
        """Queue the counts of series that were last sent before some moment."""
        now = self._clock.monotonic()
        for key, series in list(self._series.items()):
            if series.is_dirty and series.sent <= before:
                self._unsent.writes.append(_count_of(series, now))
            elif not series.is_dirty and now - series.seen >= FORGET_SECONDS:
                del self._series[key]

    # --- sending ---

    def _send(self, write: _Write) -> None:
        try:
            self._call(write)
        except ApiError as error:
            if not error.may_pass:
                raise
            with self._lock:
                self._keep_first(write, error)

    def _send_unsent(self) -> None:
        """Send what waits, in order, until the server takes no more; one thread at a time."""
        with self._lock:
            if self._unsent.is_busy or not self._is_due():
                return
            self._unsent.is_busy = True
        try:
            while self._send_first():
                pass
        finally:
            with self._lock:
                self._unsent.is_busy = False

    def _send_first(self) -> bool:
        with self._lock:
            if not self._unsent.writes:
                return False
            write = self._unsent.writes.popleft()
        try:
            self._call(write)
        except ApiError as error:
            if error.may_pass:
                with self._lock:
                    self._keep_first(write, error)
                return False
            _LOG.warning("an event could not be written: %s", error.message)
        return True

    def _keep_first(self, write: _Write, error: ApiError) -> None:
        """Keep a call before all others, for when the server takes it again."""
        self._unsent.writes.appendleft(write)
        self._counts["kept"] += 1
        self._unsent.until = self._clock.monotonic() + (error.retry_after or 1.0)

    def _call(self, write: _Write) -> None:
        if write.occurrence is not None:
            self._create(write)
            return
        try:
            self._client.patch(write.path, write.body, MERGE_PATCH, ANSWER_SECONDS)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            with self._lock:  # the event is gone, as events go after an hour: the next is new
                for key, series in list(self._series.items()):
                    if series is write.series:
                        del self._series[key]
            return
        with self._lock:
            self._counts["written"] += 1

    def _create(self, write: _Write) -> None:
        try:
            self._client.post(write.path, write.body, timeout=ANSWER_SECONDS)
        except ApiError as error:
            if error.reason != "AlreadyExists":  # as after an answer that was lost
                raise
        with self._lock:
            self._counts["written"] += 1


def _count_of(series: _Series, now: float) -> _Write:
    """Give the call that writes the count of a series. Under the lock."""
    series.is_dirty, series.sent = False, now
    body = {"series": {"count": series.count, "lastObservedTime": micro_time(series.last)}}
    return _Write(f"{series.path}/{series.name}", body, series)


def micro_time(moment: Timestamp) -> str:
    """Write a time as the API's MicroTime: always with six digits."""
    at = _EPOCH + timedelta(microseconds=moment.nanos // 1000)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_time(moment: Timestamp) -> str:
    """Write a time as the API's Time: whole seconds."""
    at = _EPOCH + timedelta(seconds=moment.nanos // _NANOS)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def cut(note: str) -> str:
    """Cut a note to the API's limit, and show that it was cut."""
    data = note.encode()
    if len(data) <= MAX_NOTE_BYTES:
        return note
    return data[: MAX_NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT.decode()
