"""Writes docs/fields.md from the model and the schema; with `--check`, says whether it is stale."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from example_values import lines
from pages import fenced, publish, table
from signatures import short

from policyd.language.blocks import BLOCKS, ClauseSpec
from policyd.model.schema import api_types, schema
from policyd.policy.scope import VARIABLES, Objects

PAGE: Final = "fields.md"

NAMES: Final = {
    "pod": "The pod to place.",
    "node": "The node that is looked at.",
    "feasible": "The nodes that no rule rejects.",
    "namespace": "The pod's namespace.",
    "cluster": "Totals over all nodes.",
    "victim": "A pod that may be evicted.",
    "tenant": "A tenant of the `share` block.",
    "device": "A device of the node.",
    "params": "The parameters, each under its name.",
    "now": "The time of the decision, the same throughout it.",
    "raw": "The value of the node's `prefer` or `avoid`.",
    "min": "The least `raw` over the feasible nodes.",
    "max": "The greatest `raw` over the feasible nodes.",
    "dominant": "The word for the measure that is the largest share of any resource.",
}

OBJECTS: Final = {
    "Pod": "`pod`, and the elements of `node.pods`.",
    "Node": "`node`.",
    "Namespace": "`namespace`.",
    "Cluster": "`cluster`. Cordoned and unready nodes count.",
    "Victim": "`victim`: a pod, with one field more.",
    "Tenant": "`tenant`. Its fields are checked now; they get values with the scheduling loop.",
    "Device": "`device`, and what `node.devices` has: see [operations.md](operations.md#devices).",
    "Shape": "The elements of `cluster.shapes`.",
    "SpreadConstraint": "The elements of `pod.spreadConstraints(cluster)`.",
    "SpreadDomains": "What `domains(cluster)` of a spread constraint gives.",
    "AffinityDomains": "The elements of `pod.affinityDomains(cluster)` and its like.",
    "VolumeClaim": "The elements of `pod.volumeClaims(cluster)`.",
    "VolumeBinding": "What `node.bindVolumes(claims, cluster)` gives.",
    "Volume": "`volume` of a claim.",
}

API: Final = (
    *("v1.ObjectMeta", "v1.PodSpec", "v1.PodStatus", "v1.Container", "v1.Toleration"),
    *("v1.NodeSpec", "v1.NodeStatus", "v1.NodeCondition", "v1.Taint", "v1.ContainerImage"),
    *("v1.NamespaceSpec", "v1.NamespaceStatus", "v1.OwnerReference"),
)
"""The types of the API that are written out; the others are reached through their fields."""

SHORT_NAMES: Final = (
    "pod.name",
    'pod.labels["team"]',
    'pod.labels["absent"]',
    'pod.labels["absent"] == "a"',
    '"absent" in pod.labels',
    "pod.requests.cpu",
    'pod.requests["nvidia.com/gpu"]',
    'pod.requests["example.com/absent"]',
    "pod.requests.map(r, r).sort()",
    "pod.images",
    "pod.qos",
    "node.zone",
    "node.free.memory - pod.requests.memory",
    'node.used["nvidia.com/gpu"] / node.allocatable["nvidia.com/gpu"]',
    "node.pods.map(p, p.name)",
    "node.taints.map(t, t.key)",
    'cluster.free["nvidia.com/gpu"]',
    "now - pod.created > duration('24h')",
)

OWN_FIELDS: Final = (
    "pod.spec.containers.map(c, c.name)",
    "pod.spec.initContainers[0].restartPolicy",
    'pod.spec.containers[0].resources.limits["nvidia.com/gpu"]',
    'quantity(node.status.allocatable["memory"]) > 100Gi',
    'node.status.conditions.exists(c, c.type == "Ready" && c.status == "True")',
    'node.metadata.labels["absent"] == "a"',
    'node.metadata.labels[?"absent"].orValue("none")',
    "has(pod.spec.nodeName)",
    'pod.spec.?runtimeClassName.orValue("default")',
    "pod.metadata.__namespace__",
)

_INTRODUCTION = """\
# Names and fields

What a clause can read: the names in scope and the fields of each. [language.md](language.md) says
how expressions are written, [functions.md](functions.md) what can be done with values. Types are
written as there: `A?` is a value of type A or null.

This page is generated from `policyd/policy/scope.py`, `policyd/language/blocks.py`,
`policyd/model/*.py` and the schema of Kubernetes' API (the `kubernetes` package {version}), and a
test runs its examples. In them `pod` is `examples/gpu-pod.yaml`, `node` is `dragonfly` of the
sample cluster, and `now` is noon of June 1st, 2026.
"""

_SHORT_NAMES = """\
## Short names

Short names are policyd's, and total: a label or an annotation that is not there is null, an amount
that is not there is 0. `in`, `has()` and `[?key]` see only what is there, and so do macros over the
keys.
"""

_OWN_FIELDS = """\
## The API's own fields

`spec`, `status` and `metadata` are the object as the API has it, under the API's own field names
and with CEL's strictness: reading what is not there is an error, which `has()`, `.?field` and
`[?key]` avoid. An expression that was written for a Kubernetes manifest means the same here.
Amounts are strings there, as in Kubernetes' CEL: `quantity()` reads them. A field whose name is a
word that CEL reserves is written as Kubernetes writes it, `__namespace__`; labels and annotations
are maps, and their keys are never changed.
"""

_TYPES = """\
## Types of the API

The {count} types that pods, nodes and namespaces are made of are known with all their fields; here
are those that rules read most. `dyn` is a field that holds an int or a string.
"""


def page() -> str:
    """Give the page."""
    if missing := VARIABLES.keys() ^ NAMES.keys():
        raise ValueError(f"names without a sentence, or none: {missing}")
    parts = [_INTRODUCTION.format(version=schema().kubernetes), "## Names\n", _names()]
    parts += [_SHORT_NAMES, fenced("cel", lines(SHORT_NAMES)), *_objects()]
    parts += [_OWN_FIELDS, fenced("cel", lines(OWN_FIELDS))]
    parts += [_TYPES.format(count=len(api_types())), *map(_api, API)]
    return "\n".join(parts)


def _names() -> str:
    rows = (
        (f"`{name}`", f"`{short(str(type_))}`", NAMES[name], _readers(name))
        for name, type_ in VARIABLES.items()
    )
    return table(("name", "type", "is", "read in"), rows)


def _readers(name: str) -> str:
    """Say which clauses can read a name: whole blocks, or clauses of a block."""
    parts = []
    for block, spec in BLOCKS.items():
        able = {word: each for word, each in spec.clauses.items() if not each.flag}
        reading = [word for word, each in able.items() if name in each.reads]
        if len(reading) == len(able):
            parts.append(f"`{block}`")
        elif reading:
            parts.append(f"`{block}` ({_but(reading, able)})")
    return ", ".join(parts)


def _but(reading: Sequence[str], able: Mapping[str, ClauseSpec]) -> str:
    """List words, or those that are not among them where they are fewer."""
    others = [word for word in able if word not in reading]
    if len(others) < len(reading):
        return "all but " + ", ".join(f"`{word}`" for word in others)
    return ", ".join(f"`{word}`" for word in reading)


def _objects() -> Iterator[str]:
    objects = Objects()
    for name, sentence in OBJECTS.items():
        fields = objects[name].fields
        if name == "Victim":
            fields = {key: each for key, each in fields.items() if key not in objects["Pod"].fields}
        rows = (
            (f"`{key}`", f"`{short(str(each.type))}`", each.doc) for key, each in fields.items()
        )
        yield f"### {name}\n\n{sentence}\n"
        yield table(("field", "type", "is"), rows)


def _api(name: str) -> str:
    fields = ", ".join(f"`{key}: {short(text)}`" for key, text in sorted(api_types()[name].items()))
    return f"### {name}\n\n{fields}\n"


if __name__ == "__main__":
    sys.exit(publish(PAGE, page(), sys.argv[1:]))
