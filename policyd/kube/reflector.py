"""Keeps a copy of all objects of a kind, by listing once and watching from there.

The handler is told of each change once and in order. Whatever breaks (a line cut in the middle, a
lost connection, a server that is busy or forgot the version, events that come twice), the copy is
right again afterwards: watching goes on from the last version seen, and where that cannot be, a
new list is compared with the copy, and the difference is told.

One thread runs a reflector; any may stop it or look at it. What it holds belongs to that thread.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from policyd.kube.client import ApiClient, Status, Stream, of_status
from policyd.kube.errors import ApiError
from policyd.kube.resources import Meta, Resource, meta_of, slimmed
from policyd.model.faults import ObjectError
from policyd.scheduler.protocols import Clock
from policyd.values.errors import ValueFault

T = TypeVar("T")
H = TypeVar("H", contravariant=True)  # noqa: PLC0105 - the handler only takes

PAGE: Final = 500
"""How many objects one answer of a list holds; kube-scheduler takes as many."""

WATCH_SECONDS: Final = 300.0
"""How long a watch lasts at least before it is begun anew; up to twice that, as in client-go."""

IDLE_SECONDS: Final = 150.0
"""After how long without anything a watch is taken for dead; a bookmark comes every minute."""

INITIAL_BACKOFF_SECONDS: Final = 0.8
MAX_BACKOFF_SECONDS: Final = 30.0
"""The reflector's backoff in client-go."""

MANY_FAILURES: Final = 3
"""After how many broken watches in a row a list is read."""

LASTING_SECONDS: Final = 5.0
"""A watch that lasted so long was no failure, even if nothing came."""

_LOG: Final = logging.getLogger(__name__)


class Handler(Protocol[H]):
    """Who is told what changes. Called by the reflector's thread, which waits."""

    def listing(self) -> None:
        """Take note that what follows, until `synced`, is the difference to a new list."""
        ...

    def added(self, new: H) -> None:
        """Take an object that was not there."""
        ...

    def modified(self, old: H, new: H) -> None:
        """Take a newer state of an object."""
        ...

    def deleted(self, old: H) -> None:
        """Take note that an object is gone; `old` is its last state that was known."""
        ...

    def synced(self) -> None:
        """Take note that all objects of the list are told of."""
        ...


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    """An object of the copy. One that could not be read has no fact, and nobody was told of it."""

    uid: str
    version: str
    fact: T | None


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_LIST: Final = msgspec.json.Decoder(_List)
_EVENT: Final = msgspec.json.Decoder(_Event)


class _BrokenStreamError(Exception):
    """A watch whose lines make no sense: it is begun anew from the last version."""


class _OutOfOrderError(Exception):
    """A watch whose events cannot be trusted to be complete: a list is needed."""


class Backoff:
    """How long to wait after failures in a row: doubling, with up to as much again by chance."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self.failures = 0  # since something worked

    def reset(self) -> None:
        """Take note that something worked."""
        self.failures = 0

    def skip(self) -> float:
        """Take note of a failure after which nothing is waited for, as it is the first."""
        self.failures += 1
        return 0.0

    def next(self, asked: float | None = None) -> float:
        """Give the seconds to wait after one more failure; at least what the server asks for."""
        seconds = INITIAL_BACKOFF_SECONDS * 2.0 ** min(self.failures, 16)
        self.failures += 1
        jittered = min(seconds, MAX_BACKOFF_SECONDS) * (1 + self._chance())
        return max(jittered, asked or 0.0)


class Reflector(Generic[T]):
    """The copy of one kind, and what keeps it.

    `chance` gives numbers from 0 to 1, for jitter; `wait` waits so many seconds or until it is
    stopped, and says whether it is.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        handler: Handler[T],
        clock: Clock,
        chance: Callable[[], float],
        *,
        page: int = PAGE,
        idle_seconds: float = IDLE_SECONDS,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._client = client
        self.resource = resource
        self._handler = handler
        self._clock = clock
        self._chance = chance
        self._page = page
        self._idle = idle_seconds
        self._stopping = Event()
        self._wait = wait or self._stopping.wait
        self._backoff = Backoff(chance)
        self._known: dict[str, _Known[T]] = {}
        self._version = ""  # the newest that was seen; empty where a list is needed
        self._stream: Stream | None = None
        self._counts: Counter[str] = Counter()
        self._contact: float | None = None
        self.has_synced = Event()
        self.trouble = ""  # why the last call failed; empty where it did not

    # --- any thread ---

    def stop(self) -> None:
        """End `run` soon, also while it waits for the server."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.end()

    def counts(self) -> Mapping[str, int]:
        """Count what happened: `list`, `watch`, `event`, `bookmark`, `ignored`, `failure`, …."""
        return dict(self._counts)

    @property
    def contact(self) -> float | None:
        """Give when the server was last heard of: monotonic seconds, nothing before the first."""
        return self._contact

    # --- the reflector's thread ---

    def run(self) -> None:
        """List and watch until it is stopped."""
        while not self._stopping.is_set():
            self.turn()

    def turn(self) -> None:
        """List where that is needed, watch until it ends, and wait where something failed."""
        seconds = 0.0
        try:
            if not self._version:
                self._list()
            seconds = self._watch()
        except _OutOfOrderError as error:
            self._note("out_of_order", str(error))
            self._version = ""
            seconds = self._backoff.next()
        except _BrokenStreamError as error:
            self._note("broken", str(error))
            if self._backoff.failures >= MANY_FAILURES:
                self._version = ""  # the server cannot tell it: perhaps a list can
            seconds = self._backoff.next()
        except ApiError as error:
            seconds = self._after(error)
        if seconds > 0 and not self._stopping.is_set():
            self._wait(seconds)

    def objects(self) -> dict[str, T]:
        """Give the copy, by namespace and name. For the reflector's thread, or when it is over."""
        return {key: known.fact for key, known in self._known.items() if known.fact is not None}

    def _after(self, error: ApiError) -> float:
        """Give how long to wait after a failure, and note whether a list is needed."""
        if self._stopping.is_set():
            return 0.0
        if error.is_expired:
            self._note("expired", error.message)
            self._version = ""
            return self._backoff.next() if self._backoff.failures else self._backoff.skip()
        self._note("failure", error.message, is_loud=True)
        return self._backoff.next(error.retry_after)

    def _note(self, what: str, message: str, *, is_loud: bool = False) -> None:
        self._counts[what] += 1
        self.trouble = message
        level = logging.WARNING if is_loud else logging.INFO
        _LOG.log(level, "the %s of the cluster: %s", _plural(self.resource.kind), message)

    # --- listing ---

    def _list(self) -> None:
        """Compare a new list with the copy, tell the difference, and take it as the copy."""
        self._counts["list"] += 1
        items, version = self._read_list()
        self._told(self._handler.listing)
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        gone = dict(self._known)
        for item in items:
            meta = _meta(item)
            gone.pop(_key(meta), None)
            self._put(meta, slimmed(bytes(item), head))
        for key in gone:
            self._drop(key)
        self._version = version
        self._heard()
        self.has_synced.set()
        self._told(self._handler.synced)

    def _read_list(self) -> tuple[list[msgspec.Raw], str]:
        """Read all pages; where the server forgets the list meanwhile, all at once."""
        try:
            return self._read_pages(self._page)
        except ApiError as error:
            if not error.is_expired:
                raise
            self._note("expired_page", error.message)
            return self._read_pages(0)

    def _read_pages(self, size: int) -> tuple[list[msgspec.Raw], str]:
        items: list[msgspec.Raw] = []
        query = dict(self.resource.query)
        if size:
            query["limit"] = str(size)
        while True:
            answer = self._client.get(self.resource.path, query)
            self._heard()
            try:
                page = _LIST.decode(answer.data)
            except msgspec.DecodeError as error:
                raise ApiError(f"GET {self.resource.path}: no list: {error}") from None
            items += page.items or ()
            if not page.metadata.continue_:
                return items, page.metadata.resource_version
            query["continue"] = page.metadata.continue_

    # --- watching ---

    def _watch(self) -> float:
        """Watch until it ends, and give how long to wait before the next."""
        self._counts["watch"] += 1
        began, events = self._clock.monotonic(), self._counts["event"] + self._counts["bookmark"]
        seconds = WATCH_SECONDS * (1 + self._chance())
        query = {
            **dict(self.resource.query),
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(int(seconds)),
        }
        stream = self._client.stream(self.resource.path, query, self._idle)
        self._stream = stream
        try:
            if not self._stopping.is_set():  # else `stop` may have come before there was a stream
                self._heard()
                for line in stream.lines():
                    self._take(line)
                    if self._stopping.is_set():
                        break
        finally:
            self._stream = None
            stream.close()
            if self._counts["event"] + self._counts["bookmark"] > events:
                self._backoff.reset()
        if self._counts["event"] + self._counts["bookmark"] > events:
            return 0.0
        if self._clock.monotonic() - began < LASTING_SECONDS:
            return self._backoff.next()
        self._backoff.reset()
        return 0.0

    def _take(self, line: bytes) -> None:
        """Take one line of a watch."""
        if not line.strip():
            return
        self._heard()
        try:
            event = _EVENT.decode(line)
            if event.type == "ERROR":
                status = msgspec.json.decode(event.object, type=Status)
                raise of_status(status, self.resource.path)
            meta = meta_of(event.object)
        except msgspec.DecodeError as error:
            raise _BrokenStreamError(f"a line of the watch cannot be read: {error}") from None
        if event.type == "BOOKMARK":
            self._counts["bookmark"] += 1
            self._advance(meta.resource_version)
        elif event.type in ("ADDED", "MODIFIED", "DELETED"):
            self._change(event, meta)
        else:
            raise _BrokenStreamError(f"a watch has events of the type {event.type[:40]!r}")

    def _change(self, event: _Event, meta: Meta) -> None:
        known = self._known.get(_key(meta))
        if self._is_stale(event, meta, known):
            self._counts["ignored"] += 1
            return
        self._counts["event"] += 1
        if event.type == "DELETED":
            self._drop(_key(meta))
        else:
            self._put(meta, slimmed(bytes(event.object)))
        self._advance(meta.resource_version)

    def _is_stale(self, event: _Event, meta: Meta, known: _Known[T] | None) -> bool:
        """Say whether an event tells what is known already.

        Events of a watch come by version. One that is behind, and of an object of which nothing
        as new is known, means that others may be missing.

        Raises:
            _OutOfOrderError: that.
        """
        if not _is_older(meta.resource_version, self._version, or_same=True):
            return False
        if known is not None and _is_older(meta.resource_version, known.version, or_same=True):
            return True
        if known is None and event.type == "DELETED":
            return True
        if meta.resource_version == self._version:
            return False  # another object of one transaction
        message = f"version {meta.resource_version} came after {self._version}: a new list is read"
        raise _OutOfOrderError(message)

    def _advance(self, version: str) -> None:
        if version and not _is_older(version, self._version, or_same=False):
            self._version = version

    def _heard(self) -> None:
        self.trouble = ""
        self._contact = self._clock.monotonic()

    # --- the copy ---

    def _put(self, meta: Meta, data: bytes) -> None:
        """Take a state of an object, and tell what it is a change of."""
        key, known = _key(meta), self._known.get(_key(meta))
        if known is not None and known.uid != meta.uid:
            self._drop(key)
            known = None
        elif known is not None and known.version == meta.resource_version:
            return
        fact = self._made(meta, data)
        self._known[key] = _Known(meta.uid, meta.resource_version, fact)
        old = known.fact if known is not None else None
        if old is not None and fact is not None:
            self._told(lambda: self._handler.modified(old, fact))
        elif fact is not None:
            self._told(lambda: self._handler.added(fact))
        elif old is not None:
            self._told(lambda: self._handler.deleted(old))

    def _drop(self, key: str) -> None:
        known = self._known.pop(key, None)
        if known is not None and known.fact is not None:
            fact = known.fact
            self._told(lambda: self._handler.deleted(fact))

    def _made(self, meta: Meta, data: bytes) -> T | None:
        """Make the fact; an object that cannot be read counts as one that is not there."""
        try:
            return self.resource.make(data)
        except (ObjectError, ValueFault) as error:
            self._counts["unreadable"] += 1
            _LOG.error(
                "%s %s cannot be read, and counts as absent: %s",
                self.resource.kind,
                _key(meta),
                error,
            )
            return None

    def _told(self, tell: Callable[[], None]) -> None:
        """Tell the handler; what fails there must not cost the events that follow."""
        try:
            tell()
        except Exception:  # noqa: BLE001 - whatever it is, the copy goes on
            self._counts["handler_failure"] += 1
            _LOG.exception("a change of a %s could not be taken in", self.resource.kind)


def list_all(client: ApiClient, path: str, page: int = PAGE) -> Iterator[bytes]:
    """Give all objects under a path, once.

    Raises:
        ApiError: the server refuses, or cannot be reached.
    """
    query = {"limit": str(page)}
    while True:
        found = client.get(path, query).decoded(_List)
        yield from (bytes(item) for item in found.items or ())
        if not found.metadata.continue_:
            return
        query["continue"] = found.metadata.continue_


def _meta(item: msgspec.Raw) -> Meta:
    try:
        return meta_of(item)
    except msgspec.DecodeError as error:
        raise ApiError(f"an object of a list cannot be read: {error}") from None


def _key(meta: Meta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def _is_older(version: str, than: str, *, or_same: bool) -> bool:
    """Compare versions, which are numbers that grow; of texts that are none, nothing is known."""
    if not (version.isdigit() and than.isdigit()):
        return or_same and version == than
    return int(version) < int(than) or (or_same and int(version) == int(than))


def _plural(kind: str) -> str:
    return f"{kind.lower()}s"
