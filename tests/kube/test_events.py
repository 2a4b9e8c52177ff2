"""Events: their shape, series, limits, and what happens while the server does not take them."""

import pytest

from policyd.kube import events as module
from policyd.kube.errors import ApiError
from policyd.kube.events import WARNING, Events, Occurrence, Reference, cut, micro_time
from policyd.values.times import parse_timestamp
from tests.kube.fake_apiserver import Fault
from tests.scheduler.fakes import HandClock

ABOUT = Reference("Pod", "default", "web", "uid-1", resource_version="7")


def failed(note="0/3 nodes are available: 3 Insufficient cpu.", about=ABOUT):
    return Occurrence(about, WARNING, "FailedScheduling", "Scheduling", note, "policyd")


@pytest.fixture
def clock():
    clock = HandClock()
    clock.seconds = 1000.0
    return clock


@pytest.fixture
def events(client, clock):
    return Events(client, clock, "host-1")


def written(server):
    return sorted(server.all("Event"), key=lambda e: int(e["metadata"]["resourceVersion"]))


def test_an_event_has_the_shape_of_kube_schedulers(server, events):
    events.write(failed())
    (event,) = written(server)
    assert event["metadata"]["name"] == f"web.{1000 * 10**9:x}"
    assert event["metadata"]["namespace"] == "default"
    del event["metadata"]
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "1970-01-01T00:16:40.000000Z",
        "reportingController": "policyd",
        "reportingInstance": "policyd-host-1",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "web",
            "uid": "uid-1",
            "resourceVersion": "7",
        },
        "note": "0/3 nodes are available: 3 Insufficient cpu.",
        "type": "Warning",
    }


def test_a_repeated_event_is_a_series_whose_count_is_written_once_a_minute(server, events, clock):
    for _ in range(5):
        events.write(failed())
        clock.seconds += 10
    (event,) = written(server)
    assert event["series"]["count"] == 2  # the second is written at once, the others later
    assert len(server.requests("PATCH", "events")) == 1
    clock.seconds += 60
    events.tend()
    (event,) = written(server)
    assert event["series"] == {"count": 5, "lastObservedTime": "1970-01-01T00:17:20.000000Z"}
    events.tend()
    assert len(server.requests("PATCH", "events")) == 2


def test_at_the_end_the_count_is_written_whatever_the_time(server, events):
    for _ in range(4):
        events.write(failed())
    assert events.flush()
    (event,) = written(server)
    assert event["series"]["count"] == 4


def test_a_repetition_after_six_minutes_is_a_new_event(server, events, clock):
    events.write(failed())
    clock.seconds += 361
    events.write(failed())
    assert len(written(server)) == 2


def test_a_new_sentence_is_a_new_event(server, events):
    events.write(failed())
    events.write(failed("0/4 nodes are available: 4 Insufficient cpu."))
    assert len(written(server)) == 2
    assert not any("series" in event for event in written(server))


def test_an_object_has_25_different_events_and_one_more_every_five_minutes(server, events, clock):
    for number in range(40):
        events.write(failed(f"note {number}"))
    assert len(written(server)) == 25
    assert events.counts()["limited"] == 15
    events.write(failed("another object", Reference("Pod", "default", "other", "uid-2")))
    assert len(written(server)) == 26
    clock.seconds += 301
    events.write(failed("note 100"))
    events.write(failed("note 101"))
    assert len(written(server)) == 27


def test_the_note_is_cut_to_1024_bytes(server, events):
    events.write(failed("ü" * 2000))
    note = written(server)[0]["note"]
    assert len(note.encode()) == 1024
    assert note.endswith("ü ...")
    assert cut("short") == "short"


@pytest.mark.parametrize("fault", [{"code": 503}, {"code": 429}, {"action": "drop"}])
def test_what_the_server_does_not_take_is_kept_and_sent_in_order(server, events, clock, fault):
    server.faults.append(Fault("POST", "events", times=2, **fault))
    events.write(failed("one"))
    events.write(failed("two"))
    assert written(server) == []
    clock.seconds += 2
    events.tend()  # which fails once more
    assert written(server) == []
    events.write(failed("three"))
    clock.seconds += 2
    events.tend()
    assert [event["note"] for event in written(server)] == ["one", "two", "three"]
    assert events.flush()


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(server, events, clock):
    server.faults.append(Fault("POST", "events", 429, retry_after="30"))
    events.write(failed())
    clock.seconds += 29
    events.tend()
    assert written(server) == []
    clock.seconds += 2
    events.tend()
    assert len(written(server)) == 1


def test_flush_does_not_wait_and_says_whether_all_is_sent(server, events):
    server.faults.append(Fault("POST", "events", 503, times=2))
    events.write(failed())
    assert not events.flush()
    assert events.flush()
    assert len(written(server)) == 1


def test_an_event_whose_answer_was_lost_is_not_written_twice(server, events, clock):
    server.faults.append(Fault("POST", "events", action="drop", takes_effect=True))
    events.write(failed())
    clock.seconds += 2
    events.tend()
    assert len(written(server)) == 1
    assert events.flush()


def test_an_event_that_is_refused_for_good_is_an_error_and_not_kept(server, events):
    server.faults.append(Fault("POST", "events", 403))
    with pytest.raises(ApiError, match="403"):
        events.write(failed())
    assert events.flush()
    assert written(server) == []


def test_what_waits_is_bounded(server, events, monkeypatch, caplog):
    monkeypatch.setattr(module, "MOST_UNSENT", 3)
    server.faults.append(Fault("POST", "events", 503))
    for number in range(10):
        events.write(failed(f"note {number}"))
    assert events.flush()
    assert [event["note"] for event in written(server)] == ["note 0", "note 1", "note 2"]
    assert events.counts()["dropped"] == 7
    assert "dropped" in caplog.text


def test_a_series_that_makes_room_for_others_has_its_count_written(server, events, monkeypatch):
    monkeypatch.setattr(module, "MOST_SERIES", 2)
    for _ in range(4):
        events.write(failed("one"))
    events.write(failed("two"))
    events.write(failed("three"))
    assert events.flush()
    (one,) = (event for event in written(server) if event["note"] == "one")
    assert one["series"]["count"] == 4


def test_the_count_of_an_event_that_is_gone_starts_a_new_one(server, events):
    events.write(failed())
    server.delete("Event", written(server)[0]["metadata"]["name"], "default")
    events.write(failed())  # the count finds no event
    events.write(failed())
    (event,) = written(server)
    assert "series" not in event


def test_tending_waits_no_longer_than_it_may(events):
    events.tend(0.01)


def test_times_have_six_digits():
    moment = parse_timestamp("2026-06-01T12:00:00.123456789Z")
    assert micro_time(moment) == "2026-06-01T12:00:00.123456Z"
    assert module.whole_time(moment) == "2026-06-01T12:00:00Z"
