"""Binding: one call that may be slow, fail, or leave open whether it worked.

A bind that may have taken effect is read back before anything is undone, and where that fails
too, again and again: until there is an answer the pod keeps its place on the node, since giving
that away could promise it twice.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from policyd.model.pod import Pod
from policyd.scheduler.cache import Cache
from policyd.scheduler.protocols import Clock, Cluster, ClusterError, Pool, Remedy
from policyd.scheduler.queue import INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, key_of

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known for certain of a bind.

    `node` is the node that the pod is on, which may be another than was asked for; nothing where
    it is on none. `failures` are all that went wrong on the way; there is one at least where the
    pod is not on the node that was asked for. `waited` are the seconds until a thread of the pool
    began, and `seconds` how long it took from there.
    """

    node: str | None
    failures: tuple[ClusterError, ...]
    waited: float
    seconds: float

    @property
    def message(self) -> str:
        """Give all that went wrong as one sentence."""
        return "; ".join(failure.message for failure in self.failures)


class Binder:
    """Binds assumed pods by the pool. Holds no state of its own."""

    def __init__(self, cluster: Cluster, cache: Cache, pool: Pool, clock: Clock) -> None:
        self.clock = clock
        self._cluster = cluster
        self._cache = cache
        self._pool = pool

    def bind(self, pod: Pod, node: str, settled: Callable[[Settled], None]) -> None:
        """Bind a pod that is assumed; `settled` is called once, by a thread of the pool."""
        bind = _Bind(self, pod, node, settled)
        self._pool.submit(bind.run, key_of(pod))

    def call(self, pod: Pod, node: str) -> ClusterError | None:
        """Bind; give what went wrong. A fault of the client leaves open whether it worked."""
        try:
            self._cluster.bind(pod, node)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever it is, the pod must come back
            return _fault(f"binding {pod.namespace}/{pod.name}", error)
        return None

    def read_back(self, pod: Pod) -> str | ClusterError | None:
        """Give the node of a pod, as the cluster has it; or what went wrong."""
        known = self._cache.bound_node(pod)
        if known is not None:
            return known
        try:
            return self._cluster.bound_node(pod)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 - as above
            return _fault(f"reading {pod.namespace}/{pod.name} back", error)

    def later(self, seconds: float, pod: Pod, work: Callable[[], None]) -> None:
        """Go on with a pod's bind later."""
        self._pool.later(seconds, work, key_of(pod))


class _Bind:
    """One bind, until it is settled. Belongs to the thread of the pool that works on it."""

    def __init__(
        self, binder: Binder, pod: Pod, node: str, settled: Callable[[Settled], None]
    ) -> None:
        self._binder = binder
        self._pod = pod
        self._node = node
        self._settled = settled
        self._failures: dict[str, ClusterError] = {}  # by their messages: some come repeatedly
        self._wait = INITIAL_BACKOFF_SECONDS
        self._handed_in = self._began = binder.clock.monotonic()

    def run(self) -> None:
        self._began = self._binder.clock.monotonic()
        failure = self._binder.call(self._pod, self._node)
        if failure is None:
            self._settle(self._node)
            return
        self._failures[failure.message] = failure
        if failure.ambiguous:
            self._read_back()
        else:
            self._settle(None)

    def _read_back(self) -> None:
        found = self._binder.read_back(self._pod)
        if not isinstance(found, ClusterError):
            self._found(found)
            return
        self._failures.pop(found.message, None)
        self._failures[found.message] = found
        if found.remedy is Remedy.NEEDS_PERSON:
            self._settle(None)
            return
        seconds, self._wait = self._wait, min(2 * self._wait, MAX_BACKOFF_SECONDS)
        self._binder.later(seconds, self._pod, self._read_back)

    def _found(self, node: str | None) -> None:
        if node is not None and node != self._node:
            text = f"the pod was bound to {node} meanwhile, not to {self._node}"
            self._failures[text] = ClusterError(text, Remedy.NEEDS_PERSON)
        self._settle(node)

    def _settle(self, node: str | None) -> None:
        waited = self._began - self._handed_in
        seconds = self._binder.clock.monotonic() - self._began
        self._settled(Settled(node, tuple(self._failures.values()), waited, seconds))


def _fault(doing: str, error: Exception) -> ClusterError:
    _LOG.error("%s failed", doing, exc_info=error)
    message = f"{doing} failed: {type(error).__name__}: {error}"
    return ClusterError(message, Remedy.RETRY_WITH_BACKOFF, ambiguous=True)
