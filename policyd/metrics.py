"""Names every exported metric once, and holds their values in a registry of its own.

Where the meaning is kube-scheduler's, name, labels and buckets are kube-scheduler's
(pkg/scheduler/metrics/metrics.go, 1.36), so that its dashboards and alerts go on to work; what is
policyd's own begins with `policyd_`. No label has a value without bound: no pod, no node, no
message, and the series of a rule go with the rule.

Most values are counted as things happen. What the queue, the cache or the rules know themselves
is asked when somebody scrapes (`Metrics.ask`), so that it is never stale and costs nothing before.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import Final, Generic, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

_LOG: Final = logging.getLogger(__name__)


class Kind(Enum):
    """What a metric is, in the words of the exposition format."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """The name of a metric as it is exported, what it means, and what it is split by."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Give the upper bounds of buckets, as ExponentialBuckets of Prometheus' Go client does."""
    return tuple(start * factor**power for power in range(count))


_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM
_BY_RULE: Final = ("rule", "profile")

# --- kube-scheduler's ---

SCHEDULE_ATTEMPTS: Final = Metric(
    "scheduler_schedule_attempts_total",
    _COUNTER,
    "Attempts to place a pod, by result: scheduled, unschedulable (it fits nowhere) or error.",
    ("result", "profile"),
)
ATTEMPT_SECONDS: Final = Metric(
    "scheduler_scheduling_attempt_duration_seconds",
    _HISTOGRAM,
    "How long an attempt took: the decision and the bind.",
    ("result", "profile"),
    exponential(0.001, 2, 15),
)
ALGORITHM_SECONDS: Final = Metric(
    "scheduler_scheduling_algorithm_duration_seconds",
    _HISTOGRAM,
    "How long a decision took.",
    (),
    exponential(0.001, 2, 15),
)
POD_ATTEMPTS: Final = Metric(
    "scheduler_pod_scheduling_attempts",
    _HISTOGRAM,
    "How many attempts a pod took until it was bound.",
    (),
    exponential(1, 2, 5),
)
POD_SLI_SECONDS: Final = Metric(
    "scheduler_pod_scheduling_sli_duration_seconds",
    _HISTOGRAM,
    "How long a pod took from when it first could be tried until it was bound, all attempts"
    " included.",
    ("attempts",),
    exponential(0.01, 2, 20),
)
SCHEDULED_AFTER_FLUSH: Final = Metric(
    "scheduler_pod_scheduled_after_flush_total",
    _COUNTER,
    "Pods that were bound after nothing but the safety net had brought them back: a change that"
    " could help them was missed.",
)
PENDING_PODS: Final = Metric(
    "scheduler_pending_pods",
    _GAUGE,
    "Pods that wait, by queue: active (to be tried next), backoff (failed a while ago),"
    " unschedulable (until something changes that could help) and gated (never tried yet).",
    ("queue",),
)
QUEUE_INCOMING_PODS: Final = Metric(
    "scheduler_queue_incoming_pods_total",
    _COUNTER,
    "How often a pod came to a queue, by what brought it there.",
    ("queue", "event"),
)
UNSCHEDULABLE_PODS: Final = Metric(
    "scheduler_unschedulable_pods",
    _GAUGE,
    "Pods that wait because of a rule; the label that kube-scheduler calls plugin is the rule's"
    " name. A pod counts for each rule that rejected it.",
    ("plugin", "profile"),
)
CACHE_SIZE: Final = Metric(
    "scheduler_cache_size",
    _GAUGE,
    "What the cache holds, by type: nodes, pods (those on a node) and assumed_pods (decided, and"
    " not known to the cluster yet).",
    ("type",),
)

# --- rules ---

RULE_EVALUATIONS: Final = Metric(
    "policyd_rule_evaluations_total",
    _COUNTER,
    "On how many nodes a rule was asked about a pod.",
    _BY_RULE,
)
RULE_REJECTIONS: Final = Metric(
    "policyd_rule_rejections_total",
    _COUNTER,
    "On how many nodes a rule rejected a pod; for a rule in shadow mode, would have.",
    _BY_RULE,
)
RULE_ERRORS: Final = Metric(
    "policyd_rule_errors_total",
    _COUNTER,
    "On how many nodes a rule could not be evaluated for a pod.",
    _BY_RULE,
)
RULE_CLAMPED: Final = Metric(
    "policyd_rule_clamped_scores_total",
    _COUNTER,
    "How many scores of a rule were outside 0 to 100 and were cut off.",
    _BY_RULE,
)
SHADOW_DISAGREEMENTS: Final = Metric(
    "policyd_shadow_disagreements_total",
    _COUNTER,
    "Decisions that would have taken another node, or none, had a shadow rule been in force.",
    _BY_RULE,
)

# --- decisions and binds ---

DECISION_SECONDS: Final = Metric(
    "policyd_decision_duration_seconds",
    _HISTOGRAM,
    "How long a decision took, in buckets that begin at 10 microseconds.",
    ("profile",),
    exponential(0.00001, 2, 19),
)
DEADLINES_EXCEEDED: Final = Metric(
    "policyd_decision_deadline_exceeded_total",
    _COUNTER,
    "Attempts that ended because the decision took longer than it may.",
    ("profile",),
)
STALE_DECISIONS: Final = Metric(
    "policyd_stale_decisions_total",
    _COUNTER,
    "Attempts that ended because the chosen node had changed meanwhile, and the pod did not fit"
    " there any more.",
    ("profile",),
)
BIND_SECONDS: Final = Metric(
    "policyd_bind_duration_seconds",
    _HISTOGRAM,
    "How long binding a pod took, by result (bound or failed), reading it back included where it"
    " was not known whether it worked.",
    ("result",),
    exponential(0.001, 2, 15),
)
BIND_WAIT_SECONDS: Final = Metric(
    "policyd_bind_wait_duration_seconds",
    _HISTOGRAM,
    "How long a decided pod waited for a thread that binds it.",
    (),
    exponential(0.0001, 2, 18),
)
IN_FLIGHT_PODS: Final = Metric(
    "policyd_in_flight_pods",
    _GAUGE,
    "Pods that are being decided or bound.",
)
OLDEST_PENDING: Final = Metric(
    "policyd_oldest_pending_pod_age_seconds",
    _GAUGE,
    "How long the pod has waited that has waited the longest, those that are gated left out.",
)
IGNORED_PODS: Final = Metric(
    "policyd_ignored_pods",
    _GAUGE,
    "Pods that wait and name a scheduler that is no profile here.",
)

# --- the rules in force ---

RELOADS: Final = Metric(
    "policyd_reloads_total",
    _COUNTER,
    "Changes of the sources of rules, by result: installed, refused or unchanged.",
    ("profile", "result"),
)
RELOAD_SECONDS: Final = Metric(
    "policyd_reload_duration_seconds",
    _HISTOGRAM,
    "How long compiling what the sources offered took.",
    ("profile",),
    exponential(0.001, 2, 15),
)
RELOAD_LAST_SUCCESS: Final = Metric(
    "policyd_reload_last_success_timestamp_seconds",
    _GAUGE,
    "When the rule set in force was installed, in seconds since 1970.",
    ("profile",),
)
RELOAD_REFUSED: Final = Metric(
    "policyd_reload_refused",
    _GAUGE,
    "1 while newer rules are held back because they were refused, else 0.",
    ("profile",),
)
RULESET_INFO: Final = Metric(
    "policyd_ruleset_info",
    _GAUGE,
    "1, with the hash of the rule set in force.",
    ("profile", "hash"),
)
RULESET_RULES: Final = Metric(
    "policyd_ruleset_rules",
    _GAUGE,
    "How many rules are in force, by mode: on or shadow.",
    ("profile", "mode"),
)

# --- the process ---

BUILD_INFO: Final = Metric(
    "policyd_build_info",
    _GAUGE,
    "1, with the version of policyd and the hash of the grammar that it reads rules by.",
    ("version", "grammar"),
)
LEADER: Final = Metric(
    "policyd_leader",
    _GAUGE,
    "1 where this process decides, 0 while it stands by for another that does.",
)
WATCHES: Final = Metric(
    "policyd_watches_total",
    _COUNTER,
    "What happened while the cluster was watched, by kind of objects: list, watch (begun), event,"
    " bookmark, ignored (it told what was known), expired (a new list was needed), broken,"
    " out_of_order, failure, unreadable (an object), handler_failure.",
    ("kind", "what"),
)
CLUSTER_EVENTS: Final = Metric(
    "policyd_cluster_events_total",
    _COUNTER,
    "Events for people, by result: written, counted (to a series), limited (too many of one"
    " object), kept (the server did not take it yet) or dropped (too many were kept).",
    ("result",),
)
POOL_WORK: Final = Metric(
    "policyd_pool_work_total",
    _COUNTER,
    "Work of the threads that call the cluster, by result: done, failed (it ended with an error of"
    " policyd) or dropped (it came after the end).",
    ("result",),
)
POOL_WAITING: Final = Metric(
    "policyd_pool_waiting",
    _GAUGE,
    "Work that waits for one of those threads.",
)
POOL_BUSY: Final = Metric(
    "policyd_pool_busy_threads",
    _GAUGE,
    "How many of those threads are at work.",
)
OBSERVER_ERRORS: Final = Metric(
    "policyd_observer_errors_total",
    _COUNTER,
    "How often something that only watches failed: metrics asked for, a record, a span, a log"
    " line. Decisions are not touched by it.",
    ("what",),
)
TRACE_CONTEXTS_IGNORED: Final = Metric(
    "policyd_trace_contexts_ignored_total",
    _COUNTER,
    "Attempts for a pod whose annotation is no W3C trace context, so that a new trace was begun.",
)
LOG_MESSAGES: Final = Metric(
    "policyd_log_messages_total",
    _COUNTER,
    "Log messages, by level, those that were not written because they only repeat included.",
    ("level",),
)
LOG_SUPPRESSED: Final = Metric(
    "policyd_log_messages_suppressed_total",
    _COUNTER,
    "Log messages that were not written because they only repeat one that was.",
)
HTTP_REQUESTS: Final = Metric(
    "policyd_http_requests_total",
    _COUNTER,
    "Requests that were answered, by endpoint and status.",
    ("endpoint", "code"),
)

METRICS: Final = (
    *(SCHEDULE_ATTEMPTS, ATTEMPT_SECONDS, ALGORITHM_SECONDS, POD_ATTEMPTS, POD_SLI_SECONDS),
    *(SCHEDULED_AFTER_FLUSH, PENDING_PODS, QUEUE_INCOMING_PODS, UNSCHEDULABLE_PODS, CACHE_SIZE),
    *(RULE_EVALUATIONS, RULE_REJECTIONS, RULE_ERRORS, RULE_CLAMPED, SHADOW_DISAGREEMENTS),
    *(DECISION_SECONDS, DEADLINES_EXCEEDED, STALE_DECISIONS, BIND_SECONDS, BIND_WAIT_SECONDS),
    *(IN_FLIGHT_PODS, OLDEST_PENDING, IGNORED_PODS),
    *(RELOADS, RELOAD_SECONDS, RELOAD_LAST_SUCCESS, RELOAD_REFUSED, RULESET_INFO, RULESET_RULES),
    *(BUILD_INFO, LEADER, WATCHES, CLUSTER_EVENTS, POOL_WORK, POOL_WAITING, POOL_BUSY),
    *(OBSERVER_ERRORS, TRACE_CONTEXTS_IGNORED),
    *(LOG_MESSAGES, LOG_SUPPRESSED, HTTP_REQUESTS),
)
"""Every metric of policyd. Those of the process and of Python come from their library besides."""

MOST_ATTEMPTS: Final = 15
"""From how many attempts on they are not told apart in a label (getAttemptsLabel)."""

Sample = tuple[Metric, tuple[str, ...], float]
"""A value that was asked for: of which metric, and for which values of its labels."""

RuleCount = tuple[str, int, int, int, int, int]
"""A rule, and its evaluations, rejections, errors, clamped scores and disagreements."""


def attempts_label(attempts: int) -> str:
    """Give the label of a number of attempts, which is bounded."""
    return f"{MOST_ATTEMPTS}+" if attempts >= MOST_ATTEMPTS else str(attempts)


M = TypeVar("M", bound=MetricWrapperBase)


class Children(Generic[M]):
    """The child of a metric for each of its label values, found without the metric's lock.

    `labels()` of the library takes that lock at every call. Any thread may call this; two that
    ask for a new child at the same time get the same one.
    """

    def __init__(self, parent: M) -> None:
        self._parent = parent
        self._known: dict[tuple[str, ...], M] = {}

    def __call__(self, *values: str) -> M:
        """Give the child for some label values."""
        child = self._known.get(values)
        if child is None:
            child = self._known[values] = self._parent.labels(*values)
        return child


class Metrics:
    """All metrics of a process. Its parts may be used by any thread, and have their own locks."""

    def __init__(self, *, process: bool = True) -> None:
        """Register everything; `process` adds memory, CPU and files, and Python's own."""
        self.registry = CollectorRegistry(auto_describe=True)
        self.attempts = Children(self._counter(SCHEDULE_ATTEMPTS))
        self.attempt_seconds = Children(self._histogram(ATTEMPT_SECONDS))
        self.algorithm_seconds = self._histogram(ALGORITHM_SECONDS)
        self.pod_attempts = self._histogram(POD_ATTEMPTS)
        self.pod_sli_seconds = Children(self._histogram(POD_SLI_SECONDS))
        self.scheduled_after_flush = self._counter(SCHEDULED_AFTER_FLUSH)
        self.decision_seconds = Children(self._histogram(DECISION_SECONDS))
        self.deadlines_exceeded = Children(self._counter(DEADLINES_EXCEEDED))
        self.stale_decisions = Children(self._counter(STALE_DECISIONS))
        self.bind_seconds = Children(self._histogram(BIND_SECONDS))
        self.bind_wait_seconds = self._histogram(BIND_WAIT_SECONDS)
        self.reloads = Children(self._counter(RELOADS))
        self.reload_seconds = Children(self._histogram(RELOAD_SECONDS))
        self.observer_errors = Children(self._counter(OBSERVER_ERRORS))
        self.trace_contexts_ignored = self._counter(TRACE_CONTEXTS_IGNORED)
        self.log_messages = Children(self._counter(LOG_MESSAGES))
        self.log_suppressed = self._counter(LOG_SUPPRESSED)
        self.http_requests = Children(self._counter(HTTP_REQUESTS))
        self.rules = RuleCounts()
        self._asked = _Asked(lambda: self.observer_errors("metrics").inc())
        for collector in (self.rules, self._asked):
            self.registry.register(collector)
        if process:
            for library in (ProcessCollector, PlatformCollector, GCCollector):
                library(registry=self.registry)

    def ask(self, source: Callable[[], Iterable[Sample]]) -> None:
        """Have a source asked for values whenever somebody scrapes.

        Only metrics of `ASKED` can be given. A source that fails is logged and counted, and
        keeps nothing else back.
        """
        self._asked.sources = (*self._asked.sources, source)

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Give all values as text, and its content type, as an Accept header wishes.

        In Prometheus' own format the times at which series were created are left out: it would
        take them for as many more series. OpenMetrics has a place for them.
        """
        encode, content_type = choose_encoder(accept)
        is_open = content_type.startswith("application/openmetrics-text")
        return encode(self.registry if is_open else _WithoutCreated(self.registry)), content_type

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.help, metric.labels, registry=self.registry)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(
            metric.name,
            metric.help,
            metric.labels,
            buckets=metric.buckets,
            registry=self.registry,
        )


# --- counted by rule ---


class RuleCounts(Collector):
    """What every rule came to, by profile. One lock, this object's.

    One step counts all rules of a decision: a counter of the library for each would cost more
    than a decision may. The series of a rule are there from when it is installed and go when it
    is no longer in force, so that there are never more than rules.
    """

    FAMILIES: Final = (
        *(RULE_EVALUATIONS, RULE_REJECTIONS, RULE_ERRORS, RULE_CLAMPED),
        SHADOW_DISAGREEMENTS,
    )
    _REMEMBERED: Final = 64

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[str, dict[str, list[int]]] = {}
        self._shadow: dict[str, frozenset[str]] = {}
        self._retired: dict[str, deque[str]] = {}
        self._in_force: dict[str, str] = {}

    def install(
        self, profile: str, ruleset: str, rules: Iterable[str], shadow: Collection[str] = ()
    ) -> None:
        """Count from now on the rules of a rule set, named by its hash, and those no more."""
        with self._lock:
            before = self._in_force.get(profile)
            if before is not None and before != ruleset:
                self._retired.setdefault(profile, deque(maxlen=self._REMEMBERED)).append(before)
            self._in_force[profile] = ruleset
            rows = self._rows.get(profile, {})
            self._rows[profile] = {rule: rows.get(rule) or [0, 0, 0, 0, 0] for rule in rules}
            self._shadow[profile] = frozenset(shadow)

    def count(self, profile: str, ruleset: str, counts: Iterable[RuleCount]) -> None:
        """Add what the rules of a rule set came to in one decision.

        A decision that began under rules which were replaced meanwhile counts for those of them
        that are still there.
        """
        with self._lock:
            rows = self._rows.setdefault(profile, {})
            is_late = ruleset != self._in_force.get(profile) and ruleset in self._retired.get(
                profile, ()
            )
            for rule, evaluated, rejected, errors, clamped, disagreed in counts:
                row = rows.get(rule)
                if row is None:
                    if is_late:
                        continue
                    row = rows[rule] = [0, 0, 0, 0, 0]
                row[0] += evaluated
                row[1] += rejected
                row[2] += errors
                row[3] += clamped
                row[4] += disagreed

    def collect(self) -> Iterator[Family]:
        """Give the values."""
        with self._lock:
            rows = [
                (rule, profile, tuple(row), rule in self._shadow.get(profile, ()))
                for profile, by_rule in self._rows.items()
                for rule, row in by_rule.items()
            ]
        for at, metric in enumerate(self.FAMILIES):
            family = _family(metric)
            for rule, profile, row, is_shadow in rows:
                if metric is not SHADOW_DISAGREEMENTS or is_shadow or row[at]:
                    family.add_metric([rule, profile], row[at])
            yield family


# --- asked for ---

ASKED: Final = (
    *(PENDING_PODS, QUEUE_INCOMING_PODS, UNSCHEDULABLE_PODS, CACHE_SIZE),
    *(IN_FLIGHT_PODS, OLDEST_PENDING, IGNORED_PODS),
    *(RELOAD_LAST_SUCCESS, RELOAD_REFUSED, RULESET_INFO, RULESET_RULES),
    *(BUILD_INFO, LEADER, WATCHES, CLUSTER_EVENTS, POOL_WORK, POOL_WAITING, POOL_BUSY),
)
"""The metrics whose values are asked for at a scrape."""


class _Asked(Collector):
    """Asks sources for values. `sources` is replaced whole, and read without a lock."""

    def __init__(self, failed: Callable[[], None]) -> None:
        self.sources: tuple[Callable[[], Iterable[Sample]], ...] = ()
        self._failed = failed

    def describe(self) -> Iterator[Family]:
        return (_family(metric) for metric in ASKED)

    def collect(self) -> Iterator[Family]:
        families = {metric: _family(metric) for metric in ASKED}
        for source in self.sources:
            for metric, labels, value in self._answers(source):
                families[metric].add_metric(labels, value)
        yield from families.values()

    def _answers(self, source: Callable[[], Iterable[Sample]]) -> Collection[Sample]:
        try:
            return list(source())
        except Exception:  # noqa: BLE001 - what one source lacks must not hide all other metrics
            _LOG.exception("metrics could not be asked for")
            self._failed()
            return ()


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    made = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    return made(metric.name, metric.help, labels=metric.labels)


class _WithoutCreated(Collector):
    """What a registry collects, without the times at which series were created."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Family]:
        for family in self._registry.collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family
