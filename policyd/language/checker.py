"""Gives every expression its type, or says what is wrong with it.

One pass from the leaves up: names are resolved, macros expanded (`macros.py`), overloads chosen.
Whatever is wrong is noted and checking goes on with a type that agrees with everything, so that
one mistake is reported once. policyd's additions to CEL are considered only where CEL itself
rejects a call, so that they never change the meaning of what CEL accepts.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, assert_never

from policyd.language import typed as ir
from policyd.language.builder import out_of_range
from policyd.language.checked import Checked
from policyd.language.declarations import Field, Overload
from policyd.language.diagnostics import Diagnostic, Edit, Severity
from policyd.language.dialect import Dialect
from policyd.language.format_checks import check_format
from policyd.language.height import Heights
from policyd.language.limits import MAX_DEPTH, MAX_DIAGNOSTICS, MAX_INLINED
from policyd.language.literal_checks import check_literal_arguments
from policyd.language.macros import MACROS, Macro
from policyd.language.mismatch import explain_mismatch
from policyd.language.names import Names
from policyd.language.source import Source, Span
from policyd.language.suggest import (
    closest,
    hint_for_field,
    hint_for_function,
    hint_for_name,
)
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
    DOUBLE,
    DYN,
    ERROR,
    NULL,
    QUANTITY,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
    parse_type,
)
from policyd.language.unify import Substitution
from policyd.values.quantity import Quantity

_ESCAPES: Final = (
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
)
_MIXING: Final = frozenset({"format"})
"""Functions whose list of arguments is of mixed types by its nature."""

_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})

_BEYOND: Final = ("math.", "base64.")
"""Beginnings of the names of CEL's own functions that Kubernetes leaves out."""

_LITERALS: Final = {
    name: parse_type(name)
    for name in ("null_type", "bool", "int", "uint", "double", "string", "bytes")
}


_INT: Final = _LITERALS["int"]


class Checker:
    """The check of one expression: its scopes, type variables and findings."""

    def __init__(self, env: Names, source: Source, *, typed: bool = True) -> None:
        self.env = env
        self.source = source
        self.typed = typed
        self.types = Substitution()
        self._scopes: list[dict[str, ir.Typed]] = []
        self._slots = 0
        self._found: dict[tuple[Span, str], Diagnostic] = {}
        self._lets: dict[str, ir.LetRef] = {}
        self._open_lets: list[str] = []
        self._inlined = 0
        self._depth = 0  # of what is being checked, with the lets that are open
        self.heights = Heights()
        self._mixing = 0  # how many calls deep we are in which literals may mix types
        self._used: set[str] = set()
        self._variables: set[str] = set()

    def run(self, expr: Expr) -> tuple[Checked, tuple[Diagnostic, ...]]:
        """Check the expression and give it with everything that was found."""
        root = self.check(expr)
        self._limit_height(self.heights.of(root), root.span)
        found = self._reported()
        checked = Checked(
            self.source,
            root,
            self.final(root),
            self._slots,
            tuple(d for d in found if d.severity is not Severity.ERROR),
            frozenset(self._used),
            frozenset(self._variables),
        )
        return checked, found

    def _reported(self) -> tuple[Diagnostic, ...]:
        """Give the findings in the order of the text; if they are too many, errors go first."""
        by_weight = sorted(self._found.values(), key=lambda d: d.severity is not Severity.ERROR)
        return tuple(sorted(by_weight[:MAX_DIAGNOSTICS], key=lambda d: d.span))

    # --- what macros use, too ---

    def check(self, expr: Expr) -> ir.Typed:
        """Check an expression in the current scope."""
        if self._depth >= MAX_DEPTH:
            self._limit_height(MAX_DEPTH + 1, expr.span)
            return self.error(expr.span)
        self._depth += 1
        match expr:
            case Literal():
                checked = self._literal(expr)
            case Name():
                checked = self._name(expr)
            case Select():
                checked = self._select(expr)
            case Index():
                checked = self._index(expr)
            case Call():
                checked = self._call(expr)
            case Unary():
                checked = self._unary(expr)
            case Binary():
                checked = self._binary(expr)
            case Logical():
                checked = self._logical(expr)
            case Conditional():
                checked = self._conditional(expr)
            case ListOf():
                checked = self._list(expr)
            case MapOf():
                checked = self._map(expr)
            case Parens(inner=inner):
                checked = self.check(inner)
            case _:
                assert_never(expr)
        self._depth -= 1
        return checked

    def _unary(self, expr: Unary) -> ir.Typed:
        name = "!_" if expr.op == "!" else "-_"
        return self.apply(name, expr.op, (self.check(expr.operand),), expr.span, expr.span)

    def _binary(self, expr: Binary) -> ir.Typed:
        args = (self.check(expr.left), self.check(expr.right))
        self._compares_with_itself(expr)
        name = "@in" if expr.op == "in" else f"_{expr.op}_"
        return self.apply(name, expr.op, args, expr.span, expr.op_span)

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

    def may_nest(self, levels: int, span: Span) -> bool:
        """Say whether so many more nodes may stand in each other here; report it if not."""
        height = self._depth + levels
        self._limit_height(height, span)
        return height <= MAX_DEPTH

    @contextmanager
    def deeper(self, levels: int) -> Iterator[None]:
        """Check inside so many nodes that no text shows."""
        self._depth += levels
        try:
            yield
        finally:
            self._depth -= levels

    def hold(self, slot: int, value: ir.Typed) -> None:
        """Note what is evaluated when a slot is first needed."""
        self._limit_height(self.heights.keep(slot, value), value.span)

    def _limit_height(self, height: int, span: Span) -> None:
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
        self._found.setdefault(
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
        self._slots += 1
        return ir.Local(name, self._slots - 1, type_, span)

    def slot(self) -> int:
        """Give a slot that nothing else uses."""
        self._slots += 1
        return self._slots - 1

    @contextmanager
    def scope(self, names: dict[str, ir.Typed]) -> Iterator[None]:
        """Check with more local names."""
        self._scopes.append(names)
        try:
            yield
        finally:
            self._scopes.pop()

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

    def _unresolved(self, message: str, span: Span) -> ir.Typed:
        """Give the node for what is not known in an expression that is not checked."""
        return ir.Fault(message, DYN, span)

    # --- the kinds of expression ---

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

    def not_portable(self, message: str, span: Span, help_: str = "") -> None:
        """Note something that plain Kubernetes CEL does not have."""
        self.report("N601", message, span, helps=(help_,) if help_ else ())

    def _name(self, expr: Name) -> ir.Typed:
        found = self._resolve_name(expr.name, expr.span, root=expr.root)
        if found is not None:
            return found
        if not self.typed:
            return self._unresolved(f"undeclared reference to `{expr.name}`", expr.span)
        self._unknown_name(expr)
        return self.error(expr.span)

    def _resolve_name(self, name: str, span: Span, *, root: bool) -> ir.Typed | None:
        if not root:
            local = self._find_local(name)
            if local is not None:
                return local
        for full in self.env.candidates(name, root=root):
            type_ = self.env.variables.get(full)
            if type_ is not None:
                self._variables.add(full)
                return ir.Variable(full, type_ if self.typed else DYN, span)
            if full in self.env.lets and self.env.lets[full].parameters is None:
                return self._let(full, span)
            constant = self.env.constants.get(full)
            if constant is not None:
                return ir.Constant(constant[1], constant[0], span)
        return None

    def _find_local(self, name: str) -> ir.Typed | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _let(self, name: str, span: Span) -> ir.Typed:
        self._used.add(name)
        if name not in self._lets:
            if not self._enter_let(name, span):
                return self.error(span)
            scopes, self._scopes = self._scopes, []
            body = self.check(self.env.lets[name].body)
            self._scopes = scopes
            self._open_lets.pop()
            self._lets[name] = ir.LetRef(name, self.slot(), body, body.type, span)
            self.hold(self._lets[name].slot, body)
        known = self._lets[name]
        return ir.LetRef(name, known.slot, known.body, known.type, span)

    def _enter_let(self, name: str, span: Span) -> bool:
        if name in self._open_lets:
            self.report(
                "E210",
                f"`{name}` refers to itself",
                span,
                helps=("a `let` cannot recur: use a macro such as `map` or `exists`",),
            )
            return False
        self._open_lets.append(name)
        return True

    def _unknown_name(self, expr: Name) -> None:
        name = expr.name
        if name in self.env.unavailable:
            self.report("E217", self.env.unavailable[name], expr.span)
            return
        let = self.env.lets.get(name)
        if name in self.env.function_table or let is not None:
            help_ = f"call it: `{name}(…)`"
            self.report("E201", f"`{name}` is a function, not a value", expr.span, helps=(help_,))
            return
        hint = hint_for_name(name)
        near = None if hint else self._near(name, self._names_in_scope)
        self.report(
            "E201",
            f"there is nothing called `{name}` here",
            expr.span,
            label=f"did you mean `{near}`?" if near else "",
            helps=(hint,) if hint else (),
            edit=Edit(expr.span, near) if near else None,
        )

    def _near(self, name: str, names: Callable[[], list[str]]) -> str | None:
        """Give the name that may have been meant, while there is room for the advice."""
        return closest(name, names()) if len(self._found) < 2 * MAX_DIAGNOSTICS else None

    def _names_in_scope(self) -> list[str]:
        names = [name for scope in self._scopes for name in scope]
        return [*names, *self.env.variables, *self.env.lets, *self.env.constants]

    def _select(self, expr: Select) -> ir.Typed:
        if not expr.optional and not expr.quoted:
            qualified = self._qualified(expr)
            if qualified is not None:
                return qualified
        return self.select(self.check(expr.operand), expr)

    def select(self, operand: ir.Typed, expr: Select, *, test: bool = False) -> ir.Typed:
        """Check a selection on a checked operand; `test` is for `has()`."""
        if expr.quoted:
            self.not_portable("Kubernetes does not have quoted field names", expr.name_span)
        base = self.type_of(operand)
        wrapped = base.kind is Kind.OPTIONAL
        inner = base.params[0] if wrapped else base
        if inner.kind is Kind.NULLABLE:
            inner = inner.params[0]
        name, type_, native = self._field(inner, expr)
        if test:
            return ir.Field(operand, name, BOOL, expr.span, wrapped, test=True, native=native)
        optional = wrapped or expr.optional
        result = optional_of(type_) if optional and type_.kind is not Kind.OPTIONAL else type_
        return ir.Field(operand, name, result, expr.span, optional, test=False, native=native)

    def _field(self, base: Type, expr: Select) -> tuple[str, Type, bool]:
        """Give the field's name in the object, its type, and whether it is an attribute."""
        if not self.typed:
            return expr.name, DYN, False
        match base.kind:
            case Kind.MAP:
                return expr.name, base.params[1], False
            case Kind.OBJECT:
                return self._object_field(base, expr)
            case Kind.DYN | Kind.ERROR:
                return expr.name, base, False
            case Kind.VAR:
                self.types.assignable((base,), (DYN,))
                return expr.name, DYN, False
            case _:
                self._no_fields(base, expr)
                return expr.name, ERROR, False

    def _object_field(self, base: Type, expr: Select) -> tuple[str, Type, bool]:
        declared = self.env.objects[base.name].fields
        for name in (expr.name, _unescape(expr.name)):
            found: Field | None = declared.get(name)
            if found is not None:
                return name, found.type, found.native
        hint = hint_for_field(expr.name)
        near = None if hint else self._near(expr.name, lambda: list(declared))
        self.report(
            "E203",
            f"{_noun(base.name)} has no field `{expr.name}`",
            expr.name_span,
            label=f"did you mean `{near}`?" if near else "",
            helps=(hint,) if hint else () if near else (f"its fields are {_listed(declared)}",),
            edit=Edit(expr.name_span, near) if near else None,
        )
        return expr.name, ERROR, False

    def _no_fields(self, base: Type, expr: Select) -> None:
        final = self.types.final(base)
        function = self.env.function_table.get(expr.name)
        hint = hint_for_field(expr.name)
        helps = (f"`{expr.name}` is a function: call it with `()`",) if function else ()
        helps = (hint,) if hint and not function else helps
        self.report(
            "E216", f"{final} has no fields, so no `{expr.name}`", expr.name_span, helps=helps
        )

    def _qualified(self, expr: Select) -> ir.Typed | None:
        """Resolve `a.b.c` as the dotted name of a variable or constant."""
        names: list[str] = []
        node: Expr = expr
        while isinstance(node, Select) and not (node.optional or node.quoted):
            names.append(node.name)
            node = node.operand
        if not isinstance(node, Name):
            return None
        if not node.root and self._find_local(node.name) is not None:
            return None
        full = ".".join([node.name, *reversed(names)])
        return self._resolve_name(full, expr.span, root=node.root)

    def _index(self, expr: Index) -> ir.Typed:
        operand, index = self.check(expr.operand), self.check(expr.index)
        base = self.type_of(operand)
        wrapped = base.kind is Kind.OPTIONAL
        inner = base.params[0] if wrapped else base
        optional = wrapped or expr.optional
        type_ = self._item(inner, operand, index, expr)
        if optional and type_.kind is not Kind.OPTIONAL:
            type_ = optional_of(type_)
        return ir.Item(operand, index, type_, expr.span, optional)

    def _item(self, base: Type, operand: ir.Typed, index: ir.Typed, expr: Index) -> Type:
        if not self.typed:
            return DYN
        if base.kind is Kind.NULLABLE:
            base = base.params[0]
        match base.kind:
            case Kind.LIST:
                wanted, result = _LITERALS["int"], base.params[0]
            case Kind.MAP:
                wanted, result = base.params
            case Kind.ERROR:
                return base
            case Kind.DYN | Kind.VAR:
                self.types.assignable((base,), (DYN,))
                return self.types.fresh()
            case _:
                self._not_indexable(base, operand, expr)
                return ERROR
        if not self.types.assignable((index.type,), (wanted,), lenient=True):
            what = "list" if base.kind is Kind.LIST else "map"
            self.report(
                "E204",
                f"this {what} is indexed by {self.types.final(wanted)}, not {self.final(index)}",
                index.span,
            )
        return result

    def _not_indexable(self, base: Type, operand: ir.Typed, expr: Index) -> None:
        name = expr.index.value if isinstance(expr.index, Literal) else None
        helps: tuple[str, ...] = ()
        if base.kind is Kind.OBJECT and isinstance(name, str):
            helps = (f"select the field: `{self.source.slice(operand.span)}.{name}`",)
        self.report(
            "E216", f"{self.types.final(base)} cannot be indexed with `[ ]`", expr.span, helps=helps
        )

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

    def _conditional(self, expr: Conditional) -> ir.Typed:
        condition = self.check(expr.condition)
        then, otherwise = self.check(expr.then), self.check(expr.otherwise)
        if not self.typed:
            return ir.Choice(condition, then, otherwise, DYN, expr.span)
        if not self.types.assignable((condition.type,), (BOOL,)):
            self.report(
                "E204",
                f"the condition before `?` must be bool, not {self.final(condition)}",
                condition.span,
            )
        then, otherwise = self._numbers_meet((then, otherwise))
        type_ = self.types.join(then.type, otherwise.type)
        if type_ is None:
            self.report(
                "E204",
                "the two results of `? :` have different types",
                expr.span,
                related=(
                    (then.span, str(self.final(then))),
                    (otherwise.span, str(self.final(otherwise))),
                ),
            )
            type_ = ERROR
        return ir.Choice(condition, then, otherwise, type_, expr.span)

    def _list(self, expr: ListOf) -> ir.Typed:
        nodes = tuple(self.check(element.value) for element in expr.elements)
        optional = frozenset(at for at, e in enumerate(expr.elements) if e.optional)
        if not optional:
            nodes = self._numbers_meet(nodes)
        types = [
            self._inner_of_optional(node) if at in optional else node.type
            for at, node in enumerate(nodes)
        ]
        element = self._join_all(types, nodes, "list")
        type_ = list_of(element) if self.typed else DYN
        return ir.MakeList(nodes, optional, type_, expr.span)

    def _map(self, expr: MapOf) -> ir.Typed:
        keys = tuple(self.check(entry.key) for entry in expr.entries)
        values = tuple(self.check(entry.value) for entry in expr.entries)
        optional = frozenset(at for at, e in enumerate(expr.entries) if e.optional)
        types = [
            self._inner_of_optional(node) if at in optional else node.type
            for at, node in enumerate(values)
        ]
        key = self._join_all([k.type for k in keys], keys, "map")
        value = self._join_all(types, values, "map")
        self._check_keys(keys)
        type_ = map_of(key, value) if self.typed else DYN
        return ir.MakeMap(keys, values, optional, self._is_strict(), type_, expr.span)

    def _is_strict(self) -> bool:
        return self.env.dialect is Dialect.CEL

    def _numbers_meet(self, nodes: tuple[ir.Typed, ...]) -> tuple[ir.Typed, ...]:
        """Turn ints that stand among doubles into doubles, where nothing else is there."""
        if self._is_strict() or self._mixing or not self.typed:
            return nodes
        types = [self.type_of(node) for node in nodes]
        if set(types) != {_INT, DOUBLE}:
            return nodes
        return tuple(
            self._as_double(node) if type_ == _INT else node
            for node, type_ in zip(nodes, types, strict=True)
        )

    def _as_double(self, node: ir.Typed) -> ir.Typed:
        self.not_portable("an int among doubles becomes a double", node.span)
        return self.apply("double", "double", (node,), node.span, node.span)

    def _check_keys(self, keys: tuple[ir.Typed, ...]) -> None:
        """Report keys of types that no map can have."""
        if not self._is_strict():
            return
        for key in keys:
            kind = self.final(key)
            if (
                self.typed
                and kind.kind is not Kind.DYN
                and str(kind) not in (*("int", "uint", "bool", "string", "error"),)
            ):
                self.report("E204", f"{kind} cannot be the key of a map", key.span)

    def _inner_of_optional(self, node: ir.Typed) -> Type:
        type_ = self.type_of(node)
        if type_.kind is Kind.OPTIONAL:
            return type_.params[0]
        if self.typed and type_.kind not in (Kind.DYN, Kind.ERROR, Kind.VAR):
            self.report(
                "E204", f"`?` is for optional values, and this is {self.final(node)}", node.span
            )
        return DYN

    def _join_all(self, types: list[Type], nodes: Sequence[ir.Typed], what: str) -> Type:
        if not types:
            return self.types.fresh()
        joined = types[0]
        for at, type_ in enumerate(types[1:], 1):
            both = self.types.join(joined, type_)
            if both is None:
                if self.typed and not self._is_strict() and not self._mixing:
                    self._mixed(joined, nodes, at, what)
                    return ERROR
                return DYN
            joined = both
        return joined

    def _mixed(self, joined: Type, nodes: Sequence[ir.Typed], at: int, what: str) -> None:
        self.report(
            "E213",
            f"this {what} mixes {self.types.final(joined)} and {self.final(nodes[at])}",
            nodes[at].span,
            label=str(self.final(nodes[at])),
            related=((nodes[0].span, str(self.types.final(joined))),),
            helps=("put `dyn(…)` around one of them if that is meant",),
        )

    # --- calls ---

    def _call(self, expr: Call) -> ir.Typed:
        macro = self._macro(expr)
        if macro is not None:
            expanded = macro(self, expr)
            if expanded is not None:
                return expanded
        if expr.target is None:
            return self._global_call(expr)
        namespaced = self._namespaced(expr)
        if namespaced is not None:
            return self._apply_named(namespaced, expr, None)
        return self._apply_named(expr.name, expr, self.check(expr.target))

    def _macro(self, expr: Call) -> Macro | None:
        if expr.target is None:
            return MACROS.get((expr.name, False))
        if isinstance(expr.target, Name) and self._find_local(expr.target.name) is None:
            found = MACROS.get((f"{expr.target.name}.{expr.name}", False))
            if found is not None:
                return found
        return MACROS.get((expr.name, True))

    def _global_call(self, expr: Call) -> ir.Typed:
        let = self.env.lets.get(expr.name)
        if let is not None:
            return self._call_let(expr, let.parameters)
        for full in self.env.candidates(expr.name, root=expr.root):
            if full in self.env.function_table:
                return self._apply_named(full, expr, None)
        return self._apply_named(expr.name, expr, None)

    def _namespaced(self, expr: Call) -> str | None:
        """Give the function that `a.b.f(x)` names, where `a.b` is no value."""
        names: list[str] = [expr.name]
        node: Expr | None = expr.target
        while isinstance(node, Select) and not (node.optional or node.quoted):
            names.append(node.name)
            node = node.operand
        if not isinstance(node, Name):
            return None
        if not node.root and self._find_local(node.name) is not None:
            return None
        dotted = ".".join([node.name, *reversed(names)])
        for full in self.env.candidates(dotted, root=node.root):
            if full in self.env.function_table:
                return full
        return None

    def _apply_named(self, name: str, expr: Call, target: ir.Typed | None) -> ir.Typed:
        if name.startswith(_BEYOND) and self.env.dialect is Dialect.KUBERNETES:
            self.not_portable(f"Kubernetes does not have `{name}`", expr.name_span)
        self._mixing += name in _MIXING
        args = tuple(self.check(arg) for arg in expr.args)
        self._mixing -= name in _MIXING
        if name not in self.env.function_table:
            if not self.typed:
                return self._unresolved(f"unbound function: {name}", expr.span)
            self._unknown_function(name, expr, target)
            return self.error(expr.span)
        member = target is not None
        given = args if target is None else (target, *args)
        node = self.apply(name, name, given, expr.span, expr.name_span, member=member)
        if self.typed:
            check_literal_arguments(self, name, given)
            if name == "format" and member:
                check_format(self, given)
        return node

    def apply(
        self,
        name: str,
        shown: str,
        args: tuple[ir.Typed, ...],
        span: Span,
        name_span: Span,
        *,
        member: bool = False,
    ) -> ir.Typed:
        """Choose the overloads of a function for checked arguments."""
        function = self.env.function_table[name]
        considered = [o for o in function.overloads if o.member == member]
        if not self.typed:
            fitting = tuple(o for o in considered if len(o.params) == len(args) and o.portable)
            if not fitting:
                return self._unresolved(f"no such overload: {name}", span)
            return ir.Apply(shown, fitting, args, DYN, span)
        types = tuple(arg.type for arg in args)
        for overloads, lenient in (
            ([o for o in considered if o.portable], False),
            ([o for o in considered if not o.portable], False),
            (considered, True),
        ):
            chosen, result = self._fitting(overloads, types, lenient=lenient)
            if chosen:
                if not chosen[0].portable or lenient:
                    self.not_portable(
                        f"`{shown}` of {self._shown_types(args)} is policyd's own", name_span
                    )
                return ir.Apply(shown, tuple(chosen), args, result, span)
        if not any(self.type_of(arg).kind is Kind.ERROR for arg in args):
            explain_mismatch(self, name, shown, args, name_span, member=member)
        return self.error(span)

    def _shown_types(self, args: Sequence[ir.Typed]) -> str:
        return " and ".join(str(self.final(arg)) for arg in args)

    def _fitting(
        self, overloads: Sequence[Overload], types: tuple[Type, ...], *, lenient: bool
    ) -> tuple[list[Overload], Type]:
        """Give the overloads that fit, and their common result type: dyn where they differ."""
        chosen: list[Overload] = []
        result: Type | None = None
        for candidate in overloads:
            if len(candidate.params) != len(types):
                continue
            params, declared = self.types.instantiate(candidate.params, candidate.result)
            if not candidate.portable and any(
                given == NULL and wanted.kind is Kind.OPAQUE
                for given, wanted in zip(types, params, strict=True)
            ):
                continue  # null is no quantity
            if self.types.assignable(types, params, lenient=lenient):
                chosen.append(candidate)
                given = self.types.resolve(declared)
                if result is None:
                    result = given
                elif result.kind is not Kind.DYN and given != result:
                    result = DYN
        return chosen, result or ERROR

    def _unknown_function(self, name: str, expr: Call, target: ir.Typed | None) -> None:
        if target is not None and self.type_of(target).kind is Kind.ERROR:
            return
        hint = hint_for_function(name, is_method=target is not None, argument_count=len(expr.args))
        near = None if hint else self._near(name, lambda: self._callable_names(target))
        self.report(
            "E202",
            f"there is no {'method' if target is not None else 'function'} `{name}`",
            expr.name_span,
            label=f"did you mean `{near}`?" if near else "",
            helps=(hint,) if hint else (),
            edit=Edit(expr.name_span, near) if near else None,
        )

    def _callable_names(self, target: ir.Typed | None) -> list[str]:
        member = target is not None
        names = [
            name
            for name, function in self.env.function_table.items()
            if name[0].isalpha() and any(o.member == member for o in function.overloads)
        ]
        names.extend(name for name, is_member in MACROS if is_member == member)
        if not member:
            names.extend(n for n, let in self.env.lets.items() if let.parameters is not None)
        return names

    def _call_let(self, expr: Call, parameters: tuple[str, ...] | None) -> ir.Typed:
        """Write a `let` function out: its arguments are evaluated when first needed."""
        self._used.add(expr.name)
        args = [self.check(arg) for arg in expr.args]
        if parameters is None:
            message = f"`{expr.name}` is a value, not a function"
            self.report("E202", message, expr.name_span, helps=("leave the parentheses out",))
            return self.error(expr.span)
        if len(args) != len(parameters):
            self.report(
                "E212",
                f"`{expr.name}` takes {_counted(len(parameters), 'argument')}, not {len(args)}",
                expr.name_span,
            )
            return self.error(expr.span)
        if not self._enter_let(expr.name, expr.name_span):
            return self.error(expr.span)
        body = self._write_out(expr, parameters, args)
        self._open_lets.pop()
        return body

    def _write_out(self, expr: Call, parameters: tuple[str, ...], args: list[ir.Typed]) -> ir.Typed:
        let = self.env.lets[expr.name]
        self._inlined += let.body.span.end - let.body.span.start
        if self._inlined > MAX_INLINED * 4:
            self.report(
                "E306",
                f"this expression has more than {MAX_INLINED:,} parts once its `let` functions"
                " are written out",
                expr.span,
                helps=("call them less often inside each other",),
            )
            return self.error(expr.span)
        if not self.may_nest(len(args), expr.span):
            return self.error(expr.span)
        locals_ = [
            self.local(name, arg.type, arg.span) for name, arg in zip(parameters, args, strict=True)
        ]
        for local, arg in zip(locals_, args, strict=True):
            self.hold(local.slot, arg)
        scopes, self._scopes = self._scopes, [{local.name: local for local in locals_}]
        with self.deeper(len(locals_)):
            body = self.check(let.body)
        self._scopes = scopes
        for local, arg in zip(reversed(locals_), reversed(args), strict=True):
            body = ir.Bind(local.slot, arg, body, body.type, expr.span)
        return body


def _unescape(name: str) -> str:
    """Give the API's name for a field as Kubernetes' CEL escapes it: `__namespace__`."""
    for escaped, plain in _ESCAPES:
        name = name.replace(escaped, plain)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return name[2:-2]
    return name


def _noun(object_name: str) -> str:
    return object_name.lower() if "." not in object_name else object_name.partition(".")[2]


def _listed(names: Any) -> str:
    shown = sorted(names)
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
