"""What an expression may use: variables, functions, objects' fields, lets; and its compilation.

`Environment.compile` gives a `Checked` expression, `Environment.program` plans it for
evaluation. An environment never changes; everything in it may be shared between threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from policyd.language.declarations import Function, ObjectType
from policyd.language.diagnostics import Diagnostic, RuleError, Severity
from policyd.language.dialect import Dialect
from policyd.language.interpreter import Program, plan
from policyd.language.parser import parse_expression
from policyd.language.source import Source
from policyd.language.standard import standard_constants, standard_functions
from policyd.language.syntax import Expr, Let
from policyd.language.typed import Typed
from policyd.language.types import Type


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression.

    `type` is free of type variables. `slots` is how many local variables it has. `findings`
    are its warnings and notes. `used` has the names of the lets, and `variables` those of the
    variables, that it uses.
    """

    source: Source
    root: Typed
    type: Type
    slots: int
    findings: tuple[Diagnostic, ...]
    used: frozenset[str]
    variables: frozenset[str]


@dataclass(frozen=True)
class Environment:
    """The names that are in scope, and the dialect.

    `unavailable` has names that exist elsewhere in the language, with the sentence that says
    where. `container` is the prefix in which names are looked up first, as CEL defines it.
    `optional_variables` holds names whose absence from the bindings is an evaluation error.
    """

    dialect: Dialect = Dialect.KUBERNETES
    variables: Mapping[str, Type] = field(default_factory=dict)
    functions: Sequence[Function] = ()
    objects: Mapping[str, ObjectType] = field(default_factory=dict)
    lets: Mapping[str, Let] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    container: str = ""

    @cached_property
    def function_table(self) -> Mapping[str, Function]:
        """Give every function by its name; overloads of one name from several places joined."""
        own = merge(self.functions)
        if not own:
            return standard_functions(self.dialect)
        return merge([*standard_functions(self.dialect).values(), *self.functions])

    @cached_property
    def constants(self) -> Mapping[str, tuple[Type, Any]]:
        """Give every named constant: the types, and what libraries declare."""
        return standard_constants(self.dialect)

    @cached_property
    def known_prefixes(self) -> frozenset[str]:
        """Give every beginning of a dotted name that leads to something."""
        names = [*self.variables, *self.constants, *self.function_table]
        return frozenset(prefix for name in names for prefix in _prefixes(name))

    def candidates(self, name: str, *, root: bool = False) -> Iterator[str]:
        """Give the full names that a name may stand for, in the order in which to look."""
        if not root:
            container = self.container
            while container:
                yield f"{container}.{name}"
                container = container.rpartition(".")[0]
        yield name

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
        from policyd.language.checker import Checker  # noqa: PLC0415 - it needs this module

        return Checker(self, source, typed=check).run(expr)

    def program(self, checked: Checked) -> Program:
        """Plan a checked expression for evaluation."""
        return plan(checked.root, tuple(sorted(checked.variables)), checked.slots, checked.source)


def merge(functions: Sequence[Function]) -> dict[str, Function]:
    """Join functions of the same name."""
    table: dict[str, Function] = {}
    for function in functions:
        known = table.get(function.name)
        table[function.name] = (
            function
            if known is None
            else Function(
                function.name, (*known.overloads, *function.overloads), known.doc or function.doc
            )
        )
    return table


def _prefixes(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]
