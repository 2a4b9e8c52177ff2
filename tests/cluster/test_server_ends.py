"""An API server that is killed, forgets, and comes back, while pods stream in."""

import pytest

from tests.cluster.ground import FIT, condition, deciding, until
from tests.cluster.proxy import proxied
from tests.daemon.running import running

pytestmark = pytest.mark.timeout(300)

KILLS = 5
EACH = 20


def lists(daemon):
    """Give how often nodes and pods were listed."""
    counts = daemon.feed.counts()
    return counts["Node", "list"], counts["Pod", "list"]


def test_a_server_that_is_killed_in_mid_run_loses_no_pod_and_doubles_none(
    tmp_path, new_control_plane, own_ground
):
    ground = own_ground
    for number in range(KILLS):
        ground.add_node(f"n{number}", cpu=str(2 * EACH))
    options = ("--profile", f"{ground.name}={FIT}", "--kubeconfig", new_control_plane.kubeconfig)
    (tmp_path / "run").mkdir()
    with running(tmp_path / "run", *options) as policyd:
        policyd.wait_until_ready()
        for turn in range(KILLS):
            ground.add_pods(f"before-{turn}", EACH)  # of which some are being bound
            new_control_plane.kill()
            new_control_plane.start()
            ground.add_pods(f"after-{turn}", EACH)
        ground.wait()
        ground.add_pod("late")
        ground.wait(lambda pods: condition(pods["late"]).get("reason") == "Unschedulable")
        assert policyd.end() == 0
    assert set(ground.assert_no_node_is_over().values()) == {2 * EACH}
    told = [event["regarding"]["name"] for event in ground.events("Scheduled")]
    assert len(told) == len(set(told)) == 2 * EACH * KILLS


def test_a_watch_that_begins_before_what_the_server_remembers_is_a_new_list(
    new_control_plane, own_ground
):
    """Hold the watches back while the cluster changes and the server forgets how."""
    ground = own_ground
    ant = ground.add_node("ant", cpu="1")
    with proxied(new_control_plane) as proxy, deciding(proxy.connection, ground) as daemon:
        ground.add_pod("web")
        assert ground.wait_for("web") == [ant]
        until(lambda: proxy.watches >= 3)
        proxy.may_watch.clear()
        proxy.cut()
        bee = ground.add_node("bee", cpu="1")
        ground.remove_node(ant)
        ground.remove_pod("web")
        cicada = ground.add_node("cicada", cpu="2")
        ground.add_pod("meanwhile", cpu="2")
        new_control_plane.compact()
        new_control_plane.kill()  # its own memory of changes would still answer
        new_control_plane.start()
        proxy.may_watch.set()
        assert ground.wait_for("meanwhile") == [cicada]
        until(lambda: daemon.cache.node(bee) and not daemon.cache.node(ant))
        ground.add_pod("next")
        assert ground.wait_for("next") == [bee]
        ground.add_pod("late")
        ground.wait(lambda pods: condition(pods["late"]).get("reason") == "Unschedulable")
        counts = daemon.feed.counts()
        assert counts["Pod", "expired"] == counts["Node", "expired"] == 1
        assert lists(daemon) == (2, 2)
    assert ground.assert_no_node_is_over() == {bee: 1, cicada: 2}
