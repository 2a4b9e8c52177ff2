"""What /debug/rules tells: the text in force, the text refused, and why, of every profile."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from policyd.language.render import render
from policyd.policy.outcome import Fault, Refusal, Sources, State


class LiveRules(Protocol):
    """The rules of one profile, as `policyd.policy.store.RulesetStore` has them."""

    @property
    def name(self) -> str:
        """Give the profile's name."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Give the values that are set for parameters."""
        ...

    @property
    def state(self) -> State:
        """Give what is in force and what is refused at this moment."""
        ...


def rules_page(profiles: Iterable[LiveRules]) -> dict[str, Any]:
    """Give what is in force and what is refused, as data."""
    return {"profiles": [_profile(profile) for profile in profiles]}


def _profile(profile: LiveRules) -> dict[str, Any]:
    state = profile.state
    return {
        "profile": profile.name,
        "settings": dict(profile.settings),
        "inForce": _in_force(state),
        "refused": None if state.refusal is None else _refused(state.refusal),
    }


def _in_force(state: State) -> dict[str, Any] | None:
    if state.ruleset is None:
        return None
    return {
        "hash": state.ruleset.hash,
        "generation": state.generation,
        "since": None if state.installed_at is None else str(state.installed_at),
        "rules": [
            {"name": rule.name, "shadow": rule.shadow, "file": rule.source.name}
            for rule in state.ruleset.rules
        ],
        "sources": _sources(state.sources),
    }


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {
        "since": str(refusal.at),
        "sources": _sources(refusal.held),
        "faults": [_fault(fault) for fault in refusal.faults],
    }


def _sources(sources: Sources) -> list[dict[str, Any]]:
    return [
        {
            "name": origin.name,
            "texts": [{"name": text.name, "text": text.shown} for text in offer.texts],
        }
        for origin, offer in sources
    ]


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "message": fault.message,
        "source": fault.source,
        "file": fault.file,
        "line": fault.line,
        "column": fault.column,
        "code": fault.code,
        "helps": list(fault.helps),
        "shown": str(fault) if fault.diagnostic is None else render(fault.diagnostic),
    }
