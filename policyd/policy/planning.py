"""How each expression of a rule set is evaluated, for `policyd check --plan`."""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.language.reads import reads
from policyd.language.source import Source, Span
from policyd.policy.kernel.columns import Columns
from policyd.policy.kernel.tables import Kernel
from policyd.policy.order import order_keys
from policyd.policy.ruleset import Expression, Rule, Ruleset


@dataclass(frozen=True, slots=True)
class Planned:
    """How one expression is evaluated.

    `clause` says what it is for. `way` is `once` (a constant of a pod), `arrays` (over all nodes
    at once, kept by what is read of the pod), or `rows` (node by node in Python, for the reason
    in `why`). `shares` are the paths by which pods share what is kept, `repairs` those of a node
    whose change makes it stale.
    """

    rule: str
    clause: str
    source: Source
    span: Span
    way: str
    why: str
    shares: tuple[str, ...]
    repairs: tuple[str, ...]

    @property
    def text(self) -> str:
        """Give the expression on one line."""
        return " ".join(self.source.slice(self.span).split())


def planned(ruleset: Ruleset) -> list[Planned]:
    """Say of each expression of a rule set how it is evaluated, in the order of the text."""
    columns = Columns()
    found = [
        _plan(rule.name, clause, expression, columns, as_score=clause in ("prefer", "avoid"))
        for rule in ruleset.rules
        for clause, expression in _expressions(rule)
    ]
    found += [_plan("", "order", key.value, columns, as_score=False) for key in order_keys(ruleset)]
    return found


def _expressions(rule: Rule) -> Iterator[tuple[str, Expression]]:
    if rule.when is not None:
        yield "when", rule.when
    for requirement in rule.requirements:
        yield "require", requirement.condition
        if requirement.because is not None:
            yield "because", requirement.because
    for score in rule.scores:
        yield "avoid" if score.avoid else "prefer", score.value


def _plan(
    rule: str, clause: str, expression: Expression, columns: Columns, *, as_score: bool
) -> Planned:
    kernel = Kernel(expression.checked, expression.program, columns, as_score=as_score)
    paths = sorted(reads(expression.checked.root))
    way = "once" if not kernel.reads else "arrays" if kernel.is_vectorised else "rows"
    return Planned(
        rule,
        clause,
        expression.source,
        expression.span,
        way,
        kernel.refusal if way == "rows" else "",
        tuple(path for path in paths if path.partition(".")[0] in _FACTS),
        tuple(path for path in paths if path.partition(".")[0] == "node"),
    )


_FACTS = frozenset({"pod", "namespace", "cluster", "now", "feasible"})
