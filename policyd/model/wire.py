"""The parts of the API's objects that are always needed, as msgspec decodes them from JSON.

Only what every decision reads is declared: labels, amounts, the node, the phase. The rest is
decoded from the kept JSON when a rule asks for it. Field names are the API's own. Everything may
be null or absent, as in the API.
"""

import msgspec

Amounts = dict[str, str | int | float | None]
"""Amounts by resource as JSON has them: `{"cpu": 0.5, "memory": "1Gi"}`."""


class Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What all parts have in common: immutable, without reference cycles."""


class Named(Part, frozen=True):
    """What names an object."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str | None] | None = None


class Title(Part, frozen=True):
    """What an object of any kind is called."""

    name: str | None = None
    generate_name: str | None = None


class Envelope(Part, frozen=True):
    """What says which object it is. `items` is there in lists."""

    api_version: str | None = None
    kind: str | None = None
    metadata: Title | None = None
    items: list[msgspec.Raw] | None = None


class Resources(Part, frozen=True):
    """What a container, or a pod as a whole, asks for and is limited to."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class Container(Part, frozen=True):
    """A container of a pod's spec."""

    name: str | None = None
    resources: Resources | None = None
    restart_policy: str | None = None


class ContainerStatus(Part, frozen=True):
    """What the kubelet says that a container has."""

    name: str | None = None
    resources: Resources | None = None
    allocated_resources: Amounts | None = None


class Condition(Part, frozen=True):
    """A condition of a pod or a node."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None


class PodSpec(Part, frozen=True):
    """A pod's spec."""

    node_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    runtime_class_name: str | None = None
    containers: list[Container | None] | None = None
    init_containers: list[Container | None] | None = None
    resources: Resources | None = None
    overhead: Amounts | None = None


class PodStatus(Part, frozen=True):
    """A pod's status."""

    phase: str | None = None
    conditions: list[Condition | None] | None = None
    container_statuses: list[ContainerStatus | None] | None = None
    init_container_statuses: list[ContainerStatus | None] | None = None
    resources: Resources | None = None
    allocated_resources: Amounts | None = None


class PodHead(Part, frozen=True):
    """A pod."""

    metadata: Named | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NodeStatus(Part, frozen=True):
    """A node's status."""

    allocatable: Amounts | None = None
    capacity: Amounts | None = None
    conditions: list[Condition | None] | None = None


class NodeSpec(Part, frozen=True):
    """A node's spec."""

    unschedulable: bool | None = None


class NodeHead(Part, frozen=True):
    """A node."""

    metadata: Named | None = None
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class NamespaceHead(Part, frozen=True):
    """A namespace."""

    metadata: Named | None = None


class PriorityClass(Part, frozen=True):
    """The priority that pods of the class get."""

    metadata: Named | None = None
    value: int = 0
    global_default: bool | None = None


class Overhead(Part, frozen=True):
    """What running a pod takes beside its containers."""

    pod_fixed: Amounts | None = None


class RuntimeClass(Part, frozen=True):
    """The overhead that pods of the class get."""

    metadata: Named | None = None
    overhead: Overhead | None = None


class Owner(Part, frozen=True):
    """A reference to an owner."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class MetadataDetail(Part, frozen=True):
    """What rules ask for more rarely about any object."""

    annotations: dict[str, str | None] | None = None
    creation_timestamp: str | None = None
    owner_references: list[Owner | None] | None = None


class Toleration(Part, frozen=True):
    """A toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class Gate(Part, frozen=True):
    """A scheduling gate."""

    name: str | None = None


class Imaged(Part, frozen=True):
    """A container, as far as its image."""

    image: str | None = None


class ImageSource(Part, frozen=True):
    """The image that a volume is made from."""

    reference: str | None = None


class Volume(Part, frozen=True):
    """A volume, as far as its image."""

    image: ImageSource | None = None


class PodSpecDetail(Part, frozen=True):
    """What rules ask for more rarely about a pod."""

    tolerations: list[Toleration | None] | None = None
    scheduling_gates: list[Gate | None] | None = None
    containers: list[Imaged | None] | None = None
    init_containers: list[Imaged | None] | None = None
    volumes: list[Volume | None] | None = None


class PodStatusDetail(Part, frozen=True):
    """What rules ask for more rarely about a pod's state."""

    qos_class: str | None = None


class PodDetail(Part, frozen=True):
    """The rarer parts of a pod."""

    metadata: MetadataDetail | None = None
    spec: PodSpecDetail | None = None
    status: PodStatusDetail | None = None


class Taint(Part, frozen=True):
    """A taint."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: str | None = None


class Image(Part, frozen=True):
    """An image that a node has."""

    names: list[str | None] | None = None
    size_bytes: int | None = None


class NodeSpecDetail(Part, frozen=True):
    """What rules ask for more rarely about a node."""

    taints: list[Taint | None] | None = None


class NodeStatusDetail(Part, frozen=True):
    """What rules ask for more rarely about a node's state."""

    images: list[Image | None] | None = None


class NodeDetail(Part, frozen=True):
    """The rarer parts of a node."""

    metadata: MetadataDetail | None = None
    spec: NodeSpecDetail | None = None
    status: NodeStatusDetail | None = None


class NamespaceDetail(Part, frozen=True):
    """The rarer parts of a namespace."""

    metadata: MetadataDetail | None = None
