"""The control plane is a real API server: it knows users, refuses them, and outlives SIGKILL."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.controlplane.api import Api, Json, RefusedError, UnreachableError
from tests.controlplane.plane import ControlPlane, NotReadyError

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def a_pod(name: str, **spec: object) -> Json:
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def a_node(name: str) -> Json:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": room, "capacity": room, "conditions": [ready]}
    return {"metadata": {"name": name}, "status": status}


@pytest.mark.parametrize("context", ["certificate", "token"])
def test_the_kubeconfig_knows_the_administrator_by_certificate_and_by_token(
    control_plane: ControlPlane, context: str
) -> None:
    assert control_plane.api(context=context).get("/api/v1/nodes")["kind"] == "NodeList"
    assert control_plane.version.startswith("v1.")


def test_a_stranger_is_refused(control_plane: ControlPlane) -> None:
    with pytest.raises(RefusedError) as refusal:
        control_plane.api(token="nobody").get("/api/v1/nodes")  # noqa: S106 - no such token
    assert refusal.value.status == 401


def test_a_pod_gets_the_servers_defaults_and_waits_for_a_scheduler(api: Api) -> None:
    made = api.create(PODS, a_pod("waiting"))
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert made["spec"]["restartPolicy"] == "Always"
    assert "nodeName" not in made["spec"]
    assert api.get(f"{PODS}/waiting")["status"]["phase"] == "Pending"
    api.delete(f"{PODS}/waiting")
    with pytest.raises(RefusedError, match="404 NotFound"):
        api.get(f"{PODS}/waiting")


def test_a_new_node_carries_no_taint_that_a_controller_would_take_away(api: Api) -> None:
    api.create("/api/v1/nodes", a_node("untainted"))
    assert "taints" not in api.get("/api/v1/nodes/untainted")["spec"]
    api.delete("/api/v1/nodes/untainted")


def test_a_service_account_may_do_only_what_it_is_bound_to(
    control_plane: ControlPlane, api: Api
) -> None:
    api.create(ACCOUNTS, {"metadata": {"name": "reader"}})
    token = api.create(f"{ACCOUNTS}/reader/token", {"spec": {}})["status"]["token"]
    reader = control_plane.api(token=token)
    with pytest.raises(
        RefusedError, match='403 Forbidden: pods is forbidden: User "system:service'
    ):
        reader.get(PODS)

    role = {"metadata": {"name": "pods"}, "rules": [_rule("get", "list")]}
    api.create(f"{RBAC}/namespaces/default/roles", role)
    api.create(f"{RBAC}/namespaces/default/rolebindings", _binding("pods", "reader"))
    _until_allowed(reader, PODS)
    with pytest.raises(RefusedError, match="403 Forbidden"):
        reader.create(PODS, a_pod("not-allowed"))


def _rule(*verbs: str) -> Json:
    return {"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}


def _binding(role: str, account: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    reference = {"kind": "Role", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    return {"metadata": {"name": role}, "subjects": [subject], "roleRef": reference}


def _until_allowed(user: Api, path: str) -> None:
    """Ask until the server's authorizer has seen the new binding; the test's limit bounds it."""
    while True:
        try:
            user.get(path)
        except RefusedError:
            continue
        return


def test_what_was_written_survives_sigkill_and_is_served_at_the_same_address(
    new_control_plane: ControlPlane,
) -> None:
    api, server = new_control_plane.api(), new_control_plane.server
    api.create(PODS, a_pod("lasting"))
    new_control_plane.kill()
    new_control_plane.start()
    assert new_control_plane.server == server
    assert api.get(f"{PODS}/lasting")["metadata"]["name"] == "lasting"


def test_a_watch_from_before_a_compaction_is_refused_as_expired(
    new_control_plane: ControlPlane,
) -> None:
    api = new_control_plane.api()
    before = api.get(PODS)["metadata"]["resourceVersion"]
    api.create(PODS, a_pod("later"))
    new_control_plane.compact()
    new_control_plane.kill()  # the server's own memory of changes would still answer
    new_control_plane.start()
    assert _first_code(api.watch(PODS, resourceVersion=before)) == 410


def _first_code(events: Iterator[Json]) -> int:
    """Give the code of a watch's first event, or of its refusal."""
    try:
        return int(next(events)["object"]["code"])
    except RefusedError as refusal:
        return refusal.status


def test_it_stops_cleanly_when_its_owner_is_gone_and_at_sigterm(
    new_control_plane: ControlPlane,
) -> None:
    watching = new_control_plane.api().watch(PODS)
    assert new_control_plane.stop() == 0
    with contextlib.suppress(UnreachableError):  # an open watch is cut off after a while
        assert list(watching) == []
    new_control_plane.start()
    assert new_control_plane.terminate() == 0


def test_a_flag_that_the_server_does_not_know_is_reported_with_its_log(
    new_control_plane: ControlPlane,
) -> None:
    new_control_plane.kill()
    with pytest.raises(NotReadyError, match="unknown flag: --no-such-flag"):
        new_control_plane.start("--no-such-flag")
