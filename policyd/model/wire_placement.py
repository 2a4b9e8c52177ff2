"""The parts of the API's objects that say where a pod may go, as msgspec decodes them from JSON.

As in `wire`: field names are the API's own, and everything may be null or absent.
"""

import msgspec

from policyd.model.wire import Owner, Part

Texts = dict[str, str | None]


class LabelRequirement(Part, frozen=True):
    """A requirement on one label, of a label selector or of a node selector."""

    key: str | None = None
    operator: str | None = None
    values: list[str | None] | None = None


class LabelSelector(Part, frozen=True):
    """A selector of objects by their labels."""

    match_labels: Texts | None = None
    match_expressions: list[LabelRequirement | None] | None = None


class NodeSelectorTerm(Part, frozen=True):
    """A term of a node selector."""

    match_expressions: list[LabelRequirement | None] | None = None
    match_fields: list[LabelRequirement | None] | None = None


class NodeSelector(Part, frozen=True):
    """A selector of nodes: one of its terms must match."""

    node_selector_terms: list[NodeSelectorTerm | None] | None = None


class NodeAffinity(Part, frozen=True):
    """What a pod requires of its node's labels."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Part, frozen=True):
    """Pods, and the label that says what counts as near them."""

    label_selector: LabelSelector | None = None
    namespaces: list[str | None] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str | None = None
    match_label_keys: list[str | None] | None = None
    mismatch_label_keys: list[str | None] | None = None


class WeightedTerm(Part, frozen=True):
    """A term that is preferred."""

    weight: int | None = None
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Part, frozen=True):
    """The terms of pod affinity, or of pod anti-affinity."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm | None] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedTerm | None] | None = None


class Affinity(Part, frozen=True):
    """The affinity of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Spread(Part, frozen=True):
    """A topology spread constraint."""

    max_skew: int | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str | None] | None = None


class Port(Part, frozen=True):
    """A port of a container."""

    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class PortContainer(Part, frozen=True):
    """A container, as far as its ports."""

    ports: list[Port | None] | None = None
    restart_policy: str | None = None


class ClaimSource(Part, frozen=True):
    """A volume that is a claim."""

    claim_name: str | None = None


class GceDisk(Part, frozen=True):
    """A volume that is a disk of GCE."""

    pd_name: str | None = None
    read_only: bool | None = None


class EbsVolume(Part, frozen=True):
    """A volume of AWS's block store."""

    volume_id: str | None = msgspec.field(default=None, name="volumeID")


class Iscsi(Part, frozen=True):
    """A volume that is an iSCSI target."""

    iqn: str | None = None
    read_only: bool | None = None


class Rbd(Part, frozen=True):
    """A volume that is an image of Ceph."""

    monitors: list[str | None] | None = None
    image: str | None = None
    pool: str | None = None
    read_only: bool | None = None


class PodVolume(Part, frozen=True):
    """A volume of a pod, as far as placement asks for it."""

    name: str | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: EbsVolume | None = None
    iscsi: Iscsi | None = None
    rbd: Rbd | None = None


class PodSpecPlacement(Part, frozen=True):
    """What a pod's spec says about where it may go."""

    node_selector: Texts | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: list[Spread | None] | None = None
    containers: list[PortContainer | None] | None = None
    init_containers: list[PortContainer | None] | None = None
    volumes: list[PodVolume | None] | None = None


class Deleted(Part, frozen=True):
    """Whether an object is being deleted."""

    deletion_timestamp: str | None = None


class PodPlacement(Part, frozen=True):
    """A pod, as far as it says where it may go."""

    metadata: Deleted | None = None
    spec: PodSpecPlacement | None = None


# --- storage ---


class StorageMetadata(Part, frozen=True):
    """What names an object of storage."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    deletion_timestamp: str | None = None
    owner_references: list[Owner | None] | None = None


Amount = str | int | float | None
Amounts = dict[str, Amount]


class ClaimResources(Part, frozen=True):
    """How much a claim asks for."""

    requests: Amounts | None = None


class ClaimSpec(Part, frozen=True):
    """A claim's spec."""

    access_modes: list[str | None] | None = None
    resources: ClaimResources | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None
    selector: LabelSelector | None = None


class Phase(Part, frozen=True):
    """The phase of a claim or of a volume."""

    phase: str | None = None


class ClaimWire(Part, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: StorageMetadata | None = None
    spec: ClaimSpec | None = None
    status: Phase | None = None


class ClaimReference(Part, frozen=True):
    """The claim that a volume is for."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class VolumeNodeAffinity(Part, frozen=True):
    """The nodes that can reach a volume."""

    required: NodeSelector | None = None


class CsiSource(Part, frozen=True):
    """The driver that a volume is of."""

    driver: str | None = None
    volume_handle: str | None = None


class VolumeSpec(Part, frozen=True):
    """A volume's spec."""

    capacity: Amounts | None = None
    access_modes: list[str | None] | None = None
    claim_ref: ClaimReference | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None


class VolumeWire(Part, frozen=True):
    """A PersistentVolume."""

    metadata: StorageMetadata | None = None
    spec: VolumeSpec | None = None
    status: Phase | None = None


class TopologyRequirement(Part, frozen=True):
    """A label of the nodes for which volumes can be made."""

    key: str | None = None
    values: list[str | None] | None = None


class TopologyTerm(Part, frozen=True):
    """Labels of the nodes for which volumes can be made."""

    match_label_expressions: list[TopologyRequirement | None] | None = None


class StorageClassWire(Part, frozen=True):
    """A StorageClass."""

    metadata: StorageMetadata | None = None
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm | None] | None = None


class DriverCount(Part, frozen=True):
    """How many volumes of a driver a node can have."""

    count: int | None = None


class NodeDriver(Part, frozen=True):
    """A driver on a node."""

    name: str | None = None
    allocatable: DriverCount | None = None


class CsiNodeSpec(Part, frozen=True):
    """The drivers of a node."""

    drivers: list[NodeDriver | None] | None = None


class CsiNodeWire(Part, frozen=True):
    """A CSINode."""

    metadata: StorageMetadata | None = None
    spec: CsiNodeSpec | None = None


class CsiDriverSpec(Part, frozen=True):
    """What a driver can."""

    storage_capacity: bool | None = None


class CsiDriverWire(Part, frozen=True):
    """A CSIDriver."""

    metadata: StorageMetadata | None = None
    spec: CsiDriverSpec | None = None


class CapacityWire(Part, frozen=True):
    """A CSIStorageCapacity."""

    metadata: StorageMetadata | None = None
    storage_class_name: str | None = None
    node_topology: LabelSelector | None = None
    capacity: Amount = None
    maximum_volume_size: Amount = None


class AttachmentSource(Part, frozen=True):
    """What is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Part, frozen=True):
    """What is attached to which node."""

    attacher: str | None = None
    node_name: str | None = None
    source: AttachmentSource | None = None


class AttachmentWire(Part, frozen=True):
    """A VolumeAttachment."""

    metadata: StorageMetadata | None = None
    spec: AttachmentSpec | None = None


# --- what selects pods ---


class PlainSelectorSpec(Part, frozen=True):
    """The spec of a Service or of a ReplicationController."""

    selector: Texts | None = None


class PlainSelectorWire(Part, frozen=True):
    """A Service or a ReplicationController."""

    metadata: StorageMetadata | None = None
    spec: PlainSelectorSpec | None = None


class SelectorSpec(Part, frozen=True):
    """The spec of a ReplicaSet or of a StatefulSet."""

    selector: LabelSelector | None = None


class SelectorWire(Part, frozen=True):
    """A ReplicaSet or a StatefulSet."""

    metadata: StorageMetadata | None = None
    spec: SelectorSpec | None = None
