"""Functions about pod affinity and anti-affinity: in which domains the pods are that terms mean.

Follows the plugin InterPodAffinity of kube-scheduler 1.36. Whatever reads all pods is computed once
for a pod and a state of the cluster; which pods a term means is kept with each node's state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from policyd.language.declarations import Function, function, overload
from policyd.model.cluster import Cluster
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.selectors import NOTHING, Labels
from policyd.model.surroundings import Surroundings
from policyd.model.wanted import Term, Terms, terms_of
from policyd.policy.functions.facts import AffinityDomains
from policyd.values.maps import TotalMap

T = TypeVar("T")

Scores = dict[str, dict[str, int]]
"""A number for each domain, by the key and the value of the label."""

_NO_LABELS: Final[Labels] = {}


def required_affinity(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give, for each term that a pod requires, the domains with pods that match all of them."""
    return _once(pod, cluster, "affinity", _required_affinity)


def _required_affinity(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    terms = _resolved(terms_of(pod).affinity, around)
    if not terms:
        return []
    found = _near(terms, around.nodes)
    is_first = not found and all(term.matches(pod, _NO_LABELS) for term in terms)
    return [
        AffinityDomains(t.topology_key, TotalMap(found.get(t.topology_key, {}), 0), is_first)
        for t in terms
    ]


def _near(terms: tuple[Term, ...], nodes: Iterable[Node]) -> Scores:
    found: Scores = {}
    for node in nodes:
        count = _kept(node, ("near", terms), lambda node: _matching_all(terms, node))
        if count:
            for term in terms:
                _add(found, node, term.topology_key, count)
    return found


def _matching_all(terms: tuple[Term, ...], node: Node) -> int:
    return sum(all(term.matches(pod, _NO_LABELS) for term in terms) for pod in node.pods)


def required_anti_affinity(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give, for each term by which a pod keeps away from others, the domains with such pods."""
    return _once(pod, cluster, "anti-affinity", _required_anti_affinity)


def _required_anti_affinity(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    found: Scores = {}
    terms = _resolved(terms_of(pod).anti_affinity, around)
    for term in terms:
        for node in around.nodes:
            count = _matching(term, node)
            if count:
                _add(found, node, term.topology_key, count)
    return _domains(found)


def repelling(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give the domains that pods with anti-affinity to a pod keep for themselves."""
    return _once(pod, cluster, "repelling", _repelling)


def _repelling(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    found: Scores = {}
    labels = _namespace_labels(pod, around)
    for node, others in _with_terms(around):
        for other in others:
            for term in other.anti_affinity:
                if term.matches(pod, labels):
                    _add(found, node, term.topology_key, 1)
    return _domains(found)


def preferred_affinity(pod: Pod, cluster: Cluster, hard_weight: int) -> list[AffinityDomains]:
    """Sum up the weights of all preferences that concern a pod, by domain.

    Those of the pod for others and of others for the pod; where others require to be near the
    pod, that counts for `hard_weight`.
    """
    return _once(
        pod,
        cluster,
        f"preferred {hard_weight}",
        lambda pod, around: _preferred_affinity(pod, around, hard_weight),
    )


def _preferred_affinity(pod: Pod, around: Surroundings, hard_weight: int) -> list[AffinityDomains]:
    found: Scores = {}
    for term in _resolved(terms_of(pod).preferred, around):
        for node in around.nodes:
            count = _matching(term, node)
            if count:
                _add(found, node, term.topology_key, term.weight * count)
    labels = _namespace_labels(pod, around)
    for node, others in _with_terms(around):
        for other in others:
            for term in _turned(other, hard_weight):
                if term.matches(pod, labels):
                    _add(found, node, term.topology_key, term.weight)
    return _domains(found)


def _turned(other: Terms, hard_weight: int) -> Iterator[Term]:
    """Give the terms of another pod that count for this one, with their weights."""
    if hard_weight > 0:
        for term in other.affinity:
            yield replace(term, weight=hard_weight)
    yield from other.preferred


# --- counting ---


def _once(
    pod: Pod,
    cluster: Cluster,
    what: str,
    make: Callable[[Pod, Surroundings], list[AffinityDomains]],
) -> list[AffinityDomains]:
    """Compute something for a pod once in a state of the cluster."""
    memo = cluster.around.memo
    key = (what, id(pod))
    found: tuple[Pod, list[AffinityDomains]] | None = memo.get(key)
    if found is None:
        found = memo[key] = (pod, make(pod, cluster.around))  # with the pod, that it stays
    return found[1]


def _kept(node: Node, key: object, make: Callable[[Node], T]) -> T:
    """Compute something for a state of a node once."""
    found: T | None = node.memo.get(key)
    if found is None:
        found = node.memo[key] = make(node)
    return found


def _matching(term: Term, node: Node) -> int:
    """Count the pods on a node that a term means, whose namespaces are resolved."""
    if not node.pods:
        return 0
    key = ("meant", term.selector, term.namespaces, term.namespace_selector)
    return _kept(
        node,
        key,
        lambda node: sum(term.matches(pod, _NO_LABELS) for pod in node.pods),
    )


@dataclass(frozen=True, slots=True)
class _Others:
    """The terms of the pods on a node that have some."""

    terms: tuple[Terms, ...]


def _with_terms(around: Surroundings) -> list[tuple[Node, tuple[Terms, ...]]]:
    """Give the nodes that have pods with terms of their own, and those terms."""
    found: list[tuple[Node, tuple[Terms, ...]]] | None = around.memo.get("with terms")
    if found is None:
        found = [
            (node, others)
            for node in around.nodes
            if node.pods and (others := _kept(node, "terms", _terms_on).terms)
        ]
        around.memo["with terms"] = found
    return found


def _terms_on(node: Node) -> _Others:
    found = [terms_of(pod) for pod in node.pods]
    return _Others(tuple(terms for terms in found if not terms.is_empty))


def _add(found: Scores, node: Node, key: str, number: int) -> None:
    if key in node.labels:
        values = found.setdefault(key, {})
        value = node.labels[key] or ""
        values[value] = values.get(value, 0) + number


def _domains(found: Scores) -> list[AffinityDomains]:
    return [AffinityDomains(key, TotalMap(values, 0)) for key, values in found.items()]


# --- namespaces ---


def _resolved(terms: tuple[Term, ...], around: Surroundings) -> tuple[Term, ...]:
    """Turn the namespace selectors of a pod's own terms into names."""
    return tuple(_with_names(term, around) for term in terms)


def _with_names(term: Term, around: Surroundings) -> Term:
    """Turn a namespace selector into names.

    As in 1.36.3, it is also compared with no labels at all afterwards, so that one of nothing
    but NotIn or DoesNotExist selects every namespace (kubernetes/kubernetes#141526).
    """
    selector = term.namespace_selector
    if selector.nothing:
        return term
    names = {name for name, each in around.namespaces.items() if selector.matches(each.labels)}
    matches_none = selector.matches(_NO_LABELS)
    return replace(
        term,
        namespaces=term.namespaces | names,
        namespace_selector=selector if matches_none else NOTHING,
    )


def _namespace_labels(pod: Pod, around: Surroundings) -> Labels:
    """Give the labels of a pod's namespace; none where it is not known."""
    namespace = around.namespaces.get(pod.namespace)
    labels: Mapping[str, str | None] = _NO_LABELS if namespace is None else namespace.labels
    return labels


_POD_READS: Final = ("labels", "namespace", "spec.affinity")
_CLUSTER_READS: Final = ("nodes", "pods", "namespaces")

FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "affinityDomains",
        overload(
            "pod_affinity_domains",
            "Pod.(Cluster) -> list(AffinityDomains)",
            required_affinity,
            portable=False,
            reads={0: _POD_READS, 1: _CLUSTER_READS},
            eviction=False,
        ),
        doc="Gives, for each term of pod affinity that the pod requires, the domains where pods "
        "are that match all of these terms.",
    ),
    function(
        "antiAffinityDomains",
        overload(
            "pod_anti_affinity_domains",
            "Pod.(Cluster) -> list(AffinityDomains)",
            required_anti_affinity,
            portable=False,
            reads={0: _POD_READS, 1: _CLUSTER_READS},
        ),
        doc="Gives the domains where pods are from which the pod must keep away.",
    ),
    function(
        "repellingDomains",
        overload(
            "pod_repelling_domains",
            "Pod.(Cluster) -> list(AffinityDomains)",
            repelling,
            portable=False,
            reads={0: _POD_READS, 1: _CLUSTER_READS},
        ),
        doc="Gives the domains where pods are that must keep away from the pod.",
    ),
    function(
        "preferredDomains",
        overload(
            "pod_preferred_domains",
            "Pod.(Cluster, int) -> list(AffinityDomains)",
            preferred_affinity,
            portable=False,
            reads={0: _POD_READS, 1: _CLUSTER_READS},
        ),
        doc="Sums up by domain the weights of what the pod and other pods prefer of each other; "
        "that others require the pod counts for the number given.",
    ),
)
