"""The permissions that docs/operations.md lists: enough for a whole run, and each needed."""

import re
import time
from contextlib import contextmanager
from itertools import count

import pytest

from policyd.daemon.clock import SystemClock
from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import Daemon, ProfileConfig, RunConfig
from policyd.kube.client import ApiClient
from policyd.kube.cluster import KubeCluster
from policyd.kube.config import Connection, Identity, from_kubeconfig
from policyd.kube.configmaps import LABEL, rule_maps
from policyd.kube.errors import ApiError
from policyd.kube.events import Events
from policyd.kube.lease import LeaderElection
from policyd.kube.resources import NAMESPACES, NODES, PODS
from tests.kube.test_real import a_pod, read
from tests.policy.build import node
from tests.scheduler.fakes import HandClock
from tests.shared import ROOT

PATIENCE = 30.0
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SPACE = "permitted"
PATH = f"/api/v1/namespaces/{SPACE}"
SCHEDULER = "permitted"
NUMBERS = count(1)


def listed():
    """Read the permissions off the page: (group, resource, verb), and those of the namespace."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("### Permissions")[2].partition("###")[0]
    for row in re.findall(r"^\|(.+)\|$", section, re.MULTILINE):
        group, resources, verbs, where = (cell.strip() for cell in row.split("|"))
        for resource in re.findall(r"`([\w/]+)`", resources):
            for verb in verbs.split(", "):
                yield group.strip("`"), resource, verb, where == "the cluster"


LISTED = list(listed())


def rules(without=None, *, of_cluster):
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        for group, resource, verb, everywhere in LISTED
        if everywhere is of_cluster and (group, resource, verb) != without
    ]


def until(holds):
    """Ask again and again until something holds; the time only bounds a failure."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end


@pytest.fixture(scope="module")
def account(control_plane, api):
    """Make a service account with the permissions of the page; give a connection as it."""
    api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    api.create(f"{PATH}/serviceaccounts", {"metadata": {"name": "policyd"}})
    subject = {"kind": "ServiceAccount", "name": "policyd", "namespace": SPACE}
    for kind, path, of_cluster in (
        ("ClusterRole", RBAC, True),
        ("Role", f"{RBAC}/namespaces/{SPACE}", False),
    ):
        plural = f"{kind.lower()}s"
        body = {"metadata": {"name": "permitted"}, "rules": rules(of_cluster=of_cluster)}
        api.create(f"{path}/{plural}", body)
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "permitted"}
        binding = {"metadata": {"name": "permitted"}, "roleRef": reference, "subjects": [subject]}
        api.create(f"{path}/{kind.lower()}bindings", binding)
    made = api.create(f"{PATH}/serviceaccounts/policyd/token", {"spec": {}})
    of_admin = from_kubeconfig([str(control_plane.kubeconfig)])
    return Connection(
        of_admin.server,
        "a service account",
        authority=of_admin.authority,
        namespace=SPACE,
        identity=Identity(token=made["status"]["token"]),
    )


@contextmanager
def refused(api, permission):
    """Take one permission away for a while."""
    set_rules(api, permission)
    try:
        yield
    finally:
        set_rules(api, None)


def set_rules(api, without):
    of = {"clusterroles": (RBAC, True), "roles": (f"{RBAC}/namespaces/{SPACE}", False)}
    for plural, (path, of_cluster) in of.items():
        body = {"rules": rules(without, of_cluster=of_cluster)}
        api.patch(f"{path}/{plural}/permitted", body)


@pytest.fixture
def a_node(api):
    name = f"permitted-{next(NUMBERS)}"
    made = node(name)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    api.create("/api/v1/nodes", made)
    yield name
    api.delete(f"/api/v1/nodes/{name}")


def test_they_are_enough_for_a_whole_run(api, account, a_node):
    labels = {LABEL: SCHEDULER}
    data = {"a.expr": 'rule "room" { require node.free.cpu >= pod.requests.cpu }'}
    api.create(f"{PATH}/configmaps", {"metadata": {"name": "r", "labels": labels}, "data": data})
    config = RunConfig((ProfileConfig(SCHEDULER, ()),), port=0, awaits=("configmaps",))
    kube = KubeConfig(account, SPACE, "permitted", SPACE)
    daemon = Daemon(config, lambda site: KubeFeed(site, kube))
    daemon.start()
    try:
        until(lambda: daemon.is_ready and not daemon.feed.is_standby())
        small, large = a_pod("small", schedulerName=SCHEDULER), a_pod("large")
        large["spec"]["schedulerName"] = SCHEDULER
        large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1k"
        for each in (small, large):
            api.create(f"{PATH}/pods", each)
        until(lambda: api.get(f"{PATH}/pods/small")["spec"].get("nodeName"))
        until(lambda: api.get(f"{PATH}/pods/large")["status"].get("conditions"))
    finally:
        assert daemon.stop(PATIENCE)
    reasons = sorted(event["reason"] for event in api.get(f"{PATH}/events")["items"])
    assert reasons == ["FailedScheduling", "RulesAccepted", "Scheduled"]
    assert daemon.cache.node(a_node) is not None


class Uses:
    """What policyd does with each permission, by the parts that do it."""

    def __init__(self, client, api, a_node):
        self.client, self.api, self.a_node = client, api, a_node
        self.events = Events(client, SystemClock(), "host")
        self.cluster = KubeCluster(client, SystemClock(), self.events)
        self.name = f"p{next(NUMBERS)}"
        self.pod = read(api.create(f"{PATH}/pods", a_pod(self.name)))

    def list(self, resource):
        self.client.get(resource.path, dict(resource.query))

    def watch(self, resource):
        query = {**dict(resource.query), "watch": "1", "timeoutSeconds": "1"}
        self.client.stream(resource.path, query, PATIENCE).close()

    def get_pods(self):
        self.cluster.bound_node(self.pod)

    def create_binding(self):
        self.cluster.bind(self.pod, self.a_node)

    def patch_status(self):
        self.cluster._put_condition(self.pod, self.cluster._read(self.pod), "Unschedulable", "no")

    def create_event(self):
        Events(self.client, SystemClock(), "host").write(self.occurrence("one"))

    def patch_event(self):
        for _ in range(3):
            self.events.write(self.occurrence("two"))

    def occurrence(self, note):
        from policyd.kube.cluster import _occurrence  # noqa: PLC0415 - the shape alone

        return _occurrence(self.pod, "Warning", "FailedScheduling", "Scheduling", note)

    def election(self):
        def ignore():
            pass

        return LeaderElection(
            *(self.client, SPACE, self.name, "one", HandClock(), lambda: 0.0),
            started=ignore,
            lost=ignore,
        )

    def get_lease(self):
        self.election()._read()

    def create_lease(self):
        self.election()._create(0.0)

    def update_lease(self):
        election = self.election()
        lease = election._read()
        if lease is None:
            self.api.create(
                f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases",
                {"metadata": {"name": self.name}},
            )
            lease = election._read()
        election._replace(lease, {"holderIdentity": "one"})

    def of(self, group, resource, verb):
        """Give the use of a permission."""
        kinds = {
            "pods": PODS,
            "nodes": NODES,
            "namespaces": NAMESPACES,
            "configmaps": rule_maps(SPACE, SCHEDULER),
        }
        special = {
            ("", "pods", "get"): self.get_pods,
            ("", "pods/binding", "create"): self.create_binding,
            ("", "pods/status", "patch"): self.patch_status,
            ("events.k8s.io", "events", "create"): self.create_event,
            ("events.k8s.io", "events", "patch"): self.patch_event,
            ("coordination.k8s.io", "leases", "get"): self.get_lease,
            ("coordination.k8s.io", "leases", "create"): self.create_lease,
            ("coordination.k8s.io", "leases", "update"): self.update_lease,
        }
        if (group, resource, verb) in special:
            return special[group, resource, verb]
        return lambda: getattr(self, verb)(kinds[resource])


@pytest.mark.parametrize(
    "permission", [entry[:3] for entry in LISTED], ids=lambda p: "-".join(filter(None, p))
)
def test_each_of_them_is_used_and_needed(api, account, a_node, permission):
    client = ApiClient(account, SystemClock())

    def refusal():
        try:
            Uses(client, api, a_node).of(*permission)()
        except ApiError as error:
            return error.status
        return None

    with refused(api, permission):
        until(lambda: refusal() == 403)  # the server learns of its rules a little later
    until(lambda: refusal() is None)
    client.close()
