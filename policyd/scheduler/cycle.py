"""The scheduling cycle: one pod from the queue to a node, or back with the reason.

Decisions are made one at a time by whoever calls `schedule_next`, each on one snapshot and one
rule set; several threads may call it, since what another changed meanwhile is refused when the
pod is assumed. What waits for the cluster (binds, conditions, events) goes to the pool. Nothing
that a rule, a pod or the cluster does gets out of here as an exception: every failure is classed,
told to the observer, and the pod goes back to the queue.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import local
from time import perf_counter
from typing import Final, Protocol

from policyd.model.node import Node
from policyd.model.pod import Pod, with_record
from policyd.model.snapshot import Snapshot
from policyd.policy.decide import Decision, decide
from policyd.policy.devices import Choice, with_devices
from policyd.policy.direction import placement_helps
from policyd.policy.engine import Engine
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.binding import Binder, Settled
from policyd.scheduler.cache import Cache, StaleDecisionError
from policyd.scheduler.changes import PODS_CHANGED, PODS_PLACED
from policyd.scheduler.message import unschedulable_message
from policyd.scheduler.profile import Profile
from policyd.scheduler.protocols import Clock, Cluster, ClusterError, Pool, Remedy
from policyd.scheduler.queue import QueuedPod, SchedulingQueue, key_of
from policyd.values.times import Timestamp

DEADLINE_SECONDS: Final = 0.5
"""How long one decision may take before the attempt ends."""

COLD: Final = 10
"""How many times as long the first decision of a thread under a rule set may take: it looks at all
nodes for the first time, which no later one does."""

_RENEWALS: Final = 3
"""How often a stale decision is made again for its node before it is made again for all."""

_KNOWN: Final = 8
"""Of how many rule sets a thread knows that it has decided by them, as its engine does."""

_RULESETS: Final = 16
"""Of how many rule sets it is kept which rules a placement may help."""

_LOG: Final = logging.getLogger(__name__)


class DeadlineExceededError(Exception):
    """A decision that took too long."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of one attempt to place a pod.

    `result` is kube-scheduler's label: `scheduled`, `unschedulable` or `error`; `cause` says of
    an error what it is about: `deadline`, `rules` (none are in force), `stale` (the node changed
    meanwhile), `bind` or `fault`. `failures` are all that went wrong in the attempt, also in one
    that succeeded in the end.

    `time` is when it began, and `seconds` how long the decision took; `bind_wait_seconds` how
    long it then took until a thread began to bind, and `bind_seconds` how long until that was
    settled. `attempts` counts those of this pod, this one included, `waited` are the seconds
    since the pod was first seen, and `queued_seconds` those that it waited for this attempt to
    begin; `event` is what brought it back, in the words of the queue's counts. `flushed` says
    that only the safety net did, which helped where the pod was then placed.
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
    profile: str = ""
    cause: str = ""
    time: Timestamp | None = None
    bind_wait_seconds: float = 0.0
    bind_seconds: float = 0.0
    attempts: int = 1
    waited: float = 0.0
    queued_seconds: float = 0.0
    event: str = ""
    flushed: bool = False


class Observer(Protocol):
    """Whoever wants to know what was decided."""

    def attempted(self, attempt: Attempt) -> None:
        """Take note of an attempt. Called by the deciding thread, or by one of the pool."""
        ...


@dataclass(frozen=True, slots=True)
class _Trial:
    """An attempt while it is made: the pod as it was taken, and the rules of the moment.

    The pod may be updated in the queue meanwhile; the attempt goes on with what it began with.
    """

    number: int
    queued: QueuedPod
    pod: Pod
    profile: str
    ruleset: Ruleset | None
    time: Timestamp
    began: float  # by the clock
    started: float  # by the timer
    attempts: int
    queued_seconds: float
    event: str
    flushed: bool
    deadline: float  # in seconds


class Scheduler:
    """The cycle over a queue and a cache. Any number of threads may decide.

    It holds no state of its own but the attempts' number, and for each deciding thread an
    engine. `timer` measures how long decisions take, in seconds; the clock is the cluster's.
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
        self._binder = Binder(cluster, cache, pool, clock)
        self._numbers = count(1)
        self._own = local()
        self._helped: dict[str, frozenset[str]] = {}  # the same whichever thread finds it

    def schedule_next(self, timeout: float | None = None) -> bool:
        """Try the next pod; say whether there was one within the timeout, in seconds."""
        queued = self._queue.pop(timeout)
        if queued is None:
            return False
        self.schedule(queued)
        return True

    def schedule(self, queued: QueuedPod) -> None:
        """Try one pod that was taken from the queue."""
        trial = self._begin(queued)
        try:
            self._try(trial)
        except DeadlineExceededError:
            message = f"the decision took longer than {trial.deadline:g} s"
            self._fail(trial, "deadline", Remedy.RETRY_WITH_BACKOFF, message)
        except Exception as error:  # noqa: BLE001 - one pod's misfortune must not stop the loop
            _LOG.exception("the decision for %s/%s failed", trial.pod.namespace, trial.pod.name)
            message = f"the decision failed: {type(error).__name__}: {error}"
            self._fail(trial, "fault", Remedy.RETRY_WITH_BACKOFF, message)

    def _begin(self, queued: QueuedPod) -> _Trial:
        pod, began = queued.pod, self._clock.monotonic()
        profile = self._profile_of(pod)
        since = queued.since if queued.attempts > 1 else queued.added
        ruleset = profile.current if profile is not None else None
        return _Trial(
            number=next(self._numbers),
            queued=queued,
            pod=pod,
            profile=profile.name if profile is not None else "",
            ruleset=ruleset,
            time=self._clock.now(),
            began=began,
            started=self._timer(),
            attempts=queued.attempts,
            queued_seconds=began - since,
            event=queued.event,
            flushed=queued.flushed,
            deadline=self._deadline * (1 if self._has_decided_by(ruleset) else COLD),
        )

    def _has_decided_by(self, ruleset: Ruleset | None) -> bool:
        """Say whether this thread has decided by a rule set before; from now on it has."""
        known: deque[Ruleset | None] | None = getattr(self._own, "known", None)
        if known is None:
            known = self._own.known = deque(maxlen=_KNOWN)
        if any(each is ruleset for each in known):
            return True
        known.append(ruleset)
        return False

    def _try(self, trial: _Trial) -> None:
        ruleset = trial.ruleset
        if ruleset is None:
            self._fail(trial, "rules", Remedy.NEEDS_PERSON, "no rule set is in force")
            return
        snapshot = self._cache.snapshot(trial.time)
        choice = self._decide(trial, ruleset, snapshot)
        if choice.decision.node is None:
            self._reject(trial, choice)
            return
        try:
            pod = self._assume(trial, ruleset, choice, choice.decision.node)
        except StaleDecisionError as error:
            self._fail(trial, "stale", Remedy.RETRY_AT_ONCE, str(error), choice.decision)
            return
        if self._queue.holds(trial.queued):
            self._bind(trial, choice.decision, pod, choice.decision.node.name)
        else:
            self._cache.forget(pod)  # it was deleted while it was decided on
            self._queue.changed(PODS_CHANGED)

    # --- deciding ---

    def _decide(self, trial: _Trial, ruleset: Ruleset, snapshot: Snapshot) -> Choice:
        def again(nodes: Sequence[Node]) -> Decision:
            return self._decide_on(nodes, trial, ruleset, snapshot)

        decision = self._engine().decide(ruleset, trial.pod, snapshot, tick=self._tick(trial))
        return with_devices(decision, snapshot, again)

    def _decide_on(
        self, nodes: Sequence[Node], trial: _Trial, ruleset: Ruleset, snapshot: Snapshot
    ) -> Decision:
        return decide(ruleset, trial.pod, snapshot, nodes, tick=self._tick(trial))

    def _engine(self) -> Engine:
        """Give the engine of this thread: what it keeps is not shared."""
        engine: Engine | None = getattr(self._own, "engine", None)
        if engine is None:
            engine = self._own.engine = Engine(self._cache.journal)
        return engine

    def _tick(self, trial: _Trial) -> Callable[[], None]:
        def tick() -> None:
            if self._timer() - trial.started > trial.deadline:
                raise DeadlineExceededError

        return tick

    # --- assuming ---

    def _assume(self, trial: _Trial, ruleset: Ruleset, choice: Choice, node: Node) -> Pod:
        """Count the pod on its node, with its devices on record.

        Where the node changed since the decision, the decision is made again for that node.

        Raises:
            StaleDecisionError: the pod does not fit there any more, or it is placed already.
        """
        for _ in range(_RENEWALS):
            pod = with_record(trial.pod, choice.taken)
            try:
                self._cache.assume(pod, node)
            except StaleDecisionError:
                renewed = self._renew(trial, ruleset, node.name)
                if renewed is None or renewed.decision.node is None:
                    raise
                choice, node = renewed, renewed.decision.node
            else:
                return pod
        raise StaleDecisionError(f"node {node.name} changes faster than decisions are made")

    def _renew(self, trial: _Trial, ruleset: Ruleset, name: str) -> Choice | None:
        """Decide again for one node, as it is now; nothing where it is gone."""
        snapshot = self._cache.snapshot(trial.time)
        nodes = [node for node in snapshot.nodes if node.name == name]
        if not nodes or self._cache.node_of(trial.pod) is not None:
            return None
        decision = self._decide_on(nodes, trial, ruleset, snapshot)
        return with_devices(
            decision, snapshot, lambda on: self._decide_on(on, trial, ruleset, snapshot), nodes
        )

    # --- what comes of it ---

    def _reject(self, trial: _Trial, choice: Choice) -> None:
        """Put a pod back that fits nowhere, to wait for what could change that."""
        decision = choice.decision
        seconds = self._seconds(trial)
        message = unschedulable_message(decision, choice.refused)
        rejecting = decision.rejecting
        self._queue.unschedulable(
            trial.queued,
            reads=self._waits_for(choice, rejecting),
            ruleset=decision.ruleset.hash,
            reason=message,
            rules=rejecting,
        )
        self._tell(trial, "unschedulable", seconds, message, decision=decision)
        self._write(trial.pod, "Unschedulable", message)

    def _waits_for(self, choice: Choice, rejecting: frozenset[str]) -> frozenset[str]:
        """Give what a change must be of to help a pod that these rules rejected."""
        decision = choice.decision
        if not decision.considered and not choice.refused:
            return frozenset({"node", "cluster"})
        waits_for = {"node.name"}  # another node may always be one that fits
        if choice.refused:
            waits_for.add("node.devices")
        for rule in decision.ruleset.rules:
            if rule.name in rejecting:
                waits_for |= rule.reads
        if not self._helped_by_placement(decision.ruleset).isdisjoint(rejecting):
            waits_for |= PODS_PLACED
        return frozenset(waits_for)

    def _helped_by_placement(self, ruleset: Ruleset) -> frozenset[str]:
        """Name the rules of which a placement may help a pod; found once for a rule set."""
        found = self._helped.get(ruleset.hash)
        if found is None:
            found = frozenset(rule.name for rule in ruleset.rules if placement_helps(rule))
            if len(self._helped) >= _RULESETS:
                self._helped.clear()
            self._helped[ruleset.hash] = found
        return found

    def _bind(self, trial: _Trial, decision: Decision, pod: Pod, node: str) -> None:
        """Bind a pod that is assumed, by the pool."""
        seconds = self._seconds(trial)

        def settled(settled: Settled) -> None:
            if settled.node == node:
                self._bound(trial, decision, pod, node, seconds, settled)
            else:
                self._not_bound(trial, decision, pod, node, seconds, settled)

        self._binder.bind(pod, node, settled)

    def _bound(
        self,
        trial: _Trial,
        decision: Decision,
        pod: Pod,
        node: str,
        seconds: float,
        settled: Settled,
    ) -> None:
        self._queue.done(trial.queued)
        self._tell(
            trial,
            "scheduled",
            seconds,
            "",
            decision=decision,
            node=node,
            failures=tuple(failure.message for failure in settled.failures),
            settled=settled,
        )
        self._trail(pod, lambda: self._cluster.scheduled(pod, node))

    def _not_bound(
        self,
        trial: _Trial,
        decision: Decision,
        pod: Pod,
        node: str,
        seconds: float,
        settled: Settled,
    ) -> None:
        """Take an assumption back. A pod that somebody else bound is no business of ours."""
        self._cache.forget(pod)
        self._queue.changed(PODS_CHANGED, but=trial.queued)
        if settled.node is not None:
            self._queue.done(trial.queued)
        else:
            self._queue.failed(trial.queued, settled.failures[-1].remedy, settled.message)
        self._tell(
            trial,
            "error",
            seconds,
            settled.message,
            cause="bind",
            decision=decision,
            node=node,
            failures=tuple(failure.message for failure in settled.failures),
            settled=settled,
        )
        if settled.node is None:
            self._write(pod, "SchedulerError", settled.message)

    def _fail(
        self,
        trial: _Trial,
        cause: str,
        remedy: Remedy,
        message: str,
        decision: Decision | None = None,
    ) -> None:
        seconds = self._seconds(trial)
        self._queue.failed(trial.queued, remedy, message)
        self._tell(
            trial, "error", seconds, message, cause=cause, decision=decision, failures=(message,)
        )
        if remedy is not Remedy.RETRY_AT_ONCE:
            self._write(trial.pod, "SchedulerError", message)

    def _seconds(self, trial: _Trial) -> float:
        return self._timer() - trial.started

    # --- telling ---

    def _tell(
        self,
        trial: _Trial,
        result: str,
        seconds: float,
        message: str,
        *,
        cause: str = "",
        decision: Decision | None = None,
        node: str | None = None,
        failures: tuple[str, ...] = (),
        settled: Settled | None = None,
    ) -> None:
        attempt = Attempt(
            number=trial.number,
            pod=trial.pod,
            ruleset=trial.ruleset,
            decision=decision,
            result=result,
            node=node,
            seconds=seconds,
            message=message,
            failures=failures,
            profile=trial.profile,
            cause=cause,
            time=trial.time,
            bind_wait_seconds=settled.waited if settled is not None else 0.0,
            bind_seconds=settled.seconds if settled is not None else 0.0,
            attempts=trial.attempts,
            waited=self._clock.monotonic() - trial.queued.added,
            queued_seconds=trial.queued_seconds,
            event=trial.event,
            flushed=trial.flushed,
        )
        try:
            self._observer.attempted(attempt)
        except Exception:  # noqa: BLE001 - who watches must not stop who works
            _LOG.exception("an attempt could not be noted")

    def _write(self, pod: Pod, reason: str, message: str) -> None:
        self._trail(pod, lambda: self._cluster.unschedulable(pod, reason, message))

    def _trail(self, pod: Pod, write: Callable[[], None]) -> None:
        """Write something for people; what cannot be written does not matter to the pod."""

        def told() -> None:
            try:
                write()
            except ClusterError as error:
                _LOG.warning("an event or condition could not be written: %s", error.message)

        self._pool.trail(told, key_of(pod))
