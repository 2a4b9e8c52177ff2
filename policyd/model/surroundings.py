"""What a decision can look at beyond the pod and the node: all nodes, namespaces, storage, owners.

Functions that take `cluster` look into it. What they compute for all nodes is kept in `memo` for as
long as the cluster stays as it is.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policyd.model.journal import Journal
from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.owners import Owners
from policyd.model.storage import Storage
from policyd.model.tallies import Contribute, sums_of


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """A cluster at one moment. Belongs to the thread that decides."""

    nodes: Sequence[Node] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    owners: Owners = field(default_factory=Owners)
    journal: Journal | None = field(default=None, repr=False)
    version: int = 0
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    def sums(self, key: Hashable, contribute: Contribute) -> Mapping[Any, int]:
        """Add up what all nodes contribute; `key` stands for all else that this depends on.

        Where there is a journal, the sums are kept for the next state of the cluster.
        """
        if self.journal is None:
            return sums_of(self.nodes, contribute)
        tallies = self.journal.tallies
        return tallies.sums(key, contribute, self.nodes, self.journal, self.version)
