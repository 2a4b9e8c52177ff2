"""Compiles expressions in an environment, and plans them for evaluation.

`Environment.compile` gives a `Checked` expression, `Environment.program` what can be evaluated.
"""

from dataclasses import dataclass

from policyd.language.checked import Checked
from policyd.language.checker import Checker
from policyd.language.diagnostics import Diagnostic, RuleError, Severity
from policyd.language.interpreter import plan
from policyd.language.names import Names
from policyd.language.parser import parse_expression
from policyd.language.program import Program
from policyd.language.source import Source
from policyd.language.syntax import Expr


@dataclass(frozen=True)
class Environment(Names):
    """The names that are in scope, and what can be done with text in it."""

    def compile(self, text: str, name: str = "<expression>", *, check: bool = True) -> Checked:
        """Parse and check an expression.

        With `check=False` nothing is typed: names are resolved, and every call is settled by
        the values it meets.

        Raises:
            RuleError: with everything that is wrong.
        """
        source = Source(name, text)
        return self.check(source, parse_expression(source), check=check)

    def check(self, source: Source, expr: Expr, *, check: bool = True) -> Checked:
        """Check a parsed expression of a source.

        Raises:
            RuleError: with everything that is wrong.
        """
        checked, diagnostics = self.examine(source, expr, check=check)
        errors = tuple(d for d in diagnostics if d.severity is Severity.ERROR)
        if errors:
            raise RuleError(errors)
        return checked

    def examine(
        self, source: Source, expr: Expr, *, check: bool = True
    ) -> tuple[Checked, tuple[Diagnostic, ...]]:
        """Check a parsed expression and give what is found, errors included."""
        return Checker(self, source, typed=check).run(expr)

    def program(self, checked: Checked) -> Program:
        """Plan a checked expression for evaluation."""
        return plan(checked.root, tuple(sorted(checked.variables)), checked.slots, checked.source)


__all__ = ["Checked", "Environment"]
