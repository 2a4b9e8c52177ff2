"""Sends a trace of each attempt by OpenTelemetry: from when the pod was queued until it is bound.

The span `schedule` has the children `queue`, `decide` and `bind`, made from the times of an
attempt once it is over, so that nothing is traced while anything is decided. It continues the
trace of the pod's annotation, where there is one. Without an endpoint in the environment nothing
of OpenTelemetry is imported, and nothing is spent.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from policyd.daemon.recent import decision_id
from policyd.scheduler.cycle import Attempt
from policyd.scheduler.queue import key_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Span, SpanContext

TRACEPARENT: Final = "policyd.io/traceparent"
TRACESTATE: Final = "policyd.io/tracestate"
"""The pod's annotations with its W3C trace context (https://www.w3.org/TR/trace-context/)."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_NANOS: Final = 10**9

CLOSE_SECONDS: Final = 3.0
"""How long the last spans may take to be sent when the process ends, and nobody takes them."""

_LOG: Final = logging.getLogger(__name__)


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Say whether the standard environment variables ask for traces."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() != "otlp":
        return False
    return any(environ.get(name, "").strip() for name in _ENDPOINTS)


def make_tracer(
    environ: Mapping[str, str], *, ignored: Callable[[], None] = lambda: None
) -> "Tracer | None":
    """Make the tracer that the environment asks for; nothing where it asks for none.

    What cannot be had is logged, and there is none then: a cluster sets such variables for all
    its processes, and a scheduler must start all the same. `ignored` is called for each attempt
    whose pod has an annotation that is no trace context.
    """
    if not is_wanted(environ):
        return None
    protocol = next((environ[name] for name in _PROTOCOLS if environ.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        _LOG.warning("no traces are sent: only http/protobuf is known, and %s is set", protocol)
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an optional extra
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above
    except ImportError as error:
        _LOG.warning("no traces are sent: install policyd[tracing] for them (%s)", error)
        return None

    class Bounded(BatchSpanProcessor):
        """Ends in time also where what it sends to is away."""

        def shutdown(self) -> None:
            self._batch_processor.shutdown(timeout_millis=round(CLOSE_SECONDS * 1000))

    try:
        return Tracer(Bounded(OTLPSpanExporter()), ignored=ignored)
    except Exception as error:  # noqa: BLE001 - whatever the variables hold, pods are to be placed
        _LOG.warning("no traces are sent: %s: %s", type(error).__name__, error)
        return None


class Tracer:
    """An observer that makes spans of attempts. Any thread may call it.

    Sampling, resource and limits are those of the standard environment variables; the service is
    called policyd unless they say otherwise.
    """

    def __init__(
        self, processor: "SpanProcessor", *, ignored: Callable[[], None] = lambda: None
    ) -> None:
        """Hand finished spans to a processor, which sends or keeps them."""
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an optional extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - as above
            TraceContextTextMapPropagator,
        )

        named = Resource.create()
        if str(named.attributes.get("service.name", "")).startswith("unknown_service"):
            named = named.merge(Resource({"service.name": "policyd"}))
        self._provider = TracerProvider(resource=named, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("policyd")
        self._propagator = TraceContextTextMapPropagator()
        self._ignored = ignored

    def attempted(self, attempt: Attempt) -> None:
        """Make the spans of an attempt."""
        if attempt.time is None:
            return
        began = attempt.time.nanos
        steps = list(_steps(attempt, began))
        root = self._tracer.start_span(
            "schedule",
            context=self._context(attempt),
            start_time=min(start for _, start, _ in steps),
            attributes=_attributes(attempt),
        )
        if root.is_recording():
            self._add_steps(root, steps)
            _set_status(root, attempt)
        root.end(max(end for _, _, end in steps))

    def close(self) -> None:
        """Send what is left, as far as that works in `CLOSE_SECONDS`."""
        self._provider.shutdown()

    def _add_steps(self, root: "Span", steps: list[tuple[str, int, int]]) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - an optional extra

        under = set_span_in_context(root)
        for name, start, end in steps:
            self._tracer.start_span(name, context=under, start_time=start).end(end)

    def _context(self, attempt: Attempt) -> "Context":
        """Give the trace that the pod is part of; a new one where it names none that is valid."""
        from opentelemetry.context import Context  # noqa: PLC0415 - an optional extra

        parent = attempt.pod.annotations[TRACEPARENT]
        if parent is None:
            return Context()
        carrier = {"traceparent": parent}
        if (state := attempt.pod.annotations[TRACESTATE]) is not None:
            carrier["tracestate"] = state
        context = self._propagator.extract(carrier, Context())
        if not _span_context(context).is_valid:
            self._ignored()
            return Context()
        return context


def _span_context(context: "Context") -> "SpanContext":
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - an optional extra

    return get_current_span(context).get_span_context()


def _steps(attempt: Attempt, began: int) -> Iterator[tuple[str, int, int]]:
    """Give the steps of an attempt with when they began and ended, in nanoseconds since 1970."""
    decided = began + _nanos(attempt.seconds)
    yield "queue", began - _nanos(attempt.queued_seconds), began
    yield "decide", began, decided
    if attempt.result == "scheduled" or attempt.cause == "bind":
        start = decided + _nanos(attempt.bind_wait_seconds)
        yield "bind", start, start + _nanos(attempt.bind_seconds)


def _nanos(seconds: float) -> int:
    return max(0, round(seconds * _NANOS))


def _attributes(attempt: Attempt) -> dict[str, Any]:
    """Give what is known of an attempt, in OpenTelemetry's names where it has some."""
    known: dict[str, Any] = {
        "k8s.namespace.name": attempt.pod.namespace,
        "k8s.pod.name": attempt.pod.name,
        "k8s.pod.uid": key_of(attempt.pod),
        "k8s.node.name": attempt.node,
        "policyd.profile": attempt.profile,
        "policyd.result": attempt.result,
        "policyd.cause": attempt.cause or None,
        "policyd.ruleset.hash": attempt.ruleset.hash if attempt.ruleset is not None else None,
        "policyd.decision.id": decision_id(attempt),
        "policyd.attempt": attempt.attempts,
        "policyd.queue.event": attempt.event or None,
        "policyd.message": attempt.message or None,
        "policyd.nodes.considered": attempt.decision.considered if attempt.decision else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _set_status(span: "Span", attempt: Attempt) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415 - an optional extra

    if attempt.result == "error":
        span.set_status(StatusCode.ERROR, "; ".join(attempt.failures) or attempt.message)
