"""Explains mistakes in declarations, blocks and clauses, at the place where the parser stopped."""

from typing import Final

from lark import Token

from policyd.language import foreign_words
from policyd.language.foreign_words import INFIX
from policyd.language.source import Span
from policyd.language.stop import (
    BLOCKS,
    CLAUSES,
    LITERALS,
    NAMES,
    OPERATORS,
    Explainer,
    Finding,
    Repair,
    Stop,
    span_of,
)
from policyd.language.suggest import closest

_BLOCK_WORDS: Final = tuple(sorted(word.lower() for word in BLOCKS))
_CLAUSE_WORDS: Final = tuple(sorted(word.lower() for word in CLAUSES))
_DECLARATION_WORDS: Final = ("let", "param", *_BLOCK_WORDS)
_NAMED_BLOCKS: Final = frozenset({"RULE", "SHARE", "GANG", "PREEMPT"})


def _is_between(stop: Stop) -> bool:
    """Say whether a clause or a declaration could begin here: none is begun, or one is over."""
    if not stop.has_begun():
        return True
    return stop.words.is_first_on_line(stop.index) and stop.ends_value and stop.bracket is None


# --- the head of a block ---


def _head(stop: Stop) -> Finding | None:
    """Find what cannot stand between a block's word and its brace."""
    if not stop.whole or stop.block is not None or not stop.statement:
        return None
    word = stop.statement[0]
    if word.type not in BLOCKS:
        return None
    if len(stop.statement) == 1 and (bare := _bare_name(stop, word)) is not None:
        return bare
    return _no_brace(stop, word)


def _bare_name(stop: Stop, word: Token) -> Finding | None:
    """Find a block's name without quotation marks: `rule gpu-nodes {`."""
    if stop.type not in NAMES:
        return None
    at = stop.index
    while stop.words.type(at) in (*NAMES, *LITERALS, "MINUS", "DOT") and _is_on_line(stop, at):
        at += 1
    if stop.words.type(at) not in ("LBRACE", "COLON"):
        return None
    span = Span(stop.span.start, span_of(stop.words.tokens[at - 1]).end)
    name = stop.source.slice(span)
    quoted = f'"{name}"'
    help_ = f"write `{word} {quoted} {{`" if word.type in _NAMED_BLOCKS else f"`{word}` has no name"
    return stop.finding(
        f"the name of a `{word}` stands between quotation marks",
        help_,
        code="E113",
        span=span,
        edit=quoted,
        repair=Repair(skip=at - stop.index),
    )


def _is_on_line(stop: Stop, at: int) -> bool:
    return stop.words.tokens[at].line == stop.words.tokens[stop.index].line


def _no_brace(stop: Stop, word: Token) -> Finding | None:
    shown = " ".join(str(token) for token in stop.statement)
    if stop.type == "COLON" and stop.words.type(stop.index + 1) == "LBRACE":
        return stop.finding(
            "`:` does not stand before `{`", "remove it", edit="", repair=Repair(skip=1)
        )
    if stop.type == "COLON":
        return stop.finding(
            f"`:` does not begin a `{word}`",
            f"its clauses stand between braces: `{shown} {{ … }}`",
            label="expected `{`",
            repair=Repair(replace="LBRACE"),
        )
    if stop.is_at_end:
        return stop.finding(
            "the text ends where `{` was expected", code="E107", label="expected `{`"
        )
    begins = stop.words.starts_clause(stop.index)
    return stop.finding(
        f"`{{` is missing after `{shown}`",
        f"a `{word}` is written `{shown} {{ … }}`",
        label="expected `{`",
        repair=Repair(insert=("LBRACE",)) if begins else None,
    )


# --- between declarations ---


def _top_level(stop: Stop) -> Finding | None:
    """Find what is no declaration where one is expected."""
    if not stop.whole or stop.block is not None or not _is_between(stop) or stop.is_at_end:
        return None
    if stop.type in CLAUSES and stop.words.starts_clause(stop.index):
        return stop.finding(
            f"`{stop.text}` stands outside a block",
            f'put it into one: `rule "name" {{ {stop.text} … }}`',
            label="a clause",
        )
    if stop.type in NAMES and (meant := _declaration_meant(stop)) is not None:
        return meant
    if stop.has_begun():
        return None
    return _not_a_declaration(stop)


def _declaration_meant(stop: Stop) -> Finding | None:
    known = foreign_words.DECLARATIONS.get(stop.text)
    if known is not None:
        return stop.finding(f"`{stop.text}` is not a word of rule files", known)
    after = stop.words.type(stop.index + 1)
    near = closest(stop.text, _DECLARATION_WORDS)
    if near is None or after not in (*NAMES, "STRING", "LBRACE"):
        return None
    return stop.finding(
        f"`{stop.text}` is not a declaration",
        label=f"did you mean `{near}`?",
        edit=near,
        repair=Repair(replace=near.upper()),
    )


def _not_a_declaration(stop: Stop) -> Finding | None:
    after = stop.words.type(stop.index + 1)
    if stop.type in ("RBRACE", "RPAR", "RBRACKET"):
        return None
    if stop.type == "COMMA":
        return stop.finding("`,` does not stand between declarations", repair=Repair(skip=1))
    if stop.type == "MINUS" or (stop.type in (*NAMES, "STRING") and after == "COLON"):
        return stop.finding(
            "this is not a declaration",
            'rules are not YAML: they are written `rule "name" { … }`',
            label='expected `rule "name" {`, `let` or `param`',
        )
    if stop.type in ("LBRACE", "LBRACKET"):
        return stop.finding(
            "this is not a declaration",
            'rules are not JSON: they are written `rule "name" { … }`',
            label='expected `rule "name" {`, `let` or `param`',
        )
    help_ = "an expression stands in a clause of a block, such as `require` in a `rule`"
    return stop.finding(
        "this is not a declaration",
        help_ if after in OPERATORS | {"DOT", "LPAR"} else "",
        label='expected `rule "name" {`, `let` or `param`',
    )


# --- let and param ---


def _declared(stop: Stop) -> Finding | None:
    """Find what is wrong in a `let` or a `param` before its expression."""
    if not stop.whole or not stop.statement or stop.statement[0].type not in ("LET", "PARAM"):
        return None
    word, *rest = stop.statement
    if not rest:
        return _no_name(stop, word)
    if stop.type == "COLON" and word.type == "LET" and len(rest) == 1:
        return stop.finding(
            "a `let` has no type", f"write `let {rest[0]} = …`; a `param` has a type"
        )
    if stop.type in NAMES and word.type == "PARAM" and len(rest) == 1 and "COLON" in stop.expected:
        return stop.finding(
            f"`:` is missing before the type `{stop.text}`",
            f"write `param {rest[0]}: {stop.text} = …`",
            repair=Repair(insert=("COLON",)),
        )
    missing = "ASSIGN" in stop.expected and (stop.starts_value or stop.type in ("LBRACE", "LPAR"))
    if missing and not stop.words.is_first_on_line(stop.index):
        return stop.finding(
            "`=` is missing before the value",
            f"write `{word} {rest[0]} = …`",
            label="expected `=`",
            repair=Repair(insert=("ASSIGN",)),
        )
    return None


def _no_name(stop: Stop, word: Token) -> Finding | None:
    if stop.type in ("INT", "FLOAT", "QUANTITY"):
        return stop.finding(
            "a name does not begin with a digit", f"choose another name: `{word} x1`"
        )
    if stop.type != "STRING":
        return None
    name = stop.text[1:-1]
    return stop.finding(
        f"the name of a `{word}` has no quotation marks",
        f"write `{word} {name} = …`",
        edit=name,
        repair=Repair(replace="NAME"),
    )


# --- inside a block ---


def _block_not_closed(stop: Stop) -> Finding | None:
    """Find the next declaration, or the end of the text, inside a block."""
    if stop.block is None or stop.bracket is not None:
        return None
    over = stop.is_at_end or stop.words.starts_declaration(stop.index)
    if not over or "RBRACE" not in stop.expected:
        return None
    head = " ".join(str(token) for token in stop.head)
    found = "the text ends" if stop.is_at_end else f"`{stop.text}` stands"
    return stop.finding(
        f"{found} where `}}` was expected",
        code="E107" if stop.is_at_end else "E101",
        label="expected `}`",
        related=((span_of(stop.block), f"the block `{head}` is not closed"),),
    )


def _clause_meant(stop: Stop) -> Finding | None:
    """Find a word that is no clause where one is expected."""
    if stop.block is None or stop.type not in NAMES or stop.type in CLAUSES:
        return None
    if "REQUIRE" not in stop.expected:
        return None
    meant, kind = foreign_words.CLAUSES.get(stop.text, ("", None))
    if not meant and stop.text not in INFIX and _comes_before_value(stop):
        near = closest(stop.text, _CLAUSE_WORDS)
        meant, kind = (near, near.upper()) if near else ("", None)
        if near and stop.ends_value:
            return _no_clause(stop, meant, kind)
    if not _is_between(stop) or (stop.has_begun() and not meant):
        return None
    return _no_clause(stop, meant, kind)


def _no_clause(stop: Stop, meant: str, kind: str | None) -> Finding:
    helps = []
    if not meant and not _comes_before_value(stop):
        helps.append("an expression stands after the word of its clause, such as `require`")
    elif not meant:
        helps.append("clauses begin with words such as `when`, `require` and `prefer`")
    if stop.words.type(stop.index + 1) == "COLON":
        helps.append("rules are not YAML: a clause has no `:`")
    return stop.finding(
        f"`{stop.text}` is not a clause",
        *helps,
        label=f"did you mean `{meant}`?" if meant else "",
        edit=meant if kind else None,
        repair=Repair(replace=kind) if kind else None,
    )


def _comes_before_value(stop: Stop) -> bool:
    """Say whether what follows the word could be the expression of a clause."""
    after = stop.words.type(stop.index + 1)
    if stop.text.startswith("normali") and after in ("RBRACE", *CLAUSES):
        return True
    return after in (*NAMES, *LITERALS, "NOT", "COLON", "LBRACE", "LBRACKET", "LPAR")


def _inner_block(stop: Stop) -> Finding | None:
    """Find a brace after a condition, as if clauses could stand inside clauses."""
    if stop.block is None or stop.type != "LBRACE" or not stop.ends_value:
        return None
    if stop.words.type(stop.index + 1) not in CLAUSES | {"LET", "RBRACE"}:
        return None
    return stop.finding(
        "there are no blocks inside blocks",
        "a `when` holds for its whole block: write another one for another condition",
        repair=Repair(unwrap=True),
    )


def _clause_colon(stop: Stop) -> Finding | None:
    """Find `when: …`."""
    if stop.block is None or stop.type not in ("COLON", "ASSIGN") or not stop.is_bare:
        return None
    word = stop.statement[0]
    if word.type not in CLAUSES:
        return None
    return stop.finding(
        f"`{stop.text}` does not stand after `{word}`",
        f"write `{word} …`: a clause is its word and an expression",
        edit="",
        repair=Repair(skip=1),
    )


def _needs_when(stop: Stop) -> Finding | None:
    """Find `hold` and `reclaim` without the `when` that belongs to them."""
    if stop.block is None or not stop.statement or "WHEN" not in stop.expected:
        return None
    word = stop.statement[-1]
    if word.type not in ("HOLD", "RECLAIM"):
        return None
    return stop.finding(
        f"`{word}` is followed by `when`",
        f"write `{word} when …`",
        label="expected `when`",
        repair=Repair(insert=("WHEN",)),
    )


def _mode_name(stop: Stop) -> Finding | None:
    if stop.block is None or not stop.statement or stop.statement[-1].type != "MODE":
        return None
    help_ = "write `mode shadow`"
    if stop.type == "STRING":
        return stop.finding(
            "a mode has no quotation marks",
            f"write `mode {stop.text[1:-1]}`",
            edit=stop.text[1:-1],
            repair=Repair(replace="NAME"),
        )
    return stop.finding(f"`{stop.text}` cannot stand here", help_, label="expected a mode")


def _stray_comma(stop: Stop) -> Finding | None:
    """Find a comma between clauses."""
    if stop.block is None or stop.type != "COMMA" or stop.bracket is not None:
        return None
    if not stop.has_begun() or stop.ends_value:
        return stop.finding(
            "`,` does not stand between clauses", "remove it", edit="", repair=Repair(skip=1)
        )
    return None


BLOCK_EXPLAINERS: Final[tuple[Explainer, ...]] = (
    _head,
    _top_level,
    _declared,
    _block_not_closed,
    _mode_name,
    _needs_when,
    _clause_colon,
    _inner_block,
    _clause_meant,
    _stray_comma,
)
