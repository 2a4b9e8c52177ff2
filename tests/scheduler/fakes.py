"""A clock that is moved by hand, and a cluster that answers as a test says."""

import threading
from collections.abc import Callable

from policyd.policy.ruleset import Ruleset
from policyd.scheduler.protocols import ClusterError
from policyd.values.times import Timestamp


class HandClock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> Timestamp:
        return Timestamp(int(self.seconds * 10**9))

    def monotonic(self) -> float:
        return self.seconds


class HandProfile:
    """A profile whose rule set a test replaces."""

    def __init__(self, current: Ruleset | None, name: str = "policyd") -> None:
        self.name = name
        self.current = current


class ScriptedCluster:
    """Binds, unless the next entry of `answers` is an error; remembers what was written."""

    def __init__(self) -> None:
        self.answers: list[ClusterError | None] = []
        self.read_back: str | ClusterError | None = None
        self.bound: dict[str, str] = {}
        self.conditions: dict[str, tuple[str, str]] = {}
        self.events: list[tuple[str, str]] = []

    def bind(self, pod, node):
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.bound[pod.name] = node

    def bound_node(self, pod):  # noqa: ARG002 - one pod is enough here
        if isinstance(self.read_back, ClusterError):
            raise self.read_back
        return self.read_back

    def unschedulable(self, pod, reason, message):
        self.conditions[pod.name] = (reason, message)

    def scheduled(self, pod, node):
        self.events.append((pod.name, node))


class SteppedPool:
    """Does all work on real threads, one step at a time, in the order that a test likes.

    A step goes on until the work ends or pauses, so that what happens between two steps happens
    while the work is half done; nothing else runs meanwhile, and the same steps give the same.
    Work of one key is done in order, as the protocol has it. `delayed` waits for `pass_time`.
    """

    def __init__(self) -> None:
        self._chains: dict[object, list[_Stepper]] = {}
        self.delayed: list[tuple[Callable[[], None], str]] = []

    def submit(self, work, key=""):
        self._chains.setdefault(key or object(), []).append(_Stepper(work))

    def trail(self, work, key=""):
        self.submit(work, key)

    def later(self, seconds, work, key=""):  # noqa: ARG002 - time is the test's
        self.delayed.append((work, key))

    def __len__(self):
        return len(self._chains)

    def step(self, at=0):
        """Go on with one of the works that can go on."""
        key = list(self._chains)[at]
        if self._chains[key][0].step():
            del self._chains[key][0]
            if not self._chains[key]:
                del self._chains[key]

    def pass_time(self):
        """Let the time of what is delayed come."""
        delayed, self.delayed = self.delayed, []
        for work, key in delayed:
            self.submit(work, key)

    def run(self):
        """Go on with everything until it ends."""
        while self._chains:
            self.step()


class _Stepper:
    """A piece of work on a thread that goes on only when it is told to."""

    _current = threading.local()

    def __init__(self, work) -> None:
        self._work = work
        self._thread: threading.Thread | None = None  # noqa: TID251 - a test's own
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._ended = False
        self._error: BaseException | None = None

    def step(self) -> bool:
        """Go on; say whether it ended."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run)  # noqa: TID251 - as above
            self._thread.start()
        self._go.release()
        assert self._stopped.acquire(timeout=20)
        if self._ended:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._ended

    def _run(self) -> None:
        self._current.stepper = self
        self._go.acquire()
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the test is told
            self._error = error
        self._ended = True
        self._stopped.release()

    @classmethod
    def pause(cls) -> None:
        """Stop here until the next step, if this thread is one that is stepped."""
        stepper = getattr(cls._current, "stepper", None)
        if stepper is not None:
            stepper._stopped.release()
            stepper._go.acquire()


pause = _Stepper.pause


class HeldPool:
    """Keeps the work until a test lets it run, in the order that the test likes.

    `delayed` has what is to be done later, with its seconds.
    """

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []
        self.delayed: list[tuple[float, Callable[[], None]]] = []

    def submit(self, work, key=""):  # noqa: ARG002 - the order is the test's
        self.work.append(work)

    def trail(self, work, key=""):  # noqa: ARG002 - as above
        self.work.append(work)

    def later(self, seconds, work, key=""):  # noqa: ARG002 - as above
        self.delayed.append((seconds, work))

    def run(self):
        while self.work:
            self.work.pop(0)()

    def pass_time(self):
        """Let the time of what is delayed come."""
        delayed, self.delayed = self.delayed, []
        self.work += [work for _, work in delayed]
        self.run()
