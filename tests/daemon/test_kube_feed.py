"""The whole scheduler on an API server over HTTP: what it places, says, reloads, and ends with."""

from contextlib import contextmanager

import pytest

from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import Daemon, ProfileConfig, RunConfig
from policyd.kube.config import Connection
from tests.kube.conftest import serving
from tests.kube.fake_apiserver import Fault
from tests.kube.test_configmaps import config_map
from tests.policy.build import node, pod

PATIENCE = 20.0
FIT = 'rule "room" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'
TEXTS = ("configmaps",)


@pytest.fixture
def server():
    with serving() as server:
        yield server


@contextmanager
def running(server, paths=(), *, lease=None, configmaps=None, ends=True):
    """Run a scheduler on a server; give it while it runs."""
    config = RunConfig(
        (ProfileConfig("policyd", tuple(map(str, paths))),),
        port=0,
        awaits=TEXTS if configmaps else (),
    )
    connection = Connection(server.url, "test", namespace="policyd")
    kube = KubeConfig(connection, configmaps, lease, "policyd")
    daemon = Daemon(config, lambda site: KubeFeed(site, kube))
    daemon.start()
    try:
        yield daemon
    finally:
        is_clean = daemon.stop(PATIENCE)
        late = daemon.threads.join(PATIENCE)
    assert late == []
    assert is_clean or not ends


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "fit.expr"
    path.write_text(FIT)
    return path


def ours(name, cpu="1", scheduler="policyd"):
    manifest = pod(name, cpu=cpu)
    manifest["spec"]["schedulerName"] = scheduler
    return manifest


def place(server, name):
    found = server.get("Pod", name, "default")
    return found["spec"].get("nodeName") if found else None


def condition(server, name):
    status = (server.get("Pod", name, "default") or {}).get("status") or {}
    return next((c for c in status.get("conditions") or [] if c["type"] == "PodScheduled"), None)


def reasons(server):
    return sorted((e["regarding"]["name"], e["reason"]) for e in server.all("Event"))


def test_pods_are_placed_and_those_that_do_not_fit_are_told_why(server, rules):
    server.create(node("ant", cpu="2"))
    server.create(pod("there", on="ant", cpu="1"))
    server.create(ours("small"))
    server.create(ours("large", cpu="8"))
    server.create(ours("foreign", scheduler="default-scheduler"))
    with running(server, [rules]) as daemon:
        server.wait_for(lambda: place(server, "small") == "ant", PATIENCE)
        server.wait_for(lambda: condition(server, "large") is not None, PATIENCE)
        assert daemon.is_ready
        assert condition(server, "large")["reason"] == "Unschedulable"
        message = "0/1 nodes are available: 1 Insufficient cpu."
        assert condition(server, "large")["message"] == message
        server.create(node("bee", cpu="16"))
        server.wait_for(lambda: place(server, "large") == "bee", PATIENCE)
        exposition = daemon.metrics.exposition()[0].decode()
        assert 'policyd_watches_total{kind="Pod",what="list"} 1.0' in exposition
        assert "policyd_leader 1.0" in exposition
    assert place(server, "foreign") is None
    assert reasons(server) == [
        ("large", "FailedScheduling"),
        ("large", "Scheduled"),
        ("small", "Scheduled"),
    ]
    assert len(server.requests("POST", "/binding$")) == 2


def test_nothing_is_decided_before_everything_is_listed(server, rules):
    server.create(node("ant", cpu="2"))
    server.create(pod("there", on="ant", cpu="2"))
    server.create(ours("small"))
    server.faults.append(Fault("GET", "/nodes$", 503, times=1))
    with running(server, [rules]) as daemon:
        server.wait_for(lambda: len(server.requests("GET", "/nodes$")) >= 1, PATIENCE)
        server.wait_for(lambda: condition(server, "small") is not None, PATIENCE)
        assert daemon.feed.problem() is None
    # had it decided without the node or the pod on it, it would have said "no nodes", or bound
    assert condition(server, "small")["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert len(server.requests("PATCH", "/pods/small/status")) == 1


def test_it_is_not_ready_while_something_cannot_be_listed_and_says_why(server, rules):
    server.faults.append(Fault("GET", "/namespaces$", 403, times=1000))
    with running(server, [rules]) as daemon:
        server.wait_for(lambda: len(server.requests("GET", "/namespaces$")) >= 1, PATIENCE)
        server.wait_for(lambda: "403" in daemon.problems(), PATIENCE)
        assert "the objects of kind Namespace are not listed yet" in daemon.problems()
        assert not daemon.is_ready


@pytest.mark.parametrize(
    "fault",
    [
        {"code": 500, "takes_effect": True},
        {"code": 500},
        {"code": 409},
        {"action": "drop", "takes_effect": True},
        {"action": "drop"},
        {"code": 429},
    ],
)
def test_a_bind_that_goes_wrong_ends_with_one_bound_pod(server, rules, fault):
    server.create(node("ant", cpu="1"))
    server.faults.append(Fault("POST", "/binding$", **fault))
    server.create(ours("web"))
    with running(server, [rules]) as daemon:
        server.wait_for(lambda: place(server, "web") == "ant", PATIENCE)
        server.wait_for(lambda: ("web", "Scheduled") in reasons(server), PATIENCE)
        assert daemon.queue.counts()["in flight"] == 0
    assert reasons(server).count(("web", "Scheduled")) == 1


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_nothing_behind(server, rules):
    server.create(node("ant", cpu="1"))
    server.create(ours("web"))
    server.faults.append(Fault("POST", "/binding$", action="hang"))
    with running(server, [rules], ends=False) as daemon:
        server.wait_for(lambda: server.requests("POST", "/binding$"), PATIENCE)
        server.delete("Pod", "web", "default")
        server.create(ours("next"))
        server.wait_for(lambda: place(server, "next") == "ant", PATIENCE)
        assert daemon.cache.node("ant").pods[0].name == "next"
        with server.changed:  # the call that hangs ends
            server.closing = True
            server.changed.notify_all()


def test_rules_come_from_configmaps_and_go_with_their_changes(server):
    server.create(node("ant", cpu="2"))
    server.create(ours("web"))
    server.create(config_map(a__expr='rule "no" { require false because "not today" }'))
    with running(server, configmaps="policyd") as daemon:
        server.wait_for(lambda: condition(server, "web") is not None, PATIENCE)
        assert condition(server, "web")["message"] == "0/1 nodes are available: 1 not today."
        server.update(config_map(a__expr=FIT))
        server.wait_for(lambda: place(server, "web") == "ant", PATIENCE)
        server.update(config_map(a__expr="rule"))
        server.wait_for(lambda: ("base", "RulesRefused") in reasons(server), PATIENCE)
        assert daemon.is_ready
    assert reasons(server).count(("base", "RulesAccepted")) == 2


def test_what_rules_look_at_beyond_nodes_and_pods_is_watched_from_then_on(server, rules):
    for plural in ("csinodes", "csidrivers", "volumeattachments"):  # which the fake does not have
        empty = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}
        server.canned[f"/apis/storage.k8s.io/v1/{plural}"] = empty
    claimed = ours("web")
    claimed["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    rules.write_text('rule "no" { require false because "not yet" }')
    server.create(node("ant", cpu="2"))
    server.create(claimed)
    with running(server, [rules]) as daemon:
        server.wait_for(lambda: condition(server, "web") is not None, PATIENCE)
        assert not server.requests("GET", "/persistentvolumeclaims$")
        text = "require pod.volumeClaims(cluster).all(c, c.found)"
        rules.write_text(f'rule "claims" {{ {text} because "no claim" }}')
        message = "0/1 nodes are available: 1 no claim."
        server.wait_for(lambda: condition(server, "web")["message"] == message, PATIENCE)
        claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
        server.create(claim)
        server.wait_for(lambda: place(server, "web") == "ant", PATIENCE)
        assert daemon.feed.problem() is None


def test_one_of_two_replicas_decides_and_the_other_takes_over_at_once_when_it_ends(server, rules):
    server.create(node("ant", cpu="8"))
    with running(server, [rules], lease="policyd") as one:
        server.wait_for(lambda: one.feed.election.leads, PATIENCE)
        with running(server, [rules], lease="policyd") as two:
            server.create(ours("first"))
            server.wait_for(lambda: place(server, "first") == "ant", PATIENCE)
            assert two.feed.is_standby()
            one.stop(PATIENCE)
            server.create(ours("second"))
            server.wait_for(lambda: place(server, "second") == "ant", PATIENCE)
            assert two.feed.election.leads
    released = server.get("Lease", "policyd", "policyd")
    assert released["spec"]["holderIdentity"] == ""
    assert released["spec"]["leaseTransitions"] == 1


def test_a_replica_that_loses_the_lease_binds_nothing_more(server, rules):
    server.create(node("ant", cpu="8"))
    with running(server, [rules], lease="policyd") as daemon:
        server.wait_for(lambda: daemon.feed.election.leads, PATIENCE)
        taken = server.get("Lease", "policyd", "policyd")
        taken["spec"]["holderIdentity"] = "somebody"
        server.update(taken)
        server.wait_for(daemon.feed.is_standby, PATIENCE)
        server.create(ours("web"))
        server.wait_for(lambda: daemon.queue.counts()["active"] == 1, PATIENCE)
        assert daemon.is_ready
    assert place(server, "web") is None
    assert server.get("Lease", "policyd", "policyd")["spec"]["holderIdentity"] == "somebody"
