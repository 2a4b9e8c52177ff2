"""What functions keep between decisions never shows: the engine decides as the rules do afresh.

Nodes and pods come and go in a cache; after each event a pod with spread constraints, affinity or
neither is decided by the engine, which keeps, and by the interpreter on a state without a journal.
"""

import random
from dataclasses import replace

import pytest

from policyd.policy.decide import decide
from policyd.policy.engine import Engine
from policyd.scheduler.cache import Cache
from policyd.values.times import Timestamp
from tests.parity.compare import answer_of, default_rules
from tests.policy.build import as_pod, node, pod, snapshot

RULES = default_rules()
HOSTNAME = "kubernetes.io/hostname"
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def spread(key, when):
    return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key, **WEB} | when]}


def affinity(kind, key, *, hard):
    term = {"topologyKey": key, **WEB}
    terms = {REQUIRED: [term]} if hard else {PREFERRED: [{"weight": 7, "podAffinityTerm": term}]}
    return {"affinity": {kind: terms}}


SPECS = (
    {},
    spread("zone", {"whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}),
    spread("zone", {"whenUnsatisfiable": "ScheduleAnyway"}),
    spread(HOSTNAME, {"whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": "Honor"}),
    affinity("podAffinity", "zone", hard=True),
    affinity("podAntiAffinity", HOSTNAME, hard=True),
    affinity("podAffinity", "zone", hard=False),
    affinity("podAntiAffinity", HOSTNAME, hard=False),
)


def made(name, chance, on=""):
    manifest = pod(name, {"app": chance.choice(["web", "db"])}, on=on, cpu="100m")
    manifest["metadata"]["uid"] = name
    manifest["spec"] |= chance.choice(SPECS)
    return as_pod(manifest)


def known_nodes():
    manifests = []
    for at in range(6):
        labels = {HOSTNAME: f"n{at}"} | ({"zone": f"z{at % 3}"} if at != 4 else {})
        manifests.append(node(f"n{at}", labels))
        if at == 5:
            taint = {"key": "k", "value": "", "effect": "NoSchedule"}
            manifests[-1]["spec"] = {"taints": [taint]}
    return {each.name: each for each in snapshot(*manifests).nodes}


def happen(chance, cache, nodes, pods, step):
    name = chance.choice(list(nodes))
    match chance.randrange(8):
        case 0:
            cache.put_node(nodes[name])
        case 1:
            cache.remove_node(name)
        case 2 | 3 if pods:
            cache.remove_pod(pods.pop(chance.choice(list(pods))))
        case _:
            pods[step] = made(f"p{step}", chance, on=name)
            cache.put_pod(pods[step])


@pytest.mark.parametrize("seed", range(12))
def test_the_engine_decides_as_the_rules_do_afresh(seed):
    chance = random.Random(seed)  # noqa: S311 - a test draws, nothing is secret
    cache, nodes, pods = Cache(), known_nodes(), {}
    for each in nodes.values():
        cache.put_node(each)
    engine = Engine(cache.journal)
    for step in range(40):
        happen(chance, cache, nodes, pods, step)
        state = cache.snapshot(Timestamp(0))
        waiting = made("waiting", chance)
        quick = engine.decide(RULES, waiting, state)
        fresh = decide(RULES, waiting, replace(state, journal=None))
        kept = decide(RULES, waiting, cache.snapshot(Timestamp(0)))
        assert answer_of("x", kept) == answer_of("x", fresh), step
        chosen = fresh.chosen and fresh.chosen.name
        assert (quick.node and quick.node.name, quick.tallies) == (chosen, fresh.tallies), step
    assert engine.refused == 0


def test_a_node_that_goes_from_the_end_of_the_list_is_noticed():
    """Without the empty zone the other one has no more than the one with the least."""
    cache = Cache()
    for each in snapshot(node("a", {"zone": "a"}), node("b", {"zone": "b"})).nodes:
        cache.put_node(each)
    for at in range(2):
        cache.put_pod(as_pod(pod(f"p{at}", {"app": "web"}, on="a")))
    engine = Engine(cache.journal)
    waiting = pod("waiting", {"app": "web"})
    waiting["spec"] |= spread("zone", {"whenUnsatisfiable": "DoNotSchedule"})
    assert engine.decide(RULES, as_pod(waiting), cache.snapshot(Timestamp(0))).node.name == "b"
    cache.remove_node("b")
    assert engine.decide(RULES, as_pod(waiting), cache.snapshot(Timestamp(0))).node.name == "a"
