"""One rule over all nodes: where it applies, what it rejects and why, and its raw scores."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyd.policy.decide import RuleForPod, reason_texts
from policyd.policy.kernel.columns import Columns, over_rows
from policyd.policy.kernel.scoring import Weighted, weigh
from policyd.policy.kernel.state import State
from policyd.policy.kernel.tables import Kernel
from policyd.policy.kernel.vector import Array, Kind, Mask, Vector
from policyd.policy.ruleset import Expression, Rule

Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule says on all nodes.

    `applies` is where it has a say, `unclear` where its `when` cannot be evaluated. `unmet` and
    `faults` are, for each requirement, where it is not met and where it cannot be evaluated.
    """

    rule: Rule
    applies: Mask
    unclear: Mask
    unmet: tuple[Mask, ...]
    faults: tuple[Mask, ...]

    @property
    def rejected(self) -> Mask:
        """Give where the rule rejects the node, in force or not."""
        found = self.unclear if self.rule.requirements else np.zeros_like(self.unclear)
        for mask in self.unmet:
            found = found | mask
        return found

    @property
    def failed(self) -> Mask:
        """Give where the rule rejects because it cannot be evaluated."""
        found = self.unclear if self.rule.requirements else np.zeros_like(self.unclear)
        for mask in self.faults:
            found = found | mask
        return found


class RuleKernels:
    """The expressions of one rule, each over all nodes."""

    def __init__(self, rule: Rule, columns: Columns) -> None:
        self.rule = rule
        self._when = _kernel(rule.when, columns)
        self._conditions = [_required(r.condition, columns) for r in rule.requirements]
        self._reasons = [_kernel(r.because, columns) for r in rule.requirements]
        self._scores = [_required(s.value, columns, as_score=True) for s in rule.scores]

    def judge(self, state: State, fixed: Mapping[str, Any], tick: Tick) -> Judgement:
        """Apply the rule to all nodes, but for its scores, which depend on where the pod fits."""
        count = len(state.nodes)
        nowhere = np.zeros(count, np.bool_)
        applies, unclear = ~nowhere, nowhere
        tick()
        if self._when is not None:
            applies, unclear = _truth(self._when.values(state, fixed), count)
            if not (applies.any() or unclear.any()):
                nothing = (nowhere,) * len(self._conditions)
                return Judgement(self.rule, applies, unclear, nothing, nothing)
        unmet, faults = [], []
        for condition in self._conditions:
            tick()
            holds, fails = _truth(condition.values(state, fixed), count)
            unmet.append(applies & ~holds)
            faults.append(applies & fails)
        return Judgement(self.rule, applies, unclear, tuple(unmet), tuple(faults))

    def weigh(
        self, judgement: Judgement, fits: Mask, state: State, bound: Mapping[str, Any], tick: Tick
    ) -> Iterator[Weighted]:
        """Score the nodes that fit; `bound` has the names that scores may read besides."""
        active = fits & (judgement.applies | judgement.unclear)
        unclear = judgement.unclear if judgement.unclear.any() else None
        if not active.any():
            return
        for score, kernel in zip(self.rule.scores, self._scores, strict=True):
            tick()
            if kernel.reads_feasible:
                raw = _placed(kernel.on(state, bound, np.flatnonzero(active)), active)
            else:
                raw = kernel.values(state, bound)
            yield weigh(score, raw, active, unclear, bound)

    def reasons(
        self, judgement: Judgement, state: State, fixed: Mapping[str, Any], tick: Tick
    ) -> Iterator[tuple[Array, list[tuple[str, ...]]]]:
        """Give the reasons of all rejections: nodes, and for each of them the texts."""
        by_hand = judgement.failed
        one_by_one = RuleForPod(self.rule, fixed)
        for at, (mask, kernel) in enumerate(zip(judgement.unmet, self._reasons, strict=True)):
            rows = np.flatnonzero(mask & ~by_hand)
            if not rows.size:
                continue
            tick()
            condition = self.rule.requirements[at].condition
            if kernel is None or not kernel.reads:
                texts = one_by_one.reason_texts(at, condition, state.nodes[int(rows[0])])
                yield rows, [texts]
                continue
            found = over_rows(kernel.values(state, fixed), len(state.nodes))
            wrong = found.error is not None and found.error[rows].any()
            if found.kind is not Kind.ANY or wrong:
                by_hand = by_hand | mask
                continue
            yield rows, _texts_of(found, rows, condition)
        for row in np.flatnonzero(by_hand).tolist():
            tick()
            draft = one_by_one.node(state.nodes[row])
            texts = tuple(text for r in draft.rejections for text in r.reasons)
            yield np.array([row]), [texts]


def _texts_of(found: Vector, rows: Array, condition: Expression) -> list[tuple[str, ...]]:
    """Give each row's texts; what `because` gives is turned into texts once for each value."""
    codes = found.data[rows].tolist()
    known = {code: reason_texts(found.domain[code], condition) for code in set(codes)}
    return [known[code] for code in codes]


def _placed(found: Vector, where: Mask) -> Vector:
    """Put values that were computed at some rows in their places; elsewhere they mean nothing."""
    place = np.cumsum(where) - 1
    place[place < 0] = 0
    error = None if found.error is None else found.error[place]
    return Vector(found.kind, found.data[place], error, found.scale, found.domain)


def _kernel(expression: Expression | None, columns: Columns) -> Kernel | None:
    return None if expression is None else _required(expression, columns)


def _required(expression: Expression, columns: Columns, *, as_score: bool = False) -> Kernel:
    return Kernel(expression.checked, expression.program, columns, as_score=as_score)


def _truth(found: Vector, count: int) -> tuple[Mask, Mask]:
    """Give where a condition holds, and where it is an error or no bool."""
    data, error = found.data, found.error
    if found.kind is not Kind.BOOL:
        values = [value is True for value in found.domain]
        other = [value is not True and value is not False for value in found.domain]
        if found.kind is not Kind.ANY:
            return np.zeros(count, np.bool_), np.ones(count, np.bool_)
        data, wrong = np.array(values)[found.data], np.array(other)[found.data]
        error = wrong if error is None else error | wrong
    fails: Any = np.zeros(count, np.bool_) if error is None else np.broadcast_to(error, (count,))
    return np.broadcast_to(data, (count,)) & ~fails, fails
