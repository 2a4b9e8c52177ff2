"""What /livez and /readyz look at, and how they say it: the shape is that of kube-scheduler's.

Live is who moves: a process that is not should be started anew. Ready is who can decide: rules
are in force. Newer rules that were refused change neither, since the last good ones stay.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Check:
    """Something that is looked at. `problem` says what is wrong, or nothing where all is well."""

    name: str
    problem: Callable[[], str | None]


class _Profile(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def current(self) -> object | None: ...


def ping() -> Check:
    """Give the check that holds whenever somebody can answer at all."""
    return Check("ping", lambda: None)


def threads_move(silent: Callable[[], Collection[str]]) -> Check:
    """Give the check that no thread has died or is stuck, as `Threads.silent` names them."""

    def problem() -> str | None:
        names = ", ".join(silent())
        return f"no sign of life from: {names}" if names else None

    return Check("threads", problem)


def rules_in_force(profiles: Iterable[_Profile]) -> Check:
    """Give the check that every profile has rules; it fails until each had a first good set."""
    known = tuple(profiles)

    def problem() -> str | None:
        without = ", ".join(profile.name for profile in known if profile.current is None)
        return f"no rule set is in force for: {without}" if without else None

    return Check("rules", problem)


@dataclass(frozen=True, slots=True)
class Report:
    """What the checks found, as text."""

    is_well: bool
    text: str


@dataclass(frozen=True, slots=True)
class Health:
    """The checks of a process: those that say whether it lives, and those that it can work."""

    live: tuple[Check, ...]
    ready: tuple[Check, ...] = ()

    def checks(self, endpoint: str) -> tuple[Check, ...]:
        """Give the checks behind `healthz`, `livez` or `readyz`."""
        return (*self.live, *self.ready) if endpoint == "readyz" else self.live

    def report(
        self, endpoint: str, *, verbose: bool = False, excluded: Collection[str] = ()
    ) -> Report:
        """Look at all checks of an endpoint but those excluded; a failure is told in full."""
        lines, is_well = [], True
        checks = self.checks(endpoint)
        for check in checks:
            line, passed = _line(check, is_excluded=check.name in excluded)
            lines.append(line)
            is_well = is_well and passed
        unknown = sorted(set(excluded) - {check.name for check in checks})
        if unknown:
            lines.append(f"warn: there is no check to exclude named: {', '.join(unknown)}")
        lines.append(f"{endpoint} check {'passed' if is_well else 'failed'}")
        is_brief = is_well and not verbose
        return Report(is_well, "ok" if is_brief else "\n".join(lines) + "\n")


def _line(check: Check, *, is_excluded: bool) -> tuple[str, bool]:
    if is_excluded:
        return f"[+]{check.name} excluded: ok", True
    try:
        problem = check.problem()
    except Exception as error:  # noqa: BLE001 - a check that cannot be made is one that failed
        problem = f"it cannot be checked: {type(error).__name__}: {error}"
    return (
        (f"[+]{check.name} ok", True)
        if problem is None
        else (
            f"[-]{check.name} failed: {problem}",
            False,
        )
    )
