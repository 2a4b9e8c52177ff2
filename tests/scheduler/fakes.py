"""A clock that is moved by hand, and a cluster that answers as a test says."""

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

    def __init__(self, current: Ruleset | None) -> None:
        self.name = "policyd"
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
