"""What pods ask for, what nodes have left, and which taints are tolerated, by the real scheduler's
answers on random clusters."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from policyd.model.manifests import Manifests, read_bytes
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.model.taints import tolerates
from policyd.values.times import Timestamp
from tests.shared import needs_shared, shared_file

BEFORE_FIT = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts")


def answers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    folder = shared_file("data", "parity")
    with (
        gzip.open(folder / "scenarios.ndjson.gz") as scenarios,
        gzip.open(folder / "expected.ndjson.gz") as expected,
    ):
        for scenario, answer in zip(scenarios, expected, strict=True):
            yield json.loads(scenario), json.loads(answer)


def manifest(kind: str, objects: list[dict[str, Any]]) -> Manifests:
    listed = {"apiVersion": "v1", "kind": f"{kind}List", "items": objects}
    return read_bytes(json.dumps(listed).encode())


def load(scenario: dict[str, Any]) -> tuple[Snapshot, Pod]:
    """Make the scenario's cluster and its pod."""
    cluster = manifest("Node", scenario["nodes"]) + manifest("Pod", scenario["pods"])
    snapshot = load_cluster(cluster, Timestamp(0))
    pods = load_pods(manifest("Pod", [scenario["pod"]]))
    assert (*cluster.problems, *snapshot.problems, *pods.problems) == ()
    return snapshot, pods.pods[0]


def lacking(pod: Pod, node: Node) -> set[str]:
    """Give the reasons for which the scheduler would not fit the pod's amounts on the node."""
    reasons = {
        f"Insufficient {name}"
        for name, amount in pod.requests.items()
        if amount > 0 and amount > node.free[name]
    }
    return reasons | ({"Too many pods"} if node.free["pods"] < 1 else set())


def forbidden(pod: Pod, node: Node) -> bool:
    hard = (taint for taint in node.taints if taint["effect"] in ("NoSchedule", "NoExecute"))
    return not all(tolerates(pod, taint) for taint in hard)


@needs_shared
@pytest.mark.timeout(600)
def test_amounts_and_taints_agree_with_the_scheduler_on_every_node():
    checked = {"NodeResourcesFit": 0, "TaintToleration": 0, "feasible": 0}
    for scenario, answer in answers():
        if answer.get("preFilter"):
            continue
        snapshot, pod = load(scenario)
        for node in snapshot.nodes:
            verdict = answer["nodes"][node.name]
            plugin = verdict.get("plugin")
            if verdict["feasible"]:
                assert not lacking(pod, node), (scenario["id"], node.name)
                assert not forbidden(pod, node), (scenario["id"], node.name)
                checked["feasible"] += 1
            elif plugin == "NodeResourcesFit":
                assert lacking(pod, node) == set(verdict["reasons"]), (scenario["id"], node.name)
                checked[plugin] += 1
            elif plugin == "TaintToleration":
                assert forbidden(pod, node), (scenario["id"], node.name)
                checked[plugin] += 1
            elif plugin not in BEFORE_FIT and plugin != "PreFilterResult":
                assert not lacking(pod, node), (scenario["id"], node.name)
    assert min(checked.values()) > 300, checked


@needs_shared
@pytest.mark.timeout(600)
def test_soft_taints_count_as_in_the_scheduler():
    """By the scores, which are 3 x (100 - 100 * untolerated / most untolerated), rounded down."""
    checked = 0
    for scenario, answer in answers():
        feasible = {
            name: verdict["scores"]["TaintToleration"]
            for name, verdict in answer["nodes"].items()
            if verdict["feasible"] and "TaintToleration" in verdict.get("scores", {})
        }
        if not feasible:
            continue
        snapshot, pod = load(scenario)
        counts = {node.name: soft(pod, node) for node in snapshot.nodes if node.name in feasible}
        most = max(counts.values())
        for name, count in counts.items():
            assert feasible[name] == 3 * (100 - (100 * count // most if most else 0))
            checked += bool(most)
    assert checked > 100


def soft(pod: Pod, node: Node) -> int:
    """Count the soft taints that the pod does not tolerate; harder tolerations do not count."""
    return sum(
        taint["effect"] == "PreferNoSchedule" and not tolerates(pod, taint) for taint in node.taints
    )
