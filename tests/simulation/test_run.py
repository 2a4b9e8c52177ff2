"""The loop on the embedded cluster: arrivals, ends, and the same run every time."""

from policyd.simulation.run import Arrival, Scenario, simulate
from tests.policy.build import NOW, as_pod, node, pod, rules, snapshot

FIT = 'rule "fit" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'
PACK = FIT + 'rule "pack" { prefer 100.0 * node.used.cpu / node.allocatable.cpu }'


def a_pod(name, **requests):
    manifest = pod(name, **requests)
    manifest["metadata"]["uid"] = name
    return as_pod(manifest)


def scenario(arrivals, nodes=("a", "b"), bound=()):
    return Scenario(NOW, snapshot(*map(node, nodes)).nodes, bound=bound, arrivals=arrivals)


def test_pods_are_placed_until_nothing_fits_and_the_rest_wait_with_the_reason():
    arrivals = [Arrival(a_pod(f"p{at}", cpu="3")) for at in range(3)]
    outcome = simulate(rules(FIT), scenario(arrivals))
    assert len(outcome.placements) == 2
    (pending,) = outcome.pending
    assert pending.reason == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_pod_that_ends_makes_room_for_one_that_waits():
    arrivals = [
        Arrival(a_pod("first", cpu="3"), at=0, end=100),
        Arrival(a_pod("second", cpu="3"), at=10),
    ]
    outcome = simulate(rules(FIT), scenario(arrivals, nodes=("a",)))
    assert outcome.placements == {"default/first": "a", "default/second": "a"}
    assert outcome.seconds == 100  # its backoff was over long ago
    assert [a.result for a in outcome.attempts] == ["scheduled", "unschedulable", "scheduled"]


def test_bound_pods_count():
    bound = as_pod(pod("old", on="a", cpu="3"))
    outcome = simulate(rules(FIT), scenario([Arrival(a_pod("p", cpu="2"))], bound=[bound]))
    assert outcome.placements == {"default/p": "b"}


def test_rules_decide_where():
    arrivals = [Arrival(a_pod(f"p{at}", cpu="1")) for at in range(4)]
    outcome = simulate(rules(PACK), scenario(arrivals))
    assert len(set(outcome.placements.values())) == 1


def test_the_same_scenario_gives_the_same_run():
    arrivals = [
        Arrival(a_pod(f"p{at}", cpu=f"{500 + at * 7}m"), at=at, end=at * 3 + 20.0)
        for at in range(40)
    ]
    runs = [simulate(rules(FIT), scenario(arrivals)) for _ in range(2)]
    assert runs[0].placements == runs[1].placements
    assert [a.result for a in runs[0].attempts] == [a.result for a in runs[1].attempts]


def test_no_node_ever_holds_more_than_it_has():
    arrivals = [Arrival(a_pod(f"p{at}", cpu="700m"), at=at % 5) for at in range(30)]
    outcome = simulate(rules(FIT), scenario(arrivals))
    for made in outcome.nodes:
        assert made.free["cpu"].sign >= 0
