"""What the scheduler needs from a cluster, a clock and whoever watches."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from policyd.model.pod import Pod
from policyd.values.times import Timestamp


class Remedy(Enum):
    """What helps after a failure: how every error of an attempt is classed."""

    RETRY_AT_ONCE = "retry at once"
    RETRY_WITH_BACKOFF = "retry with backoff"
    WAIT_FOR_CHANGE = "wait for a change of the cluster"
    NEEDS_PERSON = "needs a person"


class ClusterError(Exception):
    """A call to the cluster that failed, and what helps.

    `ambiguous` says that the call may have taken effect all the same (a timeout, a lost
    connection), so that it must be read back before anything is undone.
    """

    def __init__(self, message: str, remedy: Remedy, *, ambiguous: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.ambiguous = ambiguous


class Clock(Protocol):
    """Time: of day for rules and objects, and monotonic for waiting and measuring."""

    def now(self) -> Timestamp:
        """Give the time of day."""
        ...

    def monotonic(self) -> float:
        """Give seconds since some moment; never goes back."""
        ...


class Cluster(Protocol):
    """Where pods are bound and what is written about them. Any thread may call any of these."""

    def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod to a node, by its uid; and write the devices that it has on record.

        The record is the pod's annotation `policyd.io/devices`, where it has one.

        Raises:
            ClusterError: it was not bound, or it is not known whether it was.
        """
        ...

    def bound_node(self, pod: Pod) -> str | None:
        """Read back the node that a pod is bound to; nothing where it is on none.

        Raises:
            ClusterError: it cannot be read; `NEEDS_PERSON` where the pod is gone.
        """
        ...

    def unschedulable(self, pod: Pod, reason: str, message: str) -> None:
        """Write the pod's condition `PodScheduled=False` and the event that tells why."""
        ...

    def scheduled(self, pod: Pod, node: str) -> None:
        """Write the event that tells where the pod was bound."""
        ...


class Pool(Protocol):
    """Where work that waits is done: binds, status, events.

    Work of one key is done in the order in which it came. Who hands in work may have to wait
    until there is room. A simulation does everything at once.
    """

    def submit(self, work: Callable[[], None], key: str = "") -> None:
        """Do the work on another thread, soon."""
        ...

    def trail(self, work: Callable[[], None], key: str = "") -> None:
        """Do the work on another thread, once nothing more urgent waits."""
        ...

    def later(self, seconds: float, work: Callable[[], None], key: str = "") -> None:
        """Do the work on another thread, after so many seconds."""
        ...
