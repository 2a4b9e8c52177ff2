"""Counting work against the limit, and giving faults their place."""

from collections.abc import Callable
from typing import Any

from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.limits import MAX_WORK
from policyd.language.source import Span
from policyd.values.errors import LimitFault, ValueFault

Frame = list[Any]
"""What an evaluation works on: the work that is left, the variables, the local slots."""

Evaluate = Callable[[Frame], Any]
"""A planned expression."""


def charge(frame: Frame, units: int, span: Span) -> None:
    """Take units from the work that is left.

    Raises:
        LimitExceeded: there is not enough.
    """
    frame[0] -= units
    if frame[0] < 0:
        raise LimitExceeded(
            f"this takes more than {MAX_WORK:,} units of work, the limit of one evaluation", span
        )


def located(fault: ValueFault, span: Span) -> EvaluationError:
    """Make the error of an evaluation from the fault of a value."""
    made = LimitExceeded if isinstance(fault, LimitFault) else EvaluationError
    return made(fault.message, span)
