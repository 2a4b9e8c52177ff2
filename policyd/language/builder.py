# ruff: noqa: D102 - one method a grammar rule, of the rule's name
"""Builds the syntax tree while Lark parses, and bounds its depth.

One method a grammar rule. A fault in a literal is noted and parsing goes on; nesting that is too
deep ends it.
"""

from typing import Any, Final, NamedTuple, TypeVar

from lark import Token, Transformer

from policyd.language import literals
from policyd.language.limits import MAX_DEPTH
from policyd.language.source import Span
from policyd.language.syntax import (
    Binary,
    Block,
    Call,
    Clause,
    Conditional,
    Element,
    Entry,
    Expr,
    File,
    Index,
    Key,
    Let,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Param,
    Parens,
    Select,
    Unary,
    unwrap,
)
from policyd.values.numbers import INT_MAX

RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "return", "var", "void", "while"),
    )
)
"""CEL's reserved words, without `namespace`, which is the name of the pod's namespace here."""

_NUMBERS: Final = ("int", "double")

_Node = TypeVar("_Node", bound=Expr)


class _TypeText(NamedTuple):
    text: str
    span: Span


class SyntaxFault(Exception):  # noqa: N818 - becomes a diagnostic, is no error of the program
    """Something that is refused while the tree is built."""

    def __init__(self, code: str, message: str, span: Span, help_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.help = help_


def _start(item: Any) -> int:
    return item.start_pos or 0 if isinstance(item, Token) else int(item.span.start)


def _end(item: Any) -> int:
    return item.end_pos or 0 if isinstance(item, Token) else int(item.span.end)


def _around(items: list[Any]) -> Span:
    return Span(_start(items[0]), _end(items[-1]))


def _at(token: Token) -> Span:
    return Span(_start(token), _end(token))


class Builder(Transformer[Token, Any]):
    """The tree's builder. One for each parse: it holds that parse's faults and depths."""

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.faults: list[SyntaxFault] = []
        self._depths: dict[int, int] = {}

    def reset(self) -> None:
        """Forget what the last parse left."""
        self.faults = []
        self._depths = {}

    def _made(self, node: _Node, *inner: Any) -> _Node:
        depth = 1 + max((self._depths.pop(id(child), 1) for child in inner), default=0)
        if depth > MAX_DEPTH:
            raise SyntaxFault(
                "E302",
                f"this expression is nested more than {MAX_DEPTH} levels deep",
                node.span,
                "give parts of it names with `let`",
            )
        self._depths[id(node)] = depth
        return node

    # --- declarations ---

    def file(self, items: list[Any]) -> File:
        return File(tuple(items))

    def expression(self, items: list[Any]) -> Expr:
        made: Expr = items[0]
        return made

    def param(self, items: list[Any]) -> Param:
        self._refuse_reserved(items[1])
        written = next((i for i in items if isinstance(i, _TypeText)), None)
        last = items[-1]
        default = None if isinstance(last, Token | _TypeText) else last
        return Param(
            str(items[1]),
            written.text if written else None,
            default,
            _around(items),
            _at(items[1]),
            written.span if written else _at(items[1]),
        )

    def type_name(self, items: list[Token]) -> _TypeText:
        return _TypeText("".join(items), _around(items))

    def type_ref(self, items: list[Any]) -> _TypeText:
        parts = [item.text if isinstance(item, _TypeText) else str(item) for item in items]
        spaced = [", " if part == "," else part for part in parts]
        return _TypeText("".join(spaced), _around(items))

    def names(self, items: list[Token]) -> list[Token]:
        return [item for item in items if item.type != "COMMA"]

    def let(self, items: list[Any]) -> Let:
        self._refuse_reserved(items[1])
        return Let(str(items[1]), None, items[-1], _around(items), _at(items[1]))

    def let_function(self, items: list[Any]) -> Let:
        names = next((i for i in items if isinstance(i, list)), [])
        for name in (items[1], *names):
            self._refuse_reserved(name)
        parameters = tuple(str(name) for name in names)
        return Let(str(items[1]), parameters, items[-1], _around(items), _at(items[1]))

    def block_word(self, items: list[Token]) -> Token:
        return items[0]

    def block(self, items: list[Any]) -> Block:
        word = items[0]
        named = isinstance(items[1], Token) and items[1].type == "STRING"
        name_span = _at(items[1]) if named else _at(word)
        name = self._string(items[1]).value if named else None
        clauses = tuple(i for i in items if isinstance(i, Clause | Let))
        return Block(str(word), name, clauses, _around(items), _at(word), name_span)

    def clause(self, items: list[Any]) -> Clause:
        value = items[1] if len(items) > 1 else None
        return Clause(str(items[0]), value, (), None, _around(items), _at(items[0]))

    def when_clause(self, items: list[Any]) -> Clause:
        return Clause(str(items[0]), items[2], (), None, _around(items), _at(items[0]))

    def keys_clause(self, items: list[Any]) -> Clause:
        keys = tuple(items[1])
        span = Span(_start(items[0]), keys[-1].span.end)
        return Clause(str(items[0]), None, keys, None, span, _at(items[0]))

    def mode_clause(self, items: list[Any]) -> Clause:
        return Clause(str(items[0]), None, (), str(items[1]), _around(items), _at(items[0]))

    def keys(self, items: list[Any]) -> list[Key]:
        return [item for item in items if isinstance(item, Key)]

    def key(self, items: list[Any]) -> Key:
        direction = str(items[1]) if len(items) > 1 else None
        return Key(items[0], direction, _around(items))

    def direction(self, items: list[Token]) -> Token:
        return items[0]

    # --- expressions ---

    def conditional(self, items: list[Any]) -> Expr:
        condition, then, otherwise = items[0], items[2], items[4]
        made = Conditional(condition, then, otherwise, _around(items))
        return self._made(made, condition, then, otherwise)

    def binary(self, items: list[Any]) -> Expr:
        left, op, right = items
        made = Binary(str(op), left, right, _around(items), _at(op))
        return self._made(made, left, right)

    def logical(self, items: list[Any]) -> Expr:
        operands = tuple(items[::2])
        return self._made(Logical(str(items[1]), operands, _around(items)), *operands)

    def _operator(self, items: list[Token]) -> Token:
        return items[0]

    relation_op = addition_op = product_op = _operator

    def prefix(self, items: list[Any]) -> Expr:
        op, operand = items
        if isinstance(operand, Unary) and operand.op != op:
            self._fault("E101", f"`{op}{operand.op}` is two operators", _at(op), "use parentheses")
        if op == "-":
            signed = self._signed(op, operand)
            if signed is not None:
                return signed
        return self._made(Unary(str(op), operand, _around(items)), operand)

    def _signed(self, op: Token, operand: Expr) -> Expr | None:
        """Give the sign to the number that begins the operand: `-2.abs()` is of -2."""
        match operand:
            case Literal(kind=kind, value=value) if kind in _NUMBERS and value >= 0:
                made: Expr = Literal(kind, -value, Span(_start(op), operand.span.end))
            case Literal(kind="quantity", value=value) if not value.startswith("-"):
                made = Literal("quantity", f"-{value}", Span(_start(op), operand.span.end))
            case Select(operand=inner) if (signed := self._signed(op, inner)) is not None:
                made = Select(
                    signed,
                    operand.name,
                    operand.optional,
                    operand.quoted,
                    Span(_start(op), operand.span.end),
                    operand.name_span,
                )
            case Index(operand=inner) if (signed := self._signed(op, inner)) is not None:
                span = Span(_start(op), operand.span.end)
                made = Index(signed, operand.index, operand.optional, span)
            case Call(target=target) if (
                target is not None and (signed := self._signed(op, target)) is not None
            ):
                span = Span(_start(op), operand.span.end)
                made = Call(
                    operand.name, operand.args, signed, operand.root, span, operand.name_span
                )
            case _:
                return None
        self._depths[id(made)] = self._depths.pop(id(operand), 1)
        return made

    def select(self, items: list[Any]) -> Expr:
        return self._select(items, optional=False)

    def optional_select(self, items: list[Any]) -> Expr:
        return self._select(items, optional=True)

    def _select(self, items: list[Any], *, optional: bool) -> Expr:
        operand, name = items[0], items[-1]
        quoted = name.type == "QUOTED"
        field = str(name)[1:-1] if quoted else str(name)
        made = Select(operand, field, optional, quoted, _around(items), _at(name))
        return self._made(made, operand)

    def method(self, items: list[Any]) -> Expr:
        target, name, args = items[0], items[2], self._arguments(items)
        made = Call(str(name), args, target, root=False, span=_around(items), name_span=_at(name))
        if name.type == "QUOTED":
            self._fault("E101", "a method's name cannot be quoted", _at(name))
        return self._made(made, target, *args)

    def index(self, items: list[Any]) -> Expr:
        made = Index(items[0], items[2], optional=False, span=_around(items))
        return self._made(made, items[0], items[2])

    def optional_index(self, items: list[Any]) -> Expr:
        made = Index(items[0], items[3], optional=True, span=_around(items))
        return self._made(made, items[0], items[3])

    def identifier(self, items: list[Token]) -> Expr:
        self._refuse_reserved(items[0])
        return Name(str(items[0]), root=False, span=_at(items[0]))

    def root_identifier(self, items: list[Token]) -> Expr:
        self._refuse_reserved(items[1])
        return Name(str(items[1]), root=True, span=_around(items))

    def call(self, items: list[Any]) -> Expr:
        name, args = items[0], self._arguments(items)
        self._refuse_reserved(name)
        made = Call(str(name), args, None, root=False, span=_around(items), name_span=_at(name))
        return self._made(made, *args)

    def root_call(self, items: list[Any]) -> Expr:
        name, args = items[1], self._arguments(items)
        self._refuse_reserved(name)
        made = Call(str(name), args, None, root=True, span=_around(items), name_span=_at(name))
        return self._made(made, *args)

    def arguments(self, items: list[Any]) -> tuple[Expr, ...]:
        return tuple(item for item in items if not isinstance(item, Token))

    def _arguments(self, items: list[Any]) -> tuple[Expr, ...]:
        return next((item for item in items if isinstance(item, tuple)), ())

    def parenthesised(self, items: list[Any]) -> Expr:
        return self._made(Parens(items[1], _around(items)), items[1])

    def element(self, items: list[Any]) -> Element:
        return Element(items[-1], optional=len(items) == 2)

    def elements(self, items: list[Any]) -> list[Any]:
        if isinstance(items[0], list):
            items[0].append(items[2])
            return items[0]
        return [items[0]]

    def list_of(self, items: list[Any]) -> Expr:
        elements = items[1] if isinstance(items[1], list) else []
        made = ListOf(tuple(elements), _around(items))
        return self._made(made, *(e.value for e in elements))

    def entry(self, items: list[Any]) -> Entry:
        return Entry(items[-3], items[-1], optional=len(items) == 4)

    entries = elements

    def map_of(self, items: list[Any]) -> Expr:
        entries = items[1] if isinstance(items[1], list) else []
        made = MapOf(tuple(entries), _around(items))
        inner = (part for e in entries for part in (e.key, e.value))
        return self._made(made, *inner)

    def name(self, items: list[Token]) -> Token:
        return items[0]

    selector = name

    def literal(self, items: list[Token]) -> Literal:
        token = items[0]
        span = _at(token)
        match token.type:
            case "STRING":
                return self._string(token)
            case "TRUE" | "FALSE":
                return Literal("bool", token.type == "TRUE", span)
            case "NULL":
                return Literal("null_type", None, span)
            case "QUANTITY":
                return Literal("quantity", self._read(literals.quantity, token) or "0", span)
            case "FLOAT":
                return Literal("double", float(token), span)
            case kind:
                read = {"INT": literals.integer, "UINT": literals.unsigned}.get(
                    kind, literals.octets
                )
                name = {"INT": "int", "UINT": "uint"}.get(kind, "bytes")
                return Literal(name, self._read(read, token), span)

    def _string(self, token: Token) -> Literal:
        return Literal("string", self._read(literals.string, token) or "", _at(token))

    def _read(self, read: Any, token: Token) -> Any:
        try:
            return read(str(token))
        except literals.LiteralFault as fault:
            start = _start(token)
            span = Span(start + fault.start, start + fault.end)
            self._fault(fault.code, fault.message, span, fault.help)
            return {"INT": 0, "UINT": 0, "STRING": ""}.get(token.type, b"")

    def _refuse_reserved(self, name: Token) -> None:
        if str(name) in RESERVED:
            self._fault(
                "E106",
                f"`{name}` is a reserved word of CEL",
                _at(name),
                "choose another name; as a field it may be written after a dot",
            )

    def _fault(self, code: str, message: str, span: Span, help_: str = "") -> None:
        self.faults.append(SyntaxFault(code, message, span, help_))


def out_of_range(expr: Expr) -> bool:
    """Say whether a literal is 2^63 without the minus sign that would bring it into range."""
    inner = unwrap(expr)
    return isinstance(inner, Literal) and inner.kind == "int" and inner.value > INT_MAX
