"""A scheduler name, and the rule set that is in force for its pods."""

from policyd.policy.ruleset import Ruleset

DEFAULT_NAME = "policyd"


class Profile:
    """The pods of one scheduler name.

    `current` is one reference that is replaced whole: a decision reads it once at its start,
    so that a reload never changes a decision half way. Readers take no lock.
    """

    def __init__(self, name: str = DEFAULT_NAME, ruleset: Ruleset | None = None) -> None:
        self.name = name
        self.current = ruleset

    def install(self, ruleset: Ruleset) -> None:
        """Put a rule set in force for the decisions that start from now on."""
        self.current = ruleset
