"""The OpenB trace: nodes and pods of a production GPU cluster, and what arrives in a simulation.

The trace is `cluster-trace-gpu-v2023`, published with "Beware of Fragmentation" (USENIX ATC 2023);
`openb_files` reads it. Its GPUs are devices here, and a part of a GPU is a share of a device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import msgspec

from policyd.model.devices import MODELS, SHARE
from policyd.model.node import Node, make_node
from policyd.model.places import Place, Problem
from policyd.model.pod import Pod, make_pod
from policyd.model.wire import NodeHead, PodHead
from policyd.model.workload import Workload
from policyd.simulation.run import Arrival
from policyd.values.quantity import NANOS, Quantity
from policyd.values.times import Timestamp

GPU: Final = "nvidia.com/gpu"
"""The resource that the trace's GPUs are here."""

NAMESPACE: Final = "openb"
"""The namespace of the trace's pods."""

_PODS: Final = "1000"  # the trace knows no limit


class TraceError(Exception):
    """A trace that cannot be read: everything that is wrong with it, with its places."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].cause if problems else "")
        self.problems: Final = tuple(problems)


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of the trace. `created` and `deleted` are seconds, where the trace has them."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    models: tuple[str, ...] = ()
    qos: str = ""
    created: int | None = None
    deleted: int | None = None

    @property
    def gpu_total(self) -> int:
        """What it asks for of GPUs, in thousandths of one."""
        return self.gpus * self.gpu_milli


@dataclass(frozen=True, slots=True)
class Trace:
    """The nodes and the pods of a trace, as its files have them."""

    nodes: tuple[Node, ...]
    pods: tuple[TracePod, ...]
    origin: str

    @property
    def capacity(self) -> int:
        """What the nodes have of GPUs, in thousandths of one."""
        return sum(_milli(node.allocatable[GPU]) for node in self.nodes)

    def workload(self, start: Timestamp) -> Workload:
        """Give the trace's pods, by which rules know what usually comes."""
        return Workload((as_pod(pod, start) for pod in self.pods), fixed=True)


def _milli(amount: Quantity) -> int:
    return amount.milli_value()


# --- what arrives ---


@dataclass(frozen=True, slots=True)
class Experiment:
    """The nodes and the arrivals of one run of the published experiment."""

    nodes: tuple[Node, ...]
    arrivals: tuple[Arrival, ...]


def experiment(trace: Trace, ratio: float, seed: int, start: Timestamp) -> Experiment:
    """Give the nodes and the arrivals of the published experiment for a seed.

    While the pods ask for more than `ratio` of the cluster's GPUs, one is dropped at random; then
    pods drawn at random from the trace are added until the next would be too many; then all are
    shuffled. They come one after the other, and none ends. A pod that comes again has a name of
    its own. Nodes get a random rank in front of their names, as the artifact of the paper does it:
    where policies take the first of equal nodes by name, they must not take those of one model.
    """
    random = Random(seed)  # noqa: S311 - a sample, and the same one for a seed
    most = ratio * trace.capacity
    chosen = _sample(trace.pods, most, random)
    random.shuffle(chosen)
    seen: dict[str, int] = {}
    arrivals: list[Arrival] = []
    ranks = random.sample(range(len(trace.nodes)), len(trace.nodes))
    for at, pod in enumerate(chosen):
        times = seen[pod.name] = seen.get(pod.name, 0) + 1
        name = pod.name if times == 1 else f"{pod.name}-{times}"
        arrivals.append(Arrival(as_pod(pod, start, name=name, uid=f"{seed}-{at:06d}-{name}")))
    nodes = (_ranked(node, rank) for node, rank in zip(trace.nodes, ranks, strict=True))
    return Experiment(tuple(nodes), tuple(arrivals))


def _ranked(node: Node, rank: int) -> Node:
    """Give a node with a rank in front of its name."""
    raw: dict[str, Any] = msgspec.json.decode(node.json)
    name = f"{rank:04d}-{node.name}"
    raw["metadata"] = {**raw["metadata"], "name": name}
    return msgspec.structs.replace(node, json=msgspec.json.encode(raw), name=name)


def _sample(pods: Sequence[TracePod], most: float, random: Random) -> list[TracePod]:
    chosen = list(pods)
    total = sum(pod.gpu_total for pod in chosen)
    while total > most and chosen:
        total -= chosen.pop(random.randrange(len(chosen))).gpu_total
    if not any(pod.gpu_total for pod in pods):
        return chosen  # drawing more would never be too many
    while True:
        drawn = random.choice(pods)
        if total + drawn.gpu_total > most:
            return chosen
        total += drawn.gpu_total
        chosen.append(drawn)


def by_times(trace: Trace, seed: int, start: Timestamp) -> list[Arrival]:
    """Let the pods arrive and end by the trace's times, the first one at the start.

    Raises:
        TraceError: the trace has no times, or a pod has none.
    """
    without = [pod.name for pod in trace.pods if pod.created is None]
    if without:
        remedy = "use a trace with `creation_time`, or leave out --times"
        cause = f"the trace does not say when the pod {without[0]} arrives"
        raise TraceError([Problem(Place(trace.origin), cause, remedy)])
    first = min((pod.created or 0 for pod in trace.pods), default=0)
    ordered = sorted(trace.pods, key=lambda pod: (pod.created or 0, pod.name))
    return [_timed(pod, first, f"{seed}-{at:06d}", start) for at, pod in enumerate(ordered)]


def _timed(pod: TracePod, first: int, uid: str, start: Timestamp) -> Arrival:
    at = (pod.created or 0) - first
    created = Timestamp(start.nanos + at * NANOS)
    end = None if pod.deleted is None else float(pod.deleted - first)
    return Arrival(as_pod(pod, created, uid=f"{uid}-{pod.name}"), float(at), end)


def as_pod(pod: TracePod, created: Timestamp, *, name: str = "", uid: str = "") -> Pod:
    """Give a pod as rules see it: with a share of a GPU, or with whole ones."""
    requests = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    annotations: dict[str, str] = {}
    if pod.gpus == 1 and pod.gpu_milli < 1000:
        annotations[SHARE] = f"{GPU}={pod.gpu_milli}m"
    elif pod.gpus:
        requests[GPU] = str(pod.gpus)
    if pod.models:
        annotations[MODELS] = "|".join(pod.models)
    metadata = {
        "name": name or pod.name,
        "namespace": NAMESPACE,
        "uid": uid,
        "labels": {"qos": pod.qos} if pod.qos else {},
        "annotations": annotations,
        "creationTimestamp": str(created),
    }
    container = {"name": "pod", "image": "pod", "resources": {"requests": requests}}
    data = _encoded("Pod", metadata, spec={"containers": [container]})
    return make_pod(data, msgspec.json.decode(data, type=PodHead))


def as_node(name: str, cpu_milli: int, memory_mib: int, gpus: int, model: str) -> Node:
    """Give a node as rules see it; the model is that of its GPUs, and may be empty."""
    allocatable = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi", "pods": _PODS}
    if gpus:
        allocatable[GPU] = str(gpus)
    labels = {f"{GPU}.product": model} if model else {}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": allocatable, "conditions": [ready]}
    data = _encoded("Node", {"name": name, "labels": labels}, status=status)
    return make_node(data, msgspec.json.decode(data, type=NodeHead), ())


def _encoded(kind: str, metadata: Mapping[str, Any], **parts: Any) -> bytes:
    return msgspec.json.encode({"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts})
