"""The last decisions, to be asked about: the newest attempt of each pod, with bounded memory.

What is kept of a decision are not its verdicts but the facts that it was made on: the pod, the
rule set, and the snapshot, which is a list of references to nodes. Facts never change, so that
the same decision can be made again when somebody asks, and keeping one costs the deciding thread
some ten microseconds, however many nodes there are.

What is pinned: each snapshot's list (8 bytes a node); those versions of nodes, with the pods on
them, that the cluster has left behind since; rule sets, which all decisions under them share; and
the pods. The journal of the cluster's nodes says how many versions there were since the oldest
decision that is kept, and they are charged by size. When the charges exceed `max_bytes`, or the
pods `max_pods`, the least recently decided leave: nothing is pinned for ever, and never more than
about `max_bytes`. Memory is estimated, not measured.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic
from typing import Final

from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.snapshot import Snapshot
from policyd.policy.decide import Decision, decide
from policyd.policy.devices import suffice
from policyd.policy.record import Brief, Record, to_json
from policyd.policy.recording import decision_data, pod_data, ruleset_data
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.cycle import Attempt

MAX_PODS: Final = 2_000
"""Of how many pods the last decision is kept."""

MAX_BYTES: Final = 64 * 2**20
"""How much memory what is kept may pin, as estimated."""

MAX_SECONDS: Final = 10.0
"""How long a decision may take to be made again for somebody who asks."""

MAX_EARLIER: Final = 8
"""How many earlier attempts of a pod are remembered in brief."""

_ENTRY_BYTES: Final = 4096
_BRIEF_BYTES: Final = 512
_REFERENCE_BYTES: Final = 8
_NODE_BYTES: Final = 6144
"""What a version of a node takes besides its JSON: its amounts, and the list of its pods."""


def decision_id(attempt: Attempt) -> str:
    """Name an attempt in logs, spans and records; unique in one process."""
    rules = attempt.ruleset.hash[:8] if attempt.ruleset is not None else "none"
    return f"{rules}-{attempt.number}"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a decision was made on. `refused` nodes were left out, for their devices."""

    pod: Pod
    ruleset: Ruleset
    snapshot: Snapshot
    only: tuple[Node, ...] | None

    def decide_again(self, tick: Callable[[], None]) -> Decision:
        return decide(self.ruleset, self.pod, self.snapshot, self.only, tick=tick)

    @property
    def refused(self) -> int:
        if self.only is None:
            return 0
        return sum(not suffice(node, self.pod) for node in self.snapshot.nodes)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last attempt for a pod, without its verdicts; and those before it in brief."""

    attempt: Attempt
    facts: _Facts | None
    earlier: tuple[Brief, ...] = ()
    version: int = 0  # of the nodes, for the charge
    charge: int = 0

    @property
    def brief(self) -> Brief:
        attempt = self.attempt
        return Brief(
            id=decision_id(attempt),
            time=_time(attempt),
            namespace=attempt.pod.namespace,
            name=attempt.pod.name,
            result=attempt.result,
            message=attempt.message,
            node=attempt.node,
        )


class RecentDecisions:
    """An observer that keeps the last decisions. Any thread may call any of its methods.

    One lock, this object's, which is held for a few dictionary operations; nothing is decided,
    written or called under it.
    """

    def __init__(
        self,
        *,
        max_pods: int = MAX_PODS,
        max_bytes: int = MAX_BYTES,
        timer: Callable[[], float] = monotonic,
    ) -> None:
        self._max_pods = max_pods
        self._max_bytes = max_bytes
        self._timer = timer
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()  # the newest is the last
        self._bytes = 0
        self._version = 0  # the newest of the nodes that a decision was made on
        self._node_charge = _NODE_BYTES

    # --- what is decided ---

    def attempted(self, attempt: Attempt) -> None:
        """Keep an attempt, in place of the pod's last one."""
        facts = _facts(attempt)
        bare = replace(attempt, decision=None)
        key = (attempt.pod.namespace, attempt.pod.name)
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._bytes -= before.charge
            self._see(facts)
            version = self._version if facts is None else facts.snapshot.version
            earlier = _earlier(bare, before)
            charge = _charge(bare, facts, earlier)
            self._kept[key] = _Kept(bare, facts, earlier, version, charge)
            self._bytes += charge
            self._make_room()

    def _see(self, facts: _Facts | None) -> None:
        """Take note of how far the nodes have moved on, and of how large they are."""
        if facts is not None and facts.snapshot.nodes:
            self._version = max(self._version, facts.snapshot.version)
            self._node_charge = _NODE_BYTES + len(facts.snapshot.nodes[0].json)

    def _charged(self) -> int:
        """Estimate what all that is kept pins, in bytes."""
        oldest = next(iter(self._kept.values()), None)
        versions = 0 if oldest is None else self._version - oldest.version
        return self._bytes + versions * self._node_charge

    def _make_room(self) -> None:
        """Let the oldest go where there is too much, but for the newest."""
        while len(self._kept) > 1 and (
            len(self._kept) > self._max_pods or self._charged() > self._max_bytes
        ):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.charge

    # --- what is asked ---

    @property
    def charged_bytes(self) -> int:
        """Give the estimate of what is pinned."""
        with self._lock:
            return self._charged()

    def listed(self) -> list[Brief]:
        """Give the last attempt of each pod in brief, the newest first."""
        with self._lock:
            kept = list(reversed(self._kept.values()))
        return [each.brief for each in kept]

    def record(self, namespace: str, name: str, nodes: Iterable[str] = ()) -> Record | None:
        """Give the record of a pod's last attempt; nothing where it is not known (any more).

        The decision is made again on the thread that asks; where that takes longer than
        `MAX_SECONDS`, the record says so and has none. `nodes` are in it in full besides those
        that always are.
        """
        with self._lock:
            kept = self._kept.get((namespace, name))
        return None if kept is None else _record(kept, tuple(nodes), self._timer)

    def record_json(self, namespace: str, name: str, nodes: Iterable[str] = ()) -> bytes | None:
        """Give a record as JSON, as `record` does."""
        record = self.record(namespace, name, nodes)
        return None if record is None else to_json(record)


def _facts(attempt: Attempt) -> _Facts | None:
    decision = attempt.decision
    if decision is None:
        return None
    return _Facts(decision.pod, decision.ruleset, decision.snapshot, decision.only)


def _earlier(attempt: Attempt, before: _Kept | None) -> tuple[Brief, ...]:
    """Give what came before in brief, where it was the same pod and not one of its name."""
    if before is None or before.attempt.pod.uid != attempt.pod.uid:
        return ()
    return (before.brief, *before.earlier)[:MAX_EARLIER]


def _charge(attempt: Attempt, facts: _Facts | None, earlier: tuple[Brief, ...]) -> int:
    """Estimate what an attempt pins by itself, in bytes."""
    texts = len(attempt.pod.json) + len(attempt.message)
    references = 0
    if facts is not None:
        references = len(facts.snapshot.nodes) + len(facts.only or ())
    return _ENTRY_BYTES + texts + _BRIEF_BYTES * len(earlier) + _REFERENCE_BYTES * references


def record_of(attempt: Attempt, nodes: Iterable[str] = ()) -> Record:
    """Make the record of an attempt that is at hand with its verdicts."""
    return _made(_Kept(attempt, _facts(attempt)), attempt.decision, tuple(nodes))


class _TooLongError(Exception):
    """A decision that takes too long to be made again."""


def _record(kept: _Kept, nodes: tuple[str, ...], timer: Callable[[], float]) -> Record:
    end = timer() + MAX_SECONDS

    def tick() -> None:
        if timer() > end:
            raise _TooLongError

    try:
        decision = None if kept.facts is None else kept.facts.decide_again(tick)
    except _TooLongError:
        said = f"the decision could not be made again within {MAX_SECONDS:g} s to be explained"
        attempt = replace(kept.attempt, failures=(*kept.attempt.failures, said))
        return _made(replace(kept, attempt=attempt, facts=None), None, nodes)
    return _made(kept, decision, nodes)


def _time(attempt: Attempt) -> str:
    return "" if attempt.time is None else str(attempt.time)


def _made(kept: _Kept, decision: Decision | None, nodes: tuple[str, ...]) -> Record:
    attempt, facts = kept.attempt, kept.facts
    data = None
    if decision is not None and facts is not None:
        taken = attempt.pod.taken if attempt.result == "scheduled" else {}
        data = decision_data(decision, taken=taken, refused=facts.refused, wanted=nodes)
    return Record(
        id=decision_id(attempt),
        time=_time(attempt),
        profile=attempt.profile,
        pod=pod_data(attempt.pod),
        ruleset=None if attempt.ruleset is None else ruleset_data(attempt.ruleset),
        result=attempt.result,
        message=attempt.message,
        node=attempt.node,
        failures=attempt.failures,
        seconds=attempt.seconds,
        attempt=attempt.attempts,
        earlier=kept.earlier,
        decision=data,
    )
