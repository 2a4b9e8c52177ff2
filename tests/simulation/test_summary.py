"""The numbers of a simulation."""

import pytest

from policyd.simulation.run import Arrival, Scenario, simulate
from policyd.simulation.summary import summarise
from tests.policy.build import NOW, as_pod, node, pod, rules, snapshot

FIT = """
rule "fit" { require pod.requests.all(r, node.free[r] >= pod.requests[r]) because "too little" }
"""


def summary(text, pods, *nodes):
    made = []
    for at, manifest in enumerate(pods):
        manifest["metadata"]["uid"] = f"u{at}"
        made.append(as_pod(manifest))
    scenario = Scenario(NOW, snapshot(*nodes).nodes, arrivals=[Arrival(p) for p in made])
    return summarise(simulate(rules(text), scenario), made)


def test_placed_pending_and_why():
    made = summary(FIT, [pod(f"p{at}", cpu="3") for at in range(5)], node("a"), node("b"))
    assert (made.placed, made.pending, made.attempts) == (2, 3, 5)
    assert made.reasons == (("0/2 nodes are available: 2 too little.", 3),)


def test_utilisation_is_used_over_allocatable():
    made = summary(FIT, [pod("p", cpu="1", memory="4Gi")], node("a"))
    usage = {u.resource: u.utilisation for u in made.usage}
    assert usage["cpu"] == 0.25
    assert usage["memory"] == 0.25


def test_what_is_free_where_the_pods_do_not_fit_is_fragmented():
    nodes = [node("a", cpu="4"), node("b", cpu="1")]
    made = summary(FIT, [pod("p", cpu="2")], *nodes)
    usage = {u.resource: u.fragmentation for u in made.usage}
    assert usage["cpu"] == pytest.approx(1 / 3)  # 1 of the 3 that are free
    assert usage["memory"] == 0  # no pod asks for it


def test_an_empty_simulation_has_numbers_too():
    made = summary(FIT, [])
    assert made.as_data()["placed"] == 0
    assert made.decision_p99 == 0


def test_shadow_rules_that_would_have_said_no_are_counted():
    text = FIT + 'rule "dry" { mode shadow require node.name == "b" }'
    made = summary(text, [pod("p", cpu="1")], node("a"))
    assert made.shadow == (("dry", 1),)


def test_what_devices_have_left_that_is_too_little_is_fragmented():
    gpu = "nvidia.com/gpu"
    share = pod("share")
    share["metadata"]["annotations"] = {"policyd.io/device-share": f"{gpu}=700m"}
    made = summary(FIT, [share, pod("whole", gpu="1")], node("a", gpu="2"))
    usage = {u.resource: u for u in made.usage}
    assert (made.placed, str(usage[gpu].used)) == (2, "1700m")
    assert usage[gpu].fragmentation == 1  # 300m are left of a device, and each pod needs more


def test_pods_that_left_are_counted_with_their_reasons():
    arrivals = [as_pod(pod(f"p{at}", cpu="3")) for at in range(3)]
    scenario = Scenario(
        NOW, snapshot(node("a")).nodes, arrivals=[Arrival(p) for p in arrivals], drops=True
    )
    made = summarise(simulate(rules(FIT), scenario), arrivals)
    assert (made.placed, made.pending, made.dropped) == (1, 0, 2)
    assert made.reasons == (("0/1 nodes are available: 1 too little.", 2),)
    assert made.as_data()["dropped"] == 2
