"""Compiles the texts of a rule set into a `Ruleset`, or into everything that is wrong with them.

A rule set is compiled as a whole: names are unique over all its files, parameters are shared,
`let` belongs to its file or its block, and one bad file refuses the set.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from policyd.language.blocks import BLOCKS, Arranged, ArrangedBlock, ClauseSpec, arrange
from policyd.language.diagnostics import Diagnostic, RuleError, Severity
from policyd.language.environment import Checked, Environment
from policyd.language.errors import EvaluationError
from policyd.language.parser import parse_file
from policyd.language.ranges import score_range
from policyd.language.reads import concerns, hindrances, reads_of
from policyd.language.source import Source, Span
from policyd.language.syntax import Block, Clause, Expr, File, Key, Let, Param
from policyd.language.types import BOOL, DYN, Kind, Type, nullable, parse_type
from policyd.language.unify import Substitution
from policyd.policy.functions import FUNCTIONS
from policyd.policy.params import Parameter, declare, settle
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
from policyd.policy.scope import DERIVED, VARIABLES, Objects, unavailable_for, variables_for

EVICTED: Final = frozenset(
    {
        *("node.used", "node.free", "node.pods", "node.nonZeroUsed", "node.devices"),
        *("cluster.used", "cluster.free", "cluster.pods", "cluster.shapes"),
    }
)
"""The paths that change where pods are evicted."""

_ORDERED: Final = frozenset(
    {"bool", "int", "uint", "double", "string", "kubernetes.Quantity"}
    | {"google.protobuf.Timestamp", "google.protobuf.Duration"}
)


def load(sources: Sequence[Source], settings: Mapping[str, str] | None = None) -> Ruleset:
    """Compile a rule set. `settings` gives the texts that are set for parameters.

    Raises:
        RuleError: with everything that is wrong in all its files.
        ParameterError: a parameter cannot have the value that is set.
    """
    compiled, found = examine(sources)
    errors = tuple(d for d in found if d.severity is Severity.ERROR)
    if compiled is None or errors:
        raise RuleError(errors)
    values = settle(compiled.parameters, settings or {})
    return Ruleset(
        compiled.rules,
        compiled.blocks,
        compiled.parameters,
        values,
        _hash(sources, settings or {}),
        tuple(d for d in found if d.severity is not Severity.ERROR),
    )


def examine(sources: Sequence[Source]) -> tuple[Ruleset | None, tuple[Diagnostic, ...]]:
    """Compile a rule set as far as it goes, and give all that is found in it."""
    return _Loader(sources).run()


def _hash(sources: Iterable[Source], settings: Mapping[str, str]) -> str:
    parts = [text for source in sources for text in (source.name.rpartition("/")[2], source.text)]
    parts += [text for name in sorted(settings) for text in (name, settings[name])]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class _Loader:
    """The compilation of one rule set."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.found: list[Diagnostic] = []
        self.parameters: dict[str, Parameter] = {}
        self.used: set[tuple[str, str]] = set()  # the file and the name of each let that is used
        self.read: set[str] = set()  # the parameters that are read
        self._blocks: dict[tuple[str, str | None, bool], tuple[Source, Span]] = {}
        self._objects = Objects()

    def run(self) -> tuple[Ruleset | None, tuple[Diagnostic, ...]]:
        files = [(source, file) for source in self.sources if (file := self._parse(source))]
        for source, file in files:
            for declaration in file.declarations:
                if isinstance(declaration, Param):
                    self._param(source, declaration)
        self._objects = Objects({name: p.type for name, p in self.parameters.items()})
        rules: list[Rule] = []
        blocks: list[PolicyBlock] = []
        for source, file in files:
            _FileLoader(self, source, file).run(rules, blocks)
        self._unused_params()
        found = tuple(_distinct(self.found))
        return Ruleset(tuple(rules), tuple(blocks), self.parameters, {}, ""), found

    def _parse(self, source: Source) -> File | None:
        try:
            return parse_file(source)
        except RuleError as error:
            self.found.extend(error.diagnostics)
            return None

    def _param(self, source: Source, param: Param) -> None:
        made, found = declare(source, param)
        self.found.extend(found)
        if param.name in VARIABLES:
            self.shadows(source, param.name_span, param.name)
        known = self.parameters.get(param.name)
        if known is not None:
            self.twice(
                source, param.name_span, f"parameter `{param.name}`", known.source, known.span
            )
        elif made is not None:
            self.parameters[param.name] = made
        else:  # something is wrong with it, which is said already
            self.parameters[param.name] = Parameter(
                param.name, DYN, None, has_default=True, source=source, span=param.name_span
            )

    def shadows(self, source: Source, span: Span, name: str) -> None:
        """Report a name that hides one of the language's."""
        self.found.append(
            Diagnostic(
                "E206",
                f"`{name}` has a meaning already and cannot be declared",
                source,
                span,
                helps=("choose another name",),
            )
        )

    def twice(self, source: Source, span: Span, what: str, before: Source, at: Span) -> None:
        """Report a second declaration of a name."""
        line = before.position(at.start)[0]
        related = ((at, "declared here first"),) if before is source else ()
        notes = () if before is source else (f"it is declared at {before.name}:{line}",)
        self.found.append(
            Diagnostic(
                "E207",
                f"the {what} is declared twice",
                source,
                span,
                related=related,
                notes=notes,
                helps=("remove or rename one of them",),
            )
        )

    def block_name(self, source: Source, arranged: ArrangedBlock) -> None:
        """Note the name of a block; report it where it is taken.

        A block without a name may stand once in force and once in shadow mode.
        """
        block = arranged.block
        key = (block.word, block.name, block.name is None and arranged.shadow)
        if key in self._blocks:
            what = f"`{block.word}`" if block.name is None else f'{block.word} "{block.name}"'
            self.twice(source, block.name_span, what, *self._blocks[key])
        self._blocks.setdefault(key, (source, block.name_span))

    def environment(
        self, reads: tuple[str, ...], where: str, lets: Mapping[str, Let]
    ) -> Environment:
        """Give what a clause may use."""
        types: dict[str, Type] = {name: p.type for name, p in self.parameters.items()}
        return Environment(
            variables={**types, **variables_for(reads)},
            functions=FUNCTIONS,
            objects=self._objects,
            lets=lets,
            unavailable=unavailable_for(reads, where),
            derived=DERIVED,
        )

    def _unused_params(self) -> None:
        if "params" in self.read:
            return
        for parameter in self.parameters.values():
            if parameter.name not in self.read:
                self.found.append(
                    Diagnostic(
                        "W504",
                        f"the parameter `{parameter.name}` is not used",
                        parameter.source,
                        parameter.span,
                        helps=("remove it, or read it in a rule",),
                    )
                )


class _FileLoader:
    """The compilation of one file of a rule set."""

    def __init__(self, loader: _Loader, source: Source, file: File) -> None:
        self.loader = loader
        self.source = source
        self.file = file
        self.lets: dict[str, Let] = {}
        self.used: set[str] = set()

    def run(self, rules: list[Rule], blocks: list[PolicyBlock]) -> None:
        for declaration in self.file.declarations:
            if isinstance(declaration, Let):
                self._declare_let(declaration, self.lets)
        for declaration in self.file.declarations:
            if isinstance(declaration, Block):
                self._block(declaration, rules, blocks)
        self._unused_lets(self.lets, self.used)

    def _declare_let(self, let: Let, lets: dict[str, Let]) -> None:
        if let.name in VARIABLES or let.name in self.loader.parameters:
            self.loader.shadows(self.source, let.name_span, let.name)
        for parameter in let.parameters or ():
            if parameter in VARIABLES:
                self.loader.shadows(self.source, let.name_span, parameter)
        known = lets.get(let.name) or self.lets.get(let.name)
        if known is not None:
            what = f"name `{let.name}`"
            self.loader.twice(self.source, let.name_span, what, self.source, known.name_span)
        lets.setdefault(let.name, let)

    def _unused_lets(self, lets: Mapping[str, Let], used: set[str]) -> None:
        for let in lets.values():
            if let.name not in used:
                self.loader.found.append(
                    Diagnostic(
                        "W503",
                        f"`{let.name}` is not used",
                        self.source,
                        let.name_span,
                        helps=("remove it",),
                    )
                )

    def _block(self, block: Block, rules: list[Rule], blocks: list[PolicyBlock]) -> None:
        arranged, found = arrange(block, self.source)
        self.loader.block_name(self.source, arranged)
        self.loader.found.extend(found)
        local: dict[str, Let] = {}
        for let in arranged.lets:
            self._declare_let(let, local)
        compiler = _BlockLoader(self, arranged, {**self.lets, **local})
        if block.word == "rule":
            rules.append(compiler.rule())
        else:
            blocks.append(compiler.other())
        self._unused_lets(local, self.used)


class _BlockLoader:
    """The compilation of one block."""

    def __init__(self, file: _FileLoader, arranged: ArrangedBlock, lets: Mapping[str, Let]) -> None:
        self.file = file
        self.loader = file.loader
        self.source = file.source
        self.arranged = arranged
        self.specs = BLOCKS[arranged.block.word].clauses
        self.lets = lets

    def rule(self) -> Rule:
        """Compile a `rule`."""
        block = self.arranged.block
        when = self.arranged.first("when")
        condition = self._expression(when.value, "when") if when else None
        if condition is not None:
            self._constant(condition, "the rule", "W505", "so this rule can never apply")
        requirements = [self._requirement(c, condition) for c in self.arranged.all("require")]
        scores = [self._score(c) for c in self.arranged.clauses if c.word in ("prefer", "avoid")]
        deciding = [r.condition for r in requirements if r is not None]
        deciding += [condition] if condition is not None else []
        return Rule(
            block.name or "",
            self.source,
            block.span,
            condition,
            tuple(r for r in requirements if r is not None),
            tuple(s for s in scores if s is not None),
            self.arranged.shadow,
            reads_of(expression.checked.root for expression in deciding),
        )

    def other(self) -> PolicyBlock:
        """Compile a block that is not a rule."""
        block = self.arranged.block
        clauses = tuple(self._clause(clause) for clause in self.arranged.clauses)
        return PolicyBlock(
            block.word, block.name, self.source, block.span, clauses, self.arranged.shadow
        )

    def _clause(self, clause: Arranged) -> PolicyClause:
        value = self._expression(clause.value, clause.word) if clause.value is not None else None
        keys = tuple(k for k in (self._key(key, clause.word) for key in clause.keys) if k)
        return PolicyClause(clause.word, value, keys, self._part(clause, "because"))

    def _key(self, key: Key, word: str) -> SortKey | None:
        value = self._expression(key.value, word)
        return None if value is None else SortKey(value, key.direction == "desc")

    def _requirement(self, clause: Arranged, when: Expression | None) -> Requirement | None:
        condition = self._expression(clause.value, "require")
        because = self._part(clause, "because")
        if condition is None:
            return None
        self._constant(condition, "`require`")
        paths = hindrances([condition.checked.root])
        resolvable = concerns(EVICTED, paths)
        if when is not None:
            paths |= hindrances([when.checked.root])
        general = not concerns((*EVICTED, "node"), paths)
        return Requirement(condition, because, resolvable, general)

    def _score(self, clause: Arranged) -> Score | None:
        value = self._expression(clause.value, clause.word)
        weight = self._part(clause, "weight")
        normalize = self._part(clause, "normalize")
        if value is None:
            return None
        rescaled = {"normalized", "normalize"} & set(clause.parts)
        if not rescaled:
            self._check_range(value, clause.word)
        return Score(value, clause.word == "avoid", weight, "normalized" in clause.parts, normalize)

    def _check_range(self, value: Expression, word: str) -> None:
        low, high = score_range(value.checked.root)
        if low < 0 or high > 100:
            self._note(
                "W506",
                f"this `{word}` can be from {low:g} to {high:g}, and a score is 0 to 100",
                value.span,
                "what is outside is cut off; add `normalized` to rescale it",
            )

    def _part(self, clause: Arranged, word: str) -> Expression | None:
        part: Clause | None = clause.parts.get(word)
        if part is None or part.value is None:
            return None
        return self._expression(part.value, word)

    def _expression(self, expr: Expr | None, word: str) -> Expression | None:
        """Compile an expression of a clause and check that it gives what the clause needs."""
        if expr is None:
            return None
        spec = self.specs[word]
        where = f"`{word}` of `{self.arranged.block.word}`"
        env = self.loader.environment(spec.reads, where, self.lets)
        checked, found = env.examine(self.source, expr)
        self.loader.found.extend(found)
        self.file.used.update(checked.used)
        self._note_parameters(checked)
        if any(d.severity is Severity.ERROR for d in found):
            return None
        if not self._gives(checked, spec, where):
            return None
        return Expression(checked, env.program(checked))

    def _note_parameters(self, checked: Checked) -> None:
        self.loader.read.update(checked.variables)

    def _gives(self, checked: Checked, spec: ClauseSpec, where: str) -> bool:
        type_ = checked.type
        if type_.kind in (Kind.DYN, Kind.ERROR):
            return True
        if spec.gives == ("ordered",):
            inner = type_.params[0] if type_.kind is Kind.NULLABLE else type_
            fits = str(inner) in _ORDERED
            wanted = "something with an order"
        else:
            fits = any(_fits(type_, parse_type(text)) for text in spec.gives)
            wanted = _either(spec.gives)
        if not fits:
            self._note(
                "E205", f"{where} must be {wanted}, not {type_}", checked.root.span, *_hint(type_)
            )
        return fits

    def _constant(
        self, condition: Expression, what: str, if_false: str = "W502", then: str = ""
    ) -> None:
        """Warn of a condition that has the same value whatever the input."""
        if condition.checked.variables:
            return
        try:
            value = condition.program.evaluate({})
        except EvaluationError as error:
            self._note("E402" if error.final else "E401", error.message, error.span)
            return
        if condition.type == BOOL and value:
            self._note("W501", f"this condition of {what} is always true", condition.span)
        elif condition.type == BOOL:
            more = f", {then}" if then else ""
            message = f"this condition of {what} is always false{more}"
            self._note(if_false, message, condition.span)

    def _note(self, code: str, message: str, span: Span, *helps: str) -> None:
        self.loader.found.append(Diagnostic(code, message, self.source, span, helps=helps))


def _fits(type_: Type, wanted: Type) -> bool:
    return Substitution().assignable((type_,), (wanted,)) or (
        type_.kind is Kind.NULLABLE and type_ == nullable(wanted)
    )


def _either(texts: Sequence[str]) -> str:
    shown = [text for text in texts if not text.endswith("?")]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _hint(type_: Type) -> tuple[str, ...]:
    if type_.kind is Kind.OPTIONAL:
        return ("take its value with `.orValue(…)`",)
    if type_.kind is Kind.NULLABLE:
        return ("it may be null: compare it with something",)
    return ()


def _distinct(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Drop what was found twice: a `let` is checked wherever it is used."""
    seen: dict[tuple[str, Span, str], Diagnostic] = {}
    for d in found:
        seen.setdefault((d.source.name, d.span, d.message), d)
    return sorted(seen.values(), key=lambda d: (d.source.name, d.span))
