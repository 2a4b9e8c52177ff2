"""A scheduler name, and the rule set that is in force for its pods.

Several profiles may share one process: one queue, one cache, and for each name its own rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from policyd.model.pod import Pod
from policyd.policy.ruleset import Ruleset
from policyd.values.errors import ValueFault

DEFAULT_NAME: Final = "policyd"

API_DEFAULT_NAME: Final = "default-scheduler"
"""The scheduler of a pod that names none, by the API's default."""


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


P = TypeVar("P", bound=Profile)


class Profiles(Generic[P]):
    """The profiles of a process, by their names. Which there are never changes.

    `default` is the name of the one that takes the pods that name no scheduler, where nobody
    else is there to do it.
    """

    def __init__(self, profiles: Iterable[P], default: str | None = None) -> None:
        """Take the profiles.

        Raises:
            ValueError: two have one name.
        """
        self._by_name: dict[str, P] = {}
        self._default = default
        for profile in profiles:
            if profile.name in self._by_name:
                raise ValueError(f"two profiles are called {profile.name!r}")
            self._by_name[profile.name] = profile

    def __iter__(self) -> Iterator[P]:
        return iter(self._by_name.values())

    def named(self, name: str) -> P | None:
        """Give the profile of a name."""
        return self._by_name.get(name)

    def of(self, pod: Pod) -> P | None:
        """Give the profile that a pod belongs to; nothing where it asks for another scheduler."""
        name = scheduler_name(pod)
        if name == API_DEFAULT_NAME and self._default is not None:
            return self._by_name.get(name) or self._by_name.get(self._default)
        return self._by_name.get(name)

    def name_of(self, pod: Pod) -> str | None:
        """Give the name of that profile."""
        profile = self.of(pod)
        return None if profile is None else profile.name


class _Spec(msgspec.Struct, frozen=True):
    scheduler: str | None = msgspec.field(name="schedulerName", default=None)


class _WithSpec(msgspec.Struct, frozen=True):
    spec: _Spec | None = None


def scheduler_name(pod: Pod) -> str:
    """Give the name of the scheduler that a pod asks for."""
    try:
        spec = pod.part(_WithSpec).spec
    except ValueFault:  # it is no text, which the API server would not have let pass
        return API_DEFAULT_NAME
    return (spec and spec.scheduler) or API_DEFAULT_NAME
