"""Gives pods what the API server gives them when they are created, by classes in the same input.

A pod that names a PriorityClass gets its priority, and one that names a RuntimeClass its overhead,
unless the pod has them already, as every pod of a live cluster does. The class marked as the
global default counts for pods that name none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from policyd.model.faults import decode_part
from policyd.model.wire import Amounts, Overhead, PodHead, PodSpec, PriorityClass, RuntimeClass

_BUILT_IN: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of an input: priorities and overheads by name, and the default priority."""

    priorities: dict[str, int]
    overheads: dict[str, Amounts]
    default_priority: int = 0


def classes_of(priority: Iterable[PriorityClass], runtime: Iterable[RuntimeClass]) -> Classes:
    """Put the classes of an input together; of two with one name the last counts."""
    priorities, default = dict(_BUILT_IN), 0
    for each in priority:
        if each.metadata and each.metadata.name:
            priorities[each.metadata.name] = each.value
        if each.global_default:
            default = each.value
    overheads = {
        each.metadata.name: (each.overhead or Overhead()).pod_fixed or {}
        for each in runtime
        if each.metadata and each.metadata.name
    }
    return Classes(priorities, overheads, default)


def admit(data: bytes, head: PodHead, classes: Classes) -> tuple[bytes, PodHead, list[str]]:
    """Give a pod, its JSON and its decoded parts, what it lacks, and say what is not known.

    Raises:
        ObjectError: the pod has fields of the wrong type.
    """
    spec = head.spec or PodSpec()
    lacking, unknown = _lacking(spec, classes)
    if not lacking:
        return data, head, unknown
    raw = decode_part(data, dict[str, Any])
    raw["spec"] = {**(raw.get("spec") or {}), **lacking}
    patched = msgspec.json.encode(raw)
    return patched, decode_part(patched, PodHead), unknown


def _lacking(spec: PodSpec, classes: Classes) -> tuple[dict[str, Any], list[str]]:
    lacking: dict[str, Any] = {}
    unknown: list[str] = []
    named = spec.priority_class_name
    if spec.priority is None and named:
        if named in classes.priorities:
            lacking["priority"] = classes.priorities[named]
        else:
            unknown.append(f"the PriorityClass {named} is not in the input: the priority is 0")
    elif spec.priority is None and classes.default_priority:
        lacking["priority"] = classes.default_priority
    runtime = spec.runtime_class_name
    if spec.overhead is None and runtime:
        if runtime not in classes.overheads:
            unknown.append(f"the RuntimeClass {runtime} is not in the input: no overhead is added")
        elif classes.overheads[runtime]:
            lacking["overhead"] = classes.overheads[runtime]
    return lacking, unknown
