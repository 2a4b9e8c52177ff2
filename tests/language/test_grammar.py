"""The grammar: no conflict that Lark would settle in silence, and words that end where they end."""

import pytest
from lark import Lark

from policyd.assets.locate import shipped
from policyd.assets.tables import build_strictly
from policyd.language.builder import RESERVED
from policyd.language.diagnostics import RuleError
from policyd.language.parser import parse_expression, parse_file
from policyd.language.source import Source
from policyd.language.syntax import Block, Name, Select

GRAMMAR = (shipped("grammar") / "policyd.lark").read_text(encoding="utf-8")
KEYWORDS = sorted(
    terminal.pattern.value
    for terminal in build_strictly().terminals
    if terminal.pattern.type == "str" and terminal.pattern.value.isalpha()
)
FIXED = {"in", "true", "false", "null"}


def test_the_grammar_is_lalr_without_conflicts_in_strict_mode():
    assert isinstance(build_strictly(), Lark)


@pytest.mark.parametrize("word", [word for word in KEYWORDS if word not in FIXED])
def test_words_of_the_language_are_names_where_no_clause_can_start(word):
    if word not in RESERVED:
        assert parse_expression(Source("t", word)) == Name(word)
    assert parse_expression(Source("t", f"a.{word}")) == Select(Name("a"), word)
    assert parse_expression(Source("t", f"a.all({word}x, {word}x)")) is not None


@pytest.mark.parametrize("text", ["x inb", "a.in", "a.true", "1 in", "x install y"])
def test_keywords_end_at_the_end_of_the_word(text):
    with pytest.raises(RuleError):
        parse_expression(Source("t", text))


def test_clauses_need_no_terminators_and_blocks_may_stand_on_one_line():
    text = 'rule "a" { when x require -y because "z" prefer order weight 2 mode shadow } queue { }'
    blocks = parse_file(Source("t", text)).declarations
    assert [block.word for block in blocks if isinstance(block, Block)] == ["rule", "queue"]
    words = [clause.word for clause in blocks[0].clauses]
    assert words == ["when", "require", "because", "prefer", "weight", "mode"]
