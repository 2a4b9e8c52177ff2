"""The shape of a file of rule tests, as it is decoded."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

SAMPLE: Final = "sample"
"""What stands for the sample cluster where a file of a cluster is named."""

Setting = str | int | float | bool
"""What a parameter can be set to: a text is read as `--set` reads it."""


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the file. A field that it does not have is an error."""


class ClusterForm(_Form, frozen=True, kw_only=True):
    """A cluster: what stands in files, and beside it manifests, whose kind may be left out."""

    from_: str | list[str] = msgspec.field(name="from", default_factory=list)
    nodes: list[dict[str, Any]] = []
    pods: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []


class RejectedForm(_Form, frozen=True, kw_only=True):
    """A rejection: the rule, and one of its reasons, or all of them as a list."""

    rule: str = ""
    reason: str | list[str] | None = None


class ExpectForm(_Form, frozen=True, kw_only=True):
    """What is expected of a decision. What is left out is not compared."""

    fits: bool | list[str] | dict[str, bool] | UnsetType = UNSET
    rejected: dict[str, str | list[str] | RejectedForm] | UnsetType = UNSET
    scores: dict[str, dict[str, float | None]] | UnsetType = UNSET
    totals: dict[str, float] | UnsetType = UNSET
    order: list[str] | UnsetType = UNSET
    node: str | UnsetType | None = UNSET
    devices: dict[str, list[int]] | UnsetType = UNSET


class CaseForm(_Form, frozen=True, kw_only=True):
    """One test: a pod, or the file that it is in, and what is expected of the decision for it."""

    name: str
    pod: str | dict[str, Any]
    pod_name: str = ""
    cluster: str | list[str] | ClusterForm | None = None
    set: dict[str, Setting] = {}
    now: str = ""
    expect: ExpectForm


class FileForm(_Form, frozen=True, kw_only=True):
    """A file of tests. What it says of rules, cluster, parameters and time is for all of them.

    `define` may hold anything: it is a place for YAML's anchors.
    """

    rules: str | list[str] = []
    cluster: str | list[str] | ClusterForm | None = None
    set: dict[str, Setting] = {}
    now: str = "2026-01-01T00:00:00Z"
    define: Any = None
    tests: list[CaseForm]


def fields_at(steps: tuple[str | int, ...]) -> tuple[str, ...]:
    """Give the fields that a map at some place of the file can have."""
    names = [step for step in steps if isinstance(step, str)]
    form: type[_Form] = FileForm if not names else CaseForm
    if "expect" in names:
        form = RejectedForm if "rejected" in names else ExpectForm
    elif "cluster" in names:
        form = ClusterForm
    return form.__struct_encode_fields__


_EXAMPLES: Final = {
    "rules": "rules: gpu.expr",
    "cluster": "cluster: sample`, `cluster: dump.yaml` or `cluster: {nodes: […], pods: […]}",
    "set": "set: {reserve: 0.2}",
    "now": 'now: "2026-06-01T12:00:00Z"',
    "name": "name: a pod without GPUs stays off GPU nodes",
    "pod": "pod: pod.yaml` or `pod: {spec: {…}}",
    "fits": "fits: true`, `fits: [ant]` or `fits: {ant: true, bee: false}",
    "rejected": 'rejected: {ant: "Insufficient cpu"}` or `rejected: {ant: {rule: fit}}',
    "scores": "scores: {pack: {ant: 100, bee: null}}",
    "totals": "totals: {ant: 250}",
    "order": "order: [ant, bee]",
    "node": "node: ant` or `node: null",
    "devices": "devices: {nvidia.com/gpu: [0, 1]}",
    "expect": "expect: {fits: true}",
    "tests": "tests: [{name: …, pod: …, expect: …}]",
}


def example_of(steps: tuple[str | int, ...]) -> str:
    """Say how the field that a place is in is written, if it is one of the file's own."""
    known = next((step for step in reversed(steps) if step in _EXAMPLES), "tests")
    return f"write it as in `{_EXAMPLES[str(known)]}`"
