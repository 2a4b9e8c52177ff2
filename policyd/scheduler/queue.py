"""The scheduling queue: which pods wait, where, and until when.

A pod is in exactly one place: `active` (to be tried, in order), `backoff` (failed a while ago,
until its time), `unschedulable` (rejected, until something that its rules read changes), `gated`
(held before any attempt) or `in flight` (being decided or bound). What happens while a pod is in
flight is remembered and looked at when it comes back, so that no change is missed.

One lock, this object's; nothing is called while it is held but the order function.
"""

import heapq
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Condition
from typing import Any, Final

from policyd.language.reads import concerns
from policyd.model.pod import Pod
from policyd.scheduler.changes import TIME_PASSED, pod_changes
from policyd.scheduler.profile import scheduler_name
from policyd.scheduler.protocols import Clock, Remedy

INITIAL_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 10.0
"""podInitialBackoffSeconds and podMaxBackoffSeconds of KubeSchedulerConfiguration."""

FLUSH_SECONDS: Final = 30.0
"""How often pods are looked at that wait for time to pass, or have waited for too long."""

LONGEST_WAIT_SECONDS: Final = 300.0
"""After how long a pod is tried again though nothing that concerns it changed, as kube-scheduler
does. It is a safety net: a pod that it helps shows a fault of policyd."""

MANY_ERRORS: Final = 3
"""After how many errors in a row what would be retried at once is retried with backoff."""

ACTIVE: Final = "active"
BACKOFF: Final = "backoff"
UNSCHEDULABLE: Final = "unschedulable"
GATED: Final = "gated"
IN_FLIGHT: Final = "in flight"
PLACES: Final = (ACTIVE, BACKOFF, UNSCHEDULABLE, GATED, IN_FLIGHT)

Order = Callable[[Pod], tuple[Any, ...]]

_LOG: Final = logging.getLogger(__name__)


def by_priority_then_age(pod: Pod) -> tuple[Any, ...]:
    """Order pods as PrioritySort does, and then by uid so that the order is total."""
    created = pod.created.nanos if pod.created is not None else 0
    return (-pod.priority, created, pod.uid)


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits, and its history. Belongs to the queue; who decides may read it.

    `pod` is its newest state. `added` and `since` are monotonic seconds: when it could first be
    tried, or was first seen if gates still hold it, and when its last attempt ended. `flushed`
    says that nothing but the safety net brought it back. `rejected_by` are the rules that rejected
    it, none where none did.
    """

    pod: Pod
    profile: str
    added: float
    place: str = ""
    attempts: int = 0
    rejections: int = 0  # how often it fitted nowhere, for the backoff
    errors: int = 0  # in a row, for the backoff
    since: float = 0.0
    until: float = 0.0  # the end of its backoff
    waits_for: frozenset[str] = frozenset()  # what the rules that rejected it read
    rejected_by: frozenset[str] = frozenset()
    rejected_under: str = ""  # the hash of the rule set that rejected it
    reason: str = ""
    event: str = ""  # what brought it where it is tried, the end of its backoff aside
    flushed: bool = False
    changes: set[frozenset[str]] = field(default_factory=set)  # while it is in flight
    entry: int = -1  # the number of its entry in a heap; entries with another number are stale


def key_of(pod: Pod) -> str:
    """Give the name under which a pod is known: its uid, or its full name before it has one."""
    return pod.uid or f"{pod.namespace}/{pod.name}"


class SchedulingQueue:
    """The pods that wait to be placed.

    `profile_of` gives the name of the profile that a pod belongs to, or nothing for a pod that is
    none of ours: it is counted and said, and not tried. Without it all pods are of one profile.
    `longest_wait` is how long a pod waits at most for a change, in seconds; None is for ever.
    """

    def __init__(
        self,
        clock: Clock,
        order: Order = by_priority_then_age,
        *,
        profile_of: Callable[[Pod], str | None] = lambda _: "",
        longest_wait: float | None = None,
    ) -> None:
        self._clock = clock
        self._order = order
        self._profile_of = profile_of
        self._longest_wait = longest_wait
        self._pods: dict[str, QueuedPod] = {}
        self._sizes = Counter(dict.fromkeys(PLACES, 0))
        self._heap: list[tuple[tuple[Any, ...], int, QueuedPod]] = []
        self._backoff_heap: list[tuple[float, int, QueuedPod]] = []
        self._waiting = _Waiting()
        self._in_flight: dict[str, QueuedPod] = {}
        self._ignored: dict[str, str] = {}
        self._hashes: dict[str, str] = {}  # of the rules in force, as far as they changed
        self._incoming: Counter[tuple[str, str]] = Counter()
        self._sequence = count()
        self._flushed = clock.monotonic()
        self._closed = False
        self._condition = Condition()

    # --- from the cluster ---

    def add(self, pod: Pod) -> None:
        """Queue a pod that appeared; one that is known already is updated."""
        profile = self._profile_of(pod)
        if profile is None:
            self._ignore(pod)
            return
        with self._condition:
            known = self._pods.get(key_of(pod))
            if known is not None:
                self._update(known, pod)
                return
            queued = QueuedPod(pod, profile, self._clock.monotonic())
            self._pods[key_of(pod)] = queued
            self._ready(queued, "PodAdd")

    def update(self, pod: Pod) -> None:
        """Take a pod's new state. One is tried again if what changed could help it."""
        self.add(pod)

    def delete(self, pod: Pod) -> None:
        """Forget a pod that is gone, wherever it is."""
        key = key_of(pod)
        with self._condition:
            self._ignored.pop(key, None)
            queued = self._pods.pop(key, None)
            if queued is not None:
                self._leave(queued)

    def changed(self, changes: frozenset[str], but: QueuedPod | None = None) -> None:
        """Take a change of the cluster: pods whose rules read what changed are tried again.

        It does not help the pod in flight, if any, whose failure made the change.
        """
        with self._condition:
            for queued in self._waiting.concerned(changes):
                self._retry(queued, "ClusterChange")
            for queued in self._in_flight.values():
                if queued is not but:
                    queued.changes.add(changes)

    def rules_changed(
        self, profile: str, ruleset: str, rules: frozenset[str] | None = None
    ) -> None:
        """Try the pods again at once that other rules rejected than those now in force.

        `ruleset` is the hash of what is in force now for the profile, and `rules` names the
        rules that are not what they were, where that is known. A pod that none of those
        rejected fits no better.
        """
        with self._condition:
            self._hashes[profile] = ruleset
            for queued in self._pods.values():
                if queued.profile == profile and _is_touched(queued, ruleset, rules):
                    self._to_active(queued, "RulesChange")

    # --- to and from the scheduling cycle ---

    def pop(self, timeout: float | None = None) -> QueuedPod | None:
        """Give the first pod in order; nothing after the timeout in seconds, or when closed."""
        end = None if timeout is None else self._clock.monotonic() + timeout
        with self._condition:
            while not self._closed:
                self._flush()
                queued = self._take()
                if queued is not None:
                    return queued
                left = None if end is None else end - self._clock.monotonic()
                if left is not None and left <= 0:
                    return None
                until_due = self._until_due()
                seconds = left if until_due is None else min(until_due, left or until_due)
                if not self._condition.wait(seconds) and seconds == left:
                    end = self._clock.monotonic()
            return None

    def done(self, queued: QueuedPod) -> None:
        """Let a pod go that was bound."""
        with self._condition:
            if self._is_known(queued):
                del self._pods[key_of(queued.pod)]
                self._leave(queued)

    def unschedulable(
        self,
        queued: QueuedPod,
        *,
        reads: frozenset[str],
        ruleset: str,
        reason: str,
        rules: frozenset[str] = frozenset(),
    ) -> None:
        """Take back a pod that fits nowhere, to wait for a change of what its rules read."""
        with self._condition:
            if not self._returned(queued, reason):
                return
            queued.rejections += 1
            queued.errors = 0
            queued.rejected_under, queued.rejected_by = ruleset, rules
            self._back_off(queued, queued.rejections)
            if self._hashes.get(queued.profile, ruleset) != ruleset:
                self._ready(queued, "RulesChange")  # they changed while it was decided on
            else:
                self._wait_for(queued, reads)

    def failed(self, queued: QueuedPod, remedy: Remedy, reason: str) -> None:
        """Take back a pod whose attempt failed by no verdict of the rules."""
        with self._condition:
            if not self._returned(queued, reason):
                return
            queued.errors += 1
            queued.rejected_under, queued.rejected_by = "", frozenset()
            self._back_off(queued, queued.errors)
            if remedy is Remedy.RETRY_AT_ONCE and queued.errors <= MANY_ERRORS:
                self._ready(queued, "ScheduleAttemptFailure")
            elif remedy in (Remedy.RETRY_AT_ONCE, Remedy.RETRY_WITH_BACKOFF):
                self._retry(queued, "ScheduleAttemptFailure")
            elif remedy is Remedy.WAIT_FOR_CHANGE:
                self._wait_for(queued, frozenset({"pod", "node", "cluster", "namespace"}))
            else:
                self._wait_for(queued, frozenset({"pod"}))

    def holds(self, queued: QueuedPod) -> bool:
        """Say whether a pod that was taken is still to be placed, and was not deleted."""
        with self._condition:
            return self._is_known(queued)

    def close(self) -> None:
        """Wake whoever waits for a pod, for good."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    # --- to look at ---

    def where(self, pod: Pod) -> str | None:
        """Say in which place a pod is."""
        with self._condition:
            queued = self._pods.get(key_of(pod))
            return queued.place if queued is not None else None

    def counts(self) -> dict[str, int]:
        """Count the pods of each place."""
        with self._condition:
            return {place: self._sizes[place] for place in PLACES}

    def incoming(self) -> Mapping[tuple[str, str], int]:
        """Count how often a pod came to a place, by the place and by what brought it there.

        The words are those of `queue_incoming_pods_total`; `ClusterChange`, `RulesChange` and
        `TimePassed` are policyd's own.
        """
        with self._condition:
            return dict(self._incoming)

    def ignored(self) -> Mapping[str, int]:
        """Count the waiting pods that are none of ours, by the scheduler that they name."""
        with self._condition:
            return Counter(self._ignored.values())

    def pending(self) -> list[QueuedPod]:
        """Give the pods that wait, and are not in flight."""
        with self._condition:
            return [queued for queued in self._pods.values() if queued.place != IN_FLIGHT]

    def next_time(self) -> float | None:
        """Give the monotonic time at which something happens by itself, where there is one."""
        with self._condition:
            return self._next_time()

    # --- under the lock: what happens to a pod ---

    def _ignore(self, pod: Pod) -> None:
        name = scheduler_name(pod)
        with self._condition:
            is_new = name not in self._ignored.values()
            self._ignored[key_of(pod)] = name
        if is_new:
            _LOG.info(
                "pod %s/%s asks for the scheduler %r, which is no profile here: such pods are left"
                " to it",
                pod.namespace,
                pod.name,
                name,
            )

    def _update(self, known: QueuedPod, pod: Pod) -> None:
        before, known.pod = known.pod, pod
        changes = pod_changes(before, pod)
        if known.place == IN_FLIGHT:
            known.changes.add(changes)
        elif pod.gates or known.place == GATED:
            self._ready(known, "PodUpdate")
        elif known.place == ACTIVE:
            self._to_active(known, "")  # its place in the order may be another
        elif known.place == UNSCHEDULABLE and concerns(changes, known.waits_for):
            self._retry(known, "PodUpdate")

    def _returned(self, queued: QueuedPod, reason: str) -> bool:
        """Take a pod out of flight; false where it was deleted meanwhile."""
        if not self._is_known(queued):
            return False
        queued.since = self._clock.monotonic()
        queued.reason = reason
        queued.flushed = False
        return True

    def _is_known(self, queued: QueuedPod) -> bool:
        return self._in_flight.get(key_of(queued.pod)) is queued

    def _back_off(self, queued: QueuedPod, times: int) -> None:
        seconds = min(INITIAL_BACKOFF_SECONDS * 2 ** min(times - 1, 16), MAX_BACKOFF_SECONDS)
        queued.until = queued.since + seconds

    def _wait_for(self, queued: QueuedPod, reads: frozenset[str]) -> None:
        """Let a pod wait for a change of what was read, unless there was one meanwhile."""
        queued.waits_for = reads
        if queued.pod.gates:
            self._ready(queued, "ScheduleAttemptFailure")
        elif any(concerns(changes, reads) for changes in queued.changes):
            self._retry(queued, "ClusterChange")
        else:
            self._move(queued, UNSCHEDULABLE, "ScheduleAttemptFailure")
            self._waiting.add(queued)

    def _retry(self, queued: QueuedPod, event: str) -> None:
        """Bring a pod back once its backoff is over, counted from its last attempt."""
        if queued.pod.gates or queued.until <= self._clock.monotonic():
            self._ready(queued, event)
            return
        self._move(queued, BACKOFF, event)
        queued.entry = next(self._sequence)
        heapq.heappush(self._backoff_heap, (queued.until, queued.entry, queued))
        self._condition.notify()  # who waits may have to wake earlier

    def _ready(self, queued: QueuedPod, event: str) -> None:
        """Bring a pod to where it is tried next, unless gates hold it."""
        if not queued.pod.gates:
            self._to_active(queued, event)
            return
        queued.reason = f"waits for scheduling gates: {', '.join(queued.pod.gates)}"
        if queued.place != GATED:
            self._move(queued, GATED, event)

    def _to_active(self, queued: QueuedPod, event: str) -> None:
        if queued.place == GATED and not queued.attempts:
            queued.added = self._clock.monotonic()
        self._move(queued, ACTIVE, event)
        queued.entry = next(self._sequence)
        heapq.heappush(self._heap, (self._order(queued.pod), queued.entry, queued))
        self._condition.notify()

    def _take(self) -> QueuedPod | None:
        while self._heap:
            _, entry, queued = heapq.heappop(self._heap)
            if queued.place == ACTIVE and queued.entry == entry:
                self._move(queued, IN_FLIGHT, "")
                queued.attempts += 1
                queued.changes = set()
                self._in_flight[key_of(queued.pod)] = queued
                return queued
        return None

    def _move(self, queued: QueuedPod, place: str, event: str) -> None:
        self._leave(queued)
        queued.place = place
        self._sizes[place] += 1
        if event:
            self._incoming[place, event] += 1
            if event not in ("BackoffComplete", "ScheduleAttemptFailure"):
                queued.event = event

    def _leave(self, queued: QueuedPod) -> None:
        """Take a pod out of its place."""
        if queued.place:
            self._sizes[queued.place] -= 1
        if queued.place == UNSCHEDULABLE:
            self._waiting.remove(queued)
        elif queued.place == IN_FLIGHT:
            del self._in_flight[key_of(queued.pod)]
        queued.place = ""

    # --- under the lock: what happens by itself ---

    def _flush(self) -> None:
        """Move what has waited long enough."""
        now = self._clock.monotonic()
        while self._backoff_heap and self._backoff_heap[0][0] <= now:
            _, entry, queued = heapq.heappop(self._backoff_heap)
            if queued.place == BACKOFF and queued.entry == entry:
                self._to_active(queued, "BackoffComplete")
        if now - self._flushed < FLUSH_SECONDS:
            return
        self._flushed = now
        for queued in self._waiting.concerned(TIME_PASSED):
            self._to_active(queued, "TimePassed")
        if self._longest_wait is not None:
            for queued in self._waiting.since(now - self._longest_wait):
                self._to_active(queued, "UnschedulableTimeout")
                queued.flushed = True

    def _next_time(self) -> float | None:
        times = [self._backoff_heap[0][0]] if self._backoff_heap else []
        flush = self._flushed + FLUSH_SECONDS
        if self._waiting.is_concerned(TIME_PASSED):
            times.append(flush)
        oldest = self._waiting.oldest()
        if oldest is not None and self._longest_wait is not None:
            times.append(max(flush, oldest + self._longest_wait))
        return min(times, default=None)

    def _until_due(self) -> float | None:
        due = self._next_time()
        return None if due is None else max(0.0, due - self._clock.monotonic())


class _Waiting:
    """The unschedulable pods, by what they wait for: many were rejected by the same rules.

    Belongs to the queue, whose lock guards it.
    """

    def __init__(self) -> None:
        self._by_reads: dict[frozenset[str], dict[str, QueuedPod]] = {}
        self._by_time: dict[str, QueuedPod] = {}  # in the order in which they came

    def add(self, queued: QueuedPod) -> None:
        key = key_of(queued.pod)
        self._by_reads.setdefault(queued.waits_for, {})[key] = queued
        self._by_time[key] = queued

    def remove(self, queued: QueuedPod) -> None:
        key = key_of(queued.pod)
        same = self._by_reads[queued.waits_for]
        del same[key], self._by_time[key]
        if not same:
            del self._by_reads[queued.waits_for]

    def concerned(self, changes: frozenset[str]) -> list[QueuedPod]:
        """Give the pods that a change may help."""
        return [
            queued
            for reads, pods in self._by_reads.items()
            if concerns(changes, reads)
            for queued in pods.values()
        ]

    def is_concerned(self, changes: frozenset[str]) -> bool:
        return any(concerns(changes, reads) for reads in self._by_reads)

    def since(self, moment: float) -> list[QueuedPod]:
        """Give the pods that have waited since a moment or longer."""
        found = []
        for queued in self._by_time.values():
            if queued.since > moment:
                break
            found.append(queued)
        return found

    def oldest(self) -> float | None:
        return next((queued.since for queued in self._by_time.values()), None)


def _is_touched(queued: QueuedPod, ruleset: str, rules: frozenset[str] | None) -> bool:
    """Say whether a pod waits because of rules that are not the same any more."""
    if queued.place not in (UNSCHEDULABLE, BACKOFF) or queued.rejected_under == ruleset:
        return False
    return rules is None or not queued.rejected_by or not rules.isdisjoint(queued.rejected_by)
