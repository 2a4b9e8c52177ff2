"""A cluster that is filled to the last place, by `policyd run` alone and beside kube-scheduler."""

from collections import Counter

import pytest

from policyd.kube.config import from_kubeconfig
from tests.cluster.ground import FIT, all_placed, condition, deciding, place
from tests.daemon.running import running

pytestmark = pytest.mark.timeout(300)

NODES = 100
PODS = 1000


def test_a_thousand_pods_fill_a_hundred_nodes_none_lost_and_none_doubled(
    tmp_path, control_plane, ground
):
    for number in range(NODES):
        ground.add_node(f"n{number}", cpu=str(PODS // NODES))
    ground.add_pods("before", PODS // 2)
    options = ("--profile", f"{ground.name}={FIT}", "--kubeconfig", control_plane.kubeconfig)
    with running(tmp_path, *options) as policyd:
        policyd.wait_until_ready()
        ground.add_pods("after", PODS // 2)
        assert len(ground.wait()) == PODS
        assert policyd.end() == 0
    used = ground.assert_no_node_is_over()
    assert sorted(used) == sorted(ground.nodes)
    told = Counter(event["regarding"]["name"] for event in ground.events("Scheduled"))
    assert len(told) == PODS
    assert set(told.values()) == {1}


def test_pods_of_other_schedulers_are_left_alone_and_count_where_they_are(control_plane, ground):
    ant = ground.add_node("ant", cpu="3")
    names = (None, "default-scheduler", "other", f"{ground.name}-too")
    foreign = []
    for number, name in enumerate(names):
        made = ground.pod(f"foreign-{number}")
        made["spec"].pop("schedulerName")
        if name is not None:
            made["spec"]["schedulerName"] = name
        foreign.append(ground.api.create(ground.pods, made))
    ground.add_pod("bound", scheduler="other", nodeName=ant, nodeSelector=None)
    with deciding(connection(control_plane), ground):
        ground.add_pods("web", 2)
        ground.wait_for("web-0", "web-1")
        ground.add_pod("late")
        pods = ground.wait(lambda pods: condition(pods["late"]).get("reason") == "Unschedulable")
    for pod in foreign:
        now = pods[pod["metadata"]["name"]]
        assert place(now) is None
        assert now["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]
    about = {event["regarding"]["name"] for event in ground.events("Scheduled")}
    assert about == {"web-0", "web-1"}
    assert {event["regarding"]["name"] for event in ground.events("FailedScheduling")} == {"late"}


def connection(control_plane):
    return from_kubeconfig([str(control_plane.kubeconfig)])


def test_beside_kube_scheduler_on_the_same_nodes_no_node_is_over(
    control_plane, ground, kube_scheduler
):
    """Let both place at once while there is room, and then each fill what the other left.

    Two schedulers that take a last place in the same moment both get it from the API server, so
    the last places are given by one at a time. What was bound before a pod was made, its scheduler
    knows, since it learns both in order.
    """
    for number in range(10):
        ground.add_node(f"n{number}", cpu="20")
    theirs = "default-scheduler"
    with deciding(connection(control_plane), ground), kube_scheduler(control_plane):
        for number in range(50):
            ground.add_pod(f"mine-{number}")
            ground.add_pod(f"theirs-{number}", scheduler=theirs)
        ground.wait()
        ground.add_pods("then-mine", 50)
        ground.wait()
        ground.add_pods("then-theirs", 40, scheduler=theirs)
        ground.wait()
        ground.add_pods("last", 10)
        ground.wait(all_placed)
        assert set(ground.assert_no_node_is_over().values()) == {20}
        ground.add_pod("late-mine")
        ground.add_pod("late-theirs", scheduler=theirs)
        pods = ground.wait(
            lambda pods: all(
                condition(pods[name]).get("reason") == "Unschedulable"
                for name in ("late-mine", "late-theirs")
            )
        )
        said = [condition(pods[name])["message"] for name in ("late-mine", "late-theirs")]
        assert all("Insufficient cpu" in text for text in said)
    controllers = Counter(event["reportingController"] for event in ground.events("Scheduled"))
    assert controllers == {ground.name: 110, theirs: 90}
