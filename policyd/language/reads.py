"""What an expression reads: the facts, by dotted path, that its value can depend on.

One analysis that everything which follows from it shares: which events can help a rejected pod,
which kept verdicts a change makes stale, which fields must be decoded. A path is as the rule
wrote it, cut at three names (`node.labels`, `node.status.conditions`); a whole object that is
passed on, compared or gone through is `node.*`. A function can say which fields it looks at
(`Overload.reads`); then these are read and not the whole object.
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


def hindrances(nodes: Iterable[ir.Typed]) -> frozenset[str]:
    """Give the paths that expressions read but for those by which only a pod more could help.

    What eviction cannot change is none of them, and neither is what a function reads of which
    it is declared that nothing is allowed because a pod has gone.
    """
    return frozenset(path for node in nodes for path in _Reader(evictions=True).paths(node))


def concerns(changed: Iterable[str], read: Iterable[str]) -> bool:
    """Say whether something that changed was read: one path is the other's beginning."""
    wanted = [path.removesuffix(".*") for path in read]
    return any(_related(change, path) for change in changed for path in wanted)


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


class _Reader:
    """A walk through one expression; knows which local names stand for a path."""

    def __init__(self, *, evictions: bool = False) -> None:
        self._evictions = evictions
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
        if isinstance(node, ir.Apply) and any(o.reads for o in node.overloads):
            yield from self._call(node)
            return
        for inner in ir.operands(node):
            yield from self.paths(inner)

    def _call(self, node: ir.Apply) -> Iterator[str]:
        """Give what a call reads: of an argument the fields that the function declares."""
        spared = self._evictions and not any(o.eviction for o in node.overloads)
        for at, arg in enumerate(node.args):
            path = self._path(arg)
            fields = [o.reads.get(at) for o in node.overloads]
            if path is None or None in fields:
                yield from self.paths(arg)
            elif not spared:
                for field in {name for names in fields for name in names or ()}:
                    yield ".".join((*path, *field.split("."))[:_DEPTH])

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
