"""Writes syntax trees as text: the shortest that reads back as the same tree.

Parentheses stand where `Parens` nodes stand and where precedence needs them. What was written by
people is laid out by `formatter.py`, which keeps their spelling; here is only the tree.
"""

import math
import re
from typing import Any, Final

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
)

# How tightly each form binds, loosest first, as the rules of the grammar nest.
_CONDITIONAL, _OR, _AND, _RELATION, _ADDITION, _PRODUCT, _UNARY, _MEMBER = range(8)
_LEVELS: Final = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _RELATION),
    **dict.fromkeys(("+", "-"), _ADDITION),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z")
_NO_NAMES: Final = frozenset({"in", "true", "false", "null"})
_ESCAPES: Final = {
    char: f"\\{letter}" for char, letter in zip('\\"\a\b\f\n\r\t\v', '\\"abfnrtv', strict=True)
}


def print_expression(expr: Expr) -> str:
    """Give the text of an expression, on one line.

    Raises:
        ValueError: it holds a NaN, which no literal denotes.
    """
    return _print(expr, _CONDITIONAL)


def print_file(file: File) -> str:
    """Give the text of a rule file: one declaration or clause on each line, nothing aligned.

    Raises:
        ValueError: it holds a NaN, which no literal denotes.
    """
    return "".join(f"{_print_declaration(item)}\n" for item in file.declarations)


def binding(op: str) -> int:
    """Give how tightly a binary operator binds: more binds tighter, equal is read from the left."""
    return {"||": _OR, "&&": _AND}.get(op) or _LEVELS[op]


# --- expressions ---


def _print(expr: Expr, loosest: int) -> str:
    """Print an expression where nothing looser than `loosest` may stand without parentheses."""
    text = _bare(expr)
    return f"({text})" if _level(expr) < loosest else text


def _level(expr: Expr) -> int:
    match expr:
        case Conditional():
            return _CONDITIONAL
        case Logical(op=op) | Binary(op=op):
            return binding(op)
        case Unary():
            return _UNARY
        case _:
            # A negative number too: the parser gives a sign to the number that begins `-2.abs()`.
            return _MEMBER


def _bare(expr: Expr) -> str:
    match expr:
        case Literal(kind=kind, value=value):
            return _print_literal(kind, value)
        case Name(name=name, root=root):
            return f".{name}" if root else name
        case Select(operand=operand, name=name, optional=optional, quoted=quoted):
            return f"{_print(operand, _MEMBER)}.{_mark(optional)}{_print_selector(name, quoted)}"
        case Index(operand=operand, index=index, optional=optional):
            return f"{_print(operand, _MEMBER)}[{_mark(optional)}{print_expression(index)}]"
        case Call():
            return _print_call(expr)
        case Unary(op=op, operand=operand):
            return f"{op}{_print_operand(op, operand)}"
        case Binary(op=op, left=left, right=right):
            level = binding(op)
            return f"{_print(left, level)} {op} {_print(right, level + 1)}"
        case Logical(op=op, operands=operands):
            # The first of a chain would join it too, if it were one of the same operator.
            return f" {op} ".join([_print(operand, binding(op) + 1) for operand in operands])
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            asked = f"{_print(condition, _OR)} ? {_print(then, _OR)}"
            return f"{asked} : {print_expression(otherwise)}"
        case ListOf(elements=elements):
            return f"[{', '.join([_print_element(element) for element in elements])}]"
        case MapOf(entries=entries):
            return f"{{{', '.join([_print_entry(entry) for entry in entries])}}}"
        case Parens(inner=inner):
            return f"({print_expression(inner)})"


def _mark(optional: bool) -> str:  # noqa: FBT001 - a field of the node, not a switch
    return "?" if optional else ""


def _print_selector(name: str, quoted: bool) -> str:  # noqa: FBT001 - a field of the node
    plain = _IDENTIFIER.match(name) is not None and name not in _NO_NAMES
    return name if plain and not quoted else f"`{name}`"


def _print_call(call: Call) -> str:
    args = ", ".join([print_expression(arg) for arg in call.args])
    if call.target is not None:
        return f"{_print(call.target, _MEMBER)}.{call.name}({args})"
    return f"{'.' if call.root else ''}{call.name}({args})"


def _print_operand(op: str, operand: Expr) -> str:
    text = _print(operand, _UNARY)
    mixed = isinstance(operand, Unary) and operand.op != op  # `!-x` is refused, as in CEL
    return f"({text})" if mixed or (op == "-" and _takes_sign(operand)) else text


def _takes_sign(operand: Expr) -> bool:
    """Say whether a minus sign before this would be read as the sign of the number it begins with.

    The counterpart of the parser's `Builder._signed`.
    """
    while True:
        match operand:
            case Select(operand=inner) | Index(operand=inner):
                operand = inner
            case Call(target=target) if target is not None:
                operand = target
            case Literal(kind="int" | "double", value=value):
                return bool(value >= 0)
            case Literal(kind="quantity", value=value):
                return not value.startswith("-")
            case _:
                return False


def _print_element(element: Element) -> str:
    return f"{_mark(element.optional)}{print_expression(element.value)}"


def _print_entry(entry: Entry) -> str:
    key, value = print_expression(entry.key), print_expression(entry.value)
    return f"{_mark(entry.optional)}{key}: {value}"


# --- literals ---


def _print_literal(kind: str, value: Any) -> str:
    match kind:
        case "string":
            return quote(value)
        case "bytes":
            return _quote_octets(value)
        case "bool":
            return "true" if value else "false"
        case "null_type":
            return "null"
        case "double":
            return _print_double(value)
        case "uint":
            return f"{int(value)}u"
        case _:
            return str(value)


def quote(text: str) -> str:
    """Give the string literal of a text: between double quotes, with what cannot be seen escaped.

    A lone surrogate, which no source and so no value of the language holds, reads back as an
    error.
    """
    return f'"{"".join([_escape(char) for char in text])}"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    point = ord(char)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _quote_octets(octets: bytes) -> str:
    # Octets above ASCII are escaped one by one: as characters they would be read as UTF-8.
    inner = [_escape(chr(octet)) if octet < 0x80 else f"\\x{octet:02x}" for octet in octets]
    return f'b"{"".join(inner)}"'


def _print_double(value: float) -> str:
    if math.isnan(value):
        raise ValueError("no literal denotes a NaN")
    if math.isinf(value):
        return "-1e999" if value < 0 else "1e999"  # rounds to infinity, as a literal may
    return repr(value).replace("e+", "e")


# --- declarations ---


def _print_declaration(item: Param | Let | Block) -> str:
    match item:
        case Param():
            return _print_param(item)
        case Let():
            return _print_let(item)
        case Block():
            return _print_block(item)


def _print_param(param: Param) -> str:
    typed = "" if param.type_text is None else f": {param.type_text}"
    default = "" if param.default is None else f" = {print_expression(param.default)}"
    return f"param {param.name}{typed}{default}"


def _print_let(let: Let) -> str:
    parameters = "" if let.parameters is None else f"({', '.join(let.parameters)})"
    return f"let {let.name}{parameters} = {print_expression(let.body)}"


def _print_block(block: Block) -> str:
    named = "" if block.name is None else f" {quote(block.name)}"
    clauses = "".join([f"  {_print_clause(clause)}\n" for clause in block.clauses])
    return f"{block.word}{named} {{\n{clauses}}}"


def _print_clause(clause: Clause | Let) -> str:
    if isinstance(clause, Let):
        return _print_let(clause)
    words = f"{clause.word} when" if clause.word in ("hold", "reclaim") else clause.word
    if clause.value is not None:
        return f"{words} {print_expression(clause.value)}"
    if clause.mode is not None:
        return f"{words} {clause.mode}"
    return f"{words} {', '.join([_print_key(key) for key in clause.keys])}".rstrip()


def _print_key(key: Key) -> str:
    direction = "" if key.direction is None else f" {key.direction}"
    return f"{print_expression(key.value)}{direction}"
