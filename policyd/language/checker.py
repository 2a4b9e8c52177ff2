"""Gives every expression its type, or says what is wrong with it.

One pass from the leaves up: names are resolved, macros expanded (`macros.py`), overloads chosen.
Whatever is wrong is noted and checking goes on with a type that agrees with everything, so that
one mistake is reported once. policyd's additions to CEL are considered only where CEL itself
rejects a call, so that they never change the meaning of what CEL accepts.
"""

from typing import Final, assert_never

from policyd.language import typed as ir
from policyd.language.builder import out_of_range
from policyd.language.calling import check_call
from policyd.language.check import Check
from policyd.language.checked import Checked
from policyd.language.diagnostics import Diagnostic, Severity
from policyd.language.joining import check_conditional, check_list, check_map
from policyd.language.limits import MAX_DEPTH, MAX_DIAGNOSTICS
from policyd.language.overloads import apply
from policyd.language.resolving import check_name
from policyd.language.selecting import check_index, check_select
from policyd.language.syntax import (
    Binary,
    Call,
    Conditional,
    Expr,
    Index,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Parens,
    Select,
    Unary,
    unwrap,
)
from policyd.language.types import (
    BOOL,
    DYN,
    QUANTITY,
    Type,
    parse_type,
)
from policyd.values.quantity import Quantity

_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})

_LITERALS: Final = {
    name: parse_type(name)
    for name in ("null_type", "bool", "int", "uint", "double", "string", "bytes")
}


class Checker(Check):
    """The check of one expression."""

    def run(self, expr: Expr) -> tuple[Checked, tuple[Diagnostic, ...]]:
        """Check the expression and give it with everything that was found."""
        root = self.check(expr)
        self.limit_height(self.heights.of(root), root.span)
        found = self._reported()
        checked = Checked(
            self.source,
            root,
            self.final(root),
            self.slots,
            tuple(d for d in found if d.severity is not Severity.ERROR),
            frozenset(self.used),
            frozenset(self.variables),
        )
        return checked, found

    def _reported(self) -> tuple[Diagnostic, ...]:
        """Give the findings in the order of the text; if they are too many, errors go first."""
        by_weight = sorted(self.found.values(), key=lambda d: d.severity is not Severity.ERROR)
        return tuple(sorted(by_weight[:MAX_DIAGNOSTICS], key=lambda d: d.span))

    def check(self, expr: Expr) -> ir.Typed:
        """Check an expression in the current scope."""
        if self.depth >= MAX_DEPTH:
            self.limit_height(MAX_DEPTH + 1, expr.span)
            return self.error(expr.span)
        self.depth += 1
        match expr:
            case Literal():
                checked = self._literal(expr)
            case Name():
                checked = check_name(self, expr)
            case Select():
                checked = check_select(self, expr)
            case Index():
                checked = check_index(self, expr)
            case Call():
                checked = check_call(self, expr)
            case Unary():
                checked = self._unary(expr)
            case Binary():
                checked = self._binary(expr)
            case Logical():
                checked = self._logical(expr)
            case Conditional():
                checked = check_conditional(self, expr)
            case ListOf():
                checked = check_list(self, expr)
            case MapOf():
                checked = check_map(self, expr)
            case Parens(inner=inner):
                checked = self.check(inner)
            case _:
                assert_never(expr)
        self.depth -= 1
        return checked

    def _unary(self, expr: Unary) -> ir.Typed:
        name = "!_" if expr.op == "!" else "-_"
        return apply(self, name, expr.op, (self.check(expr.operand),), expr.span, expr.span)

    def _binary(self, expr: Binary) -> ir.Typed:
        args = (self.check(expr.left), self.check(expr.right))
        self._compares_with_itself(expr)
        name = "@in" if expr.op == "in" else f"_{expr.op}_"
        return apply(self, name, expr.op, args, expr.span, expr.op_span)

    def _compares_with_itself(self, expr: Binary) -> None:
        """Warn of `x == x` and the like, which says nothing."""
        if expr.op in _COMPARISONS and expr.left == expr.right and self.typed:
            if isinstance(unwrap(expr.left), Literal):
                return
            self.report(
                "W508",
                f"the two sides of `{expr.op}` are the same",
                expr.span,
                helps=("was something else meant on one side?",),
            )

    def _literal(self, expr: Literal) -> ir.Typed:
        if expr.kind == "quantity":
            return ir.Constant(Quantity.parse(expr.value), self._extra_literal(expr), expr.span)
        if out_of_range(expr):
            self.report(
                "E105",
                f"`{self.source.slice(expr.span)}` is out of range for int",
                expr.span,
                helps=("an int holds -9223372036854775808 to 9223372036854775807",),
            )
        return ir.Constant(expr.value, _LITERALS[expr.kind] if self.typed else DYN, expr.span)

    def _extra_literal(self, expr: Literal) -> Type:
        self.not_portable(
            "a quantity literal is policyd's own", expr.span, f'write `quantity("{expr.value}")`'
        )
        return QUANTITY

    def _logical(self, expr: Logical) -> ir.Typed:
        nodes = tuple(self.check(operand) for operand in expr.operands)
        for node in nodes:
            if self.typed and not self.types.assignable((node.type,), (BOOL,)):
                self.report(
                    "E204",
                    f"`{expr.op}` combines bool values, and this is {self.final(node)}",
                    node.span,
                    label=str(self.final(node)),
                )
        return ir.Junction(expr.op == "&&", nodes, BOOL, expr.span)
