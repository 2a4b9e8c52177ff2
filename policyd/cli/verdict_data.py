"""A decision as data for programs: everything that the table shows, and all values."""

from typing import Any

from policyd.language.errors import EvaluationError
from policyd.language.show import to_json
from policyd.language.source import Source, Span
from policyd.policy.decide import Decision, NodeVerdict, Rejection, RuleVerdict, Scored
from policyd.policy.devices import Choice
from policyd.policy.ruleset import Ruleset


def ruleset_data(ruleset: Ruleset) -> dict[str, Any]:
    """Give what names a rule set: its hash, its rules, its parameters' values."""
    return {
        "hash": ruleset.hash,
        "rules": [
            {"name": rule.name, "place": _place(rule.source, rule.span), "shadow": rule.shadow}
            for rule in ruleset.rules
        ],
        "params": {name: to_json(value) for name, value in ruleset.values.items()},
    }


def choice_data(choice: Choice) -> dict[str, Any]:
    """Give a decision with the devices that the pod takes, and how many nodes lack them."""
    devices = {resource: list(at) for resource, at in choice.taken.items()}
    return {
        **decision_data(choice.decision),
        "devices": devices,
        "withoutDevices": choice.refused,
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    """Give a decision; the nodes are in its order, the best first."""
    pod = decision.pod
    return {
        "pod": {
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
            "workload": pod.workload,
        },
        "fits": decision.fits,
        "node": decision.chosen.name if decision.chosen else None,
        "nodes": [_node_data(verdict) for verdict in decision.nodes],
    }


def _node_data(verdict: NodeVerdict) -> dict[str, Any]:
    return {
        "node": verdict.name,
        "fits": verdict.fits,
        "total": verdict.total,
        "rules": [_rule_data(each) for each in verdict.verdicts],
    }


def _rule_data(verdict: RuleVerdict) -> dict[str, Any]:
    return {
        "rule": verdict.rule.name,
        "shadow": verdict.rule.shadow,
        "applies": verdict.applies,
        "rejects": verdict.rejects,
        "score": verdict.score,
        "rejections": [_rejection_data(each) for each in verdict.rejections],
        "scores": [_score_data(each, verdict.rule.source) for each in verdict.scores],
    }


def _rejection_data(rejection: Rejection) -> dict[str, Any]:
    expression = rejection.expression
    return {
        "reasons": list(rejection.reasons),
        "expression": expression.text,
        "place": _place(expression.source, expression.span),
        "values": [
            {"expression": finding.text, "value": finding.value} for finding in rejection.findings
        ],
        "error": _error_data(rejection.error, expression.source),
    }


def _score_data(scored: Scored, source: Source) -> dict[str, Any]:
    return {
        "raw": to_json(scored.raw),
        "score": scored.score,
        "weighted": scored.weighted,
        "clamped": scored.clamped,
        "error": _error_data(scored.error, source),
    }


def _error_data(error: EvaluationError | None, source: Source) -> dict[str, str] | None:
    if error is None:
        return None
    return {"message": error.message, "place": _place(source, error.span)}


def _place(source: Source, span: Span) -> str:
    line, column = source.position(span.start)
    return f"{source.name}:{line}:{column}"
