"""The cluster behind an API server, by the scheduler's protocol: binds, conditions, events.

At most one bind and one event for a pod that is placed. A condition is written only where it says
something new, and never on a pod that was bound or replaced meanwhile.

One lock, the object's, over what conditions were written last; nothing is sent while it is held.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import msgspec

from policyd.kube.client import ApiClient
from policyd.kube.errors import CONFLICT, NOT_FOUND, ApiError
from policyd.kube.events import NORMAL, WARNING, Events, Occurrence, Reference, whole_time
from policyd.model.devices import RECORD
from policyd.model.pod import Pod
from policyd.scheduler.profile import scheduler_name
from policyd.scheduler.protocols import Clock, ClusterError, Remedy
from policyd.scheduler.queue import key_of

BIND_SECONDS: Final = 15.0
"""How long a bind may take before it is read back."""

MOST_CONDITIONS: Final = 20_000
"""Of how many pods it is remembered which condition was written last."""

_TRIES: Final = 3


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    observed_generation: int | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str | None = None


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition | None] | None = None


class _State(msgspec.Struct, frozen=True):
    """What of a pod matters here."""

    metadata: _Metadata = _Metadata()
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def node(self) -> str | None:
        return (self.spec.node_name or None) if self.spec is not None else None

    @property
    def condition(self) -> _Condition | None:
        """Give the condition `PodScheduled`."""
        conditions = (self.status.conditions or ()) if self.status is not None else ()
        return next((c for c in conditions if c is not None and c.type == "PodScheduled"), None)


@dataclass(frozen=True, slots=True)
class _Written:
    """A condition that was written, and the pod's version from then on."""

    reason: str
    message: str
    version: str


class KubeCluster:
    """Fills `policyd.scheduler.protocols.Cluster`. Any thread.

    `may_bind` is asked right before each bind: whoever lost the lease must not bind any more what
    it decided before.
    """

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        events: Events,
        may_bind: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._clock = clock
        self._may_bind = may_bind
        self.events = events
        self._lock = Lock()
        self._written: OrderedDict[str, _Written] = OrderedDict()

    # --- binding ---

    def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod to a node, by its uid; and write the devices that it has on record.

        Raises:
            ClusterError: it was not bound, or it is not known whether it was.
        """
        if not self._may_bind():
            raise ClusterError("the lease is lost: another replica decides", Remedy.RETRY_AT_ONCE)
        metadata: dict[str, Any] = {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
        }
        if pod.taken:
            metadata["annotations"] = {RECORD: pod.annotations[RECORD]}
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            self._client.post(f"{_path(pod)}/binding", body, timeout=BIND_SECONDS)
        except ApiError as error:
            if error.status == NOT_FOUND:
                raise _gone(pod) from None
            raise
        with self._lock:
            self._written.pop(key_of(pod), None)

    def bound_node(self, pod: Pod) -> str | None:
        """Read back the node that a pod is bound to; nothing where it is on none.

        Raises:
            ClusterError: it cannot be read; `NEEDS_PERSON` where the pod is gone.
        """
        return self._read(pod).node

    def _read(self, pod: Pod) -> _State:
        try:
            state = self._client.get(_path(pod), timeout=BIND_SECONDS).decoded(_State)
        except ApiError as error:
            if error.status == NOT_FOUND:
                raise _gone(pod) from None
            raise
        if pod.uid and state.metadata.uid != pod.uid:
            raise _gone(pod)
        return state

    # --- what is written for people ---

    def unschedulable(self, pod: Pod, reason: str, message: str) -> None:
        """Write the event `FailedScheduling`, and the condition where it says something new.

        Who lost the lease says nothing: another replica decides by now.

        Raises:
            ClusterError: one of them could not be written.
        """
        if not self._may_bind():
            return
        self.events.write(_occurrence(pod, WARNING, "FailedScheduling", "Scheduling", message))
        self._put_condition(pod, pod.part(_State), reason, message)

    def scheduled(self, pod: Pod, node: str) -> None:
        """Write the event `Scheduled`.

        Raises:
            ClusterError: it could not be written.
        """
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self.events.write(_occurrence(pod, NORMAL, "Scheduled", "Binding", note))

    def _put_condition(self, pod: Pod, state: _State, reason: str, message: str) -> None:
        """Write the condition on the pod as it is known; where it is another by now, on that."""
        for _ in range(_TRIES):
            if self._is_said(pod, state, reason, message):
                return
            body = self._patch(state, reason, message)
            try:
                answer = self._client.patch(f"{_path(pod)}/status", body).decoded(_State)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return  # nobody is left to be told
                if error.status != CONFLICT:
                    raise
            else:
                self._remember(pod, _Written(reason, message, answer.metadata.resource_version))
                return
            try:
                state = self._read(pod)
            except ClusterError as error:
                if error.remedy is Remedy.NEEDS_PERSON:
                    return
                raise
            if state.node is not None:
                return

    def _is_said(self, pod: Pod, state: _State, reason: str, message: str) -> bool:
        """Say whether the pod has this condition already, as far as is known."""
        known = state.condition
        if known is not None and (known.status, known.reason, known.message) == (
            "False",
            reason,
            message,
        ):
            return known.observed_generation in (None, state.metadata.generation)
        with self._lock:
            written = self._written.get(key_of(pod))
        return (
            written is not None
            and (written.reason, written.message) == (reason, message)
            and _is_before(state.metadata.resource_version, written.version)
        )

    def _patch(self, state: _State, reason: str, message: str) -> dict[str, Any]:
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
        }
        known = state.condition
        if known is None or known.status != "False":
            condition["lastTransitionTime"] = whole_time(self._clock.now())
        if state.metadata.generation:
            condition["observedGeneration"] = state.metadata.generation
        metadata = {
            "uid": state.metadata.uid,
            "resourceVersion": state.metadata.resource_version,
        }
        kept = {key: value for key, value in metadata.items() if value}
        return {"metadata": kept, "status": {"conditions": [condition]}}

    def _remember(self, pod: Pod, written: _Written) -> None:
        with self._lock:
            self._written[key_of(pod)] = written
            self._written.move_to_end(key_of(pod))
            while len(self._written) > MOST_CONDITIONS:
                self._written.popitem(last=False)


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _gone(pod: Pod) -> ClusterError:
    return ClusterError(f"pod {pod.namespace}/{pod.name} is gone", Remedy.NEEDS_PERSON)


def _occurrence(pod: Pod, kind: str, reason: str, action: str, note: str) -> Occurrence:
    version = pod.part(_State).metadata.resource_version
    about = Reference("Pod", pod.namespace, pod.name, pod.uid, resource_version=version)
    return Occurrence(about, kind, reason, action, note, scheduler_name(pod))


def _is_before(version: str, other: str) -> bool:
    return version.isdigit() and other.isdigit() and int(version) < int(other)
