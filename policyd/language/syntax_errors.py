"""Turns a place at which the parser stopped into a diagnostic that says what was meant.

Most mistakes are other languages' habits: `and`, `=`, `if … then`, `a ?? b`. Each has its own
sentence here; those about blocks and clauses are in `block_errors.py`; the rest say what was
found and what could have stood there.
"""

import re
from typing import Final

from lark import Token

from policyd.language.block_errors import BLOCK_EXPLAINERS
from policyd.language.foreign_words import INFIX, NEVER_CALLED, PREFIX, SIGNS
from policyd.language.source import Span
from policyd.language.stop import (
    CLOSING,
    LITERALS,
    NAMES,
    OPENING,
    VALUE_ENDS,
    Explainer,
    Finding,
    Repair,
    Stop,
    closing_of,
    span_of,
)

_DURATION_UNIT: Final = re.compile(
    r"(?i)(ns|us|µs|ms|s|sec|secs|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(\d.*)?$"
)
_SIZE_UNIT: Final = re.compile(r"(?i)([kmgtpe])(i?b|i|b)?$")


def explain(stop: Stop) -> Finding:
    """Say what is wrong where the parser stopped."""
    for explainer in _EXPLAINERS:
        finding = explainer(stop)
        if finding is not None:
            return finding
    wanted = describe(stop)
    shown = stop.text if len(stop.text) <= 40 else f"{stop.text[:36]}…"
    return stop.finding(
        f"`{shown}` cannot stand here", label=f"expected {wanted}" if wanted else ""
    )


def describe(stop: Stop) -> str:
    """Say in the author's words what could have stood at a place."""
    expected = stop.expected
    parts: list[str] = []
    if expected >= {"NAME", "INT", "STRING"}:
        parts.append("an expression")
    elif "NAME" in expected:
        parts.append(
            "a type" if stop.before is not None and stop.before.type == "COLON" else "a name"
        )
    if expected >= {"PLUS", "AND", "EQ"}:
        parts.append("an operator")
    if not parts or parts == ["an operator"]:
        parts += [text for kind, text in _SIGN_WORDS if kind in expected]
        if "REQUIRE" in expected and "NAME" not in expected:
            parts.append("a clause")
    if "$END" in expected and len(parts) <= 1 and not stop.is_at_end:
        parts.append("the end")
    parts = parts[:3]
    return " or ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


_SIGN_WORDS: Final = (
    ("ASSIGN", "`=`"),
    ("COLON", "`:`"),
    ("COMMA", "`,`"),
    ("RPAR", "`)`"),
    ("RBRACKET", "`]`"),
    ("RBRACE", "`}`"),
    ("LBRACE", "`{`"),
)


# --- signs and words of other languages ---


def _optional_selection(stop: Stop) -> Finding | None:
    """Find `a?.b`, which reads as the start of a condition."""
    if "COLON" not in stop.expected or not _in_condition(stop):
        return None
    for at in range(stop.index - 1, stop.started, -1):
        if stop.words.type(at) == "DOT" and stop.words.type(at - 1) == "QUESTION":
            span = Span(
                span_of(stop.words.tokens[at - 1]).start, span_of(stop.words.tokens[at]).end
            )
            if span.end - span.start == 2:
                return _sign_finding(
                    stop, "?.", "an optional selection is written `a.?b`", ".?", span
                )
    return None


def _sign(stop: Stop) -> Finding | None:
    """Find a sign of another language that the offending token is a part of."""
    text, at = stop.source.text, stop.span.start
    if stop.is_at_end or stop.type in NAMES or stop.type in LITERALS - {"FLOAT"}:
        return None
    for sign, help_, instead in SIGNS:
        for start in range(at, max(-1, at - len(sign)), -1):
            if text.startswith(sign, start):
                return _sign_finding(stop, sign, help_, instead, Span(start, start + len(sign)))
    return None


def _sign_finding(stop: Stop, sign: str, help_: str, instead: str | None, span: Span) -> Finding:
    repair = Repair(skip=1) if sign in ("===", "!==") else None
    return stop.finding(
        f"`{sign}` is not an operator", help_, code="E108", span=span, edit=instead, repair=repair
    )


def _infix_word(stop: Stop) -> Finding | None:
    """Find a word between two values: `a and b`."""
    if stop.type not in NAMES or not stop.ends_value:
        return None
    if stop.text == "not" and stop.words.type(stop.index + 1) == "IN":
        return stop.finding("`not in` is not an operator", "write `!(x in list)`", code="E108")
    known = INFIX.get(stop.text)
    if known is None or stop.words.starts_clause(stop.index):
        return None
    repair = Repair(replace=known.token) if known.token else None
    message = f"`{stop.text}` is not an operator"
    return stop.finding(message, known.help, code="E108", edit=known.instead, repair=repair)


def _prefix_word(stop: Stop) -> Finding | None:
    """Find a word before a value: `not a`, `if a then b`, `return a`."""
    for at in range(stop.started, stop.index + 1):
        if at < len(stop.words) and _is_prefix_word(stop, at):
            token = stop.words.tokens[at]
            word = str(token)
            edit = "!" if word == "not" and stop.words.type(at + 1) in ("LPAR", *NAMES) else None
            message = f"`{word}` is not a word of expressions"
            return stop.finding(message, PREFIX[word], code="E108", span=span_of(token), edit=edit)
    return None


def _is_prefix_word(stop: Stop, at: int) -> bool:
    """Say whether a token is such a word, and stands where a value begins."""
    if stop.words.type(at) not in NAMES or stop.words.type(at - 1) == "DOT":
        return False
    word = str(stop.words.tokens[at])
    if word not in PREFIX or (at == stop.started and stop.whole and stop.words.type(at) == "LET"):
        return False
    own = at == stop.started + 1 and stop.whole  # the word before is the clause's
    if at > stop.started and not own and stop.words.type(at - 1) in VALUE_ENDS:
        return False
    after = stop.words.type(at + 1)
    return after in (*NAMES, *LITERALS) or (
        word in NEVER_CALLED and after in ("LPAR", "NOT", "LBRACE", "LBRACKET")
    )


def _assignment(stop: Stop) -> Finding | None:
    """Find a single `=` in an expression, and `==` after the name of a `let`."""
    if stop.type == "EQ" and "ASSIGN" in stop.expected:
        return stop.finding(
            "`==` compares",
            "a name is given with one `=`",
            edit="=",
            repair=Repair(replace="ASSIGN"),
        )
    if stop.type != "ASSIGN":
        return None
    bracket = stop.bracket
    if bracket is not None and bracket.type == "LBRACE" and "COLON" in stop.expected:
        return stop.finding(
            "`=` cannot stand here",
            'the entries of a map are written `"key": value`',
            label="expected `:`",
            edit=":",
            repair=Repair(replace="COLON"),
        )
    if not stop.ends_value:
        return None
    twice = stop.words.type(stop.index + 1) == "ASSIGN"
    return stop.finding(
        "`=` is not an operator",
        "compare with `==`",
        code="E108",
        edit=None if twice else "==",
        repair=None if twice else Repair(replace="EQ"),
    )


# --- numbers, names and strings ---


def _number(stop: Stop) -> Finding | None:
    """Find a number with a unit or a sign that numbers do not have: `5min`, `1_000`, `5.`."""
    before = stop.before
    if before is None or before.type not in ("INT", "FLOAT", "DOT", "QUANTITY"):
        return None
    if before.type == "DOT":
        return _bare_point(stop)
    if not stop.touches_before or stop.type not in (*NAMES, "FLOAT", "INT", "QUANTITY", "DOT"):
        return None
    end = _end_of_run(stop)
    whole = Span(span_of(before).start, end)
    written = stop.source.slice(whole)
    return stop.finding(f"`{written}` is not a number", *_number_help(written), span=whole)


def _bare_point(stop: Stop) -> Finding | None:
    number = stop.words.tokens[stop.index - 2] if stop.index >= 2 else None
    if number is None or number.type != "INT" or stop.type in NAMES:
        return None
    span = Span(span_of(number).start, span_of(stop.words.tokens[stop.index - 1]).end)
    return stop.finding(
        f"`{stop.source.slice(span)}` is not a number",
        "a point is followed by a digit",
        span=span,
        edit=f"{number}.0",
    )


def _end_of_run(stop: Stop) -> int:
    """Give the end of the tokens that touch one another from here on."""
    at = stop.index
    end = stop.span.end
    while stop.words.type(at + 1) in (*NAMES, "FLOAT", "INT", "QUANTITY", "DOT"):
        after = span_of(stop.words.tokens[at + 1])
        if after.start != end:
            break
        at, end = at + 1, after.end
    return end


def _number_help(written: str) -> tuple[str, ...]:
    number = re.match(r"[0-9.]+", written)
    unit = written[number.end() :] if number else written
    if written.startswith(("0x", "0X")):
        return ("hexadecimal digits follow `0x` in small letters: `0x1f`",)
    if written.startswith(("0b", "0o")):
        return ("numbers are decimal, or hexadecimal after `0x`",)
    if "_" in written or "'" in written:
        return (f"write `{written.replace('_', '')}`",)
    if written.count(".") > 1:
        return ('versions and addresses are strings: `semver("1.2.3")`, `ip("10.0.0.1")`',)
    if _SIZE_UNIT.match(unit):
        return (f"amounts are written `{number[0] if number else 1}{_size_unit(unit)}`",)
    if _DURATION_UNIT.match(unit):
        return ('times are written `duration("1h30m")`; the largest unit is `h`',)
    return ("a number ends before a letter; names do not begin with a digit",)


def _size_unit(unit: str) -> str:
    letter = unit[0].upper()
    return f"{letter}i" if "i" in unit.lower() else {"K": "k"}.get(letter, letter)


def _after_dot(stop: Stop) -> Finding | None:
    """Find what is no field's name after a dot."""
    if stop.before is None or stop.before.type != "DOT":
        return None
    if stop.type == "STRING":
        return stop.finding(
            "a field's name has no quotation marks", f"write `[{stop.text}]` without the dot"
        )
    if stop.type in ("IN", "TRUE", "FALSE", "NULL"):
        return stop.finding(
            f"`{stop.text}` cannot be a field's name", f'write `["{stop.text}"]`', code="E106"
        )
    code = "E107" if stop.is_at_end else "E101"
    what = "the text ends after `.`" if stop.is_at_end else f"`{stop.text}` cannot follow `.`"
    return stop.finding(what, code=code, label="expected a field's name")


def _reserved_name(stop: Stop) -> Finding | None:
    """Find a word of the language where a name is declared: `let in = 1`."""
    kinds = ("IN", "TRUE", "FALSE", "NULL")
    if stop.type not in kinds or "NAME" not in stop.expected or "INT" in stop.expected:
        return None
    return stop.finding(
        f"`{stop.text}` is a reserved word of CEL", "choose another name", code="E106"
    )


def _quoted_name(stop: Stop) -> Finding | None:
    if stop.type != "QUOTED":
        return None
    return stop.finding(
        "a name in backticks can stand only after a dot", 'a string stands between `"` and `"`'
    )


# --- brackets ---


def _closing(stop: Stop) -> Finding | None:
    """Find a closing bracket that closes nothing, or another kind than the open one."""
    if stop.type not in CLOSING:
        return None
    bracket = stop.bracket
    if bracket is None:
        if stop.type == "RBRACE" and stop.block is not None:
            return None
        if stop.has_begun() and not stop.ends_value:
            return None
        return stop.finding(f"`{stop.text}` closes nothing", "remove it", repair=Repair(skip=1))
    if OPENING[bracket.type] == stop.type:
        return None
    return _unclosed(stop, bracket)


def _unclosed(stop: Stop, bracket: Token) -> Finding:
    closing = closing_of(bracket)
    found = "the text ends" if stop.is_at_end else f"`{stop.text}` stands"
    return stop.finding(
        f"{found} where `{closing}` was expected",
        code="E107" if stop.is_at_end else "E101",
        label=f"expected `{closing}`",
        related=((span_of(bracket), f"this `{bracket}` is not closed"),),
    )


def _open_bracket(stop: Stop) -> Finding | None:
    """Find an open bracket at the end of the text, of the block or of the clause."""
    bracket = stop.bracket
    if bracket is None or not (stop.ends_value or stop.is_at_end):
        return None
    over = stop.is_at_end or (
        stop.whole
        and (stop.words.starts_clause(stop.index) or stop.words.starts_declaration(stop.index))
    )
    return _unclosed(stop, bracket) if over else None


# --- pieces that are missing ---


def _trailing_comma(stop: Stop) -> Finding | None:
    before = stop.before
    if before is None or before.type != "COMMA" or stop.type not in CLOSING:
        return None
    return stop.finding(
        f"`,` cannot stand before `{stop.text}` here",
        "remove the comma; lists and maps may end with one, arguments may not",
        span=span_of(before),
        edit="",
    )


def _missing_colon(stop: Stop) -> Finding | None:
    """Find a condition with one result only: `a ? b`."""
    if "COLON" not in stop.expected or not _in_condition(stop):
        return None
    code, message = "E101", f"`{stop.text}` stands where `:` was expected"
    if stop.is_at_end:
        code, message = "E107", "the text ends where `:` was expected"
    help_ = "a condition has two results: `a ? b : c`"
    if stop.type == "QUESTION":
        help_ = "put a condition inside a condition in parentheses: `a ? (b ? c : d) : e`"
    return stop.finding(message, help_, code=code, label="expected `:`")


def _in_condition(stop: Stop) -> bool:
    """Say whether the first result of a condition is being read."""
    for token in reversed(stop.statement):
        if token.type == "QUESTION":
            return True
        if token is stop.bracket:
            return False
    return False


def _missing_value(stop: Stop) -> Finding | None:
    """Find an operator, a bracket or a clause's word without the value that must follow it."""
    before = stop.before
    if before is None or stop.ends_value or not stop.expected >= {"NAME", "INT", "STRING"}:
        return None
    if before.type == "PERCENT" and stop.words.type(stop.index - 2) in ("INT", "FLOAT"):
        help_ = "a share is a fraction: `0.1` for a tenth; `%` gives the remainder of a division"
    else:
        help_ = ""
    where = "the text ends" if stop.is_at_end else f"`{stop.text}` stands"
    return stop.finding(
        f"{where} where an expression was expected after `{before}`",
        help_,
        code="E107" if stop.is_at_end else "E101",
        label="expected an expression",
    )


def _message_literal(stop: Stop) -> Finding | None:
    if stop.type != "LBRACE" or not stop.ends_value:
        return None
    if stop.before is None or stop.before.type not in NAMES:
        return None
    return stop.finding(
        f"there are no objects to make, so no `{stop.before}{{…}}`",
        'a map is written `{"key": value}`',
    )


def _missing_entry(stop: Stop) -> Finding | None:
    """Find a key of a map without a value."""
    bracket = stop.bracket
    if bracket is None or bracket.type != "LBRACE" or stop.type not in ("COMMA", "RBRACE"):
        return None
    if "COLON" not in stop.expected:
        return None
    return stop.finding(
        f"`{stop.text}` stands where `:` was expected",
        'the entries of a map are written `"key": value`',
        label="expected `:`",
    )


def _slice(stop: Stop) -> Finding | None:
    bracket = stop.bracket
    if stop.type != "COLON" or bracket is None or bracket.type != "LBRACKET":
        return None
    return stop.finding(
        "there are no slices with `:`",
        "use `xs.slice(start, end)` of a list and `text.substring(start, end)` of a string",
    )


def _two_values(stop: Stop) -> Finding | None:
    """Find two values with nothing between them."""
    if not (stop.ends_value and stop.starts_value) or stop.before is None:
        return None
    before = stop.before
    if before.type in ("STRING", "BYTES") and stop.touches_before and stop.type in NAMES:
        return _inner_quote(stop, before)
    if stop.type == "STRING" and stop.touches_before and before.type in NAMES:
        return _string_prefix(stop, before)
    bracket = stop.bracket
    missing = "an operator" if bracket is None else "`,` or an operator"
    help_ = "join strings with `+`" if before.type == stop.type == "STRING" else ""
    if stop.text[:1] == "." and stop.type == "FLOAT":
        help_ = f"an element is taken with brackets: `[{stop.text[1:]}]`"
    shown = stop.text if len(stop.text) <= 40 else f"{stop.text[:36]}…"
    return stop.finding(f"{missing} is missing before `{shown}`", help_)


def _inner_quote(stop: Stop, before: Token) -> Finding:
    quote = str(before)[-1]
    other = "'" if quote == '"' else '"'
    return stop.finding(
        f"`{stop.text}` cannot stand directly after a string",
        f"inside the string write `\\{quote}`, or put it between `{other}` and `{other}`",
        span=Span(span_of(before).end - 1, stop.span.end),
        label="the string ends here",
    )


def _string_prefix(stop: Stop, before: Token) -> Finding:
    helps = {
        "rb": "bytes taken as they stand begin with `br`",
        "f": 'values are put into a string by `"%s has %d".format([name, count])`',
    }
    return stop.finding(
        f"`{before}` cannot stand directly before a string",
        helps.get(before.lower(), "before a string only `r`, `b` and `br` may stand"),
        span=span_of(before),
    )


def _nothing(stop: Stop) -> Finding | None:
    """Find a text without any word."""
    if not stop.is_at_end or len(stop.words):
        return None
    return stop.finding("an expression was expected", "there is nothing here", code="E107")


def _end(stop: Stop) -> Finding | None:
    if not stop.is_at_end:
        return None
    wanted = describe(stop)
    message = f"the text ends where {wanted} was expected" if wanted else "the text ends too early"
    return stop.finding(message, code="E107", label="the end")


_EXPLAINERS: Final[tuple[Explainer, ...]] = (
    _nothing,
    _optional_selection,
    _sign,
    _number,
    _after_dot,
    _reserved_name,
    _quoted_name,
    *BLOCK_EXPLAINERS,
    _prefix_word,
    _infix_word,
    _assignment,
    _trailing_comma,
    _open_bracket,
    _closing,
    _missing_entry,
    _slice,
    _missing_colon,
    _missing_value,
    _message_literal,
    _two_values,
    _end,
)
