"""The syntax tree: what a text says, before anything is known about types.

Nodes are immutable and know their span. Two trees are equal when they say the same, wherever it
stands in the text.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from policyd.language.source import Span

_NOWHERE: Final = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `kind` is the type's name; a quantity's value is its text."""

    kind: str
    value: Any
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A variable. `root` is true for `.x`, which looks only outside comprehensions."""

    name: str
    root: bool = False
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.name`, or `operand.?name` where `optional`."""

    operand: "Expr"
    name: str
    optional: bool = False
    quoted: bool = False
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[index]`, or `operand[?index]` where `optional`."""

    operand: "Expr"
    index: "Expr"
    optional: bool = False
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`name(args)`, or `target.name(args)`. Macros are calls until they are checked."""

    name: str
    args: tuple["Expr", ...]
    target: "Expr | None" = None
    root: bool = False
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`."""

    op: str
    operand: "Expr"
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right` for arithmetic, relations and `in`."""

    op: str
    left: "Expr"
    right: "Expr"
    span: Span = field(default=_NOWHERE, compare=False)
    op_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Logical:
    """`a && b && c` or `a || b || c`: one node for a whole chain, so that long ones stay flat."""

    op: str
    operands: tuple["Expr", ...]
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a list; `?e` adds the value of an optional, or nothing."""

    value: "Expr"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b, ?c]`."""

    elements: tuple[Element, ...]
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a map; `?k: v` adds the value of an optional, or nothing."""

    key: "Expr"
    value: "Expr"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{k: v, ?l: w}`."""

    entries: tuple[Entry, ...]
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Parens:
    """`(inner)`: kept, so that the formatter gives back what was written."""

    inner: "Expr"
    span: Span = field(default=_NOWHERE, compare=False)


Expr = (
    Literal
    | Name
    | Select
    | Index
    | Call
    | Unary
    | Binary
    | Logical
    | Conditional
    | ListOf
    | MapOf
    | Parens
)


@dataclass(frozen=True, slots=True)
class Param:
    """`param name: type = default`."""

    name: str
    type_text: str | None
    default: Expr | None
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)
    type_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = body`, or `let name(parameters) = body`."""

    name: str
    parameters: tuple[str, ...] | None
    body: Expr
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of an order. `direction` is `asc`, `desc` or nothing."""

    value: Expr
    direction: str | None
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause as written: its word and what follows it.

    `value` is the expression, `keys` the keys of `order`, `device` and `cost`, `mode` the word
    after `mode`. Which clauses a block may have is decided in `blocks.py`.
    """

    word: str
    value: Expr | None = None
    keys: tuple[Key, ...] = ()
    mode: str | None = None
    span: Span = field(default=_NOWHERE, compare=False)
    word_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Block:
    """A block as written: its word, its name where it has one, and its clauses and lets."""

    word: str
    name: str | None
    clauses: tuple[Clause | Let, ...]
    span: Span = field(default=_NOWHERE, compare=False)
    word_span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class File:
    """A rule file."""

    declarations: tuple[Param | Let | Block, ...]


def children(expr: Expr) -> tuple[Expr, ...]:
    """Give the expressions directly inside an expression, in the order of the text."""
    match expr:
        case Literal() | Name():
            return ()
        case Select(operand=operand) | Unary(operand=operand):
            return (operand,)
        case Parens(inner=inner):
            return (inner,)
        case Index(operand=operand, index=index):
            return (operand, index)
        case Call(target=target, args=args):
            return args if target is None else (target, *args)
        case Binary(left=left, right=right):
            return (left, right)
        case Logical(operands=operands):
            return operands
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case ListOf(elements=elements):
            return tuple(e.value for e in elements)
        case MapOf(entries=entries):
            return tuple(part for e in entries for part in (e.key, e.value))


def unwrap(expr: Expr) -> Expr:
    """Give an expression without the parentheses around it."""
    while isinstance(expr, Parens):
        expr = expr.inner
    return expr
