"""The cluster in memory tells cache and queue what happens, as the API server's watches do."""

import pytest

from policyd.scheduler.cache import Cache
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import SchedulingQueue
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import as_pod, node, pod, snapshot
from tests.scheduler.fakes import HandClock


class Told:
    """A cluster with one node, and the pods that wait for something there."""

    def __init__(self, *reads):
        self.clock = HandClock()
        self.queue, self.cache = SchedulingQueue(self.clock), Cache()
        self.cluster = EmbeddedCluster(self.cache, self.queue)
        self.cluster.put_node(snapshot(node("a")).nodes[0])
        self.waiting = a_pod("waits", cpu="9")
        self.cluster.create(self.waiting)
        self.queue.unschedulable(
            self.queue.pop(0), reads=frozenset(reads), ruleset="one", reason="no"
        )
        self.clock.seconds = 5

    def is_tried(self):
        return self.queue.where(self.waiting) == "active"


def a_pod(name, on="", phase="Running", **requests):
    manifest = pod(name, on=on, **requests)
    manifest["metadata"]["uid"] = name
    manifest["status"] = {"phase": phase}
    return as_pod(manifest)


def test_a_pod_that_comes_to_a_node_is_a_placement():
    told = Told("placement")
    told.cluster.create(a_pod("p", on="a", cpu="1"))
    assert told.is_tried()
    told = Told("node.free")
    told.cluster.create(a_pod("p", on="a", cpu="1"))
    assert not told.is_tried()


def test_a_pod_that_is_bound_is_a_placement():
    told = Told("placement")
    made = a_pod("p", cpu="1")
    told.cluster.create(made)
    told.cluster.bind(made, "a")
    assert told.is_tried()
    assert told.cache.bound_node(made) == "a"


@pytest.mark.parametrize(
    "after",
    [
        lambda cluster: cluster.create(a_pod("p", on="a", cpu="500m")),
        lambda cluster: cluster.create(a_pod("p", on="a", phase="Succeeded", cpu="1")),
        lambda cluster: cluster.delete(a_pod("p", on="a", cpu="1")),
    ],
    ids=["takes less", "finishes", "goes"],
)
def test_what_a_pod_gives_back_is_told(after):
    told = Told("node.free")
    told.cluster.create(a_pod("p", on="a", cpu="1"))
    assert not told.is_tried()
    after(told.cluster)
    assert told.is_tried()


def test_a_pod_that_finishes_while_it_waits_is_not_tried_any_more():
    told = Told("node.free")
    told.cluster.create(a_pod("waits", phase="Failed", cpu="9"))
    assert told.queue.where(told.waiting) is None


@pytest.mark.parametrize(
    ("before", "remedy"),
    [
        (lambda cluster, made: cluster.delete(made), Remedy.NEEDS_PERSON),
        (lambda cluster, made: cluster.bind(made, "a"), Remedy.NEEDS_PERSON),
        (lambda cluster, _: cluster.remove_node("a"), Remedy.RETRY_AT_ONCE),
    ],
    ids=["the pod is gone", "it is bound", "the node is gone"],
)
def test_a_bind_that_cannot_be_is_refused(before, remedy):
    told = Told()
    made = a_pod("p", cpu="1")
    told.cluster.create(made)
    before(told.cluster, made)
    with pytest.raises(ClusterError) as caught:
        told.cluster.bind(made, "a")
    assert (caught.value.remedy, caught.value.ambiguous) == (remedy, False)
