"""Counts the tokens and the open brackets of a text, so that a hostile one ends early."""

from collections.abc import Iterator
from typing import Final

from lark import Token

from policyd.language.builder import SyntaxFault
from policyd.language.diagnostics import Diagnostic
from policyd.language.limits import MAX_DEPTH, MAX_TOKENS
from policyd.language.source import Source
from policyd.language.stop import CLOSING, OPENING, span_of


class Bounds:
    """What the parser reads its tokens through."""

    always_accept: Final = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Pass the tokens on.

        Raises:
            SyntaxFault: there are too many (E303), or brackets are nested too deep (E302).
        """
        depth = 0
        for count, token in enumerate(stream, 1):
            if token.type in OPENING:
                depth += 1
            elif token.type in CLOSING:
                depth -= 1
            if depth > MAX_DEPTH:
                raise SyntaxFault(
                    "E302",
                    f"brackets are nested more than {MAX_DEPTH} levels deep",
                    span_of(token),
                    "give parts of it names with `let`",
                )
            if count > MAX_TOKENS:
                raise SyntaxFault(
                    "E303",
                    f"this is more than {MAX_TOKENS:,} words and signs",
                    span_of(token),
                    "split the file",
                )
            yield token


def of_fault(source: Source, fault: SyntaxFault) -> Diagnostic:
    """Make a diagnostic of a fault that was met while the tree was built."""
    helps = (fault.help,) if fault.help else ()
    return Diagnostic(fault.code, fault.message, source, fault.span, helps=helps)
