"""What a pod says of where it may go, made ready to be compared: selectors, terms, ports, volumes.

Each is made once for a pod, when it is first asked for, and kept with it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from policyd.model.pod import Pod
from policyd.model.selectors import (
    EVERYTHING,
    Labels,
    NodeTerms,
    Requirement,
    Selector,
    equal_to,
    label_selector,
    node_terms,
)
from policyd.model.wire_placement import (
    Affinity,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodPlacement,
    PodSpecPlacement,
    PodVolume,
    PortContainer,
)

T = TypeVar("T")

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - the API's own default, not an address to listen on
"""The address of a host port that names none."""

_NOTHING: Final = PodSpecPlacement()


def kept(pod: Pod, key: str, make: Callable[[Pod], T]) -> T:
    """Give what is made of a pod, made once."""
    found: T | None = pod.memo.get(key)
    if found is None:
        found = pod.memo[key] = make(pod)
    return found


def placement(pod: Pod) -> PodSpecPlacement:
    """Give the parts of a pod's spec that say where it may go."""
    return kept(pod, "placement", _placement)


def _placement(pod: Pod) -> PodSpecPlacement:
    return pod.part(PodPlacement).spec or _NOTHING


def is_terminating(pod: Pod) -> bool:
    """Say whether a pod is being deleted."""
    if b'"deletionTimestamp"' not in pod.json:
        return False
    return kept(pod, "terminating", _is_terminating)


def _is_terminating(pod: Pod) -> bool:
    metadata = pod.part(PodPlacement).metadata
    return bool(metadata and metadata.deletion_timestamp)


# --- nodes ---


@dataclass(frozen=True, slots=True)
class NodeDemand:
    """The nodes that a pod requires by their labels: its node selector and its node affinity."""

    selector: Selector
    terms: NodeTerms | None

    def matches(self, name: str, labels: Labels) -> bool:
        """Say whether a node is one of them."""
        return self.selector.matches(labels) and (
            self.terms is None or self.terms.matches(name, labels)
        )


def node_demand(pod: Pod) -> NodeDemand:
    """Give the nodes that a pod requires."""
    return kept(pod, "node demand", _node_demand)


def _node_demand(pod: Pod) -> NodeDemand:
    spec = placement(pod)
    required = (
        (spec.affinity or Affinity()).node_affinity or NodeAffinity()
    ).required_during_scheduling_ignored_during_execution
    terms = None if required is None else node_terms(required)
    return NodeDemand(equal_to(spec.node_selector or {}), terms)


# --- pods ---


@dataclass(frozen=True, slots=True)
class Term:
    """A term of pod affinity or anti-affinity, with its weight where it is preferred."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(self, pod: Pod, namespace_labels: Labels) -> bool:
        """Say whether it means a pod, given the labels of the pod's namespace."""
        return (
            pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.labels)


@dataclass(frozen=True, slots=True)
class Terms:
    """All terms of a pod. Terms of anti-affinity that are preferred have weights below zero."""

    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Say whether there are none."""
        return not (self.affinity or self.anti_affinity or self.preferred)


_NO_TERMS: Final = Terms()


def terms_of(pod: Pod) -> Terms:
    """Give the terms of a pod.

    Raises:
        ValueFault: one has a selector that the API server would refuse.
    """
    if b"ffinity" not in pod.json:
        return _NO_TERMS
    return kept(pod, "terms", _terms)


def _terms(pod: Pod) -> Terms:
    affinity = placement(pod).affinity or Affinity()
    near, apart = (
        affinity.pod_affinity or PodAffinity(),
        affinity.pod_anti_affinity or PodAffinity(),
    )
    return Terms(
        _required(pod, near),
        _required(pod, apart),
        (*_preferred(pod, near, 1), *_preferred(pod, apart, -1)),
    )


def _required(pod: Pod, affinity: PodAffinity) -> tuple[Term, ...]:
    terms = affinity.required_during_scheduling_ignored_during_execution
    return tuple(_term(pod, term) for term in terms or () if term is not None)


def _preferred(pod: Pod, affinity: PodAffinity, sign: int) -> tuple[Term, ...]:
    terms = affinity.preferred_during_scheduling_ignored_during_execution
    return tuple(
        _term(pod, each.pod_affinity_term or PodAffinityTerm(), sign * (each.weight or 0))
        for each in terms or ()
        if each is not None
    )


def _term(pod: Pod, raw: PodAffinityTerm, weight: int = 0) -> Term:
    given = frozenset(name or "" for name in raw.namespaces or ())
    if not given and raw.namespace_selector is None:
        given = frozenset({pod.namespace})
    selector = label_selector(raw.label_selector)
    return Term(
        raw.topology_key or "",
        selector.with_requirements(
            (
                *_own_labels(pod, raw.match_label_keys, "In"),
                *_own_labels(pod, raw.mismatch_label_keys, "NotIn"),
            )
        ),
        given,
        label_selector(raw.namespace_selector),
        weight,
    )


def _own_labels(
    pod: Pod, keys: Sequence[str | None] | None, operator: str
) -> Iterable[Requirement]:
    """Give what `matchLabelKeys` stands for; keys that the pod has no label for do not count."""
    for key in keys or ():
        if key is not None and key in pod.labels:
            yield Requirement(key, operator, frozenset({pod.labels[key] or ""}))


# --- spread ---


@dataclass(frozen=True, slots=True)
class Spreading:
    """A topology spread constraint, with the API's defaults."""

    topology_key: str
    max_skew: int
    min_domains: int
    hard: bool
    selector: Selector
    honors_affinity: bool = True
    honors_taints: bool = False


def spreadings_of(pod: Pod) -> tuple[Spreading, ...]:
    """Give the constraints that a pod has.

    Raises:
        ValueFault: one has a selector that the API server would refuse.
    """
    if b'"topologySpreadConstraints"' not in pod.json:
        return ()
    return kept(pod, "spreadings", _spreadings)


def _spreadings(pod: Pod) -> tuple[Spreading, ...]:
    given = placement(pod).topology_spread_constraints or ()
    return tuple(
        Spreading(
            topology_key=each.topology_key or "",
            max_skew=each.max_skew or 0,
            min_domains=1 if each.min_domains is None else each.min_domains,
            hard=each.when_unsatisfiable == "DoNotSchedule",
            selector=label_selector(each.label_selector).with_requirements(
                _own_labels(pod, each.match_label_keys, "In")
            ),
            honors_affinity=each.node_affinity_policy in (None, "Honor"),
            honors_taints=each.node_taints_policy == "Honor",
        )
        for each in given
        if each is not None
    )


# --- ports and volumes ---

HostPort = tuple[str, str, int]
"""The address, the protocol and the port that a pod takes of its host."""


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Give the ports of the host that a pod takes, those of its sidecars included."""
    if b'"hostPort"' not in pod.json:
        return ()
    return kept(pod, "host ports", _host_ports)


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    spec = placement(pod)
    sidecars = [c for c in spec.init_containers or () if c and c.restart_policy == "Always"]
    containers: list[PortContainer | None] = [*(spec.containers or ()), *sidecars]
    return tuple(
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in containers
        if container is not None
        for port in container.ports or ()
        if port is not None and port.host_port is not None and port.host_port > 0
    )


def volumes_of(pod: Pod) -> tuple[PodVolume, ...]:
    """Give the volumes of a pod, as far as placement asks for them."""
    if b'"volumes"' not in pod.json:
        return ()
    return kept(pod, "volumes", _volumes)


def _volumes(pod: Pod) -> tuple[PodVolume, ...]:
    return tuple(each for each in placement(pod).volumes or () if each is not None)


def claim_names(pod: Pod) -> tuple[tuple[str, bool], ...]:
    """Give the names of the claims of a pod, and of each whether it is made for the pod alone."""
    return tuple(
        (volume.persistent_volume_claim.claim_name or "", False)
        if volume.persistent_volume_claim is not None
        else (f"{pod.name}-{volume.name}", True)
        for volume in volumes_of(pod)
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None
    )


SYSTEM_SPREADING: Final = (
    Spreading("kubernetes.io/hostname", 3, 1, hard=False, selector=EVERYTHING),
    Spreading("topology.kubernetes.io/zone", 5, 1, hard=False, selector=EVERYTHING),
)
"""kube-scheduler's constraints for pods that have none; the selector is that of their owners."""
