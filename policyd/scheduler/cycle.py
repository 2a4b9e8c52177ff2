"""The scheduling cycle: one pod from the queue to a node, or back with the reason.

Decisions are made one at a time by whoever calls `schedule_next`, each on one snapshot and one
rule set. What waits for the cluster (binds, conditions, events) goes to the pool. Nothing that a
rule, a pod or the cluster does gets out of here as an exception: every failure is classed,
counted with the observer, and the pod goes back to the queue.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Final, Protocol

from policyd.model.node import Node
from policyd.model.pod import Pod, with_record
from policyd.model.snapshot import Snapshot
from policyd.policy.decide import Decision, decide
from policyd.policy.devices import Choice, with_devices
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.cache import Cache, StaleDecisionError
from policyd.scheduler.changes import PODS_CHANGED
from policyd.scheduler.message import unschedulable_message
from policyd.scheduler.profile import Profile
from policyd.scheduler.protocols import Clock, Cluster, ClusterError, Pool, Remedy
from policyd.scheduler.queue import QueuedPod, SchedulingQueue

DEADLINE_SECONDS: Final = 0.5
"""How long one decision may take before the attempt ends."""

_LOG: Final = logging.getLogger(__name__)


class DeadlineExceededError(Exception):
    """A decision that took too long."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of one attempt to place a pod.

    `result` is kube-scheduler's label: `scheduled`, `unschedulable` or `error`. `seconds` is how
    long the decision took. `failures` are all that went wrong in the attempt.
    """

    number: int
    pod: Pod
    ruleset: Ruleset | None
    decision: Decision | None
    result: str
    node: str | None
    seconds: float
    message: str
    failures: tuple[str, ...] = ()


class Observer(Protocol):
    """Whoever wants to know what was decided."""

    def attempted(self, attempt: Attempt) -> None:
        """Take note of an attempt. Called by the deciding thread, or by one of the pool."""
        ...


class Scheduler:
    """The cycle over a queue and a cache. Holds no state of its own but the attempts' number.

    `timer` measures how long decisions take, in seconds; the clock is the cluster's.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        clock: Clock,
        pool: Pool,
        cache: Cache,
        queue: SchedulingQueue,
        profile_of: Callable[[Pod], Profile | None],
        observer: Observer,
        timer: Callable[[], float] = perf_counter,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._pool = pool
        self._cache = cache
        self._queue = queue
        self._profile_of = profile_of
        self._timer = timer
        self._observer = observer
        self._deadline = deadline_seconds
        self._numbers = count(1)

    def schedule_next(self, timeout: float | None = None) -> bool:
        """Try the next pod; say whether there was one within the timeout, in seconds."""
        queued = self._queue.pop(timeout)
        if queued is None:
            return False
        self.schedule(queued)
        return True

    def schedule(self, queued: QueuedPod) -> None:
        """Try one pod that was taken from the queue."""
        started = self._timer()
        profile = self._profile_of(queued.pod)
        ruleset = profile.current if profile is not None else None
        if ruleset is None:
            self._fail(queued, None, started, Remedy.NEEDS_PERSON, "no rule set is in force")
            return
        snapshot = self._cache.snapshot(self._clock.now())
        try:
            choice = self._decide(ruleset, queued.pod, snapshot, started)
        except DeadlineExceededError:
            message = f"the decision took longer than {self._deadline:g} s"
            self._fail(queued, ruleset, started, Remedy.RETRY_WITH_BACKOFF, message)
        except Exception as error:  # noqa: BLE001 - one pod's misfortune must not stop the loop
            _LOG.exception("the decision for %s/%s failed", queued.pod.namespace, queued.pod.name)
            message = f"the decision failed: {type(error).__name__}: {error}"
            self._fail(queued, ruleset, started, Remedy.RETRY_WITH_BACKOFF, message)
        else:
            self._conclude(queued, choice, started)

    def _decide(self, ruleset: Ruleset, pod: Pod, snapshot: Snapshot, started: float) -> Choice:
        def tick() -> None:
            if self._timer() - started > self._deadline:
                raise DeadlineExceededError

        def on(nodes: Sequence[Node] | None = None) -> Decision:
            return decide(ruleset, pod, snapshot, nodes, tick=tick)

        return with_devices(on(), snapshot, on)

    def _conclude(self, queued: QueuedPod, choice: Choice, started: float) -> None:
        decision = choice.decision
        chosen = decision.chosen
        if chosen is None:
            self._reject(queued, choice, started)
            return
        pod = with_record(queued.pod, choice.taken)
        try:
            self._cache.assume(pod, chosen.node)
        except StaleDecisionError as error:
            self._fail(
                queued, decision.ruleset, started, Remedy.RETRY_AT_ONCE, str(error), decision
            )
            return
        seconds = self._timer() - started
        self._pool.submit(lambda: self._bind(queued, pod, decision, chosen.name, seconds))

    def _reject(self, queued: QueuedPod, choice: Choice, started: float) -> None:
        """Put a pod back that fits nowhere, to wait for what could change that."""
        decision = choice.decision
        message = unschedulable_message(decision, choice.refused)
        waits_for = {"node.name"} if decision.considered or choice.refused else {"node", "cluster"}
        if choice.refused:
            waits_for.add("node.devices")
        rejecting = decision.rejecting
        for rule in decision.ruleset.rules:
            if rule.name in rejecting:
                waits_for |= rule.reads
        self._queue.unschedulable(
            queued,
            reads=frozenset(waits_for),
            ruleset=decision.ruleset.hash,
            reason=message,
        )
        self._note(queued, decision.ruleset, decision, "unschedulable", None, started, message)
        self._write(queued.pod, "Unschedulable", message)

    def _bind(
        self, queued: QueuedPod, pod: Pod, decision: Decision, node: str, seconds: float
    ) -> None:
        """Bind a pod that is assumed, with its devices on record; by a thread of the pool."""
        failures: list[ClusterError] = []
        if self._is_bound(pod, node, failures):
            self._queue.done(queued)
            self._observer.attempted(
                self._attempt(pod, decision, "scheduled", node, seconds, "", failures)
            )
            self._told(lambda: self._cluster.scheduled(pod, node))
            return
        message = "; ".join(error.message for error in failures)
        self._cache.forget(queued.pod)
        self._queue.changed(PODS_CHANGED, but=queued)
        self._queue.failed(queued, failures[-1].remedy, message)
        self._observer.attempted(
            self._attempt(queued.pod, decision, "error", node, seconds, message, failures)
        )
        self._write(queued.pod, "SchedulerError", message)

    def _is_bound(self, pod: Pod, node: str, failures: list[ClusterError]) -> bool:
        """Bind, and where it is not known whether that worked, read it back."""
        try:
            self._cluster.bind(pod, node)
        except ClusterError as error:
            failures.append(error)
            if not error.ambiguous:
                return False
        else:
            return True
        try:
            return self._cluster.bound_node(pod) == node
        except ClusterError as error:
            failures.append(error)
            return False

    def _fail(
        self,
        queued: QueuedPod,
        ruleset: Ruleset | None,
        started: float,
        remedy: Remedy,
        message: str,
        decision: Decision | None = None,
    ) -> None:
        self._queue.failed(queued, remedy, message)
        self._note(queued, ruleset, decision, "error", None, started, message)
        if remedy is not Remedy.RETRY_AT_ONCE:
            self._write(queued.pod, "SchedulerError", message)

    def _write(self, pod: Pod, reason: str, message: str) -> None:
        self._pool.submit(
            lambda: self._told(lambda: self._cluster.unschedulable(pod, reason, message))
        )

    def _told(self, write: Callable[[], None]) -> None:
        """Write something for people; what cannot be written does not matter to the pod."""
        try:
            write()
        except ClusterError as error:
            _LOG.warning("an event or condition could not be written: %s", error.message)

    def _note(
        self,
        queued: QueuedPod,
        ruleset: Ruleset | None,
        decision: Decision | None,
        result: str,
        node: str | None,
        started: float,
        message: str,
    ) -> None:
        seconds = self._timer() - started
        failures = (message,) if result == "error" else ()
        self._observer.attempted(
            Attempt(
                next(self._numbers),
                queued.pod,
                ruleset,
                decision,
                result,
                node,
                seconds,
                message,
                failures,
            )
        )

    def _attempt(
        self,
        pod: Pod,
        decision: Decision,
        result: str,
        node: str,
        seconds: float,
        message: str,
        failures: list[ClusterError],
    ) -> Attempt:
        return Attempt(
            next(self._numbers),
            pod,
            decision.ruleset,
            decision,
            result,
            node,
            seconds,
            message,
            tuple(error.message for error in failures),
        )


def scheduler_name(pod: Pod) -> str:
    """Give the name of the scheduler that a pod asks for."""
    name = pod.spec.get("schedulerName", "default-scheduler")
    return str(name)
