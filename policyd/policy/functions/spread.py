"""Functions about topology spread: the constraints of a pod, and the pods in each domain.

Follows the plugin PodTopologySpread of kube-scheduler 1.36. What is counted on a node is kept with
the node's state, and what follows for all nodes with the cluster's.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import log
from typing import Final

from policyd.language.declarations import Function, function, overload
from policyd.model.cluster import Cluster
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.selectors import Selector
from policyd.model.surroundings import Surroundings
from policyd.model.taints import tolerates
from policyd.model.tallies import Contribution
from policyd.model.wanted import (
    SYSTEM_SPREADING,
    Spreading,
    is_terminating,
    node_demand,
    spreadings_of,
)
from policyd.policy.functions.facts import SpreadConstraint, SpreadDomains
from policyd.values.maps import TotalMap

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label that each node has a value of its own for."""

_HARD_TAINTS: Final = ("NoSchedule", "NoExecute")


def spread_constraints(pod: Pod, cluster: Cluster) -> list[SpreadConstraint]:
    """Give a pod's constraints; without any, kube-scheduler's own where something selects it."""
    memo = cluster.around.memo
    key = ("constraints", id(pod))
    found: tuple[Pod, list[SpreadConstraint]] | None = memo.get(key)
    if found is None:
        found = memo[key] = (pod, _constraints(pod, cluster))  # with the pod, that it stays
    return found[1]


def _constraints(pod: Pod, cluster: Cluster) -> list[SpreadConstraint]:
    own = spreadings_of(pod)
    if own:
        return _made(pod, own, is_default=False)
    selector = cluster.around.owners.selector_for(pod)
    if selector.is_empty:
        return []
    defaults = tuple(replace(each, selector=selector) for each in SYSTEM_SPREADING)
    return _made(pod, defaults, is_default=True)


def _made(pod: Pod, spreadings: Sequence[Spreading], *, is_default: bool) -> list[SpreadConstraint]:
    return [
        SpreadConstraint(
            pod,
            each,
            tuple(other.topology_key for other in spreadings if other.hard == each.hard),
            is_default,
        )
        for each in spreadings
    ]


def domains(constraint: SpreadConstraint, cluster: Cluster) -> SpreadDomains:
    """Count the pods in the domains of a constraint.

    A node counts if it has the labels of all constraints of the kind (of kube-scheduler's own it
    needs none), and passes the constraint's policies for node affinity and taints.
    """
    memo = cluster.around.memo
    key = ("domains", id(constraint))
    found: tuple[SpreadConstraint, SpreadDomains] | None = memo.get(key)
    if found is None:
        found = memo[key] = (constraint, _domains(constraint, cluster.around))
    return found[1]


def _domains(constraint: SpreadConstraint, around: Surroundings) -> SpreadDomains:
    def contribute(node: Node) -> Contribution:
        if not _has_keys(constraint, node) or not _is_included(constraint, node):
            return ()
        value = node.labels[constraint.topologyKey] or ""
        return ((value, _matching(constraint, node)),)

    counts = around.sums(_kind(constraint), contribute)
    return SpreadDomains(TotalMap(dict(counts), 0), min(counts.values(), default=0))


def _kind(constraint: SpreadConstraint) -> Hashable:
    """Give what stands for all that a constraint counts, whichever pod has it."""
    pod, spreading = constraint.pod, constraint.spreading
    demand = node_demand(pod) if spreading.honors_affinity else None
    tolerations = (
        tuple(tuple(sorted(each.items())) for each in pod.tolerations)
        if spreading.honors_taints
        else None
    )
    keys = () if constraint.isDefault else constraint.keys
    counted = (spreading.topology_key, keys, spreading.selector, pod.namespace)
    return ("spread", *counted, demand, tolerations)


def _is_included(constraint: SpreadConstraint, node: Node) -> bool:
    pod, spreading = constraint.pod, constraint.spreading
    if spreading.honors_affinity and not node_demand(pod).matches(node.name, node.labels):
        return False
    return not spreading.honors_taints or all(
        taint["effect"] not in _HARD_TAINTS or tolerates(pod, taint) for taint in node.taints
    )


def pods_on(constraint: SpreadConstraint, node: Node) -> int:
    """Count the pods on a node that a constraint counts."""
    return _matching(constraint, node)


def _matching(constraint: SpreadConstraint, node: Node) -> int:
    selector, namespace = constraint.spreading.selector, constraint.pod.namespace
    if selector.is_empty or not node.pods:
        return 0
    key = ("matching", selector, namespace)
    count: int | None = node.memo.get(key)
    if count is None:
        count = node.memo[key] = _count(node.pods, selector, namespace)
    return count


def _count(pods: Sequence[Pod], selector: Selector, namespace: str) -> int:
    return sum(
        pod.namespace == namespace and selector.matches(pod.labels) and not is_terminating(pod)
        for pod in pods
    )


def normalizing_weight(constraint: SpreadConstraint, feasible: list[Node]) -> float:
    """Weigh a constraint: one with many domains counts for more, by the logarithm."""
    kept = constraint.weights
    if not kept or kept[0][0] is not feasible:
        kept[:] = [(feasible, _weight(constraint, feasible))]
    return kept[0][1]


def _weight(constraint: SpreadConstraint, feasible: list[Node]) -> float:
    key = constraint.topologyKey
    counted = [node for node in feasible if _has_keys(constraint, node)]
    size = len(counted) if key == HOSTNAME else len({node.labels[key] or "" for node in counted})
    return log(size + 2)


def _has_keys(constraint: SpreadConstraint, node: Node) -> bool:
    return constraint.isDefault or all(key in node.labels for key in constraint.keys)


_POD_READS: Final = (
    *("labels", "namespace", "owner", "tolerations"),
    *("spec.topologySpreadConstraints", "spec.nodeSelector", "spec.affinity"),
)

FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "spreadConstraints",
        overload(
            "pod_spread_constraints",
            "Pod.(Cluster) -> list(SpreadConstraint)",
            spread_constraints,
            portable=False,
            reads={0: _POD_READS, 1: ("owners",)},
        ),
        doc="Gives the pod's topology spread constraints, or kube-scheduler's own for a pod that "
        "has none and that a Service or a controller selects.",
    ),
    function(
        "domains",
        overload(
            "spread_domains",
            "SpreadConstraint.(Cluster) -> SpreadDomains",
            domains,
            portable=False,
            reads={1: ("nodes", "pods")},
        ),
        doc="Counts the pods in each domain of a topology spread constraint.",
    ),
    function(
        "podsOn",
        overload(
            "spread_pods_on",
            "SpreadConstraint.(Node) -> int",
            pods_on,
            portable=False,
            reads={1: ("pods",)},
        ),
        doc="Counts the pods on the node that a topology spread constraint counts.",
    ),
    function(
        "normalizingWeight",
        overload(
            "spread_normalizing_weight",
            "SpreadConstraint.(list(Node)) -> double",
            normalizing_weight,
            portable=False,
        ),
        doc="Weighs a topology spread constraint by the logarithm of its number of domains.",
    ),
)
