"""A cluster at one moment: its nodes with the pods on them, its namespaces, its totals.

Nodes and pods keep the order of the input. Pods that finished take nothing of their node, pods
that name a node which is not there are on none, and of objects with one name the first counts;
of the last two a note is made. A bound pod counts whatever its phase, and one without a node
waits, even if its phase is `Running`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from policyd.model.admission import Classes, admit, classes_of
from policyd.model.cluster import Cluster, make_cluster
from policyd.model.faults import ObjectError, decode_part, decode_whole
from policyd.model.journal import Journal
from policyd.model.manifests import Document, Manifests
from policyd.model.namespace import Namespace, bare_namespace, make_namespace
from policyd.model.node import Node, make_node
from policyd.model.objects import ApiObject, name_of
from policyd.model.owners import Owner, Owners, join_owners, make_owner
from policyd.model.places import Note, Problem
from policyd.model.pod import Pod, make_pod
from policyd.model.storage import STORAGE_KINDS, Storage, join_storage, make_storage_object
from policyd.model.surroundings import Surroundings
from policyd.model.wire import NamespaceHead, NodeHead, PodHead, PriorityClass, RuntimeClass
from policyd.model.workload import Workload
from policyd.values.errors import ValueFault
from policyd.values.times import Timestamp

T = TypeVar("T")
A = TypeVar("A", bound=ApiObject)

_CHECKED: Final = frozenset({"Pod", "Node", "Namespace"})  # completely, where the input is small
_TWICE: Final = "an object of this kind and name came before, and counts"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at the time `now`. `pods` are all of them, also those on no node.

    One of a cluster that goes on has the journal of its nodes, and the version that this is.
    """

    now: Timestamp
    nodes: list[Node]
    pods: list[Pod]
    namespaces: Mapping[str, Namespace]
    cluster: Cluster
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    journal: Journal | None = None
    version: int = 0
    storage: Storage = field(default_factory=Storage)
    owners: Owners = field(default_factory=Owners)
    around: Surroundings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep together what functions of the language look into."""
        around = Surroundings(
            self.nodes, self.namespaces, self.storage, self.owners, self.journal, self.version
        )
        object.__setattr__(self, "around", around)

    @property
    def surveyed(self) -> Cluster:
        """Give the cluster's totals as rules get them, with all that is around."""
        return replace(self.cluster, around=self.around)

    def namespace(self, name: str) -> Namespace:
        """Give a namespace; one that is not in the input has nothing but its name."""
        return self.namespaces.get(name) or bare_namespace(name)

    def node(self, name: str) -> Node | None:
        """Give a node by its name."""
        return next((node for node in self.nodes if node.name == name), None)


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods, each with the document it was read from, and what was found on the way."""

    pods: list[Pod]
    documents: list[Document]
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_pods(manifests: Manifests) -> Pods:
    """Make every pod of the input, those of pod templates included."""
    loader = _Loader(manifests)
    found = list(loader.pods(manifests.of_kind("Pod")))
    return Pods(
        [pod for pod, _ in found],
        [document for _, document in found],
        tuple(loader.notes),
        tuple(loader.problems),
    )


def load_cluster(manifests: Manifests, now: Timestamp) -> Snapshot:
    """Make the cluster that the input describes. Pod templates are no pods of the cluster."""
    loader = _Loader(manifests)
    documents = (each for each in manifests.of_kind("Pod") if not each.workload)
    pods = list(loader.once(loader.pods(documents)))
    bound: dict[str, list[tuple[Pod, Document]]] = {}
    for pod, document in pods:
        if pod.nodeName:
            bound.setdefault(pod.nodeName, []).append((pod, document))
    nodes = [node for node, _ in loader.once(loader.nodes(bound))]
    loader.note_strays(bound, {node.name for node in nodes})
    namespaces = [each for each, _ in loader.once(loader.namespaces())]
    unfinished = sum(not pod.is_finished for pod, _ in pods)
    storage, owners = loader.storage(), loader.owners()
    return Snapshot(
        now=now,
        nodes=nodes,
        pods=[pod for pod, _ in pods],
        namespaces={each.name: each for each in namespaces},
        cluster=make_cluster(nodes, unfinished, Workload(pod for pod, _ in pods)),
        notes=tuple(loader.notes),
        problems=tuple(loader.problems),
        storage=storage,
        owners=owners,
    )


Bound = Mapping[str, list[tuple[Pod, Document]]]


@dataclass(slots=True)
class _Loader:
    """Makes objects of documents, and collects what is to be said about them."""

    manifests: Manifests
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def pods(self, documents: Iterator[Document]) -> Iterator[tuple[Pod, Document]]:
        classes = self._classes()

        def make(document: Document) -> Pod:
            head = decode_part(document.json, PodHead)
            data, head, unknown = admit(document.json, head, classes)
            pod = make_pod(data, head, document.workload)
            for reason in unknown:
                self.notes.append(Note("Pod", pod.name, document.place, reason))
            return pod

        return self._made(documents, make)

    def nodes(self, bound: Bound) -> Iterator[tuple[Node, Document]]:
        def make(document: Document) -> Node:
            head = decode_part(document.json, NodeHead)
            pods = [pod for pod, _ in bound.get(name_of(head.metadata), ())]
            return make_node(document.json, head, pods)

        return self._made(self.manifests.of_kind("Node"), make)

    def namespaces(self) -> Iterator[tuple[Namespace, Document]]:
        def make(document: Document) -> Namespace:
            head = decode_part(document.json, NamespaceHead)
            return make_namespace(document.json, head)

        return self._made(self.manifests.of_kind("Namespace"), make)

    def storage(self) -> Storage:
        return join_storage(
            each
            for kind in STORAGE_KINDS
            for each, _ in self._made(
                self.manifests.of_kind(kind),
                lambda document: make_storage_object(document.kind, document.json),
            )
        )

    def owners(self) -> Owners:
        def make(document: Document) -> Owner:
            kind = document.workload or document.kind
            return make_owner(kind, document.selecting or document.json)

        documents = self.manifests.documents
        selecting = (each for each in documents if each.selecting or each.kind == "Service")
        return join_owners(each for each, _ in self._made(selecting, make))

    def once(self, found: Iterator[tuple[A, Document]]) -> Iterator[tuple[A, Document]]:
        """Pass on the first object of each name."""
        seen: set[tuple[str, str]] = set()
        for each, document in found:
            key = (getattr(each, "namespace", ""), each.name)
            if key in seen:
                self.notes.append(Note(document.kind, each.name, document.place, _TWICE))
                continue
            seen.add(key)
            yield each, document

    def note_strays(self, bound: Bound, nodes: set[str]) -> None:
        """Note the pods whose node is not there."""
        for name, pods in bound.items():
            for pod, document in pods if name not in nodes else ():
                reason = f"its node {name} is not in the input, so it is on none"
                place = document.place_of(("spec", "nodeName"))
                self.notes.append(Note("Pod", pod.name, place, reason))

    def _classes(self) -> Classes:
        def decoded(kind: str, part: type[T]) -> list[T]:
            documents = self.manifests.of_kind(kind)
            made = self._made(documents, lambda document: decode_part(document.json, part))
            return [each for each, _ in made]

        return classes_of(
            decoded("PriorityClass", PriorityClass), decoded("RuntimeClass", RuntimeClass)
        )

    def _made(
        self, documents: Iterator[Document], make: Callable[[Document], T]
    ) -> Iterator[tuple[T, Document]]:
        """Make an object of each document that is right; of the others a problem."""
        for document in documents:
            try:
                if document.source is not None and document.kind in _CHECKED:
                    decode_whole(document.json, f"v1.{document.kind}")
                yield make(document), document
            except ObjectError as error:
                place = document.place_of(error.path)
                self.problems.append(Problem(place, error.cause, error.remedy))
            except ValueFault as fault:
                self.problems.append(Problem(document.place, fault.message))
