"""What helm makes of the chart: which values it refuses, and the properties of what comes out."""

import tarfile

import pytest

from tests.charts.rendering import (
    CHART,
    FULL,
    NAMESPACE,
    SPARSE,
    VALUE_SETS,
    container,
    of_kind,
    one,
    permissions,
)
from tests.cli.command import run
from tests.shared import ROOT

SHIPPED = {path.name: path for path in (ROOT / "rules").glob("*.expr")}


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_lint_finds_nothing(charts, values):
    said = charts.run("lint", "--strict", CHART, "--values", charts.values(values))
    assert "0 chart(s) failed" in said
    assert "[WARNING]" not in said


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_every_object_is_labelled_and_named_once(charts, values):
    objects = charts.render(values)
    names = [
        (made["kind"], made["metadata"].get("namespace"), made["metadata"]["name"])
        for made in objects
    ]
    assert len(set(names)) == len(names)
    for made in objects:
        labels = made["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "policyd"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        is_of_cluster = made["kind"].startswith("ClusterRole")
        assert ("namespace" in made["metadata"]) is not is_of_cluster


def test_a_package_carries_the_rules_that_ship(charts, tmp_path):
    charts.run("package", CHART, "-d", tmp_path)
    (package,) = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        texts = {
            member.name.removeprefix("policyd/rules/"): archive.extractfile(member).read()
            for member in archive
            if member.name.startswith("policyd/rules/")
        }
    assert texts == {name: path.read_bytes() for name, path in SHIPPED.items()}


def test_by_default_the_rules_are_those_of_kube_scheduler(charts):
    made = one(charts.render(), "ConfigMap")
    assert made["metadata"]["labels"]["policyd.io/rules"] == "policyd"
    assert made["metadata"]["namespace"] == NAMESPACE
    assert made["data"] == {"kubernetes.expr": SHIPPED["kubernetes.expr"].read_text()}


@pytest.mark.parametrize("name", SHIPPED)
def test_each_file_that_ships_goes_through_a_configmap_unchanged(charts, name):
    made = one(charts.render({"rules": {"shipped": [name]}}), "ConfigMap")
    assert made["data"] == {name: SHIPPED[name].read_text(encoding="utf-8")}


def test_profiles_have_rules_of_their_own_and_files_stand_in_for_what_ships(charts):
    maps = {
        made["metadata"]["labels"]["policyd.io/rules"]: made["data"]
        for made in of_kind(charts.render(FULL), "ConfigMap")
        if "policyd.io/rules" in made["metadata"]["labels"]
    }
    assert set(maps) == {"batch", "gpu", "own"}
    assert set(maps["batch"]) == {"fit.expr", "headroom.expr"}
    assert maps["batch"]["fit.expr"] == FULL["rules"]["files"]["fit.expr"]
    assert maps["gpu"]["fit.expr"] == SHIPPED["fit.expr"].read_text(encoding="utf-8")


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_the_rules_are_accepted_by_the_checker(charts, values, tmp_path):
    for made in of_kind(charts.render(values), "ConfigMap"):
        folder = tmp_path / made["metadata"]["name"]
        folder.mkdir()
        for name, text in made["data"].items():
            (folder / name).write_text(text, encoding="utf-8")
        if any(name.endswith(".expr") for name in made["data"]):
            assert run("check", str(folder)).status == 0


def test_the_options_are_those_of_the_values(charts):
    given = container(charts.render(FULL))
    assert given["args"] == [
        *("run", "--in-cluster", f"--configmaps={NAMESPACE}"),
        *("--profile=batch=", "--profile=gpu=", "--profile=own=", "--profile=elsewhere="),
        *("--set=reserve=0.2", "--set=resource=example.com/gpu"),
        *("--leader-elect", f"--lease={NAMESPACE}/policyd", "--bind-address=::", "--port=8080"),
        *("--workers=2", "--deadline=1s", "--log-format=json", "--log-level=debug", "--workers=3"),
    ]
    assert given["image"] == f"images/policyd@sha256:{'a' * 64}"
    assert given["ports"] == [{"name": "http", "containerPort": 8080}]
    assert "--no-debug" in container(charts.render(SPARSE))["args"]


@pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)
def test_the_pods_are_replaced_in_order_spread_and_hardened(charts, values):
    objects = charts.render(values)
    deployment = one(objects, "Deployment")["spec"]
    assert deployment["replicas"] == values.get("replicas", 2)
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = deployment["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 25
    assert [c["topologyKey"] for c in pod["topologySpreadConstraints"]] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    security = container(objects)["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    selected = deployment["selector"]["matchLabels"].items()
    assert selected <= deployment["template"]["metadata"]["labels"].items()


def test_whatever_selects_the_pods_selects_them(charts):
    objects = charts.render(FULL)
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        one(objects, "Service")["spec"]["selector"],
        one(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector
        assert selector.items() <= labels.items()
    monitored = one(objects, "ServiceMonitor")["spec"]
    service = one(objects, "Service")
    assert monitored["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [end["port"] for end in monitored["endpoints"]] == [
        port["name"] for port in service["spec"]["ports"]
    ]


def test_what_is_switched_off_is_not_there(charts):
    kinds = {made["kind"] for made in charts.render(SPARSE)}
    off = {"PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor", "PrometheusRule"}
    assert not kinds & (off | {"ServiceAccount"})
    assert one(charts.render(SPARSE), "ClusterRoleBinding")["subjects"] == [
        {"kind": "ServiceAccount", "name": "given", "namespace": NAMESPACE}
    ]
    groups = {group for group, *_ in permissions(charts.render(SPARSE))}
    assert "storage.k8s.io" not in groups
    assert "apps" not in groups
    none = charts.render({"rbac": {"create": False}})
    assert not list(permissions(none))


def test_rules_are_looked_for_in_the_namespace_that_is_given(charts):
    objects = charts.render(SPARSE)
    assert "--configmaps=rules" in container(objects)["args"]
    assert one(objects, "ConfigMap")["metadata"]["namespace"] == "rules"
    allowed = {where for _, resource, _, where in permissions(objects) if resource == "configmaps"}
    assert allowed == {"rules"}


def test_long_names_leave_room_for_the_names_of_pods(charts):
    made = one(charts.render({}, release="r" * 50), "Deployment")
    assert len(f"{made['metadata']['name']}-0123456789-abcde") <= 63


def test_two_releases_of_one_name_share_nothing_of_the_cluster(charts):
    a, b = (charts.render({}, namespace=namespace) for namespace in "ab")
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        assert one(a, kind)["metadata"]["name"] != one(b, kind)["metadata"]["name"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replica": 2}, "replica"),
        ({"replicas": -1}, "/replicas"),
        ({"replicas": "two"}, "/replicas"),
        ({"schedulerName": "My Scheduler"}, "/schedulerName"),
        ({"rules": {"shipped": "fit.expr"}}, "/rules/shipped"),
        ({"rules": {"shipped": ["../../secret"]}}, "/rules/shipped"),
        ({"rules": {"shipped": ["fits.expr"]}}, "there are: fit.expr, gpu.expr"),
        ({"rules": {"files": {"a.txt": "x"}}}, "'a.txt' does not match"),
        ({"profiles": [{"shipped": ["fit.expr"]}]}, "name"),
        ({"profiles": [{"name": "policyd"}]}, "two profiles have the name policyd"),
        ({"parameters": {"a=b": "1"}}, "'a=b' does not match"),
        ({"deadline": "soon"}, "/deadline"),
        ({"port": 70000}, "/port"),
        ({"terminationGracePeriodSeconds": 10}, "/terminationGracePeriodSeconds"),
        ({"image": {"digest": "sha256:short"}}, "/image/digest"),
        ({"podDisruptionBudget": {"maxUnavailable": 0}}, "/podDisruptionBudget"),
        ({"networkPolicy": {"apiServerPorts": []}}, "/networkPolicy/apiServerPorts"),
    ],
    ids=str,
)
def test_values_that_make_no_sense_are_refused_with_their_place(charts, values, said):
    assert said in charts.refusal(values)
