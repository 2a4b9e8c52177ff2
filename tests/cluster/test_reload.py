"""Rules that change in ConfigMaps while pods stream in: a pod is decided by one whole rule set."""

import json
from contextlib import contextmanager

import pytest

from policyd.kube.config import from_kubeconfig
from policyd.kube.configmaps import LABEL
from tests.cluster.ground import deciding, until

pytestmark = pytest.mark.timeout(300)

RULE = """
rule "{key}" {{
  require node.labels["{key}"] == "{value}"
          because "not {value} today"
}}
"""
BURST = 15


def texts(value):
    """Give two texts whose rules each look at one label: together they choose one node."""
    return {f"{key}.expr": RULE.format(key=key, value=value) for key in ("left", "right")}


class Rules:
    """The ConfigMap of a ground."""

    def __init__(self, ground):
        self.ground = ground
        self.maps = f"{ground.space}/configmaps"
        metadata = {"name": "rules", "labels": {LABEL: ground.name}}
        ground.api.create(self.maps, {"metadata": metadata, "data": texts("red")})

    def put(self, data):
        self.ground.api.patch(f"{self.maps}/rules", {"data": data})

    def told(self, reason):
        """Give what events of a reason say, once for each time that it happened."""
        found = self.ground.events(reason)
        return [e["note"] for e in found for _ in range((e.get("series") or {}).get("count", 1))]


@pytest.fixture
def rules(ground):
    """Make a node for each pair of labels, so that a mixture of two rule sets has a node too."""
    for left in ("red", "blue"):
        for right in ("red", "blue"):
            labels = {"left": left, "right": right}
            ground.add_node(f"{left}-{right}", labels, cpu="1000", pods="1000")
    return Rules(ground)


@pytest.fixture
def policyd(control_plane, ground, rules):
    assert rules
    connection = from_kubeconfig([str(control_plane.kubeconfig)])
    with deciding(connection, ground, configmaps=True) as daemon:
        yield daemon


def in_force(policyd):
    return policyd.stores[0].current.hash


@contextmanager
def changed(policyd):
    """Wait after the body until other rules are in force."""
    before = in_force(policyd)
    yield
    until(lambda: in_force(policyd) != before)


def test_each_pod_that_streams_in_is_decided_by_one_whole_rule_set(policyd, ground, rules):
    colours = ("blue", "red") * 4
    for turn, colour in enumerate(colours):
        ground.add_pods(f"before-{turn}", BURST)  # decided by the old rules, or by the new
        with changed(policyd):
            rules.put(texts(colour))
        names = ground.add_pods(f"after-{turn}", BURST)
        wanted = f"{ground.name}-{colour}-{colour}"
        assert set(ground.wait_for(*names)) == {wanted}
    pods = ground.wait()
    assert len(pods) == 2 * BURST * len(colours)
    mixed = {f"{ground.name}-red-blue", f"{ground.name}-blue-red"}
    assert not mixed & set(ground.assert_no_node_is_over())


def test_rules_that_are_refused_change_nothing_and_the_next_good_ones_count(policyd, ground, rules):
    until(lambda: rules.told("RulesAccepted"))
    first = in_force(policyd)
    broken = {"left.expr": "\n" + RULE.format(key="left", value="blue").replace("]", "")}
    rules.put(broken)
    names = ground.add_pods("meanwhile", BURST)
    until(lambda: rules.told("RulesRefused"))
    names += ground.add_pods("refused", BURST)
    red = f"{ground.name}-red-red"
    assert set(ground.wait_for(*names)) == {red}
    assert in_force(policyd) == first
    assert policyd.is_ready
    (note,) = rules.told("RulesRefused")
    assert note.startswith(f"configmap/{ground.name}/rules/left.expr:5:11: "), note
    assert f"{first} stays in force" in note
    with changed(policyd):
        rules.put(texts("blue"))
    names = ground.add_pods("good", BURST)
    assert set(ground.wait_for(*names)) == {f"{ground.name}-blue-blue"}
    until(lambda: len(rules.told("RulesAccepted")) == 2)


def test_a_rule_that_two_configmaps_define_is_refused_with_both_places(policyd, ground, rules):
    first = in_force(policyd)
    metadata = {"name": "team", "labels": {LABEL: ground.name}}
    twice = {"metadata": metadata, "data": {"again.expr": texts("blue")["left.expr"]}}
    ground.api.create(rules.maps, twice)
    until(lambda: rules.told("RulesRefused"))
    said = json.dumps(rules.told("RulesRefused"))
    assert "team/again.expr" in said
    assert "rules/left.expr" in said
    assert in_force(policyd) == first
    with changed(policyd):
        ground.api.patch(f"{rules.maps}/rules", {"data": {"left.expr": None}})
    names = ground.add_pods("web", BURST)
    assert set(ground.wait_for(*names)) == {f"{ground.name}-blue-red"}
