"""How expressions are laid out: where their lines may end, and what is set in.

The tree says how parts belong together; every token is taken from the text, in its order, with
the comments around it. So nothing can be lost, and spellings stay as they are.
"""

from collections.abc import Sequence
from typing import Final

from policyd.language.layout import (
    Doc,
    Leading,
    Trailing,
    closing,
    concat,
    group,
    line,
    nest,
    space,
    text,
)
from policyd.language.pieces import Piece, Pieces
from policyd.language.printer import binding
from policyd.language.syntax import (
    Binary,
    Call,
    Conditional,
    Element,
    Entry,
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
)

INDENT: Final = 2

MACROS: Final = frozenset(
    (
        *("all", "exists", "exists_one", "existsOne", "filter", "map", "bind", "sortBy"),
        *("transformList", "transformMap", "transformMapEntry", "optMap", "optFlatMap"),
    )
)
"""Calls whose variables stay on the line of the name, in front of the body that uses them."""

_ARITHMETIC: Final = frozenset("+-*/%")
_SHORT: Final = 10
"""Characters of a constant, with its comma, up to which a list of such may fill its lines."""

_Link = Select | Index | Call


class ExpressionLayout:
    """Makes documents of expressions from the pieces of their text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def token(self) -> Doc:
        """Take the next token, with the comments around it and the comma behind it."""
        piece = self._pieces.take()
        comments = [Leading(comment.text, blank=False) for comment in piece.leading]
        return concat(*comments, *bare(piece))

    def grouped(self, start: int, *parts: Doc) -> Doc:
        """Group what was taken since a position; a comment inside breaks it."""
        return group(concat(*parts), broken=self._pieces.commented_since(start))

    def expression(self, expr: Expr, hang: int = INDENT) -> Doc:
        """Take an expression. `hang`: how far the operators that begin its lines are set in."""
        match expr:
            case Literal():
                return self._literal()
            case Name(root=root):
                return concat(self.token(), self.token()) if root else self.token()
            case Call(target=None):
                return self._call(expr)
            case Select() | Index() | Call():
                return self._chain(expr)
            case Unary(operand=operand):
                return concat(self.token(), self.expression(operand))
            case Binary():
                return self._binary(expr, hang)
            case Logical(operands=operands):
                return self._logical(operands, hang)
            case Conditional():
                return self._conditional(expr)
            case ListOf(elements=elements):
                return self._list(elements)
            case MapOf(entries=entries):
                return self._map(entries)
            case Parens(inner=inner):
                return self._parens(inner)

    def _literal(self) -> Doc:
        signs = []
        while self._pieces.peek().kind == "MINUS":
            signs.append(self.token())
        return concat(*signs, self.token())

    # --- operators ---

    def _logical(self, operands: Sequence[Expr], hang: int) -> Doc:
        start = self._pieces.position
        parts = [self.expression(operands[0])]
        for operand in operands[1:]:
            parts.append(nest(hang, self._joined(operand)))  # noqa: PERF401 - keeps the order plain
        return self.grouped(start, *parts)

    def _joined(self, operand: Expr) -> Doc:
        """Take an operator and its right operand; the line ends before the operator.

        Behind it where a comment stands there: `a && // why`.
        """
        if self._pieces.commented_behind_next():
            return concat(space(), self.token(), line(), self.expression(operand))
        return concat(line(), self.token(), space(), self.expression(operand))

    def _binary(self, expr: Binary, hang: int) -> Doc:
        """Lay out a chain of operators that bind alike."""
        start = self._pieces.position
        first, links = _left_chain(expr)
        if len(links) == 1 and isinstance(expr.right, ListOf | MapOf):
            return self._before_brackets(expr)
        parts = [self.expression(first)]
        for link in links:
            begun = self._pieces.position
            joined = nest(hang, self._joined(link.right))
            # Terms fill their lines; comparisons stand one on each.
            parts.append(self.grouped(begun, joined) if link.op in _ARITHMETIC else joined)
        return self.grouped(start, *parts)

    def _before_brackets(self, expr: Binary) -> Doc:
        """Lay out `x in [...]`: the brackets stay on the line and are broken inside."""
        left, op = self.expression(expr.left), self.token()
        return concat(left, space(), op, space(), self.expression(expr.right))

    def _conditional(self, expr: Conditional) -> Doc:
        start = self._pieces.position
        if isinstance(expr.otherwise, Conditional):
            return self._cases(start, expr)
        condition = self.expression(expr.condition)
        arms = [self._arm(expr.then), self._arm(expr.otherwise)]
        return self.grouped(start, condition, nest(INDENT, concat(*arms)))

    def _cases(self, start: int, expr: Conditional) -> Doc:
        """Lay out `a ? b : c ? d : e` as a table: a line for each condition and its result."""
        parts = [self._case(expr)]
        rest = expr.otherwise
        while isinstance(rest, Conditional):
            parts.extend((line(), self.token(), space(), self._case(rest)))
            rest = rest.otherwise
        return self.grouped(start, *parts, self._arm(rest))

    def _case(self, expr: Conditional) -> Doc:
        start = self._pieces.position
        condition = self.expression(expr.condition)
        return self.grouped(start, condition, nest(INDENT, self._arm(expr.then)))

    def _arm(self, result: Expr) -> Doc:
        sign = self.token()
        return concat(line(), sign, space(), self.expression(result))

    # --- members ---

    def _chain(self, expr: _Link) -> Doc:
        """Lay out `a.b(c)[d].e(f)`. The lines of several calls may end before each."""
        start = self._pieces.position
        base, links = _members(expr)
        parts = [self.expression(base)]
        several = sum(isinstance(link, Call) for link in links) > 1
        for at, link in enumerate(links):
            # The first call stays with a bare name: `math.greatest(...)`.
            stays = at == 0 and isinstance(base, Name)
            breaks = several and isinstance(link, Call) and not stays
            member = self._link(link)
            parts.append(nest(INDENT, concat(line(0), member)) if breaks else member)
        return self.grouped(start, *parts) if several else concat(*parts)

    def _link(self, link: _Link) -> Doc:
        if isinstance(link, Index):
            return self._index(link)
        dot = nest(INDENT, self.token())
        if isinstance(link, Call):
            return concat(dot, self._call(link))
        mark = [self.token()] if link.optional else []
        return concat(dot, *mark, self.token())

    def _index(self, link: Index) -> Doc:
        start = self._pieces.position
        opening = concat(self.token(), *([self.token()] if link.optional else []))
        index = self.expression(link.index)
        if isinstance(link.index, Literal | Name):
            return self._tight(opening, index)
        return self.enclosed(start, opening, line(0), index)

    def _call(self, call: Call) -> Doc:
        """Take a name and its arguments, without the target."""
        start = self._pieces.position
        names = [self.token()] if call.root else []
        opening = concat(*names, self.token(), self.token())
        args: list[Doc] = []
        for arg in call.args:
            args.append(self.expression(arg))  # noqa: PERF401 - a comprehension is one more frame
        if not args or (len(args) == 1 and isinstance(call.args[0], ListOf | MapOf)):
            return self._tight(opening, *args)
        bound = _variables(call)
        parts = [
            concat(space(min(at, 1)) if at < bound else line(min(at, 1)), arg)
            for at, arg in enumerate(args)
        ]
        return self.enclosed(start, opening, *parts)

    # --- brackets ---

    def _parens(self, inner: Expr) -> Doc:
        start = self._pieces.position
        opening = self.token()
        return self.enclosed(start, opening, line(0), self.expression(inner, hang=0))

    def _list(self, elements: Sequence[Element]) -> Doc:
        start = self._pieces.position
        opening = self.token()
        parts: list[Doc] = []
        for element in elements:
            mark = [self.token()] if element.optional else []
            parts.append(concat(*mark, self.expression(element.value)))
        fills = all(map(_is_short, elements, parts))
        lines: list[Doc] = [concat(line(min(at, 1)), part) for at, part in enumerate(parts)]
        if fills:
            lines = [*lines[:1], *(group(laid) for laid in lines[1:])]
        return self._brackets(start, opening, lines)

    def _map(self, entries: Sequence[Entry]) -> Doc:
        start = self._pieces.position
        opening = self.token()
        parts: list[Doc] = []
        for at, entry in enumerate(entries):
            mark = [self.token()] if entry.optional else []
            key, colon = self.expression(entry.key), self.token()
            value = self.expression(entry.value)
            parts.append(concat(line(1 if at else 0), *mark, key, colon, space(), value))
        return self._brackets(start, opening, parts)

    def _brackets(self, start: int, opening: Doc, parts: Sequence[Doc]) -> Doc:
        if not parts:
            return self._tight(opening)
        return self.enclosed(start, opening, *parts, closing(","))

    def enclosed(self, start: int, opening: Doc, *inner: Doc) -> Doc:
        """Close a bracket; comments before it stand with what it encloses."""
        comments, bracket = self.closing_token()
        body = nest(INDENT, concat(*inner, *comments))
        return self.grouped(start, opening, body, line(0), bracket)

    def _tight(self, opening: Doc, *inner: Doc) -> Doc:
        """Close a bracket without lines of its own, but for comments in it."""
        comments, bracket = self.closing_token()
        return concat(opening, *inner, nest(INDENT, concat(*comments)), bracket)

    def closing_token(self) -> tuple[Sequence[Doc], Doc]:
        """Take the comments before a closing bracket, and the bracket."""
        piece = self._pieces.take()
        comments = [Leading(comment.text, blank=False) for comment in piece.leading]
        return comments, concat(*bare(piece))


def bare(piece: Piece) -> tuple[Doc, ...]:
    """Give a token with the comma and the comment behind it, without the comments before it."""
    written = text(f"{piece.text}," if piece.comma else piece.text)
    return (written,) if piece.trailing is None else (written, Trailing(piece.trailing))


def breaks_at_operators(expr: Expr) -> bool:
    """Say whether the lines of an expression end outside any brackets."""
    match expr:
        case Binary(right=ListOf() | MapOf()):
            return len(_left_chain(expr)[1]) > 1
        case Binary() | Logical() | Conditional():
            return True
        case _:
            return False


def _left_chain(expr: Binary) -> tuple[Expr, list[Binary]]:
    """Give the first operand of a chain of operators that bind alike, and its operations."""
    level = binding(expr.op)
    links: list[Binary] = []
    first: Expr = expr
    while isinstance(first, Binary) and binding(first.op) == level:
        links.append(first)
        first = first.left
    return first, links[::-1]


def _members(expr: _Link) -> tuple[Expr, list[_Link]]:
    """Give what a chain of members begins with, and its links."""
    links: list[_Link] = []
    base: Expr = expr
    while True:
        match base:
            case Select(operand=inner) | Index(operand=inner):
                links.append(base)
                base = inner
            case Call(target=target) if target is not None:
                links.append(base)
                base = target
            case _:
                return base, links[::-1]


def _variables(call: Call) -> int:
    """Count the arguments in front that are a macro's variables."""
    if call.name not in MACROS:
        return 0
    count = 0
    while count < len(call.args) - 1 and isinstance(call.args[count], Name):
        count += 1
    return count


def _is_short(element: Element, laid: Doc) -> bool:
    """Say whether an element is a constant of few characters, and no comment belongs to it."""
    if element.optional or not isinstance(element.value, Literal):
        return False
    return laid.shape.width <= _SHORT and not laid.shape.ends
