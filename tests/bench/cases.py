"""What is measured: six expressions over a node as JSON gives it, and a kilobyte of rules.

The expressions are the shapes that placement rules have: a label, a quantity, an arithmetic
score, membership, taints, a choice between texts. `peer` is the same for engines without
quantities: they call a function `quantity` that parses the text.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    name: str
    expression: str


CASES = (
    Case("label ==", 'node.labels["topology.kubernetes.io/zone"] == "zone-a"'),
    Case("quantity >", 'quantity(node.allocatable.memory).isGreaterThan(quantity("32Gi"))'),
    Case("arithmetic score", "node.used * 100.0 / node.capacity + node.weight"),
    Case("in [5]", 'node.zone in ["zone-a", "zone-b", "zone-c", "zone-d", "zone-e"]'),
    Case("!exists taint", '!node.taints.exists(t, t.key == "gpu" && t.effect == "NoSchedule")'),
    Case("?: and string", 'node.name.startsWith("gpu-") ? "gpu:" + node.zone : "cpu"'),
)

NODES = 500


def make_nodes(count: int = NODES) -> list[dict[str, Any]]:
    """Give nodes of about twenty values each, all different, in JSON's types."""
    return [
        {
            "name": f"{'gpu' if at % 4 == 0 else 'cpu'}-{at}",
            "zone": f"zone-{'abcdefg'[at % 7]}",
            "region": "region-1",
            "labels": {
                "topology.kubernetes.io/zone": f"zone-{'abcdefg'[at % 7]}",
                "kubernetes.io/hostname": f"node-{at}",
                "kubernetes.io/arch": "amd64" if at % 5 else "arm64",
                "disk": "ssd" if at % 2 else "hdd",
            },
            "allocatable": {"cpu": "15890m", "memory": f"{16 + at % 64}Gi", "pods": "110"},
            "taints": [
                {"key": "spot", "effect": "PreferNoSchedule"},
                {"key": "gpu" if at % 4 == 0 else "other", "effect": "NoSchedule"},
            ],
            "used": 0.25 + at % 10,
            "capacity": 16.0,
            "weight": float(at % 3),
            "ready": True,
            "pods": at % 110,
        }
        for at in range(count)
    ]


FIELDS = {
    "name": "string",
    "zone": "string",
    "region": "string",
    "labels": "map(string, string)",
    "allocatable": "map(string, string)",
    "taints": "list(map(string, string))",
    "used": "double",
    "capacity": "double",
    "weight": "double",
    "ready": "bool",
    "pods": "int",
}

RULES = """\
// a rule file of ordinary shape
param reserve: double = 0.1
let gpus = pod.requests["nvidia.com/gpu"]

rule "gpu-nodes-for-gpu-pods-@" {
  when    gpus == 0
  require !("nvidia.com/gpu" in node.allocatable)
          because "node is kept for GPU pods"
}

rule "spread-@" {
  when    pod.labels["app"] in ["web", "api", "worker"] && node.zone != null
  prefer  100.0 * (node.free.cpu - pod.requests.cpu) / node.allocatable.cpu  weight 5
  avoid   node.pods.filter(p, p.labels["app"] == pod.labels["app"]).size()  normalized
}

rule "headroom-@" {
  require node.free.memory - pod.requests.memory >= node.allocatable.memory * reserve
          because "would leave less than " + string(reserve * 100.0) + "% of " + node.name
}
"""


def make_rules(kilobytes: int) -> str:
    """Give rules of about so many kilobytes; every rule is another."""
    head, _, body = RULES.partition("\nrule")
    parts = [head]
    at = 0
    while sum(map(len, parts)) < kilobytes * 1024:
        parts.append(("\nrule" + body).replace("@", str(at)))
        at += 1
    return "".join(parts)
