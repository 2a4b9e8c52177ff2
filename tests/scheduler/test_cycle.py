"""What becomes of a pod that is tried: bound, back with the reason, or back after a failure."""

import pytest

from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import SchedulingQueue
from tests.policy.build import as_pod, node, pod, rules, snapshot
from tests.scheduler.fakes import HandClock, HandProfile, HeldPool, ScriptedCluster

FIT = 'rule "fit" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'


class Loop:
    """A scheduling loop whose cluster, clock and pool are in the test's hand."""

    def __init__(self, text=FIT, nodes=("a", "b")):
        self.clock = HandClock()
        self.queue = SchedulingQueue(self.clock)
        self.cache = Cache()
        self.cluster = ScriptedCluster()
        self.pool = HeldPool()
        self.attempts = []
        self.profile = HandProfile(rules(text) if text is not None else None)
        for made in snapshot(*map(node, nodes)).nodes if nodes else ():
            self.cache.put_node(made)
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

    def attempted(self, attempt):
        self.attempts.append(attempt)

    def add(self, name, **requests):
        manifest = pod(name, **requests)
        manifest["metadata"]["uid"] = name
        made = as_pod(manifest)
        self.queue.add(made)
        return made

    def turn(self):
        assert self.scheduler.schedule_next(timeout=0)
        self.pool.run()


def test_a_pod_that_fits_is_assumed_at_once_and_bound_by_the_pool():
    loop = Loop()
    made = loop.add("p", cpu="1")
    loop.scheduler.schedule_next(timeout=0)
    assert loop.cache.node_of(made) is not None
    assert loop.queue.where(made) == "in flight"
    assert loop.cluster.bound == {}
    loop.pool.run()
    assert loop.cluster.bound == {"p": loop.cache.node_of(made)}
    assert loop.cluster.events == [("p", loop.cache.node_of(made))]
    assert loop.queue.where(made) is None
    assert [(a.result, a.node) for a in loop.attempts] == [("scheduled", loop.cluster.bound["p"])]


def test_pods_decided_before_any_bind_do_not_share_what_is_there_once():
    loop = Loop(nodes=("a",))
    for name in "xyz":
        loop.add(name, cpu="2")
    while loop.scheduler.schedule_next(timeout=0):
        pass
    loop.pool.run()
    assert sorted(loop.cluster.bound) == ["x", "y"]
    assert loop.cluster.conditions["z"] == (
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
    )


def test_a_rejected_pod_waits_and_is_tried_when_something_helps():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="5")
    loop.turn()
    assert loop.queue.where(made) == "unschedulable"
    loop.queue.changed(frozenset({"node.images"}))
    assert loop.queue.where(made) == "unschedulable"
    loop.queue.changed(frozenset({"node.allocatable", "node.free"}))
    assert loop.queue.where(made) == "backoff"


def test_the_message_counts_reasons_and_sorts_them_as_text():
    text = """
    rule "one" { require node.name == "x" because ["b", "a"] }
    rule "two" { require node.name != "n1" because "c" }
    rule "shadow" { mode shadow require false because "never said" }
    """
    loop = Loop(text, nodes=[f"n{at}" for at in range(11)])
    loop.add("p")
    loop.turn()
    assert loop.cluster.conditions["p"][1] == ("0/11 nodes are available: 1 c, 11 a, 11 b.")


def test_no_nodes_has_its_own_message_and_a_node_helps():
    loop = Loop(nodes=())
    made = loop.add("p")
    loop.turn()
    assert loop.cluster.conditions["p"][1] == "no nodes are available to schedule pods"
    loop.queue.changed(frozenset({"node"}))
    assert loop.queue.where(made) == "backoff"


@pytest.mark.parametrize(
    ("remedy", "place"),
    [
        (Remedy.RETRY_AT_ONCE, "active"),
        (Remedy.RETRY_WITH_BACKOFF, "backoff"),
        (Remedy.WAIT_FOR_CHANGE, "unschedulable"),
        (Remedy.NEEDS_PERSON, "unschedulable"),
    ],
)
def test_a_bind_that_fails_is_taken_back_and_the_pod_goes_where_its_error_says(remedy, place):
    loop = Loop()
    made = loop.add("p", cpu="1")
    loop.cluster.answers = [ClusterError("conflict", remedy)]
    loop.turn()
    assert loop.cache.node_of(made) is None
    assert loop.queue.where(made) == place
    assert loop.attempts[0].result == "error"
    assert loop.attempts[0].failures == ("conflict",)


def test_an_ambiguous_bind_that_worked_is_found_out():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="1")
    loop.cluster.answers = [ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)]
    loop.cluster.read_back = "a"
    loop.turn()
    assert loop.cache.node_of(made) == "a"
    assert loop.queue.where(made) is None
    assert loop.attempts[0].result == "scheduled"
    assert loop.attempts[0].failures == ("timeout",)


def test_several_failures_of_one_attempt_are_reported_together():
    loop = Loop()
    loop.add("p", cpu="1")
    loop.cluster.answers = [ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)]
    loop.cluster.read_back = ClusterError("no route", Remedy.RETRY_WITH_BACKOFF)
    loop.turn()
    assert loop.attempts[0].message == "timeout; no route"
    assert loop.cluster.conditions["p"] == ("SchedulerError", "timeout; no route")


def test_a_decision_past_its_deadline_ends_and_the_pod_comes_again():
    loop = Loop()
    made = loop.add("p")
    ticks = iter([0.0, 0.1, 0.7, 0.8, 0.9])
    loop.scheduler._timer = lambda: next(ticks)
    loop.turn()
    assert loop.queue.where(made) == "backoff"
    assert loop.attempts[0].message == "the decision took longer than 0.5 s"


def test_a_pod_whose_decision_breaks_does_not_stop_the_loop(monkeypatch, caplog):
    loop = Loop()
    broken = loop.add("p", cpu="1")
    loop.add("q", cpu="1")
    real = loop.scheduler._decide

    def decide(ruleset, made, *rest):
        if made.name == "p":
            raise ZeroDivisionError("oops")
        return real(ruleset, made, *rest)

    monkeypatch.setattr(loop.scheduler, "_decide", decide)
    loop.turn()
    loop.turn()
    assert loop.queue.where(broken) == "backoff"
    assert "ZeroDivisionError: oops" in loop.cluster.conditions["p"][1]
    assert "q" in loop.cluster.bound
    assert "the decision for default/p failed" in caplog.text


def test_without_a_rule_set_nothing_is_decided():
    loop = Loop(text=None)
    made = loop.add("p")
    loop.turn()
    assert loop.queue.where(made) == "unschedulable"
    assert loop.attempts[0].message == "no rule set is in force"
    loop.profile.current = rules(FIT)
    loop.queue.rules_changed("", loop.profile.current.hash)
    loop.turn()
    assert "p" in loop.cluster.bound


def test_a_node_that_changes_between_decision_and_assumption_makes_the_decision_again():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="1")
    real = loop.scheduler._decide

    def decide(*args):
        decision = real(*args)
        loop.cache.put_node(snapshot(node("a")).nodes[0])
        return decision

    loop.scheduler._decide = decide
    loop.turn()
    assert loop.queue.where(made) == "active"
    loop.scheduler._decide = real
    loop.turn()
    assert loop.cluster.bound == {"p": "a"}
