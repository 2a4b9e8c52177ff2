"""policyd's own client against a real API server: what the fake one promises is what this one does.

The administrator of `api` makes and reads objects; what is tested speaks for itself.
"""

import json
from contextlib import contextmanager
from itertools import count
from threading import Event

import pytest

from policyd.daemon.clock import SystemClock
from policyd.kube.client import ApiClient
from policyd.kube.cluster import KubeCluster
from policyd.kube.config import from_kubeconfig
from policyd.kube.configmaps import LABEL, RuleMapEvents, make_rule_map, rule_maps
from policyd.kube.dump import Dump
from policyd.kube.events import Events
from policyd.kube.lease import LeaderElection
from policyd.kube.resources import NAMESPACES, NODES, PODS, pieces
from policyd.model.manifests import read_bytes
from policyd.model.owners import OWNER_KINDS, make_owner
from policyd.model.pod import with_record
from policyd.model.snapshot import load_cluster
from policyd.model.storage import STORAGE_KINDS, make_storage_object
from policyd.scheduler.protocols import ClusterError, Remedy
from tests.kube.recording import Recorder, reflecting
from tests.policy.build import NOW, node
from tests.scheduler.fakes import HandClock

PATIENCE = 30
NUMBERS = count(1)


@pytest.fixture(params=["certificate", "token"])
def client(control_plane, request):
    with client_of(control_plane, request.param) as client:
        yield client


@pytest.fixture
def certified(control_plane):
    with client_of(control_plane, "certificate") as client:
        yield client


@contextmanager
def client_of(control_plane, context):
    connection = from_kubeconfig([str(control_plane.kubeconfig)], context)
    client = ApiClient(connection, SystemClock())
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def space(api):
    """Give the path of a namespace of the test's own."""
    name = f"kube-{next(NUMBERS)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}"


@pytest.fixture
def a_node(api):
    """Make a node of the test's own; give its name."""
    name = f"kube-node-{next(NUMBERS)}"
    made = node(name)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    api.create("/api/v1/nodes", made)
    yield name
    api.delete(f"/api/v1/nodes/{name}")


def a_pod(name, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "schedulerName": "policyd", **spec}
    return {"metadata": {"name": name}, "spec": spec}


def read(obj):
    return PODS.make(json.dumps(obj).encode())


def condition(pod):
    conditions = pod["status"].get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), None)


# --- binds and what is written ---


def make_cluster(client):
    return KubeCluster(client, SystemClock(), Events(client, SystemClock(), "host"))


def test_a_bind_takes_effect_with_the_devices_on_record(client, api, space, a_node):
    pod = with_record(read(api.create(f"{space}/pods", a_pod("web"))), {"nvidia.com/gpu": (0, 3)})
    cluster = make_cluster(client)
    assert cluster.bound_node(pod) is None
    cluster.bind(pod, a_node)
    found = api.get(f"{space}/pods/web")
    assert found["spec"]["nodeName"] == a_node
    assert found["metadata"]["annotations"] == {"policyd.io/devices": "nvidia.com/gpu=0,3"}
    assert condition(found)["status"] == "True"
    assert cluster.bound_node(pod) == a_node


def test_a_second_bind_is_a_conflict_that_is_read_back(certified, api, space, a_node):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    cluster = make_cluster(certified)
    cluster.bind(pod, a_node)
    with pytest.raises(ClusterError, match="409") as caught:
        cluster.bind(pod, "another")
    assert caught.value.ambiguous
    assert cluster.bound_node(pod) == a_node


def test_a_pod_that_was_replaced_is_not_bound(certified, api, space, a_node):
    old = read(api.create(f"{space}/pods", a_pod("web")))
    api.delete(f"{space}/pods/web")
    api.create(f"{space}/pods", a_pod("web"))
    cluster = make_cluster(certified)
    with pytest.raises(ClusterError, match="409") as caught:
        cluster.bind(old, a_node)
    assert caught.value.ambiguous
    with pytest.raises(ClusterError, match="is gone"):
        cluster.bound_node(old)
    assert "nodeName" not in api.get(f"{space}/pods/web")["spec"]


def test_a_pod_that_is_gone_is_said_to_be(certified, api, space, a_node):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    api.delete(f"{space}/pods/web")
    with pytest.raises(ClusterError, match="is gone") as caught:
        make_cluster(certified).bind(pod, a_node)
    assert caught.value.remedy is Remedy.NEEDS_PERSON


MESSAGE = "0/3 nodes are available: 3 Insufficient cpu."


def test_a_pod_that_fits_nowhere_has_condition_and_event_like_kube_schedulers(client, api, space):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    cluster = make_cluster(client)
    cluster.unschedulable(pod, "Unschedulable", MESSAGE)
    found = api.get(f"{space}/pods/web")
    written = condition(found)
    assert (written["status"], written["reason"]) == ("False", "Unschedulable")
    assert written["message"] == MESSAGE
    assert written["observedGeneration"] == found["metadata"]["generation"]
    assert written["lastTransitionTime"]
    (event,) = api.get(f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events")["items"]
    assert (event["reason"], event["type"], event["action"]) == (
        "FailedScheduling",
        "Warning",
        "Scheduling",
    )
    assert event["reportingController"] == "policyd"
    assert event["regarding"]["uid"] == pod.uid
    assert event["note"] == MESSAGE
    (core,) = api.get(f"{space}/events")["items"]  # as kubectl describe shows it
    assert core["message"] == MESSAGE


def test_a_condition_is_written_once_and_follows_what_is_new(certified, api, space):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    cluster = make_cluster(certified)
    cluster.unschedulable(pod, "Unschedulable", MESSAGE)
    first = api.get(f"{space}/pods/web")
    cluster.unschedulable(pod, "Unschedulable", MESSAGE)
    cluster.unschedulable(read(first), "Unschedulable", MESSAGE)
    assert (
        api.get(f"{space}/pods/web")["metadata"]["resourceVersion"]
        == (first["metadata"]["resourceVersion"])
    )
    cluster.unschedulable(pod, "SchedulerError", "other")  # on a state that is old by now
    last = condition(api.get(f"{space}/pods/web"))
    assert (last["reason"], last["message"]) == ("SchedulerError", "other")
    assert last["lastTransitionTime"] == condition(first)["lastTransitionTime"]


def test_a_bound_pod_gets_no_condition(certified, api, space, a_node):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    cluster = make_cluster(certified)
    cluster.bind(pod, a_node)
    cluster.unschedulable(pod, "Unschedulable", MESSAGE)
    assert condition(api.get(f"{space}/pods/web"))["status"] == "True"


def test_a_repeated_event_is_a_series_with_its_count(certified, api, space):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    cluster = make_cluster(certified)
    for _ in range(5):
        cluster.unschedulable(pod, "Unschedulable", MESSAGE)
    assert cluster.events.flush()
    (event,) = api.get(f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events")["items"]
    assert event["series"]["count"] == 5


def test_a_long_note_is_taken(certified, api, space):
    pod = read(api.create(f"{space}/pods", a_pod("web")))
    make_cluster(certified).unschedulable(pod, "Unschedulable", "ü" * 3000)
    (event,) = api.get(f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events")["items"]
    assert len(event["note"].encode()) == 1024
    assert condition(api.get(f"{space}/pods/web"))["message"] == "ü" * 3000


# --- watching ---


class Only(Recorder):
    """Keeps what concerns one test: the control plane is shared."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted

    def added(self, new):
        if self.wanted(new):
            super().added(new)

    def modified(self, old, new):
        if self.wanted(new):
            super().modified(old, new)

    def deleted(self, old):
        if self.wanted(old):
            super().deleted(old)


def test_pods_are_listed_in_pages_and_watched(client, api, space):
    name = space.rpartition("/")[2]
    for number in range(7):
        api.create(f"{space}/pods", a_pod(f"p{number}"))
    handler = Only(lambda pod: pod.namespace == name)
    with reflecting(client, PODS, handler, page=3) as (_, _, _):
        handler.wait_for(lambda: handler.syncs == 1, PATIENCE)
        assert len(handler.state) == 7
        api.create(f"{space}/pods", a_pod("late"))
        handler.wait_for(lambda: ("added", "late") in handler.events, PATIENCE)
        labelled = {"metadata": {"labels": {"a": "b"}}}
        api.patch(f"{space}/pods/late", labelled)
        handler.wait_for(lambda: ("modified", "late") in handler.events, PATIENCE)
        api.delete(f"{space}/pods/late")
        handler.wait_for(lambda: ("deleted", "late") in handler.events, PATIENCE)
    assert not handler.faults
    kept = json.loads(handler.state[name, "p0"].json)
    assert kept["kind"] == "Pod"
    assert "managedFields" not in kept["metadata"]


def test_a_pod_that_finishes_is_gone_for_the_watch(certified, api, space):
    api.create(f"{space}/pods", a_pod("web"))
    name = space.rpartition("/")[2]
    handler = Only(lambda pod: pod.namespace == name)
    with reflecting(certified, PODS, handler):
        handler.wait_for(lambda: handler.syncs == 1, PATIENCE)
        api.patch(f"{space}/pods/web/status", {"status": {"phase": "Succeeded"}})
        handler.wait_for(lambda: ("deleted", "web") in handler.events, PATIENCE)


def test_every_kind_that_rules_can_look_at_can_be_listed_and_watched(certified):
    resources = [
        NAMESPACES,
        NODES,
        *pieces(STORAGE_KINDS, make_storage_object),
        *pieces(OWNER_KINDS, make_owner),
    ]
    for resource in resources:
        handler = Only(lambda _: False)
        with reflecting(certified, resource, handler) as (reflector, _, _):
            handler.wait_for(lambda handler=handler: handler.syncs == 1, PATIENCE)
        assert reflector.counts()["list"] == 1, resource.kind


def test_a_watch_outlives_a_server_that_is_killed(new_control_plane):
    api = new_control_plane.api()
    with client_of(new_control_plane, "certificate") as client:
        api.create("/api/v1/nodes", node("ant"))
        with reflecting(client, NODES, wait=None) as (reflector, handler, _):
            handler.wait_for(lambda: handler.syncs == 1, PATIENCE)
            for number in range(3):
                new_control_plane.kill()
                new_control_plane.start()
                new_control_plane.api().create("/api/v1/nodes", node(f"n{number}"))
                handler.wait_for(lambda n=number: ("added", f"n{n}") in handler.events, 60)
    assert sorted(reflector.objects()) == ["ant", "n0", "n1", "n2"]
    assert not handler.faults


def test_a_version_that_the_server_forgot_makes_it_list_anew(new_control_plane):
    """Hold the reflector back while the server is killed, changes, is compacted, and forgets."""
    api = new_control_plane.api()
    gate = Event()

    def held(_seconds):
        gate.wait(PATIENCE)
        return False

    with client_of(new_control_plane, "certificate") as client:
        for number in range(3):
            api.create("/api/v1/nodes", node(f"n{number}"))
        with reflecting(client, NODES, wait=held) as (reflector, handler, _):
            handler.wait_for(lambda: handler.syncs == 1, PATIENCE)
            new_control_plane.kill()
            new_control_plane.start()
            api = new_control_plane.api()
            api.delete("/api/v1/nodes/n0")
            api.create("/api/v1/nodes", node("late"))
            new_control_plane.compact()
            new_control_plane.kill()  # its own memory of changes would still answer
            new_control_plane.start()
            gate.set()
            handler.wait_for(lambda: handler.syncs == 2, 60)
    assert sorted(reflector.objects()) == ["late", "n1", "n2"]
    assert handler.changes()[3:] == [("added", "late"), ("deleted", "n0")]
    assert reflector.counts()["expired"] >= 1
    assert not handler.faults


# --- the lease, ConfigMaps, dumps ---


class Candidate:
    def __init__(self, client, namespace, identity):
        self.clock = HandClock()
        self.told = []
        self.election = LeaderElection(
            client,
            namespace,
            "policyd",
            identity,
            self.clock,
            lambda: 0.0,
            started=lambda: self.told.append("started"),
            lost=lambda: self.told.append("lost"),
        )

    def after(self, seconds):
        self.clock.seconds += seconds
        self.election.turn(0)
        return self


def test_the_lease_is_taken_kept_given_back_and_taken_over(client, api, space):
    namespace = space.rpartition("/")[2]
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/policyd"
    one = Candidate(client, namespace, "one").after(0)
    two = Candidate(client, namespace, "two").after(0)
    assert (one.election.leads, two.election.leads) == (True, False)
    for _ in range(4):
        one.after(2.1)
        two.after(2.1)
    assert api.get(path)["spec"]["holderIdentity"] == "one"
    one.election.release()
    assert not api.get(path)["spec"].get("holderIdentity")
    two.after(2.1)
    assert two.election.leads
    assert api.get(path)["spec"]["leaseTransitions"] == 1
    three = Candidate(client, namespace, "three").after(0)
    three.after(15.5)
    assert three.election.leads
    two.after(2.1)
    assert two.told == ["started", "lost"]


def test_a_configmap_is_found_by_its_label_and_gets_an_event(certified, api, space):
    namespace = space.rpartition("/")[2]
    data = {"a.expr": "rule", "readme": "no"}
    for name, labels in (("mine", {LABEL: "policyd"}), ("other", {LABEL: "gpu"}), ("none", {})):
        body = {"metadata": {"name": name, "labels": labels}, "data": data}
        api.create(f"{space}/configmaps", body)
    handler = Recorder()
    with reflecting(certified, rule_maps(namespace, "policyd"), handler):
        handler.wait_for(lambda: handler.syncs == 1, PATIENCE)
    (found,) = handler.state.values()
    assert found.texts == ((f"configmap/{namespace}/mine/a.expr", b"rule"),)
    events = Events(certified, SystemClock(), "host")
    RuleMapEvents(events, "policyd").refused(found, f"{found.name}/a.expr:1:5: a name is missing")
    assert events.flush()
    (event,) = api.get(f"{space}/events")["items"]
    assert event["involvedObject"]["kind"] == "ConfigMap"
    assert event["reason"] == "RulesRefused"
    assert event["message"].endswith("a.expr:1:5: a name is missing")


def test_a_configmap_of_the_server_is_read(api, space):
    body = {"metadata": {"name": "m"}, "binaryData": {"b.expr": "/w=="}, "data": {"a.expr": "x"}}
    made = make_rule_map(json.dumps(api.create(f"{space}/configmaps", body)).encode())
    assert [text for _, text in made.texts] == [b"x", b"\xff"]


def test_a_dump_of_the_server_is_read_like_any_other(certified, api, space, a_node):
    api.create(f"{space}/pods", a_pod("web", nodeName=a_node))
    dump = Dump(certified)
    manifests = read_bytes(b"".join(dump.document()), "dump")
    assert not manifests.problems
    assert not dump.left_out
    found = load_cluster(manifests, NOW).node(a_node)
    assert [pod.name for pod in found.pods] == ["web"]
