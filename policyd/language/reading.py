"""Reads a faulty text as tokens, all the way to its end.

The parser's own lexer stops at the first character that it cannot place. Here each such fault is
noted, mended as far as it can be guessed, and reading goes on.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters
from lark.lexer import BasicLexer, LexerState
from lark.utils import TextSlice

from policyd.language.character_faults import (
    CharacterFault,
    block_comment,
    character_fault,
    unterminated,
)
from policyd.language.diagnostics import Diagnostic
from policyd.language.limits import MAX_DIAGNOSTICS, MAX_TOKENS
from policyd.language.source import Source

_MOST_FAULTS: Final = 1000
_EMPTY_STRINGS: Final = ('""', "''")


@dataclass(frozen=True, slots=True)
class Fault:
    """A character's fault, and how many tokens stand before it, and before what follows it.

    `certain` says that the tokens after it are what they would be without it.
    """

    index: int
    after: int
    diagnostic: Diagnostic
    certain: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The tokens of a text, and the faults between them in the order of the text.

    `complete` is false of a text with so many faults that reading stopped before its end.
    """

    tokens: tuple[Token, ...]
    faults: tuple[Fault, ...]
    complete: bool


def read(source: Source, parser: Lark) -> Reading:
    """Read a text's tokens; at most one more than are allowed."""
    reader = _Reader(source, _lexer(parser))
    more = True
    while more and len(reader.faults) < MAX_DIAGNOSTICS and reader.met < _MOST_FAULTS:
        more = reader.reads_on()
    return Reading(tuple(reader.tokens), tuple(reader.noted()), not more)


def _lexer(parser: Lark) -> BasicLexer:
    lexer: Any = parser.parser.lexer
    found: BasicLexer = lexer.lexer  # behind the one that applies the bounds
    return found


class _Reader:
    """The reading of one text."""

    def __init__(self, source: Source, lexer: BasicLexer) -> None:
        self.source = source
        self.lexer = lexer
        self.tokens: list[Token] = []
        self.faults: list[Fault] = []
        self._seen: Counter[str] = Counter()
        self._state = LexerState(TextSlice(source.text, 0, len(source.text)))

    @property
    def met(self) -> int:
        """How many faults were met, those that are only counted too."""
        return self._seen.total()

    def reads_on(self) -> bool:
        """Read up to and over the next fault; say whether there may be more."""
        while len(self.tokens) <= MAX_TOKENS:
            try:
                token = self.lexer.next_token(self._state)
            except EOFError:
                return False
            except UnexpectedCharacters:
                at = self._state.line_ctr.char_pos
                self.note(at, character_fault(self.source, at))
                return True
            fault = self.hidden_fault(token)
            if fault is not None:
                self.note(int(token.start_pos or 0), fault)
                return True
            self.tokens.append(token)
        return False

    def hidden_fault(self, token: Token) -> CharacterFault | None:
        """Find what the lexer reads as tokens and nobody means as such."""
        start, end = int(token.start_pos or 0), int(token.end_pos or 0)
        if token.type == "SLASH" and self.source.text.startswith("/*", start):
            return block_comment(self.source, start)
        bare = token.lstrip("bBrR")
        if bare in _EMPTY_STRINGS and self.source.text[end : end + 1] == bare[0]:
            return unterminated(self.source, start, bare[0] * 3)
        return None

    def note(self, at: int, fault: CharacterFault) -> None:
        """Keep a fault once for each character, and put its token in its place."""
        found = fault.diagnostic
        while self.tokens and int(self.tokens[-1].start_pos or 0) >= found.span.start:
            self.tokens.pop()  # a part of the sign, such as the `=` of `=~`
        key = f"{found.code} {found.message}"
        self._seen[key] += 1
        if self._seen[key] == 1 or not fault.certain or found.code == "E108":
            at_token = len(self.tokens)
            after = at_token + (fault.token is not None)
            self.faults.append(Fault(at_token, after, found, fault.certain))
        if fault.token is not None:
            self.tokens.append(self.stand_in(fault.token, at, fault.end))
        lines = self._state.line_ctr
        lines.feed(self.source.text[lines.char_pos : fault.end])

    def stand_in(self, kind: str, start: int, end: int) -> Token:
        text = '""' if kind == "STRING" else self.source.text[start:end]
        lines = self._state.line_ctr
        column = start - lines.line_start_pos + 1
        return Token(kind, text, start, lines.line, column, lines.line, column + end - start, end)

    def noted(self) -> list[Fault]:
        """Give the faults; of a character that stands in many places, the first, with a count."""
        counted: set[str] = set()
        noted: list[Fault] = []
        for fault in self.faults:
            found = fault.diagnostic
            key = f"{found.code} {found.message}"
            more = self._seen[key] - 1
            if fault.certain and found.code != "E108" and more and key not in counted:
                counted.add(key)
                note = f"the same stands in {more} more {'place' if more == 1 else 'places'}"
                found = replace(found, notes=(*found.notes, note))
            noted.append(replace(fault, diagnostic=found))
        return noted
