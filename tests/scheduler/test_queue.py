"""Where pods wait, in which order, and until when."""

import threading

import pytest

from policyd.scheduler.profile import Profiles
from policyd.scheduler.protocols import Remedy
from policyd.scheduler.queue import SchedulingQueue
from tests.policy.build import as_pod, pod
from tests.scheduler.fakes import HandClock, HandProfile


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def queue(clock):
    return SchedulingQueue(clock)


def make(name, priority=0, created="2026-01-01T00:00:00Z", gates=()):
    manifest = pod(name)
    manifest["metadata"] |= {"uid": name, "creationTimestamp": created}
    manifest["spec"] |= {
        "priority": priority,
        "schedulingGates": [{"name": gate} for gate in gates],
    }
    return as_pod(manifest)


def popped(queue):
    queued = queue.pop(timeout=0)
    return queued.pod.name if queued else None


def reject(queue, queued, *reads, ruleset="one"):
    queue.unschedulable(queued, reads=frozenset(reads), ruleset=ruleset, reason="no")


def test_higher_priority_first_then_the_older_then_the_uid(queue):
    for made in (
        make("d", 0, "2026-01-02T00:00:00Z"),
        make("c", 0),
        make("b", 0),
        make("a", 10, "2026-01-03T00:00:00Z"),
    ):
        queue.add(made)
    assert [popped(queue) for _ in range(5)] == ["a", "b", "c", "d", None]


def test_a_rejected_pod_waits_for_a_change_of_what_its_rules_read(queue, clock):
    queue.add(make("a"))
    reject(queue, queue.pop(0), "node.labels")
    queue.changed(frozenset({"node.taints"}))
    clock.seconds = 100
    assert popped(queue) is None
    queue.changed(frozenset({"node.labels"}))
    clock.seconds = 101
    assert popped(queue) == "a"


@pytest.mark.parametrize(
    ("read", "change", "helps"),
    [
        ("node.labels", "node", True),
        ("node.*", "node.labels", True),
        ("node.labels.zone", "node.labels", True),
        ("node.labels", "node.labelsx", False),
        ("pod.labels", "node.labels", False),
    ],
)
def test_what_concerns_what(queue, clock, read, change, helps):
    queue.add(make("a"))
    reject(queue, queue.pop(0), read)
    queue.changed(frozenset({change}))
    clock.seconds = 1
    assert popped(queue) == ("a" if helps else None)


def test_backoff_doubles_from_one_second_to_ten(queue, clock):
    queue.add(make("a"))
    waited = []
    for _ in range(6):
        reject(queue, queue.pop(0), "node.used")
        queue.changed(frozenset({"node.used"}))
        waited.append(queue.next_time() - clock.seconds)
        clock.seconds = queue.next_time()
    assert waited == [1, 2, 4, 8, 10, 10]


def test_a_change_while_the_pod_is_in_flight_is_not_missed(queue):
    queue.add(make("a"))
    queued = queue.pop(0)
    queue.changed(frozenset({"node.labels"}))
    reject(queue, queued, "node.labels")
    assert queue.where(queued.pod) == "backoff"


def test_a_change_before_the_pod_was_taken_does_not_count(queue):
    queue.add(make("a"))
    queue.changed(frozenset({"node.labels"}))
    queued = queue.pop(0)
    reject(queue, queued, "node.labels")
    assert queue.where(queued.pod) == "unschedulable"


def test_new_rules_bring_back_at_once_those_rejected_under_others(queue):
    for name in "ab":
        queue.add(make(name))
    reject(queue, queue.pop(0), "node.labels", ruleset="old")
    reject(queue, queue.pop(0), "node.labels", ruleset="new")
    queue.rules_changed("", "new")
    assert popped(queue) == "a"
    assert popped(queue) is None


def test_gated_pods_are_not_tried_until_the_gates_are_gone(queue):
    queue.add(make("a", gates=["quota"]))
    assert popped(queue) is None
    assert queue.where(make("a")) == "gated"
    queue.update(make("a"))
    assert popped(queue) == "a"


def test_a_pod_counts_as_waiting_from_when_its_gates_are_gone(queue, clock):
    queue.add(make("a", gates=["quota"]))
    clock.seconds = 100
    queue.update(make("a"))
    queued = queue.pop(0)
    assert queued.added == 100
    queue.failed(queued, Remedy.RETRY_AT_ONCE, "no")
    clock.seconds = 200
    assert queue.pop(0).added == 100


def test_a_pod_knows_what_brought_it_back_whether_or_not_it_backed_off(queue, clock):
    queue.add(make("a"))
    queued = queue.pop(0)
    assert queued.event == "PodAdd"
    reject(queue, queued, "node.free")
    queue.changed(frozenset({"node.free"}))
    clock.seconds = 1
    assert queue.pop(0).event == "ClusterChange"
    reject(queue, queued, "node.free")
    queue.rules_changed("", "two")
    assert queue.pop(0).event == "RulesChange"


def test_a_pod_is_tried_again_with_its_new_state_when_what_changed_was_read(queue, clock):
    queue.add(make("a"))
    reject(queue, queue.pop(0), "pod.priority")
    queue.update(make("a", priority=7))
    clock.seconds = 1
    assert queue.pop(0).pod.priority == 7


def test_a_write_to_the_pod_that_no_rule_read_does_not_bring_it_back(queue, clock):
    queue.add(make("a"))
    queued = queue.pop(0)
    reject(queue, queued, "pod.labels")
    queue.update(make("a", priority=7))
    clock.seconds = 1
    assert popped(queue) is None
    assert queued.pod.priority == 7


def test_a_pod_whose_priority_changed_while_it_waits_takes_its_new_place(queue):
    queue.add(make("a", 5))
    queue.add(make("b", 4))
    queue.update(make("b", 9))
    queue.update(make("a", 1))
    assert [popped(queue) for _ in range(3)] == ["b", "a", None]


def test_a_deleted_pod_is_nowhere_and_does_not_come_back(queue):
    queue.add(make("a"))
    queued = queue.pop(0)
    queue.delete(queued.pod)
    reject(queue, queued, "node.labels")
    queue.failed(queued, Remedy.RETRY_AT_ONCE, "x")
    assert queue.where(queued.pod) is None
    assert popped(queue) is None


@pytest.mark.parametrize(
    ("remedy", "place"),
    [
        (Remedy.RETRY_AT_ONCE, "active"),
        (Remedy.RETRY_WITH_BACKOFF, "backoff"),
        (Remedy.WAIT_FOR_CHANGE, "unschedulable"),
        (Remedy.NEEDS_PERSON, "unschedulable"),
    ],
)
def test_where_failures_send_a_pod(queue, remedy, place):
    queue.add(make("a"))
    queued = queue.pop(0)
    queue.failed(queued, remedy, "broken")
    assert queue.where(queued.pod) == place


def test_rules_that_read_the_time_are_asked_again_every_half_minute(queue, clock):
    queue.add(make("a"))
    reject(queue, queue.pop(0), "now.*")
    clock.seconds = 29
    assert popped(queue) is None
    clock.seconds = 30
    assert popped(queue) == "a"


def test_pop_wakes_when_a_pod_comes(queue):
    got = []
    ready = threading.Barrier(2)

    def take():
        ready.wait()
        got.append(queue.pop(timeout=30))

    taker = threading.Thread(target=take)  # noqa: TID251 - the test is about threads
    taker.start()
    ready.wait()
    queue.add(make("a"))
    taker.join()
    assert got[0].pod.name == "a"


def test_close_wakes_all_who_wait(queue):
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(queue.pop()))  # noqa: TID251 - as above
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join()
    assert got == [None] * 3


# --- profiles ---


def named(name, scheduler):
    manifest = pod(name)
    manifest["metadata"]["uid"] = name
    if scheduler:
        manifest["spec"]["schedulerName"] = scheduler
    return as_pod(manifest)


def profiles(*names, default=None):
    return Profiles([HandProfile(None, name) for name in names], default)


def test_pods_of_no_profile_are_counted_and_said_and_not_tried(clock, caplog):
    caplog.set_level("INFO")
    queue = SchedulingQueue(clock, profile_of=profiles("red").name_of)
    for name in ("a", "b"):
        queue.add(named(name, "volcano"))
    queue.add(named("c", "red"))
    queue.add(named("d", None))
    assert queue.ignored() == {"volcano": 2, "default-scheduler": 1}
    assert [popped(queue) for _ in range(2)] == ["c", None]
    assert caplog.text.count("'volcano', which is no profile here") == 1
    queue.add(named("a", "volcano"))
    queue.delete(named("b", "volcano"))
    assert queue.ignored() == {"volcano": 1, "default-scheduler": 1}


def test_pods_that_name_no_scheduler_go_to_the_default_where_nobody_else_is_there(clock):
    queue = SchedulingQueue(clock, profile_of=profiles("red", default="red").name_of)
    queue.add(named("a", None))
    queue.add(named("b", "default-scheduler"))
    queue.add(named("c", "other"))
    assert [popped(queue) for _ in range(3)] == ["a", "b", None]


def test_two_profiles_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two profiles are called 'red'"):
        profiles("red", "red")


def test_new_rules_of_a_profile_bring_back_only_its_pods(clock):
    queue = SchedulingQueue(clock, profile_of=profiles("red", "blue").name_of)
    for name in ("red", "blue"):
        queue.add(named(f"p-{name}", name))
        reject(queue, queue.pop(0), "node.labels", ruleset="old")
    queue.rules_changed("blue", "new")
    assert [popped(queue) for _ in range(2)] == ["p-blue", None]


def test_only_rules_that_rejected_the_pod_bring_it_back_when_they_change(queue):
    for name in "ab":
        queue.add(make(name))
        queue.unschedulable(
            queue.pop(0),
            reads=frozenset({"node.labels"}),
            ruleset="one",
            reason="no",
            rules=frozenset({f"rule-{name}"}),
        )
    queue.rules_changed("", "two", frozenset({"rule-b", "rule-c"}))
    assert [popped(queue) for _ in range(2)] == ["b", None]
    queue.rules_changed("", "three", frozenset({"rule-a"}))
    assert popped(queue) == "a"


def test_rules_that_changed_while_the_pod_was_decided_on_are_not_missed(queue):
    queue.add(make("a"))
    queued = queue.pop(0)
    queue.rules_changed("", "new")
    reject(queue, queued, "node.labels", ruleset="old")
    assert popped(queue) == "a"
    reject(queue, queued, "node.labels", ruleset="new")
    assert popped(queue) is None


def test_new_rules_bring_back_at_once_who_backs_off(queue):
    queue.add(make("a"))
    queue.failed(queue.pop(0), Remedy.RETRY_WITH_BACKOFF, "too slow")
    queue.rules_changed("", "new")
    assert popped(queue) == "a"


# --- how long ---


def test_backoff_counts_from_the_last_attempt_and_not_from_the_change(queue, clock):
    queue.add(make("a"))
    reject(queue, queue.pop(0), "node.used")
    clock.seconds = 0.4
    queue.changed(frozenset({"node.used"}))
    assert queue.next_time() == 1
    clock.seconds = 1
    reject(queue, queue.pop(0), "node.used")
    clock.seconds = 60
    queue.changed(frozenset({"node.used"}))
    assert popped(queue) == "a"


def test_errors_and_rejections_back_off_by_their_own_numbers(queue, clock):
    queue.add(make("a"))
    waits = []
    for is_error in (True, True, False, True):
        queued = queue.pop(0)
        if is_error:
            queue.failed(queued, Remedy.RETRY_WITH_BACKOFF, "broken")
        else:
            reject(queue, queued, "node.used")
            queue.changed(frozenset({"node.used"}))
        waits.append(queue.next_time() - clock.seconds)
        clock.seconds = queue.next_time()
    assert waits == [1, 2, 1, 1]


def test_what_fails_at_once_again_and_again_backs_off(queue):
    queue.add(make("a"))
    for _ in range(4):
        queue.failed(queue.pop(0), Remedy.RETRY_AT_ONCE, "stale")
    assert queue.counts()["backoff"] == 1


def test_a_pod_that_waits_too_long_is_tried_again_and_known_by_it(clock):
    queue = SchedulingQueue(clock, longest_wait=300)
    queue.add(make("a"))
    reject(queue, queue.pop(0), "node.labels")
    assert queue.next_time() == 300
    clock.seconds = 299
    assert popped(queue) is None
    clock.seconds = 330
    queued = queue.pop(0)
    assert queued.flushed
    assert queue.incoming()["active", "UnschedulableTimeout"] == 1
    reject(queue, queued, "node.labels")
    queue.changed(frozenset({"node.labels"}))
    clock.seconds = 340
    assert not queue.pop(0).flushed


def test_what_brought_pods_where_they_are_is_counted(queue, clock):
    queue.add(make("a"))
    queue.add(make("b", gates=["g"]))
    reject(queue, queue.pop(0), "node.used")
    queue.changed(frozenset({"node.used"}))
    clock.seconds = 1
    reject(queue, queue.pop(0), "node.used")
    clock.seconds = 10
    queue.changed(frozenset({"node.used"}))
    queue.update(make("b"))
    assert queue.incoming() == {
        ("active", "PodAdd"): 1,
        ("gated", "PodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 2,
        ("backoff", "ClusterChange"): 1,
        ("active", "BackoffComplete"): 1,
        ("active", "ClusterChange"): 1,
        ("active", "PodUpdate"): 1,
    }


def test_a_failure_that_a_person_must_mend_waits_for_the_pod_itself(queue, clock):
    queue.add(make("a"))
    queue.failed(queue.pop(0), Remedy.NEEDS_PERSON, "no such claim")
    clock.seconds = 20
    queue.changed(frozenset({"node", "cluster"}))
    assert popped(queue) is None
    queue.update(make("a", priority=3))
    assert popped(queue) == "a"


def test_a_pod_of_the_same_name_is_another_pod(queue):
    manifest = pod("a")
    first, second = as_pod(manifest), as_pod(manifest)
    queue.add(first)
    queued = queue.pop(0)
    queue.delete(first)
    queue.add(second)
    other = queue.pop(0)
    queue.done(queued)
    queue.failed(queued, Remedy.RETRY_AT_ONCE, "late")
    assert queue.holds(other)
    assert not queue.holds(queued)


def test_gates_that_come_while_a_pod_is_in_flight_hold_it_afterwards(queue):
    queue.add(make("a"))
    queued = queue.pop(0)
    queue.update(make("a", gates=["g"]))
    queue.failed(queued, Remedy.RETRY_WITH_BACKOFF, "broken")
    assert queue.where(queued.pod) == "gated"
