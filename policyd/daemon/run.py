"""Puts a running scheduler together around a cluster, and runs it until it is told to end.

`Daemon` is the one place that knows all parts. The cluster is a parameter: whatever can bind and
tells cache and queue what happens, in memory or not. Threads and the order in which they end:
deciding, then the pool, which does all that it took, then the feed, then HTTP.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Final, Protocol

from policyd.daemon.clock import SystemClock
from policyd.daemon.health import Check, Health, ping, rules_in_force, threads_move
from policyd.daemon.observe import (
    observer,
    watch_cache,
    watch_leader,
    watch_pool,
    watch_queue,
    watch_rules,
)
from policyd.daemon.recent import RecentDecisions
from policyd.daemon.reload import FileReload
from policyd.daemon.server import Server
from policyd.daemon.signals import Signals
from policyd.daemon.threads import Threads, WorkerPool, short_turns
from policyd.metrics import Metrics
from policyd.policy.outcome import Outcome
from policyd.policy.store import RulesetStore
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import changed_rules
from policyd.scheduler.cycle import DEADLINE_SECONDS, Observer, Scheduler
from policyd.scheduler.profile import DEFAULT_NAME, Profiles
from policyd.scheduler.protocols import Clock, Cluster
from policyd.scheduler.queue import LONGEST_WAIT_SECONDS, SchedulingQueue

PORT: Final = 10259
"""kube-scheduler's port."""

GRACE_SECONDS: Final = 25.0
"""How long ending may take: less than the 30 s after which a kubelet kills a container."""

FAULT: Final = 70
"""The exit status where a thread of policyd ended with an error."""

_UNTIL_KNOWN_SECONDS: Final = 0.1
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A scheduler name, and where its rules are."""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a daemon is told when it starts.

    `settings` are the values that are set for parameters, of all profiles. `default_profile`
    takes the pods that name no scheduler, where no other scheduler is there for them. `awaits`
    names the providers of rules, besides files, without which no rules are in force.
    """

    profiles: tuple[ProfileConfig, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = PORT
    workers: int = 1
    deadline_seconds: float = DEADLINE_SECONDS
    default_profile: str | None = None
    debug: bool = True
    awaits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [profile.name for profile in self.profiles]
        if len(set(names)) < len(names):
            raise ValueError(f"two profiles have one name: {', '.join(sorted(names))}")


@dataclass(frozen=True, slots=True)
class Site:
    """What a cluster is told of: what it tells of its nodes and pods, and the time.

    `stores` are for a cluster that also holds rules.
    """

    cache: Cache
    queue: SchedulingQueue
    clock: Clock
    stores: Sequence[RulesetStore] = ()


class Feed(Protocol):
    """A cluster that is connected: it can bind, and tells cache and queue what happens."""

    @property
    def cluster(self) -> Cluster:
        """Give the cluster to bind in."""
        ...

    def start(self, threads: Threads) -> None:
        """Begin to tell. What takes long goes on on threads of its own."""
        ...

    def stop(self) -> None:
        """Tell no more. Binds are over by then."""
        ...

    def problem(self) -> str | None:
        """Say why the cluster is not known well enough yet to decide on; nothing where it is."""
        ...

    def is_standby(self) -> bool:
        """Say whether another replica decides, while this one is ready to."""
        ...

    def measure(self, metrics: Metrics) -> None:
        """Have the metrics ask what only this cluster knows."""
        ...


Connect = Callable[[Site], Feed]


class Daemon:
    """A scheduler with everything around it. Its methods belong to the main thread.

    `changed` is called by any thread when it may have become ready, and with the name of a
    thread when that has ended with an error.
    """

    def __init__(
        self,
        config: RunConfig,
        connect: Connect,
        *,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        traces: Observer | None = None,
        changed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.metrics = metrics or Metrics()
        self.threads = Threads(self.clock, changed)
        self._changed = changed
        self._has_rules = Event()
        now = self.clock.now
        self.stores = [
            RulesetStore(p.name, config.settings, now=now, awaits=config.awaits)
            for p in config.profiles
        ]
        self.profiles = Profiles(self.stores, config.default_profile)
        self.cache = Cache()
        self.queue = SchedulingQueue(
            self.clock, profile_of=self.profiles.name_of, longest_wait=LONGEST_WAIT_SECONDS
        )
        self.feed = connect(Site(self.cache, self.queue, self.clock, self.stores))
        self.pool = WorkerPool(self.clock)
        self.recent = RecentDecisions()
        self.scheduler = Scheduler(
            cluster=self.feed.cluster,
            clock=self.clock,
            pool=self.pool,
            cache=self.cache,
            queue=self.queue,
            profile_of=self.profiles.of,
            observer=observer(self.metrics, recent=self.recent, traces=traces),
            deadline_seconds=config.deadline_seconds,
        )
        self.reloads = [
            FileReload(profile.paths, store, self.clock)
            for profile, store in zip(config.profiles, self.stores, strict=True)
        ]
        self.health = Health(
            live=(ping(), threads_move(self.threads.silent)),
            ready=(
                rules_in_force(self.stores),
                Check("cluster", self.feed.problem),
                Check("shutdown", self._ending),
            ),
        )
        self._watch()
        self.server = Server(
            config.host,
            config.port,
            metrics=self.metrics,
            health=self.health,
            start_thread=self.threads.start,
            decisions=self.recent,
            rules=self.stores,
            debug=config.debug,
        )

    def _watch(self) -> None:
        """Have the metrics follow the parts."""
        watch_queue(self.metrics, self.queue, self.clock)
        watch_cache(self.metrics, self.cache)
        watch_pool(self.metrics, self.pool.counts)
        watch_rules(self.metrics, self.stores)
        watch_leader(self.metrics, self.feed.is_standby)
        self.feed.measure(self.metrics)

    # --- its life ---

    def start(self) -> None:
        """Listen, read the rules, and decide as soon as there are some.

        Raises:
            ListenError: the address cannot be listened on.
        """
        self.server.start()
        self.pool.start(self.threads)
        for store, reload in zip(self.stores, self.reloads, strict=True):
            store.listen(self._rules_came)
            reload.start(self.threads)
        self.feed.start(self.threads)
        for number in range(self.config.workers):
            self.threads.repeat(f"decider-{number}", self._turn)

    def stop(self, timeout: float = GRACE_SECONDS) -> bool:
        """End in order: what was decided is bound and written. Say whether all of it was."""
        end = self.clock.monotonic() + timeout

        def left() -> float:
            return max(0.0, end - self.clock.monotonic())

        self.threads.stop()
        self.queue.close()
        self._has_rules.set()
        self.threads.join(left(), "decider-")
        is_done = self.pool.stop(left())
        for reload in self.reloads:
            reload.stop()
        self.feed.stop()
        self.server.stop()
        late = self.threads.join(left())
        if late:
            _LOG.error("these threads did not end in time: %s", ", ".join(late))
        return is_done and not late

    @property
    def is_ready(self) -> bool:
        """Say whether it decides: the cluster is known, and rules are in force."""
        return self.health.report("readyz").is_well

    def problems(self) -> str:
        """Say why it is not ready, in one line."""
        lines = self.health.report("readyz", verbose=True).text.splitlines()
        return "; ".join(line.removeprefix("[-]") for line in lines if line.startswith("[-]"))

    def summary(self) -> str:
        """Say in a line what runs."""
        rules = ", ".join(_shown(store) for store in self.stores)
        counts = self.queue.counts()
        waiting = sum(counts.values())
        nodes = self.cache.totals.nodes
        where = f"http://{self.config.host}:{self.server.port}"
        return f"{rules}; {_count(nodes, 'node')}, {_count(waiting, 'waiting pod')}; {where}"

    # --- on its threads ---

    def _turn(self, seconds: float) -> None:
        """Decide for one pod, or wait for one; by a deciding thread."""
        if not self._has_rules.wait(seconds):
            return
        if self.feed.problem() is None and not self.feed.is_standby():
            self.scheduler.schedule_next(seconds)
        else:
            self.threads.stopping.wait(_UNTIL_KNOWN_SECONDS)

    def _rules_came(self, outcome: Outcome) -> None:
        """Let rules that came into force count; by the thread that reloads."""
        ruleset = outcome.state.ruleset
        if not outcome.is_installed or ruleset is None:
            return
        changed = changed_rules(outcome.before.ruleset, ruleset)
        self.queue.rules_changed(outcome.profile, ruleset.hash, changed)
        self._has_rules.set()
        self._changed("")

    def _ending(self) -> str | None:
        return "it is ending" if self.threads.stopping.is_set() else None


def run(
    config: RunConfig,
    connect: Connect,
    say: Callable[[str], None],
    *,
    metrics: Metrics | None = None,
    traces: Observer | None = None,
) -> int:
    """Run a daemon until a signal ends it, and give the exit status. By the main thread only.

    `say` is called with one line once it is ready.

    Raises:
        ListenError: the address cannot be listened on.
    """
    with short_turns(), Signals() as signals:
        died: list[str] = []

        def changed(thread: str) -> None:
            if thread:
                died.append(thread)
            signals.wake()

        daemon = Daemon(config, connect, metrics=metrics, traces=traces, changed=changed)
        daemon.start()
        try:
            _wait(daemon, signals, died, say)
        finally:
            is_clean = daemon.stop()
        if died:
            return FAULT
        return 0 if is_clean else 1


def _wait(
    daemon: Daemon, signals: Signals, died: Sequence[str], say: Callable[[str], None]
) -> None:
    """Wait for the end; say once that it is ready."""
    is_told = daemon.is_ready
    if is_told:
        say(f"policyd is ready: {daemon.summary()}")
    else:
        _LOG.warning("policyd runs and is not ready: %s", daemon.problems())
    while signals.wait(None if is_told else 1.0) is None and not died:
        if not is_told and daemon.is_ready:
            say(f"policyd is ready: {daemon.summary()}")
            is_told = True
    _LOG.info("policyd ends: what was decided is bound and written first")


def _shown(store: RulesetStore) -> str:
    ruleset = store.current
    rules = _count(len(ruleset.rules) if ruleset else 0, "rule")
    name = "" if store.name == DEFAULT_NAME else f" for {store.name}"
    return f"{rules}{name}" + (f" ({ruleset.hash})" if ruleset else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
