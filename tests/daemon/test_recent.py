"""The last decisions: found again as they were, bounded, and safe to ask while others decide."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import msgspec
import pytest

from policyd.daemon.recent import (
    MAX_EARLIER,
    MAX_SECONDS,
    RecentDecisions,
    decision_id,
    record_of,
)
from policyd.model.node import Node
from policyd.policy.decide import decide
from policyd.policy.record import Record, from_json
from policyd.policy.recording import decision_data
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Attempt
from policyd.values.times import Timestamp
from tests.policy.build import NOW, as_pod, node, pod, rules, snapshot

RULES = rules("""
    rule "room" {
      require node.free.cpu >= pod.requests.cpu
              because "Insufficient cpu: " + string(node.free.cpu)
    }
    rule "spread" { prefer node.free.cpu * 10 }
""")


def attempt(name="p", number=1, *, cpu="1", on=None, uid="", **changes):
    """Give an attempt as the cycle tells of it; `on` are the nodes, by default two."""
    manifest = pod(name, cpu=cpu)
    manifest["metadata"]["uid"] = uid or f"uid-{name}"
    made = as_pod(manifest)
    seen = on if on is not None else snapshot(node("a", cpu="2"), node("b", cpu="4"))
    decision = decide(RULES, made, seen)
    result = "unschedulable" if decision.node is None else "scheduled"
    taken = decision.node.name if decision.node else None
    told = Attempt(number, made, RULES, decision, result, taken, 0.25, "", profile="main", time=NOW)
    return replace(told, **changes)


def test_a_decision_is_found_again_as_it_was():
    recent = RecentDecisions()
    told = attempt()
    recent.attempted(told)
    record = recent.record("default", "p")
    assert record.decision == decision_data(told.decision)
    assert record == record_of(told)
    assert (record.result, record.node, record.seconds) == ("scheduled", "b", 0.25)
    assert (record.profile, record.time) == ("main", "2026-06-01T12:00:00Z")
    assert record.ruleset.hash == RULES.hash
    assert record.pod.uid == "uid-p"
    assert record.id == decision_id(told)
    assert from_json(recent.record_json("default", "p")) == record


def test_what_the_cluster_became_meanwhile_does_not_change_a_record():
    cache = Cache()
    for each in snapshot(node("a", cpu="4")).nodes:
        cache.put_node(each)
    recent = RecentDecisions()
    recent.attempted(attempt(on=cache.snapshot(NOW)))
    before = recent.record("default", "p")
    cache.put_pod(as_pod(pod("other", on="a", cpu="4")))
    cache.remove_node("a")
    assert recent.record("default", "p") == before
    assert before.node == "a"


def test_nobody_is_told_of_a_pod_that_is_not_known():
    recent = RecentDecisions()
    recent.attempted(attempt())
    assert recent.record("default", "other") is None
    assert recent.record("other", "p") is None
    assert recent.record_json("default", "other") is None


def test_an_attempt_without_a_decision_is_kept_too():
    recent = RecentDecisions()
    recent.attempted(
        attempt(decision=None, ruleset=None, result="error", message="no rules", node=None)
    )
    record = recent.record("default", "p")
    assert (record.decision, record.ruleset, record.message) == (None, None, "no rules")


def test_nodes_that_are_wanted_are_in_the_record():
    many = snapshot(*(node(f"n{at:02}", cpu="2") for at in range(40)))
    recent = RecentDecisions()
    recent.attempted(attempt(on=many, cpu="3"))

    def names(*wanted):
        return {each.node for each in recent.record("default", "p", wanted).decision.nodes}

    assert "n31" not in names()
    assert "n31" in names("n31", "n00")


def test_nodes_left_out_for_their_devices_are_counted_and_others_not_looked_at_are_not():
    seen = snapshot(
        node("none"), node("full", gpu="1"), pod("q", on="full", gpu="1"), node("free", gpu="2")
    )
    made = as_pod(pod(gpu="1"))
    able = [each for each in seen.nodes if each.name == "free"]
    told = replace(attempt(on=seen), pod=made, decision=decide(RULES, made, seen, able))
    recent = RecentDecisions()
    recent.attempted(told)
    decision = recent.record("default", "p").decision
    assert (decision.considered, decision.without_devices) == (1, 1)


# --- history ---


def test_earlier_attempts_are_remembered_in_brief_the_newest_first():
    recent = RecentDecisions()
    for number in range(1, MAX_EARLIER + 4):
        recent.attempted(attempt(number=number, attempts=number, message=f"attempt {number}"))
    record = recent.record("default", "p")
    assert record.attempt == MAX_EARLIER + 3
    assert [each.message for each in record.earlier] == [
        f"attempt {number}" for number in range(MAX_EARLIER + 2, 2, -1)
    ]


def test_a_pod_that_was_made_anew_under_its_name_has_no_history():
    recent = RecentDecisions()
    recent.attempted(attempt(uid="one"))
    recent.attempted(attempt(uid="two", number=2))
    assert recent.record("default", "p").earlier == ()


def test_pods_are_listed_the_last_decided_first():
    recent = RecentDecisions()
    for number, name in enumerate(["x", "y", "z", "x"], 1):
        recent.attempted(attempt(name, number))
    assert [each.name for each in recent.listed()] == ["x", "z", "y"]
    assert msgspec.to_builtins(recent.listed()[0]) == {
        "id": f"{RULES.hash[:8]}-4",
        "time": "2026-06-01T12:00:00Z",
        "namespace": "default",
        "name": "x",
        "result": "scheduled",
        "message": "",
        "node": "b",
    }


# --- bounds ---


def test_of_too_many_pods_the_least_recently_decided_leave():
    recent = RecentDecisions(max_pods=3)
    for number, name in enumerate(["v", "w", "x", "v", "y", "z"], 1):
        recent.attempted(attempt(name, number))
    assert [each.name for each in recent.listed()] == ["z", "y", "v"]


def test_memory_is_bounded_by_what_is_charged():
    seen = snapshot(*(node(f"n{at}", cpu="2") for at in range(100)))
    recent = RecentDecisions(max_bytes=100_000)
    for number in range(200):
        recent.attempted(attempt(f"p{number}", number, on=seen))
        assert recent.charged_bytes <= 100_000
    assert 10 < len(recent.listed()) < 30
    assert recent.listed()[0].name == "p199"


def test_the_newest_is_kept_even_where_it_is_too_large():
    recent = RecentDecisions(max_bytes=1)
    recent.attempted(attempt("x"))
    recent.attempted(attempt("y", 2))
    assert [each.name for each in recent.listed()] == ["y"]


def test_what_nodes_were_is_charged_by_how_often_they_changed():
    def charged(changes):
        cache = Cache()
        for each in snapshot(node("a"), node("b")).nodes:
            cache.put_node(each)
        recent = RecentDecisions()
        recent.attempted(attempt("x", on=cache.snapshot(NOW)))
        for at in range(changes):
            cache.put_pod(as_pod(pod(f"o{at}", on="a", cpu="1m")))
        recent.attempted(attempt("y", 2, on=cache.snapshot(NOW)))
        return recent.charged_bytes

    few, many = charged(10), charged(30)
    assert many - few == pytest.approx(2 * (few - charged(0)), rel=0.01)
    assert few - charged(0) > 10 * 4096


def test_a_pod_that_nobody_decides_on_does_not_pin_the_past_for_ever():
    """The first snapshot goes when the versions of nodes since then are too many."""
    cache = Cache()
    for each in snapshot(node("a", cpu="1000")).nodes:
        cache.put_node(each)
    recent = RecentDecisions(max_bytes=200_000)
    recent.attempted(attempt("old", on=cache.snapshot(NOW)))
    old = recent.record("default", "old").id
    assert old
    for at in range(100):
        placed = pod(f"o{at}", on="a", cpu="1m")
        cache.put_pod(as_pod(placed))
        recent.attempted(attempt("busy", at + 2, on=cache.snapshot(NOW)))
    assert [each.name for each in recent.listed()] == ["busy"]


def _alive(made: list[weakref.ref]) -> int:
    gc.collect()
    return sum(each() is not None for each in made)


class _Marked(Node, frozen=True, kw_only=True, weakref=True):
    """A node that can be watched as it goes."""


def test_what_leaves_is_not_pinned_any_more():
    seen: list[weakref.ref] = []
    recent = RecentDecisions(max_pods=2)
    for at in range(5):
        made = snapshot(node("a", cpu="4"))
        marked = _Marked(**msgspec.structs.asdict(made.nodes[0]))
        seen.append(weakref.ref(marked))
        recent.attempted(attempt(f"p{at}", at, on=replace(made, nodes=[marked])))
        del marked, made
    assert _alive(seen) == 2


def test_verdicts_are_not_kept():
    told = attempt()
    watched = [weakref.ref(told.decision)]
    recent = RecentDecisions()
    recent.attempted(told)
    del told
    assert _alive(watched) == 0
    assert recent.record("default", "p").decision is not None


def test_a_decision_that_takes_too_long_to_be_made_again_is_told_without_it():
    times = iter([0.0, *[MAX_SECONDS + 1] * 100])
    recent = RecentDecisions(timer=lambda: next(times))
    recent.attempted(attempt())
    record = recent.record("default", "p")
    assert record.decision is None
    assert record.result == "scheduled"
    assert record.failures == ("the decision could not be made again within 10 s to be explained",)


# --- threads ---


def test_many_threads_decide_and_ask_at_once():
    """No attempt is lost, no record is of another pod, and the charge adds up in the end."""
    seen = snapshot(node("a", cpu="2"), node("b", cpu="4"))
    told = [
        [attempt(f"p{thread}-{at % 5}", 100 * thread + at, on=seen) for at in range(20)]
        for thread in range(8)
    ]
    recent = RecentDecisions(max_pods=30)
    barrier = Barrier(16)
    wrong: list[str] = []

    def decides(attempts):
        barrier.wait(timeout=30)
        for each in attempts:
            recent.attempted(each)

    def asks(thread):
        barrier.wait(timeout=30)
        for at in range(20):
            name = f"p{thread}-{at % 5}"
            record = recent.record("default", name)
            if record is not None and not _is_of(record, name):
                wrong.append(name)
            if len(recent.listed()) > 30:
                wrong.append("too many are kept")

    with ThreadPoolExecutor(16) as threads:
        done = [threads.submit(decides, attempts) for attempts in told]
        done += [threads.submit(asks, at) for at in range(8)]
        for each in done:
            each.result(timeout=60)
    assert not wrong
    assert len(recent.listed()) == 30
    alone = RecentDecisions()
    for brief in reversed(recent.listed()):
        alone.attempted(next(e for es in told for e in es if decision_id(e) == brief.id))
    briefs = sum(len(recent.record("default", each.name).earlier) for each in recent.listed())
    assert recent.charged_bytes - alone.charged_bytes == 512 * briefs


def _is_of(record: Record, name: str) -> bool:
    return record.pod.name == name and record.decision.pod.name == name and record.node == "b"


def test_an_id_names_the_rules_and_the_attempt():
    assert decision_id(attempt(number=7)) == f"{RULES.hash[:8]}-7"
    assert decision_id(attempt(number=7, ruleset=None)) == "none-7"


def test_a_record_of_an_attempt_without_a_time_has_none():
    assert record_of(attempt(time=None)).time == ""
    assert record_of(attempt(time=Timestamp(0))).time == "1970-01-01T00:00:00Z"
