"""Decides as `decide` does, by what is kept of earlier decisions: only what changed is computed.

Every expression of a rule set is a kernel over all nodes, with a table for each key of the facts
that it reads beside the node. A decision repairs the tables for the nodes that changed, joins
them, and takes the best node. A node's verdicts in full are the interpreter's, made when somebody
asks; so is a whole decision that has no exact form over arrays.

An engine belongs to one thread and to one journal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from policyd.model.journal import Journal
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.policy.decide import Decision, NodeVerdict, RuleTally, bindings, decide
from policyd.policy.kernel.choosing import Chooser
from policyd.policy.kernel.columns import Columns
from policyd.policy.kernel.judging import Judgement, RuleKernels, Tick
from policyd.policy.kernel.kept import Kept
from policyd.policy.kernel.keys import Same
from policyd.policy.kernel.state import State
from policyd.policy.kernel.vector import Array, Mask, Unvectorised
from policyd.policy.order import order_keys
from policyd.policy.ruleset import Ruleset

_RULESETS: Final = 8
"""For how many rule sets something is kept: those of the profiles, and the last ones."""


class QuickDecision(Decision):
    """A decision whose numbers are there, and whose verdicts are made when they are asked for."""

    def __init__(
        self,
        pod: Pod,
        ruleset: Ruleset,
        snapshot: Snapshot,
        node: Node | None,
        tallies: tuple[RuleTally, ...],
        reasons: Mapping[str, int] | None,
    ) -> None:
        for name, value in (("pod", pod), ("ruleset", ruleset), ("snapshot", snapshot)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "only", None)
        self.__dict__.update(node=node, tallies=tallies)
        if reasons is not None:
            self.__dict__["reasons"] = reasons

    @cached_property
    def nodes(self) -> tuple[NodeVerdict, ...]:
        """Decide by the interpreter, which comes to the same."""
        return decide(self.ruleset, self.pod, self.snapshot).nodes

    @property
    def considered(self) -> int:
        """Give the number of nodes that were looked at."""
        return len(self.snapshot.nodes)

    @property
    def rejecting(self) -> frozenset[str]:
        """Give the names of the rules that keep the pod from some node."""
        return frozenset(t.rule.name for t in self.tallies if t.rejected and not t.rule.shadow)


class Engine:
    """Decides for one thread; what it keeps belongs to the nodes of one journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._plans: Kept[_Plan] = Kept(_RULESETS)
        self.refused = 0  # decisions that were the interpreter's
        self.refusal = ""  # why the last of them was

    def decide(
        self,
        ruleset: Ruleset,
        pod: Pod,
        snapshot: Snapshot,
        *,
        tick: Tick = lambda: None,
    ) -> Decision:
        """Apply a rule set to a pod on the nodes of a snapshot, as `decide` does.

        `tick` is called before each part of the work; what it raises ends the decision.
        """
        if snapshot.journal is not self._journal:
            return decide(ruleset, pod, snapshot, tick=tick)
        try:
            with np.errstate(all="ignore"):
                return self._plan(ruleset).decide(pod, snapshot, tick)
        except Unvectorised as refusal:
            self.refused += 1
            self.refusal = str(refusal)
            return decide(ruleset, pod, snapshot, tick=tick)

    def _plan(self, ruleset: Ruleset) -> "_Plan":
        key = Same(ruleset)
        plan = self._plans.get(key)
        if plan is None:
            plan = _Plan(ruleset)
            self._plans.put(key, plan)
        return plan


@dataclass(frozen=True, slots=True)
class _Standing:
    """How all nodes stand: where the pod fits, each rule's points there, and the totals."""

    fits: Mask
    points: list[Array]
    totals: Array
    clamped: list[int]
    errors: list[int]


class _Plan:
    """A rule set over the nodes of one journal."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        columns = Columns()
        self._rules = [RuleKernels(rule, columns) for rule in ruleset.rules]
        self._chooser = Chooser(order_keys(ruleset), columns)
        self._looks_at_feasible = any(
            "feasible" in expression.program.variables
            for rule in ruleset.rules
            for score in rule.scores
            for expression in (score.value, score.weight, score.normalize)
            if expression is not None
        )

    def decide(self, pod: Pod, snapshot: Snapshot, tick: Tick) -> Decision:
        if snapshot.journal is None:
            raise Unvectorised("no journal")
        state = State(snapshot.nodes, snapshot.journal, snapshot.version, snapshot.around)
        fixed = bindings(self._ruleset, pod, snapshot)
        judged = [rule.judge(state, fixed, tick) for rule in self._rules]
        standing = self._stand(judged, state, fixed, tick)
        best = self._best(standing.fits, standing.totals, state, fixed)
        reasons = None if best is not None else self._reasons(judged, state, fixed, tick)
        tallies = tuple(
            self._tally(at, judgement, standing, best) for at, judgement in enumerate(judged)
        )
        node = None if best is None else state.nodes[best]
        return QuickDecision(pod, self._ruleset, snapshot, node, tallies, reasons)

    def _stand(
        self, judged: Sequence[Judgement], state: State, fixed: Mapping[str, Any], tick: Tick
    ) -> _Standing:
        """Find where the pod fits, and what each rule and all together give these nodes."""
        count = len(state.nodes)
        fits = np.ones(count, np.bool_)
        for judgement in judged:
            if not judgement.rule.shadow and judgement.rule.requirements:
                fits &= ~judgement.rejected
        bound = {**fixed, "feasible": self._feasible(fits, state)}
        totals = np.zeros(count)
        points, clamped, errors = [], [], []
        for rule, judgement in zip(self._rules, judged, strict=True):
            own: Array = np.zeros(count)
            wrong, cut = judgement.failed, 0
            for part in rule.weigh(judgement, fits, state, bound, tick):
                own = own + part.points
                wrong = wrong | part.errors
                cut += part.clamped
            if not judgement.rule.shadow:
                totals = totals + own
            points.append(own)
            clamped.append(cut)
            errors.append(int(np.count_nonzero(wrong)))
        return _Standing(fits, points, totals, clamped, errors)

    def _feasible(self, fits: Mask, state: State) -> list[Node]:
        """Give the nodes that fit, where a score looks at them."""
        if not self._looks_at_feasible:
            return []
        return [state.nodes[at] for at in np.flatnonzero(fits).tolist()]

    def _best(
        self, fits: Mask, totals: Array, state: State, fixed: Mapping[str, Any]
    ) -> int | None:
        feasible = np.flatnonzero(fits)
        if not feasible.size:
            return None
        points = totals[feasible]
        if np.isnan(points).any():
            raise Unvectorised("a total that is no number")
        return self._chooser.first(feasible[points == points.max()], state, fixed)

    # --- in numbers ---

    def _tally(
        self, at: int, judgement: Judgement, standing: _Standing, best: int | None
    ) -> RuleTally:
        rejected = judgement.rejected
        return RuleTally(
            judgement.rule,
            nodes=rejected.size,
            rejected=int(np.count_nonzero(rejected)),
            errors=standing.errors[at],
            clamped=standing.clamped[at],
            disagrees=judgement.rule.shadow
            and best is not None
            and _disagrees(rejected, standing, standing.points[at], best),
        )

    # --- in words ---

    def _reasons(
        self, judged: Sequence[Judgement], state: State, fixed: Mapping[str, Any], tick: Tick
    ) -> Mapping[str, int]:
        """Count the nodes of each reason; a node counts once for a reason."""
        found = [
            part
            for rule, judgement in zip(self._rules, judged, strict=True)
            if not judgement.rule.shadow
            for part in rule.reasons(judgement, state, fixed, tick)
        ]
        return counted(found)


def counted(parts: Iterable[tuple[Array, list[tuple[str, ...]]]]) -> Mapping[str, int]:
    """Count the nodes of each reason, given which nodes have which texts.

    One list of texts for many nodes says that all have these.
    """
    counts: Counter[str] = Counter()
    where: dict[str, list[Array]] = {}
    for rows, texts in parts:
        if len(texts) == 1:
            for text in set(texts[0]):
                where.setdefault(text, []).append(rows)
            continue
        for text, places in _places(rows, texts).items():
            where.setdefault(text, []).append(places)
    for text, arrays in where.items():
        counts[text] = arrays[0].size if len(arrays) == 1 else _union(arrays)
    return counts


def _union(arrays: Sequence[Array]) -> int:
    return int(np.unique(np.concatenate(arrays)).size)


def _places(rows: Array, texts: Sequence[tuple[str, ...]]) -> dict[str, Array]:
    by_text: dict[str, list[int]] = {}
    for row, those in zip(rows.tolist(), texts, strict=True):
        for text in set(those):
            by_text.setdefault(text, []).append(row)
    return {text: np.array(places) for text, places in by_text.items()}


def _disagrees(rejected: Mask, standing: _Standing, points: Array, best: int) -> bool:
    """Say whether a shadow rule would have led to another node, or to none."""
    feasible = np.flatnonzero(standing.fits & ~rejected)
    if not feasible.size:
        return True
    totals = standing.totals[feasible] + points[feasible]
    return best not in feasible[totals == totals.max()]
