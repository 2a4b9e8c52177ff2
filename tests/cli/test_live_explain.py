"""`policyd explain --live`: the replica that decides is asked through a real API server."""

import socket
from contextlib import contextmanager

import pytest

from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import Daemon, ProfileConfig, RunConfig
from policyd.kube.config import from_kubeconfig
from tests.cli.command import run
from tests.kube.test_permissions import until
from tests.policy.build import node

SPACE = "explained"
PATH = f"/api/v1/namespaces/{SPACE}"
RULE = 'rule "room" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'
ADDRESS = "192.0.2.1"  # of the documentation's network: nothing is sent to find the way there


def own_address():
    """Give an address of this machine that the API server may speak to: not the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ADDRESS, 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


needs_address = pytest.mark.skipif(
    own_address() is None, reason="this machine has no address but the loopback's"
)


@contextmanager
def deciding(control_plane, tmp_path):
    """Run a replica that decides, as if in the pod `policyd-0`."""
    (tmp_path / "room.expr").write_text(RULE)
    profile = ProfileConfig(SPACE, (str(tmp_path / "room.expr"),))
    connection = from_kubeconfig([str(control_plane.kubeconfig)])
    kube = KubeConfig(connection, None, "policyd", SPACE)
    config = RunConfig((profile,), host="0.0.0.0", port=0)  # noqa: S104 - the server asks from afar
    daemon = Daemon(config, lambda site: KubeFeed(site, kube))
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop(30)


@needs_address
def test_a_waiting_pod_is_explained_through_the_api_server(
    control_plane, api, tmp_path, monkeypatch
):
    monkeypatch.setattr(socket, "gethostname", lambda: "policyd-0")
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    api.create("/api/v1/nodes", node("explained"))
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1k"}}}
    spec = {"containers": [container], "schedulerName": SPACE}
    api.create(f"{PATH}/pods", {"metadata": {"name": "web"}, "spec": spec})
    own = {"containers": [{"name": "c", "image": "i"}], "nodeName": "explained"}
    api.create(f"{PATH}/pods", {"metadata": {"name": "policyd-0"}, "spec": own})
    address = own_address()
    status = {"podIP": address, "podIPs": [{"ip": address}], "phase": "Running"}
    api.patch(f"{PATH}/pods/policyd-0/status", {"status": status})
    options = ["--live", "--lease", f"{SPACE}/policyd"]
    missing = run("explain", f"{SPACE}/web", *options)
    assert (missing.status, "404" in missing.err) == (2, True)
    with deciding(control_plane, tmp_path) as daemon:
        until(lambda: daemon.recent.record(SPACE, "web") is not None)
        options += ["--port", str(daemon.server.port)]
        done = run("explain", f"{SPACE}/web", *options)
        assert done.status == 1, done.err
        assert "Insufficient cpu" in done.out
        other = run("explain", f"{SPACE}/other", *options)
        assert other.status == 2
        assert f"there is no decision for pod {SPACE}/other" in other.err
    ended = run("explain", f"{SPACE}/web", *options)
    assert (ended.status, "no policyd decides at this moment" in ended.err) == (2, True)
    api.delete("/api/v1/nodes/explained")
