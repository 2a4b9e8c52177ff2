"""From text to syntax tree, or to the diagnostics that say why not.

Lark does the work: LALR(1), the basic lexer, and tree nodes built while it parses, so that depth
is bounded before any recursive pass sees the tree.
"""

from contextvars import ContextVar
from typing import Any, Final

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from policyd.assets.tables import load_lark
from policyd.language.bounds import Bounds, of_fault
from policyd.language.builder import Builder, SyntaxFault
from policyd.language.decoding import too_long
from policyd.language.diagnostics import RuleError
from policyd.language.limits import MAX_DIAGNOSTICS, MAX_SOURCE
from policyd.language.source import Source
from policyd.language.syntax import Expr, File


class _Parser:
    """A parser for each thread: a builder holds the state of one parse."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.lark: Lark = load_lark(transformer=self.builder, postlex=Bounds())


_PARSER: Final[ContextVar[_Parser | None]] = ContextVar("parser", default=None)


def _parser() -> _Parser:
    """Give this thread's parser: a new thread begins with an empty context."""
    parser = _PARSER.get()
    if parser is None:
        parser = _Parser()
        _PARSER.set(parser)
    return parser


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
        RuleError: with what is wrong in each of its clauses, not only the first.
    """
    parsed: File = _parse(source, "file")
    return parsed


def _parse(source: Source, start: str) -> Any:
    if len(source.text) > MAX_SOURCE:
        raise RuleError((too_long(source),))
    parser = _parser()
    parser.builder.reset()
    try:
        tree = parser.lark.parse(source.text, start=start)
    except (UnexpectedCharacters, UnexpectedToken) as error:
        raise _refusal(source, parser, error, whole=start == "file") from None
    except SyntaxFault as fault:
        raise RuleError((of_fault(source, fault),)) from None
    if parser.builder.faults:
        faults = parser.builder.faults[:MAX_DIAGNOSTICS]
        raise RuleError(tuple(of_fault(source, fault) for fault in faults))
    return tree


def _refusal(
    source: Source,
    parser: _Parser,
    first: UnexpectedCharacters | UnexpectedToken,
    *,
    whole: bool,
) -> RuleError:
    from policyd.language.recovery import find_faults  # noqa: PLC0415 - few texts need it

    return RuleError(find_faults(source, parser.lark, parser.builder, first, whole=whole))
