"""Functions about the nodes that a pod requires by their labels and names."""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from policyd.language.declarations import Function, function, overload
from policyd.model.node import Node
from policyd.model.selectors import NodeTerm, NodeTerms, node_term, node_terms
from policyd.model.wire_placement import NodeSelector, NodeSelectorTerm

_NODE_READS: Final = {0: ("labels", "name")}


class _Known:
    """An object of the API as a key: it is equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.value is self.value


class _Maybe(NamedTuple):
    """A term, or nothing where no node can match it."""

    term: NodeTerm | None


@lru_cache(maxsize=4096)
def _terms(selector: _Known) -> NodeTerms:
    return node_terms(msgspec.convert(selector.value, NodeSelector))


@lru_cache(maxsize=4096)
def _term(raw: _Known) -> _Maybe:
    return _Maybe(node_term(msgspec.convert(raw.value, NodeSelectorTerm)))


def matches_selector(node: Node, selector: dict[str, Any]) -> bool:
    """Say whether one of a node selector's terms matches a node."""
    return _terms(_Known(selector)).matches(node.name, node.labels)


def matches_term(node: Node, raw: dict[str, Any]) -> bool:
    """Say whether a term matches a node; one that is empty or not valid matches none."""
    term = _term(_Known(raw)).term
    return term is not None and term.matches(node.name, node.labels)


def node_names(selector: dict[str, Any]) -> list[str] | None:
    """Give the nodes that a selector allows by name; None where it does not name them."""
    names = _terms(_Known(selector)).names
    return None if names is None else sorted(names)


FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "matchesNodeSelector",
        overload(
            "node_matches_selector",
            "Node.(v1.NodeSelector) -> bool",
            matches_selector,
            portable=False,
            reads=_NODE_READS,
        ),
        overload(
            "node_matches_selector_term",
            "Node.(v1.NodeSelectorTerm) -> bool",
            matches_term,
            portable=False,
            reads=_NODE_READS,
        ),
        doc="Says whether a node selector, or one term of it, matches the node.",
    ),
    function(
        "nodeNames",
        overload(
            "selector_node_names",
            "v1.NodeSelector.() -> list(string)?",
            node_names,
            portable=False,
        ),
        doc="Gives the nodes that a node selector allows by name, or null where it names none.",
    ),
)
