"""What a decision can look at beyond the pod and the node: all nodes, namespaces, storage, owners.

Functions that take `cluster` look into it. What they compute for all nodes is kept in `memo` for as
long as the cluster stays as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.owners import Owners
from policyd.model.storage import Storage


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """A cluster at one moment. Belongs to the thread that decides."""

    nodes: Sequence[Node] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    owners: Owners = field(default_factory=Owners)
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
