"""Dumps: what is read, what is said of what is not, and that a redacted one decides the same."""

import json
import re

import pytest

from policyd.kube.dump import Dump, Source, sources
from policyd.kube.errors import ApiError
from policyd.kube.redact import Redaction
from policyd.model.manifests import KINDS, read_bytes
from policyd.model.owners import OWNER_KINDS
from policyd.model.sample import sample_cluster
from policyd.model.snapshot import load_cluster
from policyd.policy.decide import decide
from tests.kube.fake_apiserver import Fault
from tests.policy.build import NOW, node, pod, rules


def read(dump):
    return json.loads(b"".join(dump.document()))["items"]


def test_everything_that_rules_read_is_asked_for_where_the_api_has_it():
    assert {source.kind for source in sources()} == {*KINDS, *OWNER_KINDS}
    paths = {source.kind: source.path for source in sources()}
    assert paths["Pod"] == "/api/v1/pods"
    assert paths["PriorityClass"] == "/apis/scheduling.k8s.io/v1/priorityclasses"
    assert paths["StorageClass"] == "/apis/storage.k8s.io/v1/storageclasses"
    assert paths["CSIStorageCapacity"] == "/apis/storage.k8s.io/v1/csistoragecapacities"
    assert paths["ReplicaSet"] == "/apis/apps/v1/replicasets"
    assert paths["Service"] == "/api/v1/services"
    assert Source("CSINode", "storage.k8s.io/v1").path == "/apis/storage.k8s.io/v1/csinodes"


def test_a_dump_is_a_list_that_is_read_like_any_other(server, client):
    server.create(node("ant"))
    server.create(pod("web", on="ant", cpu="1"))
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    dump = Dump(client)
    manifests = read_bytes(b"".join(dump.document()), "dump")
    assert not manifests.problems
    cluster = load_cluster(manifests, NOW)
    assert [p.name for p in cluster.nodes[0].pods] == ["web"]
    assert dict(dump.counts)["Pod"] == 1
    assert "default" in cluster.namespaces


def test_an_empty_cluster_is_an_empty_list(client):
    assert read(Dump(client)) == []


def test_a_large_cluster_comes_in_pages(server, client):
    for number in range(1201):
        server.create(node(f"n{number:04}"))
    assert len(read(Dump(client))) == 1201
    assert len(server.requests("GET", "/nodes$")) == 3


def test_what_is_not_permitted_or_served_is_said_and_left_out(server, client):
    server.create(node("ant"))
    server.faults.append(Fault("GET", "/priorityclasses$", 403))
    dump = Dump(client)
    assert [item["metadata"]["name"] for item in read(dump)] == ["ant"]
    assert "PriorityClass: reading it is not permitted" in dump.left_out
    assert "CSIDriver: reading it is not served" in dump.left_out  # which the fake does not have


@pytest.mark.parametrize("plural", ["nodes", "pods", "namespaces"])
def test_without_nodes_pods_or_namespaces_there_is_no_dump(server, client, plural):
    server.faults.append(Fault("GET", f"/{plural}$", 403))
    with pytest.raises(ApiError, match="403"):
        read(Dump(client))


# --- redacting ---

SECRETS = re.compile("acme|payroll|ant-7|alice|s3cret|10\\.1\\.2\\.3")


def secretive():
    made_node = node("ant-7", {"acme.com/team": "payroll", "kubernetes.io/hostname": "ant-7"})
    made_node["metadata"]["labels"] |= {"topology.kubernetes.io/zone": "eu-1", "slots": "8"}
    made_node["spec"] = {"taints": [{"key": "team", "value": "payroll", "effect": "NoSchedule"}]}
    made_node["status"]["addresses"] = [{"type": "InternalIP", "address": "10.1.2.3"}]
    made_pod = pod("payroll-1", {"app": "payroll"}, "ant-7", cpu="1")
    made_pod["metadata"] |= {
        "namespace": "payroll",
        "uid": "uid-of-alice",
        "annotations": {"acme.com/owner": "alice", "policyd.io/device-models": "A10"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "payroll", "uid": "acme"}
        ],
    }
    made_pod["spec"] |= {
        "nodeSelector": {"acme.com/team": "payroll", "slots": "8"},
        "tolerations": [{"key": "team", "operator": "Equal", "value": "payroll"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "acme.com/team", "operator": "In", "values": ["payroll"]}
                            ],
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["ant-7"]}
                            ],
                        }
                    ]
                }
            }
        },
        "serviceAccountName": "alice",
        "priorityClassName": "system-node-critical",
        "schedulerName": "policyd",
    }
    container = made_pod["spec"]["containers"][0]
    container |= {"image": "registry.acme.com/payroll:1", "env": [{"name": "K", "value": "s3cret"}]}
    container |= {"command": ["run", "--as", "alice"], "name": "payroll"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "payroll"}}
    return [made_node, made_pod, space]


def redacted(objects):
    redaction = Redaction()
    return [json.loads(redaction.redacted(json.dumps(each).encode())) for each in objects]


def test_names_are_gone_and_the_same_ones_are_the_same():
    made_node, made_pod, space = redacted(secretive())
    text = json.dumps([made_node, made_pod, space]).replace('"acme.com/team"', "")  # a label's key
    assert not SECRETS.search(text), SECRETS.search(text)
    name = made_node["metadata"]["name"]
    assert name == "node-1"
    assert made_node["metadata"]["labels"]["kubernetes.io/hostname"] == name
    assert made_pod["spec"]["nodeName"] == name
    term = made_pod["spec"]["affinity"]["nodeAffinity"]
    term = term["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]
    assert term["matchFields"][0]["values"] == [name]
    team = made_node["metadata"]["labels"]["acme.com/team"]
    assert made_pod["spec"]["nodeSelector"]["acme.com/team"] == team
    assert term["matchExpressions"][0]["values"] == [team]
    assert made_node["spec"]["taints"][0]["value"] == team
    assert made_pod["spec"]["tolerations"][0]["value"] == team
    assert made_pod["metadata"]["namespace"] == space["metadata"]["name"]


def test_what_is_public_and_what_is_counted_stays():
    made_node, made_pod, _ = redacted(secretive())
    labels = made_node["metadata"]["labels"]
    assert (labels["topology.kubernetes.io/zone"], labels["slots"]) == ("eu-1", "8")
    assert made_node["status"]["allocatable"] == secretive()[0]["status"]["allocatable"]
    spec = made_pod["spec"]
    assert spec["priorityClassName"] == "system-node-critical"
    assert spec["schedulerName"] == "policyd"
    assert spec["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert made_pod["metadata"]["annotations"] == {"policyd.io/device-models": "A10"}


@pytest.mark.parametrize(
    "text",
    [
        'rule "r" { require node.free.cpu >= pod.requests.cpu }',
        'rule "r" { require node.taints.all(t, pod.tolerates(t)) }',
        'rule "r" { require pod.spec.?nodeSelector.orValue({}).all(k, v, node.labels[k] == v) }',
        'rule "r" { require node.zone != null prefer node.pods.size() }',
    ],
)
def test_a_redacted_cluster_decides_the_same(text):
    documents = [json.loads(document.json) for document in sample_cluster().documents]
    objects = [*secretive(), *documents]
    before, after = (
        load_cluster(
            read_bytes(json.dumps({"kind": "List", "apiVersion": "v1", "items": made}).encode()),
            NOW,
        )
        for made in (objects, redacted(objects))
    )
    assert not after.problems
    assert len(before.nodes) == len(after.nodes) > 6
    compiled = rules(text)
    for old, new in zip(before.pods, after.pods, strict=True):
        one, two = decide(compiled, old, before), decide(compiled, new, after)
        assert [(v.fits, v.total) for v in one.nodes] == [(v.fits, v.total) for v in two.nodes]
