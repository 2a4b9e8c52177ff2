"""What changed in the cluster, in the words of the rules: the paths that a rule may have read.

A pod that a rule rejected waits for a change of what the rule read, and for no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from policyd.language.source import Source
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.ruleset import Rule, Ruleset
from policyd.values.errors import ValueFault

NODE_ADDED: Final = frozenset({"node", "cluster"})
NODE_REMOVED: Final = frozenset({"cluster"})
PODS_CHANGED: Final = frozenset(
    {
        *("node.used", "node.free", "node.pods", "node.nonZeroUsed", "node.devices"),
        *("cluster.used", "cluster.free", "cluster.pods", "cluster.shapes"),
    }
)
PODS_PLACED: Final = frozenset({"placement"})
"""One pod more on a node, which takes room and is no help to who waits for some: those wait for
it whom it may help all the same (`policyd.policy.direction`)."""

NAMESPACE_CHANGED: Final = frozenset({"namespace", "cluster.namespaces"})
STORAGE_CHANGED: Final = frozenset({"cluster.storage"})
OWNERS_CHANGED: Final = frozenset({"cluster.owners"})
TIME_PASSED: Final = frozenset({"now"})

_SECTIONS: Final = ("metadata", "spec", "status")
_OF_PLACEMENT: Final = frozenset({"used", "free", "pods", "nonZeroUsed", "devices"})

_FOLLOW: Final[Mapping[str, tuple[str, ...]]] = {
    "node.allocatable": (*("node.free", "node.devices", "cluster.allocatable", "cluster.free"),),
    "node.labels": ("node.devices", "cluster.nodes"),
    "node.taints": ("cluster.nodes",),
    "node.images": ("cluster.images",),
    "node.annotations": ("node.devices",),
}
"""What changes with a field of a node: what is made of it and the pods there, or of all nodes."""


def node_changes(before: Node, after: Node) -> frozenset[str]:
    """Give the paths whose values may differ between two states of a node.

    The pods on it, and what follows from them, are not looked at: see `PODS_CHANGED`.
    """
    changed = frozenset(_changes("node", before, after))
    return changed.union(*(_FOLLOW.get(path, ()) for path in changed))


def pod_changes(before: Pod, after: Pod) -> frozenset[str]:
    """Give the paths whose values may differ between two states of a pod."""
    return frozenset(_changes("pod", before, after))


def _changes(name: str, before: Node | Pod, after: Node | Pod) -> Iterator[str]:
    if before.json == after.json:
        return
    for field in before.FIELDS.keys() - before.DERIVED.keys() - _OF_PLACEMENT - {*_SECTIONS}:
        if _value(before, field) != _value(after, field):
            yield f"{name}.{field}"
    old, new = _raw(before), _raw(after)
    for section in _SECTIONS:
        left, right = old.get(section) or {}, new.get(section) or {}
        for key in left.keys() | right.keys():
            if left.get(key) != right.get(key):
                yield f"{name}.{section}.{key}"


def _value(fact: Node | Pod, field: str) -> Any:
    """Give a field; where it is malformed, what is wrong, which may change too."""
    try:
        return getattr(fact, field)
    except ValueFault as fault:
        return fault.message


def _raw(fact: Node | Pod) -> dict[str, Any]:
    raw: dict[str, Any] = msgspec.json.decode(fact.json)
    return raw


def changed_rules(before: Ruleset | None, after: Ruleset) -> frozenset[str] | None:
    """Name the rules that are not what they were; nothing where all may be.

    A rule is what it was if its own text is, all of its file that is no rule, and the values of
    all parameters: what it can refer to stands there.
    """
    if before is None or _parameters(before) != _parameters(after):
        return None
    old, new = _texts(before), _texts(after)
    return frozenset(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _parameters(ruleset: Ruleset) -> dict[str, tuple[str, str]]:
    return {
        name: (str(ruleset.parameters[name].type), repr(value))
        for name, value in ruleset.values.items()
    }


def _texts(ruleset: Ruleset) -> dict[str, tuple[str, str]]:
    """Give for each rule its text, and what of its file is no rule."""
    by_file: dict[Source, list[Rule]] = {}
    for rule in ruleset.rules:
        by_file.setdefault(rule.source, []).append(rule)
    return {
        rule.name: (source.slice(rule.span), rest)
        for source, rules in by_file.items()
        for rest in [_outside(source, rules)]
        for rule in rules
    }


def _outside(source: Source, rules: Sequence[Rule]) -> str:
    pieces, end = [], 0
    for span in sorted(rule.span for rule in rules):
        pieces.append(source.text[end : span.start])
        end = span.end
    return "\0".join([*pieces, source.text[end:]])
