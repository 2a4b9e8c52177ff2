"""A text as its tokens with the comments and empty lines between them: what a formatter keeps.

The grammar ignores comments, so they are found in the gaps between its tokens, where nothing but
blanks and comments can stand. Commas are no pieces of their own: they are known by what they
follow, so that a comment written before a comma and one written behind it are the same.
"""

import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from lark import Lark, Token

from policyd.assets.tables import load_lark
from policyd.language.source import Source

_COMMENT: Final = re.compile(r"//[^\n]*")
_CLOSING: Final = frozenset({"RBRACKET", "RBRACE"})


class Comment(NamedTuple):
    """A comment on a line of its own. `blank`: an empty line stands before it."""

    text: str
    blank: bool


class Piece(NamedTuple):
    """A token and what stands around it.

    `comma`: a comma follows that separates, which one before a closing bracket does not.
    `leading` are the comments on the lines before the token, `trailing` is the one behind it on
    its own line. `blank`: an empty line stands before the token, after its leading comments.
    """

    kind: str
    text: str
    comma: bool = False
    leading: tuple[Comment, ...] = ()
    trailing: str | None = None
    blank: bool = False


class Pieces:
    """The pieces of a text, to be taken once from the first to the last.

    Behind the last token stands an empty piece with the comments that end the text.
    """

    def __init__(self, source: Source) -> None:
        self._pieces = read_pieces(source)
        gaps = (bool(a.trailing or b.leading) for a, b in pairwise(self._pieces))
        self._commented = (0, *accumulate(gaps))
        self._at = 0

    @property
    def position(self) -> int:
        """The number of the next piece, from 0."""
        return self._at

    def peek(self) -> Piece:
        """Give the next piece and leave it there."""
        return self._pieces[self._at]

    def take(self) -> Piece:
        """Take the next piece."""
        self._at += 1
        return self._pieces[self._at - 1]

    def commented_since(self, position: int) -> bool:
        """Say whether a comment stands between the pieces that were taken since a position."""
        return self._commented[self._at - 1] > self._commented[position]

    def commented_behind_next(self) -> bool:
        """Say whether a comment stands between the next piece and the one after it."""
        return self._commented[self._at + 1] > self._commented[self._at]


class _Gap(NamedTuple):
    """What stands between two tokens."""

    trailing: str | None
    leading: tuple[Comment, ...]
    blank: bool


def read_pieces(source: Source) -> tuple[Piece, ...]:
    """Give the pieces of a text that parses, with the empty one at the end."""
    tokens, texts, commas = _split(source.text)
    gaps = [_gap(text, first=at == 0) for at, text in enumerate(texts)]
    return (
        *(
            Piece(
                token.type, _with_line_feeds(token), at in commas, before[1], behind[0], before[2]
            )
            for at, (token, (before, behind)) in enumerate(zip(tokens, pairwise(gaps), strict=True))
        ),
        Piece("$END", "", leading=gaps[-1].leading, blank=gaps[-1].blank),
    )


@lru_cache(maxsize=1)
def _lexer() -> Lark:
    return load_lark()


def _split(text: str) -> tuple[list[Token], list[str], set[int]]:
    """Give the tokens but commas, the texts around them, and which of them a comma follows."""
    tokens: list[Token] = []
    gaps = [""]
    commas: set[int] = set()
    end = 0
    for token in _lexer().lex(text):
        gaps[-1] += text[end : token.start_pos]
        end = int(token.end_pos or 0)
        if token.type == "COMMA":
            commas.add(len(tokens) - 1)
            continue
        if token.type in _CLOSING:
            commas.discard(len(tokens) - 1)
        tokens.append(token)
        gaps.append("")
    gaps[-1] += text[end:]
    return tokens, gaps, commas


def _gap(written: str, *, first: bool) -> _Gap:
    text = written.replace("\r\n", "\n").replace("\r", "\n")
    if "//" not in text:  # by far the most
        return _Gap(None, (), text.count("\n") > 1)
    trailing = None
    leading: list[Comment] = []
    end = 0
    for match in _COMMENT.finditer(text):
        lines = text.count("\n", end, match.start())
        if lines == 0 and not first and end == 0:
            trailing = match[0].rstrip()
        else:
            leading.append(Comment(match[0].rstrip(), blank=lines > 1))
        end = match.end()
    return _Gap(trailing, tuple(leading), text.count("\n", end) > 1)


def _with_line_feeds(token: Token) -> str:
    """Give a token's text with the line ends that are written: only strings may hold others.

    A string's value has line feeds for carriage returns before line feeds, so that its value stays
    the same; save where another carriage return stands before them, which then stays as it is.
    """
    text = str(token)
    changed = text.replace("\r\n", "\n")
    return text if "\r\n" in changed else changed
