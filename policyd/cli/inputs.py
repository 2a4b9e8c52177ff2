"""Reads the pods and the cluster that a command is given.

Pods come from `--pod`, nodes from `--nodes` or `--cluster`, else from the pods' own file, else
from the sample cluster. Classes and namespaces count wherever they stand.
"""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from policyd.cli.failure import Failure, file_named, unreadable
from policyd.cli.notices import names, print_note, print_notes, refuse
from policyd.cli.progress import reading
from policyd.cli.report import in_words
from policyd.cli.request import Request
from policyd.language.suggest import closest
from policyd.model.cluster import make_cluster
from policyd.model.manifests import Document, Manifests, read_stream
from policyd.model.node import Node, make_node
from policyd.model.pod import Pod
from policyd.model.sample import NAME as SAMPLE
from policyd.model.sample import sample_cluster
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.model.wire import NodeHead
from policyd.values.errors import ValueFault
from policyd.values.times import Timestamp, parse_timestamp

T = TypeVar("T")

STDIN: Final = "-"
_CLASSES: Final = frozenset({"PriorityClass", "RuntimeClass"})
_SHARED: Final = frozenset({*_CLASSES, "Namespace"})


@dataclass(frozen=True, slots=True)
class View:
    """What one pod is decided on: the cluster without that pod, and the nodes that are wanted."""

    snapshot: Snapshot
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Pods, a cluster, and the names of the nodes that are wanted, which may be all.

    `origin` says where the nodes are from. `places` has the node of each pod that is on one.
    """

    pods: tuple[Pod, ...]
    snapshot: Snapshot
    origin: str
    wanted: frozenset[str]
    places: Mapping[tuple[str, str], Pod]

    def view(self, pod: Pod | None = None) -> View:
        """Give the cluster as it is decided on: a pod that is on a node counts as waiting."""
        snapshot = self.snapshot
        if pod is not None and (placed := self._placed(pod)) is not None:
            print_note(f"{_title(pod)} is on {placed.nodeName}; it is decided as if it were not")
            snapshot = _without(snapshot, placed)
        nodes = tuple(
            node for node in snapshot.nodes if not self.wanted or node.name in self.wanted
        )
        return View(snapshot, nodes)

    def _placed(self, pod: Pod) -> Pod | None:
        """Find the same pod on a node."""
        placed = None if pod.workload else self.places.get((pod.namespace, pod.name))
        if placed is None or (pod.uid and placed.uid and pod.uid != placed.uid):
            return None
        return placed


def read_inputs(request: Request, *, needs_pods: bool, needs_nodes: bool) -> Inputs:
    """Read what the options name, print notes, and pick what is wanted.

    The sample cluster is used where nodes are needed and none are given.

    Raises:
        Failure: something cannot be read or is not there.
    """
    now = time_of(request.now)
    files = _Files()
    given = _in_namespace(files.read(request.pod), request.namespace)
    cluster, origin = _cluster(files, request, given)
    if request.live and needs_pods and not request.pod:
        given = _only(cluster, frozenset({"Pod"}))
    if needs_nodes and not origin:
        cluster, origin = _beside(given, sample_cluster()), SAMPLE
    pods = load_pods(_pods_with_classes(given, cluster))
    snapshot = load_cluster(cluster, now)
    refuse(_distinct((*given.problems, *cluster.problems, *pods.problems, *snapshot.problems)))
    if origin == SAMPLE:
        print_note(f"no nodes are given: these are those of the sample cluster, {SAMPLE}")
    print_notes(_distinct((*given.notes, *cluster.notes, *pods.notes, *snapshot.notes)))
    return Inputs(
        pods=_chosen(pods.pods, request) if needs_pods or request.pod else (),
        snapshot=snapshot,
        origin=origin,
        wanted=_wanted(snapshot, request, origin) if needs_nodes else frozenset(),
        places=_places(snapshot) if origin != SAMPLE else {},
    )


def time_of(text: str | None) -> Timestamp:
    """Give the time of the decision: the one that is wished for, or the clock's."""
    if text is None:
        return Timestamp(time.time_ns())
    try:
        return parse_timestamp(text)
    except ValueFault as fault:
        raise Failure(fault.message, "--now", "write it as in `2026-06-01T12:00:00Z`") from None


# --- reading ---


class _Files:
    """Reads files, each once, whichever options name it."""

    def __init__(self) -> None:
        self._known: dict[str, Manifests] = {}

    def read(self, paths: Iterable[str]) -> Manifests:
        return sum((self._read(path) for path in dict.fromkeys(paths)), start=Manifests())

    def _read(self, path: str) -> Manifests:
        if path not in self._known:
            self._known[path] = _read(path)
        return self._known[path]


def _read(path: str) -> Manifests:
    if path == STDIN:
        return read_stream(sys.stdin.buffer, "<stdin>")
    file = file_named(path)
    try:
        with reading(file) as progress, file.open("rb") as stream:
            return read_stream(stream, path, progress)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _in_namespace(given: Manifests, namespace: str | None) -> Manifests:
    """Put the pods whose manifests name no namespace into one."""
    if namespace is None:
        return given
    documents = tuple(_moved(each, namespace) for each in given.documents)
    return replace(given, documents=documents)


def _moved(document: Document, namespace: str) -> Document:
    if document.kind != "Pod":
        return document
    content = msgspec.json.decode(document.json)
    metadata = content.get("metadata") or {}
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return document
    content["metadata"] = {**metadata, "namespace": namespace}
    return replace(document, json=msgspec.json.encode(content))


def _cluster(files: _Files, request: Request, given: Manifests) -> tuple[Manifests, str]:
    """Give what the cluster is made of, and where its nodes are from, if there are any."""
    if request.live:
        from policyd.cli.dump_cluster import read_cluster  # noqa: PLC0415 - rarely needed

        read, server = read_cluster(request.live)
        return _beside(given, read), server
    if request.cluster:
        return _beside(given, files.read(request.cluster)), _origin(request.cluster)
    if request.nodes:
        read = files.read(request.nodes)
        _note_left_out(read, request)
        nodes = _only(read, frozenset({"Node", *_SHARED}))
        return _beside(given, nodes), _origin(request.nodes)
    if any(given.of_kind("Node")):
        return given, _origin(request.pod)
    return _beside(given, Manifests()), ""


def _beside(given: Manifests, cluster: Manifests) -> Manifests:
    """Add the namespaces and classes that stand beside the pods."""
    known = {id(each) for each in cluster.documents}  # the pods may be of the same file
    shared = _only(given, _SHARED).documents
    return Manifests(tuple(each for each in shared if id(each) not in known)) + cluster


def _only(manifests: Manifests, kinds: frozenset[str]) -> Manifests:
    kept = tuple(each for each in manifests.documents if each.kind in kinds)
    return replace(manifests, documents=kept)


def _origin(paths: Iterable[str]) -> str:
    return ", ".join("<stdin>" if path == STDIN else path for path in paths)


def _note_left_out(read: Manifests, request: Request) -> None:
    left = sum(1 for each in read.of_kind("Pod"))
    if left:
        print_note(
            f"{_origin(request.nodes)}: {in_words(left, 'pod')} left out; "
            "to count them on their nodes, give the file with --cluster"
        )


def _pods_with_classes(given: Manifests, cluster: Manifests) -> Manifests:
    """Give the pods, with the classes of the whole input; those beside the pods count first."""
    classes = _only(cluster, _CLASSES).documents + _only(given, _CLASSES).documents
    return Manifests(_only(given, frozenset({"Pod"})).documents + classes)


def _distinct(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


# --- picking ---


def _chosen(pods: Sequence[Pod], request: Request) -> tuple[Pod, ...]:
    """Give the pods that are wanted; of a live cluster, those that wait if none is named."""
    origin = _origin(request.pod) or "the cluster"
    if request.live and not request.pod:
        pods = [pod for pod in pods if not pod.workload]
        if request.pod_name is None:
            pods = [pod for pod in pods if not (pod.nodeName or pod.is_finished)]
        if not pods:
            raise Failure(
                "no pod waits", origin, "name one with --pod-name, or give one with --pod"
            )
    if not pods:
        remedy = "give a file with a Pod, or with a workload such as a Deployment"
        raise Failure("there is no pod in this input", origin, remedy)
    if request.pod_name is None:
        return tuple(pods)
    name = request.pod_name
    chosen = tuple(pod for pod in pods if name in (pod.name, f"{pod.namespace}/{pod.name}"))
    if chosen:
        return chosen
    raise _unknown(f"there is no pod `{name}` in {origin}", name, _pod_names(pods), "--pod-name")


def _pod_names(pods: Sequence[Pod]) -> list[str]:
    return list(dict.fromkeys(pod.name for pod in pods))


def _wanted(snapshot: Snapshot, request: Request, origin: str) -> frozenset[str]:
    """Check the names of the nodes that are wanted."""
    if not snapshot.nodes:
        raise Failure("there is no node in this input", origin, "give a file with nodes")
    known = [node.name for node in snapshot.nodes]
    for name in request.node_names:
        if name not in known:
            raise _unknown(f"there is no node `{name}` in {origin}", name, known, "--node")
    return frozenset(request.node_names)


def _unknown(cause: str, name: str, known: Sequence[str], option: str) -> Failure:
    near = closest(name, known)
    return Failure(
        cause, option, f"did you mean `{near}`?" if near else f"there are {names(known)}"
    )


# --- the pod itself ---


def _places(snapshot: Snapshot) -> dict[tuple[str, str], Pod]:
    return {(pod.namespace, pod.name): pod for node in snapshot.nodes for pod in node.pods}


def _title(pod: Pod) -> str:
    return f"pod {pod.namespace}/{pod.name}"


def _without(snapshot: Snapshot, pod: Pod) -> Snapshot:
    """Give the cluster as it was before a pod came to its node."""
    nodes = [_node_without(n, pod) if n.name == pod.nodeName else n for n in snapshot.nodes]
    pods = [each for each in snapshot.pods if each is not pod]
    totals = make_cluster(nodes, snapshot.cluster.pods, snapshot.cluster.workload)
    return replace(snapshot, nodes=nodes, pods=pods, cluster=totals)


def _node_without(node: Node, pod: Pod) -> Node:
    others = [each for each in node.pods if each is not pod]
    return make_node(node.json, msgspec.json.decode(node.json, type=NodeHead), others)
