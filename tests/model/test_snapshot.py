"""Pods, nodes, namespaces and totals as rules see them, and what is said about odd input."""

import json
from typing import Any

import pytest

from policyd.language.types import parse_type
from policyd.model.cluster import Cluster
from policyd.model.manifests import Manifests, read_bytes
from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.sample import sample_cluster
from policyd.model.schema import api_types
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.model.taints import tolerates
from policyd.values.errors import ValueFault
from policyd.values.quantity import Quantity
from policyd.values.times import parse_timestamp

NOW = parse_timestamp("2026-06-01T12:00:00Z")


def read(*objects: dict[str, Any]) -> Manifests:
    return read_bytes("\n".join(json.dumps(each) for each in objects).encode(), "f")


def pod_object(name: str = "p", node: str = "", **fields: Any) -> dict[str, Any]:
    spec = {"nodeName": node, **fields.pop("spec", {})}
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **fields}


def node_object(name: str = "n", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, **fields}


def pod(**fields: Any) -> Pod:
    loaded = load_pods(read(pod_object(**fields)))
    assert loaded.problems == ()
    return loaded.pods[0]


def cluster(*objects: dict[str, Any]) -> Snapshot:
    snapshot = load_cluster(read(*objects), NOW)
    assert snapshot.problems == ()
    return snapshot


def node(**fields: Any) -> Node:
    return cluster(node_object(**fields)).nodes[0]


def requesting(**amounts: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": amounts}}]}


# --- pods ---


def test_a_bare_pod_has_the_apis_defaults():
    bare = pod()
    assert (bare.name, bare.namespace, bare.uid, bare.priority) == ("p", "default", "", 0)
    assert (bare.nodeName, bare.phase, bare.qos) == ("", "Pending", "BestEffort")
    assert (bare.owner, bare.created) == (None, None)
    assert (bare.images, bare.tolerations, bare.gates) == ([], [], [])
    assert bare.labels["absent"] is None
    assert bare.annotations["absent"] is None
    assert bare.requests["cpu"] == 0
    assert bare.limits["cpu"] == 0
    assert bare.status == {}


def test_a_pod_has_what_its_manifest_says():
    full = pod(
        metadata={
            "namespace": "s",
            "uid": "u",
            "labels": {"a": "b", "c": None},
            "annotations": {"d": "e"},
            "creationTimestamp": "2026-06-01T11:00:00Z",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "1"},
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "r",
                    "uid": "2",
                    "controller": True,
                },
            ],
        },
        spec={
            "priority": 7,
            "containers": [{"name": "c", "image": "i1"}, {"name": "d", "image": "i2"}],
            "initContainers": [{"name": "e", "image": "i0"}],
            "volumes": [{"name": "v", "image": {"reference": "i3"}}, {"name": "w", "emptyDir": {}}],
            "tolerations": [{}, {"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
            "schedulingGates": [{"name": "g"}],
        },
        status={"phase": "Running", "qosClass": "Guaranteed"},
    )
    assert (full.namespace, full.uid, full.priority) == ("s", "u", 7)
    assert (dict(full.labels), dict(full.annotations)) == ({"a": "b", "c": ""}, {"d": "e"})
    assert full.owner == {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "2"}
    assert full.created == parse_timestamp("2026-06-01T11:00:00Z")
    assert full.images == ["i0", "i1", "i2", "i3"]
    assert full.tolerations == [
        {"key": "", "operator": "Equal", "value": "", "effect": ""},
        {"key": "k", "operator": "Exists", "value": "", "effect": "", "tolerationSeconds": 3},
    ]
    assert full.gates == ["g"]
    assert (full.phase, full.qos) == ("Running", "Guaranteed")


def test_the_apis_own_fields_are_decoded_by_the_schema():
    made = pod(
        metadata={"creationTimestamp": "2026-06-01T11:00:00Z", "labels": None},
        spec=requesting(cpu=0.5),
        status={"conditions": None, "phase": "Running"},
    )
    assert (made.apiVersion, made.kind) == ("v1", "Pod")
    assert made.metadata == {
        "name": "p",
        "creationTimestamp": parse_timestamp("2026-06-01T11:00:00Z"),
    }
    assert made.spec["containers"][0]["resources"]["requests"] == {"cpu": "0.5"}
    assert made.status == {"phase": "Running"}


def test_a_name_to_be_generated_stands_for_the_name():
    generated = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "g-"}}
    assert load_pods(read(generated)).pods[0].name == "g-"


def test_priorities_and_overheads_come_from_classes_in_the_same_input():
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": value == 5,
        }
        for name, value in (("high", 1000), ("normal", 5))
    ]
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "vm"},
        "overhead": {"podFixed": {"cpu": "250m"}},
    }
    loaded = load_pods(
        read(
            pod_object("a", spec={"priorityClassName": "high", "runtimeClassName": "vm"}),
            pod_object("b"),
            pod_object("c", spec={"priorityClassName": "high", "priority": 3}),
            pod_object("d", spec={"priorityClassName": "system-node-critical"}),
            pod_object("e", spec={"priorityClassName": "none", "runtimeClassName": "none"}),
            *classes,
            runtime,
        ),
    )
    assert [each.priority for each in loaded.pods] == [1000, 5, 3, 2_000_001_000, 0]
    assert loaded.pods[0].requests["cpu"] == Quantity.parse("250m")
    assert loaded.pods[0].spec["overhead"] == {"cpu": "250m"}
    assert loaded.pods[0].spec["priority"] == 1000
    assert [(each.name, each.reason) for each in loaded.notes] == [
        ("e", "the PriorityClass none is not in the input: the priority is 0"),
        ("e", "the RuntimeClass none is not in the input: no overhead is added"),
    ]


# --- nodes ---


def test_a_bare_node_has_nothing():
    bare = node()
    assert dict(bare.allocatable) == {}
    assert (bare.allocatable["cpu"], bare.free["cpu"], bare.used["pods"]) == (0, 0, 0)
    assert (bare.taints, bare.images, bare.pods) == ([], [], [])
    assert (bare.ready, bare.unschedulable, bare.zone, bare.region) == (False, False, None, None)


def test_a_node_has_what_its_object_says():
    full = node(
        metadata={
            "labels": {
                "topology.kubernetes.io/zone": "z",
                "failure-domain.beta.kubernetes.io/region": "r",
            }
        },
        spec={
            "unschedulable": True,
            "taints": [
                {"key": "k", "effect": "NoSchedule"},
                {
                    "key": "l",
                    "value": "v",
                    "effect": "NoExecute",
                    "timeAdded": "2026-06-01T11:00:00Z",
                },
            ],
        },
        status={
            "capacity": {"cpu": "4", "memory": "1.5"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": None, "sizeBytes": 5}, {"names": ["a", "b"]}],
        },
    )
    assert (full.zone, full.region, full.ready, full.unschedulable) == ("z", "r", True, True)
    assert full.taints == [
        {"key": "k", "value": "", "effect": "NoSchedule"},
        {
            "key": "l",
            "value": "v",
            "effect": "NoExecute",
            "timeAdded": parse_timestamp("2026-06-01T11:00:00Z"),
        },
    ]
    assert dict(full.allocatable) == {"cpu": Quantity.parse("4"), "memory": Quantity.parse("2")}
    assert full.images == [{"names": [], "sizeBytes": 5}, {"names": ["a", "b"], "sizeBytes": 0}]


def test_an_empty_allocatable_is_not_taken_from_the_capacity():
    assert dict(node(status={"allocatable": {}, "capacity": {"cpu": "4"}}).allocatable) == {}


def test_a_node_is_used_by_the_pods_bound_to_it_whatever_their_phase_unless_they_finished():
    made = cluster(
        node_object(status={"allocatable": {"cpu": "1", "pods": "10"}}),
        pod_object("pending", "n", spec=requesting(cpu="300m"), status={"phase": "Pending"}),
        pod_object(
            "running", "n", spec=requesting(cpu="1", memory="1Gi"), status={"phase": "Running"}
        ),
        pod_object("done", "n", spec=requesting(cpu="5"), status={"phase": "Succeeded"}),
        pod_object("failed", "n", spec=requesting(cpu="5"), status={"phase": "Failed"}),
        pod_object("waiting", "", spec=requesting(cpu="5"), status={"phase": "Running"}),
    )
    [only] = made.nodes
    assert [each.name for each in only.pods] == ["pending", "running"]
    assert {name: str(each) for name, each in only.used.items()} == {
        "cpu": "1300m",
        "memory": "1Gi",
        "pods": "2",
    }
    assert {name: str(each) for name, each in only.free.items()} == {
        "cpu": "-300m",
        "memory": "-1Gi",
        "pods": "8",
    }
    assert (made.cluster.nodes, made.cluster.pods, len(made.pods)) == (1, 3, 5)
    assert made.cluster.free == only.free


# --- the cluster ---


def test_of_two_objects_with_one_name_the_first_counts():
    made = cluster(
        node_object("n", metadata={"labels": {"a": "1"}}),
        node_object("n", metadata={"labels": {"a": "2"}}),
        pod_object("p", metadata={"namespace": "s"}),
        pod_object("p", metadata={"namespace": "t"}),
        pod_object("p", metadata={"namespace": "s"}),
    )
    assert [each.labels["a"] for each in made.nodes] == ["1"]
    assert [each.namespace for each in made.pods] == ["s", "t"]
    assert [(each.kind, each.name, each.place.line) for each in made.notes] == [
        ("Pod", "p", 5),
        ("Node", "n", 2),
    ]


def test_a_pod_on_an_unknown_node_is_on_none_and_noted():
    made = cluster(node_object("n"), pod_object("p", "m"))
    assert made.nodes[0].pods == []
    assert [each.reason for each in made.notes] == [
        "its node m is not in the input, so it is on none"
    ]


def test_a_template_is_no_pod_of_the_cluster():
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"nodeName": "n"}}},
    }
    found = read(node_object("n"), deployment)
    assert load_cluster(found, NOW).pods == []
    assert [each.workload for each in load_pods(found).pods] == ["Deployment"]


def test_a_namespace_is_known_by_its_name_at_least():
    made = cluster(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s", "labels": {"a": "b"}}}
    )
    label = "kubernetes.io/metadata.name"
    assert dict(made.namespace("s").labels) == {"a": "b", label: "s"}
    absent = made.namespace("t")
    assert (absent.name, dict(absent.labels), absent.created) == ("t", {label: "t"}, None)
    assert absent.metadata["name"] == "t"


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  containers: x\n",
            4,
            "expected list, got string",
        ),
        ("kind: Pod\nmetadata:\n  name: 5\n", 3, "expected string, got int"),
        ("kind: Pod\nmetadata:\n  labels: {a: b}\n", 3, "the object has no name"),
        ("kind: Pod\nspec:\n  containers:\n  - ports:\n    - hostPort: x\n", 5, "expected int"),
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  overhead:\n    cpu: -1\n",
            5,
            "-1 is below zero",
        ),
        ("kind: Node\nmetadata: {name: m}\nstatus:\n  allocatable:\n    cpu: x\n", 5, "quantit"),
        ("kind: Node\nmetadata: {name: m}\nspec:\n  taints:\n  - timeAdded: x\n", 5, "timestamp"),
        ("kind: Namespace\nmetadata: {name: m, labels: [a]}\n", 2, "expected map"),
    ],
)
def test_an_object_that_the_api_server_would_refuse_is_a_problem_with_a_place(text, line, cause):
    found = read_bytes(f"# c\napiVersion: v1\n{text}".encode(), "f")
    problems = (
        *found.problems,
        *load_pods(found).problems,
        *load_cluster(found, NOW).problems,
    )
    assert {each.place.line for each in problems} == {line + 2}
    assert all(cause in each.cause for each in problems)


def test_a_class_that_cannot_be_read_is_a_problem():
    wrong = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": "x"}
    assert [each.cause for each in load_pods(read(wrong)).problems] == ["expected int, got string"]


def test_what_is_wrong_in_a_part_that_was_not_checked_is_a_fault_when_a_rule_asks_for_it():
    [document] = read(pod_object(spec={"tolerations": 5})).documents
    unchecked = Manifests((document.__class__("Pod", document.json, document.place),))
    [made] = load_pods(unchecked).pods
    for field in ("tolerations", "gates", "images", "spec"):
        with pytest.raises(ValueFault, match="tolerations"):
            getattr(made, field)


# --- taints ---


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        # The table of the scheduler's own semantics: effect, key, operator, value.
        ({"operator": "Exists"}, "k=v:NoSchedule", True),
        ({"operator": "Exists", "effect": "NoExecute"}, "k=v:NoSchedule", False),
        ({"key": "k", "operator": "Exists"}, "k=v:NoSchedule", True),
        ({"key": "j", "operator": "Exists"}, "k=v:NoSchedule", False),
        ({"key": "k"}, "k=:NoSchedule", True),
        ({"key": "k"}, "k=v:NoSchedule", False),
        ({"key": "k", "value": "v"}, "k=v:NoSchedule", True),
        ({"key": "k", "operator": "Equal", "value": "v"}, "k=v:NoExecute", True),
        ({"key": "k", "operator": "", "value": "v"}, "k=v:NoExecute", True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, "k=v:NoExecute", False),
        ({"key": "k", "operator": "Gt", "value": "1"}, "k=2:NoSchedule", False),
        ({"key": "k", "operator": "Exists", "tolerationSeconds": 0}, "k=v:NoExecute", True),
        ({}, "k=:NoSchedule", True),
    ],
)
def test_tolerations_match_as_in_the_scheduler(toleration, taint, expected):
    key, _, rest = taint.partition("=")
    value, _, effect = rest.partition(":")
    made = pod(spec={"tolerations": [toleration]})
    assert tolerates(made, {"key": key, "value": value, "effect": effect}) is expected


def test_no_toleration_tolerates_nothing_and_one_is_enough():
    taint = {"key": "k", "value": "", "effect": "NoSchedule"}
    assert not tolerates(pod(), taint)
    assert tolerates(pod(spec={"tolerations": [{"key": "j"}, {"key": "k"}]}), taint)


# --- what rules see ---


@pytest.mark.parametrize("kind", [Pod, Node, Namespace, Cluster])
def test_every_field_has_a_type_a_sentence_and_a_value(kind):
    sample = load_cluster(sample_cluster(), NOW)
    value: Any = {
        Pod: sample.pods[0],
        Node: sample.nodes[0],
        Namespace: sample.namespace("shop"),
        Cluster: sample.cluster,
    }[kind]
    assert kind.cel_type == kind.__name__
    for name, (type_text, doc) in kind.FIELDS.items():
        parse_type(type_text)
        for part in type_text.replace("(", " ").replace(")", " ").replace("?", " ").split():
            assert not part.startswith("v1.") or part in api_types()
        assert doc.endswith(".")
        assert "\n" not in doc
        assert hasattr(value, name) is not (name in getattr(kind, "DERIVED", ()))


def test_facts_do_not_change():
    made = pod()
    for name in ("name", "phase", "unknown"):
        with pytest.raises(AttributeError):
            setattr(made, name, "x")


def test_what_is_decoded_once_is_kept():
    made = pod(spec={"tolerations": [{}]})
    assert made.tolerations is made.tolerations
    assert made.spec is made.spec


# --- the sample ---


def test_the_sample_cluster_is_read_without_a_word_and_has_what_it_promises():
    manifests = sample_cluster()
    sample = load_cluster(manifests, NOW)
    assert (manifests.notes, manifests.problems, sample.notes, sample.problems) == ((), (), (), ())
    assert (len(sample.nodes), len(sample.pods), len(sample.namespaces)) == (6, 13, 5)
    assert len({each.zone for each in sample.nodes}) == 3
    assert sum("nvidia.com/gpu" in each.allocatable for each in sample.nodes) == 2
    assert sum(each.labels["kubernetes.io/arch"] == "arm64" for each in sample.nodes) == 1
    assert [each.name for each in sample.nodes if each.unschedulable] == ["firefly"]
    assert all(each.ready for each in sample.nodes)
    assert all(amount >= 0 for each in sample.nodes for amount in each.free.values())
    assert all(each.pods for each in sample.nodes)
