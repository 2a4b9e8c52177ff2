"""A small cluster with something of everything that kernels hold in their own ways."""

from policyd.language.environment import Environment
from policyd.language.types import parse_type
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.policy.functions import FUNCTIONS
from policyd.policy.scope import DERIVED, VARIABLES, Objects
from tests.policy.build import as_pod, node, pod, snapshot

_FIELDS = {
    "pod": ("name", "labels", "requests", "priority", "images", "share", "tolerations"),
    "node": (
        *("name", "labels", "taints", "allocatable", "used", "free", "devices"),
        *("ready", "zone", "region", "unschedulable", "created", "age"),
    ),
    "cluster": ("allocatable", "free", "nodes", "shapes"),
}


def narrowed(*, free: bool = True) -> Environment:
    """Give an environment with those fields, so that drawn expressions read the node often."""
    objects = Objects()
    few = {}
    for name, type_ in VARIABLES.items():
        if name in _FIELDS:
            declared = objects[type_.name]
            kept = {f: declared.fields[f] for f in _FIELDS[name] if f in declared.fields}
            few[type_.name] = type(declared)(declared.name, kept, declared.doc)
    for name in ("Device", "Shape", "v1.Taint", "v1.Toleration"):
        few[name] = objects[name]
    return Environment(
        variables={
            **{name: VARIABLES[name] for name in ("node", "pod", "cluster", "now")},
            **({"free": parse_type("list(int)")} if free else {}),
        },
        functions=FUNCTIONS,
        objects=few,
        derived=DERIVED,
    )


def cluster() -> Snapshot:
    """Give six nodes that differ in everything, with pods on them."""
    tainted = node("a", {"zone": "x", "disk": "ssd"}, cpu="4", memory="16Gi", gpu="4")
    tainted["spec"] = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    other = node("b", {"zone": "y"}, cpu="1500m", memory="3Gi", gpu="2")
    other["spec"] = {
        "taints": [{"key": "q", "effect": "PreferNoSchedule"}, {"key": "k", "effect": "NoExecute"}],
        "unschedulable": True,
    }
    other["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
    odd = node("c", {"disk": "ssd", "n": "7"}, cpu="0", memory="123456789n")
    huge = node("d", {"zone": "x"}, cpu="8E", memory="16E")
    return snapshot(
        tainted,
        other,
        odd,
        huge,
        node("e", {"zone": "x"}, cpu="4", memory="16Gi", gpu="8"),
        node("f"),
        pod("p1", on="a", cpu="1", gpu="1"),
        _sharing(pod("p2", on="a", cpu="500m"), "250m"),
        pod("p3", on="e", memory="4Gi", gpu="3"),
        pod("p4", {"app": "web"}, on="b", cpu="2"),
    )


def _sharing(manifest: dict, share: str) -> dict:
    manifest["metadata"]["annotations"] = {"policyd.io/device-share": f"nvidia.com/gpu={share}"}
    return manifest


def waiting() -> Pod:
    """Give the pod that is decided for."""
    manifest = pod("w", {"app": "web", "tier": "1"}, cpu="1", memory="2Gi", gpu="2")
    manifest["spec"]["tolerations"] = [{"key": "k", "operator": "Exists"}]
    manifest["spec"]["priority"] = 7
    return as_pod(manifest)
