"""Runs the scheduling loop over a cluster and pods that arrive and end, on a simulated clock."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.workload import Workload
from policyd.policy.ruleset import Ruleset
from policyd.policy.shadow import disagreeing, has_shadows
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Attempt, Observer, Scheduler
from policyd.scheduler.profile import FixedProfile
from policyd.scheduler.queue import QueuedPod, SchedulingQueue, key_of
from policyd.simulation.clock import SimulatedClock
from policyd.simulation.curve import Curve, CurveRecorder
from policyd.simulation.embedded import EmbeddedCluster, InlinePool
from policyd.values.times import Timestamp


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod that comes, and goes again where it has an end; in seconds since the start."""

    pod: Pod
    at: float = 0.0
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a simulation starts with, and what happens in it.

    `workload` are the pods whose shapes rules see in `cluster.shapes`, the same throughout; by
    default all pods of the scenario. With `drops` a pod that fits nowhere leaves at once and does
    not wait. `resource` is that whose allocation is followed over the arrivals.
    """

    start: Timestamp
    nodes: Sequence[Node]
    namespaces: Sequence[Namespace] = ()
    bound: Sequence[Pod] = ()
    arrivals: Sequence[Arrival] = ()
    workload: Workload | None = None
    drops: bool = False
    resource: str = "cpu"


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt, as far as a simulation keeps it: not the decision, which is large.

    `disagreeing` are the blocks in shadow mode that would have changed it.
    """

    pod: Pod
    result: str
    node: str | None
    seconds: float
    message: str
    disagreeing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a scenario under a rule set.

    `attempts` are all, in order; `nodes` the nodes at the end with the pods on them; `pending`
    the pods that wait at the end, and `dropped` the attempts after which a pod left.
    """

    ruleset: Ruleset
    attempts: tuple[Tried, ...]
    placements: dict[str, str]
    nodes: tuple[Node, ...]
    pending: tuple[QueuedPod, ...]
    dropped: tuple[Tried, ...]
    curve: Curve
    seconds: float


def simulate(
    ruleset: Ruleset,
    scenario: Scenario,
    *,
    progress: Callable[[int], None] = lambda _: None,
    observer: Observer | None = None,
) -> Outcome:
    """Run a scenario to its end: until nothing happens any more by itself.

    `progress` is told how many attempts were made, `observer` of each in full.
    """
    simulation = _Simulation(ruleset, scenario, _Attempts(progress, observer))
    simulation.run()
    return simulation.outcome()


class _Attempts:
    """Keeps what is to be kept of every attempt, and passes it on."""

    def __init__(self, progress: Callable[[int], None], observer: Observer | None) -> None:
        self.kept: list[Tried] = []
        self._progress = progress
        self._observer = observer

    def attempted(self, attempt: Attempt) -> None:
        """Take note of an attempt."""
        self.kept.append(_tried(attempt))
        self._progress(len(self.kept))
        if self._observer is not None:
            self._observer.attempted(attempt)


def _tried(attempt: Attempt) -> Tried:
    disagree: tuple[str, ...] = ()
    if attempt.decision is not None and has_shadows(attempt.decision.ruleset):
        disagree = disagreeing(attempt.decision)
    return Tried(
        attempt.pod, attempt.result, attempt.node, attempt.seconds, attempt.message, disagree
    )


class _Simulation:
    """One run. Decisions have no deadline here: the same scenario gives the same placements."""

    def __init__(self, ruleset: Ruleset, scenario: Scenario, attempts: _Attempts) -> None:
        self.clock = SimulatedClock(scenario.start)
        self.queue = SchedulingQueue(self.clock)
        self.cache = Cache(scenario.workload or _workload(scenario))
        self.cluster = EmbeddedCluster(self.cache, self.queue)
        self.attempts = attempts
        profile = FixedProfile(ruleset)
        self.ruleset = ruleset
        self.scheduler = Scheduler(
            cluster=self.cluster,
            clock=self.clock,
            pool=InlinePool(),
            cache=self.cache,
            queue=self.queue,
            profile_of=lambda _: profile,
            observer=self.attempts,
            deadline_seconds=float("inf"),
        )
        self._drops: Final = scenario.drops
        self._dropped: list[Tried] = []
        self._numbers = count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._begin(scenario)
        self._curve = CurveRecorder(scenario.resource, self.cache.totals)

    def _begin(self, scenario: Scenario) -> None:
        for namespace in scenario.namespaces:
            self.cluster.put_namespace(namespace)
        for node in scenario.nodes:
            self.cluster.put_node(node)
        for pod in scenario.bound:
            self.cluster.create(pod)
        for arrival in scenario.arrivals:
            self._plan(arrival)

    def _plan(self, arrival: Arrival) -> None:
        self._at(arrival.at, lambda: self._arrive(arrival.pod))
        if arrival.end is not None:
            self._at(arrival.end, lambda: self.cluster.delete(arrival.pod))

    def _arrive(self, pod: Pod) -> None:
        self._curve.arrived(pod)
        self.cluster.create(pod)

    def _at(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), action))

    def run(self) -> None:
        """Do what happens, in the order of time, and decide in between."""
        while True:
            self._decide()
            self._curve.record(self.clock.monotonic(), self.cache.totals)
            if self._events:
                self._step()
            elif not self._wait_for_backoff():
                return

    def _decide(self) -> None:
        """Try the pods that are ready; let those go that fit nowhere, if they are to."""
        before = len(self.attempts.kept)
        while self.scheduler.schedule_next(timeout=0):
            if self._drops:
                for tried in self.attempts.kept[before:]:
                    if tried.result == "unschedulable":
                        self._dropped.append(tried)
                        self.cluster.delete(tried.pod)
                before = len(self.attempts.kept)

    def _step(self) -> None:
        """Do the next thing that happens, unless a pod's backoff ends before it."""
        due = self.queue.next_time()
        if due is not None and due < self._events[0][0]:
            self.clock.advance_to(due)
            return
        seconds, _, action = heapq.heappop(self._events)
        self.clock.advance_to(seconds)
        action()

    def _wait_for_backoff(self) -> bool:
        """Let time pass for the pods in backoff, when nothing else happens any more."""
        due = self.queue.next_time()
        if due is None or not self.queue.counts()["backoff"]:
            return False
        self.clock.advance_to(due)
        return True

    def outcome(self) -> Outcome:
        """Give what became of it."""
        return Outcome(
            ruleset=self.ruleset,
            attempts=tuple(self.attempts.kept),
            placements=_placements(self.attempts.kept),
            nodes=tuple(self.cache.snapshot(self.clock.now()).nodes),
            pending=tuple(sorted(self.queue.pending(), key=lambda q: key_of(q.pod))),
            dropped=tuple(self._dropped),
            curve=self._curve.curve,
            seconds=self.clock.monotonic(),
        )


def _workload(scenario: Scenario) -> Workload:
    pods = [*scenario.bound, *(arrival.pod for arrival in scenario.arrivals)]
    return Workload(pods, fixed=True)


def _placements(attempts: Sequence[Tried]) -> dict[str, str]:
    return {
        f"{a.pod.namespace}/{a.pod.name}": a.node
        for a in attempts
        if a.result == "scheduled" and a.node is not None
    }
