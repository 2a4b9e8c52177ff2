"""Watches how the conditions of rules come out: which were ever true, and which ever false.

Conditions are `when`, `require`, and every part of any clause that is true or false. Each is one
point of its text, however often and from wherever it is evaluated: a `let` counts where it
stands. What `&&`, `||` or `? :` pass over is not evaluated and does not count, and an error is
neither true nor false. `!x` and `x` are one condition.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policyd.language import typed as ir
from policyd.language.interpreter import Planner
from policyd.language.program import Program
from policyd.language.source import Source, Span
from policyd.language.types import BOOL
from policyd.language.work import Evaluate, Frame
from policyd.policy.ruleset import (
    Expression,
    PolicyBlock,
    PolicyClause,
    Requirement,
    Rule,
    Ruleset,
    Score,
    SortKey,
)

_DECIDING = "choose"
"""The only block besides rules that a decision evaluates."""


@dataclass(slots=True)
class Point:
    """A condition in the text of a rule file, and how often it was true and false.

    `text` is it as it was written, on one line. `clause` is `when` or `require` where it is the
    whole condition of one, else empty.
    """

    source: Source
    span: Span
    text: str
    block: str
    clause: str = ""
    true: int = 0
    false: int = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """Say what it never was: `true`, `false`, or both."""
        return ("true",) * (not self.true) + ("false",) * (not self.false)


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The conditions of one rule file, in the order of the text."""

    name: str
    points: tuple[Point, ...]

    @property
    def outcomes(self) -> int:
        """Count how conditions can come out: each true and false."""
        return 2 * len(self.points)

    @property
    def seen(self) -> int:
        """Count how they did come out."""
        return self.outcomes - sum(len(point.missing) for point in self.points)


class Coverage:
    """What was seen of any number of rule sets. Belongs to one thread."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, Span], Point] = {}
        self._files: dict[str, None] = {}

    def watch(self, ruleset: Ruleset) -> Ruleset:
        """Give a rule set that decides alike and tells how its conditions come out."""
        rules = tuple(self._rule(rule) for rule in ruleset.rules)
        blocks = tuple(self._block(block) for block in ruleset.blocks)
        return replace(ruleset, rules=rules, blocks=blocks)

    def files(self) -> list[FileCoverage]:
        """Give what was seen so far, by file; a whole comes before its parts."""
        ordered = sorted(self._points.values(), key=lambda p: (p.span.start, -p.span.end))
        return [
            FileCoverage(name, tuple(p for p in ordered if p.source.name == name))
            for name in sorted(self._files)
        ]

    # --- rule sets ---

    def _rule(self, rule: Rule) -> Rule:
        self._files[rule.source.name] = None
        block = f'rule "{rule.name}"'
        return replace(
            rule,
            when=self._clause(rule.when, block, "when"),
            requirements=tuple(self._requirement(each, block) for each in rule.requirements),
            scores=tuple(self._score(each, block) for each in rule.scores),
        )

    def _requirement(self, requirement: Requirement, block: str) -> Requirement:
        return replace(
            requirement,
            condition=self._expression(requirement.condition, block, "require"),
            because=self._clause(requirement.because, block),
        )

    def _score(self, score: Score, block: str) -> Score:
        return replace(
            score,
            value=self._expression(score.value, block),
            weight=self._clause(score.weight, block),
            normalize=self._clause(score.normalize, block),
        )

    def _block(self, block: PolicyBlock) -> PolicyBlock:
        self._files[block.source.name] = None
        if block.word != _DECIDING or block.shadow:
            return block
        return replace(block, clauses=tuple(self._keys(each) for each in block.clauses))

    def _keys(self, clause: PolicyClause) -> PolicyClause:
        keys = (SortKey(self._expression(k.value, _DECIDING), k.descending) for k in clause.keys)
        return replace(clause, keys=tuple(keys))

    def _clause(
        self, expression: Expression | None, block: str, clause: str = ""
    ) -> Expression | None:
        return None if expression is None else self._expression(expression, block, clause)

    def _expression(self, expression: Expression, block: str, clause: str = "") -> Expression:
        root, source = expression.checked.root, expression.source
        watched: dict[int, Point] = {}
        for node in _conditions(root, whole=bool(clause)):
            key = (source.name, node.span)
            own = clause if node is root else ""
            point = self._points.setdefault(
                key, Point(source, node.span, _text(source, node), block, own)
            )
            point.clause = point.clause or own
            watched[id(node)] = point
        program = expression.program
        return Expression(expression.checked, _replanned(program, root, watched))


def _conditions(root: ir.Typed, *, whole: bool) -> Iterator[ir.Typed]:
    """Give the parts that are true or false; the `whole` is one whatever its type."""
    seen: set[int] = set()
    todo = [(root, not (whole or root.type == BOOL))]
    while todo:
        node, passed_over = todo.pop()
        if id(node) in seen:  # the body of a `let`, once more
            continue
        seen.add(id(node))
        if not passed_over and not isinstance(node, ir.Constant):
            yield node
        negated = isinstance(node, ir.Apply) and node.name == "!"
        todo += [(each, negated or each.type != BOOL) for each in ir.operands(node)]


def _text(source: Source, node: ir.Typed) -> str:
    """Give a condition as it was written; the place of `has` is that of the path in it."""
    text = " ".join(source.slice(node.span).split())
    return f"has({text})" if isinstance(node, ir.Field) and node.test else text


def _replanned(program: Program, root: ir.Typed, watched: dict[int, Point]) -> Program:
    places = {name: at for at, name in enumerate(program.variables, 1)}
    planner = _Watching(places, len(program.variables) + 1, watched)
    return Program(program.source, program.variables, program.slots, planner.plan(root))


class _Watching(Planner):
    """Plans as the interpreter does, and counts how the watched nodes come out."""

    def __init__(self, places: dict[str, int], first_slot: int, watched: dict[int, Point]) -> None:
        super().__init__(places, first_slot)
        self._watched = watched

    def plan(self, node: ir.Typed) -> Evaluate:
        """Plan a node and all inside it."""
        run = super().plan(node)
        point = self._watched.get(id(node))
        return run if point is None else _counting(run, point)


def _counting(run: Evaluate, point: Point) -> Evaluate:
    def counted(frame: Frame) -> object:
        value = run(frame)
        if value is True:
            point.true += 1
        elif value is False:
            point.false += 1
        return value

    return counted
