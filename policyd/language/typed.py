"""The checked tree: every name resolved, every macro expanded, every node typed.

A node's type may hold type variables of its check where nothing pinned them down; the
interpreter takes those as dyn. Local variables (of macros, `cel.bind` and `let` functions) have a
slot of their own each, since nothing in the language recurs.
"""

from dataclasses import dataclass
from typing import Any

from policyd.language.declarations import Overload
from policyd.language.source import Span
from policyd.language.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value known from the text."""

    value: Any
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """What cannot be resolved in an expression that is not type-checked: an evaluation error."""

    message: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable of the environment, by its full name."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A variable of a macro or of a `let` function; `slot` is its own."""

    name: str
    slot: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LetRef:
    """A use of `let name = body`. The body is evaluated once for an evaluation, when needed."""

    name: str
    slot: int
    body: "Typed"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`operand.name`, `operand.?name` where `optional`, `has(operand.name)` where `test`.

    `native` says that the operand is an object of the model with the field as an attribute.
    """

    operand: "Typed"
    name: str
    type: Type
    span: Span
    optional: bool = False
    test: bool = False
    native: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """`operand[index]`, or `operand[?index]` where `optional`."""

    operand: "Typed"
    index: "Typed"
    type: Type
    span: Span
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A call. More than one overload, or an argument of type dyn, is settled by the values."""

    name: str
    overloads: tuple[Overload, ...]
    args: tuple["Typed", ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Junction:
    """`&&` where `conjunction`, else `||`, over two operands or more."""

    conjunction: bool
    operands: tuple["Typed", ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """`condition ? then : otherwise`."""

    condition: "Typed"
    then: "Typed"
    otherwise: "Typed"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class MakeList:
    """A list literal; `optional` has the places of the elements that may be absent."""

    elements: tuple["Typed", ...]
    optional: frozenset[int]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class MakeMap:
    """A map literal; `optional` has the places of the entries that may be absent.

    `strict` refuses a key that is there already, and keys of odd kinds, as the CEL
    specification does; otherwise the last one stands, as in Kubernetes.
    """

    keys: tuple["Typed", ...]
    values: tuple["Typed", ...]
    optional: frozenset[int]
    strict: bool
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A macro over a list or a map.

    `kind` is `all`, `exists`, `exists_one`, `list` (map, filter and transformList), `map`
    (transformMap) or `entries` (transformMapEntry). `slots` are those of the one or two
    variables; with two, a list gives the index and the element, a map the key and the value.
    `keep` selects what is taken, where there is such a condition. `body` is the condition or
    the result; in the kind `list` nothing stands for the element itself.
    """

    kind: str
    range: "Typed"
    slots: tuple[int, ...]
    keep: "Typed | None"
    body: "Typed | None"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Bind:
    """`cel.bind(x, init, body)`: init is evaluated once, when the body first needs it."""

    slot: int
    init: "Typed"
    body: "Typed"
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class OptionalMap:
    """`target.optMap(x, body)`, or `optFlatMap` where `flat`."""

    target: "Typed"
    slot: int
    body: "Typed"
    flat: bool
    type: Type
    span: Span


Typed = (
    Constant
    | Fault
    | Variable
    | Local
    | LetRef
    | Field
    | Item
    | Apply
    | Junction
    | Choice
    | MakeList
    | MakeMap
    | Loop
    | Bind
    | OptionalMap
)


def operands(node: Typed) -> tuple[Typed, ...]:
    """Give the nodes directly inside a node, in the order in which they may be evaluated."""
    match node:
        case Constant() | Fault() | Variable() | Local():
            return ()
        case LetRef(body=body):
            return (body,)
        case Field(operand=operand):
            return (operand,)
        case Item(operand=operand, index=index):
            return (operand, index)
        case Apply(args=args):
            return args
        case Junction(operands=inner):
            return inner
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case MakeList(elements=elements):
            return elements
        case MakeMap(keys=keys, values=values):
            return tuple(part for pair in zip(keys, values, strict=True) for part in pair)
        case Loop(range=range_, keep=keep, body=body):
            return tuple(part for part in (range_, keep, body) if part is not None)
        case Bind(init=init, body=body):
            return (init, body)
        case OptionalMap(target=target, body=body):
            return (target, body)
