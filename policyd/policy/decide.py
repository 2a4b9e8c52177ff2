"""Applies a rule set to a pod and a snapshot: which nodes fit, how they score, and why not.

This is the meaning of the blocks, node by node, by the reference interpreter; anything faster
must agree with it. A rule that goes wrong hurts only itself: in `when` and `require` an error
makes the node infeasible with the error as the reason, in `prefer` it counts for nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Final

from policyd.language.errors import EvaluationError
from policyd.language.show import show
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.policy.explain import Finding, explain
from policyd.policy.order import tie_break
from policyd.policy.ruleset import Expression, Requirement, Rule, Ruleset, Score
from policyd.values.quantity import Quantity

MAX_SCORE: Final = 100.0
"""The top of the field's scale (framework.MaxNodeScore)."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One `require` that is not met, or that cannot be evaluated.

    `reasons` are its texts; `error` says that it is an error of the rule and not its verdict.
    `values` are what the condition was evaluated with. `resolvable` says whether evicting pods
    could help, `general` that it is the same on every node.
    """

    reasons: tuple[str, ...]
    expression: Expression
    values: Mapping[str, Any] = field(repr=False)
    error: EvaluationError | None = None
    resolvable: bool = True
    general: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Give the parts of the condition that decided, with their values; found when asked."""
        condition = self.expression
        return tuple(explain(condition.checked, condition.program, self.values))


@dataclass(frozen=True, slots=True)
class Scored:
    """What one `prefer` or `avoid` gives a node.

    `raw` is its own value, `score` what became of it on the scale 0 to 100, `weighted` what is
    added to the node's total. `clamped` says that the value was outside the scale. A value of
    null is no score: it adds nothing, and the others are rescaled without it.
    """

    raw: Any
    score: float
    weighted: float
    clamped: bool = False
    error: EvaluationError | None = None


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What one rule says of the pod on one node."""

    rule: Rule
    applies: bool
    rejections: tuple[Rejection, ...] = ()
    scores: tuple[Scored, ...] = ()

    @property
    def rejects(self) -> bool:
        """Say whether the rule keeps the pod from the node. A shadow rule never does."""
        return bool(self.rejections) and not self.rule.shadow

    @property
    def score(self) -> float | None:
        """Give what the rule adds to the node's total; nothing where it scores nothing."""
        scored = [s.weighted for s in self.scores if s.raw is not None or s.error is not None]
        return sum(scored) if self.applies and scored else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Give the reasons of its rejections."""
        return tuple(reason for r in self.rejections for reason in r.reasons)

    @property
    def errors(self) -> tuple[EvaluationError, ...]:
        """Give the errors that the rule ran into."""
        errors = [r.error for r in self.rejections] + [s.error for s in self.scores]
        return tuple(error for error in errors if error is not None)


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What all rules say of the pod on one node."""

    node: Node
    fits: bool
    total: float | None
    verdicts: tuple[RuleVerdict, ...]

    @property
    def name(self) -> str:
        """Give the node's name."""
        return self.node.name

    @property
    def rejection(self) -> tuple[Rule, Rejection] | None:
        """Give what rejects the node first, as kube-scheduler reports it.

        What is the same on every node comes first, as it does in a pre-filter, else the rules
        count in their order and in each its clauses.
        """
        found = [(v.rule, each) for v in self.verdicts if v.rejects for each in v.rejections]
        return min(found, key=lambda pair: not pair[1].general, default=None)


@dataclass(frozen=True, slots=True)
class RuleTally:
    """What one rule came to in a decision, in numbers.

    `nodes` is on how many nodes it was asked, `rejected` how many it rejects (a shadow rule:
    would reject), `errors` on how many it could not be evaluated, `clamped` how many of its
    scores were outside the scale. `disagrees` says of a shadow rule that another node, or none,
    would have been taken had it been in force.
    """

    rule: Rule
    nodes: int
    rejected: int
    errors: int
    clamped: int
    disagrees: bool = False


@dataclass(frozen=True)
class Decision:
    """The verdicts on all nodes: those that fit first, the best first; then the others by name.

    `snapshot` is what was decided on, and `only` the nodes of it where not all were looked at:
    from both the same decision can be made again.
    """

    pod: Pod
    ruleset: Ruleset
    nodes: tuple[NodeVerdict, ...]
    snapshot: Snapshot = field(repr=False)
    only: tuple[Node, ...] | None = field(default=None, repr=False)

    @property
    def considered(self) -> int:
        """Give the number of nodes that were looked at."""
        return len(self.nodes)

    @property
    def fits(self) -> bool:
        """Say whether the pod fits somewhere."""
        return self.node is not None

    @cached_property
    def node(self) -> Node | None:
        """Give the node that would be taken."""
        return self.nodes[0].node if self.nodes and self.nodes[0].fits else None

    @property
    def chosen(self) -> NodeVerdict | None:
        """Give the verdict on the node that would be taken."""
        return self.nodes[0] if self.nodes and self.nodes[0].fits else None

    @cached_property
    def reasons(self) -> Mapping[str, int]:
        """Give the reasons why nodes were rejected, each with the number of its nodes."""
        return Counter(
            reason
            for node in self.nodes
            for reason in {
                reason for verdict in node.verdicts if verdict.rejects for reason in verdict.reasons
            }
        )

    @property
    def rejecting(self) -> frozenset[str]:
        """Give the names of the rules that keep the pod from some node."""
        return frozenset(
            verdict.rule.name for node in self.nodes for verdict in node.verdicts if verdict.rejects
        )

    @cached_property
    def tallies(self) -> tuple[RuleTally, ...]:
        """Sum up what each rule came to."""
        return tuple(self._tally(at, rule) for at, rule in enumerate(self.ruleset.rules))

    def _tally(self, at: int, rule: Rule) -> RuleTally:
        verdicts = [node.verdicts[at] for node in self.nodes]
        return RuleTally(
            rule,
            nodes=len(verdicts),
            rejected=sum(1 for v in verdicts if v.rejections),
            errors=sum(1 for v in verdicts if v.errors),
            clamped=sum(s.clamped for v in verdicts for s in v.scores),
            disagrees=rule.shadow and self._disagrees(at),
        )

    def _disagrees(self, at: int) -> bool:
        """Say whether a shadow rule would have led to another node, or to none.

        The nodes are in the order in which they would be taken, so that a later one needs a
        higher total.
        """
        feasible = [n for n in self.nodes if n.fits and not n.verdicts[at].rejections]
        if self.chosen is None:
            return False
        if not feasible:
            return True
        best = max(feasible, key=lambda n: (n.total or 0.0) + (n.verdicts[at].score or 0.0))
        return best is not self.chosen


def decide(
    ruleset: Ruleset,
    pod: Pod,
    snapshot: Snapshot,
    nodes: Sequence[Node] | None = None,
    *,
    tick: Callable[[], None] = lambda: None,
) -> Decision:
    """Apply a rule set to a pod on the nodes of a snapshot, or on some of them.

    `tick` is called for each rule on each node; what it raises ends the decision.
    """
    only = None if nodes is None else tuple(nodes)
    considered = tuple(snapshot.nodes) if only is None else only
    fixed = bindings(ruleset, pod, snapshot)
    judges = [RuleForPod(rule, fixed) for rule in ruleset.rules]
    tables = [_judge(judge, considered, tick) for judge in judges]
    verdicts = [
        _node_verdict(node, tuple(table[at] for table in tables))
        for at, node in enumerate(considered)
    ]
    _rescale(judges, [verdict for verdict in verdicts if verdict.fits], fixed)
    return Decision(pod, ruleset, tuple(_ordered(ruleset, fixed, verdicts)), snapshot, only)


def bindings(ruleset: Ruleset, pod: Pod, snapshot: Snapshot) -> dict[str, Any]:
    """Give the value of every name but `node` for one decision."""
    return {
        **ruleset.values,
        "pod": pod,
        "namespace": snapshot.namespace(pod.namespace),
        "cluster": snapshot.surveyed,
        "now": snapshot.now,
        "params": dict(ruleset.values),
    }


# --- filtering, and the raw scores ---


@dataclass(slots=True)
class _Draft:
    """A rule's verdict on a node while there are no scores yet; `failed` is an error of `when`."""

    rule: Rule
    applies: bool
    rejections: tuple[Rejection, ...] = ()
    failed: EvaluationError | None = None
    scores: list[Scored] = field(default_factory=list)


@dataclass(slots=True)
class _NodeDraft:
    node: Node
    drafts: tuple[_Draft, ...]
    fits: bool


def _judge(judge: "RuleForPod", nodes: Sequence[Node], tick: Callable[[], None]) -> list[_Draft]:
    """Apply one rule to every node, but for its scores."""
    drafts: list[_Draft] = []
    for node in nodes:
        tick()
        drafts.append(judge.node(node))
    return drafts


class RuleForPod:
    """A rule as it is for one pod: what does not read the node is evaluated once."""

    def __init__(self, rule: Rule, fixed: Mapping[str, Any]) -> None:
        self.rule = rule
        self.fixed = fixed
        self.when = self._over(rule.when)
        self.conditions = [self._over(r.condition) for r in rule.requirements]
        self.reasons = [self._over(r.because) for r in rule.requirements]

    def _over(self, expression: Expression | None) -> Callable[[Any], Any] | None:
        return None if expression is None else expression.program.over(self.fixed, "node")

    def node(self, node: Node) -> _Draft:
        """Give the verdict on a node, without the scores, which depend on where the pod fits."""
        rule = self.rule
        if self.when is not None and rule.when is not None:
            try:
                if not _truth(self.when(node), rule.when):
                    return _Draft(rule, applies=False)
            except EvaluationError as error:
                return self._failed_when(rule.when, error, node)
        rejections = tuple(
            rejection
            for at, requirement in enumerate(rule.requirements)
            if (rejection := self._reject(at, requirement, node)) is not None
        )
        return _Draft(rule, applies=True, rejections=rejections)

    def _failed_when(self, when: Expression, error: EvaluationError, node: Node) -> _Draft:
        """Let a rule whose `when` fails reject the node if it could have rejected it."""
        if not self.rule.requirements:
            return _Draft(self.rule, applies=True, failed=error)
        rejection = Rejection((_reason_of(error),), when, self._values(node), error)
        return _Draft(self.rule, applies=True, rejections=(rejection,), failed=error)

    def _reject(self, at: int, requirement: Requirement, node: Node) -> Rejection | None:
        """Give the rejection of a `require` that is not met."""
        condition, evaluate = requirement.condition, self.conditions[at]
        if evaluate is None:
            return None
        try:
            if _truth(evaluate(node), condition):
                return None
        except EvaluationError as error:
            return Rejection((_reason_of(error),), condition, self._values(node), error)
        return Rejection(
            self.reason_texts(at, condition, node),
            condition,
            self._values(node),
            resolvable=requirement.resolvable,
            general=requirement.general,
        )

    def reason_texts(self, at: int, condition: Expression, node: Node) -> tuple[str, ...]:
        """Give the texts of `because`; without them, the condition itself."""
        because = self.reasons[at]
        if because is None:
            return (f"not: {condition.text}",)
        try:
            value = because(node)
        except EvaluationError as error:
            return (f"not: {condition.text} (its reason fails: {error.message})",)
        return reason_texts(value, condition)

    def _values(self, node: Node) -> Mapping[str, Any]:
        return {**self.fixed, "node": node}


def reason_texts(value: Any, condition: Expression) -> tuple[str, ...]:
    """Give the texts of what `because` gives, which may be a list of them."""
    texts = value if isinstance(value, list) else [value]
    return tuple(t if isinstance(t, str) else show(t) for t in texts) or (f"not: {condition.text}",)


def _reason_of(error: EvaluationError) -> str:
    return f"the rule cannot be evaluated: {error.message}"


def _truth(value: Any, expression: Expression) -> bool:
    if value is True or value is False:
        return bool(value)
    raise EvaluationError(f"the condition is {show(value)}, not true or false", expression.span)


def _raw(evaluate: Callable[[Any], Any] | None, node: Any, expression: Expression) -> Any:
    """Give a score's own value, or the error that it ends in."""
    if evaluate is None:
        return 0.0
    try:
        value = evaluate(node)
    except EvaluationError as error:
        return error
    if value is None:
        return None
    if isinstance(value, bool):
        return MAX_SCORE if value else 0.0
    if isinstance(value, Quantity):
        return value.as_float()
    if isinstance(value, int | float):
        return value
    return EvaluationError(f"the score is {show(value)}, not a number", expression.span)


def _node_verdict(node: Node, drafts: tuple[_Draft, ...]) -> _NodeDraft:
    fits = not any(draft.rejections and not draft.rule.shadow for draft in drafts)
    return _NodeDraft(node, drafts, fits)


# --- scores on the scale ---


def _rescale(
    judges: Sequence[RuleForPod], feasible: Sequence[_NodeDraft], fixed: Mapping[str, Any]
) -> None:
    """Score the feasible nodes: over all of them for each `prefer` by itself."""
    bound = {**fixed, "feasible": [node.node for node in feasible]}
    for at, judge in enumerate(judges):
        for score in judge.rule.scores:
            evaluate = score.value.program.over(bound, "node")
            drafts = [(n.node, n.drafts[at]) for n in feasible if n.drafts[at].applies]
            raw = [draft.failed or _raw(evaluate, node, score.value) for node, draft in drafts]
            for (_, draft), scored in zip(drafts, _scores(score, raw, bound), strict=True):
                draft.scores.append(scored)


def _scores(score: Score, raw: Sequence[Any], fixed: Mapping[str, Any]) -> Iterable[Scored]:
    """Rescale, cut off and weigh the raw values of one `prefer` on the feasible nodes."""
    numbers = [value for value in raw if _is_number(value)]
    weight, fault = weight_of(score, fixed)
    rescale = rescaling(score, numbers, fixed)
    for value in raw:
        if value is None:
            yield Scored(None, 0.0, 0.0)
        elif isinstance(value, EvaluationError):
            yield Scored(None, 0.0, 0.0, error=value)
        elif not _is_number(value):
            error = EvaluationError(f"the score is {show(value)}", score.value.span)
            yield Scored(value, 0.0, 0.0, error=error)
        else:
            scored = _scored(value, rescale, weight)
            yield scored if fault is None else replace(scored, error=fault)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def weight_of(score: Score, fixed: Mapping[str, Any]) -> tuple[float, EvaluationError | None]:
    """Give a score's weight; where it cannot be evaluated it is 0, with the error."""
    if score.weight is None:
        return 1.0, None
    value = _raw(score.weight.program.evaluate, fixed, score.weight)
    if isinstance(value, EvaluationError):
        return 0.0, value
    return float(value or 0.0), None


def _scored(value: Any, rescale: Callable[[Any], Any], weight: float) -> Scored:
    try:
        rescaled = rescale(value)
    except EvaluationError as error:
        return Scored(value, 0.0, 0.0, error=error)
    clamped = min(max(rescaled, 0), MAX_SCORE)
    return Scored(value, float(clamped), weight * float(clamped), clamped=clamped != rescaled)


def rescaling(
    score: Score, numbers: Sequence[Any], fixed: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Give the function from raw value to score.

    `normalized` is kube-scheduler's DefaultNormalizeScore: the largest value becomes 100, or for
    `avoid` the smallest does, and integers are divided as integers.
    """
    if score.normalize is not None:
        return _written(score.normalize, numbers, fixed)
    if not score.normalized:
        return (lambda raw: MAX_SCORE - raw) if score.avoid else (lambda raw: raw)
    top = max(numbers, default=0)
    if top <= 0:
        return lambda _: MAX_SCORE if score.avoid else 0.0
    whole = all(isinstance(number, int) for number in numbers)

    def normalized(raw: Any) -> Any:
        part = 100 * raw // top if whole else MAX_SCORE * raw / top
        return MAX_SCORE - part if score.avoid else part

    return normalized


def _written(
    normalize: Expression, numbers: Sequence[Any], fixed: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Rescale by the rule's own expression over `raw`, `min` and `max`."""
    low, high = float(min(numbers, default=0)), float(max(numbers, default=0))

    def rescale(raw: Any) -> Any:
        bounds = {**fixed, "raw": float(raw), "min": low, "max": high}
        value = _raw(normalize.program.evaluate, bounds, normalize)
        if isinstance(value, EvaluationError):
            raise value
        if not _is_number(value):
            raise EvaluationError(f"the score is {show(value)}", normalize.span)
        return value

    return rescale


# --- the order of the nodes ---


def _ordered(
    ruleset: Ruleset, fixed: Mapping[str, Any], nodes: Sequence[_NodeDraft]
) -> list[NodeVerdict]:
    """Give the feasible nodes, the best first, ties as `choose` says; then the others."""
    verdicts = [_finished(node) for node in nodes]
    feasible = [v for v in verdicts if v.fits]
    ties = tie_break(ruleset, fixed, [v.node for v in feasible])
    place = {id(v): ties[at] for at, v in enumerate(feasible)}
    feasible.sort(key=lambda v: (-(v.total or 0.0), place[id(v)]))
    rejected = sorted((v for v in verdicts if not v.fits), key=lambda v: v.name)
    return feasible + rejected


def _finished(node: _NodeDraft) -> NodeVerdict:
    verdicts = tuple(
        RuleVerdict(draft.rule, draft.applies, draft.rejections, tuple(draft.scores))
        for draft in node.drafts
    )
    total = None
    if node.fits:
        total = sum((v.score or 0.0) for v in verdicts if not v.rule.shadow)
    return NodeVerdict(node.node, node.fits, total, verdicts)
