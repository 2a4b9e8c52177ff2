"""A store that is kept at what real files say, and the means to wait for what comes of it."""

import threading
from contextlib import AbstractContextManager

from policyd.daemon.clock import SystemClock
from policyd.daemon.reload import FileReload
from policyd.daemon.threads import Threads
from policyd.policy.store import RulesetStore

SECONDS = 30  # bounds what a fault would make endless


def rule(name: str, condition: str = "node.ready") -> str:
    return f'rule "{name}" {{ require {condition} }}\n'


class Reloading(AbstractContextManager):
    """A running reload of some paths. Leaving it, no thread may be left.

    Files are read on notice only, unless `read_seconds` is given.
    """

    def __init__(self, *paths, clock=None, **options):
        self.before = set(threading.enumerate())
        self.clock = clock or SystemClock()
        self.threads = Threads(self.clock)
        self.store = RulesetStore("policyd", now=self.clock.now)
        self.told = []
        self._news = threading.Condition()
        self.store.listen(self._hear)
        options = {"read_seconds": 3600, **options}
        self.reload = FileReload([str(path) for path in paths], self.store, self.clock, **options)

    def _hear(self, outcome):
        with self._news:
            self.told.append(outcome)
            self._news.notify_all()

    def __enter__(self):
        self.reload.start(self.threads)
        return self

    def __exit__(self, *_):
        self.threads.stop()
        self.reload.stop()
        assert self.threads.join(SECONDS) == []
        assert set(threading.enumerate()) <= self.before

    # --- waiting ---

    def until(self, holds, poke=lambda: None, every=None):
        """Wait until something holds of the state; `poke` may move a clock in between."""
        with self._news:
            for _ in range(1000):
                if self._news.wait_for(lambda: holds(self.store.state), every or SECONDS):
                    return self.store.state
                assert every, f"still {self.results} with {self.rules}"
                poke()
        raise AssertionError(f"still {self.results} with {self.rules}")

    def until_rules(self, *names):
        """Wait until just these rules are in force, and nothing is refused."""
        return self.until(lambda state: rules_of(state) == list(names) and state.refusal is None)

    def until_refused(self, part):
        """Wait until something is refused for a reason with some text in it; give the refusal."""
        state = self.until(lambda s: s.refusal and part in "\n".join(map(str, s.refusal.faults)))
        return state.refusal

    def until_told(self, count):
        """Wait until so many outcomes were told."""
        self.until(lambda _: len(self.told) >= count)

    def until_written_to(self):
        """Wait until it is noticed that a file is being written."""
        settling = self.reload._settling
        with settling._condition:
            assert settling._condition.wait_for(lambda: settling._open, SECONDS)

    @property
    def rules(self):
        return rules_of(self.store.state)

    @property
    def results(self):
        return [[result.value for result in outcome.results] for outcome in self.told]


def rules_of(state):
    return [made.name for made in state.ruleset.rules] if state.ruleset else []
