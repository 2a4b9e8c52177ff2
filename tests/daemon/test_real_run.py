"""`policyd run` against a real API server: what a user sees of it, from its start to its end."""

import pytest

from tests.daemon.running import running
from tests.policy.build import node
from tests.shared import ROOT

FIT = ROOT / "rules" / "fit.expr"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"


@pytest.fixture
def plane(new_control_plane):
    """Give a control plane of the test's own: this scheduler looks at all of a cluster."""
    return new_control_plane


@pytest.fixture
def api(plane):
    api = plane.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    api.create("/api/v1/namespaces", {"metadata": {"name": "policyd"}})
    return api


PODS = "/api/v1/namespaces/shop/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


def add_node(api, name, **amounts):
    made = node(name, {"kubernetes.io/hostname": name}, **amounts)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    api.create("/api/v1/nodes", made)


def add_pod(api, name, cpu="1", scheduler="policyd"):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "schedulerName": scheduler}
    api.create(PODS, {"metadata": {"name": name}, "spec": spec})


def place(api, name):
    return api.get(f"{PODS}/{name}")["spec"].get("nodeName")


def places(api):
    return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in api.get(PODS)["items"]}


def said(api, name, namespace="shop"):
    """Give what the events say of an object."""
    path = EVENTS.replace("/shop/", f"/{namespace}/")
    events = api.get(path)["items"]
    return [(e["reason"], e["note"]) for e in events if e["regarding"]["name"] == name]


def condition(api, name):
    conditions = api.get(f"{PODS}/{name}")["status"].get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


def test_pods_are_placed_by_the_rules_that_ship_and_others_are_left_alone(tmp_path, plane, api):
    add_node(api, "ant", cpu="2")
    add_node(api, "bee", cpu="4")
    for number in range(4):
        add_pod(api, f"small-{number}")
    add_pod(api, "large", cpu="16")
    add_pod(api, "foreign", scheduler="default-scheduler")
    with running(tmp_path, "--rules", FIT, "--kubeconfig", plane.kubeconfig) as policyd:
        line = policyd.wait_until_ready()
        assert "2 nodes" in line
        policyd.until(lambda: all(place(api, f"small-{n}") for n in range(4)))
        policyd.until(lambda: condition(api, "large").get("status") == "False")
        message = "0/2 nodes are available: 2 Insufficient cpu."
        assert condition(api, "large")["reason"] == "Unschedulable"
        assert condition(api, "large")["message"] == message
        policyd.until(lambda: ("FailedScheduling", message) in said(api, "large"))
        add_node(api, "cicada", cpu="16")
        policyd.until(lambda: place(api, "large") == "cicada")
        assert place(api, "foreign") is None
        assert said(api, "foreign") == []
        assert policyd.metric("policyd_ignored_pods") in (None, 1.0)
        assert policyd.end() == 0
    for number in range(4):  # written before it ended, one for each
        node_name = place(api, f"small-{number}")
        note = f"Successfully assigned shop/small-{number} to {node_name}"
        assert said(api, f"small-{number}") == [("Scheduled", note)]
    used = [name for name in places(api).values() if name == "ant"]
    assert len(used) <= 2


def test_rules_come_from_configmaps_and_what_becomes_of_them_is_told(tmp_path, plane, api):
    add_node(api, "ant", cpu="8")
    add_pod(api, "web")
    maps = "/api/v1/namespaces/policyd/configmaps"
    refusing = 'rule "closed" { require false because "closed today" }'
    labels = {"policyd.io/rules": "policyd"}
    api.create(
        maps, {"metadata": {"name": "rules", "labels": labels}, "data": {"a.expr": refusing}}
    )
    options = ("--kubeconfig", plane.kubeconfig, "--configmaps", "policyd")
    with running(tmp_path, *options) as policyd:
        policyd.wait_until_ready()
        message = "0/1 nodes are available: 1 closed today."
        policyd.until(lambda: condition(api, "web").get("message") == message)
        api.patch(f"{maps}/rules", {"data": {"a.expr": "\nrule"}})
        policyd.until(lambda: "RulesRefused" in dict(said(api, "rules", "policyd")))
        note = dict(said(api, "rules", "policyd"))["RulesRefused"]
        assert note.startswith("configmap/policyd/rules/a.expr:2:")
        assert policyd.get("/readyz")[0] == 200
        api.patch(f"{maps}/rules", {"data": {"a.expr": FIT.read_text()}})
        policyd.until(lambda: place(api, "web") == "ant")
        accepted = [note for reason, note in said(api, "rules", "policyd") if "Acc" in reason]
        assert len(accepted) == 2
        assert policyd.end() == 0


def test_replicas_take_turns_by_the_lease(tmp_path, plane, api):
    add_node(api, "ant", cpu="8")
    options = ("--rules", FIT, "--kubeconfig", plane.kubeconfig, "--leader-elect")
    lease = f"{LEASES}/policyd/leases/sched"
    options = (*options, "--lease", "policyd/sched")
    (tmp_path / "two").mkdir()
    with running(tmp_path, *options) as one:
        one.wait_until_ready()
        add_pod(api, "first")
        one.until(lambda: place(api, "first") == "ant")
        holder = api.get(lease)["spec"]["holderIdentity"]
        with running(tmp_path / "two", *options) as two:
            two.wait_until_ready()  # it stands by, and is ready to
            assert one.end() == 0
            two.until(lambda: api.get(lease)["spec"]["holderIdentity"] not in ("", holder))
            add_pod(api, "second")
            two.until(lambda: place(api, "second") == "ant")
            assert two.end() == 0
    assert not api.get(lease)["spec"].get("holderIdentity")


def test_it_goes_on_where_the_server_was_killed_and_started_again(tmp_path, plane, api):
    add_node(api, "ant", cpu="32")
    with running(tmp_path, "--rules", FIT, "--kubeconfig", plane.kubeconfig) as policyd:
        policyd.wait_until_ready()
        for turn in range(2):
            add_pod(api, f"before-{turn}")
            plane.kill()
            plane.start()
            api = plane.api()
            add_pod(api, f"after-{turn}")
            policyd.until(lambda api=api: all(places(api).values()))
        assert policyd.end() == 0
    names = [p["metadata"]["name"] for p in api.get(PODS)["items"]]
    assert sorted(names) == ["after-0", "after-1", "before-0", "before-1"]
    assert all(place(api, name) == "ant" for name in names)


def test_a_cluster_that_cannot_be_reached_is_waited_for_and_said(tmp_path, plane):
    plane.kill()
    options = ("--rules", FIT, "--kubeconfig", plane.kubeconfig)
    with running(tmp_path, *options) as policyd:
        policyd.until(lambda: "the API server did not answer" in policyd.logged())
        plane.start()
        policyd.wait_until_ready()
        assert policyd.end() == 0
