"""Small clusters and rule sets for tests, made of the fields that a test is about."""

import json
from collections.abc import Mapping

from policyd.language.source import Source
from policyd.model.manifests import read_bytes
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.policy.decide import Decision, decide
from policyd.policy.load import load
from policyd.policy.ruleset import Ruleset
from policyd.values.times import Timestamp, parse_timestamp

NOW: Timestamp = parse_timestamp("2026-06-01T12:00:00Z")


def node(name: str, labels: Mapping | None = None, **allocatable: str) -> dict:
    """Give a node with labels and allocatable amounts; `gpu` stands for nvidia.com/gpu."""
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"} | allocatable
    if "gpu" in amounts:
        amounts["nvidia.com/gpu"] = amounts.pop("gpu")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {"allocatable": amounts},
    }


def pod(name: str = "p", labels: Mapping | None = None, on: str = "", **requests: str) -> dict:
    """Give a pod with labels and requests, bound to the node `on` where that is given."""
    if "gpu" in requests:
        requests["nvidia.com/gpu"] = requests.pop("gpu")
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec: dict = {"containers": [container]}
    if on:
        spec["nodeName"] = on
    metadata = {"name": name, "namespace": "default", "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def snapshot(*objects: dict) -> Snapshot:
    """Give the cluster of some objects."""
    return load_cluster(read_bytes(_list(objects)), NOW)


def as_pod(manifest: dict) -> Pod:
    """Give a pod as rules see it."""
    return load_pods(read_bytes(_list([manifest]))).pods[0]


def _list(objects) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()


def rules(text: str, **settings: str) -> Ruleset:
    """Compile rules."""
    return load([Source("test.expr", text)], settings)


def decision(text: str, manifest: dict, *objects: dict, **settings: str) -> Decision:
    """Decide for a pod on the nodes among some objects."""
    return decide(rules(text, **settings), as_pod(manifest), snapshot(*objects))
