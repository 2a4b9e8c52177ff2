"""The order of things that `order` keys give, and what breaks a tie in the end."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from hashlib import blake2b
from typing import Any

from policyd.language.equality import compare
from policyd.language.errors import EvaluationError
from policyd.model.node import Node
from policyd.policy.ruleset import Ruleset, SortKey
from policyd.values.errors import ValueFault


def tie_break(ruleset: Ruleset, fixed: Mapping[str, Any], nodes: Sequence[Node]) -> list[int]:
    """Give each of some equally good nodes its place among them: 0 is taken first.

    By the keys of `choose`, and where they are equal or there are none by a hash of the pod's
    uid and the node's name, so that a decision can be repeated.
    """
    keys = [
        key
        for block in ruleset.blocks
        if block.word == "choose" and not block.shadow
        for clause in block.clauses
        if clause.word == "order"
        for key in clause.keys
    ]
    pod = fixed["pod"]
    values = [[key_value(key, {**fixed, "node": node}) for key in keys] for node in nodes]
    hashes = [placement_hash(pod.uid or f"{pod.namespace}/{pod.name}", n.name) for n in nodes]

    def before(a: int, b: int) -> int:
        by_keys = compare_keys(keys, values[a], values[b])
        return by_keys or (hashes[a] > hashes[b]) - (hashes[a] < hashes[b])

    order = sorted(range(len(nodes)), key=cmp_to_key(before))
    places = [0] * len(nodes)
    for place, at in enumerate(order):
        places[at] = place
    return places


def placement_hash(uid: str, node: str) -> int:
    """Give the 64-bit number by which equal nodes are taken for a pod."""
    return int.from_bytes(blake2b(f"{uid}\0{node}".encode(), digest_size=8).digest(), "big")


def key_value(key: SortKey, values: Mapping[str, Any]) -> Any:
    """Give a key's value; an error sorts last, as null does."""
    try:
        return key.value.program.evaluate(values)
    except EvaluationError:
        return None


def compare_keys(keys: Sequence[SortKey], left: Sequence[Any], right: Sequence[Any]) -> int:
    """Say which of two comes first by its values of the keys: below zero the left one."""
    for key, a, b in zip(keys, left, right, strict=True):
        order = _compare(a, b, descending=key.descending)
        if order:
            return order
    return 0


def _compare(left: Any, right: Any, *, descending: bool) -> int:
    if left is None or right is None:
        return (left is None) - (right is None)
    try:
        order = compare(left, right) or 0
    except ValueFault:
        return 0
    return -order if descending else order
