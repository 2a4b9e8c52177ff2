"""What the scheduler believes of the cluster, with what it assumed."""

import pytest

from policyd.model.workload import Workload
from policyd.scheduler.cache import Cache, StaleDecisionError
from policyd.values.quantity import Quantity
from tests.policy.build import NOW, as_pod, node, pod, snapshot


def a_node(name="a"):
    return snapshot(node(name)).nodes[0]


def a_pod(name, on="", **requests):
    manifest = pod(name, on=on, **(requests or {"cpu": "1"}))
    manifest["metadata"]["uid"] = name
    return as_pod(manifest)


@pytest.fixture
def cache():
    made = Cache()
    made.put_node(a_node("a"))
    made.put_node(a_node("b"))
    return made


def free(cache, name="a"):
    return cache.node(name).free["cpu"]


def test_an_assumed_pod_counts_at_once_and_forgetting_takes_it_back(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    assert free(cache) == Quantity.from_int(3)
    assert cache.totals.free["cpu"] == Quantity.from_int(7)
    cache.forget(a_pod("p"))
    assert free(cache) == Quantity.from_int(4)
    assert cache.totals.free["cpu"] == Quantity.from_int(8)
    assert cache.node("a").pods == []


def test_a_confirmed_pod_is_not_counted_twice_and_cannot_be_forgotten(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    cache.put_pod(a_pod("p", on="a"))
    cache.forget(a_pod("p"))
    assert free(cache) == Quantity.from_int(3)
    assert cache.assumed() == []


def test_a_pod_that_turns_out_to_be_elsewhere_is_counted_there(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    cache.put_pod(a_pod("p", on="b"))
    assert free(cache, "a") == Quantity.from_int(4)
    assert free(cache, "b") == Quantity.from_int(3)


def test_a_decision_on_a_state_that_is_no_more_is_refused(cache):
    seen = cache.node("a")
    cache.assume(a_pod("p"), seen)
    with pytest.raises(StaleDecisionError, match="node a changed"):
        cache.assume(a_pod("q"), seen)


def test_a_pod_is_assumed_once(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    with pytest.raises(StaleDecisionError, match="on a node already"):
        cache.assume(a_pod("p"), cache.node("b"))


def test_a_snapshot_does_not_change(cache):
    before = cache.snapshot(NOW)
    cache.assume(a_pod("p"), cache.node("a"))
    assert before.nodes[0].free["cpu"] == Quantity.from_int(4)
    assert before.cluster.free["cpu"] == Quantity.from_int(8)


def test_a_nodes_new_state_keeps_its_pods(cache):
    cache.put_pod(a_pod("p", on="a"))
    cache.put_node(a_node("a"))
    assert free(cache) == Quantity.from_int(3)


def test_pods_of_a_node_that_is_not_known_yet_are_on_it_when_it_comes(cache):
    cache.put_pod(a_pod("p", on="late"))
    cache.put_node(a_node("late"))
    assert free(cache, "late") == Quantity.from_int(3)


def test_a_node_that_goes_and_returns_has_its_pods_again(cache):
    cache.put_pod(a_pod("p", on="a"))
    cache.remove_node("a")
    assert cache.totals.nodes == 1
    assert cache.totals.used["cpu"] == Quantity.from_int(0)
    cache.put_node(a_node("a"))
    assert free(cache) == Quantity.from_int(3)


def test_a_finished_pod_takes_nothing(cache):
    cache.put_pod(a_pod("p", on="a"))
    manifest = pod("p", on="a", cpu="1")
    manifest["metadata"]["uid"] = "p"
    manifest["status"] = {"phase": "Succeeded"}
    cache.put_pod(as_pod(manifest))
    assert free(cache) == Quantity.from_int(4)


def test_removing_says_whether_something_became_free(cache):
    cache.put_pod(a_pod("p", on="a"))
    assert cache.remove_pod(a_pod("p"))
    assert not cache.remove_pod(a_pod("p"))


def pods(cache):
    return cache.snapshot(NOW).cluster.pods


def test_every_pod_that_has_not_finished_is_counted_once(cache):
    cache.put_pod(a_pod("p"))
    cache.put_pod(a_pod("q", on="a"))
    assert pods(cache) == 2
    cache.assume(a_pod("p"), cache.node("b"))
    assert pods(cache) == 2
    cache.put_pod(a_pod("p"))
    assert (pods(cache), cache.node_of(a_pod("p"))) == (2, "b")
    cache.forget(a_pod("p"))
    assert pods(cache) == 2
    cache.put_pod(a_pod("p", on="b"))
    cache.remove_pod(a_pod("q"))
    assert pods(cache) == 1
    cache.remove_pod(a_pod("p"))
    assert pods(cache) == 0


def test_an_assumed_pod_that_the_cluster_still_sees_waiting_stays_assumed(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    cache.put_pod(a_pod("p"))
    assert (cache.node_of(a_pod("p")), cache.bound_node(a_pod("p"))) == ("a", None)
    cache.put_pod(a_pod("p", on="a"))
    assert cache.bound_node(a_pod("p")) == "a"


def test_the_sizes_follow_what_is_assumed_confirmed_and_gone(cache):
    assert cache.sizes() == {"nodes": 2, "pods": 0, "assumed_pods": 0}
    cache.assume(a_pod("p"), cache.node("a"))
    cache.assume(a_pod("q"), cache.node("b"))
    cache.put_pod(a_pod("r", on="elsewhere"))
    assert cache.sizes() == {"nodes": 2, "pods": 3, "assumed_pods": 2}
    cache.put_pod(a_pod("p", on="a"))
    cache.forget(a_pod("q"))
    assert cache.sizes() == {"nodes": 2, "pods": 2, "assumed_pods": 0}
    cache.remove_node("a")
    cache.remove_pod(a_pod("p"))
    assert cache.sizes() == {"nodes": 1, "pods": 1, "assumed_pods": 0}


def test_another_state_of_a_pod_takes_its_place_and_counts_once(cache):
    cache.assume(a_pod("p"), cache.node("a"))
    bound = a_pod("p", on="a")
    version = cache.journal.version
    cache.put_pod(bound)
    assert cache.node("a").pods == [bound]
    assert cache.node("a").pods[0] is bound
    assert free(cache) == Quantity.from_int(3)
    assert cache.totals.free["cpu"] == Quantity.from_int(7)
    assert cache.sizes()["assumed_pods"] == 0
    assert cache.journal.version == version + 1


def test_a_pod_that_takes_something_else_now_is_counted_anew(cache):
    cache.put_pod(a_pod("p", on="a"))
    cache.put_pod(a_pod("p", on="a", cpu="2"))
    assert free(cache) == Quantity.from_int(2)
    assert cache.totals.free["cpu"] == Quantity.from_int(6)
    assert cache.node("a").used["pods"] == Quantity.from_int(1)


def test_a_pod_of_an_unknown_node_is_renewed_there(cache):
    cache.put_pod(a_pod("p", on="late"))
    renewed = a_pod("p", on="late")
    cache.put_pod(renewed)
    cache.put_node(a_node("late"))
    assert cache.node("late").pods[0] is renewed


def frequencies(cache):
    shapes = cache.snapshot(NOW).cluster.shapes
    return {str(shape.requests["cpu"]): shape.frequency for shape in shapes}


def test_the_shapes_are_those_of_the_pods_on_nodes_and_change_once_many_came_or_went(cache):
    for at in range(30):
        cache.put_pod(a_pod(f"old-{at}", on="a", cpu="1m"))
    assert frequencies(cache) == {"1m": 1.0}
    cache.put_pod(a_pod("new", on="b", cpu="2m"))
    assert frequencies(cache) == {"1m": 1.0}
    for at in range(30):
        cache.remove_pod(a_pod(f"old-{at}", on="a", cpu="1m"))
    assert frequencies(cache) == {"2m": 1.0}


def test_a_workload_that_is_given_stays_as_it_is():
    made = Cache(Workload([a_pod("typical", cpu="3")], fixed=True))
    made.put_node(a_node("a"))
    made.put_pod(a_pod("p", on="a", cpu="1"))
    assert frequencies(made) == {"3": 1.0}
