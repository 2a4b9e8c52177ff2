"""Watches that break off under load: what happened is learnt, once, without a new list."""

import pytest

from tests.cluster.ground import all_placed, condition, deciding, until

pytestmark = pytest.mark.timeout(300)

KINDS = ("Node", "Namespace", "Pod")


def lists(daemon):
    """Give how often each kind was listed."""
    counts = daemon.feed.counts()
    return {kind: counts[kind, "list"] for kind in KINDS}


def test_watches_that_are_cut_off_while_pods_stream_in_go_on_where_they_were(ground, proxy):
    ground.add_node("ant", cpu="40")
    with deciding(proxy.connection, ground) as daemon:
        for turn in range(4):
            ground.add_pods(f"before-{turn}", 5)
            until(lambda: proxy.watches >= len(KINDS))
            assert proxy.cut() >= len(KINDS)
            ground.add_pods(f"after-{turn}", 5)
        ground.wait()
        ground.add_pod("late")  # for which there is no room: all forty count
        ground.wait(lambda pods: condition(pods["late"]).get("reason") == "Unschedulable")
        assert lists(daemon) == dict.fromkeys(KINDS, 1)
    assert ground.assert_no_node_is_over().total() == 40
    assert len(ground.events("Scheduled")) == 40
    binds = [seen for seen in proxy.seen if seen.path.endswith("/binding")]
    assert len(binds) == 40


def test_a_watch_that_is_cut_off_in_a_line_takes_the_event_from_the_next_watch(ground, proxy):
    ground.add_node("ant", cpu="12")
    with deciding(proxy.connection, ground) as daemon:
        for turn in range(4):
            until(lambda: proxy.watches >= len(KINDS))
            proxy.cut_in_a_line()
            names = ground.add_pods(f"web-{turn}", 3)
            ground.wait_for(*names)
            assert proxy.halves == 0
        assert lists(daemon) == dict.fromkeys(KINDS, 1)
    assert ground.assert_no_node_is_over().total() == 12
    assert len(ground.events("Scheduled")) == 12


def test_nodes_that_change_while_no_watch_can_be_had_are_known_after(ground, proxy):
    ant = ground.add_node("ant", cpu="1")
    with deciding(proxy.connection, ground) as daemon:
        ground.add_pod("web")
        assert ground.wait_for("web") == [ant]
        ground.add_pod("next")
        ground.wait(lambda pods: condition(pods["next"]).get("reason") == "Unschedulable")
        proxy.may_watch.clear()
        proxy.cut()
        bee = ground.add_node("bee", cpu="1")
        ground.remove_node(ant)
        proxy.may_watch.set()
        assert ground.wait_for("next") == [bee]
        assert lists(daemon) == dict.fromkeys(KINDS, 1)


def test_a_server_that_is_busy_is_asked_again_after_a_while(ground, proxy):
    ground.add_node("ant", cpu="2")
    with deciding(proxy.connection, ground):
        for path in ("/api/v1/pods", "/api/v1/nodes"):
            proxy.meet("GET", path, status=503, reaches=False)
        proxy.cut()
        ground.add_pods("web", 2)
        ground.wait(all_placed)
