"""The one error that computing with values can end in."""


class ValueFault(Exception):  # noqa: N818 - "error" is the language's word for the result
    """A value that cannot be made: an overflow, a text that does not parse, a key not present.

    The message says what failed, in lower case and without a final period, as one line. The
    interpreter turns it into an evaluation error with the place in the rule.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class LimitFault(ValueFault):
    """A value that would be larger than any may be. Ends the whole evaluation."""
