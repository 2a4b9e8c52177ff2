"""A planned expression, and how it is evaluated: once, or over the values of a variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from policyd.language.errors import EvaluationError
from policyd.language.late import UNSET
from policyd.language.limits import MAX_WORK
from policyd.language.source import Source, Span
from policyd.language.work import Evaluate, Frame


@dataclass(frozen=True, slots=True)
class Program:
    """A planned expression. Evaluating it changes nothing but the frame, so threads share it."""

    source: Source
    variables: tuple[str, ...]
    slots: int
    run: Evaluate

    def frame(self, bindings: Mapping[str, Any], work: int = MAX_WORK) -> Frame:
        """Make the frame of one evaluation. `work` bounds it, in the units of `limits.py`.

        Raises:
            EvaluationError: a variable that the expression uses has no value.
        """
        try:
            frame: Frame = [work, *[bindings[name] for name in self.variables]]
        except KeyError:
            missing = next(name for name in self.variables if name not in bindings)
            raise EvaluationError(f"`{missing}` has no value", Span(0, 0)) from None
        if self.slots:
            frame += [UNSET] * self.slots
        return frame

    def evaluate(self, bindings: Mapping[str, Any], work: int = MAX_WORK) -> Any:
        """Evaluate once.

        Raises:
            EvaluationError: there is no value; `LimitExceeded`, it takes too much work.
        """
        return self.run(self.frame(bindings, work))

    def over(
        self, bindings: Mapping[str, Any], name: str, work: int = MAX_WORK
    ) -> Callable[[Any], Any]:
        """Give the expression as a function of one variable, with the others fixed.

        Each call is an evaluation of its own. One that does not read the variable is evaluated
        once, when it is first called. The function belongs to one thread.

        Raises:
            EvaluationError: another variable that the expression uses has no value.
        """
        if name not in self.variables:
            return Once(self.run, self.frame(bindings, work))
        template = self.frame({**bindings, name: None}, work)
        place = 1 + self.variables.index(name)
        run = self.run

        def evaluate(value: Any) -> Any:
            frame = template.copy()
            frame[place] = value
            return run(frame)

        return evaluate


class Once:
    """An evaluation whose value, or error, is the same whatever the variable is."""

    __slots__ = ("_frame", "_outcome", "_run")

    def __init__(self, run: Evaluate, frame: Frame) -> None:
        self._run = run
        self._frame = frame
        self._outcome: tuple[Any, EvaluationError | None] | None = None

    def __call__(self, _: Any) -> Any:
        """Evaluate, or give what the first evaluation gave."""
        if self._outcome is None:
            try:
                self._outcome = self._run(self._frame), None
            except EvaluationError as error:
                self._outcome = None, error
        value, fault = self._outcome
        if fault is not None:
            raise fault.with_traceback(None)
        return value
