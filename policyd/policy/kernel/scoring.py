"""Scores over all nodes: raw values rescaled over the feasible nodes, cut off and weighed.

As `decide` does it node by node, to the last bit; formulas and their sources stand there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from policyd.language.errors import EvaluationError
from policyd.policy.decide import MAX_SCORE, rescaling, weight_of
from policyd.policy.kernel.vector import (
    FAILED,
    Array,
    Kind,
    Mask,
    Unvectorised,
    Vector,
    from_values,
)
from policyd.policy.ruleset import Score

_LARGE: Final = 9 * 10**16
"""Integers below this can be multiplied by 100 in 64 bits."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """What one `prefer` adds to every node's total, and how it went on the feasible ones."""

    points: Array
    clamped: int
    errors: Mask


def weigh(
    score: Score, raw: Vector, active: Mask, unclear: Mask | None, fixed: Mapping[str, Any]
) -> Weighted:
    """Score the nodes where the rule is active; elsewhere it adds nothing.

    `unclear` is where the rule's `when` cannot be evaluated, which makes the score an error. A
    value of null is no score.

    Raises:
        Unvectorised: the values are of a kind that arrays do not hold.
    """
    numbers = _numbers(raw)
    data = np.broadcast_to(numbers.data, active.shape)
    wrong = np.broadcast_to(numbers.wrong, active.shape)
    if unclear is not None:
        wrong = wrong | unclear
    active = active & (wrong | ~np.broadcast_to(numbers.absent, active.shape))
    places = np.flatnonzero(active & ~wrong)
    weight, fault = weight_of(score, fixed)
    scored = _rescaled(score, data[places], numbers.kind, fixed)
    points = np.zeros(active.shape)
    points[places] = np.where(scored.wrong, 0.0, weight * scored.scores)
    errors = active & wrong
    errors[places[scored.wrong]] = True
    if fault is not None:
        errors = active.copy()
    return Weighted(points, int(scored.clamped.sum()), errors)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Raw values as numbers: where they are none (an error), and where there is no score."""

    data: Array
    kind: Kind
    wrong: Mask
    absent: Mask


def _numbers(raw: Vector) -> _Numbers:
    never = np.zeros((), np.bool_)
    error = never if raw.error is None else raw.error
    if raw.kind is Kind.INT:
        return _Numbers(raw.data, Kind.INT, error, never)
    if raw.kind is Kind.DOUBLE:
        return _Numbers(raw.data, Kind.DOUBLE, error | ~np.isfinite(raw.data), never)
    if raw.kind is not Kind.ANY:
        raise Unvectorised("scores of several kinds")
    used, inverse = np.unique(raw.data, return_inverse=True)
    values = [raw.domain[code] for code in used.tolist()]
    absent = np.array([value is None for value in values])[inverse].reshape(raw.data.shape)
    made = from_values([_number(value) for value in values], _kind_of(values))
    if made.kind not in (Kind.INT, Kind.DOUBLE):
        raise Unvectorised("scores of several kinds")
    data = made.data[inverse].reshape(raw.data.shape)
    wrong = np.zeros(raw.data.shape, np.bool_)
    if made.error is not None:
        wrong = made.error[inverse].reshape(raw.data.shape) & ~absent
    if made.kind is Kind.DOUBLE:
        wrong = wrong | (~np.isfinite(data) & ~absent)
    return _Numbers(data, made.kind, wrong | error, absent)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else FAILED


def _kind_of(values: Sequence[Any]) -> Kind:
    return Kind.INT if any(value.__class__ is int for value in values) else Kind.DOUBLE


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
