"""Queue, cache and cluster under anything that can happen, in any order.

Pods of two profiles come, change and go, nodes too, also in the middle of a decision or of a
bind; binds fail, or fail and work all the same, and may not be readable for a while; rules are
replaced. Binds run on real threads, one step at a time. What must hold at every moment, and in
the end when all has come to rest, stands in the invariants and in `teardown`.
"""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from policyd.policy.decide import decide
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import changed_rules
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.profile import Profiles
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import IN_FLIGHT, PLACES, SchedulingQueue, key_of
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import as_pod, node, pod, rules, snapshot
from tests.scheduler.fakes import HandClock, HandProfile, SteppedPool, pause

FIT = """
rule "room" {{ require pod.requests.all(r, node.free[r] >= pod.requests[r]) because "too little" }}
rule "open" {{ require !(node.labels["zone"] in [{closed}]) because "closed" }}
"""
RULESETS = tuple(
    rules(FIT.format(closed=closed)) for closed in ('"none"', '"a"', '"b"', '"a", "b"')
)
ZONES = st.sampled_from("ab")
GATED = st.sampled_from([False, False, False, True])
OWNERS = st.sampled_from(["red", "red", "blue", "blue", "nobody"])
FAILURES = ("refused", "worked all the same", "lost", "broken")


class LateWatch:
    """Tells the cache of binds when it is told to, as a watch does, and of all else at once."""

    def __init__(self, cache):
        self._cache = cache
        self.late = {}

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def put_pod(self, pod):
        if pod.nodeName:
            self.late[key_of(pod)] = pod
        else:
            self._cache.put_pod(pod)

    def remove_pod(self, pod):
        self.late.pop(key_of(pod), None)
        return self._cache.remove_pod(pod)

    def tell(self, count=None):
        for key in list(self.late)[:count]:
            self._cache.put_pod(self.late.pop(key))


class FlakyCluster(EmbeddedCluster):
    """An embedded cluster that pauses around every bind, and fails as it is told to."""

    def __init__(self, cache, queue):
        self.watch = LateWatch(cache)
        super().__init__(self.watch, queue)
        self.failures = []
        self.unreadable = 0
        self.binds = []

    def bind(self, pod, node):
        failure = self.failures.pop() if self.failures else None
        pause()
        if failure == "refused":
            raise ClusterError("refused", Remedy.RETRY_WITH_BACKOFF)
        if failure == "lost":
            raise ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)
        super().bind(pod, node)
        self.binds.append(key_of(pod))
        pause()
        if failure == "broken":
            raise KeyError("metadata")
        if failure == "worked all the same":
            raise ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)

    def bound_node(self, pod):
        pause()
        if self.unreadable:
            self.unreadable -= 1
            raise ClusterError("no route", Remedy.RETRY_WITH_BACKOFF)
        return super().bound_node(pod)


class Loop(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.clock = HandClock()
        self.profiles = Profiles([HandProfile(RULESETS[0], "red"), HandProfile(None, "blue")])
        self.queue = SchedulingQueue(self.clock, profile_of=self.profiles.name_of)
        self.cache = Cache()
        self.cluster = FlakyCluster(self.cache, self.queue)
        self.pool = SteppedPool()
        self.scheduler = Scheduler(
            cluster=self.cluster,
            clock=self.clock,
            pool=self.pool,
            cache=self.cache,
            queue=self.queue,
            profile_of=self.profiles.of,
            observer=self,
            timer=self.clock.monotonic,
        )
        self.meanwhile = []
        self._decide, self.scheduler._decide = self.scheduler._decide, self.decide
        self.names = 0
        self.sizes = {}
        self.scheduled = Counter()

    def decide(self, *args):
        choice = self._decide(*args)
        while self.meanwhile:
            self.meanwhile.pop()()
        return choice

    def attempted(self, attempt):
        if attempt.decision is not None:
            assert attempt.decision.ruleset is attempt.ruleset
        assert attempt.profile in ("red", "blue")
        self.scheduled[attempt.pod.uid] += attempt.result == "scheduled"

    # --- what happens ---

    @initialize(zones=st.tuples(ZONES, ZONES))
    def nodes_are_there(self, zones):
        for name, zone in zip("xy", zones, strict=True):
            self.node_comes_or_changes(name, zone, 5)

    @rule(cpus=st.lists(st.integers(1, 4), min_size=1, max_size=4), gated=GATED, owner=OWNERS)
    def pods_come(self, cpus, gated, owner):
        for cpu in cpus:
            self.names += 1
            self.cluster.create(self._pod(f"p{self.names}", cpu, owner, gated=gated))

    def _pod(self, name, cpu, owner, *, gated=False):
        manifest = pod(name, cpu=str(cpu))
        manifest["metadata"]["uid"] = name
        manifest["spec"]["schedulerName"] = owner
        if gated:
            manifest["spec"]["schedulingGates"] = [{"name": "g"}]
        return as_pod(manifest)

    @precondition(lambda self: self.cluster.pods)
    @rule(data=st.data())
    def pod_goes(self, data):
        bound = sorted(key for key, made in self.cluster.pods.items() if made.nodeName)
        key = data.draw(st.sampled_from(bound or sorted(self.cluster.pods)))
        self.cluster.delete(self.cluster.pods[key])

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), cpu=st.integers(1, 4))
    def waiting_pod_changes(self, data, cpu):
        # What it asks for changes only before it is decided: the API server is as strict.
        made = data.draw(st.sampled_from(self.waiting()))
        owner = made.spec["schedulerName"]
        if self.queue.where(made) == IN_FLIGHT:
            cpu = made.requests["cpu"]
        self.cluster.create(self._pod(made.name, cpu, owner))

    def waiting(self):
        return [made for made in self.cluster.pods.values() if not made.nodeName]

    @rule(name=st.sampled_from("xyz"), zone=ZONES, cpu=st.integers(5, 8))
    def node_comes_or_changes(self, name, zone, cpu):
        # A node never shrinks, not even when it returns: a bind in flight may still count on it.
        size = self.sizes[name] = max(cpu, self.sizes.get(name, 0))
        self.cluster.put_node(snapshot(node(name, {"zone": zone}, cpu=str(size))).nodes[0])

    @rule(name=st.sampled_from("xyz"))
    def node_goes(self, name):
        self.cluster.remove_node(name)

    @rule(kind=st.sampled_from(FAILURES), unreadable=st.integers(0, 3))
    def next_bind_fails(self, kind, unreadable):
        self.cluster.failures.append(kind)
        self.cluster.unreadable = unreadable

    @rule(name=st.sampled_from(["red", "blue"]), ruleset=st.sampled_from(RULESETS))
    def rules_are_replaced(self, name, ruleset):
        profile = self.profiles.named(name)
        before, profile.current = profile.current, ruleset
        self.queue.rules_changed(name, ruleset.hash, changed_rules(before, ruleset))

    @rule(name=st.sampled_from("xyz"), zone=ZONES, cpu=st.integers(5, 8), tried=st.booleans())
    def a_node_changes_during_the_next_decision(self, name, zone, cpu, tried):
        self.meanwhile.append(lambda: self.node_comes_or_changes(name, zone, cpu))
        if tried:
            self.scheduler.schedule_next(timeout=0)

    @rule(name=st.sampled_from("xyz"))
    def a_node_goes_during_the_next_decision(self, name):
        self.meanwhile.append(lambda: self.node_goes(name))

    @rule(ruleset=st.sampled_from(RULESETS), tried=st.booleans())
    def rules_are_replaced_during_the_next_decision(self, ruleset, tried):
        self.meanwhile.append(lambda: self.rules_are_replaced("red", ruleset))
        if tried:
            self.scheduler.schedule_next(timeout=0)

    @rule(times=st.integers(1, 3))
    def others_are_decided_during_the_next_decision(self, times):
        def decide():
            for _ in range(times):
                self.scheduler.schedule_next(timeout=0)

        self.meanwhile.append(decide)

    @rule()
    def pods_in_flight_are_deleted_during_the_next_decision(self):
        def delete():
            for made in self.waiting():
                if self.queue.where(made) == IN_FLIGHT:
                    self.cluster.delete(made)

        self.meanwhile.append(delete)

    @rule(times=st.integers(1, 4))
    def pods_are_tried(self, times):
        for _ in range(times):
            self.scheduler.schedule_next(timeout=0)

    @rule()
    def all_comes_to_rest(self):
        for _ in range(50):
            self.pool.run()
            if not self.scheduler.schedule_next(timeout=0):
                return

    @precondition(lambda self: len(self.pool))
    @rule(data=st.data(), times=st.integers(1, 4))
    def the_pool_works(self, data, times):
        for _ in range(times):
            if len(self.pool):
                self.pool.step(data.draw(st.integers(0, len(self.pool) - 1)))

    @rule(count=st.integers(1, 3))
    def the_watch_tells(self, count):
        self.cluster.watch.tell(count)

    @rule(seconds=st.integers(1, 12))
    def time_passes(self, seconds):
        self.clock.seconds += seconds
        self.pool.pass_time()

    # --- what must hold ---

    @invariant()
    def no_node_holds_more_than_it_has(self):
        for made in self.cache.snapshot(self.clock.now()).nodes:
            assert made.free["cpu"].sign >= 0
            assert made.free["pods"].sign >= 0

    @invariant()
    def no_node_is_promised_more_than_it_has(self):
        promised = Counter()
        for made in self.cluster.pods.values():
            promised[made.nodeName] += made.requests["cpu"].nanos
        for name, made in self.cluster.nodes.items():
            assert promised[name] <= made.allocatable["cpu"].nanos

    @invariant()
    def totals_are_the_sums(self):
        found = self.cache.snapshot(self.clock.now())
        for resource in ("cpu", "memory", "pods"):
            used = sum(made.used[resource].nanos for made in found.nodes)
            assert found.cluster.used[resource].nanos == used
        assert found.cluster.pods == len(self.cluster.pods)

    @invariant()
    def every_waiting_pod_is_in_one_place(self):
        ignored = set(self.queue._ignored)
        for key, made in self.cluster.pods.items():
            where = self.queue.where(made)
            if made.spec["schedulerName"] == "nobody":
                assert (where, key in ignored) == (None, True)
            else:
                assert where in ((None, IN_FLIGHT) if made.nodeName else PLACES)
                assert key not in ignored
        known = Counter(queued.place for queued in self.queue._pods.values())
        assert {place: known[place] for place in PLACES} == self.queue.counts()
        assert set(self.queue._pods) | ignored <= set(self.cluster.pods)

    @invariant()
    def no_pod_is_bound_or_told_of_twice(self):
        assert len(self.cluster.binds) == len(set(self.cluster.binds))
        assert all(times <= 1 for times in self.scheduled.values())

    @invariant()
    def what_the_cluster_bound_is_on_that_node(self):
        for made in self.cluster.pods.values():
            if made.nodeName:
                assert self.cache.node_of(made) == made.nodeName

    def teardown(self):
        """Let everything come to rest: then no pod waits that would fit."""
        self.cluster.failures.clear()
        self.cluster.unreadable = 0
        self.meanwhile.clear()
        for _ in range(200):
            self.cluster.watch.tell()
            self.pool.pass_time()
            self.pool.run()
            if not self.scheduler.schedule_next(timeout=0):
                if not (self.queue.counts()["backoff"] or len(self.pool) or self.pool.delayed):
                    break
                self.clock.seconds += 11
        self.cluster.watch.tell()
        counts = self.queue.counts()
        assert (counts["active"], counts["backoff"], counts["in flight"]) == (0, 0, 0)
        found = self.cache.snapshot(self.clock.now())
        for queued in self.queue.pending():
            ruleset = self.profiles.named(queued.profile).current
            if ruleset is not None and not queued.pod.gates:
                assert not decide(ruleset, queued.pod, found).fits, queued.reason
        assert self.cache.assumed() == []


Loop.TestCase.settings = settings(
    max_examples=3 * settings().max_examples, stateful_step_count=50, deadline=None
)
TestLoop = pytest.mark.timeout(600)(Loop.TestCase)  # the machine may be busy
