"""A cluster in memory: takes binds, and tells cache and queue what happens, as informers do."""

from collections.abc import Callable
from threading import RLock
from typing import Any

import msgspec

from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.pod import Pod, with_record
from policyd.scheduler.cache import Cache
from policyd.scheduler.changes import (
    NAMESPACE_CHANGED,
    NODE_ADDED,
    NODE_REMOVED,
    PODS_CHANGED,
    PODS_PLACED,
    node_changes,
)
from policyd.scheduler.protocols import ClusterError, Remedy
from policyd.scheduler.queue import SchedulingQueue, key_of


class EmbeddedCluster:
    """The cluster of a simulation: the truth about nodes and pods, and who is told of it.

    One lock, this object's, which comes before those of cache and queue: what happens is told in
    the order in which it happens. `conditions` has the last condition and message that was
    written for each pod that waits.
    """

    def __init__(self, cache: Cache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue
        self._lock = RLock()
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.conditions: dict[str, tuple[str, str]] = {}

    # --- what happens in the cluster ---

    def put_node(self, node: Node) -> None:
        """Add a node, or change it."""
        with self._lock:
            before = self.nodes.get(node.name)
            self.nodes[node.name] = node
            self._cache.put_node(node)
            self._queue.changed(NODE_ADDED if before is None else node_changes(before, node))

    def remove_node(self, name: str) -> None:
        """Remove a node with the pods that are on it."""
        with self._lock:
            for pod in [pod for pod in self.pods.values() if pod.nodeName == name]:
                self.delete(pod)
            if self.nodes.pop(name, None) is not None:
                self._cache.remove_node(name)
                self._queue.changed(NODE_REMOVED)

    def put_namespace(self, namespace: Namespace) -> None:
        """Add a namespace, or change it."""
        with self._lock:
            self._cache.put_namespace(namespace)
            self._queue.changed(NAMESPACE_CHANGED)

    def create(self, pod: Pod) -> None:
        """Add a pod, or change it: to the queue, or to its node where it has one."""
        with self._lock:
            before = self.pods.get(key_of(pod))
            self.pods[key_of(pod)] = pod
            self._cache.put_pod(pod)
            if not (pod.nodeName or pod.is_finished):
                self._queue.add(pod)
                return
            self._queue.delete(pod)
            comes = not pod.is_finished and (before is None or not before.nodeName)
            self._queue.changed(PODS_PLACED if comes else PODS_CHANGED)

    def is_bound(self, pod: Pod) -> bool:
        """Say whether a pod is on a node."""
        with self._lock:
            known = self.pods.get(key_of(pod))
        return known is not None and bool(known.nodeName)

    def delete(self, pod: Pod) -> None:
        """Remove a pod, as when it ends."""
        with self._lock:
            self.pods.pop(key_of(pod), None)
            self.conditions.pop(key_of(pod), None)
            self._queue.delete(pod)
            if self._cache.remove_pod(pod):
                self._queue.changed(PODS_CHANGED)

    # --- the scheduler's protocol ---

    def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod.

        Raises:
            ClusterError: the pod or the node is gone, or the pod is bound already.
        """
        with self._lock:
            known = self.pods.get(key_of(pod))
            if known is None:
                raise ClusterError(f"pod {pod.name} is gone", Remedy.NEEDS_PERSON)
            if node not in self.nodes:
                raise ClusterError(f"node {node} is gone", Remedy.RETRY_AT_ONCE)
            if known.nodeName:
                raise ClusterError(f"pod {pod.name} is bound already", Remedy.NEEDS_PERSON)
            bound = with_record(bound_to(known, node), pod.taken)
            self.pods[key_of(pod)] = bound
            self.conditions.pop(key_of(pod), None)
            self._cache.put_pod(bound)
            self._queue.changed(PODS_PLACED)

    def bound_node(self, pod: Pod) -> str | None:
        """Give the node of a pod.

        Raises:
            ClusterError: the pod is gone.
        """
        with self._lock:
            known = self.pods.get(key_of(pod))
        if known is None:
            raise ClusterError(f"pod {pod.name} is gone", Remedy.NEEDS_PERSON)
        return known.nodeName or None

    def unschedulable(self, pod: Pod, reason: str, message: str) -> None:
        """Keep the condition of a pod that waits."""
        with self._lock:
            if key_of(pod) in self.pods:
                self.conditions[key_of(pod)] = (reason, message)

    def scheduled(self, pod: Pod, node: str) -> None:
        """Take the event of a bound pod, which nobody reads here."""


class InlinePool:
    """Does the work of the pool at once, so that a simulation is the same every time."""

    def submit(self, work: Callable[[], None], key: str = "") -> None:  # noqa: ARG002 - all is in order
        """Do the work."""
        work()

    def trail(self, work: Callable[[], None], key: str = "") -> None:  # noqa: ARG002 - as above
        """Do the work."""
        work()

    def later(self, seconds: float, work: Callable[[], None], key: str = "") -> None:  # noqa: ARG002 - as above
        """Do the work: nothing here is ever left open, so that no time need pass."""
        work()


def bound_to(pod: Pod, node: str) -> Pod:
    """Give a pod as the API server has it once it is bound."""
    raw: dict[str, Any] = msgspec.json.decode(pod.json)
    raw["spec"] = {**(raw.get("spec") or {}), "nodeName": node}
    return msgspec.structs.replace(pod, json=msgspec.json.encode(raw), nodeName=node)
