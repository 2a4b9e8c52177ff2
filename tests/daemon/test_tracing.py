"""Spans tell where an attempt's time went and what it came to; unasked there are none."""

import subprocess
import sys
from itertools import chain, repeat
from time import monotonic

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from waitress.server import create_server

from policyd.daemon.clock import SystemClock
from policyd.daemon.threads import Threads
from policyd.daemon.tracing import (
    CLOSE_SECONDS,
    TRACEPARENT,
    TRACESTATE,
    Tracer,
    is_wanted,
    make_tracer,
)
from policyd.scheduler.protocols import ClusterError, Remedy
from tests.daemon.watched import Watched
from tests.policy.build import node, snapshot
from tests.scheduler.fakes import ScriptedCluster
from tests.shared import ROOT

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Traced:
    """A loop whose spans are kept in memory."""

    def __init__(self, monkeypatch, **options):
        for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME"):
            monkeypatch.delenv(name, raising=False)
        self.kept = InMemorySpanExporter()
        self.ignored = 0
        self.tracer = Tracer(SimpleSpanProcessor(self.kept), ignored=self._ignore)
        self.loop = Watched(tracer=self.tracer, **options)

    def _ignore(self):
        self.ignored += 1

    def take(self):
        """Give the spans since the last time, by their names."""
        spans = self.kept.get_finished_spans()
        self.kept.clear()
        return {span.name: span for span in spans}


@pytest.fixture
def traced(monkeypatch):
    made = Traced(monkeypatch)
    yield made
    made.tracer.close()


def seconds(span):
    return (span.start_time / 1e9, span.end_time / 1e9)


def test_a_placed_pod_has_a_span_with_its_steps_as_children(traced):
    loop = traced.loop
    pod = loop.create("p", cpu="1")
    loop.clock.seconds = 10
    loop.run()
    spans = traced.take()
    assert set(spans) == {"schedule", "queue", "decide", "bind"}
    root = spans.pop("schedule")
    assert root.parent is None
    assert all(span.parent.span_id == root.context.span_id for span in spans.values())
    assert dict(root.attributes) == {
        "k8s.namespace.name": "default",
        "k8s.pod.name": "p",
        "k8s.pod.uid": "p",
        "k8s.node.name": loop.cache.bound_node(pod),
        "policyd.profile": "policyd",
        "policyd.result": "scheduled",
        "policyd.ruleset.hash": loop.store.current.hash,
        "policyd.decision.id": f"{loop.store.current.hash[:8]}-1",
        "policyd.attempt": 1,
        "policyd.queue.event": "PodAdd",
        "policyd.nodes.considered": 2,
    }
    assert root.status.status_code is StatusCode.UNSET
    assert root.resource.attributes["service.name"] == "policyd"


def test_the_steps_follow_each_other_from_when_the_pod_came(monkeypatch):
    ticks = chain([0.0], repeat(0.25))
    traced = Traced(monkeypatch, timer=lambda: next(ticks))
    loop = traced.loop
    loop.create("p", cpu="1")
    loop.clock.seconds = 10
    bind = loop.cluster.bind

    def slow(pod, name):
        loop.clock.seconds += 2
        bind(pod, name)

    loop.cluster.bind = slow
    loop.run()
    spans = traced.take()
    assert seconds(spans["queue"]) == (0, 10)
    assert seconds(spans["decide"]) == (10, 10.25)
    assert seconds(spans["bind"]) == (10.25, 12.25)
    assert seconds(spans["schedule"]) == (0, 12.25)


def test_a_pod_that_fits_nowhere_has_no_bind_and_its_next_attempt_waits_from_there(traced):
    loop = traced.loop
    loop.create("p", cpu="9")
    loop.clock.seconds = 5
    loop.run()
    first = traced.take()
    assert set(first) == {"schedule", "queue", "decide"}
    assert first["schedule"].attributes["policyd.result"] == "unschedulable"
    assert "Insufficient cpu" in first["schedule"].attributes["policyd.message"]
    loop.clock.seconds = 60
    for made in snapshot(node("large", cpu="64")).nodes:
        loop.cluster.put_node(made)
    loop.run()
    second = traced.take()
    assert seconds(second["queue"]) == (5, 60)
    assert second["schedule"].attributes["policyd.queue.event"] == "ClusterChange"
    assert second["schedule"].attributes["policyd.attempt"] == 2


def test_a_failed_bind_is_an_error_with_its_reason(monkeypatch):
    cluster = ScriptedCluster()
    cluster.answers = [ClusterError("the server is away", Remedy.RETRY_WITH_BACKOFF)]
    traced = Traced(monkeypatch, cluster=cluster)
    traced.loop.create("p", cpu="1")
    traced.loop.run()
    root = traced.take()["schedule"]
    assert root.status.status_code is StatusCode.ERROR
    assert root.status.description == "the server is away"
    assert root.attributes["policyd.cause"] == "bind"


# --- the trace that a pod is part of ---


def test_a_pods_own_trace_is_continued(traced):
    annotations = {TRACEPARENT: PARENT, TRACESTATE: "vendor=1"}
    traced.loop.create("p", annotations, cpu="1")
    traced.loop.run()
    root = traced.take()["schedule"]
    assert format(root.context.trace_id, "032x") == TRACE
    assert format(root.parent.span_id, "016x") == SPAN
    assert root.context.trace_state.get("vendor") == "1"
    assert traced.ignored == 0


@pytest.mark.parametrize(
    "annotation",
    [
        "",
        "garbage",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE[:-1]}é-{SPAN}-01",
        "0" * 100_000,
    ],
)
def test_a_malformed_trace_context_is_ignored_and_counted(traced, annotation):
    traced.loop.create("p", {TRACEPARENT: annotation}, cpu="1")
    traced.loop.run()
    root = traced.take()["schedule"]
    assert root.parent is None
    assert format(root.context.trace_id, "032x") != TRACE
    assert traced.ignored == 1


def test_a_malformed_state_does_not_lose_the_trace(traced):
    traced.loop.create("p", {TRACEPARENT: PARENT, TRACESTATE: "= ,;"}, cpu="1")
    traced.loop.run()
    assert format(traced.take()["schedule"].context.trace_id, "032x") == TRACE


def test_what_the_trace_does_not_sample_is_not_kept(traced):
    traced.loop.create("p", {TRACEPARENT: PARENT[:-1] + "0"}, cpu="1")
    traced.loop.run()
    assert traced.take() == {}


def test_the_standard_variables_hold(monkeypatch):
    traced = Traced(monkeypatch)
    traced.tracer.close()
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-scheduler")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    off = Tracer(SimpleSpanProcessor(traced.kept))
    assert off._provider.resource.attributes["service.name"] == "my-scheduler"
    traced.loop.create("p", cpu="1")
    traced.loop.run()
    off.attempted(traced.loop.attempts[0])
    off.close()
    assert traced.take() == {}


# --- whether there are traces at all ---

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "true"}, False),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, False),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "otlp"}, True),
    ],
)
def test_traces_are_wanted_where_the_environment_says_where_to(environ, wanted):
    assert is_wanted(environ) == wanted


def test_without_an_endpoint_nothing_is_made_and_nothing_is_imported():
    code = (
        "import sys; from policyd.daemon.tracing import make_tracer;"
        "assert make_tracer({}) is None;"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_without_the_extra_there_are_no_traces_and_the_log_says_why(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert make_tracer(ENDPOINT) is None
    assert "install policyd[tracing]" in caplog.text


def test_another_protocol_than_http_is_not_known_and_the_log_says_so(caplog):
    assert make_tracer(ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) is None
    assert "only http/protobuf is known, and grpc is set" in caplog.text


def test_what_the_variables_say_wrong_stops_nobody(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-5")
    assert make_tracer(ENDPOINT) is None
    assert "no traces are sent" in caplog.text


def test_spans_are_sent_to_the_endpoint_as_otlp(monkeypatch, collector):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    tracer = make_tracer({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
    assert tracer is not None
    loop = Watched(tracer=tracer)
    loop.create("p", {TRACEPARENT: PARENT}, cpu="1")
    loop.run()
    tracer.close()
    (path, body) = collector.got[0]
    assert path == "/v1/traces"
    for expected in (b"schedule", b"decide", bytes.fromhex(TRACE), b"policyd.ruleset.hash"):
        assert expected in body


@pytest.mark.timing
def test_a_collector_that_is_away_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    tracer = make_tracer(ENDPOINT)
    assert tracer is not None
    loop = Watched(tracer=tracer)
    loop.create("p", cpu="1")
    loop.run()
    began = monotonic()
    tracer.close()
    assert monotonic() - began < CLOSE_SECONDS + 2


class Collector:
    """Takes what is sent by HTTP, and keeps it."""

    def __init__(self, threads):
        self.got = []
        self.server = create_server(self, host="127.0.0.1", port=0, threads=1)
        self.url = f"http://127.0.0.1:{self.server.effective_port}"
        threads.repeat("collector", self.turn)

    def __call__(self, environ, start_response):
        self.got.append((environ["PATH_INFO"], environ["wsgi.input"].read()))
        start_response("200 OK", [("Content-Type", "application/x-protobuf")])
        return [b""]

    def turn(self, _seconds):
        self.server.asyncore.loop(timeout=0.1, map=self.server._map, count=1)


@pytest.fixture
def collector():
    threads = Threads(SystemClock())
    made = Collector(threads)
    yield made
    threads.stop()
    assert threads.join(30) == []
    made.server.task_dispatcher.shutdown()
    made.server.close()
    for channel in list(made.server.active_channels.values()):
        channel.close()
