"""kube-scheduler runs on the control plane, for comparisons side by side."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.controlplane.api import Api, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.test_plane import a_node, a_pod

NAMESPACE = "/api/v1/namespaces/scheduled"

Run = Callable[..., AbstractContextManager[None]]

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: other}]
"""


def _first_pod(api: Api, name: str, *, where: Callable[[Json], bool]) -> Json:
    """Wait for a pod to come to a state; the test's time limit bounds it."""
    pods = f"{NAMESPACE}/pods"
    events = api.watch(pods, fieldSelector=f"metadata.name={name}")
    return next(event["object"] for event in events if where(event["object"]))


def _condition(pod: Json) -> Json:
    conditions = pod.get("status", {}).get("conditions", [])
    return next((it for it in conditions if it["type"] == "PodScheduled"), {})


def test_kube_scheduler_binds_what_fits_and_says_why_the_rest_waits(
    control_plane: ControlPlane, api: Api, kube_scheduler: Run, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    api.create("/api/v1/namespaces", {"metadata": {"name": "scheduled"}})
    api.create("/api/v1/nodes", a_node("roomy"))
    with kube_scheduler(control_plane, config):
        api.create(f"{NAMESPACE}/pods", a_pod("fits", schedulerName="other"))
        big = a_pod("too-big", schedulerName="other")
        big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "5"}}
        api.create(f"{NAMESPACE}/pods", big)
        api.create(f"{NAMESPACE}/pods", a_pod("of-another"))
        placed = _first_pod(api, "fits", where=lambda pod: "nodeName" in pod["spec"])
        waits = _first_pod(api, "too-big", where=lambda pod: bool(_condition(pod)))
    assert placed["spec"]["nodeName"] == "roomy"
    assert _condition(waits)["reason"] == "Unschedulable"
    assert "0/1 nodes are available: 1 Insufficient cpu." in _condition(waits)["message"]
    assert "nodeName" not in api.get(f"{NAMESPACE}/pods/of-another")["spec"]
    api.delete("/api/v1/nodes/roomy")
