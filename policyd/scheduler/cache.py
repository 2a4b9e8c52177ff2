"""The cluster as the scheduler sees it: nodes with the pods on them, those assumed included.

A pod that was decided counts on its node at once (it is *assumed*), before the cluster knows of
it; it stays until the cluster confirms it, or the bind fails and it is forgotten. Every state is
an immutable fact, so a snapshot is a list of references, and what a decision saw never changes
under it.

One lock, this object's. Lock order: cache before queue; nothing is called while it is held.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

import msgspec

from policyd.model.cluster import Cluster, make_cluster
from policyd.model.journal import EVERYTHING, Journal
from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.owners import Owners
from policyd.model.placement import totals_after, with_pod, without_pod
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.model.storage import Storage
from policyd.model.workload import Workload
from policyd.scheduler.changes import PODS_CHANGED
from policyd.scheduler.queue import key_of
from policyd.values.times import Timestamp

_RENEWED: Final = 20


class StaleDecisionError(Exception):
    """A decision made on a state of the node that is no more. It must be made again."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A pod on a node; `assumed` until the cluster confirms it.

    `waited` says that the cluster knew it before, and so will again if it is forgotten.
    """

    pod: Pod
    node: str
    assumed: bool
    waited: bool


class Cache:
    """Nodes, the pods on them, and namespaces."""

    def __init__(self, workload: Workload | None = None) -> None:
        """Start empty. The workload is that of the pods on the nodes, unless one is given."""
        self._lock = Lock()
        self._nodes: list[Node] = []
        self._at: dict[str, int] = {}  # each node's place in the list
        self._journal = Journal()  # what changed at which place
        self._placed: dict[str, _Placed] = {}
        self._strays: dict[str, dict[str, Pod]] = {}  # pods of nodes that are not known (yet)
        self._waiting: set[str] = set()  # pods that are on no node, nor assumed
        self._namespaces: dict[str, Namespace] = {}
        self._totals = make_cluster([], 0, workload)
        self._moved = 0  # pods placed and removed since the workload was looked at
        self._assumed = 0  # how many of those placed are assumed
        self._storage: Callable[[], Storage] = Storage
        self._owners: Callable[[], Owners] = Owners

    def look_around(self, storage: Callable[[], Storage], owners: Callable[[], Owners]) -> None:
        """Have snapshots show what these give. Before anything is decided; they must be quick."""
        self._storage, self._owners = storage, owners

    # --- from the cluster ---

    def put_node(self, node: Node) -> Node | None:
        """Take a node's state, without its pods, and give the state before, if there was one."""
        with self._lock:
            before = self._get(node.name)
            pods = before.pods if before else self._strays.pop(node.name, {}).values()
            self._set(node.name, _with_pods(node, pods))
            return before

    def remove_node(self, name: str) -> None:
        """Forget a node. Its pods are kept, for the case that it returns."""
        with self._lock:
            node = self._get(name)
            if node is not None:
                self._strays[name] = {key_of(pod): pod for pod in node.pods}
                self._set(name, None)

    def put_pod(self, pod: Pod) -> None:
        """Take the state of a pod. One that is bound is confirmed, if it was assumed.

        One that is on no node counts as waiting, and stays assumed where it is assumed: the
        cluster does not know of the bind yet.
        """
        key = key_of(pod)
        with self._lock:
            if pod.is_finished:
                self._waiting.discard(key)
                self._remove(key)
            elif pod.nodeName and not self._renewed(key, pod):
                self._remove(key)
                self._place(pod, pod.nodeName, assumed=False)
            elif not pod.nodeName and key not in self._placed:
                self._waiting.add(key)

    def remove_pod(self, pod: Pod) -> bool:
        """Forget a pod that is gone; say whether it took something of a node."""
        with self._lock:
            self._waiting.discard(key_of(pod))
            return self._remove(key_of(pod))

    def put_namespace(self, namespace: Namespace) -> None:
        """Take a namespace's state."""
        with self._lock:
            self._namespaces = {**self._namespaces, namespace.name: namespace}

    # --- for the scheduling cycle ---

    def snapshot(self, now: Timestamp) -> Snapshot:
        """Give the cluster as it is now."""
        storage, owners = self._storage(), self._owners()
        with self._lock:
            self._renew_workload()
            self._count_pods()
            return Snapshot(
                now=now,
                nodes=self._nodes.copy(),
                pods=[],
                namespaces=self._namespaces,
                cluster=self._totals,
                storage=storage,
                owners=owners,
                journal=self._journal,
                version=self._journal.version,
            )

    def assume(self, pod: Pod, node: Node) -> None:
        """Count a pod on a node, as the decision saw it.

        Raises:
            StaleDecisionError: the node is not in that state any more, or the pod is placed.
        """
        with self._lock:
            if key_of(pod) in self._placed:
                raise StaleDecisionError(f"pod {pod.namespace}/{pod.name} is on a node already")
            if self._get(node.name) is not node:
                raise StaleDecisionError(f"node {node.name} changed since the decision")
            self._place(pod, node.name, assumed=True)

    def forget(self, pod: Pod) -> None:
        """Take back an assumption. A pod that the cluster confirmed meanwhile stays."""
        with self._lock:
            placed = self._placed.get(key_of(pod))
            if placed is not None and placed.assumed:
                self._remove(key_of(pod))
                if placed.waited:
                    self._waiting.add(key_of(pod))

    # --- to look at ---

    @property
    def journal(self) -> Journal:
        """Give the journal of the nodes, by which their changes can be followed."""
        return self._journal

    def node(self, name: str) -> Node | None:
        """Give a node's state."""
        with self._lock:
            return self._get(name)

    def node_of(self, pod: Pod) -> str | None:
        """Give the node that a pod is on, assumed or bound."""
        with self._lock:
            placed = self._placed.get(key_of(pod))
            return placed.node if placed else None

    def bound_node(self, pod: Pod) -> str | None:
        """Give the node that the cluster said a pod is bound to."""
        with self._lock:
            placed = self._placed.get(key_of(pod))
            return placed.node if placed and not placed.assumed else None

    def assumed(self) -> list[tuple[Pod, str]]:
        """Give the pods that are assumed, with their nodes."""
        with self._lock:
            return [(p.pod, p.node) for p in self._placed.values() if p.assumed]

    def sizes(self) -> dict[str, int]:
        """Count nodes, pods on nodes, and those of them that are assumed, as the metric has it."""
        with self._lock:
            nodes, pods = len(self._nodes), len(self._placed)
            return {"nodes": nodes, "pods": pods, "assumed_pods": self._assumed}

    @property
    def totals(self) -> Cluster:
        """Give the totals over all nodes."""
        with self._lock:
            return self._totals

    # --- under the lock ---

    def _renew_workload(self) -> None:
        """Take the workload anew once a twentieth of the pods came or went.

        Shapes that changed with every pod would be worth less to rules than what they cost.
        """
        if self._moved * _RENEWED > len(self._placed) and not self._totals.workload.fixed:
            self._moved = 0
            pods = (placed.pod for placed in self._placed.values())
            self._totals = replace(self._totals, workload=Workload(pods))

    def _count_pods(self) -> None:
        pods = len(self._placed) + len(self._waiting)
        if pods != self._totals.pods:
            self._totals = replace(self._totals, pods=pods)

    def _get(self, name: str) -> Node | None:
        at = self._at.get(name)
        return None if at is None else self._nodes[at]

    def _set(self, name: str, node: Node | None, changed: frozenset[str] = EVERYTHING) -> None:
        """Take a node's state, or forget it; `changed` are the paths that differ from before."""
        before = self._get(name)
        if node is None:
            self._drop(name)
        elif before is None:
            self._at[name] = len(self._nodes)
            self._nodes.append(node)
            self._journal.add(self._at[name])
        else:
            self._nodes[self._at[name]] = node
            self._journal.add(self._at[name], changed)
        self._totals = totals_after(self._totals, before, node)

    def _drop(self, name: str) -> None:
        """Take a node out of the list; the last one moves to its place."""
        at = self._at.pop(name, None)
        if at is None:
            return
        last = self._nodes.pop()
        if at < len(self._nodes):
            self._nodes[at] = last
            self._at[last.name] = at
            self._journal.add(at)

    def _place(self, pod: Pod, name: str, *, assumed: bool) -> None:
        key = key_of(pod)
        self._placed[key] = _Placed(pod, name, assumed, key in self._waiting)
        self._waiting.discard(key)
        self._assumed += assumed
        self._moved += 1
        node = self._get(name)
        if node is None:
            self._strays.setdefault(name, {})[key_of(pod)] = pod
        else:
            self._set(name, with_pod(node, pod), PODS_CHANGED)

    def _renewed(self, key: str, pod: Pod) -> bool:
        """Take another state of a pod that takes the same where it is; say whether it does."""
        placed = self._placed.get(key)
        if placed is None or placed.node != pod.nodeName or not _takes_the_same(placed.pod, pod):
            return False
        self._placed[key] = _Placed(pod, placed.node, assumed=False, waited=False)
        self._assumed -= placed.assumed
        node = self._get(placed.node)
        if node is None:
            self._strays[placed.node][key] = pod
        else:
            at = self._at[placed.node]
            pods = [pod if other is placed.pod else other for other in node.pods]
            self._nodes[at] = msgspec.structs.replace(node, pods=pods)
            self._journal.add(at, PODS_CHANGED)
        return True

    def _remove(self, key: str) -> bool:
        placed = self._placed.pop(key, None)
        if placed is None:
            return False
        self._assumed -= placed.assumed
        self._moved += 1
        node = self._get(placed.node)
        if node is None:
            self._strays.get(placed.node, {}).pop(key, None)
        else:
            self._set(placed.node, without_pod(node, placed.pod), PODS_CHANGED)
        return True


def _takes_the_same(one: Pod, other: Pod) -> bool:
    """Say whether two states of a pod count for the same on their node."""
    return one.charge == other.charge and one.taken == other.taken


def _with_pods(node: Node, pods: Iterable[Pod]) -> Node:
    """Give a node that has pods which were known before it, or under its last state."""
    made = node
    for pod in node.pods:
        made = without_pod(made, pod)
    for pod in pods:
        made = with_pod(made, pod)
    return made
