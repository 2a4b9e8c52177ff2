"""Queue, cache and cluster under anything that can happen, in any order.

Pods come, change and go, nodes too; binds fail, or fail and work all the same; rules are replaced;
the pool does its work in whatever order. What must hold at every moment, and in the end when all
has come to rest, stands in the invariants and in `teardown`.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from policyd.policy.decide import decide
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import IN_FLIGHT, PLACES, SchedulingQueue, key_of
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import as_pod, node, pod, rules, snapshot
from tests.scheduler.fakes import HandClock, HandProfile, HeldPool

FIT = """
rule "fit" {{
  require pod.requests.all(r, node.free[r] >= pod.requests[r]) because "too little"
  require node.labels["zone"] != "{closed}" because "closed"
}}
"""
RULESETS = tuple(rules(FIT.format(closed=closed)) for closed in ("none", "a", "b"))
ZONES = st.sampled_from("ab")
GATED = st.sampled_from([False, False, False, True])


class FlakyCluster(EmbeddedCluster):
    """An embedded cluster whose next binds may fail, before they take effect or after."""

    def __init__(self, cache, queue):
        super().__init__(cache, queue)
        self.failures = []
        self.binds = []

    def bind(self, pod, node):
        failure = self.failures.pop() if self.failures else None
        if failure == "before":
            raise ClusterError("refused", Remedy.RETRY_WITH_BACKOFF)
        super().bind(pod, node)
        self.binds.append(key_of(pod))
        if failure == "after":
            raise ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)


class Loop(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.clock = HandClock()
        self.queue = SchedulingQueue(self.clock)
        self.cache = Cache()
        self.cluster = FlakyCluster(self.cache, self.queue)
        self.pool = HeldPool()
        self.profile = HandProfile(RULESETS[0])
        self.scheduler = Scheduler(
            cluster=self.cluster,
            clock=self.clock,
            pool=self.pool,
            cache=self.cache,
            queue=self.queue,
            profile_of=lambda _: self.profile,
            observer=self,
            timer=self.clock.monotonic,
        )
        self.names = 0
        self.sizes = {}

    def attempted(self, attempt):
        if attempt.decision is not None:
            assert attempt.decision.ruleset is attempt.ruleset

    # --- what happens ---

    @initialize(zones=st.tuples(ZONES, ZONES))
    def nodes_are_there(self, zones):
        for name, zone in zip("xy", zones, strict=True):
            self.node_comes_or_changes(name, zone, 5)

    @rule(cpus=st.lists(st.integers(1, 4), min_size=1, max_size=4), gated=GATED)
    def pods_come(self, cpus, gated):
        for cpu in cpus:
            self._pod_comes(cpu, gated)

    def _pod_comes(self, cpu, gated):
        self.names += 1
        manifest = pod(f"p{self.names}", cpu=str(cpu))
        manifest["metadata"]["uid"] = f"p{self.names}"
        if gated:
            manifest["spec"]["schedulingGates"] = [{"name": "g"}]
        self.cluster.create(as_pod(manifest))

    @precondition(lambda self: self.cluster.pods)
    @rule(data=st.data())
    def pod_goes(self, data):
        bound = sorted(key for key, made in self.cluster.pods.items() if made.nodeName)
        key = data.draw(st.sampled_from(bound or sorted(self.cluster.pods)))
        self.cluster.delete(self.cluster.pods[key])

    @rule(name=st.sampled_from("xyz"), zone=ZONES, cpu=st.integers(5, 8))
    def node_comes_or_changes(self, name, zone, cpu):
        # A node never shrinks, not even when it returns: a bind in flight may still count on it.
        size = self.sizes[name] = max(cpu, self.sizes.get(name, 0))
        self.cluster.put_node(snapshot(node(name, {"zone": zone}, cpu=str(size))).nodes[0])

    @rule(name=st.sampled_from("xyz"))
    def node_goes(self, name):
        self.cluster.remove_node(name)

    @rule(kind=st.sampled_from(["before", "after"]))
    def next_bind_fails(self, kind):
        self.cluster.failures.append(kind)

    @rule(ruleset=st.sampled_from(RULESETS))
    def rules_are_replaced(self, ruleset):
        self.profile.current = ruleset
        self.queue.rules_changed("", ruleset.hash)

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

    @precondition(lambda self: self.pool.work)
    @rule(data=st.data(), times=st.integers(1, 4))
    def the_pool_works(self, data, times):
        for _ in range(min(times, len(self.pool.work))):
            at = data.draw(st.integers(0, len(self.pool.work) - 1))
            self.pool.work.pop(at)()

    @rule(seconds=st.integers(1, 12))
    def time_passes(self, seconds):
        self.clock.seconds += seconds

    # --- what must hold ---

    @invariant()
    def no_node_holds_more_than_it_has(self):
        for made in self.cache.snapshot(self.clock.now()).nodes:
            assert made.free["cpu"].sign >= 0
            assert made.free["pods"].sign >= 0

    @invariant()
    def totals_are_the_sums(self):
        found = self.cache.snapshot(self.clock.now())
        for resource in ("cpu", "memory", "pods"):
            used = sum(made.used[resource].nanos for made in found.nodes)
            assert found.cluster.used[resource].nanos == used

    @invariant()
    def every_waiting_pod_is_in_one_place(self):
        for made in self.cluster.pods.values():
            assert self.queue.where(made) in ((None, IN_FLIGHT) if made.nodeName else PLACES)
        known = Counter(queued.place for queued in self.queue._pods.values())
        assert {place: known[place] for place in PLACES} == self.queue.counts()
        assert set(self.queue._pods) <= set(self.cluster.pods)

    @invariant()
    def no_pod_is_bound_twice(self):
        assert len(self.cluster.binds) == len(set(self.cluster.binds))

    @invariant()
    def what_the_cluster_bound_is_on_that_node(self):
        for made in self.cluster.pods.values():
            if made.nodeName:
                assert self.cache.node_of(made) == made.nodeName

    def teardown(self):
        """Let everything come to rest: then no pod waits that would fit."""
        self.cluster.failures.clear()
        for _ in range(200):
            self.pool.run()
            if not self.scheduler.schedule_next(timeout=0):
                if not (self.queue.counts()["backoff"] or self.pool.work):
                    break
                self.clock.seconds += 11
        counts = self.queue.counts()
        assert (counts["active"], counts["backoff"], counts["in flight"]) == (0, 0, 0)
        found = self.cache.snapshot(self.clock.now())
        for queued in self.queue.pending():
            if not queued.pod.gates:
                assert not decide(self.profile.current, queued.pod, found).fits, queued.reason
        assert self.cache.assumed() == []


Loop.TestCase.settings = settings(
    max_examples=4 * settings().max_examples, stateful_step_count=60, deadline=None
)
TestLoop = Loop.TestCase
