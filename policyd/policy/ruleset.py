"""A rule set as it is installed: compiled rules, blocks and parameter values, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.language.diagnostics import Diagnostic
from policyd.language.environment import Checked
from policyd.language.program import Program
from policyd.language.source import Source, Span
from policyd.language.types import Type
from policyd.policy.params import Parameter


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled expression of a rule: its meaning, its type and its place."""

    checked: Checked
    program: Program

    @property
    def type(self) -> Type:
        """Give its type."""
        return self.checked.type

    @property
    def source(self) -> Source:
        """Give the text that it is part of."""
        return self.checked.source

    @property
    def span(self) -> Span:
        """Give its place in the text."""
        return self.checked.root.span

    @property
    def text(self) -> str:
        """Give it as it was written, on one line."""
        return " ".join(self.source.slice(self.span).split())


@dataclass(frozen=True, slots=True)
class Requirement:
    """`require condition because reason`.

    `resolvable` says whether evicting pods could meet it. `general` says that neither the node
    nor the pods there have a part in it, so that it is met for a pod everywhere or nowhere.
    """

    condition: Expression
    because: Expression | None
    resolvable: bool = True
    general: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """`prefer` or `avoid` with its weight and rescaling.

    `normalized` is the usual rescaling, `normalize` one that the rule gives in full.
    """

    value: Expression
    avoid: bool
    weight: Expression | None
    normalized: bool
    normalize: Expression | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A `rule` block. `shadow` rules are evaluated and shown, and change nothing.

    `reads` are the paths that decide whether it rejects: a pod that it rejected waits for a
    change of those.
    """

    name: str
    source: Source
    span: Span
    when: Expression | None
    requirements: tuple[Requirement, ...]
    scores: tuple[Score, ...]
    shadow: bool
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class SortKey:
    """A key of `order`, `device` or `cost`."""

    value: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class PolicyClause:
    """A clause of a block that is not a rule, with what belongs to it."""

    word: str
    value: Expression | None
    keys: tuple[SortKey, ...]
    because: Expression | None


@dataclass(frozen=True, slots=True)
class PolicyBlock:
    """A block that is not a rule: `choose`, `queue`, `share`, `gang` or `preempt`."""

    word: str
    name: str | None
    source: Source
    span: Span
    clauses: tuple[PolicyClause, ...]
    shadow: bool


@dataclass(frozen=True, slots=True)
class Ruleset:
    """All the rules of a profile, compiled and installed together.

    `hash` is of the texts and of the values that are set for parameters; it names the rule set
    wherever one is shown. `findings` are the warnings and notes of its compilation.
    """

    rules: tuple[Rule, ...]
    blocks: tuple[PolicyBlock, ...]
    parameters: Mapping[str, Parameter]
    values: Mapping[str, Any]
    hash: str
    findings: tuple[Diagnostic, ...] = field(default=())
