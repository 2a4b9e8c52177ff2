"""Watches what the scheduler does and what it holds, and tells the metrics and the log.

What is told at each attempt runs where pods are decided and bound, so it is short, and a failure
of one who watches is logged, counted, and touches nobody else.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Protocol

from policyd.daemon.recent import decision_id
from policyd.daemon.threads import PoolCounts
from policyd.metrics import (
    BUILD_INFO,
    CACHE_SIZE,
    IGNORED_PODS,
    IN_FLIGHT_PODS,
    LEADER,
    OLDEST_PENDING,
    PENDING_PODS,
    POOL_BUSY,
    POOL_WAITING,
    POOL_WORK,
    QUEUE_INCOMING_PODS,
    RELOAD_LAST_SUCCESS,
    RELOAD_REFUSED,
    RULESET_INFO,
    RULESET_RULES,
    UNSCHEDULABLE_PODS,
    Metrics,
    Sample,
    attempts_label,
)
from policyd.policy.decide import Decision, RuleTally, decide
from policyd.policy.outcome import Outcome, State
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Attempt, Observer
from policyd.scheduler.protocols import Clock
from policyd.scheduler.queue import GATED, IN_FLIGHT, SchedulingQueue

_LOG: Final = logging.getLogger(__name__)
_LOOKED_AT: Final = 20
"""On how many nodes the error of a rule is looked for, to say it in the log."""

_LONGEST: Final = 2000
"""How much of a message is logged, in characters: reasons may be as many as nodes."""


class LiveRules(Protocol):
    """The rules of one profile, as `policyd.policy.store.RulesetStore` has them."""

    @property
    def name(self) -> str:
        """Give the profile's name."""
        ...

    @property
    def state(self) -> State:
        """Give what is in force at this moment."""
        ...

    def listen(self, listener: Callable[[Outcome], None]) -> None:
        """Have every change told from now on."""
        ...


def observer(metrics: Metrics, *, log: bool = True, **others: Observer | None) -> Observer:
    """Give the scheduler's observer: it counts, logs, and tells others, named for the metric.

    Others that are nothing are left out, such as a tracer where no traces are wanted.
    """
    watchers: dict[str, Observer] = {"counts": AttemptMetrics(metrics)}
    if log:
        watchers["log"] = AttemptLog()
    watchers |= {name: other for name, other in others.items() if other is not None}
    return _Watchers(metrics, watchers)


class _Watchers:
    """Tells several observers of an attempt, each for itself."""

    def __init__(self, metrics: Metrics, watchers: Mapping[str, Observer]) -> None:
        self._metrics = metrics
        self._watchers = tuple(watchers.items())

    def attempted(self, attempt: Attempt) -> None:
        """Tell all of them."""
        for name, watcher in self._watchers:
            try:
                watcher.attempted(attempt)
            except Exception:  # noqa: BLE001 - one who watches must not stop others, nor the loop
                self._metrics.observer_errors(name).inc()
                _LOG.exception("an attempt could not be noted: %s", name, extra={"repeats": name})


# --- attempts, as numbers ---


class AttemptMetrics:
    """Counts attempts, how long they took, and what their rules came to."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def attempted(self, attempt: Attempt) -> None:
        """Count an attempt."""
        metrics, result, profile = self._metrics, attempt.result, attempt.profile
        whole = attempt.seconds + attempt.bind_wait_seconds + attempt.bind_seconds
        metrics.attempts(result, profile).inc()
        metrics.attempt_seconds(result, profile).observe(whole)
        if attempt.cause != "rules":  # without rules nothing was decided
            metrics.algorithm_seconds.observe(attempt.seconds)
            metrics.decision_seconds(profile).observe(attempt.seconds)
        if result == "scheduled":
            self._count_bound(attempt)
        elif attempt.cause == "bind":
            self._count_bind(attempt, "failed")
        elif attempt.cause == "deadline":
            metrics.deadlines_exceeded(profile).inc()
        elif attempt.cause == "stale":
            metrics.stale_decisions(profile).inc()
        if attempt.decision is not None:
            self._count_rules(attempt.decision, profile)

    def _count_bound(self, attempt: Attempt) -> None:
        metrics = self._metrics
        self._count_bind(attempt, "bound")
        metrics.pod_attempts.observe(attempt.attempts)
        metrics.pod_sli_seconds(attempts_label(attempt.attempts)).observe(attempt.waited)
        if attempt.flushed:
            metrics.scheduled_after_flush.inc()

    def _count_bind(self, attempt: Attempt, result: str) -> None:
        self._metrics.bind_seconds(result).observe(attempt.bind_seconds)
        self._metrics.bind_wait_seconds.observe(attempt.bind_wait_seconds)

    def _count_rules(self, decision: Decision, profile: str) -> None:
        self._metrics.rules.count(
            profile,
            decision.ruleset.hash,
            [
                (t.rule.name, t.nodes, t.rejected, t.errors, t.clamped, t.disagrees)
                for t in decision.tallies
            ],
        )


# --- attempts, as messages ---


class AttemptLog:
    """Logs what became of each attempt, and rules that could not be evaluated."""

    def attempted(self, attempt: Attempt) -> None:
        """Log an attempt."""
        pod, fields = f"{attempt.pod.namespace}/{attempt.pod.name}", _fields(attempt)
        if attempt.result == "scheduled":
            _LOG.info("pod %s is bound to %s", pod, attempt.node, extra=fields)
            for failure in attempt.failures:
                _LOG.info("binding pod %s took more than one call: %s", pod, failure, extra=fields)
        elif attempt.result == "unschedulable":
            _LOG.info("pod %s fits nowhere: %s", pod, _short(attempt.message), extra=fields)
        else:
            # One cause may concern every pod there is: it is told once, and counted.
            fields["repeats"] = (attempt.cause, attempt.message)
            message = _short(attempt.message)
            _LOG.warning("the attempt for pod %s failed: %s", pod, message, extra=fields)
        if attempt.decision is not None:
            self._log_errors(attempt.decision, fields)

    def _log_errors(self, decision: Decision, fields: Mapping[str, Any]) -> None:
        """Log which rules went wrong; all decisions may have the same to tell."""
        for tally in decision.tallies:
            if tally.errors:
                rule = tally.rule
                repeats = (decision.ruleset.hash, rule.name, fields["profile"])
                _LOG.warning(
                    "rule %s could not be evaluated on %d of %d nodes: %s",
                    *(rule.name, tally.errors, tally.nodes, _FirstError(decision, tally)),
                    extra={**fields, "rule": rule.name, "repeats": repeats},
                )


class _FirstError:
    """The error of a rule, found when the message is really written, which is seldom."""

    def __init__(self, decision: Decision, tally: RuleTally) -> None:
        self._decision = decision
        self._tally = tally

    def __str__(self) -> str:
        """Give an error and its place, if the first nodes have one."""
        decision, rule = self._decision, self._tally.rule
        asked = decision.snapshot.nodes if decision.only is None else decision.only
        chosen = () if decision.node is None else (decision.node,)
        line, _ = rule.source.position(rule.span.start)
        place = f"{rule.source.name}:{line}"
        for node in (*chosen, *islice(asked, _LOOKED_AT)):
            for verdict in decide(decision.ruleset, decision.pod, decision.snapshot, [node]).nodes:
                for judged in verdict.verdicts:
                    if judged.rule is rule and judged.errors:
                        return f"{judged.errors[0].message} ({place}, on node {node.name})"
        return f"the record of the decision says why ({place})"


def _fields(attempt: Attempt) -> dict[str, Any]:
    """Give what every message about an attempt has as fields, as far as it is there."""
    known = {
        "pod": f"{attempt.pod.namespace}/{attempt.pod.name}",
        "uid": attempt.pod.uid,
        "node": attempt.node,
        "profile": attempt.profile,
        "ruleset": attempt.ruleset.hash if attempt.ruleset is not None else None,
        "decision": decision_id(attempt),
        "result": attempt.result,
        "cause": attempt.cause or None,
        "attempt": attempt.attempts,
        "seconds": round(attempt.seconds, 6),
    }
    return {name: value for name, value in known.items() if value is not None}


def _short(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"


# --- what is asked at a scrape ---


def watch_queue(metrics: Metrics, queue: SchedulingQueue, clock: Clock) -> None:
    """Have the queue asked what it holds, whenever somebody scrapes."""
    metrics.ask(lambda: _of_queue(queue, clock.monotonic()))


def _of_queue(queue: SchedulingQueue, now: float) -> Iterator[Sample]:
    for place, count in queue.counts().items():
        if place == IN_FLIGHT:
            yield IN_FLIGHT_PODS, (), count
        else:
            yield PENDING_PODS, (place,), count
    for labels, count in queue.incoming().items():
        yield QUEUE_INCOMING_PODS, labels, count
    yield IGNORED_PODS, (), sum(queue.ignored().values())
    pending = queue.pending()
    alike = Counter((queued.rejected_by, queued.profile) for queued in pending)
    by_rule: Counter[tuple[str, str]] = Counter()
    for (rules, profile), count in alike.items():
        for rule in rules:
            by_rule[rule, profile] += count
    for labels, count in by_rule.items():
        yield UNSCHEDULABLE_PODS, labels, count
    oldest = min((queued.added for queued in pending if queued.place != GATED), default=now)
    yield OLDEST_PENDING, (), max(0.0, now - oldest)


def watch_cache(metrics: Metrics, cache: Cache) -> None:
    """Have the cache asked what it holds, whenever somebody scrapes."""
    metrics.ask(lambda: [(CACHE_SIZE, (kind,), size) for kind, size in cache.sizes().items()])


def watch_pool(metrics: Metrics, counts: Callable[[], PoolCounts]) -> None:
    """Have the pool's threads asked what they did, whenever somebody scrapes."""

    def samples() -> Iterator[Sample]:
        now = counts()
        for result, count in (("done", now.done), ("failed", now.failed), ("dropped", now.dropped)):
            yield POOL_WORK, (result,), count
        yield POOL_WAITING, (), now.waiting
        yield POOL_BUSY, (), now.busy

    metrics.ask(samples)


def watch_leader(metrics: Metrics, is_standby: Callable[[], bool]) -> None:
    """Have it asked whether this process decides, whenever somebody scrapes."""
    metrics.ask(lambda: [(LEADER, (), int(not is_standby()))])


def tell_build(metrics: Metrics, version: str, grammar: str) -> None:
    """Tell which policyd this is."""
    metrics.ask(lambda: [(BUILD_INFO, (version, grammar), 1)])


# --- the rules in force ---


def watch_rules(metrics: Metrics, profiles: Iterable[LiveRules]) -> None:
    """Count the reloads of profiles, and tell what is in force whenever somebody scrapes.

    The series by rule follow what is in force: those of a rule that is gone go too.
    """
    known = tuple(profiles)
    for profile in known:
        for result in ("installed", "refused", "unchanged"):
            metrics.reloads(profile.name, result)
        metrics.deadlines_exceeded(profile.name)
        metrics.stale_decisions(profile.name)
        profile.listen(lambda outcome: _reloaded(metrics, outcome))
        if profile.state.ruleset is not None:
            install(metrics, profile.name, profile.state.ruleset)
    metrics.ask(lambda: (sample for each in known for sample in _of_rules(each)))


def _reloaded(metrics: Metrics, outcome: Outcome) -> None:
    for result in outcome.results:
        metrics.reloads(outcome.profile, result.value).inc()
    metrics.reload_seconds(outcome.profile).observe(outcome.seconds)
    if outcome.is_installed and outcome.state.ruleset is not None:
        install(metrics, outcome.profile, outcome.state.ruleset)


def install(metrics: Metrics, profile: str, ruleset: Ruleset) -> None:
    """Count the rules of a rule set from now on, and those of the one before no more."""
    shadow = [rule.name for rule in ruleset.rules if rule.shadow]
    metrics.rules.install(profile, ruleset.hash, [rule.name for rule in ruleset.rules], shadow)


def _of_rules(profile: LiveRules) -> Iterator[Sample]:
    state, name = profile.state, profile.name
    yield RELOAD_REFUSED, (name,), int(state.refusal is not None)
    if state.ruleset is None:
        return
    rules = state.ruleset.rules
    in_shadow = sum(rule.shadow for rule in rules)
    yield RULESET_INFO, (name, state.ruleset.hash), 1
    yield RULESET_RULES, (name, "on"), len(rules) - in_shadow
    yield RULESET_RULES, (name, "shadow"), in_shadow
    if state.installed_at is not None:
        yield RELOAD_LAST_SUCCESS, (name,), state.installed_at.nanos / 1e9
