"""Runs the scheduling loop over a cluster and pods that arrive and end, on a simulated clock."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Attempt, Scheduler
from policyd.scheduler.profile import FixedProfile
from policyd.scheduler.queue import QueuedPod, SchedulingQueue, key_of
from policyd.simulation.clock import SimulatedClock
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
    """What a simulation starts with, and what happens in it."""

    start: Timestamp
    nodes: Sequence[Node]
    namespaces: Sequence[Namespace] = ()
    bound: Sequence[Pod] = ()
    arrivals: Sequence[Arrival] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a scenario under a rule set.

    `attempts` are all, in order; `nodes` the nodes at the end with the pods on them; `pending`
    the pods that wait at the end.
    """

    ruleset: Ruleset
    attempts: tuple[Attempt, ...]
    placements: dict[str, str]
    nodes: tuple[Node, ...]
    pending: tuple[QueuedPod, ...]
    seconds: float


@dataclass(slots=True)
class _Attempts:
    """Keeps every attempt; tells the progress after each."""

    kept: list[Attempt] = field(default_factory=list)
    progress: Callable[[int], None] = lambda _: None

    def attempted(self, attempt: Attempt) -> None:
        self.kept.append(attempt)
        self.progress(len(self.kept))


def simulate(
    ruleset: Ruleset, scenario: Scenario, *, progress: Callable[[int], None] = lambda _: None
) -> Outcome:
    """Run a scenario to its end: until nothing happens any more by itself."""
    simulation = _Simulation(ruleset, scenario, progress)
    simulation.run()
    return simulation.outcome()


class _Simulation:
    """One run. Decisions have no deadline here: the same scenario gives the same placements."""

    def __init__(
        self, ruleset: Ruleset, scenario: Scenario, progress: Callable[[int], None]
    ) -> None:
        self.clock = SimulatedClock(scenario.start)
        self.queue = SchedulingQueue(self.clock)
        self.cache = Cache()
        self.cluster = EmbeddedCluster(self.cache, self.queue)
        self.attempts = _Attempts(progress=progress)
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
        self._numbers = count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._begin(scenario)

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
        self._at(arrival.at, lambda: self.cluster.create(arrival.pod))
        if arrival.end is not None:
            self._at(arrival.end, lambda: self.cluster.delete(arrival.pod))

    def _at(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), action))

    def run(self) -> None:
        """Do what happens, in the order of time, and decide in between."""
        while True:
            while self.scheduler.schedule_next(timeout=0):
                pass
            if self._events:
                self._step()
            elif not self._wait_for_backoff():
                return

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
        return Outcome(
            ruleset=self.ruleset,
            attempts=tuple(self.attempts.kept),
            placements=_placements(self.attempts.kept),
            nodes=tuple(self.cache.snapshot(self.clock.now()).nodes),
            pending=tuple(sorted(self.queue.pending(), key=lambda q: key_of(q.pod))),
            seconds=self.clock.monotonic(),
        )


def _placements(attempts: Iterable[Attempt]) -> dict[str, str]:
    return {
        f"{a.pod.namespace}/{a.pod.name}": a.node
        for a in attempts
        if a.result == "scheduled" and a.node is not None
    }
