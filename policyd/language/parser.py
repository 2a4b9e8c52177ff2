"""From text to syntax tree, or to the diagnostics that say why not.

Lark does the work: LALR(1), the basic lexer, and tree nodes built while it parses, so that depth
is bounded before any recursive pass sees the tree.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from threading import local
from typing import Any, Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from policyd.assets.tables import load_lark
from policyd.language.builder import Builder, SyntaxFault
from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.limits import MAX_DEPTH, MAX_DIAGNOSTICS, MAX_SOURCE, MAX_TOKENS
from policyd.language.source import Source, Span
from policyd.language.syntax import Expr, File
from policyd.language.syntax_errors import unexpected_character, unexpected_token

_OPENING: Final = frozenset({"LPAR", "LBRACKET", "LBRACE"})
_CLOSING: Final = frozenset({"RPAR", "RBRACKET", "RBRACE"})
_DECLARATION: Final = re.compile(
    r"^(?:param|let|rule|choose|queue|share|gang|preempt)\b", re.MULTILINE
)


class _Bounds:
    """Counts tokens and open brackets while they are read, so that a hostile text ends early."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth = 0
        for count, token in enumerate(stream, 1):
            if token.type in _OPENING:
                depth += 1
            elif token.type in _CLOSING:
                depth -= 1
            if depth > MAX_DEPTH:
                raise SyntaxFault(
                    "E302", f"brackets are nested more than {MAX_DEPTH} levels deep", _span(token)
                )
            if count > MAX_TOKENS:
                raise SyntaxFault(
                    "E303",
                    f"this is more than {MAX_TOKENS:,} words and signs",
                    _span(token),
                    "split the file",
                )
            yield token


def _span(token: Token) -> Span:
    start = int(token.start_pos or 0)
    return Span(start, int(token.end_pos or start + 1))


class _Parser(local):
    """A parser for each thread: a builder holds the state of one parse."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.lark: Lark = load_lark(transformer=self.builder, postlex=_Bounds())


@lru_cache(maxsize=1)
def _parser() -> _Parser:
    return _Parser()


def parse_expression(source: Source) -> Expr:
    """Parse one expression.

    Raises:
        RuleError: the text is not one expression, or is past a limit.
    """
    parsed: Expr = _parse(source, "expression")
    return parsed


def parse_file(source: Source) -> File:
    """Parse a rule file.

    Raises:
        RuleError: with what is wrong in each of its declarations, not only the first.
    """
    try:
        parsed: File = _parse(source, "file")
    except RuleError as error:
        raise RuleError(_all_faults(source, error)) from None
    return parsed


def _parse(source: Source, start: str) -> Any:
    if len(source.text) > MAX_SOURCE:
        raise RuleError((_too_long(source),))
    parser = _parser()
    parser.builder.reset()
    try:
        tree = parser.lark.parse(source.text, start=start)
    except UnexpectedCharacters as error:
        raise RuleError((unexpected_character(source, error),)) from None
    except UnexpectedToken as error:
        raise RuleError((unexpected_token(source, error),)) from None
    except SyntaxFault as fault:
        raise RuleError((_diagnostic(source, fault),)) from None
    if parser.builder.faults:
        raise RuleError(tuple(_diagnostic(source, fault) for fault in parser.builder.faults))
    return tree


def _diagnostic(source: Source, fault: SyntaxFault) -> Diagnostic:
    helps = (fault.help,) if fault.help else ()
    return Diagnostic(fault.code, fault.message, source, fault.span, helps=helps)


def _too_long(source: Source) -> Diagnostic:
    return Diagnostic(
        "E301",
        f"this is {len(source.text):,} characters long; at most {MAX_SOURCE:,} are read",
        source,
        Span(0, 0),
        helps=("split it into several files",),
    )


def _all_faults(source: Source, first: RuleError) -> tuple[Diagnostic, ...]:
    """Parse declaration by declaration to find the faults behind the first."""
    if first.diagnostics[0].code in ("E301", "E303"):
        return first.diagnostics
    starts = [0, *(match.start() for match in _DECLARATION.finditer(source.text))]
    found: dict[tuple[int, str], Diagnostic] = {
        (d.span.start, d.message): d for d in first.diagnostics
    }
    for start, end in zip(starts, [*starts[1:], len(source.text)], strict=True):
        if end <= first.diagnostics[0].span.start or len(found) >= MAX_DIAGNOSTICS:
            continue
        for diagnostic in _faults_of_part(source, start, end):
            found.setdefault((diagnostic.span.start, diagnostic.message), diagnostic)
    return tuple(sorted(found.values(), key=lambda d: d.span))


def _faults_of_part(source: Source, start: int, end: int) -> tuple[Diagnostic, ...]:
    """Parse one part where it stands: spaces keep its offsets."""
    part = Source(source.name, " " * start + source.text[start:end])
    try:
        _parse(part, "file")
    except RuleError as error:
        return tuple(
            Diagnostic(
                d.code, d.message, source, d.span, d.label, d.related, d.helps, d.notes, d.edit
            )
            for d in error.diagnostics
        )
    return ()
