"""The allocation over the arrivals."""

import pytest

from policyd.simulation.curve import Curve, Point
from policyd.simulation.run import Arrival, Scenario, simulate
from tests.policy.build import NOW, as_pod, node, pod, rules, snapshot

FIT = 'rule "fit" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'


def arrivals(*cpus, **more):
    return [
        Arrival(as_pod(pod(f"p{at}", cpu=cpu)), at=float(at * 10), **more)
        for at, cpu in enumerate(cpus)
    ]


def run(given, **more):
    nodes = snapshot(node("a"), node("b")).nodes  # 8 cores
    return simulate(rules(FIT), Scenario(NOW, nodes, arrivals=given, **more))


def test_what_fits_nowhere_arrives_and_is_not_allocated():
    curve = run(arrivals("4", "3", "2", "1")).curve
    assert curve.resource == "cpu"
    assert curve.points == (
        Point(0.0, 0.0, 0.0),
        Point(0.0, 0.5, 0.5),
        Point(10.0, 0.875, 0.875),
        Point(20.0, 1.125, 0.875),
        Point(30.0, 1.25, 1.0),
    )


def test_pods_that_are_there_from_the_start_have_arrived():
    bound = [as_pod(pod("old", on="a", cpu="2"))]
    curve = run(arrivals("2"), bound=bound).curve
    assert [point[1:] for point in curve.points] == [(0.25, 0.25), (0.5, 0.5)]


def test_what_ends_is_not_allocated_any_more():
    curve = run(arrivals("4", end=100.0)).curve
    assert curve.points[-1] == Point(100.0, 0.5, 0.0)


def test_a_pod_that_leaves_because_it_fits_nowhere_is_not_tried_again():
    given = [
        *arrivals("4", "4", "3", end=30.0),
        Arrival(as_pod(pod("late", cpu="1")), at=40.0),
    ]
    outcome = run(given, drops=True)
    assert [tried.pod.name for tried in outcome.dropped] == ["p2"]
    assert outcome.dropped[0].message == "0/2 nodes are available: 2 Insufficient cpu."
    assert outcome.pending == ()
    assert "default/p2" not in outcome.placements
    waiting = run(given)
    assert "default/p2" in waiting.placements or waiting.pending


CURVE = Curve("gpu", (Point(0, 0.0, 0.0), Point(0, 0.5, 0.4), Point(0, 0.93, 0.8)))


@pytest.mark.parametrize(
    ("arrived", "allocated"), [(0.0, 0.0), (0.2, 0.4), (0.5, 0.4), (0.51, 0.8), (0.95, None)]
)
def test_the_allocation_at_arrivals_is_that_of_the_first_point_there(arrived, allocated):
    assert CURVE.at(arrived) == allocated


def test_the_end_counts_as_a_mark_that_it_nearly_reached():
    assert Curve("gpu", (Point(0, 0.997, 0.9),)).at(1.0) == 0.9
    assert Curve("gpu", (Point(0, 0.994, 0.9),)).at(1.0) is None
    assert CURVE.marks() == ((0.5, 0.4), (0.6, 0.8), (0.7, 0.8), (0.8, 0.8), (0.9, 0.8))


def test_a_thinned_curve_keeps_its_ends():
    points = tuple(Point(0, at / 100, at / 200) for at in range(101))
    thin = Curve("gpu", points).thinned(11)
    assert [point.arrived for point in thin] == [at / 10 for at in range(11)]
    assert Curve("gpu", points).thinned(200) == points


def test_a_resource_that_the_cluster_has_not_stays_at_nothing():
    assert run(arrivals("1"), resource="example.com/none").curve.points == (Point(0.0, 0.0, 0.0),)
