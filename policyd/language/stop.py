"""Where the parser stopped: the words around the place, and what could have stood there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lark import Token

from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.source import Source, Span

BLOCKS: Final = frozenset({"RULE", "CHOOSE", "QUEUE", "SHARE", "GANG", "PREEMPT"})
CLAUSES: Final = frozenset(
    (
        *("WHEN", "REQUIRE", "BECAUSE", "PREFER", "AVOID", "WEIGHT", "NORMALIZED", "NORMALIZE"),
        *("TENANT", "GUARANTEE", "LIMIT", "MEASURE", "HALFLIFE", "RECLAIM", "OF", "SIZE"),
        *("WITHIN", "TIMEOUT", "SPARE", "HOLD", "ORDER", "DEVICE", "COST", "MODE"),
    )
)
NAMES: Final = BLOCKS | CLAUSES | {"NAME", "PARAM", "LET", "ASC", "DESC"}
LITERALS: Final = frozenset(
    {"INT", "UINT", "FLOAT", "QUANTITY", "STRING", "BYTES", "TRUE", "FALSE", "NULL"}
)
OPENING: Final = {"LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}
CLOSING: Final = frozenset(OPENING.values())
OPERATORS: Final = frozenset(
    (
        *("OR", "AND", "EQ", "NE", "LE", "GE", "LT", "GT", "IN", "PLUS", "MINUS", "STAR"),
        *("SLASH", "PERCENT", "QUESTION"),
    )
)
VALUE_ENDS: Final = NAMES | LITERALS | CLOSING | {"QUOTED"}
_VALUE_STARTS: Final = NAMES | LITERALS | OPENING.keys() | {"NOT", "MINUS"}
_MAY_FOLLOW_A_NAME: Final = OPENING.keys() | {"MINUS"}
_TEXT_OF_CLOSING: Final = {"RPAR": ")", "RBRACKET": "]", "RBRACE": "}"}


def span_of(token: Token) -> Span:
    """Give where a token stands."""
    start = int(token.start_pos or 0)
    return Span(start, int(token.end_pos or start))


def closing_of(opening: Token) -> str:
    """Give the bracket that closes an opening one."""
    return _TEXT_OF_CLOSING[OPENING[opening.type]]


@dataclass(frozen=True, slots=True)
class Repair:
    """How to read on after a fault, as if it had not been made.

    Tokens of the types `insert` are put before the place, then `skip` tokens are left out, or
    the next one is taken for one of type `replace`. `unwrap` leaves out the brace at the place
    and the one that closes it.
    """

    insert: tuple[str, ...] = ()
    skip: int = 0
    replace: str | None = None
    unwrap: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong at a stop, and how to read on, where that is sure enough."""

    diagnostic: Diagnostic
    repair: Repair | None = None


Explainer = Callable[["Stop"], Finding | None]


class Words:
    """The tokens of a text, and where statements begin among them."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def type(self, index: int) -> str:
        """Give a token's type; `$END` outside the text."""
        return self.tokens[index].type if 0 <= index < len(self.tokens) else "$END"

    def is_first_on_line(self, index: int) -> bool:
        """Say whether only blanks stand before a token in its line."""
        if index <= 0 or index >= len(self.tokens):
            return True
        return (self.tokens[index - 1].end_line or 0) < (self.tokens[index].line or 0)

    def starts_clause(self, index: int) -> bool:
        """Say whether a clause or a `let` of a block most likely begins at a token."""
        kind = self.type(index)
        if kind == "LET":
            return self._starts_named(index, ("ASSIGN", "LPAR"))
        if kind not in CLAUSES:
            return False
        after, before = self.type(index + 1), self.type(index - 1)
        first = self.is_first_on_line(index)
        if kind == "NORMALIZED":
            return first and after not in OPERATORS | OPENING.keys() | {"DOT"}
        follows_value = before in VALUE_ENDS and before not in CLAUSES
        if after in _MAY_FOLLOW_A_NAME:
            return first and follows_value
        if after in ("COLON", "ASSIGN"):  # as in YAML, and so a mistake
            return first
        return after in _VALUE_STARTS and (first or follows_value)

    def starts_declaration(self, index: int) -> bool:
        """Say whether a `param`, a `let` or a block most likely begins at a token."""
        if not (self.is_first_on_line(index) or self.type(index - 1) == "RBRACE"):
            return False
        kind = self.type(index)
        if kind in ("PARAM", "LET"):
            after = ("ASSIGN", "COLON") if kind == "PARAM" else ("ASSIGN", "COLON", "LPAR")
            at_margin = self.is_at_margin(index) and self.type(index + 1) in NAMES | LITERALS
            return at_margin or self._starts_named(index, after)
        return kind in BLOCKS and self.starts_header(index)

    def starts_header(self, index: int) -> bool:
        """Say whether what follows a word could be the rest of the head of a block."""
        after = self.type(index + 1)
        named = after in NAMES and "LBRACE" in (self.type(index + 2), self.type(index + 4))
        return after in ("STRING", "LBRACE") or named

    def is_at_margin(self, index: int) -> bool:
        """Say whether a token stands at the very left, as declarations do."""
        return self.tokens[index].column == 1

    def _starts_named(self, index: int, after: tuple[str, ...]) -> bool:
        return self.type(index + 1) in NAMES and self.type(index + 2) in after


@dataclass(frozen=True)
class Stop:
    """A place at which the parser could not go on.

    `index` is the offending token's; the text's end is one past the last. `stack` is what the
    parser has read and not yet put together. `expected` are the types of tokens that could
    follow. `whole` is true of a file and false of a single expression.
    """

    source: Source
    words: Words
    index: int
    expected: frozenset[str]
    stack: tuple[Any, ...]
    whole: bool

    @property
    def type(self) -> str:
        """The offending token's type."""
        return self.words.type(self.index)

    @property
    def text(self) -> str:
        """The offending token's text, empty at the end."""
        return str(self.words.tokens[self.index]) if self.index < len(self.words) else ""

    @property
    def span(self) -> Span:
        """Where the offending token stands. The end of the text is behind its last word."""
        if self.index < len(self.words):
            return span_of(self.words.tokens[self.index])
        end = span_of(self.words.tokens[-1]).end if len(self.words) else 0
        return Span(end, end)

    @property
    def before(self) -> Token | None:
        """The token before the offending one."""
        return self.words.tokens[self.index - 1] if self.index else None

    @property
    def is_at_end(self) -> bool:
        """Whether the text ends here."""
        return self.index >= len(self.words)

    @property
    def touches_before(self) -> bool:
        """Whether nothing stands between the offending token and the one before."""
        return self.before is not None and span_of(self.before).end == self.span.start

    @cached_property
    def _brace(self) -> int | None:
        """The index in the stack of the opening brace of the last block."""
        for at, item in enumerate(self.stack):
            if isinstance(item, Token) and item.type == "LBRACE" and self._is_head(at):
                return at
        return None

    def _is_head(self, at: int) -> bool:
        before = [item.type for item in self.stack[max(0, at - 2) : at] if isinstance(item, Token)]
        return bool(before) and (
            before[-1] in BLOCKS or (before[-1] == "STRING" and before[0] in BLOCKS)
        )

    @cached_property
    def _is_closed(self) -> bool:
        """Whether the last block is over, though not yet put together."""
        if self._brace is None:
            return False
        depth = 0
        for item in self.stack[self._brace :]:
            if isinstance(item, Token):
                depth += (item.type == "LBRACE") - (item.type == "RBRACE")
        return depth == 0

    @property
    def block(self) -> Token | None:
        """The opening brace of the block that is being read."""
        if self._brace is None or self._is_closed:
            return None
        brace: Token = self.stack[self._brace]
        return brace

    @property
    def head(self) -> tuple[Token, ...]:
        """The block's word, and its name where it has one."""
        before = self.stack[: self._brace] if self.block is not None else ()
        tokens = [item for item in before if isinstance(item, Token)]
        start = max((at for at, token in enumerate(tokens) if token.type in BLOCKS), default=0)
        return tuple(tokens[start:])

    @cached_property
    def statement(self) -> tuple[Token, ...]:
        """The tokens of the clause or declaration that are not yet put together."""
        if self._is_closed:
            return ()
        after = 0 if self._brace is None else self._brace + 1
        return tuple(item for item in self.stack[after:] if isinstance(item, Token))

    @property
    def started(self) -> int:
        """The index of the token with which the clause or declaration begins."""
        if not self.statement:
            return self.index
        start = self.statement[0].start_pos
        return next(at for at, t in enumerate(self.words.tokens) if t.start_pos == start)

    @cached_property
    def open_brackets(self) -> tuple[Token, ...]:
        """The brackets that are open, outermost first, the block's own apart."""
        found: list[Token] = []
        for token in self.statement:
            if token.type in OPENING:
                found.append(token)
            elif token.type in CLOSING and found:
                found.pop()
        return tuple(found)

    @property
    def bracket(self) -> Token | None:
        """The innermost bracket that is open."""
        return self.open_brackets[-1] if self.open_brackets else None

    @property
    def ends_value(self) -> bool:
        """Whether what stands before the place can be the end of a value."""
        return self.before is not None and self.before.type in VALUE_ENDS and not self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether only the word of a clause or a declaration stands before the place."""
        if not self.whole or self.before is None or self.statement != (self.before,):
            return False
        return self.before.type in (CLAUSES if self.block is not None else ("LET", "PARAM"))

    @property
    def starts_value(self) -> bool:
        """Whether the offending token could begin a value."""
        return self.type in NAMES or self.type in LITERALS

    def has_begun(self) -> bool:
        """Say whether a clause or a declaration has been begun."""
        return bool(self.statement)

    def finding(
        self,
        message: str,
        *helps: str,
        code: str = "E101",
        span: Span | None = None,
        label: str = "",
        related: tuple[tuple[Span, str], ...] = (),
        edit: str | None = None,
        repair: Repair | None = None,
    ) -> Finding:
        """Make a finding here. `edit` is the text to put in the place of the span."""
        span = self.span if span is None else span
        change = None if edit is None else Edit(span, edit)
        found = Diagnostic(
            code,
            message,
            self.source,
            span,
            label,
            related,
            tuple(h for h in helps if h),
            (),
            change,
        )
        return Finding(found, repair)
