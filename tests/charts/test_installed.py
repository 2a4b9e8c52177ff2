"""The chart on a real API server, and policyd as the account that the chart made.

The server's audit log says what that account did, which is compared with what the chart grants.
"""

import json
from itertools import count

import pytest
import yaml

from tests.charts.rendering import (
    CHART,
    MONITORED,
    NAMESPACE,
    VALUE_SETS,
    Helm,
    container,
    one,
    permissions,
)
from tests.controlplane import fixtures
from tests.controlplane.api import Api, RefusedError
from tests.daemon.running import running
from tests.policy.build import node
from tests.shared import ROOT

pytestmark = pytest.mark.timeout(300)

PODS = "/api/v1/namespaces/shop/pods"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/policyd"
EVENTS = "/apis/events.k8s.io/v1/namespaces"
SERVICE_ACCOUNT = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/policyd"
USER = f"system:serviceaccount:{NAMESPACE}:policyd"
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
NUMBERS = count(1)
OPERATOR = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}


@pytest.fixture(scope="module")
def plane(helm, tmp_path_factory):
    """Give a control plane of these tests' own, which writes down who did what."""
    assert helm.exists()
    folder = tmp_path_factory.mktemp("chart")
    (folder / "audit.yaml").write_text(yaml.safe_dump(AUDIT), encoding="utf-8")
    with fixtures._running(folder) as started:
        started.kill()
        started.start(
            f"--audit-policy-file={folder / 'audit.yaml'}",
            f"--audit-log-path={folder / 'audit.log'}",
        )
        yield started


@pytest.fixture(scope="module")
def admin(plane):
    """Give the administrator's client, once the kinds of the operator are served."""
    api = plane.api()
    for name, labels in ((NAMESPACE, RESTRICTED), ("shop", {}), ("rules", {})):
        api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for kind, plural in OPERATOR.items():
        api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(kind, plural))
    for plural in OPERATOR.values():
        until(lambda plural=plural: served(api, plural))
    return api


def crd(kind, plural):
    """Give a kind of the Prometheus operator, as far as the API server must know it."""
    group = "monitoring.coreos.com"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def until(holds, attempts=2000):
    """Ask again and again; each question is answered by the server, so that this is bounded."""
    for _ in range(attempts):
        found = holds()
        if found:
            return found
    raise AssertionError("it never came to hold")


def served(api, plural):
    try:
        return api.get(f"/apis/monitoring.coreos.com/v1/{plural}")
    except RefusedError:
        return None


@pytest.fixture
def charts(helm, plane, tmp_path):
    """Give helm on the control plane."""
    return Helm(helm, tmp_path, plane.kubeconfig)


@pytest.fixture
def installed(charts, admin):
    """Give helm with the chart installed; what the test made is removed after it."""
    charts.run("install", "policyd", CHART, "-n", NAMESPACE, "--values", charts.values(MONITORED))
    yield charts
    charts.call("uninstall", "policyd", "-n", NAMESPACE)
    for leftover in (PODS, "/api/v1/nodes", LEASE.rpartition("/")[0]):
        admin.delete(leftover)


def release(charts):
    text = charts.run("get", "manifest", "policyd", "-n", NAMESPACE)
    return [made for made in yaml.safe_load_all(text) if made]


@pytest.fixture
def account(plane, admin, installed, tmp_path):
    """Give a kubeconfig of the chart's service account, whose token the server issued."""
    assert installed
    made = admin.create(f"{SERVICE_ACCOUNT}/token", {"spec": {"expirationSeconds": 3600}})
    (tmp_path / "token").write_text(made["status"]["token"], encoding="utf-8")
    config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    config["users"] = [{"name": "policyd", "user": {"tokenFile": str(tmp_path / "token")}}]
    cluster = config["clusters"][0]["name"]
    context = {"cluster": cluster, "user": "policyd", "namespace": NAMESPACE}
    config["contexts"] = [{"name": "policyd", "context": context}]
    config["current-context"] = "policyd"
    path = tmp_path / "account"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def arguments(charts, kubeconfig):
    """Give the arguments of the Deployment, with what a pod would have replaced."""
    given = container(release(charts))["args"]
    assert given[0] == "run"
    assert "--in-cluster" in given
    return [
        f"--kubeconfig={kubeconfig}" if it == "--in-cluster" else it
        for it in given[1:]
        if not it.startswith(("--bind-address", "--port", "--log-format"))
    ]


def add_node(api, name, cpu):
    made = node(name, {"kubernetes.io/hostname": name}, cpu=cpu)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return api.create("/api/v1/nodes", made)


def add_pod(api, name, cpu="1"):
    each = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [each], "schedulerName": "policyd"}
    api.create(PODS, {"metadata": {"name": name}, "spec": spec})


def place(api, name):
    return api.get(f"{PODS}/{name}")["spec"].get("nodeName")


def events(api, name, namespace="shop"):
    found = api.get(f"{EVENTS}/{namespace}/events")["items"]
    return {it["reason"]: it for it in found if it["regarding"]["name"] == name}


def audited(plane, since):
    """Give what the account did: (group, resource, verb, namespace, status)."""
    for line in (plane.folder / "audit.log").read_text(encoding="utf-8")[since:].splitlines():
        entry = json.loads(line)
        if entry["user"].get("username") != USER or "objectRef" not in entry:
            continue
        about = entry["objectRef"]
        name = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        yield (
            *(about.get("apiGroup", ""), name, entry["verb"], about.get("namespace")),
            entry.get("responseStatus", {}).get("code"),
        )


def test_policyd_runs_as_the_account_of_the_chart_and_uses_all_that_it_may(
    plane, admin, installed, account, tmp_path
):
    since = len((plane.folder / "audit.log").read_text(encoding="utf-8"))
    add_node(admin, "ant", cpu="4")
    with running(tmp_path, *arguments(installed, account)) as policyd:
        policyd.wait_until_ready()
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container(release(installed))[probe]["httpGet"]["path"]
            assert policyd.get(path)[0] == 200
        pods_are_placed_and_told_of(policyd, admin)
        policyd.until(lambda: a_pod_is_read_again(plane, admin, since))
        rules_are_replaced_by_an_upgrade(policyd, admin, installed)
        assert policyd.end() == 0
    assert not admin.get(LEASE)["spec"].get("holderIdentity")
    assert_used_is_granted(installed, plane, since)


def pods_are_placed_and_told_of(policyd, admin):
    add_pod(admin, "web")
    add_pod(admin, "large", cpu="64")
    policyd.until(lambda: place(admin, "web") == "ant")
    assert policyd.metric("policyd_leader") == 1
    assert admin.get(LEASE)["spec"]["holderIdentity"]
    policyd.until(lambda: "FailedScheduling" in events(admin, "large"))
    told = events(admin, "large")["FailedScheduling"]
    assert told["note"] == "0/1 nodes are available: 1 Insufficient cpu."
    # the same again, so that the event becomes a series
    allocatable = {"cpu": "5", "memory": "64Gi", "pods": "110"}
    admin.patch("/api/v1/nodes/ant/status", {"status": {"allocatable": allocatable}})
    policyd.until(lambda: events(admin, "large")["FailedScheduling"].get("series"))


def a_pod_is_read_again(plane, admin, since):
    """Change a pod while it is told that it waits: policyd then reads it before it tells again."""
    name = f"busy-{next(NUMBERS)}"
    add_pod(admin, name, cpu="64")
    for number in range(20):
        admin.patch(f"{PODS}/{name}", {"metadata": {"labels": {"number": str(number)}}})
    return any(entry[1:3] == ("pods", "get") for entry in audited(plane, since))


def rules_are_replaced_by_an_upgrade(policyd, admin, charts):
    """Upgrade to other rules and to rules that are wrong; nothing is started anew."""

    def upgrade(text):
        values = charts.values({**MONITORED, "rules": {"files": {"own.expr": text}}})
        charts.run("upgrade", "policyd", CHART, "-n", NAMESPACE, "--values", values)

    def told():
        return events(admin, "policyd-rules-policyd", NAMESPACE)

    reloads = 'policyd_reloads_total{profile="policyd",result="installed"}'
    upgrade('rule "own" { require true }')
    policyd.until(lambda: policyd.metric(reloads) == 2)
    policyd.until(lambda: "RulesAccepted" in told())
    upgrade('rule "own" {')
    policyd.until(lambda: policyd.metric('policyd_reload_refused{profile="policyd"}') == 1)
    policyd.until(lambda: "RulesRefused" in told())
    assert policyd.get("/readyz")[0] == 200


def assert_used_is_granted(charts, plane, since):
    entries = list(audited(plane, since))
    refused = {entry for entry in entries if entry[-1] in {401, 403}}
    assert not refused, "too little is granted"
    used = {entry[:3] for entry in entries}
    granted = {entry[:3] for entry in permissions(release(charts))}
    assert granted - used == set(), "too much is granted"
    assert used - granted == set(), "the log is read wrongly"
    namespaced = {entry[:3] for entry in permissions(release(charts)) if entry[3]}
    where = {entry[3] for entry in entries if entry[:3] in namespaced}
    assert where == {NAMESPACE}


REFUSED = {
    "read a secret": ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets", None),
    "read the rules of others": ("GET", "/api/v1/namespaces/kube-system/configmaps", None),
    "write its own rules": (
        "PATCH",
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/policyd-rules-policyd",
        {"data": {"kubernetes.expr": ""}},
    ),
    "create a pod": ("POST", PODS, {"metadata": {"name": "x"}}),
    "delete a pod": ("DELETE", f"{PODS}/web", None),
    "evict a pod": ("POST", f"{PODS}/web/eviction", {"metadata": {"name": "web"}}),
    "change a pod": ("PATCH", f"{PODS}/web", {"metadata": {"labels": {"a": "b"}}}),
    "run a command": ("POST", f"{PODS}/web/exec", {}),
    "read a log": ("GET", f"{PODS}/web/log", None),
    "change a node": ("PATCH", "/api/v1/nodes/ant", {"spec": {"unschedulable": True}}),
    "take another lease": (
        "GET",
        LEASE.replace("/policyd", "/other").replace(NAMESPACE, "x"),
        None,
    ),
    "renew another lease": ("PUT", LEASE.removesuffix("policyd") + "other", {}),
    "delete its lease": ("DELETE", LEASE, None),
    "read events": ("GET", f"{EVENTS}/shop/events", None),
    "give itself more": (
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {"metadata": {"name": "x"}},
    ),
    "be somebody else": ("POST", f"{SERVICE_ACCOUNT}/token", {"spec": {}}),
}


def test_the_account_is_refused_everything_else(plane, admin, installed):
    assert installed
    add_node(admin, "ant", cpu="4")
    add_pod(admin, "web")
    made = admin.create(f"{SERVICE_ACCOUNT}/token", {"spec": {}})
    account = Api(plane.kubeconfig, token=made["status"]["token"])
    assert account.get("/api/v1/nodes")["items"], "it is known, and may do what it must"
    for what, (method, path, body) in REFUSED.items():
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        with pytest.raises(RefusedError) as refusal:
            account.call(method, path, body, kind=kind)
        assert refusal.value.status == 403, what


# --- what the server says of the objects ---


def collection(api, made):
    """Give the path at which an object is created, by what the server says of its kind."""
    version = made["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    found = next(
        each
        for each in api.get(base)["resources"]
        if each["kind"] == made["kind"] and "/" not in each["name"]
    )
    namespace = made["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if found["namespaced"] else ""
    return f"{base}{inside}/{found['name']}"


def test_the_server_takes_every_object_of_every_value_set_and_knows_every_field(charts, admin):
    for values in VALUE_SETS.values():
        for made in charts.render(values):
            answer = tried(admin, made)
            assert answer["kind"] == made["kind"]
            assert answer["metadata"]["uid"]
    wrong = one(charts.render(), "Service")
    wrong["spec"]["selectors"] = {}
    with pytest.raises(RefusedError, match="unknown field"):
        tried(admin, wrong)


def tried(api, made):
    """Have the server look at an object without keeping it."""
    return api.create(collection(api, made), made, dryRun="All", fieldValidation="Strict")


def test_its_pods_meet_the_pod_security_standard_restricted(installed, admin):
    template = one(release(installed), "Deployment")["spec"]["template"]
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    meta = {**template["metadata"], "name": "policyd-0"}
    made = admin.create(path, {"metadata": meta, "spec": template["spec"]}, dryRun="All")
    assert made["spec"]["priority"] == 2_000_000_000
    template["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(RefusedError, match="restricted"):
        admin.create(path, {"metadata": meta, "spec": template["spec"]}, dryRun="All")


def test_an_uninstalled_chart_leaves_nothing_but_its_lease(installed, admin):
    objects = release(installed)
    assert len(objects) > 10
    installed.run("uninstall", "policyd", "-n", NAMESPACE)
    for made in objects:
        with pytest.raises(RefusedError) as refusal:
            admin.get(f"{collection(admin, made)}/{made['metadata']['name']}")
        assert refusal.value.status == 404


def test_the_notes_say_how_to_go_on(charts, admin):
    assert admin
    given = {"networkPolicy": {"from": []}, "profiles": [{"name": "batch"}]}
    values = charts.values(given)
    said = charts.run(
        "install", "noted", CHART, "-n", "rules", "--dry-run=server", "--values", values
    )
    for part in (
        "`schedulerName: policyd`, `schedulerName: batch`",
        "get lease noted-policyd",
        "policyd explain NAMESPACE/POD",
        "No rules of batch come with this release",
        "lets nobody but the kubelet ask port 10259",
    ):
        assert part in said


def test_the_page_lists_what_the_chart_grants(charts):
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("### Permissions")[2].partition("###")[0]
    without = {"rbac": {"storage": False, "owners": False}}
    for group, resource, verb, _ in permissions(charts.render(without)):
        row = next(line for line in table.splitlines() if f"`{resource}`" in line)
        assert verb in row
        assert group in row
