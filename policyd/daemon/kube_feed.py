"""A cluster behind an API server as the daemon's: one thread a reflector, the lease, the events.

Deciding begins once nodes, pods and namespaces are listed and, where there is an election, this
replica leads. At the end the events are flushed and then the lease is released, so that the next
leader begins after the last bind of this one.
"""

import logging
import os
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, Final
from uuid import uuid4

from policyd.daemon.reload_configmaps import ConfigMapReload
from policyd.daemon.run import Site
from policyd.daemon.threads import HEARTBEAT_SECONDS, Threads
from policyd.kube.client import ApiClient
from policyd.kube.cluster import KubeCluster
from policyd.kube.config import Connection
from policyd.kube.configmaps import RuleMapEvents, RuleMapFeed, rule_maps
from policyd.kube.events import Events
from policyd.kube.feed import Gathering, NamespaceFeed, NodeFeed, PodFeed
from policyd.kube.lease import LeaderElection, Timing
from policyd.kube.reflector import Reflector
from policyd.kube.resources import NAMESPACES, NODES, PODS, pieces
from policyd.language.reads import concerns
from policyd.metrics import CLUSTER_EVENTS, WATCHES, Metrics, Sample
from policyd.model.owners import OWNER_KINDS, join_owners, make_owner
from policyd.model.storage import STORAGE_KINDS, join_storage, make_storage_object
from policyd.policy.outcome import Outcome
from policyd.scheduler.changes import OWNERS_CHANGED, STORAGE_CHANGED

END_SECONDS: Final = 5.0
"""How long the threads of lease and events may take to end; a call that hangs is left behind."""

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """How a cluster is used.

    `rules_namespace` is where ConfigMaps with rules are looked for: nothing for none. `lease` is
    the name of the Lease, nothing where no election is wanted; it is in `namespace`.
    """

    connection: Connection
    rules_namespace: str | None = None
    lease: str | None = None
    namespace: str = "default"
    timing: Timing | None = None


class KubeFeed:
    """A cluster that tells cache and queue by watching, and that is bound in over HTTP.

    The daemon's main thread starts and stops it; any thread may ask.
    """

    def __init__(self, site: Site, config: KubeConfig) -> None:
        self._config = config
        self._clock = site.clock
        self._host = socket.gethostname()
        self._chance = random.Random(os.urandom(8)).random  # noqa: S311 - jitter
        self.client = ApiClient(config.connection, site.clock)
        self._events = Events(self.client, site.clock, self._host)
        self.election = self._make_election(config) if config.lease else None
        self.cluster = KubeCluster(self.client, site.clock, self._events, self._leads)
        self.reflectors: list[Reflector[Any]] = [
            self._reflector(NODES, NodeFeed(site.cache, site.queue)),
            self._reflector(NAMESPACES, NamespaceFeed(site.cache, site.queue)),
            self._reflector(PODS, PodFeed(site.cache, site.queue)),
        ]
        if config.rules_namespace is not None:
            for store in site.stores:
                told = RuleMapEvents(self._events, store.name, self._leads)
                reload = ConfigMapReload(store, told)
                resource = rule_maps(config.rules_namespace, store.name)
                self.reflectors.append(self._reflector(resource, RuleMapFeed(reload.offered)))
        self._storage = Gathering(join_storage, site.queue, STORAGE_CHANGED)
        self._owners = Gathering(join_owners, site.queue, OWNERS_CHANGED)
        site.cache.look_around(self._storage.current, self._owners.current)
        self._threads: Threads | None = None
        self._lock = Lock()  # over which reflectors there are
        self._looked_at: set[str] = set()
        for store in site.stores:
            store.listen(self._rules_came)
        self._is_over = Event()
        self._ended: list[Event] = []

    def _reflector(self, resource: Any, handler: Any) -> Reflector[Any]:
        return Reflector(self.client, resource, handler, self._clock, self._chance)

    def _make_election(self, config: KubeConfig) -> LeaderElection:
        return LeaderElection(
            self.client,
            config.namespace,
            config.lease or "",
            f"{self._host}_{uuid4()}",
            self._clock,
            self._chance,
            started=lambda: _LOG.info("this replica decides"),
            lost=lambda: _LOG.error("this replica decides no more"),
            timing=config.timing,
        )

    # --- the daemon's protocol ---

    def start(self, threads: Threads) -> None:
        """Watch, tend the events, and stand for the lease, each on a thread of its own."""
        with self._lock:
            self._threads = threads
            for reflector in self.reflectors:
                self._run(reflector)
        self._start(threads, "events", self._events.tend)
        if self.election is not None:
            self._start(threads, "lease", self.election.turn)

    def stop(self) -> None:
        """Tell no more; write what is still to be written, and give the lease to others."""
        self._is_over.set()
        with self._lock:
            for reflector in self.reflectors:
                reflector.stop()
        if self.election is not None:
            self.election.wake()
        for ended in self._ended:
            ended.wait(END_SECONDS)
        if not self._events.flush():
            _LOG.warning("some events could not be written before the end")
        if self.election is not None:
            self.election.release()
        self.client.close()

    def problem(self) -> str | None:
        """Say what is not listed yet, and why if that is known."""
        for reflector in self.reflectors:
            if not reflector.has_synced.is_set():
                kind = reflector.resource.kind
                why = f": {reflector.trouble}" if reflector.trouble else ""
                return f"the objects of kind {kind} are not listed yet{why}"
        return None

    def is_standby(self) -> bool:
        """Say whether another replica decides."""
        return not self._leads()

    def measure(self, metrics: Metrics) -> None:
        """Have the metrics ask what happened to the watches and to events."""
        metrics.ask(self._samples)

    def counts(self) -> Counter[tuple[str, str]]:
        """Count what happened to the watches, by kind."""
        found: Counter[tuple[str, str]] = Counter()
        for each in self.reflectors:  # several may be of one kind
            found.update({(each.resource.kind, what): n for what, n in each.counts().items()})
        return found

    def _samples(self) -> Iterator[Sample]:
        for labels, count in self.counts().items():
            yield WATCHES, labels, count
        for result, count in self._events.counts().items():
            yield CLUSTER_EVENTS, (result,), count

    # --- what rules need beyond nodes, pods and namespaces ---

    def _rules_came(self, outcome: Outcome) -> None:
        """Watch what rules that came into force look at; from then on, as they may come again."""
        ruleset = outcome.state.ruleset
        if ruleset is None or not outcome.is_installed:
            return
        reads = frozenset().union(*(rule.reads for rule in ruleset.rules))
        if concerns(STORAGE_CHANGED, reads):
            self._look_at("storage", pieces(STORAGE_KINDS, make_storage_object), self._storage)
        if concerns(OWNERS_CHANGED, reads):
            self._look_at("owners", pieces(OWNER_KINDS, make_owner), self._owners)

    def _look_at(self, what: str, resources: Sequence[Any], handler: Any) -> None:
        with self._lock:
            if what in self._looked_at or self._is_over.is_set():
                return
            self._looked_at.add(what)
            made = [self._reflector(resource, handler) for resource in resources]
            self.reflectors = [*self.reflectors, *made]
            for reflector in made if self._threads is not None else ():
                self._run(reflector)

    # --- its threads ---

    def _run(self, reflector: Reflector[Any]) -> None:
        if self._threads is not None:
            kind = reflector.resource.kind.lower()
            self._threads.start(f"watch-{kind}", reflector.run)

    def _leads(self) -> bool:
        return self.election is None or self.election.leads

    def _start(self, threads: Threads, name: str, turn: Callable[[float], None]) -> None:
        """Run turns on a thread until `stop`, which is after the end of all that `repeat`."""
        ended = Event()
        self._ended.append(ended)

        def run() -> None:
            try:
                while not self._is_over.is_set():
                    turn(HEARTBEAT_SECONDS)
            finally:
                ended.set()

        threads.start(name, run)
