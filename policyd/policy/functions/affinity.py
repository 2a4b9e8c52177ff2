"""Functions about pod affinity and anti-affinity: in which domains the pods are that terms mean.

Follows the plugin InterPodAffinity of kube-scheduler 1.36. Whatever reads all pods is computed once
for a pod and a state of the cluster; which pods a term means is kept with each node's state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from policyd.language.declarations import Function, function, overload
from policyd.model.cluster import Cluster
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.selectors import NOTHING, Labels
from policyd.model.surroundings import Surroundings
from policyd.model.tallies import Contribute, Contribution, sums_of
from policyd.model.wanted import Term, Terms, terms_of
from policyd.policy.functions.facts import AffinityDomains
from policyd.values.maps import TotalMap

T = TypeVar("T")

Scores = dict[str, dict[str, int]]
"""A number for each domain, by the key and the value of the label."""

_NO_LABELS: Final[Labels] = {}
_FEW: Final = 64


def required_affinity(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give, for each term that a pod requires, the domains with pods that match all of them."""
    return _once(pod, cluster, "affinity", _required_affinity)


def _required_affinity(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    terms = _resolved(terms_of(pod).affinity, around)
    if not terms:
        return []
    found = _near(terms, around)
    is_first = not found and all(term.matches(pod, _NO_LABELS) for term in terms)
    return [
        AffinityDomains(t.topology_key, TotalMap(found.get(t.topology_key, {}), 0), is_first)
        for t in terms
    ]


def _near(terms: tuple[Term, ...], around: Surroundings) -> Scores:
    def contribute(node: Node) -> Contribution:
        count = _matching_all(terms, node)
        return _parts(node, ((term.topology_key, count) for term in terms if count))

    return _by_key(around.sums(("near", terms), contribute))


def _matching_all(terms: tuple[Term, ...], node: Node) -> int:
    return sum(all(term.matches(pod, _NO_LABELS) for term in terms) for pod in node.pods)


def required_anti_affinity(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give, for each term by which a pod keeps away from others, the domains with such pods."""
    return _once(pod, cluster, "anti-affinity", _required_anti_affinity)


def _required_anti_affinity(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    terms = _resolved(terms_of(pod).anti_affinity, around)
    if not terms:
        return []

    def contribute(node: Node) -> Contribution:
        counts = ((term.topology_key, _matching(term, node)) for term in terms)
        return _parts(node, ((key, count) for key, count in counts if count))

    return _domains(_by_key(around.sums(("apart", terms), contribute)))


def repelling(pod: Pod, cluster: Cluster) -> list[AffinityDomains]:
    """Give the domains that pods with anti-affinity to a pod keep for themselves."""
    return _once(pod, cluster, "repelling", _repelling)


def _repelling(pod: Pod, around: Surroundings) -> list[AffinityDomains]:
    labels = _namespace_labels(pod, around)

    def contribute(node: Node) -> Contribution:
        return _parts(
            node,
            (
                (term.topology_key, 1)
                for other in _terms_on(node)
                for term in other.anti_affinity
                if term.matches(pod, labels)
            ),
        )

    return _domains(_by_key(_over_others(pod, around, "repelling", contribute)))


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
    own = _resolved(terms_of(pod).preferred, around)
    labels = _namespace_labels(pod, around)

    def liked(node: Node) -> Contribution:
        counts = ((term, _matching(term, node)) for term in own)
        return _parts(node, ((t.topology_key, t.weight * count) for t, count in counts if count))

    def liking(node: Node) -> Contribution:
        return _parts(
            node,
            (
                (term.topology_key, term.weight)
                for other in _terms_on(node)
                for term in _turned(other, hard_weight)
                if term.matches(pod, labels)
            ),
        )

    found = _by_key(around.sums(("liked", own), liked)) if own else {}
    others = _over_others(pod, around, f"liking {hard_weight}", liking)
    for (key, value), number in others.items():
        values = found.setdefault(key, {})
        values[value] = values.get(value, 0) + number
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


def _over_others(
    pod: Pod, around: Surroundings, what: str, contribute: Contribute
) -> Mapping[tuple[str, str], int]:
    """Add up what the terms of other pods say of a pod.

    Where few nodes have pods with terms, as on most clusters, those are gone through. The sums
    are kept else, for the next pod with the same labels.
    """
    nodes = _with_terms(around)
    if len(nodes) <= _FEW:
        return sums_of(nodes, contribute)
    namespace = frozenset(_namespace_labels(pod, around).items())
    key = (what, pod.namespace, frozenset(pod.labels.items()), namespace)
    return around.sums(key, contribute)


def _with_terms(around: Surroundings) -> list[Node]:
    """Give the nodes that have pods with terms of their own."""
    found: list[Node] | None = around.memo.get("with terms")
    if found is None:
        found = list(
            around.sums("with terms", lambda node: ((node, 1),) if _terms_on(node) else ())
        )
        around.memo["with terms"] = found
    return found


def _terms_on(node: Node) -> tuple[Terms, ...]:
    """Give the terms of the pods on a node that have some."""
    if not node.pods:
        return ()
    return _kept(
        node,
        "terms",
        lambda node: tuple(terms for pod in node.pods if not (terms := terms_of(pod)).is_empty),
    )


def _parts(node: Node, numbers: Iterable[tuple[str, int]]) -> Contribution:
    """Give numbers by topology key as those of the node's domains; keys that it lacks drop out."""
    labels = node.labels
    return tuple(((key, labels[key] or ""), number) for key, number in numbers if key in labels)


def _by_key(sums: Mapping[tuple[str, str], int]) -> Scores:
    found: Scores = {}
    for (key, value), number in sums.items():
        found.setdefault(key, {})[value] = number
    return found


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
