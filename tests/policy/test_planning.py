"""What `policyd check --plan` says of expressions."""

import pytest

from policyd.assets.locate import shipped
from policyd.language.source import Source
from policyd.policy.load import load
from policyd.policy.planning import planned
from tests.policy.build import rules


@pytest.mark.parametrize(
    ("condition", "way", "shares", "repairs"),
    [
        ("pod.requests.cpu > 1", "once", ("pod.requests.cpu",), ()),
        ("node.free.cpu > 1", "arrays", (), ("node.free.cpu",)),
        ("node.free.cpu > pod.requests.cpu", "arrays", ("pod.requests.cpu",), ("node.free.cpu",)),
        ('node.labels["a"] in ["b", "c"]', "arrays", (), ("node.labels",)),
        ("node.taints.all(t, pod.tolerates(t))", "arrays", ("pod.tolerations",), ("node.taints",)),
        ("{node.name: pod.name}.size() == 1", "rows", ("pod.name",), ("node.name",)),
    ],
)
def test_an_expression_is_evaluated_as_what_it_reads_allows(condition, way, shares, repairs):
    (found,) = planned(rules(f'rule "r" {{ require {condition} }}'))
    assert (found.way, found.shares, found.repairs) == (way, shares, repairs)
    assert bool(found.why) == (way == "rows")


@pytest.mark.parametrize("name", ["kubernetes.expr", "fit.expr", "gpu.expr", "headroom.expr"])
def test_no_shipped_rule_is_evaluated_node_by_node(name):
    path = shipped("rules") / name
    found = planned(load([Source(name, path.read_text("utf-8"))]))
    assert [each.text for each in found if each.way == "rows"] == []
