"""Leader election by a Lease, as kube-scheduler does it: one replica decides, others stand by.

A candidate that sees another's lease waits until that has not changed for its whole duration, by
its own clock. A leader that could not renew within the shorter deadline stops, by its own clock
too, counted from before the last renewal was sent. So two never lead at the same time, whatever
their clocks say, as long as these run equally fast (within a half).

Turns are taken by one thread; `leads` may be asked by any.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

import msgspec

from policyd.kube.client import ApiClient
from policyd.kube.errors import CONFLICT, NOT_FOUND, ApiError
from policyd.kube.events import micro_time
from policyd.scheduler.protocols import Clock

LEASE_SECONDS: Final = 15.0
RENEW_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0
"""leaseDuration, renewDeadline and retryPeriod of kube-scheduler."""

JITTER: Final = 1.2
"""client-go's JitterFactor: by how much of the retry period candidates wait longer, by chance."""

_LOG: Final = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec | None = None

    @property
    def record(self) -> _Spec:
        return self.spec or _Spec()


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a lease holds, how long a leader tries to renew it, and how often: in seconds."""

    lease: float = LEASE_SECONDS
    renew: float = RENEW_SECONDS
    retry: float = RETRY_SECONDS

    def __post_init__(self) -> None:
        """Check that a leader gives up before others take over.

        Raises:
            ValueError: the numbers do not go together.
        """
        if not self.lease > self.renew > self.retry * JITTER > 0:
            raise ValueError(
                "the lease must last longer than its renewal may take, and that longer than"
                f" {JITTER} times the retry period: {self.lease:g}, {self.renew:g}, {self.retry:g}"
            )


def holder_of(client: ApiClient, namespace: str, name: str) -> str:
    """Give the host of the replica that holds a Lease, which in a cluster is the pod's name.

    Nothing where nobody holds it.

    Raises:
        ApiError: there is no such Lease, or it cannot be read.
    """
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    holder = client.get(path).decoded(_Lease).record.holder_identity or ""
    return holder.rpartition("_")[0] or holder


class LeaderElection:
    """One candidate for a Lease.

    `started` and `lost` are called by the thread that takes turns. Who lost the lease is a
    candidate like any other from then on: what it knows of the cluster it goes on to learn.
    """

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        chance: Callable[[], float],
        *,
        started: Callable[[], None],
        lost: Callable[[], None],
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self.identity = identity
        self._clock = clock
        self._chance = chance
        self._started = started
        self._lost = lost
        self._timing = timing or Timing()
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._seen: tuple[str, str] = ("", "")  # the version and holder of the lease as last seen
        self._seen_at = 0.0  # monotonic seconds: since when it is so
        self._due = 0.0
        self._renewed: float | None = None  # monotonic seconds: from when on the lease is ours
        self._is_over = False
        self._wake = Event()

    # --- any thread ---

    @property
    def leads(self) -> bool:
        """Say whether this candidate may decide now, by the clock and not by what was told last."""
        renewed = self._renewed
        return renewed is not None and self._clock.monotonic() - renewed < self._timing.renew

    @property
    def holder(self) -> str:
        """Give who holds the lease, as far as is known."""
        return self._seen[1]

    def wake(self) -> None:
        """Have `turn` return at once, from now on."""
        self._wake.set()

    # --- the thread that takes turns ---

    def turn(self, seconds: float) -> None:
        """Try to become or to stay leader if it is time to, or wait for it that long at most."""
        self._give_up_if_late()
        if self._is_over:
            self._wake.wait(seconds)
            return
        left = self._due - self._clock.monotonic()
        if left > 0:
            self._wake.wait(min(left, seconds))
            self._give_up_if_late()
            return
        period = self._timing.retry
        was_leader = self._renewed is not None
        self._try()
        extra = 0.0 if was_leader else self._chance() * (JITTER - 1) * period
        self._due = self._clock.monotonic() + period + extra
        self._give_up_if_late()

    def release(self) -> None:
        """Give the lease back, so that another need not wait for its end. Once work has stopped."""
        was_leader, self._renewed, self._is_over = self._renewed is not None, None, True
        if not was_leader:
            return
        try:
            lease = self._read()
            if lease is None or lease.record.holder_identity != self.identity:
                return
            now = micro_time(self._clock.now())
            record = {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": lease.record.lease_transitions or 0,
            }
            self._replace(lease, record)
            _LOG.info("the lease %s/%s is released", self._namespace, self._name)
        except ApiError as error:
            _LOG.warning("the lease could not be released: %s", error.message)

    def _give_up_if_late(self) -> None:
        if self._renewed is not None and not self.leads:
            self._lose("it could not be renewed in time")

    def _lose(self, why: str) -> None:
        self._renewed = None
        _LOG.error("the lease %s/%s is lost: %s", self._namespace, self._name, why)
        self._lost()

    def _try(self) -> None:
        """Take or renew the lease. A call that fails is tried again in the next turn."""
        began = self._clock.monotonic()
        try:
            self._take_or_renew(began)
        except ApiError as error:
            if error.status == CONFLICT or error.reason == "AlreadyExists":
                _LOG.debug("another candidate was faster: %s", error.message)
            else:
                _LOG.warning("the lease cannot be had: %s", error.message)

    def _take_or_renew(self, began: float) -> None:
        lease = self._read()
        if lease is None:
            self._create(began)
            return
        record = lease.record
        self._look(lease)
        holder = record.holder_identity or ""
        if holder not in ("", self.identity):
            if self._renewed is not None:
                self._lose(f"{holder} holds it")
                return
            duration = record.lease_duration_seconds or self._timing.lease
            if self._clock.monotonic() - self._seen_at < duration:
                return
        now = micro_time(self._clock.now())
        is_ours = holder == self.identity
        changes = {
            **self._claim(now),
            "acquireTime": (record.acquire_time if is_ours else None) or now,
            "leaseTransitions": (record.lease_transitions or 0) + (not is_ours),
        }
        # With an answer that is lost it is not ours: the next turn reads what became of it
        self._hold(self._replace(lease, changes), began)

    def _create(self, began: float) -> None:
        now = micro_time(self._clock.now())
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {**self._claim(now), "acquireTime": now, "leaseTransitions": 0},
        }
        answer = self._client.post(self._path, body, timeout=self._timeout)
        self._hold(answer.decoded(_Lease), began)

    def _claim(self, now: str) -> dict[str, Any]:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._timing.lease),
            "renewTime": now,
        }

    def _hold(self, lease: _Lease, began: float) -> None:
        is_new, self._renewed = self._renewed is None, began
        self._look(lease)
        if is_new:
            _LOG.info("leading by the lease %s/%s", self._namespace, self._name)
            self._started()

    def _look(self, lease: _Lease) -> None:
        """Note since when the lease is as it is. Its own times are by other clocks."""
        seen = (lease.metadata.resource_version, lease.record.holder_identity or "")
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.monotonic()

    # --- calls ---

    @property
    def _timeout(self) -> float:
        return max(1.0, self._timing.renew / 2)

    def _read(self) -> _Lease | None:
        try:
            answer = self._client.get(f"{self._path}/{self._name}", timeout=self._timeout)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return answer.decoded(_Lease)

    def _replace(self, lease: _Lease, spec: dict[str, Any]) -> _Lease:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "resourceVersion": lease.metadata.resource_version,
            },
            "spec": spec,
        }
        answer = self._client.put(f"{self._path}/{self._name}", body, timeout=self._timeout)
        return answer.decoded(_Lease)
