"""What sources of rules offer, what is in force of it, and what became of a change: as data.

Logs, metrics, events and `/debug/rules` are all made of an `Outcome` and its `State`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from policyd.language.diagnostics import Diagnostic
from policyd.policy.ruleset import Ruleset
from policyd.values.times import Timestamp


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A source of rules: a directory, a file, a ConfigMap. Sources are compiled in this order."""

    order: int
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """One rule text. `name` is what messages call it, and is unique over all sources."""

    name: str
    data: str | bytes

    @property
    def shown(self) -> str:
        """Give it for people, whatever its bytes are."""
        return self.data if isinstance(self.data, str) else self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason why rules are refused.

    `source` names the source that it is of, `file` the text; line and column count from 1. They
    are empty or 0 where it is of no one place. `diagnostic` is there where a text is at fault.
    """

    message: str
    source: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = ""
    helps: tuple[str, ...] = ()
    diagnostic: Diagnostic | None = None

    @classmethod
    def of(cls, diagnostic: Diagnostic, source: str = "") -> "Fault":
        """Give a diagnostic of a text as a reason."""
        line, column = diagnostic.source.position(diagnostic.span.start)
        return cls(
            diagnostic.message,
            source,
            diagnostic.source.name,
            line,
            column,
            diagnostic.code,
            diagnostic.helps,
            diagnostic,
        )

    @property
    def place(self) -> str:
        """Give `file:line:column` as far as it is known; else the source."""
        if not self.line:
            return self.file or self.source
        return f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Offer:
    """What a source gives: its texts in their order, or why it cannot be read."""

    texts: tuple[Text, ...] = ()
    faults: tuple[Fault, ...] = ()


Sources = tuple[tuple[Origin, Offer], ...]
"""Sources with what each gives, in their order."""


def texts_of(sources: Sources) -> tuple[Text, ...]:
    """Give all texts of some sources, in their order."""
    return tuple(text for _, offer in sources for text in offer.texts)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is not in force, and why.

    `held` are the sources whose newest texts are held back, with those texts; one that was
    withdrawn and cannot be spared is there with no text. `faults` are all that is wrong where
    the newest texts of all sources are compiled together.
    """

    held: Sources
    faults: tuple[Fault, ...]
    at: Timestamp

    @property
    def texts(self) -> tuple[Text, ...]:
        """Give the texts that are held back."""
        return texts_of(self.held)

    @property
    def names(self) -> tuple[str, ...]:
        """Give the names of the sources that are held back."""
        return tuple(origin.name for origin, _ in self.held)

    def faults_of(self, source: str) -> tuple[Fault, ...]:
        """Give what is wrong in the texts of one source."""
        return tuple(fault for fault in self.faults if fault.source == source)


@dataclass(frozen=True, slots=True)
class State:
    """What is in force at a moment.

    `generation` counts the sets that were installed, from 1; it is 0 and `ruleset` is nothing
    until there was a good one. `sources` are the texts that `ruleset` was compiled from: a cold
    start with them gives the same. `refusal` is there while something newer is held back.
    """

    generation: int = 0
    ruleset: Ruleset | None = None
    sources: Sources = ()
    refusal: Refusal | None = None
    installed_at: Timestamp | None = None

    @property
    def texts(self) -> tuple[Text, ...]:
        """Give the texts in force."""
        return texts_of(self.sources)


class Result(Enum):
    """What became of an offer; the values are the labels of the metric."""

    INSTALLED = "installed"
    REFUSED = "refused"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one change of the sources.

    `offered` names the sources that were offered or withdrawn. `seconds` is how long compiling
    took.
    """

    profile: str
    offered: tuple[str, ...]
    before: State
    state: State
    at: Timestamp
    seconds: float

    @property
    def is_installed(self) -> bool:
        """Say whether another set is in force than before."""
        return self.state.generation != self.before.generation

    @property
    def accepted(self) -> tuple[str, ...]:
        """Name the sources whose texts in force are others than before, or are no more."""
        now, before = dict(self.state.sources), dict(self.before.sources)
        origins = sorted({*now, *before})
        return tuple(o.name for o in origins if now.get(o) != before.get(o))

    @property
    def refusal(self) -> Refusal | None:
        """Give the refusal, if it is a new one."""
        now, before = self.state.refusal, self.before.refusal
        return None if now is None or (before is not None and now.held == before.held) else now

    @property
    def is_repaired(self) -> bool:
        """Say whether a refusal is over."""
        return self.before.refusal is not None and self.state.refusal is None

    @property
    def results(self) -> tuple[Result, ...]:
        """Give the results: both where one source is installed while another is refused."""
        found = (Result.INSTALLED,) * self.is_installed + (Result.REFUSED,) * bool(self.refusal)
        return found or (Result.UNCHANGED,)


def in_order(offers: Iterable[tuple[Origin, Offer]]) -> Sources:
    """Give sources in the order in which they are compiled."""
    return tuple(sorted(offers, key=lambda entry: entry[0]))
