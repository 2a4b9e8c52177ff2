"""What reflectors see, in cache and queue: who is queued, who counts, who is tried again."""

import json

import pytest

from policyd.kube.feed import (
    Gathering,
    NamespaceFeed,
    NodeFeed,
    PodFeed,
    is_leaving,
)
from policyd.kube.resources import NAMESPACES, NODES, PODS, pieces
from policyd.model.owners import Owners
from policyd.model.storage import join_storage, make_storage_object
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import STORAGE_CHANGED
from policyd.scheduler.protocols import Remedy
from policyd.scheduler.queue import SchedulingQueue
from tests.policy.build import node, pod
from tests.scheduler.fakes import HandClock

ROOM = frozenset({"node.free", "pod.requests"})


class Parts:
    """Cache and queue with what feeds them."""

    def __init__(self):
        self.clock = HandClock()
        self.cache = Cache()
        self.queue = SchedulingQueue(
            self.clock, profile_of=lambda p: "ours" if p.labels["mine"] != "no" else None
        )
        self.pods = PodFeed(self.cache, self.queue)
        self.nodes = NodeFeed(self.cache, self.queue)
        self.namespaces = NamespaceFeed(self.cache, self.queue)

    def reject(self, reads=ROOM):
        """Try the next pod, and find that it fits nowhere; its backoff passes."""
        queued = self.queue.pop(0)
        self.queue.unschedulable(queued, reads=reads, ruleset="h", reason="no")
        self.clock.seconds += 11
        return queued.pod


@pytest.fixture
def parts():
    return Parts()


def a_pod(name="p", uid=None, version="1", labels=None, on="", **changes):
    manifest = pod(name, labels, on, cpu="1")
    manifest["metadata"] |= {"uid": uid or name, "resourceVersion": version}
    for key, value in changes.items():
        manifest[key] = {**manifest.get(key, {}), **value}
    return PODS.make(json.dumps(manifest).encode())


def a_node(name="ant", labels=None, **amounts):
    return NODES.make(json.dumps(node(name, labels, **amounts)).encode())


def test_a_pod_that_waits_is_queued_and_counted(parts):
    parts.pods.added(a_pod())
    assert parts.queue.where(a_pod()) == "active"
    assert parts.cache.snapshot(parts.clock.now()).cluster.pods == 1


def test_a_pod_of_another_scheduler_is_counted_and_not_queued(parts):
    other = a_pod(labels={"mine": "no"})
    parts.pods.added(other)
    assert parts.queue.where(other) is None
    assert parts.queue.ignored() == {"default-scheduler": 1}
    parts.nodes.added(a_node())
    parts.pods.modified(other, a_pod(labels={"mine": "no"}, on="ant", version="2"))
    assert [p.name for p in parts.cache.node("ant").pods] == ["p"]
    assert parts.queue.ignored() == {}


def test_a_pod_that_is_leaving_is_not_queued(parts):
    leaving = a_pod(metadata={"name": "p", "uid": "p", "deletionTimestamp": "2026-06-01T00:00:00Z"})
    assert is_leaving(leaving)
    parts.pods.added(leaving)
    assert parts.queue.where(leaving) is None


def test_a_pod_that_somebody_deletes_while_it_waits_leaves_the_queue(parts):
    parts.pods.added(a_pod())
    leaving = a_pod(metadata={"name": "p", "uid": "p", "deletionTimestamp": "2026-06-01T00:00:00Z"})
    parts.pods.modified(a_pod(), leaving)
    assert parts.queue.where(leaving) is None


def test_a_pod_that_is_bound_counts_on_its_node_and_leaves_the_queue(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod())
    parts.pods.modified(a_pod(), a_pod(on="ant"))
    assert parts.queue.where(a_pod()) is None
    assert parts.cache.bound_node(a_pod()) == "ant"


def test_a_pod_on_a_node_that_comes_later_counts_there(parts):
    parts.pods.added(a_pod(on="ant"))
    parts.nodes.added(a_node())
    assert [p.name for p in parts.cache.node("ant").pods] == ["p"]


def test_the_confirmation_of_a_bind_is_no_second_pod(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod())
    parts.cache.assume(a_pod(), parts.cache.node("ant"))
    parts.pods.modified(a_pod(), a_pod(on="ant"))
    assert str(parts.cache.node("ant").used["cpu"]) == "1"
    assert parts.cache.assumed() == []


def test_a_pod_that_ends_makes_room_and_those_that_wait_for_it_are_tried_again(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod("old", on="ant"))
    parts.pods.added(a_pod("new"))
    waiting = parts.reject()
    parts.pods.deleted(a_pod("old", on="ant"))
    assert parts.cache.node("ant").pods == []
    assert parts.queue.where(waiting) == "active"


def test_a_bound_pod_that_only_got_a_new_version_wakes_nobody(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod("old", on="ant"))
    parts.pods.added(a_pod("new"))
    waiting = parts.reject()
    parts.pods.modified(a_pod("old", on="ant"), a_pod("old", version="2", on="ant"))
    assert parts.queue.where(waiting) == "unschedulable"
    parts.pods.modified(
        a_pod("old", version="2", on="ant"), a_pod("old", labels={"a": "b"}, on="ant")
    )
    assert parts.queue.where(waiting) == "active"


def test_a_pod_that_waits_and_changes_in_what_its_rules_read_is_tried_again(parts):
    parts.pods.added(a_pod())
    waiting = parts.reject(frozenset({"pod.labels"}))
    parts.pods.modified(a_pod(), a_pod(version="2", status={"phase": "Pending"}))
    assert parts.queue.where(waiting) == "unschedulable"
    parts.pods.modified(a_pod(), a_pod(version="3", labels={"a": "b"}))
    assert parts.queue.where(waiting) == "active"


def test_a_pod_that_is_gone_is_nowhere(parts):
    parts.pods.added(a_pod())
    parts.pods.deleted(a_pod())
    assert parts.queue.where(a_pod()) is None
    assert parts.cache.snapshot(parts.clock.now()).cluster.pods == 0


def test_a_pod_that_goes_while_it_is_bound_does_not_come_back(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod())
    queued = parts.queue.pop(0)
    parts.cache.assume(a_pod(), parts.cache.node("ant"))
    parts.pods.deleted(a_pod())
    parts.cache.forget(a_pod())
    parts.queue.failed(queued, Remedy.NEEDS_PERSON, "gone")
    assert parts.queue.where(a_pod()) is None
    assert parts.cache.node("ant").pods == []


def test_a_node_that_comes_or_changes_in_what_rules_read_wakes_pods(parts):
    parts.pods.added(a_pod())
    waiting = parts.reject(frozenset({"node.labels"}))
    parts.nodes.added(a_node())
    assert parts.queue.where(waiting) == "active"
    parts.reject(frozenset({"node.labels"}))
    parts.nodes.modified(a_node(), a_node(cpu="8"))
    assert parts.queue.where(waiting) == "unschedulable"
    parts.nodes.modified(a_node(), a_node(labels={"disk": "ssd"}))
    assert parts.queue.where(waiting) == "active"
    assert parts.cache.node("ant").labels["disk"] == "ssd"


def test_a_node_that_goes_and_returns_has_its_pods(parts):
    parts.nodes.added(a_node())
    parts.pods.added(a_pod(on="ant"))
    parts.nodes.deleted(a_node())
    assert parts.cache.node("ant") is None
    parts.nodes.added(a_node())
    assert [p.name for p in parts.cache.node("ant").pods] == ["p"]


def test_a_namespace_is_known_and_its_change_wakes_pods(parts):
    def namespace(labels):
        metadata = {"name": "default", "labels": labels}
        made = {"kind": "Namespace", "metadata": metadata}
        return NAMESPACES.make(json.dumps(made).encode())

    parts.namespaces.added(namespace({}))
    parts.pods.added(a_pod())
    waiting = parts.reject(frozenset({"namespace.labels"}))
    parts.namespaces.modified(namespace({}), namespace({"team": "a"}))
    assert parts.queue.where(waiting) == "active"
    found = parts.cache.snapshot(parts.clock.now()).namespace("default")
    assert found.labels["team"] == "a"
    parts.namespaces.deleted(found)


# --- what is looked at together ---


def a_claim(name, size="1Gi"):
    raw = {
        "metadata": {"name": name, "namespace": "default", "resourceVersion": "1"},
        "spec": {"resources": {"requests": {"storage": size}}},
    }
    (resource,) = pieces({"PersistentVolumeClaim": "v1"}, make_storage_object)
    return resource.make(json.dumps(raw).encode())


def test_storage_is_put_together_when_somebody_looks(parts):
    storage = Gathering(join_storage, parts.queue, STORAGE_CHANGED)
    parts.cache.look_around(storage.current, Owners)
    storage.added(a_claim("one"))
    storage.added(a_claim("two"))
    first = parts.cache.snapshot(parts.clock.now()).storage
    assert [name for _, name in first.claims] == ["one", "two"]
    assert parts.cache.snapshot(parts.clock.now()).storage is first
    storage.deleted(a_claim("one"))
    assert [name for _, name in parts.cache.snapshot(parts.clock.now()).storage.claims] == ["two"]


def test_a_change_of_storage_wakes_pods_whose_rules_looked_at_it(parts):
    storage = Gathering(join_storage, parts.queue, STORAGE_CHANGED)
    parts.pods.added(a_pod())
    waiting = parts.reject(frozenset({"cluster.storage"}))
    storage.added(a_claim("one"))
    assert parts.queue.where(waiting) == "active"
    parts.reject(frozenset({"cluster.storage"}))
    storage.modified(a_claim("one"), a_claim("one"))
    assert parts.queue.where(waiting) == "unschedulable"
    storage.modified(a_claim("one"), a_claim("one", "2Gi"))
    assert parts.queue.where(waiting) == "active"
