"""Makes the record of a decision. Whoever asks pays for it: nothing here runs while deciding."""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final

from policyd.language.errors import EvaluationError
from policyd.language.show import to_json
from policyd.language.source import Source, Span
from policyd.model.devices import Taken
from policyd.model.pod import Pod
from policyd.policy.decide import Decision, NodeVerdict, Rejection, RuleVerdict, Scored
from policyd.policy.missing import Asker, Need, distance
from policyd.policy.record import (
    COMPARED,
    DecisionData,
    ErrorData,
    Group,
    NeedData,
    NodeData,
    PodData,
    RejectionData,
    RuleName,
    RulesetData,
    ScoreData,
    ShadowData,
    ValueData,
    VerdictData,
)
from policyd.policy.ruleset import Ruleset
from policyd.policy.shadow import Shadow, has_shadows, shadows

MAX_GROUPS: Final = 24
"""How many groups of nodes a record has at most."""

KEPT_NODES: Final = 5
"""How many feasible nodes a record has in full: the chosen one and the next best."""

SMALL: Final = 12
"""Up to how many nodes a record has all of them in full."""

GROUP_NAMES: Final = 8
"""How many nodes of a group are named."""


def ruleset_data(ruleset: Ruleset) -> RulesetData:
    """Give what names a rule set."""
    return RulesetData(
        hash=ruleset.hash,
        rules=tuple(
            RuleName(name=rule.name, place=_place(rule.source, rule.span), shadow=rule.shadow)
            for rule in ruleset.rules
        ),
        params={name: to_json(value) for name, value in ruleset.values.items()},
    )


def pod_data(pod: Pod) -> PodData:
    """Give what names a pod."""
    return PodData(namespace=pod.namespace, name=pod.name, uid=pod.uid, workload=pod.workload)


def decision_data(
    decision: Decision,
    *,
    taken: Taken | None = None,
    refused: int = 0,
    full: bool = False,
    wanted: Iterable[str] = (),
) -> DecisionData:
    """Give a decision as data.

    `taken` are the devices that the pod takes, and `refused` the number of nodes that were left
    out for their devices. `full` has every node in full; else only some are, and those that are
    `wanted` by name besides.
    """
    nodes = decision.nodes
    askers = _Askers()
    groups, ungrouped = _groups(nodes, askers)
    kept = {group.example for group in groups}.union(wanted)
    every = full or len(nodes) <= SMALL
    return DecisionData(
        pod=pod_data(decision.pod),
        fits=decision.fits,
        node=decision.node.name if decision.node else None,
        considered=len(nodes),
        feasible=sum(verdict.fits for verdict in nodes),
        without_devices=refused,
        devices={resource: tuple(at) for resource, at in (taken or {}).items()},
        reasons=dict(decision.reasons),
        shadow=shadow_data(decision),
        nodes=tuple(
            _node_data(verdict, askers)
            for at, verdict in enumerate(nodes)
            if every or (verdict.fits and at < KEPT_NODES) or verdict.name in kept
        ),
        groups=groups,
        ungrouped=ungrouped,
    )


def shadow_data(decision: Decision) -> tuple[ShadowData, ...]:
    """Give what the blocks in shadow mode would have changed."""
    if not has_shadows(decision.ruleset):
        return ()
    return tuple(_shadow(each) for each in shadows(decision))


def _shadow(shadow: Shadow) -> ShadowData:
    return ShadowData(
        block=shadow.word,
        name=shadow.name,
        place=_place(shadow.source, shadow.span),
        rejected=shadow.rejected,
        errors=shadow.errors,
        disagrees=shadow.disagrees,
        node=shadow.node,
        devices={resource: tuple(at) for resource, at in shadow.devices.items()},
    )


# --- what is missing ---


class _Askers:
    """Finds what is missing, with the conditions planned once for all nodes."""

    def __init__(self) -> None:
        self._known: dict[int, Asker] = {}

    def needs(self, rejection: Rejection) -> tuple[Need, ...]:
        """Give what a rejection's condition lacks; nothing where the rule has to be mended."""
        if rejection.error is not None:
            return ()
        asker = self._known.get(id(rejection.expression))
        if asker is None:
            asker = self._known[id(rejection.expression)] = Asker(rejection.expression)
        return asker.needs(rejection.values)

    def distance(self, node: NodeVerdict) -> tuple[int, float]:
        """Say how far a node is from being feasible: how many changes it takes, and the largest.

        What several requirements need alike is one change; a rule to be mended is one too.
        """
        needs: set[Need] = set()
        faulty = 0
        for rejection in _rejections(node):
            found = self.needs(rejection)
            needs.update(found)
            faulty += not found
        return len(needs) + faulty, distance(needs)


def _rejections(node: NodeVerdict) -> Iterator[Rejection]:
    """Give the rejections that count."""
    return (each for verdict in node.verdicts if verdict.rejects for each in verdict.rejections)


# --- groups ---

_Likeness = tuple[Any, ...]


def _groups(nodes: Sequence[NodeVerdict], askers: _Askers) -> tuple[tuple[Group, ...], int]:
    """Put nodes together that agree; give the groups kept, and how many nodes are in none.

    Where reasons carry values there may be as many as nodes: then those agree on which the same
    requirements are not met.
    """
    alike = _alike(nodes, with_reasons=True)
    if len(alike) > MAX_GROUPS:
        alike = _alike(nodes, with_reasons=False)
    kept = sorted(alike, key=len, reverse=True)[:MAX_GROUPS]
    groups = [_group(each, askers) for each in kept]
    groups.sort(key=lambda found: (not found[0].fits, found[1], -found[0].count))
    ungrouped = len(nodes) - sum(map(len, kept))
    return tuple(group for group, _ in groups), ungrouped


def _alike(nodes: Sequence[NodeVerdict], *, with_reasons: bool) -> list[list[NodeVerdict]]:
    found: dict[_Likeness, list[NodeVerdict]] = {}
    for node in nodes:
        key = tuple(_likeness(each, with_reasons=with_reasons) for each in node.verdicts)
        found.setdefault((node.fits, *key), []).append(node)
    return list(found.values())


def _likeness(verdict: RuleVerdict, *, with_reasons: bool) -> _Likeness:
    """Give what must be equal of two verdicts of a rule for their nodes to be in one group."""
    if not verdict.rejections:
        return (verdict.applies, *(error.message for error in verdict.errors))
    reasons = verdict.reasons if with_reasons else ()
    return (True, tuple(id(each.expression) for each in verdict.rejections), reasons)


def _unmet(node: NodeVerdict) -> int:
    return sum(1 for _ in _rejections(node))


def _group(nodes: Sequence[NodeVerdict], askers: _Askers) -> tuple[Group, tuple[int, float]]:
    """Make a group, and say how far the nearest of its nodes is from being feasible."""
    first = nodes[0]
    if first.fits:
        ordered, nearest = list(nodes), (0, 0.0)
    else:
        away = [(askers.distance(node), node) for node in nodes[:COMPARED]]
        away.sort(key=itemgetter(0))  # stable: of equal ones the first by name
        ordered, nearest = [node for _, node in away], away[0][0]
    rejecting = [verdict for verdict in first.verdicts if verdict.rejects]
    totals = [node.total for node in nodes if node.total is not None]
    group = Group(
        count=len(nodes),
        names=tuple(node.name for node in ordered[:GROUP_NAMES]),
        example=ordered[0].name,
        fits=first.fits,
        unmet=sum(len(verdict.rejections) for verdict in rejecting),
        changes=nearest[0],
        rules=tuple(verdict.rule.name for verdict in rejecting),
        reasons=tuple(dict.fromkeys(r for verdict in rejecting for r in verdict.reasons)),
        lowest=min(totals, default=None),
        highest=max(totals, default=None),
    )
    return group, nearest


# --- a node in full ---


def _node_data(node: NodeVerdict, askers: _Askers) -> NodeData:
    return NodeData(
        node=node.name,
        fits=node.fits,
        total=node.total,
        rules=tuple(_verdict_data(each, askers) for each in node.verdicts),
    )


def _verdict_data(verdict: RuleVerdict, askers: _Askers) -> VerdictData:
    return VerdictData(
        rule=verdict.rule.name,
        shadow=verdict.rule.shadow,
        applies=verdict.applies,
        rejects=verdict.rejects,
        score=verdict.score,
        rejections=tuple(_rejection_data(each, askers) for each in verdict.rejections),
        scores=tuple(_score_data(each, verdict.rule.source) for each in verdict.scores),
    )


def _rejection_data(rejection: Rejection, askers: _Askers) -> RejectionData:
    expression = rejection.expression
    return RejectionData(
        reasons=rejection.reasons,
        expression=expression.text,
        place=_place(expression.source, expression.span),
        values=tuple(
            ValueData(expression=finding.text, value=finding.value)
            for finding in rejection.findings
        ),
        needs=tuple(_need_data(each) for each in askers.needs(rejection)),
        error=_error_data(rejection.error, expression.source),
    )


def _need_data(need: Need) -> NeedData:
    return NeedData(
        expression=need.text,
        value=need.value,
        relation=need.relation,
        bound=need.bound,
        missing=need.missing,
    )


def _score_data(scored: Scored, source: Source) -> ScoreData:
    return ScoreData(
        raw=to_json(scored.raw),
        score=scored.score,
        weighted=scored.weighted,
        clamped=scored.clamped,
        error=_error_data(scored.error, source),
    )


def _error_data(error: EvaluationError | None, source: Source) -> ErrorData | None:
    if error is None:
        return None
    return ErrorData(message=error.message, place=_place(source, error.span))


def _place(source: Source, span: Span) -> str:
    line, column = source.position(span.start)
    return f"{source.name}:{line}:{column}"
