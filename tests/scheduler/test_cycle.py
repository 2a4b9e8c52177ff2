"""What becomes of a pod that is tried: bound, back with the reason, or back after a failure."""

from itertools import chain, repeat

import pytest

from policyd.policy.decide import decide
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import PODS_CHANGED, PODS_PLACED
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import SchedulingQueue
from policyd.simulation.embedded import EmbeddedCluster
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
    assert loop.attempts == []
    loop.cluster.read_back = None
    loop.pool.pass_time()
    assert loop.attempts[0].message == "timeout; no route"
    assert loop.attempts[0].failures == ("timeout", "no route")
    assert loop.cluster.conditions["p"] == ("SchedulerError", "timeout; no route")


def test_nothing_is_undone_while_it_is_not_known_whether_the_bind_worked():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="3")
    loop.cluster.answers = [ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)]
    loop.cluster.read_back = ClusterError("no route", Remedy.RETRY_WITH_BACKOFF)
    loop.turn()
    waits = []
    for _ in range(6):
        [(seconds, _)] = loop.pool.delayed
        waits.append(seconds)
        loop.pool.pass_time()
        assert loop.cache.node_of(made) == "a"
        assert loop.queue.where(made) == "in flight"
    assert waits == [1, 2, 4, 8, 10, 10]
    loop.cluster.read_back = "a"
    loop.pool.pass_time()
    assert loop.cache.node_of(made) == "a"
    assert loop.queue.where(made) is None
    assert [(a.result, a.failures) for a in loop.attempts] == [
        ("scheduled", ("timeout", "no route"))
    ]


def test_what_the_watch_says_settles_a_bind_that_cannot_be_read_back():
    loop = Loop(nodes=("a",))
    loop.add("p", cpu="3")
    loop.cluster.answers = [ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)]
    loop.cluster.read_back = ClusterError("no route", Remedy.RETRY_WITH_BACKOFF)
    loop.turn()
    manifest = pod("p", on="a", cpu="3")
    manifest["metadata"]["uid"] = "p"
    loop.cache.put_pod(as_pod(manifest))
    loop.pool.pass_time()
    assert [a.result for a in loop.attempts] == ["scheduled"]


def test_a_pod_that_somebody_else_bound_is_let_go():
    loop = Loop()
    made = loop.add("p", cpu="1")
    loop.cluster.answers = [ClusterError("timeout", Remedy.RETRY_WITH_BACKOFF, ambiguous=True)]
    loop.cluster.read_back = "elsewhere"
    loop.turn()
    assert (loop.queue.where(made), loop.cache.node_of(made)) == (None, None)
    assert loop.attempts[0].result == "error"
    assert "was bound to elsewhere meanwhile" in loop.attempts[0].message


def test_a_fault_of_the_client_leaves_open_whether_it_worked(caplog):
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="1")

    def bind(bound, node):
        loop.cluster.bound[bound.name] = node
        raise KeyError("metadata")

    loop.cluster.bind = bind
    loop.cluster.read_back = "a"
    loop.turn()
    assert loop.queue.where(made) is None
    assert loop.attempts[0].result == "scheduled"
    assert "KeyError: 'metadata'" in caplog.text


def test_a_pod_that_is_deleted_while_it_is_decided_on_is_not_bound():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="1")
    real = loop.scheduler._decide

    def decide(*args):
        loop.queue.delete(made)
        return real(*args)

    loop.scheduler._decide = decide
    loop.turn()
    assert loop.cluster.bound == {}
    assert loop.cache.assumed() == []


def test_a_pod_that_is_updated_in_flight_is_bound_as_it_was_decided():
    loop = Loop(nodes=("a",))
    loop.add("p", cpu="1")
    loop.scheduler.schedule_next(timeout=0)
    loop.add("p", cpu="4")
    loop.pool.run()
    assert loop.attempts[0].pod.requests["cpu"] == 1
    assert loop.cache.node("a").free["cpu"] == 3


def test_who_watches_does_not_stop_who_works(caplog):
    loop = Loop()
    loop.attempted = None
    loop.add("p", cpu="1")
    loop.turn()
    assert "p" in loop.cluster.bound
    assert "an attempt could not be noted" in caplog.text


def test_an_attempt_tells_whose_it_is_how_often_and_how_long():
    loop = Loop(nodes=("a",))
    loop.add("p", cpu="5")
    loop.clock.seconds = 2
    loop.turn()
    loop.queue.changed(frozenset({"node.free"}))
    loop.clock.seconds = 7
    loop.turn()
    told = [(a.profile, a.attempts, a.waited, a.flushed, a.number) for a in loop.attempts]
    assert told == [("policyd", 1, 2, False, 1), ("policyd", 2, 7, False, 2)]


def test_a_decision_past_its_deadline_ends_and_the_pod_comes_again():
    loop = Loop()
    loop.add("first")
    loop.turn()
    made = loop.add("p")
    loop.attempts.clear()
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

    def decide(trial, *rest):
        if trial.pod.name == "p":
            raise ZeroDivisionError("oops")
        return real(trial, *rest)

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


def decided_while(loop, happens):
    """Let something happen between the next decision and its assumption."""
    real = loop.scheduler._decide

    def decide(*args):
        loop.scheduler._decide = real
        choice = real(*args)
        happens()
        return choice

    loop.scheduler._decide = decide


def test_a_decision_on_a_node_that_changed_is_made_again_for_that_node():
    loop = Loop(nodes=("a",))
    loop.add("p", cpu="1")
    decided_while(loop, lambda: loop.cache.put_node(snapshot(node("a")).nodes[0]))
    loop.turn()
    assert loop.cluster.bound == {"p": "a"}
    assert len(loop.attempts) == 1


def test_a_decision_that_another_made_worthless_starts_over_at_once():
    loop = Loop(nodes=("a", "b"))
    made = loop.add("p", cpu="3")
    other = loop.add("q", cpu="3")
    loop.queue.delete(other)
    taken = []

    def another_takes_the_place():
        [name] = [n for n in "ab" if n == chosen(loop, made)]
        taken.append(name)
        loop.cache.assume(other, loop.cache.node(name))

    decided_while(loop, another_takes_the_place)
    loop.turn()
    assert loop.queue.where(made) == "active"
    assert (loop.attempts[0].result, loop.attempts[0].cause) == ("error", "stale")
    assert loop.cluster.conditions == {}
    loop.turn()
    assert loop.cluster.bound == {"p": "ab".replace(taken[0], "")}


def chosen(loop, made):
    return decide(loop.profile.current, made, loop.cache.snapshot(loop.clock.now())).node.name


def test_a_node_that_vanishes_between_decision_and_assumption_starts_over():
    loop = Loop(nodes=("a",))
    made = loop.add("p", cpu="1")
    decided_while(loop, lambda: loop.cache.remove_node("a"))
    loop.turn()
    assert loop.queue.where(made) == "active"
    loop.turn()
    assert loop.cluster.conditions["p"][1] == "no nodes are available to schedule pods"


@pytest.mark.parametrize(
    ("failure", "cause"),
    [("deadline", "deadline"), ("none", "rules"), ("bind", "bind"), ("break", "fault")],
)
def test_every_error_has_a_cause(failure, cause):
    loop = Loop(text=None if failure == "none" else FIT)
    loop.add("p", cpu="1")
    if failure == "deadline":
        ticks = iter([0.0, 5.7, 5.8, 5.9])
        loop.scheduler._timer = lambda: next(ticks)
    if failure == "bind":
        loop.cluster.answers = [ClusterError("conflict", Remedy.RETRY_WITH_BACKOFF)]
    if failure == "break":
        loop.scheduler._decide = None
    loop.turn()
    assert [(a.result, a.cause) for a in loop.attempts] == [("error", cause)]


def test_another_pods_placement_helps_only_whom_the_rules_say_it_may():
    loop = Loop(
        'rule "near" { require node.pods.exists(p, p.name == "db") || pod.name == "db" }'
        'rule "room" { require node.free.cpu >= pod.requests.cpu }',
        nodes=("a",),
    )
    cluster = EmbeddedCluster(loop.cache, loop.queue)
    cluster.put_node(snapshot(node("a")).nodes[0])
    near, large = loop.add("web", cpu="1"), loop.add("large", cpu="9")
    loop.scheduler._cluster = loop.scheduler._binder._cluster = cluster
    loop.turn()
    loop.turn()
    assert [loop.queue.where(made) for made in (near, large)] == ["unschedulable"] * 2
    loop.clock.seconds = 5
    cluster.create(as_pod(pod("db", cpu="1")))
    loop.turn()
    assert cluster.is_bound(as_pod(pod("db")))
    assert [loop.queue.where(made) for made in (near, large)] == ["active", "active"]


def test_who_only_waits_for_room_is_left_alone_when_others_are_placed():
    loop = Loop(nodes=("a",))
    large = loop.add("large", cpu="9")
    loop.turn()
    loop.clock.seconds = 5
    loop.queue.changed(PODS_PLACED)
    assert loop.queue.where(large) == "unschedulable"
    loop.queue.changed(PODS_CHANGED)
    assert loop.queue.where(large) == "active"


def test_what_a_failed_bind_gives_back_helps_others_and_not_the_pod_itself():
    loop = Loop(nodes=("a",))
    first, second = loop.add("p", cpu="3"), loop.add("q", cpu="3")
    loop.cluster.answers = [ClusterError("conflict", Remedy.WAIT_FOR_CHANGE)]
    loop.scheduler.schedule_next(timeout=0)
    loop.scheduler.schedule_next(timeout=0)
    assert loop.queue.where(second) == "unschedulable"
    loop.clock.seconds = 2
    loop.pool.run()
    assert loop.queue.where(first) == "unschedulable"
    assert loop.queue.where(second) == "active"


def test_the_first_decision_under_a_rule_set_has_more_time_and_only_the_first():
    loop = Loop()
    for name in "pqrs":
        loop.add(name, cpu="1")
    for replaced, took in ((False, 0.7), (False, 0.7), (True, 0.7), (True, 5.7)):
        if replaced:
            loop.profile.current = rules(FIT)
        times = chain([0.0], repeat(took))
        loop.scheduler._timer = lambda times=times: next(times)
        loop.turn()
    assert [(a.result, a.cause, a.message) for a in loop.attempts] == [
        ("scheduled", "", ""),
        ("error", "deadline", "the decision took longer than 0.5 s"),
        ("scheduled", "", ""),
        ("error", "deadline", "the decision took longer than 5 s"),
    ]
