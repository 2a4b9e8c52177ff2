"""The live rule set of a profile: compiled from what its sources offer, replaced whole or not.

Readers take `current` once, without a lock, and keep what they got for the whole of a decision.
Writers take turns by the store's one lock, which they hold while they compile; nobody who
decides ever waits for it.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from time import perf_counter
from typing import Final

from policyd.policy.choice import Choice, choose
from policyd.policy.outcome import Offer, Origin, Outcome, Refusal, Sources, State, Text, in_order
from policyd.policy.outcome_log import log_outcome
from policyd.policy.ruleset import Ruleset
from policyd.values.times import Timestamp

Listener = Callable[[Outcome], None]

_LOG: Final = logging.getLogger(__name__)


class RulesetStore:
    """The rules of one profile, and the sources that they come from.

    The lock guards what is newest and the listeners, and orders the outcomes. `state` is one
    reference to data that never changes, which any thread may read at any time. Nothing is
    installed before each provider of sources that is awaited has given what it has.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, str] | None = None,
        *,
        now: Callable[[], Timestamp],
        timer: Callable[[], float] = perf_counter,
        awaits: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.settings = dict(settings or {})
        self.state = State()
        self._now = now
        self._timer = timer
        self._lock = Lock()
        self._newest: Sources | None = None
        self._awaited = set(awaits)
        self._listeners: tuple[Listener, ...] = ()

    # --- for readers ---

    @property
    def current(self) -> Ruleset | None:
        """Give the rule set in force; nothing where there was no good one yet."""
        return self.state.ruleset

    @property
    def generation(self) -> int:
        """Give how many rule sets were installed."""
        return self.state.generation

    @property
    def texts(self) -> tuple[Text, ...]:
        """Give the texts in force."""
        return self.state.texts

    @property
    def refused(self) -> Refusal | None:
        """Give what is held back and why; nothing where the newest texts are in force."""
        return self.state.refusal

    # --- for sources ---

    def listen(self, listener: Listener) -> None:
        """Have every outcome told from now on, in order.

        The listener is called by the thread that offers, while other writers wait: it should be
        quick, and must not offer or listen itself. What it raises is logged and goes no further.
        """
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def update(self, offers: Mapping[Origin, Offer | None], provider: str = "") -> Outcome:
        """Take what some sources give now, or that they are withdrawn (`None`), in one step.

        All texts are compiled together. What comes of it is logged and told to the listeners.
        A provider that is awaited names itself, with all of its sources at its first time.
        """
        with self._lock:
            before, started = self.state, self._timer()
            was_awaiting = bool(self._awaited)
            self._awaited.discard(provider)
            newest = _merged(self._newest or (), offers)
            is_new = newest != self._newest or was_awaiting
            if is_new and not self._awaited:
                in_force = before.sources if before.ruleset is not None else None
                self.state = self._after(before, choose(newest, in_force, self.settings))
            self._newest = newest
            seconds = self._timer() - started
            names = tuple(origin.name for origin in sorted(offers))
            outcome = Outcome(self.name, names, before, self.state, self._now(), seconds)
            self._tell(outcome)
            return outcome

    def _after(self, before: State, choice: Choice) -> State:
        refusal = self._refusal(before.refusal, choice)
        if choice.ruleset is None or choice.sources == before.sources:
            return State(
                before.generation, before.ruleset, before.sources, refusal, before.installed_at
            )
        return State(before.generation + 1, choice.ruleset, choice.sources, refusal, self._now())

    def _refusal(self, before: Refusal | None, choice: Choice) -> Refusal | None:
        if not choice.faults:
            return None
        if before is not None and before.held == choice.held:
            return Refusal(choice.held, choice.faults, before.at)
        return Refusal(choice.held, choice.faults, self._now())

    def _tell(self, outcome: Outcome) -> None:
        for listener in (log_outcome, *self._listeners):
            try:
                listener(outcome)
            except Exception:  # noqa: BLE001 - what one listener does must not keep the rules or others back
                _LOG.exception("a listener of the rules of %s failed", self.name)


def _merged(newest: Sources, offers: Mapping[Origin, Offer | None]) -> Sources:
    merged: dict[Origin, Offer | None] = {**dict(newest), **offers}
    return in_order([(origin, offer) for origin, offer in merged.items() if offer is not None])
