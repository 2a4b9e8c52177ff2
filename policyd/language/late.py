"""Values that are computed when they are first needed: those of `cel.bind` and of `let`."""

from typing import Any, Final

from policyd.language.errors import EvaluationError
from policyd.language.work import Evaluate, Frame

UNSET: Final = object()
"""What a slot holds before its value is needed for the first time."""


class Later:
    """A value that `cel.bind` computes when it is first needed."""

    __slots__ = ("init", "place")

    def __init__(self, place: int, init: Evaluate) -> None:
        self.place = place
        self.init = init

    def force(self, frame: Frame) -> Any:
        """Compute the value and keep it, or the error."""
        try:
            value = frame[self.place] = self.init(frame)
        except EvaluationError as error:
            frame[self.place] = FailedLater(error)
            raise
        return value


class FailedLater:
    """What stands for a value that could not be computed, so that it is tried only once."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error

    def force(self, _: Frame) -> Any:
        """Fail again."""
        raise self.error.with_traceback(None)


def load(place: int) -> Evaluate:
    """Load a local that may have to be computed first."""

    def load(frame: Frame) -> Any:
        value = frame[place]
        cls = value.__class__
        return value.force(frame) if cls is Later or cls is FailedLater else value

    return load


def bind(place: int, init: Evaluate, body: Evaluate) -> Evaluate:
    """Evaluate a body in which a local is computed when it is first needed."""
    later = Later(place, init)

    def bind(frame: Frame) -> Any:
        frame[place] = later
        return body(frame)

    return bind


def once(place: int, body: Evaluate) -> Evaluate:
    """Compute a `let` once for an evaluation."""
    later = Later(place, body)

    def let(frame: Frame) -> Any:
        value = frame[place]
        if value is UNSET:
            return later.force(frame)
        return value.force(frame) if value.__class__ is FailedLater else value

    return let
