"""What reflectors see, told to the scheduler's cache and queue in the right order.

The cache is told before the queue, so that a pod that is tried because of a change is decided on
a cluster that has it. Called by the reflectors' threads; cache and queue have their own locks.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, Generic, TypeVar

import msgspec

from policyd.kube.resources import Piece
from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import (
    NAMESPACE_CHANGED,
    NODE_ADDED,
    NODE_REMOVED,
    PODS_CHANGED,
    PODS_PLACED,
    node_changes,
    pod_changes,
)
from policyd.scheduler.queue import SchedulingQueue

T = TypeVar("T")
J = TypeVar("J")

_BOOKKEEPING: Final = frozenset(
    f"pod.metadata.{field}" for field in ("resourceVersion", "managedFields", "generation")
)
"""What changes of a pod with every write to it, and tells nothing."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    deletion_timestamp: str | None = None


class _Deleted(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def is_leaving(pod: Pod) -> bool:
    """Say whether somebody deleted a pod that is still there: nothing is decided for it."""
    return pod.part(_Deleted).metadata.deletion_timestamp is not None


class _Quiet:
    """What handlers do where a list is no different from single changes."""

    def listing(self) -> None:
        """Do nothing: the difference to a new list is told as single changes."""

    def synced(self) -> None:
        """Do nothing: the reflector itself knows."""


class PodFeed(_Quiet):
    """Pods: those that wait go to the queue, those on a node count there, whoever placed them."""

    def __init__(self, cache: Cache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue

    def added(self, new: Pod) -> None:
        """Take a pod that appeared."""
        self._take(new)

    def modified(self, old: Pod, new: Pod) -> None:
        """Take a pod's new state."""
        if not old.nodeName or not new.nodeName:
            self._take(new)
            return
        self._cache.put_pod(new)
        if pod_changes(old, new) - _BOOKKEEPING:
            self._queue.changed(PODS_CHANGED)

    def deleted(self, old: Pod) -> None:
        """Forget a pod that is gone or has finished, wherever it is."""
        self._queue.delete(old)
        if self._cache.remove_pod(old):
            self._queue.changed(PODS_CHANGED)

    def _take(self, pod: Pod) -> None:
        self._cache.put_pod(pod)
        if pod.nodeName:
            self._queue.delete(pod)
            self._queue.changed(PODS_PLACED)  # rules may look for pods on nodes
        elif pod.is_finished or is_leaving(pod):
            self._queue.delete(pod)
        else:
            self._queue.add(pod)


class NodeFeed(_Quiet):
    """Nodes."""

    def __init__(self, cache: Cache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue

    def added(self, new: Node) -> None:
        """Take a node that appeared."""
        self._cache.put_node(new)
        self._queue.changed(NODE_ADDED)

    def modified(self, old: Node, new: Node) -> None:
        """Take a node's new state."""
        self._cache.put_node(new)
        self._queue.changed(node_changes(old, new))

    def deleted(self, old: Node) -> None:
        """Forget a node; its pods are told of by themselves."""
        self._cache.remove_node(old.name)
        self._queue.changed(NODE_REMOVED)


class NamespaceFeed(_Quiet):
    """Namespaces. One that is gone is kept: its pods are gone before it."""

    def __init__(self, cache: Cache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue

    def added(self, new: Namespace) -> None:
        """Take a namespace that appeared."""
        self._cache.put_namespace(new)
        self._queue.changed(NAMESPACE_CHANGED)

    def modified(self, old: Namespace, new: Namespace) -> None:
        """Take a namespace's new state."""
        del old
        self.added(new)

    def deleted(self, old: Namespace) -> None:
        """Do nothing."""


class Gathering(_Quiet, Generic[T, J]):
    """Objects that are looked at together, put together when somebody looks.

    One lock, the object's: reflectors of several kinds write, and the deciding thread reads.
    """

    def __init__(
        self,
        join: Callable[[Iterable[T]], J],
        queue: SchedulingQueue,
        changes: frozenset[str],
    ) -> None:
        self._join = join
        self._queue = queue
        self._changes = changes
        self._lock = Lock()
        self._pieces: dict[tuple[str, str], T] = {}
        self._joined: J | None = None

    def current(self) -> J:
        """Give all of them; the same object for as long as nothing changes."""
        with self._lock:
            if self._joined is None:
                self._joined = self._join(self._pieces.values())
            return self._joined

    def added(self, new: Piece[T]) -> None:
        """Take an object that appeared."""
        with self._lock:
            self._pieces[new.kind, new.key] = new.value
            self._joined = None
        self._queue.changed(self._changes)

    def modified(self, old: Piece[T], new: Piece[T]) -> None:
        """Take an object's new state, if it shows in what is looked at."""
        if old.value != new.value:
            self.added(new)

    def deleted(self, old: Piece[T]) -> None:
        """Forget an object that is gone."""
        with self._lock:
            self._pieces.pop((old.kind, old.key), None)
            self._joined = None
        self._queue.changed(self._changes)
