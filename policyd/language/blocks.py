"""Which clauses each block may have, what they may read and what they must give.

The grammar lets any clause stand in any block; this table says what is legal, and `arrange`
turns a block as written into its clauses with what belongs to them, or into diagnostics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.source import Source, Span
from policyd.language.suggest import closest
from policyd.language.syntax import Block, Clause, Expr, Key, Let


@dataclass(frozen=True, slots=True)
class ClauseSpec:
    """What a clause is.

    `gives` lists the types its expression may have (`ordered`: anything with an order).
    `reads` are the names it may use. `keys` says that it is a list of sort keys. `follows` are
    the clauses of which it is a part; such a clause stands directly after one of them.
    """

    gives: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    many: bool = False
    keys: bool = False
    follows: tuple[str, ...] = ()
    flag: bool = False


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """What a block is: whether it has a name, its clauses, and those that it needs."""

    named: bool
    clauses: Mapping[str, ClauseSpec]
    needs: tuple[str, ...] = ()
    doc: str = ""


_BOOL: Final = ("bool",)
_NUMBER: Final = ("int", "uint", "double", "quantity")
_SCORE: Final = ("bool", *_NUMBER, "bool?", "int?", "double?", "quantity?")
_REASON: Final = ("string", "list(string)")
_FIXED: Final = ("pod", "namespace", "cluster", "now", "params")
_NODE: Final = ("node", *_FIXED)
_SCORED: Final = ("feasible", *_NODE)
_AMOUNTS: Final = (
    *("map(string, int)", "map(string, double)", "map(string, quantity)"),
    "map(string, string)",
)

BLOCKS: Final[Mapping[str, BlockSpec]] = {
    "rule": BlockSpec(
        named=True,
        clauses={
            "when": ClauseSpec(_BOOL, _NODE),
            "require": ClauseSpec(_BOOL, _NODE, many=True),
            "because": ClauseSpec(_REASON, _NODE, many=True, follows=("require",)),
            "prefer": ClauseSpec(_SCORE, _SCORED, many=True),
            "avoid": ClauseSpec(_SCORE, _SCORED, many=True),
            "weight": ClauseSpec(_NUMBER, _FIXED, many=True, follows=("prefer", "avoid")),
            "normalized": ClauseSpec(many=True, follows=("prefer", "avoid"), flag=True),
            "normalize": ClauseSpec(
                _NUMBER, ("raw", "min", "max", *_FIXED), many=True, follows=("prefer", "avoid")
            ),
        },
        doc="Says on which nodes a pod may run, and which it likes better.",
    ),
    "choose": BlockSpec(
        named=False,
        clauses={
            "order": ClauseSpec(("ordered",), _NODE, keys=True),
            "device": ClauseSpec(("ordered",), ("device", *_NODE), keys=True),
        },
        doc="Says which of the nodes with the best score is taken, and which of its devices.",
    ),
    "queue": BlockSpec(
        named=False,
        clauses={
            "order": ClauseSpec(("ordered",), ("tenant", *_FIXED), keys=True),
            "hold": ClauseSpec(_BOOL, ("tenant", *_FIXED), many=True),
            "because": ClauseSpec(_REASON, ("tenant", *_FIXED), many=True, follows=("hold",)),
        },
        doc="Says which waiting pod is tried next, and which are held back.",
    ),
    "share": BlockSpec(
        named=True,
        clauses={
            "tenant": ClauseSpec(
                ("list(string?)", "list(string)", "string?", "string"),
                ("pod", "namespace", "params"),
            ),
            "weight": ClauseSpec(_NUMBER, ("tenant", "cluster", "params")),
            "guarantee": ClauseSpec(_AMOUNTS, ("tenant", "cluster", "params")),
            "limit": ClauseSpec(_AMOUNTS, ("tenant", "cluster", "params")),
            "measure": ClauseSpec(
                ("string", *_NUMBER), ("dominant", "tenant", "cluster", "params")
            ),
            "halflife": ClauseSpec(("duration",), ("params",)),
            "reclaim": ClauseSpec(_BOOL, ("victim", "tenant", *_FIXED)),
        },
        needs=("tenant",),
        doc="Divides the cluster between tenants.",
    ),
    "gang": BlockSpec(
        named=True,
        clauses={
            "of": ClauseSpec(("string?", "string"), ("pod", "namespace", "params")),
            "size": ClauseSpec(("int",), ("pod", "namespace", "params")),
            "within": ClauseSpec(("string?", "string"), ("pod", "namespace", "params")),
            "timeout": ClauseSpec(("duration",), ("pod", "namespace", "params")),
        },
        needs=("of", "size"),
        doc="Names pods that start together or not at all.",
    ),
    "preempt": BlockSpec(
        named=True,
        clauses={
            "when": ClauseSpec(_BOOL, ("victim", *_NODE)),
            "spare": ClauseSpec(_BOOL, ("victim", *_NODE), many=True),
            "because": ClauseSpec(_REASON, ("victim", *_NODE), many=True, follows=("spare",)),
            "cost": ClauseSpec(("ordered",), ("victim", *_NODE), keys=True),
        },
        needs=("when",),
        doc="Says who may be evicted for whom.",
    ),
}

MODES: Final = ("shadow", "enforce")


@dataclass(frozen=True, slots=True)
class Arranged:
    """A clause with the clauses that are part of it."""

    word: str
    value: Expr | None
    keys: tuple[Key, ...]
    span: Span
    parts: Mapping[str, Clause] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArrangedBlock:
    """A block with its clauses in order; `shadow` says that it changes nothing."""

    block: Block
    shadow: bool
    lets: tuple[Let, ...]
    clauses: tuple[Arranged, ...]

    def all(self, word: str) -> tuple[Arranged, ...]:
        """Give the clauses of a word."""
        return tuple(clause for clause in self.clauses if clause.word == word)

    def first(self, word: str) -> Arranged | None:
        """Give the clause of a word, where there is one."""
        return next(iter(self.all(word)), None)


def arrange(block: Block, source: Source) -> tuple[ArrangedBlock, tuple[Diagnostic, ...]]:
    """Arrange a block's clauses and say what is not legal."""
    arranger = _Arranger(block, BLOCKS[block.word], source)
    return arranger.run()


class _Arranger:
    """The arranging of one block."""

    def __init__(self, block: Block, spec: BlockSpec, source: Source) -> None:
        self.block = block
        self.spec = spec
        self.source = source
        self.found: list[Diagnostic] = []

    def run(self) -> tuple[ArrangedBlock, tuple[Diagnostic, ...]]:
        self._name()
        written = [c for c in self.block.clauses if isinstance(c, Clause)]
        lets = tuple(c for c in self.block.clauses if isinstance(c, Let))
        shadow = self._mode([c for c in written if c.word == "mode"])
        legal = [c for c in written if c.word != "mode" and self._is_legal(c)]
        clauses = tuple(self._arranged(legal))
        self._missing(written)
        return ArrangedBlock(self.block, shadow, lets, clauses), tuple(self.found)

    def _note(self, code: str, message: str, span: Span, *helps: str, **more: Edit) -> None:
        self.found.append(
            Diagnostic(code, message, self.source, span, helps=helps, edit=more.get("edit"))
        )

    def _name(self) -> None:
        word = self.block.word
        if self.spec.named and not self.block.name:
            self._note(
                "E113",
                f"a `{word}` needs a name",
                self.block.name_span,
                f'write `{word} "name" {{`',
            )
        if not self.spec.named and self.block.name is not None:
            self._note(
                "E113", f"a `{word}` has no name", self.block.name_span, f"write `{word} {{`"
            )

    def _mode(self, modes: list[Clause]) -> bool:
        for clause in modes:
            if clause.mode not in MODES:
                near = closest(clause.mode or "", MODES)
                help_ = (
                    f"did you mean `{near}`?" if near else "the modes are `shadow` and `enforce`"
                )
                self._note("E115", f"there is no mode `{clause.mode}`", clause.span, help_)
        for again in modes[1:]:
            self._note("E111", "`mode` stands here twice", again.word_span)
        return any(clause.mode == "shadow" for clause in modes)

    def _is_legal(self, clause: Clause) -> bool:
        if clause.word in self.spec.clauses:
            return True
        where = [f"`{name}`" for name, spec in BLOCKS.items() if clause.word in spec.clauses]
        self._note(
            "E110",
            f"`{clause.word}` is no clause of `{self.block.word}`",
            clause.word_span,
            f"`{self.block.word}` has {', '.join(f'`{w}`' for w in self.spec.clauses)} and `mode`",
            *([f"`{clause.word}` belongs to {' and '.join(where)}"] if where else ()),
        )
        return False

    def _arranged(self, clauses: list[Clause]) -> Iterator[Arranged]:
        seen: set[str] = set()
        at = 0
        while at < len(clauses):
            clause = clauses[at]
            spec = self.spec.clauses[clause.word]
            at += 1
            if spec.follows:
                self._astray(clause, spec)
                continue
            if clause.word in seen and not spec.many:
                self._note("E111", f"`{clause.word}` stands here twice", clause.word_span)
            seen.add(clause.word)
            parts: dict[str, Clause] = {}
            while at < len(clauses) and clause.word in self.spec.clauses[clauses[at].word].follows:
                self._add_part(parts, clauses[at])
                at += 1
            span = Span(
                clause.span.start, max([clause.span.end, *(p.span.end for p in parts.values())])
            )
            yield Arranged(clause.word, clause.value, clause.keys, span, parts)

    def _add_part(self, parts: dict[str, Clause], part: Clause) -> None:
        if part.word in parts:
            self._note("E111", f"`{part.word}` stands here twice", part.word_span)
        if {part.word, *parts} >= {"normalized", "normalize"}:
            self._note(
                "E111",
                "`normalized` and `normalize` exclude each other",
                part.word_span,
                "`normalized` is the usual rescaling, `normalize` says it in full",
            )
        parts[part.word] = part

    def _astray(self, clause: Clause, spec: ClauseSpec) -> None:
        owners = " or ".join(f"`{word}`" for word in spec.follows)
        self._note(
            "E114",
            f"`{clause.word}` stands without the {owners} it belongs to",
            clause.word_span,
            f"write it directly after {owners}",
        )

    def _missing(self, written: list[Clause]) -> None:
        words = {clause.word for clause in written}
        for word in self.spec.needs:
            if word not in words:
                self._note(
                    "E112",
                    f"this `{self.block.word}` has no `{word}`",
                    self.block.word_span,
                    f"add the clause `{word}`",
                )
        if not written:
            self._note("W507", f"this `{self.block.word}` is empty", self.block.word_span)
