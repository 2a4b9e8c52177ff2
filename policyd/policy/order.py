"""The order of things that `order` keys give, and what breaks a tie in the end."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key, lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from policyd.language.equality import compare
from policyd.language.errors import EvaluationError
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.ruleset import Ruleset, SortKey
from policyd.values.errors import ValueFault

_BITS: Final = (1 << 64) - 1
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


def tie_break(ruleset: Ruleset, fixed: Mapping[str, Any], nodes: Sequence[Node]) -> list[int]:
    """Give each of some equally good nodes its place among them: 0 is taken first.

    By the keys of `choose`, and where they are equal or there are none by a hash of the pod's
    uid and the node's name, so that a decision can be repeated.
    """
    keys = order_keys(ruleset)
    values = [[key_value(key, {**fixed, "node": node}) for key in keys] for node in nodes]
    of_pod = pod_hash(fixed["pod"])
    hashes = [mixed(of_pod ^ text_hash(node.name)) for node in nodes]

    def before(a: int, b: int) -> int:
        by_keys = compare_keys(keys, values[a], values[b])
        return by_keys or (hashes[a] > hashes[b]) - (hashes[a] < hashes[b])

    order = sorted(range(len(nodes)), key=cmp_to_key(before))
    places = [0] * len(nodes)
    for place, at in enumerate(order):
        places[at] = place
    return places


def order_keys(ruleset: Ruleset) -> tuple[SortKey, ...]:
    """Give the keys by which a rule set chooses among nodes; a block in shadow mode does not."""
    return tuple(
        key
        for block in ruleset.blocks
        if block.word == "choose" and not block.shadow
        for clause in block.clauses
        if clause.word == "order"
        for key in clause.keys
    )


def pod_hash(pod: Pod) -> int:
    """Give a pod's part of the number by which equal nodes are taken for it, of 64 bits."""
    return text_hash(pod.uid or f"{pod.namespace}/{pod.name}")


@lru_cache(maxsize=1 << 17)
def text_hash(text: str) -> int:
    """Give 64 bits of a text: its BLAKE2b digest."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def mixed(bits: int) -> int:
    """Spread 64 bits over 64 bits, one to one: the last steps of SplitMix64.

    https://doi.org/10.1145/2660193.2660195 (mix64variant13). Arrays compute it too.
    """
    bits = ((bits ^ (bits >> 30)) * _FIRST) & _BITS
    bits = ((bits ^ (bits >> 27)) * _SECOND) & _BITS
    return bits ^ (bits >> 31)


def mixed_array(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give `mixed` of each of some numbers."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    return bits ^ (bits >> np.uint64(31))


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
