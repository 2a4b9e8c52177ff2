"""policyd's answers to placement scenarios, in the form in which kube-scheduler's stand in files.

A scenario and an answer are what the README of the reference data says: for every node feasible or
not, the first plugin that rejects it with its reasons and whether eviction could help, and the
weighted score of every plugin that scored.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from policyd.assets.locate import shipped
from policyd.language.source import Source
from policyd.model.manifests import Manifests, read_bytes
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.policy.decide import Decision, NodeVerdict, Rejection, decide
from policyd.policy.load import load
from policyd.policy.ruleset import Rule, Ruleset
from policyd.values.times import Timestamp

Json = dict[str, Any]

_KINDS: Final = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "namespaces": ("v1", "Namespace"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "csiNodes": ("storage.k8s.io/v1", "CSINode"),
    "csiDrivers": ("storage.k8s.io/v1", "CSIDriver"),
    "csiStorageCapacities": ("storage.k8s.io/v1", "CSIStorageCapacity"),
    "volumeAttachments": ("storage.k8s.io/v1", "VolumeAttachment"),
    "services": ("v1", "Service"),
    "replicationControllers": ("v1", "ReplicationController"),
    "replicaSets": ("apps/v1", "ReplicaSet"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}
_OTHERS: Final = frozenset({"id", "pod", "pdbs"})

# What kube-scheduler reports of nodes that node affinity by name leaves out, before any filter.
_BY_NAME: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def default_rules() -> Ruleset:
    """Compile the default policy as it ships."""
    path = shipped("rules") / "kubernetes.expr"
    return load([Source(path.name, path.read_text(encoding="utf-8"))])


def read_lines(path: Path) -> Iterator[Json]:
    """Read a file of one JSON object a line, compressed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def situation(scenario: Json) -> tuple[Snapshot, Pod]:
    """Make the cluster and the pod of a scenario."""
    if unknown := scenario.keys() - _KINDS.keys() - _OTHERS:
        raise ValueError(f"the scenario {scenario['id']} has what is not known: {unknown}")
    manifests = Manifests()
    for key, (version, kind) in _KINDS.items():
        manifests += _listed(version, kind, scenario.get(key) or [])
    snapshot = load_cluster(manifests, Timestamp(0))
    pods = load_pods(_listed("v1", "Pod", [scenario["pod"]]))
    problems = (*manifests.problems, *snapshot.problems, *pods.problems)
    if problems:
        raise ValueError(f"the scenario {scenario['id']} cannot be read: {problems}")
    return snapshot, pods.pods[0]


def _listed(version: str, kind: str, objects: list[Json]) -> Manifests:
    listed = {"apiVersion": version, "kind": f"{kind}List", "items": objects}
    return read_bytes(json.dumps(listed).encode())


def answer(ruleset: Ruleset, scenario: Json) -> Json:
    """Give policyd's answer to a scenario."""
    snapshot, pod = situation(scenario)
    return answer_of(scenario["id"], decide(ruleset, pod, snapshot))


def answer_of(name: str, decision: Decision) -> Json:
    """Put a decision into the form of an answer."""
    general = next(
        (n.rejection for n in decision.nodes if n.rejection and n.rejection[1].general), None
    )
    if general is not None:
        return {"id": name, "preFilter": _rejected(*general), "nodes": {}}
    return {"id": name, "nodes": {node.name: _verdict(node) for node in decision.nodes}}


def _verdict(node: NodeVerdict) -> Json:
    if node.fits:
        scores = {v.rule.name: v.score for v in node.verdicts if v.score is not None}
        return {"feasible": True, "scores": scores, "total": node.total}
    reasons = [r for v in node.verdicts if v.rejects for r in v.reasons]
    if _BY_NAME in reasons:
        code = "UnschedulableAndUnresolvable"
        return {"feasible": False, "plugin": "PreFilterResult", "code": code, "total": 0}
    assert node.rejection is not None
    return {"feasible": False, **_rejected(*node.rejection), "total": 0}


def _rejected(rule: Rule, rejection: Rejection) -> Json:
    code = "Unschedulable" if rejection.resolvable else "UnschedulableAndUnresolvable"
    reasons = list(rejection.reasons)
    return {"plugin": rule.name, "code": code, "reasons": reasons}


def difference(ours: Json, theirs: Json) -> dict[str, tuple[Any, Any]]:
    """Give where two answers differ: for each place what is ours and what is theirs.

    The order of reasons does not count: kube-scheduler goes through a map for some of them.
    """
    found = {}
    if (left := _plain(ours.get("preFilter"))) != (right := _plain(theirs.get("preFilter"))):
        found["preFilter"] = (left, right)
    for node in sorted(ours["nodes"].keys() | theirs["nodes"].keys()):
        left, right = _plain(ours["nodes"].get(node)), _plain(theirs["nodes"].get(node))
        if left != right:
            found[node] = (left, right)
    return found


def _plain(verdict: Json | None) -> Json | None:
    """Leave out what says nothing, and sort what has no order.

    A score of 0 says nothing: a plugin that kube-scheduler skips has none, and adds as much.
    """
    if verdict is None:
        return None
    if "scores" in verdict:
        scores = {name: score for name, score in verdict["scores"].items() if score}
        verdict = {**verdict, "scores": scores}
    kept = {key: value for key, value in verdict.items() if value not in (False, 0, [], {})}
    if "reasons" in kept:
        kept["reasons"] = sorted(kept["reasons"])
    return kept


def area_of(name: str) -> str:
    """Give the area that a scenario stresses: the last word of its id."""
    return name.rpartition("-")[2]
