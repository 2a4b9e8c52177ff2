"""Reloads rules from ConfigMaps: offers them to the store, and tells on them what became of it.

They come after the rules of files, so that files can be what ships and ConfigMaps what is added.
What a reload of files promises holds here too, since the store is the same: whole or not at all,
and the last good rules stay in force.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Final

from policyd.kube.configmaps import RuleMap, RuleMapEvents
from policyd.policy.outcome import Fault, Offer, Origin, Outcome, Refusal, Text
from policyd.policy.store import RulesetStore

PROVIDER: Final = "configmaps"
"""The name under which a store awaits the first list of ConfigMaps."""

AFTER_FILES: Final = 10**6
"""The order of a ConfigMap without an order of its own; files count from 0."""

_FAULTS_SHOWN: Final = 5


class ConfigMapReload:
    """Keeps a store at what ConfigMaps say.

    One lock, over which ConfigMaps there are: the reflector's thread writes it, and any thread
    that offers rules to the store reads it.
    """

    def __init__(self, store: RulesetStore, events: RuleMapEvents) -> None:
        self._store = store
        self._events = events
        self._lock = Lock()
        self._maps: dict[str, RuleMap] = {}
        store.listen(self._tell)

    def offered(self, changed: Mapping[str, RuleMap], gone: Mapping[str, RuleMap]) -> None:
        """Take over what a reflector saw, in one step."""
        offers: dict[Origin, Offer | None] = {}
        with self._lock:
            for name in (*gone, *changed):
                before = self._maps.pop(name, None)
                if before is not None:
                    offers[_origin(before)] = None  # its order may be another now
            for rules in changed.values():
                self._maps[rules.name] = rules
                offers[_origin(rules)] = _offer(rules)
        self._store.update(offers, PROVIDER)

    def _tell(self, outcome: Outcome) -> None:
        """Tell on each ConfigMap what became of it; called while the store is being updated."""
        with self._lock:
            maps = dict(self._maps)
        refusal = outcome.refusal
        held = refusal.names if refusal is not None else ()
        if refusal is not None:
            for name in held:
                if name in maps:
                    self._events.refused(maps[name], _refused(outcome, refusal, name))
        for name in outcome.accepted:
            if name in maps and name not in held:
                self._events.accepted(maps[name], _accepted(outcome))


def _origin(rules: RuleMap) -> Origin:
    return Origin(AFTER_FILES + rules.order, rules.name)


def _offer(rules: RuleMap) -> Offer:
    texts = tuple(Text(name, data) for name, data in rules.texts)
    return Offer(texts, tuple(Fault(text, rules.name, rules.name) for text in rules.faults))


def _accepted(outcome: Outcome) -> str:
    ruleset = outcome.state.ruleset
    if ruleset is None:
        return f"no rules are in force for {outcome.profile}"
    rules, files = len(ruleset.rules), len(outcome.state.texts)
    return f"in force for {outcome.profile}: {ruleset.hash}, {rules} rules in {files} texts"


def _refused(outcome: Outcome, refusal: Refusal, name: str) -> str:
    """Say why, with file, line and message, and what is in force instead."""
    faults = refusal.faults_of(name) or refusal.faults
    lines = [_line(fault) for fault in faults[:_FAULTS_SHOWN]]
    if len(faults) > _FAULTS_SHOWN:
        lines.append(f"and {len(faults) - _FAULTS_SHOWN} more errors")
    ruleset = outcome.state.ruleset
    kept = f"{ruleset.hash} stays in force" if ruleset is not None else "no rules are in force"
    return "\n".join([*lines, f"{kept} for {outcome.profile}"])


def _line(fault: Fault) -> str:
    """Give a reason with its notes, which say where a name is defined that is defined twice."""
    notes = fault.diagnostic.notes if fault.diagnostic is not None else ()
    return "; ".join([str(fault), *notes])
