"""The engine against the reference: the same decision after every event, whatever the rules."""

from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policyd.language.diagnostics import RuleError
from policyd.language.printer import print_expression
from policyd.language.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from policyd.model.pod import Pod
from policyd.policy.decide import decide
from policyd.policy.engine import Engine, QuickDecision
from policyd.policy.kernel.pace import Pace
from policyd.policy.kernel.state import State
from policyd.scheduler.cache import Cache
from policyd.simulation.embedded import bound_to
from tests.language.typed_strategies import Pool, expressions
from tests.policy.build import NOW, as_pod, node, pod, rules, snapshot
from tests.policy.kernel.facts import narrowed

POOL = Pool(narrowed(free=False))
NODES = [
    node("a", {"zone": "x", "disk": "ssd"}, cpu="4", memory="16Gi", gpu="4"),
    node("b", {"zone": "y"}, cpu="1500m", memory="3Gi", gpu="2"),
    node("c", {"disk": "ssd", "n": "7"}, cpu="0", memory="123456789n"),
    node("d", {"zone": "x"}, cpu="8E", memory="16E"),
    node("e", {"zone": "x"}, cpu="4", memory="16Gi", gpu="8"),
]
PODS = [
    pod("small", cpu="100m"),
    pod("large", {"app": "web"}, cpu="3", memory="1Gi"),
    pod("gpu", {"app": "train"}, gpu="1", cpu="1"),
]

SENSIBLE = """
rule "fit" {
  require pod.requests.all(r, pod.requests[r] <= node.free[r])
          because pod.requests.filter(r, pod.requests[r] > node.free[r]).map(r, "Insufficient " + r)
}
rule "spread" {
  when    pod.labels["app"] == "web"
  require node.labels["zone"] != null  because "no zone on " + node.name
  avoid   node.used.cpu / node.allocatable.cpu * 100.0  weight 2
  prefer  node.pods.size()  normalized
}
rule "devices" {
  when    pod.requests["nvidia.com/gpu"] > 0
  prefer  node.devices.filter(d, d.free < d.total).size() * 10
          normalize max == min ? 50.0 : 100.0 * (raw - min) / (max - min)
}
rule "watched" { mode shadow  require node.name != "a"  prefer node.name < "c" ? 90 : 10  weight 5 }
"""


def compared(engine: Engine, ruleset, made: Pod, cache: Cache) -> QuickDecision:
    """Decide both ways, hold one to the other, and give the engine's decision."""
    taken = cache.snapshot(NOW)
    found = engine.decide(ruleset, made, taken)
    expected = decide(ruleset, made, taken)
    assert found.node is expected.node
    assert dict(found.reasons) == dict(expected.reasons) or found.node is not None
    assert found.tallies == expected.tallies
    assert found.rejecting == expected.rejecting
    assert found.considered == expected.considered
    assert [n.name for n in found.nodes] == [n.name for n in expected.nodes]
    return found


def cluster_of(*names: str) -> Cache:
    cache = Cache()
    for each in snapshot(*(n for n in NODES if n["metadata"]["name"] in names)).nodes:
        cache.put_node(each)
    return cache


class Happening:
    """Events on a cache, each from a number, and the pods that are on nodes."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.placed: list[Pod] = []
        self.count = 0

    def event(self, number: int) -> None:
        kind, rest = number % 5, number // 5
        names = [n.name for n in self.cache.snapshot(NOW).nodes]
        if kind == 0 and self.placed:
            self.cache.remove_pod(self.placed.pop(rest % len(self.placed)))
        elif kind == 1 and len(names) > 1:
            self.cache.remove_node(names[rest % len(names)])
        elif kind == 2:
            manifest = NODES[rest % len(NODES)]
            labels = {**manifest["metadata"]["labels"], "turn": str(number)}
            self.cache.put_node(_changed(manifest, labels))
        elif names:
            self.count += 1
            made = as_pod(pod(f"{self.count}", cpu="500m", gpu="1" if rest % 2 else "0"))
            bound = bound_to(made, names[rest % len(names)])
            self.cache.put_pod(bound)
            self.placed.append(bound)


def _changed(manifest: dict, labels: dict):
    metadata = {**manifest["metadata"], "labels": labels}
    return snapshot({**manifest, "metadata": metadata}).nodes[0]


WAYS = pytest.mark.parametrize("by_rows", [True, False])
"""Few rows are computed one by one or all at once, whichever is faster: both must agree."""


def computing(*, by_rows: bool):
    return patch.object(Pace, "prefers_rows", lambda _, count: by_rows and count < 3)


@WAYS
@given(events=st.lists(st.integers(0, 200), max_size=12))
def test_after_every_event_a_sensible_rule_set_decides_the_same(by_rows, events):
    with computing(by_rows=by_rows):
        sensible(events)


def sensible(events):
    cache = cluster_of("a", "b", "c", "d", "e")
    engine, ruleset, happening = Engine(cache.journal), rules(SENSIBLE), Happening(cache)
    for number in [0, *events]:
        happening.event(number)
        for manifest in PODS:
            compared(engine, ruleset, as_pod(manifest), cache)
    assert engine.refused == 0


_EXPRESSION = {type_: expressions(type_, 2, POOL, certain=True) for type_ in (BOOL, STRING)}
_NUMBER = st.sampled_from((DOUBLE, INT, QUANTITY, BOOL)).flatmap(
    lambda type_: expressions(type_, 2, POOL, certain=True)
)


@st.composite
def rule_texts(draw, name: str) -> str:
    """Draw a rule with whatever clauses it can have."""
    parts = [f'rule "{name}" {{']
    if draw(st.booleans()) and draw(st.booleans()):
        parts.append("mode shadow")
    if draw(st.booleans()):
        parts.append(f"when {print_expression(draw(_EXPRESSION[BOOL]))}")
    for _ in range(draw(st.integers(0, 2))):
        parts.append(f"require {print_expression(draw(_EXPRESSION[BOOL]))}")
        if draw(st.booleans()):
            parts.append(f"because {print_expression(draw(_EXPRESSION[STRING]))}")
    if len(parts) == 1 or draw(st.booleans()):
        word = draw(st.sampled_from(("prefer", "avoid")))
        parts.append(f"{word} {print_expression(draw(_NUMBER))}")
        parts.append(draw(st.sampled_from(("", "normalized", "weight 3", "normalize max - raw"))))
    return "\n  ".join([*parts, "}"])


@st.composite
def rule_sets(draw) -> str:
    """Draw a rule set."""
    parts = [draw(rule_texts(f"r{at}")) for at in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        key = print_expression(draw(_NUMBER))
        parts.append(f"choose {{ order {key} {draw(st.sampled_from(('asc', 'desc')))} }}")
    return "\n".join(parts)


@WAYS
@settings(max_examples=100)
@given(text=rule_sets(), events=st.lists(st.integers(0, 200), max_size=5))
def test_after_every_event_any_rule_set_decides_the_same(by_rows, text, events):
    with computing(by_rows=by_rows):
        any_rule_set(text, events)


def any_rule_set(text, events):
    try:
        ruleset = rules(text)
    except RuleError:  # an expression that certainly fails, or one that is too large
        assume(False)
    cache = cluster_of("a", "b", "e")
    engine, happening = Engine(cache.journal), Happening(cache)
    for number in [0, *events]:
        happening.event(number)
        compared(engine, ruleset, as_pod(PODS[number % 3]), cache)


def test_a_broken_invalidation_is_found(monkeypatch):
    """The test of the test: were nothing ever stale, decisions would differ."""
    stale = State.stale

    def only_at_first(self, since, reads):
        return stale(self, since, reads)[: 99 if since < 0 else 0]

    monkeypatch.setattr(State, "stale", only_at_first)
    with pytest.raises((AssertionError, ExceptionGroup)):
        given(st.lists(st.integers(0, 200), max_size=12))(sensible)()
