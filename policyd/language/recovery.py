"""Finds every independent fault of a text that did not parse.

The text is read again, token by token. After a fault the parser goes on as if it had not been
made, where that can be told; else with the next clause of the block, or the next declaration.
Of one clause only the first fault is reported, for what follows it is mostly its consequence.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from policyd.language import foreign_words
from policyd.language.bounds import Bounds, of_fault
from policyd.language.builder import Builder, SyntaxFault
from policyd.language.diagnostics import Diagnostic
from policyd.language.limits import MAX_DIAGNOSTICS
from policyd.language.reading import read
from policyd.language.source import Source
from policyd.language.stop import BLOCKS, CLAUSES, LITERALS, NAMES, Repair, Stop, Words, span_of
from policyd.language.suggest import closest
from policyd.language.syntax_errors import explain

_EXPRESSION: Final = frozenset({"NAME", "INT", "STRING"})
_CLAUSE_WORDS: Final = tuple(sorted(word.lower() for word in CLAUSES))
_BLOCK_WORDS: Final = tuple(sorted(word.lower() for word in BLOCKS))


def find_faults(
    source: Source,
    parser: Lark,
    builder: Builder,
    first: UnexpectedToken | UnexpectedCharacters,
    *,
    whole: bool,
) -> tuple[Diagnostic, ...]:
    """Give what is wrong in a text, in its order; `whole` is true of files.

    `first` is what stopped the first reading, and `builder` the one that `parser` builds with.
    """
    recovery = _Recovery(source, parser, whole=whole)
    if not recovery.begin_at(first):
        builder.reset()
    found = list(recovery.run())
    taken = {diagnostic.span.start for diagnostic in found}
    for fault in builder.faults:
        if fault.span.start not in taken:
            found.append(of_fault(source, fault))
            taken.add(fault.span.start)
    return tuple(sorted(found, key=lambda d: d.span)[:MAX_DIAGNOSTICS])


class _Recovery:
    """The second reading of one text."""

    def __init__(self, source: Source, parser: Lark, *, whole: bool) -> None:
        self.source = source
        self.parser = parser
        self.whole = whole
        reading = read(source, parser)
        self.tokens = list(reading.tokens)
        self.words = Words(self.tokens)
        self.faults = list(reversed(reading.faults))
        self.complete = reading.complete
        self.found: list[Diagnostic] = []
        self.at = 0
        self.resumed = -1  # where reading went on after the last fault
        self.reported: set[int] = set()  # the offsets of the tokens at which a fault was found
        self.mended = -1  # the token up to which a stop is a consequence of the last repair
        self.silent = False  # whether something in this clause was reported that may explain more
        self.lost = False  # whether the braces of a block may have been passed over
        self.state = self.fresh()

    def run(self) -> list[Diagnostic]:
        try:
            for _ in Bounds().process(iter(self.tokens)):
                pass
        except SyntaxFault as fault:
            self.cut(fault)
        try:
            while self.at <= len(self.tokens) and len(self.found) < MAX_DIAGNOSTICS:
                self.step()
        except SyntaxFault as fault:  # nested too deep, though not by brackets
            self.found.append(of_fault(self.source, fault))
        return self.found

    def begin_at(self, first: UnexpectedToken | UnexpectedCharacters) -> bool:
        """Begin where the first reading stopped, if the tokens up to there are the same."""
        index = self.index_of(first)
        if index is None or first.interactive_parser is None:
            return False
        self.state, self.at = first.interactive_parser, index
        return True

    def index_of(self, first: UnexpectedToken | UnexpectedCharacters) -> int | None:
        """Give the token at which the first reading stopped, where no fault comes before it."""
        fault = self.faults[-1] if self.faults else None
        if isinstance(first, UnexpectedToken) and first.token.type == "$END":
            return len(self.tokens) if fault is None else None
        at: int = first.pos_in_stream  # type: ignore[assignment]  # Lark annotates it as None
        index = bisect_left(self.tokens, at, key=lambda token: int(token.start_pos or 0))
        if isinstance(first, UnexpectedCharacters):
            same = fault is not None and (fault.index, fault.diagnostic.span.start) == (index, at)
        else:
            known = index < len(self.tokens) and self.tokens[index].start_pos == at
            same = known and (fault is None or fault.index > index)
        return index if same else None

    def cut(self, fault: SyntaxFault) -> None:
        """Leave out what follows the token at which a bound is reached."""
        self.found.append(of_fault(self.source, fault))
        self.tokens[:] = [t for t in self.tokens if span_of(t).start < fault.span.start]
        self.faults = [f for f in self.faults if f.index < len(self.tokens)]
        self.complete = False

    def fresh(self) -> InteractiveParser:
        return self.parser.parse_interactive(start="file" if self.whole else "expression")

    def step(self) -> None:
        """Read the next token, or the end."""
        if self.at < len(self.tokens) and self.begins_statement(self.at):
            self.silent = False
        self.note_faults()
        try:
            if self.at == len(self.tokens):
                self.state.feed_token(Token("$END", ""))
            else:
                self.state.feed_token(self.tokens[self.at])
            self.at += 1
        except UnexpectedToken:
            self.stopped(self.stop())

    def begins_statement(self, at: int) -> bool:
        return self.words.starts_clause(at) or self.words.starts_declaration(at)

    def note_faults(self) -> None:
        """Report the characters' faults up to here."""
        while self.faults and self.faults[-1].index <= self.at:
            fault = self.faults.pop()
            if fault.certain or not self.silent:
                self.found.append(fault.diagnostic)
            self.silent = self.silent or not fault.certain
            self.mended = max(self.mended, fault.after)

    def stop(self) -> Stop:
        stack = tuple(self.state.parser_state.value_stack)
        state: Any = self.state  # Lark leaves `accepts` without annotations
        expected = frozenset(state.accepts())
        stop = Stop(self.source, self.words, self.at, expected, stack, self.whole)
        if self.was_taken_for_a_name(stop):
            return Stop(self.source, self.words, self.at - 1, _EXPRESSION, stack[:-1], self.whole)
        return stop

    def was_taken_for_a_name(self, stop: Stop) -> bool:
        """Say whether the word before begins the next clause, and was read as a value of this."""
        if not (self.whole and stop.before is not None and self.begins_statement(self.at - 1)):
            return False
        if len(stop.statement) < 2:
            return False
        return stop.statement[-1].start_pos == stop.before.start_pos

    def stopped(self, stop: Stop) -> None:
        """Report a stop, unless something before explains it, and go on behind it."""
        cut = stop.is_at_end and not self.complete
        if self.silent or cut or stop.index <= self.mended or self.is_consequence(stop):
            self.go_on(stop)
            return
        finding = explain(stop)
        self.found.append(finding.diagnostic)
        again = stop.span.start in self.reported
        self.reported.add(stop.span.start)
        if finding.repair is None or again or stop.index != self.at:
            self.drop_faults_of_line(stop)
            self.go_on(stop)
        else:
            self.repair(finding.repair)
            self.mended = self.at + (finding.repair.replace is not None)

    def is_consequence(self, stop: Stop) -> bool:
        """Say whether a brace is too many or missing because of a fault before."""
        if stop.block is not None:
            over = stop.is_at_end or self.words.starts_declaration(stop.index)
            return over and str(stop.block) != "{"
        if any(self.is_stand_in(token) for token in stop.statement):
            return True
        closes = stop.type == "RBRACE" and stop.bracket is None
        return self.lost and (closes or self.words.starts_clause(stop.index))

    def is_stand_in(self, token: Token) -> bool:
        """Say whether a token stands for a string that was not ended."""
        return token.type == "STRING" and str(token) != self.source.slice(span_of(token))

    def repair(self, repair: Repair) -> None:
        """Go on as if what was meant stood there."""
        here = self.tokens[self.at] if self.at < len(self.tokens) else None
        for kind in repair.insert:
            self.tokens.insert(self.at, _stand_in(kind, self.tokens[-1] if here is None else here))
            self.move_faults(self.at, 1)
        if repair.replace is not None and here is not None:
            # A colon for a brace keeps its text: nobody closes it, and no one is told to.
            text = str(here) if repair.replace == "LBRACE" else _text(repair.replace, here)
            self.tokens[self.at] = Token.new_borrow_pos(repair.replace, text, here)
        if repair.unwrap:
            self.unwrap()
        self.at += repair.skip

    def unwrap(self) -> None:
        """Leave out the brace here and the one that closes it."""
        depth = 0
        for at in range(self.at, len(self.tokens)):
            depth += (self.words.type(at) == "LBRACE") - (self.words.type(at) == "RBRACE")
            if depth == 0:
                del self.tokens[at]
                self.move_faults(at, -1)
                break
        del self.tokens[self.at]
        self.move_faults(self.at, -1)

    def move_faults(self, at: int, by: int) -> None:
        """Keep the characters' faults between the tokens where they stand."""
        self.faults = [
            replace(fault, index=fault.index + by, after=fault.after + by)
            if fault.index > at
            else fault
            for fault in self.faults
        ]

    def drop_faults_of_line(self, stop: Stop) -> None:
        """Forget characters' faults behind a reported one in its line."""
        line, _ = self.source.position(stop.span.start)
        self.faults = [
            fault
            for fault in self.faults
            if fault.certain or self.source.position(fault.diagnostic.span.start)[0] != line
        ]

    # --- going on ---

    def go_on(self, stop: Stop) -> None:
        """Go on with the next clause or declaration."""
        if not self.whole:
            self.end()
        elif stop.block is not None:
            self.go_on_in_block(stop, stop.block)
        else:
            self.go_on_at_top(stop)

    def end(self) -> None:
        self.at = len(self.tokens) + 1

    def go_on_in_block(self, stop: Stop, brace: Token) -> None:
        depth = sum(token.type == "LBRACE" for token in stop.open_brackets)
        for at in self.ahead(stop):
            kind = self.words.type(at)
            if self.words.starts_declaration(at) and not (kind == "LET" and self.is_inside(at)):
                self.restart(at)
                return
            if self.words.starts_clause(at) or self.is_clause_meant(at):
                self.restart(at, *stop.head, brace)
                return
            if kind == "RBRACE" and depth == 0 and self.could_close(at, brace):
                self.restart(at, *stop.head, brace)
                return
            depth = max(0, depth + (kind == "LBRACE") - (kind == "RBRACE"))
        self.end()

    def is_inside(self, at: int) -> bool:
        """Say whether a brace closes the block after a token, before the next block begins."""
        depth = 0
        for later in range(at, len(self.tokens)):
            kind = self.words.type(later)
            depth += (kind == "LBRACE") - (kind == "RBRACE")
            if depth < 0:
                return True
            if kind in BLOCKS and self.words.starts_declaration(later):
                return False
        return False

    def could_close(self, at: int, brace: Token) -> bool:
        """Say whether a brace stands where the one that closes a block does."""
        if self.words.is_first_on_line(at) or self.tokens[at].line == brace.line:
            return True
        return at + 1 == len(self.tokens) or self.words.starts_declaration(at + 1)

    def go_on_at_top(self, stop: Stop) -> None:
        head = stop.statement[:1]
        if head and head[0].type in BLOCKS and (brace := self.brace_of_head(stop)) is not None:
            self.restart(brace + 1, head[0], self.tokens[brace])
            return
        for at in self.ahead(stop):
            kind = self.words.type(at)
            if self.words.starts_declaration(at) or self.is_declaration_meant(at):
                if kind in ("LET", "PARAM") and self.lost and not self.words.is_at_margin(at):
                    continue
                self.restart(at)
                self.lost = self.lost and kind not in BLOCKS
                return
            self.lost = self.lost or kind in CLAUSES or kind in ("LBRACE", "RBRACE")
        self.end()

    def ahead(self, stop: Stop) -> Iterator[int]:
        return iter(range(max(stop.index, self.resumed + 1), len(self.tokens)))

    def brace_of_head(self, stop: Stop) -> int | None:
        """Find the brace that most likely ends the head of a block."""
        for at in range(stop.index, len(self.tokens)):
            if self.words.type(at) == "LBRACE":
                return at
            if self.begins_statement(at):
                return None
        return None

    def is_clause_meant(self, at: int) -> bool:
        """Say whether a line begins with a word that stands for a clause's."""
        if not self.is_word_of_line(at):
            return False
        word = str(self.tokens[at])
        near = word not in foreign_words.INFIX and closest(word, _CLAUSE_WORDS) is not None
        return near or word in foreign_words.CLAUSES

    def is_declaration_meant(self, at: int) -> bool:
        """Say whether a line begins with a word that stands for a declaration's."""
        if not self.is_word_of_line(at) or not self.words.is_at_margin(at):
            return False
        word = str(self.tokens[at])
        if word in foreign_words.DECLARATIONS:
            return True
        return self.words.starts_header(at) and closest(word, _BLOCK_WORDS) is not None

    def is_word_of_line(self, at: int) -> bool:
        """Say whether a line begins with a word before a value, of which nothing was said yet."""
        if self.tokens[at].start_pos in self.reported:
            return False
        after = self.words.type(at + 1)
        return (
            self.words.type(at) == "NAME"
            and self.words.is_first_on_line(at)
            and (after in NAMES or after in LITERALS or after in ("NOT", "COLON", "LBRACE"))
        )

    def restart(self, at: int, *block: Token) -> None:
        """Go on at a token, inside the block that these tokens begin."""
        self.state = self.fresh()
        for token in block:
            self.state.feed_token(token)
        self.at = self.resumed = at
        self.silent = False


def _stand_in(kind: str, here: Token) -> Token:
    at = here.start_pos
    return Token(kind, "", at, here.line, here.column, here.line, here.column, at)


def _text(kind: str, here: Token) -> str:
    """Give the text of a word that another stands for."""
    return kind.lower() if kind in NAMES and kind != "NAME" else str(here).strip("\"'")
