"""The record of a decision as plain data: what it was, why, and what would have changed it.

`policyd eval -o json` prints the `DecisionData` of each pod, with every node in full. A scheduler
that keeps or sends what it decided uses a `Record`, which stays small on any number of nodes: the
nodes that agree in every rule's verdict and in the reasons are one `Group`, and in full there are
only the chosen node, the next best ones, and an example of each group, the one that is nearest to
being feasible. How a record is made of a decision: `policyd/policy/recording.py`.
"""

from typing import Any, Final

import msgspec

VERSION: Final = 1
"""The version of a record's shape: it grows when a reader of the old one would misread the new."""

COMPARED: Final = 500
"""Among how many nodes of a group those nearest to being feasible are looked for."""


class RecordError(Exception):
    """A text that is no record, or one of a version that is not known here."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Data(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a record."""


class PodData(_Data, frozen=True, kw_only=True):
    """The pod that was decided for. `workload` is the kind whose pod template it is, if any."""

    namespace: str
    name: str
    uid: str = ""
    workload: str = ""


class RuleName(_Data, frozen=True, kw_only=True):
    """A rule of the rule set, with its place, `file:line:column`."""

    name: str
    place: str
    shadow: bool = False


class RulesetData(_Data, frozen=True, kw_only=True):
    """What names a rule set: its hash, its rules, its parameters' values."""

    hash: str
    rules: tuple[RuleName, ...] = ()
    params: dict[str, Any] = {}


class ErrorData(_Data, frozen=True, kw_only=True):
    """An evaluation that has no value."""

    message: str
    place: str


class ValueData(_Data, frozen=True, kw_only=True):
    """A part of a condition as it is written, and its value."""

    expression: str
    value: str


class NeedData(_Data, frozen=True, kw_only=True):
    """A part of a condition that would have to be otherwise for the condition to hold.

    `expression` is `value` and would have to be `relation` (in words) `bound`; `missing` is the
    distance where they are amounts.
    """

    expression: str
    value: str
    relation: str
    bound: str
    missing: str = ""


class RejectionData(_Data, frozen=True, kw_only=True):
    """A `require` that is not met, or an error of the rule."""

    reasons: tuple[str, ...]
    expression: str
    place: str
    values: tuple[ValueData, ...] = ()
    needs: tuple[NeedData, ...] = ()
    error: ErrorData | None = None


class ScoreData(_Data, frozen=True, kw_only=True):
    """What one `prefer` or `avoid` gives: its own value, on the scale, and with the weight."""

    raw: Any
    score: float
    weighted: float
    clamped: bool = False
    error: ErrorData | None = None


class VerdictData(_Data, frozen=True, kw_only=True):
    """What one rule says of the pod on one node."""

    rule: str
    shadow: bool
    applies: bool
    rejects: bool
    score: float | None = None
    rejections: tuple[RejectionData, ...] = ()
    scores: tuple[ScoreData, ...] = ()


class NodeData(_Data, frozen=True, kw_only=True):
    """A node, and what all rules say of the pod on it."""

    node: str
    fits: bool
    total: float | None = None
    rules: tuple[VerdictData, ...] = ()


class Group(_Data, frozen=True, kw_only=True):
    """Nodes that agree in every rule's verdict and in the reasons.

    `unmet` is how many requirements are not met on each of them; a shadow rule's do not count.
    `changes` is how many things would have to be otherwise on the example for the pod to fit
    there: several requirements may need the same. Groups stand in the order of it.
    `names` are some of them, those nearest to being feasible first (of a group of more than
    `COMPARED`, the nearest of as many); `example` is the first of them, whose verdicts stand among
    the nodes. `rules` are the names of the rules that reject.
    `lowest` and `highest` are the bounds of the totals of nodes that fit.
    """

    count: int
    names: tuple[str, ...]
    example: str | None
    fits: bool
    unmet: int = 0
    changes: int = 0
    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    lowest: float | None = None
    highest: float | None = None


class ShadowData(_Data, frozen=True, kw_only=True):
    """A rule or a `choose` in shadow mode: what it would have changed. See `shadow.Shadow`."""

    block: str
    name: str
    place: str
    rejected: int
    errors: int
    disagrees: bool
    node: str | None = None
    devices: dict[str, tuple[int, ...]] = {}


class DecisionData(_Data, frozen=True, kw_only=True):
    """A decision. The nodes are in its order, the best first, those that do not fit by name.

    `considered` counts the nodes that were looked at, `feasible` those that fit, `withoutDevices`
    those that were left out before because their devices do not suffice. `reasons` counts nodes
    by reason. `ungrouped` counts the nodes of the smallest groups where there are more groups
    than are kept.
    """

    pod: PodData
    fits: bool
    node: str | None
    considered: int
    feasible: int
    without_devices: int = 0
    devices: dict[str, tuple[int, ...]] = {}
    reasons: dict[str, int] = {}
    shadow: tuple[ShadowData, ...] = ()
    nodes: tuple[NodeData, ...] = ()
    groups: tuple[Group, ...] = ()
    ungrouped: int = 0


class Brief(_Data, frozen=True, kw_only=True):
    """An attempt in brief: the pod, and what came of it."""

    id: str
    time: str
    namespace: str
    name: str
    result: str
    message: str
    node: str | None = None


class Record(_Data, frozen=True, kw_only=True):
    """An attempt to place a pod, with the decision where there was one.

    `time` is RFC 3339. `result` is `scheduled`, `unschedulable` or `error`. `node` is the one that
    the pod was bound to, or was to be bound to. `attempt` counts those for this pod, from 1;
    `earlier` are those before, the newest first, as far as they are remembered. `seconds` is how
    long the decision took.
    """

    version: int = VERSION
    id: str
    time: str
    profile: str
    pod: PodData
    ruleset: RulesetData | None
    result: str
    message: str
    node: str | None
    failures: tuple[str, ...] = ()
    seconds: float
    attempt: int = 1
    earlier: tuple[Brief, ...] = ()
    decision: DecisionData | None = None


def to_json(record: Record) -> bytes:
    """Write a record on one line."""
    return msgspec.json.encode(record)


def as_data(part: Record | DecisionData | RulesetData) -> Any:
    """Give a record as lists and dicts."""
    return msgspec.to_builtins(part)


class _Head(msgspec.Struct, frozen=True):
    """What tells whether a text is a record, and of which version."""

    version: int


def from_json(text: bytes | str) -> Record:
    """Read a record.

    Raises:
        RecordError: it is none, or one of another version.
    """
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"this is not the record of a decision: {error}") from None
    if head.version != VERSION:
        raise RecordError(
            f"this record is of version {head.version}, and this policyd reads version {VERSION}"
        )
    try:
        return msgspec.json.decode(text, type=Record)
    except msgspec.DecodeError as error:
        raise RecordError(f"this record cannot be read: {error}") from None
