"""Sums over the nodes that follow a journal are those of the state that is asked for."""

import random

import pytest

from policyd.model.tallies import sums_of
from policyd.scheduler.cache import Cache
from policyd.values.times import Timestamp
from tests.policy.build import as_pod, node, pod, snapshot


def by_zone(each):
    """Contribute the number of pods to the node's zone; nothing where it has none."""
    zone = each.labels["zone"]
    return () if zone is None else ((zone, len(each.pods)),)


def nodes(count):
    labels = [{"zone": "ab"[at % 2]} if at % 3 else {} for at in range(count)]
    return snapshot(*[node(f"n{at}", labels[at]) for at in range(count)]).nodes


def asked(cache, seen=None):
    """Ask for the sums of the state now, counting which nodes are looked at."""

    def contribute(each):
        if seen is not None:
            seen.append(each.name)
        return by_zone(each)

    return cache.snapshot(Timestamp(0)).around.sums("pods", contribute)


@pytest.fixture
def cache():
    made = Cache()
    for each in nodes(6):
        made.put_node(each)
    return made


def test_only_the_nodes_that_changed_are_looked_at_again(cache):
    seen = []
    assert asked(cache, seen) == {"a": 0, "b": 0}
    assert len(seen) == 6
    cache.put_pod(as_pod(pod("p", on="n1")))
    seen.clear()
    assert asked(cache, seen) == {"a": 0, "b": 1}
    assert seen == ["n1"]


def test_an_older_state_is_added_up_by_itself(cache):
    old = cache.snapshot(Timestamp(0)).around
    cache.put_pod(as_pod(pod("p", on="n1")))
    assert asked(cache) == {"a": 0, "b": 1}
    assert old.sums("pods", by_zone) == {"a": 0, "b": 0}
    assert asked(cache) == {"a": 0, "b": 1}


def test_a_key_to_which_no_node_adds_is_gone(cache):
    asked(cache)
    for name in ("n2", "n4"):
        cache.remove_node(name)
    assert asked(cache) == {"b": 0}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_sums_are_those_of_the_nodes(seed):
    """Nodes come and go, from the middle and the end; pods too; some states are never asked for."""
    chance = random.Random(seed)  # noqa: S311 - a test draws, nothing is secret
    cache, spare = Cache(), {each.name: each for each in nodes(8)}
    pods = {}
    for step in range(120):
        name = chance.choice(list(spare))
        match chance.randrange(4):
            case 0:
                cache.put_node(spare[name])
            case 1:
                cache.remove_node(name)
            case 2:
                pods[step] = as_pod(pod(f"p{step}", on=name))
                cache.put_pod(pods[step])
            case 3 if pods:
                cache.remove_pod(pods.pop(chance.choice(list(pods))))
        if chance.random() < 0.6:
            state = cache.snapshot(Timestamp(0))
            assert state.around.sums("pods", by_zone) == sums_of(state.nodes, by_zone)
