"""Rules are saved fifty times a second while sixteen threads decide and bind.

What is real: the rule file and its reload, queue, cache, deciding threads, pool, and the cluster
in memory, whose binds fail, or leave open whether they worked, by a seeded draw. Each version of
the rules lets pods onto one node only, so that every placement shows which version it was
decided by.
"""

import random
import threading
from collections import Counter

from policyd.daemon.clock import SystemClock
from policyd.daemon.reload import FileReload
from policyd.daemon.threads import Threads, WorkerPool
from policyd.policy.store import RulesetStore
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import changed_rules
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import SchedulingQueue, key_of
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import as_pod, node, pod, snapshot

PATIENCE = 60.0
DECIDERS = 16
SAVES_A_SECOND = 50
SECONDS = 4.0
NODES = 5
CPU = 40  # of each node; a pod takes one, and nodes are never all full
RULES = """
rule "room" {{ require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }}
rule "version" {{ require node.name == "n{version}" because "not of version {version}" }}
"""


class FlakyCluster(EmbeddedCluster):
    """Binds that fail, or leave open whether they worked, by a draw; and what was bound."""

    def __init__(self, cache, queue):
        super().__init__(cache, queue)
        self._draw = random.Random(7)  # noqa: S311 - a draw for a test
        self._drawing = threading.Lock()
        self.binds = Counter()

    def draw(self):
        with self._drawing:
            return self._draw.random()

    def bind(self, pod, node):
        drawn = self.draw()
        if drawn < 0.05:
            raise ClusterError("refused", Remedy.RETRY_WITH_BACKOFF)
        if drawn < 0.1:
            raise ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)
        super().bind(pod, node)
        with self._drawing:
            self.binds[key_of(pod)] += 1
        if drawn < 0.15:
            raise ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)

    def bound_node(self, pod):
        if self.draw() < 0.02:
            raise ClusterError("no route", Remedy.RETRY_WITH_BACKOFF)
        return super().bound_node(pod)


class Stress:
    """All the parts, threads included, and what they were seen to do."""

    def __init__(self, path):
        self.path = path
        self.clock = SystemClock()
        self.threads = Threads(self.clock, self.failed)
        self.store = RulesetStore("policyd", now=self.clock.now)
        self.queue = SchedulingQueue(self.clock)
        self.cache = Cache()
        self.cluster = FlakyCluster(self.cache, self.queue)
        self.pool = WorkerPool(self.clock)
        self.reload = FileReload([str(path)], self.store, self.clock)
        self.scheduler = Scheduler(
            cluster=self.cluster,
            clock=self.clock,
            pool=self.pool,
            cache=self.cache,
            queue=self.queue,
            profile_of=lambda _: self.store,
            observer=self,
        )
        self.versions = {}  # the node that each rule set, by its hash, lets pods onto
        self.wrong = []
        self.placed = Counter()
        self.decided_by = Counter()
        self.lock = threading.Lock()
        self.created = 0

    def failed(self, name):
        self.wrong.append(f"the thread {name} died")

    # --- watching ---

    def rules_came(self, outcome):
        ruleset, text = outcome.state.ruleset, outcome.state.texts[0].shown
        [node] = [f"n{at}" for at in range(NODES) if f'"n{at}"' in text]
        if outcome.is_installed:
            if self.versions.setdefault(ruleset.hash, node) != node:
                self.wrong.append(f"{ruleset.hash} is of {node} and of another")
            changed = changed_rules(outcome.before.ruleset, ruleset)
            self.queue.rules_changed("", ruleset.hash, changed)

    def attempted(self, attempt):
        """Hold every attempt to the one version that it was decided by."""
        with self.lock:
            if attempt.decision is not None and attempt.decision.ruleset is not attempt.ruleset:
                self.wrong.append(f"two rule sets in one attempt: {attempt}")
            version = self.versions[attempt.ruleset.hash]
            self.decided_by[attempt.ruleset.hash] += 1
            if attempt.result == "scheduled":
                self.placed[attempt.pod.uid] += 1
                if attempt.node != version:
                    self.wrong.append(f"{attempt.node} under the version for {version}")
            elif attempt.result == "unschedulable" and version[1:] not in attempt.message:
                self.wrong.append(f"{attempt.message} under the version for {version}")
        if attempt.result == "scheduled":
            self.pool.trail(lambda: self.end_and_begin(attempt.pod))

    def end_and_begin(self, ended):
        """Let a pod end now and then, so that there is always something to decide."""
        if self.threads.stopping.is_set() or self.cluster.draw() > 0.9:
            return
        self.cluster.delete(self.cluster.pods.get(key_of(ended), ended))
        self.create()

    def create(self):
        with self.lock:
            self.created += 1
            name = f"p{self.created}"
        manifest = pod(name, cpu="1")
        manifest["metadata"]["uid"] = name
        self.cluster.create(as_pod(manifest))

    # --- running ---

    def start(self):
        self.save(0)
        self.store.listen(self.rules_came)
        for made in snapshot(*(node(f"n{at}", cpu=str(CPU)) for at in range(NODES))).nodes:
            self.cluster.put_node(made)
        self.pool.start(self.threads)
        self.reload.start(self.threads)
        for _ in range(NODES * CPU // 2):
            self.create()
        for number in range(DECIDERS):
            self.threads.repeat(f"decider-{number}", self.scheduler.schedule_next)

    def save(self, version):
        """Save as editors do: in place, or another file that takes the name."""
        text = RULES.format(version=version)
        if self.cluster.draw() < 0.5:
            self.path.write_text(text)
        else:
            other = self.path.with_suffix(".new")
            other.write_text(text)
            other.rename(self.path)

    def watch_capacity(self):
        for made in self.cache.snapshot(self.clock.now()).nodes:
            if made.free["cpu"].sign < 0 or len(made.pods) > CPU:
                self.wrong.append(f"node {made.name} holds more than it has")

    def stop(self):
        self.threads.stop()
        self.queue.close()
        assert self.threads.join(PATIENCE, "decider-") == []
        assert self.pool.stop(PATIENCE)
        self.reload.stop()
        assert self.threads.join(PATIENCE) == []


def test_reloads_at_fifty_a_second_while_sixteen_threads_decide_and_bind(tmp_path):
    stress = Stress(tmp_path / "version.expr")
    stress.start()
    pace = threading.Event()
    for save in range(int(SECONDS * SAVES_A_SECOND)):
        stress.save(save % NODES)
        stress.watch_capacity()
        pace.wait(1 / SAVES_A_SECOND)
    stress.stop()

    assert stress.wrong == []
    assert set(stress.versions.values()) == {f"n{at}" for at in range(NODES)}
    assert len(stress.decided_by) > 1
    assert sum(stress.decided_by.values()) > 100

    # No pod is told of or bound twice, none is lost: each is on a node or still waits.
    assert set(stress.placed.values()) == {1}
    assert set(stress.cluster.binds.values()) == {1}
    # What the pool could not read back before the end stays assumed, and in flight.
    open_binds = {key_of(made) for made, _ in stress.cache.assumed()}
    for key, made in stress.cluster.pods.items():
        if not made.nodeName:
            assert stress.queue.where(made) is not None, key
        elif key not in open_binds:
            assert stress.cache.node_of(made) == made.nodeName
            assert stress.placed[key] == 1, key
    assert stress.pool.counts().failed == 0
    stress.watch_capacity()
    assert stress.wrong == []
