"""Scores over all nodes: raw values rescaled over the feasible nodes, cut off and weighed.

As `decide` does it node by node, to the last bit; formulas and their sources stand there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from policyd.language.errors import EvaluationError
from policyd.policy.decide import MAX_SCORE, rescaling, weight_of
from policyd.policy.kernel.vector import Array, Kind, Mask, Unvectorised, Vector
from policyd.policy.ruleset import Score

_LARGE: Final = 9 * 10**16
"""Integers below this can be multiplied by 100 in 64 bits."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """What one `prefer` adds to every node's total, and how it went on the feasible ones."""

    points: Array
    clamped: int
    errors: Mask


def weigh(score: Score, raw: Vector, active: Mask, fixed: Mapping[str, Any]) -> Weighted:
    """Score the nodes where the rule is active; elsewhere it adds nothing.

    Raises:
        Unvectorised: the values are of a kind that arrays do not hold.
    """
    if raw.kind not in (Kind.INT, Kind.DOUBLE):
        raise Unvectorised("scores of several kinds")
    data = np.broadcast_to(raw.data, active.shape)
    good = np.isfinite(data) if raw.kind is Kind.DOUBLE else np.ones(active.shape, np.bool_)
    if raw.error is not None:
        good = good & ~raw.error
    numbers = np.flatnonzero(active & good)
    weight, fault = weight_of(score, fixed)
    scored = _rescaled(score, data[numbers], raw.kind, fixed)
    points = np.zeros(active.shape)
    points[numbers] = np.where(scored.wrong, 0.0, weight * scored.scores)
    errors = active & ~good
    errors[numbers[scored.wrong]] = True
    if fault is not None:
        errors = active.copy()
    return Weighted(points, int(scored.clamped.sum()), errors)


@dataclass(frozen=True, slots=True)
class _Scored:
    scores: Array
    clamped: Mask
    wrong: Mask


def _rescaled(score: Score, raw: Array, kind: Kind, fixed: Mapping[str, Any]) -> _Scored:
    none = np.zeros(raw.shape, np.bool_)
    if score.normalize is not None:
        return _written(score, raw, fixed)
    values: Array = raw
    if score.normalized:
        values = _normalized(raw, kind, avoid=score.avoid)
    elif score.avoid:
        values = MAX_SCORE - raw.astype(np.float64)
    cut = np.minimum(np.maximum(values, 0), MAX_SCORE)
    return _Scored(cut.astype(np.float64), np.asarray(cut != values), none)


def _normalized(raw: Array, kind: Kind, *, avoid: bool) -> Array:
    top = raw.max(initial=0)
    if top <= 0:
        return np.full(raw.shape, MAX_SCORE if avoid else 0.0)
    if kind is Kind.DOUBLE:
        part = MAX_SCORE * raw / top
    else:
        if max(abs(int(raw.min())), int(top)) >= _LARGE:
            raise Unvectorised("integers that are too large to rescale")
        part = 100 * raw // top
    return np.asarray(MAX_SCORE - part) if avoid else np.asarray(part)


def _written(score: Score, raw: Array, fixed: Mapping[str, Any]) -> _Scored:
    """Rescale by the rule's own expression, once for each distinct value."""
    if not raw.size:
        return _Scored(np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.bool_))
    found, inverse = np.unique(raw, return_inverse=True)
    distinct = found.tolist()
    rescale = rescaling(score, [distinct[0], distinct[-1]], fixed)
    rows = [_one(rescale, value) for value in distinct]
    scores, clamped, wrong = zip(*rows, strict=True)
    return _Scored(np.array(scores)[inverse], np.array(clamped)[inverse], np.array(wrong)[inverse])


def _one(rescale: Callable[[Any], Any], value: Any) -> tuple[float, bool, bool]:
    """Give the score of a raw value, whether it was cut off, and whether it is an error."""
    try:
        rescaled = rescale(value)
    except EvaluationError:
        return 0.0, False, True
    cut = min(max(rescaled, 0), MAX_SCORE)
    return float(cut), bool(cut != rescaled), False
