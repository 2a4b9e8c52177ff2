"""How deep the evaluation of a checked tree nests.

A bound value is evaluated inside the expression that first needs it, and so is a `let`: texts
that are hardly nested can make an evaluation that is. The checker refuses what passes the limit.
"""

from policyd.language import typed as ir


class Heights:
    """The heights of the nodes of one check, each computed once."""

    def __init__(self) -> None:
        self._nodes: dict[ir.Typed, int] = {}
        self._slots: dict[int, int] = {}

    def keep(self, slot: int, value: ir.Typed) -> int:
        """Note what a slot will hold, and give its height."""
        self._slots[slot] = self.of(value)
        return self._slots[slot]

    def of(self, node: ir.Typed) -> int:
        """Give how many nodes can stand in each other while a node is evaluated."""
        if isinstance(node, ir.Local | ir.LetRef):
            return 1 + self._slots.get(node.slot, 0)
        found = self._nodes.get(node)
        if found is None:
            found = 1 + max([self.of(inner) for inner in ir.operands(node)], default=0)
            self._nodes[node] = found
        return found
