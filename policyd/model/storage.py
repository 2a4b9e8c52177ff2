"""Claims, volumes and storage classes, with what CSI drivers say of nodes and of capacity.

Made of the API's objects of these kinds. Which claims a pod has, and whether a node can serve them,
follows from here and from the node; the algorithms are functions of the language.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from policyd.model.faults import ObjectError, decode_part
from policyd.model.objects import Fields, texts
from policyd.model.requests import AmountError, read_amounts
from policyd.model.selectors import (
    NOTHING,
    Labels,
    NodeTerms,
    Requirement,
    Selector,
    label_selector,
    node_terms,
)
from policyd.model.wire_placement import (
    AttachmentSource,
    AttachmentSpec,
    AttachmentWire,
    CapacityWire,
    ClaimReference,
    ClaimResources,
    ClaimSpec,
    ClaimWire,
    CsiDriverSpec,
    CsiDriverWire,
    CsiNodeSpec,
    CsiNodeWire,
    Phase,
    StorageClassWire,
    StorageMetadata,
    TopologyTerm,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeWire,
)
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO, Quantity

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that names the storage class, before there was a field for it."""

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""The annotation of a claim that is bound altogether."""

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""The annotation that names the node for which a volume is being made."""

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""The provisioner of storage classes whose volumes are made by hand."""

_NO_METADATA: Final = StorageMetadata()

_VOLUME_FIELDS: Final = {
    "name": ("string", "The volume's name."),
    "labels": ("map(string, string?)", "The labels; an absent key gives null."),
}


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume. `nodes` are those that can reach it; nothing where all can."""

    cel_type: ClassVar[str] = "Volume"
    FIELDS: ClassVar[Fields] = MappingProxyType(_VOLUME_FIELDS)

    name: str
    labels: TotalMap
    nodes: NodeTerms | None
    storage_class: str
    attributes_class: str
    mode: str
    access_modes: frozenset[str]
    capacity: Quantity
    claim: ClaimReference | None
    phase: str
    deleting: bool
    driver: str
    handle: str

    def is_reached_from(self, labels: Labels) -> bool:
        """Say whether a node with these labels can reach it; names do not count there either."""
        return self.nodes is None or self.nodes.matches("", labels)

    def is_for(self, claim: "Claim") -> bool:
        """Say whether it is bound to a claim, or reserved for it."""
        ref = self.claim
        return (
            ref is not None
            and (ref.name or "", ref.namespace or "") == (claim.name, claim.namespace)
            and (not ref.uid or ref.uid == claim.uid)
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim. `bound` says that it is bound altogether."""

    name: str
    namespace: str
    uid: str
    owner_uid: str
    bound: bool
    volume_name: str
    selected_node: str | None
    storage_class: str
    attributes_class: str
    mode: str
    access_modes: tuple[str, ...]
    request: Quantity | None
    selector: Selector | None
    phase: str
    deleting: bool


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass. `topologies` are the labels of the nodes that it can serve; empty for all."""

    name: str
    provisioner: str
    binding_mode: str
    topologies: tuple[tuple[Requirement, ...], ...]

    def serves(self, labels: Labels) -> bool:
        """Say whether volumes can be made for a node."""
        if not self.topologies:
            return True
        return any(term and all(r.matches(labels) for r in term) for term in self.topologies)


@dataclass(frozen=True, slots=True)
class Capacity:
    """A CSIStorageCapacity: how large a volume of a class can be for some nodes."""

    storage_class: str
    nodes: Selector
    largest: Quantity | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A VolumeAttachment."""

    driver: str
    volume: str
    node: str


@dataclass(frozen=True, slots=True)
class Storage:
    """All of a cluster's storage: claims by namespace and name, everything else by name."""

    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # node, then driver
    counted_drivers: frozenset[str] = frozenset()  # those whose capacity is tracked
    capacities: tuple[Capacity, ...] = ()
    attachments: Mapping[str, tuple[Attachment, ...]] = field(default_factory=dict)  # by node


STORAGE_KINDS: Final = {
    "PersistentVolumeClaim": "v1",
    "PersistentVolume": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
}
"""The kinds of storage, and their API versions."""

StorageObject = (
    Claim | Volume | StorageClass | Capacity | Attachment | tuple[str, Mapping[str, int]] | str
)


def make_storage_object(kind: str, data: bytes) -> StorageObject:
    """Make an object of one of `STORAGE_KINDS` of its JSON.

    A CSINode becomes its name with the limits of its drivers, a CSIDriver its name where its
    capacity is tracked, and else an empty text.

    Raises:
        ObjectError: something in it cannot be read.
    """
    try:
        return _made(kind, data)
    except ValueFault as fault:
        raise ObjectError(fault.message) from None
    except AmountError as error:
        raise ObjectError(error.cause, error.path) from None


def _made(kind: str, data: bytes) -> StorageObject:
    match kind:
        case "PersistentVolumeClaim":
            return _claim(decode_part(data, ClaimWire))
        case "PersistentVolume":
            return _volume(decode_part(data, VolumeWire))
        case "StorageClass":
            return _class(decode_part(data, StorageClassWire))
        case "CSINode":
            return _limits(decode_part(data, CsiNodeWire))
        case "CSIDriver":
            return _counted(decode_part(data, CsiDriverWire))
        case "CSIStorageCapacity":
            return _capacity(decode_part(data, CapacityWire))
        case _:
            return _attachment(decode_part(data, AttachmentWire))


def join_storage(objects: Iterable[StorageObject]) -> Storage:
    """Put the objects of a cluster together; of two with one name the first counts."""
    claims: dict[tuple[str, str], Claim] = {}
    volumes: dict[str, Volume] = {}
    classes: dict[str, StorageClass] = {}
    limits: dict[str, Mapping[str, int]] = {}
    drivers: set[str] = set()
    capacities: list[Capacity] = []
    attachments: dict[str, tuple[Attachment, ...]] = {}
    for each in objects:
        match each:
            case Claim():
                claims.setdefault((each.namespace, each.name), each)
            case Volume():
                volumes.setdefault(each.name, each)
            case StorageClass():
                classes.setdefault(each.name, each)
            case Capacity():
                capacities.append(each)
            case Attachment():
                attachments[each.node] = (*attachments.get(each.node, ()), each)
            case str():
                drivers.add(each)
            case (str() as name, counts):
                limits.setdefault(name, counts)
    return Storage(
        claims, volumes, classes, limits, frozenset(drivers), tuple(capacities), attachments
    )


# --- one object ---


def _name(metadata: StorageMetadata | None) -> str:
    if metadata is None or not metadata.name:
        raise ObjectError("the object has no name", ("metadata",))
    return metadata.name


def _claim(raw: ClaimWire) -> Claim:
    metadata, spec = raw.metadata or _NO_METADATA, raw.spec or ClaimSpec()
    annotations = metadata.annotations or {}
    asked = read_amounts((spec.resources or ClaimResources()).requests)
    owners = [each for each in metadata.owner_references or () if each and each.controller]
    return Claim(
        name=_name(metadata),
        namespace=metadata.namespace or "default",
        uid=metadata.uid or "",
        owner_uid=(owners[0].uid or "") if owners else "",
        bound=bool(spec.volume_name) and BIND_COMPLETED in annotations,
        volume_name=spec.volume_name or "",
        selected_node=annotations.get(SELECTED_NODE),
        storage_class=_class_name(metadata, spec.storage_class_name),
        attributes_class=spec.volume_attributes_class_name or "",
        mode=spec.volume_mode or "Filesystem",
        access_modes=tuple(mode or "" for mode in spec.access_modes or ()),
        request=asked.get("storage"),
        selector=label_selector(spec.selector) if spec.selector is not None else None,
        phase=(raw.status or Phase()).phase or "",
        deleting=bool(metadata.deletion_timestamp),
    )


def _volume(raw: VolumeWire) -> Volume:
    metadata, spec = raw.metadata or _NO_METADATA, raw.spec or VolumeSpec()
    required = (spec.node_affinity or VolumeNodeAffinity()).required
    csi = spec.csi
    return Volume(
        name=_name(metadata),
        labels=texts(metadata.labels),
        nodes=node_terms(required) if required is not None else None,
        storage_class=_class_name(metadata, spec.storage_class_name),
        attributes_class=spec.volume_attributes_class_name or "",
        mode=spec.volume_mode or "Filesystem",
        access_modes=frozenset(mode or "" for mode in spec.access_modes or ()),
        capacity=read_amounts(spec.capacity).get("storage", ZERO),
        claim=spec.claim_ref,
        phase=(raw.status or Phase()).phase or "",
        deleting=bool(metadata.deletion_timestamp),
        driver=(csi and csi.driver) or "",
        handle=(csi and csi.volume_handle) or "",
    )


def _class_name(metadata: StorageMetadata, named: str | None) -> str:
    annotated = (metadata.annotations or {}).get(CLASS_ANNOTATION)
    return named or "" if annotated is None else annotated


def _class(raw: StorageClassWire) -> StorageClass:
    terms = [term for term in raw.allowed_topologies or () if term is not None]
    return StorageClass(
        name=_name(raw.metadata),
        provisioner=raw.provisioner or "",
        binding_mode=raw.volume_binding_mode or "",
        topologies=tuple(map(_topology, terms)),
    )


def _topology(raw: TopologyTerm) -> tuple[Requirement, ...]:
    given = [each for each in raw.match_label_expressions or () if each is not None]
    return tuple(
        Requirement(each.key or "", "In", frozenset(value or "" for value in each.values or ()))
        for each in given
    )


def _limits(raw: CsiNodeWire) -> tuple[str, Mapping[str, int]]:
    drivers = [each for each in (raw.spec or CsiNodeSpec()).drivers or () if each is not None]
    counts = {
        each.name or "": each.allocatable.count
        for each in drivers
        if each.allocatable is not None and each.allocatable.count is not None
    }
    return _name(raw.metadata), counts


def _counted(raw: CsiDriverWire) -> str:
    tracked = (raw.spec or CsiDriverSpec()).storage_capacity
    return _name(raw.metadata) if tracked else ""


def _capacity(raw: CapacityWire) -> Capacity:
    sizes = read_amounts({"capacity": raw.capacity, "largest": raw.maximum_volume_size})
    limit = raw.capacity if raw.maximum_volume_size is None else raw.maximum_volume_size
    largest = sizes["capacity" if raw.maximum_volume_size is None else "largest"]
    nodes = NOTHING if raw.node_topology is None else label_selector(raw.node_topology)
    return Capacity(raw.storage_class_name or "", nodes, None if limit is None else largest)


def _attachment(raw: AttachmentWire) -> Attachment:
    spec = raw.spec or AttachmentSpec()
    source = spec.source or AttachmentSource()
    volume = source.persistent_volume_name or ""
    return Attachment(spec.attacher or "", volume, spec.node_name or "")
