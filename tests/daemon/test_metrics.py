"""The metrics say what happened: after real decisions, reloads and failures, in both formats."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat

import pytest

from policyd.metrics import ASKED, METRICS, PENDING_PODS, Kind, Metrics, attempts_label
from policyd.scheduler.protocols import ClusterError, Remedy
from tests.daemon.watched import FIT, Scrape, Watched
from tests.policy.build import node, snapshot
from tests.scheduler.fakes import ScriptedCluster
from tests.shared import ROOT

PATIENCE = 30  # seconds that only a fault needs
TALKATIVE = """
rule "fit" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }
rule "broken" { require node.name == "b" || 1 / (pod.priority - pod.priority) > 0 }
rule "loud" { prefer 250 }
rule "quiet" { prefer 50 }
rule "shy" { mode shadow require node.name == "a" }
"""


# --- after decisions ---


def test_attempts_are_counted_by_result_and_pods_by_where_they_wait():
    loop = Watched()
    for name, cpu in (("small", "1"), ("other", "2"), ("huge", "9")):
        loop.create(name, cpu=cpu)
    loop.create("held", cpu="1", gates=["quota"])
    loop.run()
    loop.create("late", cpu="1")
    got = loop.scrape()
    attempts = "scheduler_schedule_attempts_total"
    assert got(attempts, result="scheduled", profile="policyd") == 2
    assert got(attempts, result="unschedulable", profile="policyd") == 1
    assert {q: got("scheduler_pending_pods", queue=q) for q in ("active", "backoff")} == {
        "active": 1,
        "backoff": 0,
    }
    assert got("scheduler_pending_pods", queue="unschedulable") == 1
    assert got("scheduler_pending_pods", queue="gated") == 1
    assert got("policyd_in_flight_pods") == 0
    assert got("scheduler_unschedulable_pods", plugin="fit", profile="policyd") == 1
    assert got("scheduler_queue_incoming_pods_total", queue="active", event="PodAdd") == 4
    assert (
        got(
            "scheduler_queue_incoming_pods_total",
            queue="unschedulable",
            event="ScheduleAttemptFailure",
        )
        == 1
    )
    assert {
        kind: got("scheduler_cache_size", type=kind) for kind in ("nodes", "pods", "assumed_pods")
    } == {"nodes": 2, "pods": 2, "assumed_pods": 0}


def test_a_pod_in_flight_is_counted_as_such_and_as_assumed():
    loop = Watched()
    loop.create("p", cpu="1")
    seen = []
    bind = loop.cluster.bind

    def slow(pod, name):
        seen.append(loop.scrape())
        bind(pod, name)

    loop.cluster.bind = slow
    loop.run()
    (during,) = seen
    assert during("policyd_in_flight_pods") == 1
    assert during("scheduler_cache_size", type="assumed_pods") == 1
    assert loop.scrape()("scheduler_cache_size", type="assumed_pods") == 0


def test_rules_are_counted_by_what_they_came_to():
    loop = Watched(TALKATIVE)
    loop.create("p", cpu="1")
    loop.run()
    got = loop.scrape()

    def of(rule):
        return {
            kind: got(f"policyd_{kind}_total", rule=rule, profile="policyd")
            for kind in (
                "rule_evaluations",
                "rule_rejections",
                "rule_errors",
                "rule_clamped_scores",
            )
        }

    assert list(of("fit").values()) == [2, 0, 0, 0]
    assert list(of("broken").values()) == [2, 1, 1, 0]
    assert list(of("loud").values()) == [2, 0, 0, 1]
    assert list(of("quiet").values()) == [2, 0, 0, 0]
    assert list(of("shy").values()) == [2, 1, 0, 0]
    disagreements = "policyd_shadow_disagreements_total"
    assert got(disagreements, rule="shy", profile="policyd") == 1
    assert got.series(disagreements) == [(("profile", "policyd"), ("rule", "shy"))]


def test_the_time_and_the_attempts_of_a_pod_are_measured_from_when_it_came():
    loop = Watched(nodes=())
    loop.create("p", cpu="1")
    loop.run()
    loop.clock.seconds = 50
    assert loop.scrape()("policyd_oldest_pending_pod_age_seconds") == 50
    for made in snapshot(node("late")).nodes:
        loop.cluster.put_node(made)
    loop.run()
    got = loop.scrape()
    assert got("scheduler_pod_scheduling_attempts_sum") == 2
    sli = "scheduler_pod_scheduling_sli_duration_seconds"
    assert got(f"{sli}_sum", attempts="2") == 50
    assert got(f"{sli}_count", attempts="2") == 1
    assert got("policyd_oldest_pending_pod_age_seconds") == 0
    assert loop.attempts[1].event == "ClusterChange"
    assert loop.attempts[1].queued_seconds == 50


def test_a_pod_that_only_the_safety_net_brought_back_is_counted():
    loop = Watched('rule "r" { require node.name == "b" || node.name == "c" }', nodes=("a",))
    loop.create("p")
    loop.run()
    for made in snapshot(node("b")).nodes:
        loop.cluster.nodes["b"] = made
        loop.cache.put_node(made)  # the queue is not told
    loop.clock.seconds = 400
    loop.run()
    got = loop.scrape()
    assert got("scheduler_pod_scheduled_after_flush_total") == 1
    event = {"queue": "active", "event": "UnschedulableTimeout"}
    assert got("scheduler_queue_incoming_pods_total", **event) == 1


def test_a_decision_past_its_deadline_is_counted_and_is_an_error():
    ticks = chain([0.0], repeat(9.0))  # past what even the first decision may take
    loop = Watched(timer=lambda: next(ticks))
    loop.create("p", cpu="1")
    assert loop.scheduler.schedule_next(timeout=0)
    got = loop.scrape()
    assert got("policyd_decision_deadline_exceeded_total", profile="policyd") == 1
    assert got("scheduler_schedule_attempts_total", result="error", profile="policyd") == 1
    assert got("scheduler_pending_pods", queue="backoff") == 1


def test_binds_are_timed_by_whether_they_worked():
    cluster = ScriptedCluster()
    cluster.answers = [None, ClusterError("no", Remedy.RETRY_WITH_BACKOFF)]
    loop = Watched(cluster=cluster)
    loop.create("p", cpu="1")
    loop.create("q", cpu="1")
    loop.run()
    got = loop.scrape()
    assert got("policyd_bind_duration_seconds_count", result="bound") == 1
    assert got("policyd_bind_duration_seconds_count", result="failed") == 1
    assert got("policyd_bind_wait_duration_seconds_count") == 2


def test_without_rules_nothing_counts_as_decided():
    loop = Watched(None)
    loop.create("p")
    loop.run()
    got = loop.scrape()
    assert got("scheduler_schedule_attempts_total", result="error", profile="policyd") == 1
    assert got("scheduler_scheduling_algorithm_duration_seconds_count") == 0
    assert got.series("policyd_ruleset_info") == []


# --- the rules in force ---


def test_reloads_are_counted_and_what_is_in_force_is_told():
    loop = Watched()
    loop.clock.seconds = 100
    assert loop.scrape()("policyd_reload_last_success_timestamp_seconds", profile="policyd") == 0
    refused = loop.offer('rule "bad" { require node.lables["x"] == "y" }')
    assert refused.refusal is not None
    got = loop.scrape()
    assert got("policyd_reload_refused", profile="policyd") == 1
    assert got("policyd_ruleset_info", profile="policyd", hash=loop.store.current.hash) == 1
    loop.offer(TALKATIVE)
    loop.offer(TALKATIVE)
    got = loop.scrape()
    results = ("installed", "refused", "unchanged")
    reloads = [got("policyd_reloads_total", profile="policyd", result=r) for r in results]
    assert reloads == [2, 1, 1]
    assert got("policyd_reload_refused", profile="policyd") == 0
    assert got("policyd_reload_last_success_timestamp_seconds", profile="policyd") == 100
    assert len(got.series("policyd_ruleset_info")) == 1
    assert got("policyd_ruleset_rules", profile="policyd", mode="on") == 4
    assert got("policyd_ruleset_rules", profile="policyd", mode="shadow") == 1
    assert got("policyd_reload_duration_seconds_count", profile="policyd") == 4


def test_the_series_of_a_rule_go_with_the_rule_and_those_of_others_go_on():
    loop = Watched(TALKATIVE)
    loop.create("p", cpu="1")
    loop.run()
    assert len(loop.scrape().series("policyd_rule_evaluations_total")) == 5
    loop.offer(FIT + ' rule "new" { require true }')
    got = loop.scrape()
    names = [dict(labels)["rule"] for labels in got.series("policyd_rule_evaluations_total")]
    assert names == ["fit", "new"]
    assert got("policyd_rule_evaluations_total", rule="fit", profile="policyd") == 2
    assert got("policyd_rule_errors_total", rule="new", profile="policyd") == 0
    assert got.series("policyd_shadow_disagreements_total") == []


def test_however_many_reloads_there_were_there_are_no_more_series_than_rules():
    loop = Watched()
    for number in range(40):
        loop.offer(f'rule "r{number}" {{ require true }}')
        loop.create(f"p{number}")
        loop.run()
    got = loop.scrape()
    assert len(got.series("policyd_rule_evaluations_total")) == 1
    assert len(got.series("policyd_ruleset_info")) == 1


def test_a_decision_under_rules_that_were_replaced_meanwhile_brings_no_old_rule_back():
    metrics = Metrics(process=False)
    rules = metrics.rules
    rules.install("p", "one", ["a", "b"])
    rules.install("p", "two", ["b", "c"])
    rules.count("p", "one", [("a", 5, 0, 0, 0, 0), ("b", 5, 0, 0, 0, 0)])
    rules.count("p", "three", [("d", 7, 0, 0, 0, 0)])  # installed, and not told of yet
    got = Scrape.of(*metrics.exposition())
    evaluated = "policyd_rule_evaluations_total"
    assert got(evaluated, rule="a", profile="p") is None
    assert got(evaluated, rule="b", profile="p") == 5
    assert got(evaluated, rule="d", profile="p") == 7
    rules.install("p", "three", ["d"])
    assert Scrape.of(*metrics.exposition()).series(evaluated) == [(("profile", "p"), ("rule", "d"))]


def test_profiles_are_counted_apart():
    metrics = Metrics(process=False)
    for profile in ("one", "two"):
        metrics.rules.install(profile, "hash", ["a"])
    metrics.rules.count("one", "hash", [("a", 3, 0, 0, 0, 0)])
    metrics.rules.install("two", "other", ["b"])
    got = Scrape.of(*metrics.exposition())
    assert got("policyd_rule_evaluations_total", rule="a", profile="one") == 3
    assert got("policyd_rule_evaluations_total", rule="a", profile="two") is None


# --- names ---


@pytest.fixture
def scraped():
    loop = Watched(TALKATIVE)
    loop.create("p", cpu="1")
    loop.create("q", cpu="99")
    loop.run()
    return loop


def test_the_names_keep_the_rules_of_prometheus():
    for metric in METRICS:
        assert re.fullmatch(r"(scheduler|policyd)(_[a-z]+)+", metric.name), metric.name
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name
        if metric.kind is Kind.HISTOGRAM:
            assert metric.name.endswith(("_seconds", "_attempts")), metric.name
            assert list(metric.buckets) == sorted(set(metric.buckets))
        else:
            assert not metric.buckets
        assert not re.search(r"_(milli|micro|nano)?second(_|$)|_ms(_|$)|_minutes|_kb", metric.name)
        assert not metric.name.endswith(("_count", "_sum", "_bucket", "_created"))
        assert "le" not in metric.labels
        assert metric.kind.value not in metric.name
        assert metric.help.endswith(".")
        assert "  " not in metric.help
        for label in metric.labels:
            assert re.fullmatch(r"[a-z]+", label)
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1"),
    ],
)
def test_every_metric_is_exported_with_its_kind_help_and_labels(scraped, accept, content_type):
    text, got_type = scraped.metrics.exposition(accept)
    assert got_type.startswith(content_type)
    got = Scrape.of(text, got_type)
    assert set(got.families) == {metric.name.removesuffix("_total") for metric in METRICS}
    for metric in METRICS:
        family = got.families[metric.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.kind.value, metric.help)
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)
            assert not sample.name.endswith("_created") or content_type.startswith("application")


def test_values_are_asked_of_those_that_are_listed_as_such(scraped):
    assert set(ASKED) <= set(METRICS)
    assert PENDING_PODS in ASKED
    for metric in ASKED:
        scraped.metrics.ask(lambda metric=metric: [(metric, ("x",) * len(metric.labels), 1)])
    assert scraped.scrape()("scheduler_pending_pods", queue="x") == 1


def test_the_page_lists_every_metric_as_it_is():
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `((?:scheduler|policyd)_\w+)` \| (\w+) \| ([^|]*) \| ([^|]+) \|$", page, re.MULTILINE
    )
    listed = {
        name: (kind, re.findall(r"`(\w+)`", labels), meaning)
        for name, kind, labels, meaning in rows
    }
    assert len(rows) == len(listed)
    known = {m.name: (m.kind.value, list(m.labels), m.help) for m in METRICS}
    assert listed == known


def test_attempts_are_told_apart_up_to_a_bound():
    assert [attempts_label(n) for n in (1, 14, 15, 10_000)] == ["1", "14", "15+", "15+"]


def test_who_decides_and_what_the_pool_does_is_told():
    loop = Watched()
    got = loop.scrape()
    assert (got("policyd_leader"), got("policyd_build_info", version="1.2.3", grammar="abc")) == (
        1,
        1,
    )
    assert got("policyd_pool_work_total", result="done") == 3
    assert (got("policyd_pool_waiting"), got("policyd_pool_busy_threads")) == (1, 0)
    loop.standby = True
    assert loop.scrape()("policyd_leader") == 0


def test_memory_and_cpu_of_the_process_are_there():
    got = Scrape.of(*Metrics().exposition())
    assert got("process_resident_memory_bytes") > 0
    assert got("process_cpu_seconds_total") > 0
    assert "python_gc_collections" in got.families


# --- what goes wrong, and what goes on at once ---


def test_a_source_that_fails_hides_no_other_and_is_counted(caplog):
    loop = Watched()

    def broken():
        raise ZeroDivisionError

    loop.metrics.ask(broken)
    loop.metrics.ask(lambda: [(PENDING_PODS, ("mine",), 7)])
    assert loop.scrape()("scheduler_pending_pods", queue="mine") == 7
    assert loop.scrape()("policyd_observer_errors_total", what="metrics") >= 1
    assert "metrics could not be asked for" in caplog.text


def test_one_who_watches_and_fails_stops_neither_others_nor_the_loop(caplog):
    class Broken:
        def attempted(self, _attempt):
            raise ZeroDivisionError

    loop = Watched(tracer=Broken(), nothing=None)
    pod = loop.create("p", cpu="1")
    loop.run()
    assert loop.cache.bound_node(pod) is not None
    assert len(loop.attempts) == 1
    assert loop.scrape()("policyd_observer_errors_total", what="tracer") == 1
    assert "an attempt could not be noted: tracer" in caplog.text


def test_scrapes_while_eight_threads_count_lose_nothing():
    metrics = Metrics(process=False)
    metrics.rules.install("p", "hash", ["a", "b"])
    threads, times = 8, 500
    start = threading.Barrier(threads + 2)
    counting = threading.Event()
    counting.set()

    def count(number):
        start.wait(PATIENCE)
        for turn in range(times):
            metrics.attempts("scheduled", f"p{turn % 3}").inc()
            metrics.decision_seconds("p").observe(0.001 * number)
            metrics.rules.count("p", "hash", [("a", 2, 1, 0, 0, 0), ("b", 1, 0, 1, 0, 0)])

    def scrape():
        start.wait(PATIENCE)
        before, scrapes = 0.0, 0
        while counting.is_set() or not scrapes:
            got = Scrape.of(*metrics.exposition())
            value = got("policyd_rule_evaluations_total", rule="a", profile="p")
            assert value >= before
            before, scrapes = value, scrapes + 1
        return scrapes

    with ThreadPoolExecutor(threads + 2) as pool:
        scraping = [pool.submit(scrape) for _ in range(2)]
        for done in [pool.submit(count, number) for number in range(threads)]:
            done.result(PATIENCE)
        counting.clear()
        assert all(done.result(PATIENCE) >= 1 for done in scraping)
    got = Scrape.of(*metrics.exposition())
    attempts = [
        got("scheduler_schedule_attempts_total", result="scheduled", profile=f"p{n}")
        for n in range(3)
    ]
    assert sum(attempts) == threads * times
    assert got("policyd_decision_duration_seconds_count", profile="p") == threads * times
    for name, rule, expected in (
        ("evaluations", "a", 2),
        ("rejections", "a", 1),
        ("errors", "b", 1),
    ):
        value = got(f"policyd_rule_{name}_total", rule=rule, profile="p")
        assert value == expected * threads * times
