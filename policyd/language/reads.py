"""What an expression reads: the facts, by dotted path, that its value can depend on.

One analysis that everything which follows from it shares: which events can help a rejected pod,
which kept verdicts a change makes stale, which fields must be decoded. A path is as the rule
wrote it, cut at three names (`node.labels`, `node.status.conditions`); a whole object that is
passed on, compared or gone through is `node.*`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from policyd.language import typed as ir

_DEPTH: Final = 3


def reads(node: ir.Typed) -> frozenset[str]:
    """Give the paths that an expression reads."""
    return frozenset(_Reader().paths(node))


def reads_of(nodes: Iterable[ir.Typed]) -> frozenset[str]:
    """Give the paths that several expressions read."""
    return frozenset(path for node in nodes for path in _Reader().paths(node))


def concerns(changed: Iterable[str], read: Iterable[str]) -> bool:
    """Say whether something that changed was read: one path is the other's beginning."""
    wanted = [path.removesuffix(".*") for path in read]
    return any(_related(change, path) for change in changed for path in wanted)


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


class _Reader:
    """A walk through one expression; knows which local names stand for a path."""

    def __init__(self) -> None:
        self._aliases: dict[int, tuple[str, ...]] = {}
        self._lets: set[int] = set()  # those whose paths are given already

    def paths(self, node: ir.Typed) -> Iterator[str]:
        if isinstance(node, ir.LetRef):
            if node.slot in self._lets:
                return
            self._lets.add(node.slot)
        path = self._path(node)
        if path is not None:
            yield ".".join(path[:_DEPTH]) if len(path) > 1 else f"{path[0]}.*"
            return
        if isinstance(node, ir.Bind) and (path := self._path(node.init)) is not None:
            self._aliases[node.slot] = path
            yield from self.paths(node.body)
            return
        if isinstance(node, ir.Item) and (path := self._path(node.operand)) is not None:
            yield ".".join(path[:_DEPTH])
            yield from self.paths(node.index)
            return
        for inner in ir.operands(node):
            yield from self.paths(inner)

    def _path(self, node: ir.Typed) -> tuple[str, ...] | None:
        """Give the names of a chain of selections that begins at a variable."""
        match node:
            case ir.Variable(name=name):
                return (name,)
            case ir.Local(slot=slot):
                return self._aliases.get(slot)
            case ir.Field(operand=operand, name=name):
                base = self._path(operand)
                return None if base is None else (*base, name)
            case _:
                return None
