"""The canonical layout of rule files: what `policyd fmt` writes.

Two columns in a block, the clauses' words and what they say; lines of at most 100 columns where
they can be; every comment where it was, every literal as it was spelled.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import groupby, pairwise
from typing import Final, TypeGuard, TypeVar

from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.expression_layout import (
    INDENT,
    ExpressionLayout,
    bare,
    breaks_at_operators,
)
from policyd.language.layout import Break, Doc, Leading, concat, line, nest, render, space
from policyd.language.parser import parse_expression, parse_file
from policyd.language.pieces import Pieces
from policyd.language.source import Source, Span
from policyd.language.syntax import Block, Clause, Expr, File, Key, Let, Param

_SCORED: Final = frozenset({"prefer", "avoid"})
_SCORING: Final = frozenset({"weight", "normalized", "normalize"})
_CONDITIONED: Final = frozenset({"hold", "reclaim"})
_INSIDE_TYPES: Final = frozenset({"DOT", "LPAR", "RPAR", "QUESTION"})
_APART: Final = 2

_Tree = TypeVar("_Tree", File, Expr)


def format_source(source: Source) -> str:
    """Give a rule file in its canonical layout, with a final newline; nothing stays nothing.

    Raises:
        RuleError: the text is not a rule file, or is past a limit, be it only once it is laid
            out.
    """
    file = parse_file(source)
    laid = render(_FileLayout(Pieces(source)).file(file))
    text = f"{laid}\n" if laid else ""
    _check(source, file, text, parse_file)
    return text


def format_expression(source: Source) -> str:
    """Give an expression in its canonical layout, without a final newline.

    Raises:
        RuleError: the text is not one expression, or is past a limit, be it only once it is laid
            out.
    """
    expr = parse_expression(source)
    pieces = Pieces(source)
    laid = ExpressionLayout(pieces).expression(expr, hang=0)
    ending = [Leading(comment.text, blank=False) for comment in pieces.take().leading]
    text = render(concat(laid, *ending))
    _check(source, expr, text, parse_expression)
    return text


def _check(source: Source, tree: _Tree, laid: str, parse: Callable[[Source], _Tree]) -> None:
    """See that what is to replace a text can be read, and says the same."""
    try:
        same = parse(Source(source.name, laid)) == tree
    except RuleError as error:
        raise RuleError(tuple(_of_layout(source, found) for found in error.diagnostics)) from None
    if not same:
        raise AssertionError(f"laying out {source.name} would change its meaning")


def _of_layout(source: Source, found: Diagnostic) -> Diagnostic:
    """Say of the text that was given what was found in its layout, where its offsets differ."""
    note = "the text is past the limit once it is laid out, with its blanks, line ends and commas"
    return Diagnostic(
        found.code, found.message, source, Span(0, 0), helps=found.helps, notes=(note,)
    )


class _Gap(Enum):
    """What stands before a declaration or a clause and its comments."""

    KEPT = auto()
    EMPTY_LINE = auto()
    NOTHING = auto()


class _FileLayout:
    """Makes the document of a file from its tree and the pieces of its text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._layout = ExpressionLayout(pieces)
        self._token = self._layout.token

    def file(self, file: File) -> Doc:
        parts: list[Doc] = []
        after_block = False
        for item in file.declarations:
            is_block = isinstance(item, Block)
            parts.append(self._begun(_Gap.EMPTY_LINE if is_block or after_block else _Gap.KEPT))
            parts.append(self._declaration(item))
            after_block = is_block
        comments = self._pieces.take().leading
        return concat(*parts, *(Leading(written, blank) for written, blank in comments))

    def _begun(self, gap: _Gap) -> Doc:
        """Take the first token of a declaration or a clause, on a line of its own."""
        piece = self._pieces.take()
        blanks = [*(blank for _, blank in piece.leading), piece.blank]
        if gap is not _Gap.KEPT:
            blanks[0] = gap is _Gap.EMPTY_LINE
        comments = [
            Leading(written, blank)
            for (written, _), blank in zip(piece.leading, blanks[:-1], strict=True)
        ]
        return concat(*comments, Break(blanks[-1]), *bare(piece))

    # --- declarations; their first word is taken ---

    def _declaration(self, item: Param | Let | Block) -> Doc:
        match item:
            case Param():
                return self._param(item)
            case Let():
                return self._let(item)
            case Block():
                return self._block(item)

    def _param(self, param: Param) -> Doc:
        parts = [space(), self._token()]
        if param.type_text is not None:
            parts.extend((self._token(), space(), self._type()))
        if param.default is not None:
            parts.append(self._assigned(param.default))
        return concat(*parts)

    def _type(self) -> Doc:
        parts: list[Doc] = []
        unfinished = True
        while unfinished or self._pieces.peek().kind in _INSIDE_TYPES:
            piece = self._pieces.peek()
            parts.extend((self._token(), space(1 if piece.comma else 0)))
            unfinished = piece.comma or piece.kind in ("DOT", "LPAR")
        return concat(*parts)

    def _let(self, let: Let) -> Doc:
        parts = [space(), self._token()]
        if let.parameters is not None:
            parts.append(self._parameters(len(let.parameters)))
        return concat(*parts, self._assigned(let.body))

    def _parameters(self, count: int) -> Doc:
        start = self._pieces.position
        opening = self._token()
        names = [concat(line(min(at, 1)), self._token()) for at in range(count)]
        return self._layout.enclosed(start, opening, *names)

    def _assigned(self, expr: Expr) -> Doc:
        equals = self._token()
        start = self._pieces.position
        value = self._value(expr)
        if breaks_at_operators(expr):
            below = self._layout.grouped(start, nest(INDENT, concat(line(), value)))
            return concat(space(), equals, below)
        return concat(space(), equals, space(), value)

    # --- blocks ---

    def _block(self, block: Block) -> Doc:
        named = [] if block.name is None else [space(), self._token()]
        opening = concat(*named, space(), self._token())
        statements = _statements(block.clauses)
        column = max((len(c.word) for c, _ in statements if isinstance(c, Clause)), default=0)
        parts: list[Doc] = []
        for head, attached in statements:
            parts.append(self._begun(_Gap.KEPT if parts else _Gap.NOTHING))
            parts.append(self._statement(head, attached, column))
        return concat(opening, self._block_end(parts))

    def _block_end(self, parts: Sequence[Doc]) -> Doc:
        piece = self._pieces.take()
        comments = [
            Leading(written, blank and (at > 0 or bool(parts)))
            for at, (written, blank) in enumerate(piece.leading)
        ]
        if not parts and not comments:
            return concat(*bare(piece))
        body = nest(INDENT, concat(*parts, *comments))
        return concat(body, Break(blank=False), *bare(piece))

    def _statement(self, head: Clause | Let, attached: Sequence[Clause], column: int) -> Doc:
        """Lay out a clause with those that belong to it; what it says begins behind `column`."""
        if isinstance(head, Let):
            return self._let(head)
        start = self._pieces.position
        parts = [self._said(head)]
        for is_reason, run in groupby(attached, key=_is_reason):
            if is_reason:
                parts.extend([concat(Break(blank=False), self._attached(c)) for c in run])
            elif len(parts) == 1:
                scoring = concat(line(_APART), self._scoring(tuple(run)))
                parts = [self._layout.grouped(start, *parts, scoring)]
            else:
                parts.extend((Break(blank=False), self._scoring(tuple(run))))
        padding = column - len(head.word) + 1
        return concat(space(padding), nest(column + 1, concat(*parts)))

    def _scoring(self, clauses: Sequence[Clause]) -> Doc:
        """Lay out `weight 3 normalized`, on one line where it fits."""
        start = self._pieces.position
        parts = [self._attached(clauses[0])]
        for before, clause in pairwise(clauses):
            distance = 1 if "normalized" in (before.word, clause.word) else _APART
            parts.extend((line(distance), self._attached(clause)))
        return self._layout.grouped(start, *parts)

    def _attached(self, clause: Clause) -> Doc:
        word, said = self._token(), self._said(clause)
        if clause.word == "normalized":
            return word
        return concat(word, space(), nest(len(clause.word) + 1, said))

    def _said(self, clause: Clause) -> Doc:
        """Take what follows a clause's word."""
        if clause.keys:
            return self._keys(clause.keys)
        if clause.value is None:
            return concat() if clause.mode is None else self._token()
        if clause.word in _CONDITIONED:
            return concat(self._token(), space(), nest(len("when "), self._value(clause.value)))
        return self._value(clause.value)

    def _value(self, expr: Expr) -> Doc:
        return self._layout.expression(expr, hang=0)

    def _keys(self, keys: Sequence[Key]) -> Doc:
        start = self._pieces.position
        parts: list[Doc] = []
        for at, key in enumerate(keys):
            value = self._layout.expression(key.value)
            direction = [] if key.direction is None else [space(), self._token()]
            parts.append(concat(*([line()] if at else []), value, *direction))
        return self._layout.grouped(start, *parts)


def _statements(clauses: Sequence[Clause | Let]) -> list[tuple[Clause | Let, list[Clause]]]:
    """Give each clause that has lines of its own, with those that stand behind or under it."""
    statements: list[tuple[Clause | Let, list[Clause]]] = []
    for clause in clauses:
        if statements and _belongs(clause, statements[-1][0]):
            statements[-1][1].append(clause)
        else:
            statements.append((clause, []))
    return statements


def _belongs(clause: Clause | Let, head: Clause | Let) -> TypeGuard[Clause]:
    if isinstance(clause, Let) or isinstance(head, Let):
        return False
    return _is_reason(clause) or (clause.word in _SCORING and head.word in _SCORED)


def _is_reason(clause: Clause) -> bool:
    return clause.word == "because"
