"""The state of one check: what is in scope, what types stand for, what was found.

Belongs to the check of one expression. The passes over it are in the modules beside this one;
`Checker` ties them together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from policyd.language import typed as ir
from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.dialect import Dialect
from policyd.language.height import Heights
from policyd.language.limits import MAX_DEPTH, MAX_DIAGNOSTICS
from policyd.language.names import Names
from policyd.language.source import Source, Span
from policyd.language.suggest import (
    closest,
)
from policyd.language.syntax import (
    Expr,
)
from policyd.language.types import (
    DYN,
    ERROR,
    Type,
)
from policyd.language.unify import Substitution


class Check(ABC):
    """The state of one check, and what every pass does with it."""

    def __init__(self, env: Names, source: Source, *, typed: bool = True) -> None:
        self.env = env
        self.source = source
        self.typed = typed
        self.types = Substitution()
        self.scopes: list[dict[str, ir.Typed]] = []
        self.slots = 0
        self.found: dict[tuple[Span, str], Diagnostic] = {}
        self.let_refs: dict[str, ir.LetRef] = {}
        self.open_lets: list[str] = []
        self.inlined = 0
        self.depth = 0  # of what is being checked, with the lets that are open
        self.heights = Heights()
        self.mixing = 0  # how many calls deep we are in which literals may mix types
        self.used: set[str] = set()
        self.variables: set[str] = set()

    @abstractmethod
    def check(self, expr: Expr) -> ir.Typed:
        """Check an expression in the current scope."""

    def may_nest(self, levels: int, span: Span) -> bool:
        """Say whether so many more nodes may stand in each other here; report it if not."""
        height = self.depth + levels
        self.limit_height(height, span)
        return height <= MAX_DEPTH

    @contextmanager
    def deeper(self, levels: int) -> Iterator[None]:
        """Check inside so many nodes that no text shows."""
        self.depth += levels
        try:
            yield
        finally:
            self.depth -= levels

    def hold(self, slot: int, value: ir.Typed) -> None:
        """Note what is evaluated when a slot is first needed."""
        self.limit_height(self.heights.keep(slot, value), value.span)

    def limit_height(self, height: int, span: Span) -> None:
        """Report what nests too deep once its names are written out, which no text shows."""
        if height > MAX_DEPTH:
            self.report(
                "E302",
                f"evaluating this would nest more than {MAX_DEPTH} levels deep",
                span,
                helps=("make a name mean less in terms of other names",),
                notes=("a `let` and a bound value are evaluated inside what uses them",),
            )

    def type_of(self, node: ir.Typed) -> Type:
        """Give what is known of a node's type so far."""
        return self.types.resolve(node.type)

    def final(self, node: ir.Typed) -> Type:
        """Give a node's type, dyn for what is not known."""
        return self.types.final(node.type)

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        helps: Sequence[str] = (),
        notes: Sequence[str] = (),
        related: Sequence[tuple[Span, str]] = (),
        edit: Edit | None = None,
    ) -> None:
        """Note a finding. The same finding at the same place is noted once."""
        self.found.setdefault(
            (span, message),
            Diagnostic(
                code,
                message,
                self.source,
                span,
                label,
                tuple(related),
                tuple(helps),
                tuple(notes),
                edit,
            ),
        )

    def local(self, name: str, type_: Type, span: Span) -> ir.Local:
        """Make a local variable with a slot of its own."""
        self.slots += 1
        return ir.Local(name, self.slots - 1, type_, span)

    def slot(self) -> int:
        """Give a slot that nothing else uses."""
        self.slots += 1
        return self.slots - 1

    @contextmanager
    def scope(self, names: dict[str, ir.Typed]) -> Iterator[None]:
        """Check with more local names."""
        self.scopes.append(names)
        try:
            yield
        finally:
            self.scopes.pop()

    def require(self, node: ir.Typed, wanted: Type, what: str) -> None:
        """Report a node whose type is not the wanted one."""
        if not self.typed:
            return
        if not self.types.assignable((node.type,), (wanted,)):
            self.report(
                "E205", f"{what} must be {wanted}, not {self.final(node)}", node.span, label=""
            )

    def error(self, span: Span) -> ir.Typed:
        """Give the node that stands where something is wrong."""
        return ir.Constant(None, ERROR, span)

    def unresolved(self, message: str, span: Span) -> ir.Typed:
        """Give the node for what is not known in an expression that is not checked."""
        return ir.Fault(message, DYN, span)

    def not_portable(self, message: str, span: Span, help_: str = "") -> None:
        """Note something that plain Kubernetes CEL does not have."""
        self.report("N601", message, span, helps=(help_,) if help_ else ())

    def near(self, name: str, names: Callable[[], list[str]]) -> str | None:
        """Give the name that may have been meant, while there is room for the advice."""
        return closest(name, names()) if len(self.found) < 2 * MAX_DIAGNOSTICS else None

    def find_local(self, name: str) -> ir.Typed | None:
        """Give what a local name stands for in the innermost scope that has it."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def is_strict(self) -> bool:
        """Say whether the CEL specification's text counts and not Kubernetes' practice."""
        return self.env.dialect is Dialect.CEL
