"""Compiles the newest texts of all sources, or else of as many of them as go together.

Where the newest texts do not compile as a whole, some sources are held back to what is in force
of them, as few as possible. What is in force compiles by itself, so that there is always an
answer, and one bad source never keeps another's repair out.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from policyd.language.decoding import decode
from policyd.language.diagnostics import RuleError
from policyd.language.parser import parse_file
from policyd.language.source import Source
from policyd.policy.load import load
from policyd.policy.outcome import Fault, Offer, Origin, Sources, Text, in_order
from policyd.policy.params import ParameterError
from policyd.policy.ruleset import Ruleset

MOST_TRIES: Final = 32
"""How many choices of sources to hold back are tried before sources are taken one by one."""

_LOG: Final = logging.getLogger(__name__)

Settings = Mapping[str, str]


class RefusedError(Exception):
    """Texts that do not make a rule set, with all that is wrong with them."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The sources that go together, and those that are held back, with why.

    `ruleset` is nothing where what is chosen is what is in force already, or nothing at all.
    """

    sources: Sources
    ruleset: Ruleset | None
    held: Sources = ()
    faults: tuple[Fault, ...] = ()


def choose(newest: Sources, in_force: Sources | None, settings: Settings) -> Choice:
    """Compile the newest texts, with as few sources held back as possible.

    Without anything in force (`None`) nothing can be held back: all of it is good, or none.
    """
    if newest == in_force:
        return Choice(newest, None)
    try:
        return Choice(newest, compile_sources(newest, settings))
    except RefusedError as error:
        faults = error.faults
    if in_force is None:
        return Choice((), None, newest, faults)
    return _Search(newest, in_force, settings).run(faults)


def compile_sources(sources: Sources, settings: Settings) -> Ruleset:
    """Compile all texts of some sources as one rule set.

    Raises:
        RefusedError: with everything that is wrong.
    """
    read, faults = _read(sources)
    if faults:  # the others' syntax is looked at too: a person hears of more than one file at once
        raise RefusedError([*faults, *_syntax_faults(read, sources)])
    ruleset = _load(read, sources, settings)
    if not ruleset.rules and not ruleset.blocks:
        raise RefusedError([_empty(sources)])
    return ruleset


# --- one compilation ---


def _read(sources: Sources) -> tuple[list[Source], list[Fault]]:
    """Decode all texts; give what is wrong with those that are none, or are there twice."""
    read: list[Source] = []
    faults: list[Fault] = []
    given: dict[str, str] = {}
    for origin, offer in sources:
        faults += offer.faults
        for text in offer.texts:
            if text.name in given:
                faults.append(_twice(text.name, origin.name, given[text.name]))
                continue
            given[text.name] = origin.name
            try:
                read.append(_decoded(text))
            except RuleError as error:
                faults += [Fault.of(found, origin.name) for found in error.diagnostics]
    return read, faults


def _decoded(text: Text) -> Source:
    data = text.data
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return decode(text.name, data)


def _twice(name: str, source: str, before: str) -> Fault:
    where = f"by {before} and by {source}" if source != before else f"twice by {source}"
    message = f"the text `{name}` is given {where}"
    return Fault(message, source, name, helps=("rename or remove one of them",))


def _empty(sources: Sources) -> Fault:
    names = ", ".join(origin.name for origin, _ in sources)
    return Fault(
        f"there is no rule in {names}" if names else "no source gives rules",
        helps=("without a rule every pod would fit everywhere: write one",),
    )


def _syntax_faults(read: Sequence[Source], sources: Sources) -> list[Fault]:
    faults: list[Fault] = []
    for source in read:
        try:
            parse_file(source)
        except RuleError as error:
            faults += _located(error, sources)
    return faults


def _load(read: Sequence[Source], sources: Sources, settings: Settings) -> Ruleset:
    try:
        return load(read, settings)
    except RuleError as error:
        raise RefusedError(_located(error, sources)) from None
    except ParameterError as error:
        raise RefusedError([Fault(error.message, helps=(error.remedy,))]) from None
    except Exception as error:  # noqa: BLE001 - a fault of ours must not take the rules in force away
        _LOG.exception("the rules could not be compiled")
        message = f"the rules could not be compiled: {type(error).__name__}: {error}"
        raise RefusedError([Fault(message, helps=("this is a fault of policyd",))]) from None


def _located(error: RuleError, sources: Sources) -> list[Fault]:
    """Give diagnostics with the sources that they are of."""
    origins = {text.name: origin.name for origin, offer in sources for text in offer.texts}
    return [Fault.of(d, origins.get(d.source.name, "")) for d in error.diagnostics]


def _is_broken(offer: Offer) -> bool:
    """Say whether an offer is bad whatever the other sources give."""
    read, faults = _read(((Origin(0, ""), offer),))
    return bool(faults) or bool(_syntax_faults(read, ()))


# --- which sources go together ---


class _Search:
    """Looks for the choice that holds back the fewest sources."""

    def __init__(self, newest: Sources, in_force: Sources, settings: Settings) -> None:
        self.newest = dict(newest)
        self.in_force = dict(in_force)
        self.settings = settings
        origins = sorted({*self.newest, *self.in_force})
        pending = [o for o in origins if self.newest.get(o) != self.in_force.get(o)]
        self.broken = [o for o in pending if o in self.newest and _is_broken(self.newest[o])]
        self.fit = [o for o in pending if o not in self.broken]

    def run(self, faults: tuple[Fault, ...]) -> Choice:
        """Give the choice. `faults` are those of all newest texts together."""
        for held in islice(self._candidates(), MOST_TRIES):
            ruleset = self._compiled(held)
            if ruleset is not None:
                return self._choice(held, ruleset, faults)
        return self._one_by_one(faults)

    def _candidates(self) -> Iterator[list[Origin]]:
        """Give what to hold back: the fewest first, of as many the later sources first."""
        for count in range(len(self.fit)):
            for more in combinations(reversed(self.fit), count):
                if self.broken or more:  # without either it is all newest texts, which is tried
                    yield [*self.broken, *more]

    def _one_by_one(self, faults: tuple[Fault, ...]) -> Choice:
        """Add one source after the other to what is in force, each that goes with it."""
        held = [*self.broken, *self.fit]
        chosen: Ruleset | None = None
        for origin in self.fit:
            fewer = [other for other in held if other != origin]
            ruleset = self._compiled(fewer)
            if ruleset is not None:
                held, chosen = fewer, ruleset
        return self._choice(held, chosen, faults)

    def _compiled(self, held: Collection[Origin]) -> Ruleset | None:
        try:
            return compile_sources(self._sources(held), self.settings)
        except RefusedError:
            return None

    def _sources(self, held: Collection[Origin]) -> Sources:
        old = {o: offer for o, offer in self.in_force.items() if o in held}
        new = {o: offer for o, offer in self.newest.items() if o not in held}
        return in_order([*old.items(), *new.items()])

    def _choice(
        self, held: Collection[Origin], ruleset: Ruleset | None, faults: tuple[Fault, ...]
    ) -> Choice:
        kept_back = in_order([(origin, self.newest.get(origin, Offer())) for origin in held])
        return Choice(self._sources(held), ruleset, kept_back, faults)
