# ruff: noqa: RUF001 - the signs that people paste are looked for
"""Turns what the parser could not read into a diagnostic that says what was meant.

Most mistakes are other languages' habits: `and`, `=`, `len(x)`, `a ?? b`. Each has its own
sentence; the rest say what was found and what could have stood there.
"""

import re
from typing import Final

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.source import Source, Span

_WORDS: Final = {"and": "&&", "or": "||", "not": "!"}
_SIGNS: Final = (
    ("===", "`===` is not an operator", "use `==`", "=="),
    ("!==", "`!==` is not an operator", "use `!=`", "!="),
    ("<>", "`<>` is not an operator", "use `!=`", "!="),
    (
        "=>",
        "`=>` is not an operator",
        "`>=` compares; a macro takes `x, body` without an arrow",
        None,
    ),
    ("**", "`**` is not an operator", "multiply instead", None),
    ("<<", "`<<` is not an operator", "use `math.bitShiftLeft(x, n)`", None),
    (">>", "`>>` is not an operator", "use `math.bitShiftRight(x, n)`", None),
    ("??", "`??` is not an operator", "use `a.?b.orValue(c)`", None),
    ("?.", "`?.` is not an operator", "an optional selection is written `a.?b`", ".?"),
    ("/*", "comments are written `// …` to the end of the line", "there are no `/* */`", None),
    ("..", "`..` is not an operator", "use `lists.range(n)`", None),
)
_CHARACTERS: Final = {
    "=": ("`=` is not an operator", "compare with `==`"),
    "&": ("`&` is not an operator", "use `&&`"),
    "|": ("`|` is not an operator", "use `||`"),
    "^": ("`^` is not an operator", "use `math.bitXor(a, b)`; there is no power operator"),
    "~": ("`~` is not an operator", "use `math.bitNot(x)`"),
    "#": ("`#` does not start a comment", "comments are written `// …`"),
    ";": ("`;` does not end anything here", "remove it: no terminator is needed"),
    "$": ("`$` cannot stand in a name", "names are letters, digits and `_`"),
    "@": ("`@` cannot stand in a name", "names are letters, digits and `_`"),
    "“": ("`“` is not a quotation mark of the language", 'use `"`'),
    "”": ("`”` is not a quotation mark of the language", 'use `"`'),
    "‘": ("`‘` is not a quotation mark of the language", "use `'`"),
    "’": ("`’` is not a quotation mark of the language", "use `'`"),
    "\u00a0": ("this is a no-break space (U+00A0)", "replace it with a plain space"),
    "\ufeff": ("this is a byte order mark inside the text", "remove it"),
    "\0": ("this is a NUL character", "remove it"),
    "`": ("a quoted field name is not ended", "write `` a.`content-type` ``"),
    "\\": ("`\\` has no meaning outside a string", "remove it"),
}
_QUOTED_START: Final = re.compile(r"""[bB]?[rR]?("{3}|'{3}|"|')""")
_EXPRESSION: Final = frozenset({"NAME", "INT", "STRING", "LPAR", "LBRACKET", "LBRACE"})
_NAMES: Final = {
    "RPAR": "`)`",
    "RBRACKET": "`]`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "LBRACE": "`{`",
    "COLON": "`:`",
    "ASSIGN": "`=`",
}
_OPERATORS: Final = frozenset({"PLUS", "AND", "EQ", "DOT"})
_CLAUSES: Final = frozenset({"REQUIRE", "PREFER", "ORDER"})
_DECLARATIONS: Final = frozenset({"RULE", "QUEUE"})


def unexpected_character(source: Source, error: UnexpectedCharacters) -> Diagnostic:
    """Explain a character at which no token can begin."""
    at: int = error.pos_in_stream  # type: ignore[assignment]  # Lark annotates it as None
    text = source.text
    if (quote := _QUOTED_START.match(text, at)) is not None:
        return _unterminated(source, at, quote)
    if (sign := _known_sign(source, at)) is not None:
        return sign
    char = text[at]
    message, help_ = _CHARACTERS.get(char, (f"`{char}` cannot stand here", ""))
    if char not in _CHARACTERS and (not char.isprintable() or ord(char) > 127):
        message = f"`{char if char.isprintable() else ' '}` (U+{ord(char):04X}) cannot stand here"
    helps = (help_,) if help_ else ()
    return Diagnostic("E102", message, source, Span(at, at + 1), helps=helps)


def _unterminated(source: Source, at: int, quote: re.Match[str]) -> Diagnostic:
    end = source.text.find("\n", at)
    end = len(source.text) if end < 0 else end
    helps = [f"end it with `{quote[1]}`"]
    if len(quote[1]) == 1:
        helps.append("a string over several lines stands between three quotation marks")
    return Diagnostic(
        "E103",
        "this string is not ended",
        source,
        Span(at, max(at + 1, end)),
        label="starts here",
        helps=tuple(helps),
    )


def _known_sign(source: Source, at: int) -> Diagnostic | None:
    """Find a sign of another language that starts at `at` or one character before."""
    for start in (at, at - 1):
        for sign, message, help_, instead in _SIGNS:
            if start >= 0 and source.text.startswith(sign, start):
                span = Span(start, start + len(sign))
                edit = Edit(span, instead) if instead else None
                return Diagnostic("E108", message, source, span, helps=(help_,), edit=edit)
    return None


def unexpected_token(source: Source, error: UnexpectedToken) -> Diagnostic:
    """Explain a token that cannot follow what stands before it."""
    token = error.token
    expected = frozenset(error.accepts or error.expected or ())
    if token.type == "$END":
        return _unexpected_end(source, expected)
    start = int(token.start_pos or 0)
    span = Span(start, int(token.end_pos or start + 1))
    habit = _other_habit(source, span, str(token), expected)
    if habit is not None:
        return habit
    shown = str(token) if len(token) <= 40 else f"{token[:36]}…"
    wanted = _describe(expected)
    label = f"expected {wanted}" if wanted else ""
    return Diagnostic("E101", f"`{shown}` cannot stand here", source, span, label=label)


def _unexpected_end(source: Source, expected: frozenset[str]) -> Diagnostic:
    at = len(source.text.rstrip(" \t\r\n\f"))
    wanted = _describe(expected)
    if not source.text.strip():
        return Diagnostic("E107", "an expression was expected", source, Span(at, at))
    message = f"the text ends where {wanted} was expected" if wanted else "the text ends too early"
    return Diagnostic("E107", message, source, Span(at, at), label="the end")


def _other_habit(
    source: Source, span: Span, word: str, expected: frozenset[str]
) -> Diagnostic | None:
    sign = _known_sign(source, span.start)
    if sign is not None:
        return sign
    before = _word_before(source.text, span.start)
    for written, where in ((word, span), before):
        if written in _WORDS:
            instead = _WORDS[written]
            return Diagnostic(
                "E108",
                f"`{written}` is not an operator",
                source,
                where,
                label=f"use `{instead}`",
                helps=(f"use `{instead}`",),
                edit=Edit(where, instead),
            )
    if word == "{" and before[0]:
        return Diagnostic(
            "E101",
            "messages cannot be made in a rule",
            source,
            span,
            helps=('a map is written `{"key": value}`',),
        )
    if word == "=" and "COLON" not in expected:
        message, help_ = _CHARACTERS["="]
        return Diagnostic("E108", message, source, span, helps=(help_,), edit=Edit(span, "=="))
    if "COLON" in expected and "QUESTION" not in expected and _is_ternary(source.text, span.start):
        return Diagnostic(
            "E101",
            f"`{word}` cannot stand here",
            source,
            span,
            label="expected `:`",
            helps=("a condition has two results: `a ? b : c`",),
        )
    return None


def _is_ternary(text: str, at: int) -> bool:
    return "?" in text[:at]


def _word_before(text: str, at: int) -> tuple[str, Span]:
    end = len(text[:at].rstrip())
    start = end
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:end], Span(start, end)


def _describe(expected: frozenset[str]) -> str:
    """Say in words what could have stood there."""
    parts: list[str] = []
    if expected >= _EXPRESSION:
        parts.append("an expression")
    elif "NAME" in expected:
        parts.append("a name")
    parts.extend(
        text
        for kind, text in _NAMES.items()
        if kind in expected
        and not (parts and parts[0] == "an expression" and kind in ("LPAR", "LBRACE"))
    )
    if expected >= _OPERATORS:
        parts.insert(0, "an operator")
    if expected >= _CLAUSES and "an expression" not in parts:
        parts.append("a clause")
    if expected >= _DECLARATIONS and "an expression" not in parts and "a name" not in parts:
        parts.append("a declaration")
    if "$END" in expected and len(parts) <= 1:
        parts.append("the end")
    parts = parts[:4]
    return " or ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
