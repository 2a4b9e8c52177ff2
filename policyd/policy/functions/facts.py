"""The objects that functions give: constraints, domains, claims. Rules read their fields."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from policyd.model.objects import Fields
from policyd.model.pod import Pod
from policyd.model.storage import Claim, StorageClass, Volume
from policyd.model.wanted import Spreading
from policyd.values.maps import TotalMap

_SPREAD: Final = {
    "topologyKey": ("string", "The label whose values are the domains."),
    "maxSkew": ("int", "By how much a domain may have more pods than the one with the least."),
    "minDomains": ("int", "With fewer domains than this, the least counts as 0; 1 without it."),
    "whenUnsatisfiable": ("string", "`DoNotSchedule` or `ScheduleAnyway`."),
    "selfMatch": ("int", "1 where the constraint counts the pod itself, else 0."),
    "isDefault": ("bool", "Whether it is kube-scheduler's own, for a pod that has none."),
}


@dataclass(frozen=True, slots=True, eq=False)
class SpreadConstraint:
    """A topology spread constraint of a pod. `keys` are those of all constraints of its kind.

    `weights` keeps the last weight, with the nodes that it is of.
    """

    cel_type: ClassVar[str] = "SpreadConstraint"
    FIELDS: ClassVar[Fields] = MappingProxyType(_SPREAD)

    pod: Pod = field(repr=False)
    spreading: Spreading
    keys: tuple[str, ...]
    isDefault: bool  # noqa: N815 - a name of the language
    weights: list[tuple[object, float]] = field(default_factory=list, repr=False)

    @property
    def topologyKey(self) -> str:  # noqa: N802 - the API's own name
        """The label whose values are the domains."""
        return self.spreading.topology_key

    @property
    def maxSkew(self) -> int:  # noqa: N802 - the API's own name
        """By how much a domain may have more."""
        return self.spreading.max_skew

    @property
    def minDomains(self) -> int:  # noqa: N802 - the API's own name
        """The number of domains below which the least counts as 0."""
        return self.spreading.min_domains

    @property
    def whenUnsatisfiable(self) -> str:  # noqa: N802 - the API's own name
        """What happens where it is not met."""
        return "DoNotSchedule" if self.spreading.hard else "ScheduleAnyway"

    @property
    def selfMatch(self) -> int:  # noqa: N802 - kube-scheduler's own name
        """Whether it counts the pod itself."""
        return int(self.spreading.selector.matches(self.pod.labels))


_DOMAINS: Final = {
    "counts": ("map(string, int)", "How many pods each domain has; else 0."),
    "least": ("int", "The smallest of the counts; 0 where there are none."),
}


@dataclass(frozen=True, slots=True, eq=False)
class SpreadDomains:
    """The domains of a constraint, and how many of the pods that it counts each has."""

    cel_type: ClassVar[str] = "SpreadDomains"
    FIELDS: ClassVar[Fields] = MappingProxyType(_DOMAINS)

    counts: TotalMap
    least: int


_TERM: Final = {
    "topologyKey": ("string", "The label whose values are the domains."),
    "domains": ("map(string, int)", "A number for each domain that there is something to say of."),
    "isFirst": (
        "bool",
        "Whether the pod may be the first of its kind: no pod is near, and it means itself.",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class AffinityDomains:
    """The domains where the pods are that a term of pod affinity means."""

    cel_type: ClassVar[str] = "AffinityDomains"
    FIELDS: ClassVar[Fields] = MappingProxyType(_TERM)

    topologyKey: str  # noqa: N815 - the API's own name
    domains: TotalMap
    isFirst: bool = False  # noqa: N815 - a name of the language


_CLAIM: Final = {
    "name": ("string", "The claim's name."),
    "found": ("bool", "Whether the claim is there."),
    "isEphemeral": ("bool", "Whether it is made for this pod alone, from its own spec."),
    "isForeign": ("bool", "Whether it is made for a pod alone, and not for this one."),
    "isLost": ("bool", "Whether its volume is gone for good."),
    "isDeleting": ("bool", "Whether it is being deleted."),
    "isBound": ("bool", "Whether it is bound to its volume altogether."),
    "volumeName": ("string", "The volume that it is bound to or shall be, or an empty text."),
    "volume": ("Volume?", "The volume of that name, or null."),
    "accessModes": ("list(string)", "The access modes."),
    "storageClass": ("string", "The storage class, or an empty text."),
    "bindingMode": ("string", "The binding mode of its storage class; empty where there is none."),
}


@dataclass(frozen=True, slots=True, eq=False)
class VolumeClaim:
    """A claim that a pod has, whether it is there or not."""

    cel_type: ClassVar[str] = "VolumeClaim"
    FIELDS: ClassVar[Fields] = MappingProxyType(_CLAIM)

    name: str
    namespace: str
    isEphemeral: bool  # noqa: N815 - a name of the language
    claim: Claim | None
    volume: Volume | None
    kind: StorageClass | None
    owner_uid: str  # of the pod

    @property
    def found(self) -> bool:
        """Whether the claim is there."""
        return self.claim is not None

    @property
    def isForeign(self) -> bool:  # noqa: N802 - a name of the language
        """Whether it is made for another pod alone."""
        return (
            self.isEphemeral and self.claim is not None and self.claim.owner_uid != self.owner_uid
        )

    @property
    def isLost(self) -> bool:  # noqa: N802 - a name of the language
        """Whether its volume is gone."""
        return self.claim is not None and self.claim.phase == "Lost"

    @property
    def isDeleting(self) -> bool:  # noqa: N802 - a name of the language
        """Whether it is being deleted."""
        return self.claim is not None and self.claim.deleting

    @property
    def isBound(self) -> bool:  # noqa: N802 - a name of the language
        """Whether it is bound altogether."""
        return self.claim is not None and self.claim.bound

    @property
    def volumeName(self) -> str:  # noqa: N802 - the API's own name
        """The name of its volume."""
        return self.claim.volume_name if self.claim is not None else ""

    @property
    def accessModes(self) -> list[str]:  # noqa: N802 - the API's own name
        """The access modes."""
        return list(self.claim.access_modes) if self.claim is not None else []

    @property
    def storageClass(self) -> str:  # noqa: N802 - a name of the language
        """The storage class."""
        return self.claim.storage_class if self.claim is not None else ""

    @property
    def bindingMode(self) -> str:  # noqa: N802 - a name of the language
        """The binding mode of its class."""
        return self.kind.binding_mode if self.kind is not None else ""


_BINDING: Final = {
    "hasVolumes": ("bool", "Whether every claim finds a volume, or one can be made for it."),
    "hasSpace": ("bool", "Whether there is room for the volumes that are to be made."),
}


@dataclass(frozen=True, slots=True)
class VolumeBinding:
    """Whether a node can serve the claims that wait for their pod to be placed."""

    cel_type: ClassVar[str] = "VolumeBinding"
    FIELDS: ClassVar[Fields] = MappingProxyType(_BINDING)

    hasVolumes: bool = True  # noqa: N815 - a name of the language
    hasSpace: bool = True  # noqa: N815 - a name of the language
