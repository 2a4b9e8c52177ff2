"""What a name stands for: a local, a variable, a `let`, a constant; or what was meant by it."""

from policyd.language import typed as ir
from policyd.language.check import Check
from policyd.language.diagnostics import Edit
from policyd.language.source import Span
from policyd.language.suggest import (
    hint_for_name,
)
from policyd.language.syntax import (
    Expr,
    Name,
    Select,
)
from policyd.language.types import (
    DYN,
)


def check_name(check: Check, expr: Name) -> ir.Typed:
    """Check a name."""
    found = resolve_name(check, expr.name, expr.span, root=expr.root)
    if found is not None:
        return found
    if not check.typed:
        return check.unresolved(f"undeclared reference to `{expr.name}`", expr.span)
    _unknown_name(check, expr)
    return check.error(expr.span)


def resolve_name(check: Check, name: str, span: Span, *, root: bool) -> ir.Typed | None:
    """Give what a name stands for, where it stands for something."""
    if not root:
        local = check.find_local(name)
        if local is not None:
            return local
    for full in check.env.candidates(name, root=root):
        type_ = check.env.variables.get(full)
        if type_ is not None:
            check.variables.add(full)
            return ir.Variable(full, type_ if check.typed else DYN, span)
        if full in check.env.lets and check.env.lets[full].parameters is None:
            return use_let(check, full, span)
        constant = check.env.constants.get(full)
        if constant is not None:
            return ir.Constant(constant[1], constant[0], span)
    return None


def use_let(check: Check, name: str, span: Span) -> ir.Typed:
    """Use a `let` without parameters, whose body is checked once."""
    check.used.add(name)
    if name not in check.let_refs:
        if not enter_let(check, name, span):
            return check.error(span)
        scopes, check.scopes = check.scopes, []
        body = check.check(check.env.lets[name].body)
        check.scopes = scopes
        check.open_lets.pop()
        check.let_refs[name] = ir.LetRef(name, check.slot(), body, body.type, span)
        check.hold(check.let_refs[name].slot, body)
    known = check.let_refs[name]
    return ir.LetRef(name, known.slot, known.body, known.type, span)


def enter_let(check: Check, name: str, span: Span) -> bool:
    """Open a `let`; report it where it is open already, since that is a recursion."""
    if name in check.open_lets:
        check.report(
            "E210",
            f"`{name}` refers to itself",
            span,
            helps=("a `let` cannot recur: use a macro such as `map` or `exists`",),
        )
        return False
    check.open_lets.append(name)
    return True


def _unknown_name(check: Check, expr: Name) -> None:
    name = expr.name
    if name in check.env.unavailable:
        check.report("E217", check.env.unavailable[name], expr.span)
        return
    let = check.env.lets.get(name)
    if name in check.env.function_table or let is not None:
        help_ = f"call it: `{name}(…)`"
        check.report("E201", f"`{name}` is a function, not a value", expr.span, helps=(help_,))
        return
    hint = hint_for_name(name)
    near = None if hint else check.near(name, lambda: _names_in_scope(check))
    check.report(
        "E201",
        f"there is nothing called `{name}` here",
        expr.span,
        label=f"did you mean `{near}`?" if near else "",
        helps=(hint,) if hint else (),
        edit=Edit(expr.span, near) if near else None,
    )


def _names_in_scope(
    check: Check,
) -> list[str]:
    names = [name for scope in check.scopes for name in scope]
    return [*names, *check.env.variables, *check.env.lets, *check.env.constants]


def qualified_name(check: Check, expr: Select) -> ir.Typed | None:
    """Resolve `a.b.c` as the dotted name of a variable or constant."""
    names: list[str] = []
    node: Expr = expr
    while isinstance(node, Select) and not (node.optional or node.quoted):
        names.append(node.name)
        node = node.operand
    if not isinstance(node, Name):
        return None
    if not node.root and check.find_local(node.name) is not None:
        return None
    full = ".".join([node.name, *reversed(names)])
    return resolve_name(check, full, expr.span, root=node.root)
