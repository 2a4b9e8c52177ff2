"""The scheduling queue: which pods wait, where, and until when.

A pod is in exactly one place: `active` (to be tried, in order), `backoff` (failed a while ago,
until its time), `unschedulable` (rejected, until something that its rules read changes), `gated`
(held before any attempt) or `in flight` (being decided or bound). What happens while a pod is in
flight is remembered and looked at when it comes back, so that no change is missed.

One lock, this object's; nothing is called while it is held but the order function.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from threading import Condition
from typing import Any, Final

from policyd.model.pod import Pod
from policyd.scheduler.changes import TIME_PASSED, concerns
from policyd.scheduler.protocols import Clock, Remedy

INITIAL_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 10.0
"""podInitialBackoffSeconds and podMaxBackoffSeconds of KubeSchedulerConfiguration."""

FLUSH_SECONDS: Final = 30.0
"""How often pods are looked at that wait for time to pass."""

Order = Callable[[Pod], tuple[Any, ...]]


def by_priority_then_age(pod: Pod) -> tuple[Any, ...]:
    """Order pods as PrioritySort does, and then by uid so that the order is total."""
    created = pod.created.nanos if pod.created is not None else 0
    return (-pod.priority, created, pod.uid)


@dataclass(slots=True)
class QueuedPod:
    """A pod that waits, and its history. Belongs to the queue but while it is in flight."""

    pod: Pod
    added: float
    attempts: int = 0
    failures: int = 0  # in a row, for the backoff
    waits_for: frozenset[str] = frozenset()  # what the rules that rejected it read
    rejected_under: str = ""  # the hash of the rule set that rejected it
    reason: str = ""
    changes: list[frozenset[str]] = field(default_factory=list)  # while it is in flight
    entry: int = -1  # the number of its entry in a heap; entries with another number are stale


@dataclass(slots=True)
class _Places:
    """Where every pod is, by its key."""

    active: dict[str, QueuedPod] = field(default_factory=dict)
    backoff: dict[str, QueuedPod] = field(default_factory=dict)
    unschedulable: dict[str, QueuedPod] = field(default_factory=dict)
    gated: dict[str, QueuedPod] = field(default_factory=dict)
    in_flight: dict[str, QueuedPod] = field(default_factory=dict)

    def all(self) -> dict[str, dict[str, QueuedPod]]:
        return {
            "active": self.active,
            "backoff": self.backoff,
            "unschedulable": self.unschedulable,
            "gated": self.gated,
            "in flight": self.in_flight,
        }


def key_of(pod: Pod) -> str:
    """Give the name under which a pod is known: its uid, or its full name before it has one."""
    return pod.uid or f"{pod.namespace}/{pod.name}"


class SchedulingQueue:
    """The pods that wait to be placed."""

    def __init__(self, clock: Clock, order: Order = by_priority_then_age) -> None:
        self._clock = clock
        self._order = order
        self._places = _Places()
        self._heap: list[tuple[tuple[Any, ...], int, str]] = []
        self._backoff_heap: list[tuple[float, int, str]] = []
        self._sequence = count()
        self._flushed = clock.monotonic()
        self._closed = False
        self._condition = Condition()

    # --- from the cluster ---

    def add(self, pod: Pod) -> None:
        """Queue a pod that appeared; one that is known already is updated."""
        with self._condition:
            known = self._find(key_of(pod))
            if known is not None:
                self._update(known, pod)
                return
            self._place(QueuedPod(pod, self._clock.monotonic()))

    def update(self, pod: Pod) -> None:
        """Take a pod's new state. A pod that was changed is tried again."""
        self.add(pod)

    def delete(self, pod: Pod) -> None:
        """Forget a pod that is gone, wherever it is."""
        with self._condition:
            for place in self._places.all().values():
                place.pop(key_of(pod), None)

    def changed(self, changes: frozenset[str]) -> None:
        """Take a change of the cluster: pods whose rules read what changed are tried again."""
        with self._condition:
            for key, queued in list(self._places.unschedulable.items()):
                if concerns(changes, queued.waits_for):
                    del self._places.unschedulable[key]
                    self._to_backoff(queued)
            for queued in self._places.in_flight.values():
                queued.changes.append(changes)
            self._condition.notify_all()

    def rules_changed(self, hashes: Iterable[str]) -> None:
        """Try the pods again at once that were rejected under other rule sets than these."""
        current = frozenset(hashes)
        with self._condition:
            for key, queued in list(self._places.unschedulable.items()):
                if queued.rejected_under not in current:
                    del self._places.unschedulable[key]
                    self._to_active(queued)
            self._condition.notify_all()

    # --- to and from the scheduling cycle ---

    def pop(self, timeout: float | None = None) -> QueuedPod | None:
        """Give the first pod in order; nothing after the timeout in seconds, or when closed."""
        with self._condition:
            self._flush()
            while not self._places.active:
                if self._closed or not self._condition.wait(self._wait(timeout)):
                    self._flush()
                    if self._closed or not self._places.active:
                        return None
                self._flush()
            return self._take()

    def done(self, queued: QueuedPod) -> None:
        """Let a pod go that was bound."""
        with self._condition:
            self._places.in_flight.pop(key_of(queued.pod), None)

    def unschedulable(
        self, queued: QueuedPod, *, reads: frozenset[str], ruleset: str, reason: str
    ) -> None:
        """Take back a pod that fits nowhere, to wait for a change of what its rules read."""
        with self._condition:
            if not self._returned(queued):
                return
            queued.failures += 1
            queued.waits_for, queued.rejected_under, queued.reason = reads, ruleset, reason
            missed, queued.changes = queued.changes, []
            if any(concerns(changes, reads) for changes in missed):
                self._to_backoff(queued)
            else:
                self._places.unschedulable[key_of(queued.pod)] = queued

    def failed(self, queued: QueuedPod, remedy: Remedy, reason: str) -> None:
        """Take back a pod whose attempt failed by no verdict of the rules."""
        with self._condition:
            if not self._returned(queued):
                return
            queued.failures += 1
            queued.reason, queued.changes = reason, []
            if remedy is Remedy.RETRY_AT_ONCE:
                self._to_active(queued)
            elif remedy is Remedy.RETRY_WITH_BACKOFF:
                self._to_backoff(queued)
            else:
                queued.waits_for = frozenset({"node", "cluster", "namespace"})
                self._places.unschedulable[key_of(queued.pod)] = queued
            self._condition.notify_all()

    def close(self) -> None:
        """Wake whoever waits for a pod, for good."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    # --- to look at ---

    def where(self, pod: Pod) -> str | None:
        """Say in which place a pod is."""
        with self._condition:
            return next(
                (name for name, place in self._places.all().items() if key_of(pod) in place), None
            )

    def counts(self) -> dict[str, int]:
        """Count the pods of each place."""
        with self._condition:
            return {name: len(place) for name, place in self._places.all().items()}

    def pending(self) -> list[QueuedPod]:
        """Give the pods that wait, and are not in flight."""
        with self._condition:
            places = self._places.all()
            return [
                q for name, place in places.items() if name != "in flight" for q in place.values()
            ]

    def next_time(self) -> float | None:
        """Give the monotonic time at which something happens by itself, where there is one."""
        with self._condition:
            return self._next_time()

    # --- under the lock ---

    def _find(self, key: str) -> QueuedPod | None:
        return next((place[key] for place in self._places.all().values() if key in place), None)

    def _update(self, known: QueuedPod, pod: Pod) -> None:
        key = key_of(known.pod)
        known.pod = pod
        if key in self._places.in_flight:
            known.changes.append(frozenset({"pod"}))
            return
        if key in self._places.active or key in self._places.backoff:
            if key in self._places.active:
                self._to_active(known)
            return
        self._places.unschedulable.pop(key, None)
        self._places.gated.pop(key, None)
        self._place(known)

    def _place(self, queued: QueuedPod) -> None:
        if queued.pod.gates:
            self._places.gated[key_of(queued.pod)] = queued
            queued.reason = f"waits for scheduling gates: {', '.join(queued.pod.gates)}"
        else:
            self._to_active(queued)

    def _returned(self, queued: QueuedPod) -> bool:
        """Take a pod out of flight; false where it was deleted meanwhile."""
        return self._places.in_flight.pop(key_of(queued.pod), None) is not None

    def _to_active(self, queued: QueuedPod) -> None:
        key = key_of(queued.pod)
        self._places.active[key] = queued
        queued.entry = next(self._sequence)
        heapq.heappush(self._heap, (self._order(queued.pod), queued.entry, key))
        self._condition.notify()

    def _to_backoff(self, queued: QueuedPod) -> None:
        seconds = min(
            INITIAL_BACKOFF_SECONDS * 2 ** max(0, queued.failures - 1), MAX_BACKOFF_SECONDS
        )
        key = key_of(queued.pod)
        self._places.backoff[key] = queued
        until = self._clock.monotonic() + seconds
        queued.entry = next(self._sequence)
        heapq.heappush(self._backoff_heap, (until, queued.entry, key))

    def _flush(self) -> None:
        """Move what has waited long enough."""
        now = self._clock.monotonic()
        while self._backoff_heap and self._backoff_heap[0][0] <= now:
            _, entry, key = heapq.heappop(self._backoff_heap)
            queued = self._places.backoff.get(key)
            if queued is not None and queued.entry == entry:
                del self._places.backoff[key]
                self._to_active(queued)
        if now - self._flushed < FLUSH_SECONDS:
            return
        self._flushed = now
        for key, queued in list(self._places.unschedulable.items()):
            if concerns(TIME_PASSED, queued.waits_for):
                del self._places.unschedulable[key]
                self._to_active(queued)

    def _next_time(self) -> float | None:
        times = [self._backoff_heap[0][0]] if self._backoff_heap else []
        if any(concerns(TIME_PASSED, q.waits_for) for q in self._places.unschedulable.values()):
            times.append(self._flushed + FLUSH_SECONDS)
        return min(times, default=None)

    def _wait(self, timeout: float | None) -> float | None:
        due = self._next_time()
        if due is None:
            return timeout
        left = max(0.0, due - self._clock.monotonic())
        return left if timeout is None else min(left, timeout)

    def _take(self) -> QueuedPod:
        while True:
            _, entry, key = heapq.heappop(self._heap)
            queued = self._places.active.get(key)
            if queued is not None and queued.entry == entry:
                del self._places.active[key]
                queued.attempts += 1
                queued.changes = []
                self._places.in_flight[key] = queued
                return queued
