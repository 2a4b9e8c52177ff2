"""What an evaluation ends in when it has no value."""

from policyd.language.source import Span


class EvaluationError(Exception):
    """An expression that has no value for its input, with the place that says so.

    `final` errors end the evaluation at once; the others are dropped where the language says
    that another operand decides (`true || error`).
    """

    final = False

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


class LimitExceeded(EvaluationError):  # noqa: N818 - the name says what happened
    """An evaluation that would take more work or memory than one may."""

    final = True
