"""Binds that go wrong, at the moment chosen by a proxy: each pod is on one node, and counts once.

Every test has a node with room for exactly what should be there, so that a place that is given
away twice, or is never given back, shows.
"""

import pytest

from tests.cluster.ground import PATIENCE, all_placed, condition, deciding, place

pytestmark = pytest.mark.timeout(300)

BINDING = "/binding"


@pytest.fixture
def policyd(ground, proxy):
    with deciding(proxy.connection, ground) as daemon:
        yield daemon


def bind_of(name):
    return f"/pods/{name}{BINDING}"


def is_refused(name):
    """Give a condition on pods: this one is known not to fit."""
    return lambda pods: condition(pods[name]).get("reason") == "Unschedulable"


@pytest.mark.usefixtures("policyd")
def test_a_node_that_is_deleted_between_decision_and_bind_takes_no_other_pod(ground, proxy):
    ant = ground.add_node("ant", cpu="1")
    bind = proxy.meet("POST", bind_of("web"), holds=True)
    ground.add_pod("web")
    assert bind.arrived.wait(PATIENCE)
    ground.remove_node(ant)
    bind.go.set()
    # The API server binds to any name: what it answers counts, until somebody deletes the pod.
    assert ground.wait_for("web") == [ant]
    ground.add_pod("next")
    ground.wait(is_refused("next"))
    ground.add_node("ant", cpu="1")  # the name comes back, and the pod is on it still
    bee = ground.add_node("bee", cpu="1")
    assert ground.wait_for("next") == [bee]
    assert ground.assert_no_node_is_over() == {ant: 1, bee: 1}
    assert proxy.carried_out("POST", bind_of("web")) == [201]


@pytest.mark.usefixtures("policyd")
def test_a_pod_that_is_deleted_while_it_is_bound_gives_its_place_back(ground, proxy):
    ant = ground.add_node("ant", cpu="1")
    bind = proxy.meet("POST", bind_of("web"), holds=True)
    ground.add_pod("web")
    assert bind.arrived.wait(PATIENCE)
    ground.remove_pod("web")
    bind.go.set()
    ground.add_pod("next")
    assert ground.wait_for("next") == [ant]
    assert proxy.carried_out("POST", bind_of("web")) == [404]


@pytest.mark.usefixtures("policyd")
def test_a_pod_of_the_same_name_is_not_bound_by_the_decision_for_the_one_before(ground, proxy):
    ant = ground.add_node("ant", cpu="1")
    bind = proxy.meet("POST", bind_of("web"), holds=True)
    before = ground.add_pod("web")
    assert bind.arrived.wait(PATIENCE)
    ground.remove_pod("web")
    after = ground.add_pod("web", cpu="2")  # which does not fit where the one before did
    bind.go.set()
    ground.wait(is_refused("web"))
    bee = ground.add_node("bee", cpu="2")
    assert ground.wait_for("web") == [bee]
    ground.add_pod("next")
    assert ground.wait_for("next") == [ant]
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert proxy.carried_out("POST", bind_of("web")) == [409, 201]


FAULTS = {
    "409": {"status": 409, "reaches": False},
    "409 after it took effect": {"status": 409},
    "500": {"status": 500, "reaches": False},
    "500 after it took effect": {"status": 500},
    "a timeout": {"status": 0, "reaches": False},
    "a timeout after it took effect": {"status": 0},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bind_that_is_answered_by_a_fault_is_made_once(monkeypatch, ground, proxy, fault):
    monkeypatch.setattr("policyd.kube.cluster.BIND_SECONDS", 1.0)
    ground.add_node("ant", cpu="2")
    with deciding(proxy.connection, ground):
        bind = proxy.meet("POST", bind_of("web"), **FAULTS[fault])
        ground.add_pod("web")
        assert bind.arrived.wait(PATIENCE)
        ground.add_pod("next")
        ground.wait(all_placed)
        ground.add_pod("late")
        ground.wait(is_refused("late"))
    assert ground.assert_no_node_is_over().total() == 2
    assert proxy.carried_out("POST", bind_of("web")) == [201]
    told = [event["regarding"]["name"] for event in ground.events("Scheduled")]
    assert sorted(told) == ["next", "web"]


@pytest.mark.usefixtures("policyd")
def test_a_pod_that_another_bound_meanwhile_counts_where_it_is(ground, proxy):
    ant = ground.add_node("ant", cpu="1")
    bind = proxy.meet("POST", bind_of("web"), holds=True)
    web = ground.add_pod("web")
    assert bind.arrived.wait(PATIENCE)
    bee = ground.add_node("bee", cpu="1")
    target = {"apiVersion": "v1", "kind": "Node", "name": bee}
    body = {"metadata": {"name": "web", "uid": web["metadata"]["uid"]}, "target": target}
    ground.api.create(f"{ground.pods}/web{BINDING}", body)
    bind.go.set()
    ground.add_pod("next")
    assert ground.wait_for("next") == [ant]
    ground.add_pod("late")
    pods = ground.wait(is_refused("late"))
    assert place(pods["web"]) == bee
    assert proxy.carried_out("POST", bind_of("web")) == [409]
