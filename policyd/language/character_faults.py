# ruff: noqa: RUF001 - the signs that people paste are looked for
"""What is wrong with a character at which no word, number, string or sign can begin.

Each fault also says how to read on: as which token the piece is taken, and where the next one
begins. So one bad character does not hide what else is wrong.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.source import Source, Span


@dataclass(frozen=True, slots=True)
class CharacterFault:
    """A fault, the type of token that the piece is taken for, and the offset to read on from.

    `certain` says that what follows reads as if the fault had not been made.
    """

    diagnostic: Diagnostic
    end: int
    token: str | None = None
    certain: bool = True


_QUOTE: Final = re.compile(r"""[bB]?[rR]?("{3}|'{3}|"|')""")
_SMART: Final = re.compile(r"[“”„]([^“”„\r\n]*)[“”]|[‘’‚]([^‘’‚\r\n]*)[‘’]")
_WORD: Final = re.compile(r"[^\W_]+")
_LINE_REST: Final = re.compile(r"[^\r\n]*")

_INSTEAD: Final = {
    "&": ("&&", "AND"),
    "|": ("||", "OR"),
    "≤": ("<=", "LE"),
    "≥": (">=", "GE"),
    "≠": ("!=", "NE"),
    "−": ("-", "MINUS"),
    "–": ("-", "MINUS"),
    "—": ("-", "MINUS"),
    "×": ("*", "STAR"),
    "·": ("*", "STAR"),
    "÷": ("/", "SLASH"),
    "∧": ("&&", "AND"),
    "∨": ("||", "OR"),
    "¬": ("!", "NOT"),
    "∈": ("in", "IN"),
    "（": ("(", "LPAR"),
    "）": (")", "RPAR"),
    "［": ("[", "LBRACKET"),
    "］": ("]", "RBRACKET"),
    "｛": ("{", "LBRACE"),
    "｝": ("}", "RBRACE"),
    "，": (",", "COMMA"),
    "：": (":", "COLON"),
}
_SIGNS: Final = {
    "=~": "use `text.matches(re)`",
    "!~": "use `!text.matches(re)`",
    "^": "use `math.bitXor(a, b)`; there is no power operator",
    "~": "use `math.bitNot(x)`",
}
_BETWEEN_STRINGS: Final = "join strings with `+`; match them with `text.matches(re)`"
_REMOVED: Final = {
    ";": ("`;` ends nothing here", "remove it: no terminator is needed"),
    "\ufeff": ("this is a byte order mark inside the text", "remove it"),
    "\0": ("this is a NUL character", "remove it"),
}
_BAD: Final = {
    "$": ("`$` cannot stand in a name", "names are letters, digits and `_`, without a sign before"),
    "@": ("`@` cannot stand in a name", "names are letters, digits and `_`, without a sign before"),
    "`": ("this quoted field name is not ended", "write `` a.`content-type` ``"),
    "\\": ("`\\` has no meaning outside a string", "remove it"),
}


def character_fault(source: Source, at: int) -> CharacterFault:
    """Explain the character at an offset, at which no token can begin."""
    text = source.text
    quote = _QUOTE.match(text, at)
    if quote is not None:
        return unterminated(source, at, quote[1])
    for explain in (_sign, _instead, _removed, _comment, _smart_quotes, _known, _blank):
        fault = explain(source, at)
        if fault is not None:
            return fault
    return _foreign(source, at)


def block_comment(source: Source, at: int) -> CharacterFault:
    """Explain a comment between `/*` and `*/`."""
    end = source.text.find("*/", at + 2)
    end = len(source.text) if end < 0 else end + 2
    diagnostic = Diagnostic(
        "E108",
        "there are no `/* */` comments",
        source,
        Span(at, at + 2),
        helps=("write `//` before each line of the comment",),
    )
    return CharacterFault(diagnostic, end)


def unterminated(source: Source, at: int, quote: str) -> CharacterFault:
    """Explain a string that is not ended: it takes the rest of the line, or of the text."""
    rest = _LINE_REST.match(source.text, at)
    line_end = rest.end() if rest else at
    written = source.text[at:line_end].rstrip()
    helps = [f"end it with `{quote}`"]
    other = {'"': "'", "'": '"'}.get(quote)
    if other and len(written) > 1 and written.endswith(other):
        helps = [f"it begins with `{quote}` and must end with the same sign, not with `{other}`"]
    elif other:
        helps.append(f"a string over several lines stands between `{quote * 3}` and `{quote * 3}`")
    diagnostic = Diagnostic(
        "E103",
        "this string is not ended",
        source,
        Span(at, max(at + 1, at + len(written))),
        label="begins here",
        helps=tuple(helps),
    )
    end = line_end if len(quote) == 1 else len(source.text)
    return CharacterFault(diagnostic, max(end, at + 1), "STRING", certain=False)


def _sign(source: Source, at: int) -> CharacterFault | None:
    for sign, help_ in _SIGNS.items():
        start = at - sign.index(source.text[at]) if source.text[at] in sign else at
        if start >= 0 and source.text.startswith(sign, start):
            span = Span(start, start + len(sign))
            between = sign == "~" and source.text[:start].rstrip()[-1:] not in ("", "(", "[")
            found = Diagnostic(
                "E108",
                f"`{sign}` is not an operator",
                source,
                span,
                helps=(_BETWEEN_STRINGS if between else help_,),
            )
            return CharacterFault(found, span.end, certain=False)
    return None


def _instead(source: Source, at: int) -> CharacterFault | None:
    char = source.text[at]
    if char not in _INSTEAD:
        return None
    instead, token = _INSTEAD[char]
    span = Span(at, at + 1)
    message = f"`{char}` is not an operator" if char in "&|" else f"`{char}` cannot stand here"
    found = Diagnostic(
        "E108" if char in "&|" else "E102",
        message,
        source,
        span,
        label=f"write `{instead}`",
        edit=Edit(span, instead),
    )
    return CharacterFault(found, at + 1, token)


def _removed(source: Source, at: int) -> CharacterFault | None:
    char = source.text[at]
    if char not in _REMOVED:
        return None
    message, help_ = _REMOVED[char]
    span = _run(source, at)
    found = Diagnostic("E102", message, source, span, helps=(help_,), edit=Edit(span, ""))
    return CharacterFault(found, span.end)


def _comment(source: Source, at: int) -> CharacterFault | None:
    if source.text[at] != "#":
        return None
    span = Span(at, at + 1)
    found = Diagnostic(
        "E102",
        "`#` does not begin a comment",
        source,
        span,
        helps=("comments are written `// …`",),
        edit=Edit(span, "//"),
    )
    rest = _LINE_REST.match(source.text, at)
    return CharacterFault(found, rest.end() if rest else at + 1)


def _smart_quotes(source: Source, at: int) -> CharacterFault | None:
    char = source.text[at]
    if char not in "“”„‘’‚":
        return None
    plain = '"' if char in "“”„" else "'"
    whole = _SMART.match(source.text, at)
    span = Span(at, whole.end() if whole else at + 1)
    inner = next((group for group in whole.groups() if group is not None), "") if whole else ""
    mends = whole is not None and plain not in inner and "\\" not in inner
    found = Diagnostic(
        "E102",
        f"`{char}` is not a quotation mark of the language",
        source,
        span,
        label=f"write `{plain}`",
        edit=Edit(span, f"{plain}{inner}{plain}") if mends else None,
    )
    return CharacterFault(found, span.end, "STRING" if whole else None, certain=whole is not None)


def _known(source: Source, at: int) -> CharacterFault | None:
    char = source.text[at]
    if char not in _BAD:
        return None
    message, help_ = _BAD[char]
    if char == "\\" and source.text[at + 1 : at + 2] in ("", "\r", "\n"):
        message, help_ = "a line goes on without `\\`", "remove it"
    found = Diagnostic("E102", message, source, Span(at, at + 1), helps=(help_,))
    return CharacterFault(found, at + 1, certain=char == "\\")


def _blank(source: Source, at: int) -> CharacterFault | None:
    """Explain a blank that is not one of the language's, or that cannot be seen at all."""
    char = source.text[at]
    kind = unicodedata.category(char)
    if kind not in ("Zs", "Zl", "Zp", "Cc", "Cf"):
        return None
    span = _run(source, at)
    name = unicodedata.name(char, "control character").lower()
    instead = " " if kind.startswith("Z") else ""
    found = Diagnostic(
        "E102",
        f"this is a {name} (U+{ord(char):04X})",
        source,
        span,
        helps=("replace it with a plain space" if instead else "remove it",),
        edit=Edit(span, instead),
    )
    return CharacterFault(found, span.end)


def _foreign(source: Source, at: int) -> CharacterFault:
    """Explain any other character: mostly a letter of another script."""
    char = source.text[at]
    word = _WORD.match(source.text, at)
    shown = word[0] if word and len(word[0]) <= 20 else char
    span = Span(at, at + len(shown))
    plain = unicodedata.normalize("NFKC", shown)
    helps = ["names are ASCII letters, digits and `_`; other characters stand in strings"]
    same = plain.isascii() and plain.isidentifier()
    if same:
        helps.insert(0, f"write `{plain}`")
    name = unicodedata.name(char, "unnamed character").lower()
    found = Diagnostic(
        "E102",
        f"`{shown}` cannot stand here",
        source,
        span,
        label=f"{name} (U+{ord(char):04X})",
        helps=tuple(helps),
        edit=Edit(span, plain) if same else None,
    )
    return CharacterFault(found, span.end, certain=False)


def _run(source: Source, at: int) -> Span:
    """Give the span of a character and its repetitions after it."""
    end = at + 1
    while source.text[end : end + 1] == source.text[at]:
        end += 1
    return Span(at, end)
