"""The cluster behind an API server: binds, what is read back, conditions and events."""

import json

import pytest

from policyd.kube.cluster import KubeCluster
from policyd.kube.events import Events
from policyd.kube.resources import PODS
from policyd.model.pod import with_record
from policyd.scheduler.protocols import ClusterError, Remedy
from tests.kube.fake_apiserver import Fault
from tests.policy.build import pod
from tests.scheduler.fakes import HandClock


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def cluster(client, clock):
    return KubeCluster(client, clock, Events(client, clock, "host"))


def created(server, manifest=None):
    """Create a pod, and give it as it was read."""
    return read(server.create(manifest or pod("web")))


def read(obj):
    return PODS.make(json.dumps(obj).encode())


def now(server, name="web"):
    return server.get("Pod", name, "default")


def condition(server):
    conditions = (now(server).get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), None)


# --- binding ---


def test_a_pod_is_bound_by_one_call_with_its_uid(server, cluster):
    web = created(server)
    cluster.bind(web, "ant")
    assert now(server)["spec"]["nodeName"] == "ant"
    assert cluster.bound_node(web) == "ant"
    (call,) = server.requests("POST", "")
    assert call.path == "/api/v1/namespaces/default/pods/web/binding"
    assert call.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", "namespace": "default", "uid": web.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "ant"},
    }


def test_who_lost_the_lease_binds_nothing(server, client, clock):
    web = created(server)
    leads = [True, False, False]
    cluster = KubeCluster(client, clock, Events(client, clock, "host"), leads.pop)
    with pytest.raises(ClusterError, match="another replica decides") as caught:
        cluster.bind(web, "ant")
    assert not caught.value.ambiguous
    cluster.unschedulable(web, "SchedulerError", caught.value.message)
    assert len(server.requests("POST", "")) == len(server.requests("PATCH", "")) == 0
    cluster.bind(web, "ant")
    assert len(server.requests("POST", "binding")) == 1


def test_the_devices_of_a_pod_are_written_with_its_bind(server, cluster):
    web = with_record(created(server, pod("web", gpu="2")), {"nvidia.com/gpu": (0, 3)})
    cluster.bind(web, "ant")
    assert now(server)["metadata"]["annotations"] == {"policyd.io/devices": "nvidia.com/gpu=0,3"}


def test_a_pod_that_was_replaced_is_not_bound(server, cluster):
    old = created(server)
    server.delete("Pod", "web", "default")
    server.create(pod("web"))
    with pytest.raises(ClusterError, match="Precondition") as caught:
        cluster.bind(old, "ant")
    assert caught.value.ambiguous  # it is read back, which shows that the pod is gone
    with pytest.raises(ClusterError, match="is gone") as caught:
        cluster.bound_node(old)
    assert caught.value.remedy is Remedy.NEEDS_PERSON
    assert "nodeName" not in now(server)["spec"]


def test_a_pod_that_is_gone_needs_no_second_try(server, cluster):
    web = created(server)
    server.delete("Pod", "web", "default")
    for call in (lambda: cluster.bind(web, "ant"), lambda: cluster.bound_node(web)):
        with pytest.raises(ClusterError, match="pod default/web is gone") as caught:
            call()
        assert caught.value.remedy is Remedy.NEEDS_PERSON
        assert not caught.value.ambiguous


@pytest.mark.parametrize(
    "fault",
    [
        {"code": 500, "takes_effect": True},
        {"action": "drop", "takes_effect": True},
        {"action": "drop"},
        {"code": 409},
    ],
)
def test_a_bind_that_may_have_worked_is_ambiguous_and_can_be_read_back(server, cluster, fault):
    web = created(server)
    server.faults.append(Fault("POST", "binding", **fault))
    with pytest.raises(ClusterError) as caught:
        cluster.bind(web, "ant")
    assert caught.value.ambiguous
    assert cluster.bound_node(web) == ("ant" if fault.get("takes_effect") else None)


def test_a_pod_that_is_bound_already_can_be_read_back(server, cluster):
    web = created(server)
    cluster.bind(web, "bee")
    with pytest.raises(ClusterError, match="already assigned") as caught:
        cluster.bind(web, "ant")
    assert caught.value.ambiguous
    assert cluster.bound_node(web) == "bee"


# --- what is written for people ---


def test_a_pod_that_fits_nowhere_gets_an_event_and_a_condition(server, cluster):
    web = created(server)
    cluster.unschedulable(web, "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
    assert condition(server) == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }
    (event,) = server.all("Event")
    assert (event["type"], event["reason"], event["action"]) == (
        "Warning",
        "FailedScheduling",
        "Scheduling",
    )
    assert event["reportingController"] == "default-scheduler"  # the pod names no scheduler
    assert event["regarding"]["uid"] == web.uid


def test_the_event_is_reported_by_the_scheduler_that_the_pod_names(server, cluster):
    manifest = pod("web")
    manifest["spec"]["schedulerName"] = "gpu"
    cluster.scheduled(created(server, manifest), "ant")
    (event,) = server.all("Event")
    assert event["reportingController"] == "gpu"
    assert event["note"] == "Successfully assigned default/web to ant"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")


def patches(server):
    return len(server.requests("PATCH", "/pods/web/status"))


def test_a_condition_is_written_only_where_it_says_something_new(server, cluster, clock):
    web = created(server)
    cluster.unschedulable(web, "Unschedulable", "one")
    cluster.unschedulable(web, "Unschedulable", "one")  # before the watch has brought it
    cluster.unschedulable(read(now(server)), "Unschedulable", "one")
    assert patches(server) == 1
    clock.seconds = 60
    cluster.unschedulable(read(now(server)), "Unschedulable", "two")
    assert patches(server) == 2
    assert condition(server)["message"] == "two"
    assert condition(server)["lastTransitionTime"] == "1970-01-01T00:00:00Z"


def test_a_condition_that_somebody_else_changed_is_written_again(server, cluster):
    web = created(server)
    cluster.unschedulable(web, "Unschedulable", "one")
    changed = now(server)
    changed["status"]["conditions"] = []
    server.update(changed)
    cluster.unschedulable(read(now(server)), "Unschedulable", "one")
    assert condition(server)["message"] == "one"


def test_a_condition_says_of_which_generation_it_is(server, cluster):
    manifest = pod("web")
    manifest["metadata"]["generation"] = 4
    cluster.unschedulable(created(server, manifest), "Unschedulable", "one")
    assert condition(server)["observedGeneration"] == 4
    cluster.unschedulable(read(now(server)), "Unschedulable", "one")
    assert patches(server) == 1


def test_a_pod_that_changed_meanwhile_gets_its_condition_all_the_same(server, cluster):
    old = created(server)
    server.update({**now(server), "status": {"phase": "Pending"}})
    cluster.unschedulable(old, "Unschedulable", "one")
    assert condition(server)["message"] == "one"
    assert now(server)["status"]["phase"] == "Pending"


def test_a_pod_that_was_bound_meanwhile_gets_no_condition(server, cluster):
    old = created(server)
    cluster.bind(read(now(server)), "ant")
    cluster.unschedulable(old, "Unschedulable", "one")
    assert condition(server) is None


def test_a_pod_that_was_replaced_meanwhile_gets_no_condition(server, cluster):
    old = created(server)
    server.delete("Pod", "web", "default")
    server.create(pod("web"))
    cluster.unschedulable(old, "Unschedulable", "one")
    assert condition(server) is None
    server.delete("Pod", "web", "default")
    cluster.unschedulable(old, "Unschedulable", "two")  # which is no error


def test_a_condition_that_cannot_be_written_is_an_error_after_the_event(server, cluster):
    web = created(server)
    server.faults.append(Fault("PATCH", "status", 403))
    with pytest.raises(ClusterError, match="403"):
        cluster.unschedulable(web, "Unschedulable", "one")
    assert len(server.all("Event")) == 1


def test_the_memory_of_conditions_is_bounded(server, cluster, monkeypatch):
    monkeypatch.setattr("policyd.kube.cluster.MOST_CONDITIONS", 1)
    one, two = created(server, pod("one")), created(server, pod("two"))
    for _ in range(2):
        cluster.unschedulable(one, "Unschedulable", "m")
        cluster.unschedulable(two, "Unschedulable", "m")
    assert len(server.requests("PATCH", "/pods/one/status")) >= 2  # forgotten, so written again
