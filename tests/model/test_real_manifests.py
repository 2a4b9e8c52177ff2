"""Real manifests and nodes: every document is accounted for, and the amounts are the known ones."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.model.manifests import read_file
from policyd.model.snapshot import load_cluster, load_pods
from policyd.values.times import parse_timestamp
from tests.shared import needs_shared, shared_file

NOW = parse_timestamp("2026-06-01T12:00:00Z")
FILES = sorted(shared_file("data", "manifests").glob("*/*.[yj]*"))

pytestmark = needs_shared


def given(name: str) -> Path:
    """Find a file by the start of its name."""
    [path] = shared_file("data", "manifests", "given").glob(f"{name}*")
    return path


def nodes(name: str) -> Path:
    return shared_file("data", "manifests", "nodes", name)


def texts(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def kinds_by_another_reader(path: Path) -> Counter[str]:
    """Count the objects by kind as PyYAML sees them, for which a tab needs help."""
    text = path.read_text(encoding="utf-8-sig").replace("\t#", " #")
    documents = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    while any("items" in each for each in documents):
        documents = [
            {"kind": each["kind"].removesuffix("List")} | inner
            for each in documents
            for inner in each.get("items", [each])
        ]
    return Counter(each["kind"] for each in documents)


def test_there_is_something_to_read():
    assert len(FILES) > 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_document_is_read_or_noted(path):
    """No object is lost, none is a problem, and all of them make pods, nodes or namespaces."""
    found = read_file(path)
    seen = Counter(each.workload or each.kind for each in found.documents)
    seen.update(each.kind for each in found.notes)
    assert seen == kinds_by_another_reader(path)
    pods, cluster = load_pods(found), load_cluster(found, NOW)
    assert (*found.problems, *pods.problems, *cluster.problems) == ()
    assert len(pods.pods) == sum(each.kind == "Pod" for each in found.documents)
    assert len(cluster.nodes) == seen["Node"]
    for pod in pods.pods:
        for field in pod.FIELDS.keys() - pod.DERIVED.keys():
            getattr(pod, field)
    for node in cluster.nodes:
        for field in node.FIELDS.keys() - node.DERIVED.keys():
            getattr(node, field)


def test_skipped_kinds_say_why():
    reasons = {
        each.name: each.reason
        for name in ("crd-01", "cron-02", "deploy-03")
        for each in read_file(given(name)).notes
    }
    assert reasons["test-job"].startswith("batch.volcano.sh/v1alpha1 is not Kubernetes' own")
    assert "does not serve CronJob in batch/v1beta1" in reasons["hello-fail"]
    assert reasons["nginx-config"] == "rules do not read objects of this kind"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deploy-01", {"cpu": "500m", "memory": "1000Mi"}),  # ".5", limits only
        (
            "deploy-06",
            {"nvidia.com/gpu": "2", "nvidia.com/gpucores": "30", "nvidia.com/gpumem": "1024"},
        ),
        ("ds-02", {"cpu": "150m"}),  # the init container's, larger than the container's
        ("ds-05", {"cpu": "9m", "memory": "47Mi"}),
        ("job-02", {"device.microshift.io/fakeserial": "1"}),
        ("pod-05", {"nvidia.com/gpu": "1"}),  # limits only
        ("pod-07", {"cpu": "100m", "memory": "100Mi", "nvidia.com/gpu": "1"}),
        ("pod-08", {"cpu": "1", "memory": "256M"}),
        ("pod-09", {"cpu": "4", "memory": "9Gi"}),
        ("pod-15", {"cpu": "350m", "memory": "3Gi"}),  # 0.35 as a number
        ("pod-24", {"device.microshift.io/fuse": "4"}),
        ("pod-28", {}),  # an ephemeral container does not count
        ("pod-31", {"cpu": "1", "memory": "2G"}),
        ("pod-34", {"cpu": "333m", "memory": "333Mi"}),  # 111 and 222 of the sidecar
        ("pod-38", {"cpu": "1", "memory": "100Mi"}),  # the pod level, not the sum
        ("pod-39", {"memory": "100Mi", "hugepages-2Mi": "100Mi", "hugepages-1Gi": "2Gi"}),
        ("pod-40", {"cpu": "2250m", "memory": "320Mi"}),  # overhead of the RuntimeClass
        ("respelled-04", {"cpu": "250m", "memory": "64Mi"}),
        (
            "respelled-03",  # every spelling: cpu 8.4, memory 4,988,591,904 bytes
            {"cpu": "8400m", "memory": "4988591904", "ephemeral-storage": "1100511627776"},
        ),
        ("sts-02", {}),  # claims of storage are no requests of the pod
    ],
)
def test_requests_are_the_known_ones(name, expected):
    [pod] = load_pods(read_file(given(name))).pods
    assert texts(pod.requests) == expected


def test_merge_keys_give_the_second_pod_its_own_amounts():
    first, second = load_pods(read_file(given("respelled-01"))).pods
    assert texts(first.requests) == {"cpu": "100m", "memory": "500M"}
    assert texts(second.requests) == {
        "cpu": "150m",
        "memory": "500M",
        "ephemeral-storage": "1Gi",
    }
    assert second.labels["queue"] == "root.sandbox"
    assert second.spec["schedulerName"] == "yunikorn"


def test_a_priority_comes_from_the_class_in_another_document():
    [pod] = load_pods(read_file(given("job-03"))).pods
    assert (pod.priority, pod.owner and pod.owner["kind"]) == (9999, "Job")


def test_modes_names_and_texts_are_read_as_kubectl_reads_them():
    [octal] = load_pods(read_file(given("job-02"))).pods
    modes = [volume["configMap"]["defaultMode"] for volume in octal.spec["volumes"]]
    assert modes == [493]
    [low_latency] = load_pods(read_file(given("pod-23"))).pods
    assert "n" in [entry.get("value") for entry in low_latency.spec["containers"][0]["env"]]
    [tabs] = load_pods(read_file(given("respelled-04"))).pods
    assert tabs.annotations["note"] == "col1\tcol2"
    assert tabs.annotations["block"] == "listen\t\t8080;\n\tindented by a tab\n"
    [pai] = load_cluster(read_file(given("node-03")), NOW).nodes
    assert all(isinstance(value, str) for value in pai.labels.values())


def test_gates_and_tolerations_are_found():
    [gated] = load_pods(read_file(given("pod-13"))).pods
    assert gated.gates
    [masq] = load_pods(read_file(given("ds-01"))).pods
    assert {each["operator"] for each in masq.tolerations} == {"Exists"}
    assert all({"key", "operator", "value", "effect"} <= each.keys() for each in masq.tolerations)


def test_the_kubelets_quality_of_service_is_computed_where_the_status_has_it_too():
    """Every real pod that carries the kubelet's answer gets the same from its spec alone."""
    checked = 0
    for path in FILES:
        for pod in load_pods(read_file(path)).pods:
            known = pod.status.get("qosClass")
            if known:
                alone = pod.__class__(
                    **{
                        name: getattr(pod, name) for name in pod.__struct_fields__ if name != "json"
                    },
                    json=pod.json.replace(f'"qosClass":"{known}"'.encode(), b'"x":1'),
                )
                assert alone.qos == known, (path.name, pod.name)
                checked += 1
    assert checked > 20


# --- the dump ---


def test_both_formats_of_the_dump_give_the_same_cluster():
    as_yaml = load_cluster(read_file(nodes("cluster-small.yaml")), NOW)
    as_json = load_cluster(read_file(nodes("cluster-small.json")), NOW)
    for left, right in zip(
        (*as_yaml.nodes, *as_yaml.pods), (*as_json.nodes, *as_json.pods), strict=True
    ):
        for field in left.FIELDS.keys() - left.DERIVED.keys():
            if field != "pods":
                assert getattr(left, field) == getattr(right, field), (left, field)
    assert list(as_yaml.namespaces) == list(as_json.namespaces)
    assert as_yaml.cluster == as_json.cluster
    assert [(each.name, each.reason) for each in as_yaml.notes] == [
        (each.name, each.reason) for each in as_json.notes
    ]


def test_the_dump_has_what_its_description_says():
    dump = load_cluster(read_file(nodes("cluster-small.yaml")), NOW)
    assert (len(dump.nodes), len(dump.namespaces), dump.notes) == (6, 20, ())
    gke = dump.node("gke-example-default-pool-1d5a4320-eklb")
    assert gke is not None
    assert (str(gke.used["cpu"]), str(gke.allocatable["cpu"])) == ("1260m", "940m")
    assert gke.free["cpu"] < 0
    bound_and_pending = [
        each.name for each in dump.pods if each.nodeName and each.phase == "Pending"
    ]
    running_nowhere = [
        each.name for each in dump.pods if not each.nodeName and each.phase == "Running"
    ]
    assert bound_and_pending == ["troubleshoot-copyfromhost-4m79m-psdjm"]
    assert all(not any(pod.name in running_nowhere for pod in node.pods) for node in dump.nodes)
    placed = {pod.name for node in dump.nodes for pod in node.pods}
    assert placed == {each.name for each in dump.pods if each.nodeName and not each.is_finished}
    assert "sample-job-r4k2m-0" not in placed  # it finished


@pytest.mark.parametrize(
    ("name", "zone", "ready", "cordoned", "taints", "amounts"),
    [
        ("gke-e2-medium-2023.yaml", "asia-northeast1-b", True, False, 0, {"cpu": "940m"}),
        ("gke-n1-standard-4-2019.yaml", "us-central1-b", True, False, 0, {"cpu": "3920m"}),
        ("rebuilt-gke-t4-gpu.yaml", "us-central1-b", True, True, 3, {"nvidia.com/gpu": "1"}),
        ("rebuilt-karpenter-spot-c6a.yaml", "us-west-2c", False, False, None, {"cpu": "191450m"}),
        ("openshift-aws-master.json", "us-west-1a", True, False, 1, {"pods": "250"}),
        ("openshift-baremetal-hugepages.yaml", None, True, False, 0, {"hugepages-2Mi": "256Mi"}),
        ("doks-2cpu-4gb.json", None, True, False, 0, {"memory": "3110Mi"}),
        ("kwok-dgx-a100.yaml", None, True, False, None, {"memory": "1Ti"}),
    ],
)
def test_nodes_of_many_platforms(name, zone, ready, cordoned, taints, amounts):
    [node] = load_cluster(read_file(nodes(name)), NOW).nodes
    assert (node.zone, node.ready, node.unschedulable) == (zone, ready, cordoned)
    assert taints is None or len(node.taints) == taints
    assert {each: str(node.allocatable[each]) for each in amounts} == amounts


def test_a_node_without_a_status_has_nothing_and_is_not_ready():
    [node] = load_cluster(read_file(given("node-02")), NOW).nodes
    assert (dict(node.allocatable), node.ready) == ({}, False)
