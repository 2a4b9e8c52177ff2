"""Commands on a live cluster: dump, and eval with --live."""

import json

import pytest
import yaml

from tests.cli.command import run
from tests.kube.conftest import serving
from tests.kube.fake_apiserver import Fault
from tests.policy.build import node, pod

RULE = 'rule "room" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve a cluster, and let it be the one that kubectl uses."""
    with serving() as server:
        server.create(node("ant", cpu="2"))
        server.create(node("bee", cpu="8"))
        server.create(pod("there", on="bee", cpu="1"))
        server.create(pod("waits", cpu="4"))
        config = {
            "current-context": "main",
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "contexts": [{"name": "main", "context": {"cluster": "c"}}],
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(path))
        (tmp_path / "room.expr").write_text(RULE)
        monkeypatch.chdir(tmp_path)
        yield server


def test_a_dump_is_what_eval_and_simulate_read(server):
    done = run("dump", "cluster.json")
    assert (done.status, done.out) == (0, "")
    assert f"note: 2 nodes, 2 pods, 0 namespaces from {server.url}" in done.err
    done = run("simulate", "room.expr", "--cluster", "cluster.json", "-o", "json")
    assert done.status == 0
    assert json.loads(done.out)["runs"][0]["placed"] == 1


def test_a_dump_goes_to_standard_output_as_json_or_yaml(server):
    as_json = run("dump").out
    as_yaml = run("dump", "-o", "yaml").out
    assert json.loads(as_json) == yaml.safe_load(as_yaml)
    assert len(json.loads(as_json)["items"]) == 4
    assert server.get("Node", "ant") is not None


@pytest.mark.usefixtures("server")
def test_a_redacted_dump_has_no_names():
    found = run("dump", "--redact").out
    assert "ant" not in [item["metadata"]["name"] for item in json.loads(found)["items"]]
    assert "waits" not in found


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(403, "let this user list"), (401, "check the credentials"), (503, "can be reached")],
)
def test_a_cluster_that_cannot_be_read_is_said_and_no_file_is_left(server, tmp_path, code, remedy):
    (tmp_path / "cluster.json").write_text("old")
    server.faults.append(Fault("GET", "/pods$", code))
    done = run("dump", "cluster.json")
    assert done.status == 2
    assert f"GET /api/v1/pods: {code}" in done.err
    assert remedy in done.err
    assert (tmp_path / "cluster.json").read_text() == "old"
    assert not list(tmp_path.glob(".cluster*"))


@pytest.mark.usefixtures("server")
def test_a_file_that_cannot_be_written_is_said():
    done = run("dump", "absent/cluster.json")
    assert (done.status, "absent/cluster.json" in done.err) == (2, True)


def test_a_kubeconfig_that_cannot_be_used_is_said(tmp_path):
    done = run("dump", "--kubeconfig", str(tmp_path / "absent"))
    assert done.status == 2
    assert "no such file" in done.err
    done = run("dump", "--kubeconfig", "x", "--in-cluster")
    assert (done.status, "give one of them" in done.err) == (2, True)


@pytest.mark.usefixtures("server")
def test_eval_decides_for_the_pods_that_wait():
    done = run("eval", "room.expr", "--live", "-o", "json")
    (decision,) = json.loads(done.out)["decisions"]
    assert done.status == 0
    assert (decision["pod"]["name"], decision["node"]) == ("waits", "bee")


@pytest.mark.usefixtures("server")
def test_eval_decides_for_a_pod_that_is_named_also_where_it_is_on_a_node():
    done = run("eval", "room.expr", "--live", "--pod-name", "default/there")
    assert done.status == 0
    assert "note: pod default/there is on bee; it is decided as if it were not" in done.err
    done = run("eval", "room.expr", "--live", "--pod-name", "there-is-none")
    assert done.status == 2
    assert "there is no pod `there-is-none` in the cluster" in done.err


def test_eval_says_where_no_pod_waits(server):
    server.delete("Pod", "waits", "default")
    done = run("eval", "room.expr", "--live")
    assert (done.status, "no pod waits" in done.err) == (2, True)


@pytest.mark.usefixtures("server")
def test_an_expression_is_evaluated_on_the_nodes_of_the_cluster():
    done = run("eval", "-e", "node.free.cpu", "--live", "-o", "json")
    assert [r["value"] for r in json.loads(done.out)["results"]] == ["2", "7"]


@pytest.mark.parametrize("option", ["--nodes", "--cluster"])
def test_live_and_files_both_give_the_nodes(option):
    done = run("eval", "room.expr", "--live", option, "x.yaml")
    assert (done.status, "--live gives the nodes" in done.err) == (2, True)


def test_run_says_which_cluster_it_needs():
    assert "there is no cluster" in run("run", "--rules", "x").err
    assert "leave it out" in run("run", "--kubeconfig", "k", "--cluster", "c").err
    assert "create pods in the cluster" in run("run", "--in-cluster", "--watch-pods", "p").err
    assert "need an API server" in run("run", "--cluster", "c", "--configmaps", "n").err
