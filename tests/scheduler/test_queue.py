"""Where pods wait, in which order, and until when."""

import threading

import pytest

from policyd.scheduler.protocols import Remedy
from policyd.scheduler.queue import SchedulingQueue
from tests.policy.build import as_pod, pod
from tests.scheduler.fakes import HandClock


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
