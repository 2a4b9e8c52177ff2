"""Writes into the log what became of a change of the rules.

Each line carries its facts as fields too (`profile`, `hash`, `file`, `line` …), for whoever
writes logs as data.
"""

import logging
from typing import Any, Final

from policyd.language.diagnostics import Severity
from policyd.policy.outcome import Fault, Outcome, Refusal, State

MOST_LINES: Final = 20
"""How many faults, and how many warnings, of one change are written."""

_LOG: Final = logging.getLogger(__name__)


def log_outcome(outcome: Outcome) -> None:
    """Log an outcome: what is refused and why, what is installed, what is repaired."""
    if outcome.refusal is not None:
        _log_refusal(outcome, outcome.refusal)
    if outcome.is_installed:
        _log_installed(outcome)
    elif outcome.is_repaired:
        _LOG.info(
            "the newest rules of %s are again those in force, %s",
            *(outcome.profile, _hash(outcome.state)),
            extra=_fields(outcome),
        )
    elif outcome.refusal is None:
        _LOG.debug("the rules of %s are unchanged", outcome.profile, extra=_fields(outcome))


def _log_refusal(outcome: Outcome, refusal: Refusal) -> None:
    for fault in refusal.faults[:MOST_LINES]:
        _LOG.error("rules refused: %s", fault, extra={**_fields(outcome), **_place(fault)})
    more = len(refusal.faults) - MOST_LINES
    if more > 0:
        _LOG.error("rules refused: there are %d more errors", more, extra=_fields(outcome))
    names = ", ".join(refusal.names) or "no source"
    in_force = outcome.state
    if in_force.ruleset is None:
        message = "no rules are in force for %s: those of %s are refused"
        _LOG.error(message, outcome.profile, names, extra=_fields(outcome))
        return
    message = (
        "rules %s stay in force for %s: newer ones of %s are held back until they are repaired"
    )
    _LOG.error(message, _hash(in_force), outcome.profile, names, extra=_fields(outcome))


def _log_installed(outcome: Outcome) -> None:
    ruleset = outcome.state.ruleset
    if ruleset is None:
        return
    for found in ruleset.findings[:MOST_LINES]:
        if found.severity is Severity.WARNING:
            fault = Fault.of(found)
            _LOG.warning("rules: %s", fault, extra={**_fields(outcome), **_place(fault)})
    _LOG.info(
        "rules installed for %s: %s (rules: %d, files: %d)",
        *(outcome.profile, ruleset.hash, len(ruleset.rules), len(outcome.state.texts)),
        extra=_fields(outcome),
    )


def _hash(state: State) -> str:
    return state.ruleset.hash if state.ruleset is not None else "none"


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        "profile": outcome.profile,
        "ruleset": _hash(outcome.state),
        "generation": outcome.state.generation,
        "seconds": outcome.seconds,
    }


def _place(fault: Fault) -> dict[str, Any]:
    return {
        "source": fault.source,
        "file": fault.file,
        "line": fault.line,
        "column": fault.column,
        "code": fault.code,
    }
