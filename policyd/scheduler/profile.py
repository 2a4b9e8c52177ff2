"""A scheduler name, and the rule set that is in force for its pods."""

from dataclasses import dataclass
from typing import Final, Protocol

from policyd.policy.ruleset import Ruleset

DEFAULT_NAME: Final = "policyd"


class Profile(Protocol):
    """The pods of one scheduler name.

    `current` is one reference that is replaced whole and read without a lock: a decision reads
    it once at its start, so that a reload never changes a decision half way. The one whose
    rules are reloaded is `policyd.policy.store.RulesetStore`.
    """

    @property
    def name(self) -> str:
        """Give the scheduler name."""
        ...

    @property
    def current(self) -> Ruleset | None:
        """Give the rule set in force; nothing where there was no good one yet."""
        ...


@dataclass(frozen=True, slots=True)
class FixedProfile:
    """A profile whose rule set stays as it is: a simulation's."""

    current: Ruleset | None
    name: str = DEFAULT_NAME
