"""Makes the scenario of a simulation: of a dump and manifests, or of a trace."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from policyd.cli.failure import Failure, file_named, unreadable
from policyd.cli.inputs import Inputs, read_inputs, time_of
from policyd.cli.notices import refuse
from policyd.cli.request import Request, Simulated
from policyd.language.suggest import closest
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.workload import Workload
from policyd.simulation.openb import Experiment, Trace, TraceError, by_times, experiment
from policyd.simulation.openb_files import published, read_trace
from policyd.simulation.run import Arrival, Scenario
from policyd.values.quantity import NANOS
from policyd.values.times import Timestamp

DEFAULT_ARRIVALS: Final = 1.3
"""How much of a trace arrives: the published experiment's."""

_DEFAULT_TRACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A scenario, and where its nodes are from."""

    scenario: Scenario
    origin: str


def prepare(request: Request, simulated: Simulated) -> Prepared:
    """Read the input and make the scenario.

    Raises:
        Failure: the input cannot be used.
    """
    prepared = _of_trace(request, simulated) if simulated.trace else _of_dump(request, simulated)
    _check_resource(prepared.scenario)
    return prepared


# --- a dump and manifests ---


def _of_dump(request: Request, simulated: Simulated) -> Prepared:
    """Let the pods that are on no node arrive; the others are on their nodes."""
    inputs = read_inputs(request, needs_pods=bool(request.pod), needs_nodes=True)
    snapshot = inputs.snapshot
    bound = [pod for node in snapshot.nodes for pod in node.pods]
    waiting = _waiting(inputs)
    seed = simulated.seed
    if simulated.times:
        start, arrivals = _as_created(waiting, seed, snapshot.now)
    else:
        start = snapshot.now
        arrivals = [Arrival(_known(pod, seed, at)) for at, pod in enumerate(waiting)]
    scenario = Scenario(
        start=start,
        nodes=snapshot.nodes,
        namespaces=tuple(snapshot.namespaces.values()),
        bound=bound,
        arrivals=arrivals,
        workload=Workload([*bound, *waiting], fixed=True),
        drops=simulated.drops,
        resource=simulated.resource or _followed(snapshot.nodes, [*bound, *waiting]),
    )
    return Prepared(scenario, inputs.origin)


def _waiting(inputs: Inputs) -> list[Pod]:
    snapshot = inputs.snapshot
    given = {id(pod) for pod in snapshot.pods}
    waiting = [pod for pod in snapshot.pods if not pod.nodeName and not pod.is_finished]
    return waiting + [pod for pod in inputs.pods if id(pod) not in given]


def _as_created(pods: Sequence[Pod], seed: int, now: Timestamp) -> tuple[Timestamp, list[Arrival]]:
    """Let pods arrive when they were created, those without a time at the start.

    The first one's creation is the start; what is there already is there from then on.
    """
    times = [pod.created for pod in pods if pod.created is not None]
    start = min(times, key=lambda time: time.nanos, default=now)
    arrivals = [
        Arrival(_known(pod, seed, at), at=((pod.created or start).nanos - start.nanos) / NANOS)
        for at, pod in enumerate(pods)
    ]
    return start, arrivals


def _known(pod: Pod, seed: int, at: int) -> Pod:
    """Give a pod a uid of this simulation, by which ties between nodes are broken."""
    return msgspec.structs.replace(pod, uid=f"{seed}-{at:06d}-{pod.uid}", nodeName="")


# --- a trace ---


def _of_trace(request: Request, simulated: Simulated) -> Prepared:
    trace = _read_trace(request, simulated)
    start = time_of(request.now)
    try:
        happening = _happening(trace, simulated, start)
    except TraceError as error:
        refuse(error.problems)
        raise
    pods = [arrival.pod for arrival in happening.arrivals]
    scenario = Scenario(
        start=start,
        nodes=happening.nodes,
        arrivals=happening.arrivals,
        workload=trace.workload(start),
        drops=simulated.drops,
        resource=simulated.resource or _followed(trace.nodes, pods),
    )
    return Prepared(scenario, trace.origin)


def _happening(trace: Trace, simulated: Simulated, start: Timestamp) -> Experiment:
    if simulated.times:
        return Experiment(trace.nodes, tuple(by_times(trace, simulated.seed, start)))
    ratio = DEFAULT_ARRIVALS if simulated.arrivals is None else simulated.arrivals
    return experiment(trace, ratio, simulated.seed, start)


def _read_trace(request: Request, simulated: Simulated) -> Trace:
    nodes, pods = _trace_files(request, simulated)
    for path in (*nodes, *pods):
        _check_readable(path)
    try:
        trace = read_trace(nodes, pods)
    except TraceError as error:
        refuse(error.problems)
        raise
    for what, found, paths in (("node", trace.nodes, nodes), ("pod", trace.pods, pods)):
        if not found:
            names = ", ".join(map(str, paths))
            raise Failure(f"there is no {what} in this trace", names, "give a file with some")
    return trace


def _trace_files(request: Request, simulated: Simulated) -> tuple[list[Path], list[Path]]:
    if simulated.trace_dir is None:
        return [file_named(path) for path in request.nodes], [file_named(p) for p in request.pod]
    name = simulated.trace_name or _DEFAULT_TRACE
    nodes, pods = published(file_named(simulated.trace_dir), name)
    return [nodes], [pods]


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            return
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None


# --- what is followed ---


def _followed(nodes: Iterable[Node], pods: Iterable[Pod]) -> str:
    """Give the resource whose allocation says most: that of devices that pods ask for, else cpu."""
    devices = dict.fromkeys(device.resource for node in nodes for device in node.devices)
    asked = {resource for pod in pods for resource in devices if pod.requests[resource] > 0}
    return next((resource for resource in devices if resource in asked), "cpu")


def _check_resource(scenario: Scenario) -> None:
    names = list(dict.fromkeys(name for node in scenario.nodes for name in node.allocatable))
    if scenario.resource not in names and names:
        near = closest(scenario.resource, names)
        raise Failure(
            f"no node has the resource `{scenario.resource}`",
            "--resource",
            f"did you mean `{near}`?" if near else f"there are {', '.join(names)}",
        )
