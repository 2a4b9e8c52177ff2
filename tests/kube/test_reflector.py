"""The reflector: whatever breaks, its copy is the server's state, and each change is told once."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyd.kube.reflector import INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, Backoff
from policyd.kube.resources import NODES, PODS, slimmed
from tests.kube.conftest import calling, serving
from tests.kube.fake_apiserver import Fault, WatchFault
from tests.kube.recording import Recorder, reflecting
from tests.policy.build import node, pod


def labelled(name, value):
    return node(name, {"v": value})


def names(handler):
    return sorted(name for _, name in handler.state)


def test_it_lists_then_watches(server, client):
    server.create(node("ant"))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        assert reflector.has_synced.is_set()
        server.create(node("bee"))
        server.update(labelled("ant", "2"))
        server.delete("Node", "bee")
        handler.wait_for(lambda: len(handler.changes()) == 4)
    assert handler.events == [
        ("listing", None),
        ("added", "ant"),
        ("synced", None),
        ("added", "bee"),
        ("modified", "ant"),
        ("deleted", "bee"),
    ]
    assert not handler.faults


def test_a_list_comes_in_pages(server, client):
    for number in range(25):
        server.create(node(f"n{number:02}"))
    with reflecting(client, NODES, page=10) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
    assert len(handler.state) == 25
    assert [s.query.get("limit") for s in server.requests("GET", "nodes")][:3] == ["10"] * 3


def test_a_page_that_expired_makes_it_read_the_list_whole(server, client):
    for number in range(25):
        server.create(node(f"n{number:02}"))
    server.expires_pages = 1
    with reflecting(client, NODES, page=10) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
    assert len(handler.state) == 25
    assert not handler.faults


def test_the_elements_of_a_list_get_their_kind_and_lose_managed_fields(server, client):
    made = node("ant")
    made["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    server.create(made)
    with reflecting(client, NODES) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.update({**made, "status": {}})
        handler.wait_for(lambda: ("modified", "ant") in handler.events)
    read = json.loads(handler.state["", "ant"].json)
    assert (read["kind"], read["apiVersion"]) == ("Node", "v1")
    assert "managedFields" not in read["metadata"]


def test_an_object_without_managed_fields_keeps_its_bytes():
    data = b'{"kind": "Node",  "metadata": {"name": "ant"}}'
    assert slimmed(data) is data


def test_a_pod_that_finishes_is_deleted(server, client):
    server.create(pod("web", on="ant"))
    with reflecting(client, PODS) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.update({**pod("web", on="ant"), "status": {"phase": "Succeeded"}})
        handler.wait_for(lambda: ("deleted", "web") in handler.events)


@pytest.mark.parametrize("action", ["cut", "half", "garbage"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_broken_watch_goes_on_where_it_was(server, client, action, after):
    server.watch_faults.append(WatchFault("nodes", action, after))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        for name in ("ant", "bee", "cicada", "dragonfly"):
            server.create(node(name))
        handler.wait_for(lambda: len(handler.state) == 4)
    assert handler.changes() == [("added", n) for n in ("ant", "bee", "cicada", "dragonfly")]
    assert reflector.counts()["list"] == 1
    assert not handler.faults


@pytest.mark.parametrize("action", ["error", "status"])
def test_a_version_that_is_gone_makes_it_list_anew(server, client, action):
    server.create(node("ant"))
    server.watch_faults.append(WatchFault("nodes", action, 0, 410))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs >= 1)
        server.create(node("bee"))
        handler.wait_for(lambda: names(handler) == ["ant", "bee"])
        handler.wait_for(lambda: handler.syncs == 2)
    assert handler.changes() == [("added", "ant"), ("added", "bee")]
    assert reflector.counts()["expired"] == 1
    assert not handler.faults


def test_a_new_list_tells_what_came_changed_and_went_meanwhile(server, client):
    for name in ("ant", "bee", "cicada"):
        server.create(node(name))
    with reflecting(client, NODES) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.wait_for(lambda: server.watching == 1)
        with server.changed:  # in one step, so that no watch sees any of it
            server._replace("nodes", labelled("ant", "2"))
            server._delete("nodes", "", "bee")
            server._delete("nodes", "", "cicada")
            server._create(node("cicada"))
            server._create(node("dragonfly"))
            server.compacted = server.version
            server.log.clear()
            server.cuts += 1
        handler.wait_for(lambda: handler.syncs == 2)
    assert handler.changes()[3:] == [
        ("modified", "ant"),
        ("deleted", "cicada"),
        ("added", "cicada"),
        ("added", "dragonfly"),
        ("deleted", "bee"),
    ]
    assert not handler.faults


def test_an_event_that_comes_twice_is_told_once(server, client):
    server.watch_faults.append(WatchFault("nodes", "twice"))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.create(node("ant"))
        server.update(labelled("ant", "2"))
        server.delete("Node", "ant")
        server.create(node("bee"))
        handler.wait_for(lambda: ("added", "bee") in handler.events)
    assert handler.changes() == [
        ("added", "ant"),
        ("modified", "ant"),
        ("deleted", "ant"),
        ("added", "bee"),
    ]
    assert reflector.counts()["list"] == 1
    assert reflector.counts()["ignored"] >= 3


def test_events_of_two_objects_out_of_order_make_it_list_anew(server, client):
    server.watch_faults.append(WatchFault("nodes", "swap"))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.wait_for(lambda: server.watching == 1)
        with server.changed:  # in one step, so that the watch has both to send
            server._create(node("ant"))
            server._create(node("bee"))
        handler.wait_for(lambda: names(handler) == ["ant", "bee"])
        handler.wait_for(lambda: handler.syncs == 2)
    assert reflector.counts()["out_of_order"] == 1
    assert not handler.faults


def test_an_old_state_after_a_newer_one_changes_nothing(server, client):
    server.create(node("ant"))
    server.watch_faults.append(WatchFault("nodes", "swap"))
    with reflecting(client, NODES) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.wait_for(lambda: server.watching == 1)
        with server.changed:
            server._replace("nodes", labelled("ant", "2"))
            server._replace("nodes", labelled("ant", "3"))
        server.create(node("bee"))
        handler.wait_for(lambda: ("added", "bee") in handler.events)
    assert handler.changes() == [("added", "ant"), ("modified", "ant"), ("added", "bee")]
    assert handler.state["", "ant"].labels["v"] == "3"


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(server, client):
    server.create(node("ant"))
    server.faults.append(Fault("GET", "nodes", 429, retry_after="9"))
    with reflecting(client, NODES) as (_, handler, waits):
        handler.wait_for(lambda: handler.syncs == 1)
    assert waits.seconds[0] == 9


def test_a_refused_list_is_tried_again_ever_more_slowly(server, client):
    server.faults.append(Fault("GET", "nodes", 500, times=8))
    with reflecting(client, NODES) as (_, handler, waits):
        handler.wait_for(lambda: handler.syncs == 1)
    assert waits.seconds[:8] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]


def test_backoff_has_jitter_and_starts_anew():
    backoff = Backoff(lambda: 0.5)
    assert backoff.next() == INITIAL_BACKOFF_SECONDS * 1.5
    assert [backoff.next() for _ in range(20)][-1] == MAX_BACKOFF_SECONDS * 1.5
    backoff.reset()
    assert backoff.next() == INITIAL_BACKOFF_SECONDS * 1.5


def test_a_watch_on_which_nothing_comes_for_too_long_is_begun_anew(server, client):
    server.watch_faults.append(WatchFault("nodes", "stall"))
    with reflecting(client, NODES, idle_seconds=0.1) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.create(node("ant"))
        handler.wait_for(lambda: names(handler) == ["ant"])
    assert reflector.counts()["list"] == 1


def test_bookmarks_move_the_version_on(server, client):
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        for number in range(3):
            server.create(pod(f"p{number}"))  # which this watch does not see
        server.wait_for(lambda: server.watching == 1)
        server.create(node("ant"))
        handler.wait_for(lambda: names(handler) == ["ant"])
        server.cut_watches()
        server.wait_for(lambda: len(server.requests("GET", "nodes")) >= 3)
    last = server.requests("GET", "nodes")[-1]
    assert last.query["resourceVersion"] == str(server.version)
    assert reflector.counts()["bookmark"] >= 1


def test_an_object_that_cannot_be_read_counts_as_absent(server, client, caplog):
    server.create(node("ant"))
    with reflecting(client, NODES) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.update(node("ant", cpu="many"))
        handler.wait_for(lambda: ("deleted", "ant") in handler.events)
        server.update(node("ant", cpu="8"))
        handler.wait_for(lambda: handler.changes()[-1] == ("added", "ant"))
        server.update(node("ant", cpu="more"))
        handler.wait_for(lambda: handler.changes()[-1] == ("deleted", "ant"))
        server.delete("Node", "ant")
        server.create(node("bee"))
        handler.wait_for(lambda: ("added", "bee") in handler.events)
    assert reflector.counts()["unreadable"] == 2
    assert "Node ant cannot be read" in caplog.text
    assert not handler.faults


def test_a_handler_that_fails_does_not_end_the_watch(server, client, caplog):
    class Failing(Recorder):
        def added(self, new):
            super().added(new)
            if new.name == "ant":
                raise RuntimeError("no")

    with reflecting(client, NODES, Failing()) as (reflector, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.create(node("ant"))
        server.create(node("bee"))
        handler.wait_for(lambda: ("added", "bee") in handler.events)
    assert reflector.counts()["handler_failure"] == 1
    assert "could not be taken in" in caplog.text


def test_it_stops_while_it_waits_for_events(server, client):
    with reflecting(client, NODES) as (_, handler, _):
        handler.wait_for(lambda: handler.syncs == 1)
        server.wait_for(lambda: server.watching == 1)
    # `reflecting` fails where the reflector does not end


def test_it_stops_while_it_backs_off(server, client):
    server.faults.append(Fault("GET", "nodes", 500, times=100))
    with reflecting(client, NODES, wait=None) as (_, handler, _):
        server.wait_for(lambda: len(server.requests("GET", "nodes")) == 1)
    assert handler.syncs == 0


# --- whatever happens, in any order ---

OPERATIONS = st.one_of(
    st.tuples(st.just("create"), st.sampled_from("abc")),
    st.tuples(st.just("update"), st.sampled_from("abc")),
    st.tuples(st.just("delete"), st.sampled_from("abc")),
    st.tuples(
        st.sampled_from(["cut", "half", "error", "garbage", "twice", "swap", "status"]),
        st.integers(0, 3),
    ),
    st.tuples(st.sampled_from(["cut_now", "compact", "refuse", "busy", "drop"]), st.none()),
    st.tuples(st.just("settle"), st.none()),
)


@given(st.lists(OPERATIONS, max_size=25))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_changes_and_faults_the_copy_is_the_servers_state(operations):
    with serving() as server, calling(server) as client:
        server.create(node("a"))
        with reflecting(client, NODES, page=2) as (reflector, handler, _):
            for number, (what, argument) in enumerate(operations):
                do(server, handler, what, argument, number)
            server.create(node("end"))
            handler.wait_for(lambda: ("", "end") in handler.state)
            wanted = {o["metadata"]["name"]: versions(o) for o in server.all("Node")}
            handler.wait_for(lambda: told(handler) == wanted)
        assert {key: fact.name for key, fact in reflector.objects().items()} == {
            name: name for name in wanted
        }
        assert not handler.faults


def do(server, handler, what, argument, number):
    if what in ("create", "update", "delete"):
        is_there = server.get("Node", argument) is not None
        if what == "create" and not is_there:
            server.create(labelled(argument, str(number)))
        elif what == "update" and is_there:
            server.update(labelled(argument, str(number)))
        elif what == "delete" and is_there:
            server.delete("Node", argument)
    elif what == "cut_now":
        server.cut_watches()
    elif what == "compact":
        server.compact()
    elif what == "settle":
        handler.wait_for(lambda: handler.syncs > 0)
    elif what in ("refuse", "busy", "drop"):
        code = {"refuse": 503, "busy": 429, "drop": 0}[what]
        action = "drop" if what == "drop" else "status"
        with server.changed:
            server.faults.append(Fault("GET", "nodes", code, action))
    else:
        with server.changed:
            server.watch_faults.append(WatchFault("nodes", what, argument))


def versions(obj):
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]


def told(handler):
    return {
        fact.name: versions({"metadata": json.loads(fact.json)["metadata"]})
        for fact in list(handler.state.values())
    }
