"""All independent mistakes of a text are reported, each once, and not what follows from them."""

import random
import re
from pathlib import Path

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.limits import MAX_DIAGNOSTICS
from policyd.language.parser import parse_expression, parse_file
from policyd.language.source import Source

RULES = Path(__file__).resolve().parents[2] / "rules"


def found(text, parse=parse_file):
    with pytest.raises(RuleError) as caught:
        parse(Source("x.expr", text))
    return caught.value.diagnostics


def places(text, parse=parse_file):
    """Give the line and the marked text of each diagnostic."""
    return [
        (d.source.position(d.span.start)[0], d.source.slice(d.span)) for d in found(text, parse)
    ]


def test_one_mistake_in_each_clause_is_reported():
    text = """\
rul "first" {
  when a = b
  require c and d or e
  prefer (1 +
  weight 5 5
  because "x" because 'y
}

let f(x) == x
param y int = 3
param z := 3
let q: int = 4
import "x"

queue {
  order a desc,
  hold a == 1
}
rule second { requires x }
"""
    assert places(text) == [
        (1, "rul"),
        (2, "="),
        (3, "and"),
        (3, "or"),
        (5, "weight"),
        (5, "5"),
        (6, "'y"),
        (9, "=="),
        (10, "int"),
        (11, ":="),
        (12, ":"),
        (13, "import"),
        (17, "hold"),
        (17, "a"),
        (19, "second"),
        (19, "requires"),
    ]


def test_faults_of_characters_are_reported_with_those_of_the_grammar():
    text = 'rule "x" {\n  when a & b\n  require \u201cx\u201d == c d\n  # note\n  prefer 1;\n}\n'
    assert places(text) == [(2, "&"), (3, "\u201cx\u201d"), (3, "d"), (4, "#"), (5, ";")]


def test_literals_and_reserved_words_are_reported_with_the_rest():
    text = 'rule "x" {\n  when "\\q" == a\n  require while\n  prefer a b\n}\n'
    assert places(text) == [(2, "\\q"), (3, "while"), (4, "b")]


def test_same_character_in_many_places_is_reported_once_with_a_count():
    (diagnostic,) = found("a\u00a0==\u00a0b\u00a0", parse_expression)
    assert diagnostic.notes == ("the same stands in 2 more places",)


def test_block_comments_are_passed_over_with_all_that_is_in_them():
    text = "let x = 1 /* it's\n a b c ) */ + 2\n/* more */\nlet y = 2 2\n"
    assert places(text) == [(1, "/*"), (3, "/*"), (4, "2")]


def test_unended_string_takes_no_more_than_its_line():
    text = 'rule "x" {\n  require f("abc)\n  because "y"\n}\nrule \'z {\n  when a\n}\nlet q = 1 1\n'
    assert places(text) == [(2, '"abc)'), (5, "'z {"), (8, "1")]


def test_unended_long_string_takes_the_rest_of_the_text():
    assert places('rule "x" {\n  require """a\n}\nlet x = 1 1\n') == [(2, '"""a')]


def test_yaml_is_read_as_far_as_it_is_a_rule():
    text = 'rule "x":\n  when: a\n  require: b\nrule "y":\n  prefer: 1\n'
    assert places(text) == [(1, ":"), (2, ":"), (3, ":"), (4, ":"), (5, ":")]


def test_blocks_inside_blocks_do_not_end_the_outer_one():
    text = 'rule "x" {\n  if a {\n    require b\n  }\n  deny c\n}\nrule "y" { when a b }\n'
    assert places(text) == [(2, "if"), (2, "{"), (5, "deny"), (7, "b")]


def test_missing_brace_does_not_hide_the_next_block():
    text = 'rule "x" {\n  require a\n\nrule "y" {\n  require b c\n}\n'
    assert places(text) == [(4, "rule"), (5, "c")]


def test_brace_too_many_does_not_hide_the_next_block():
    assert places('rule "x" { when a } }\nrule "y" { when b c }') == [(1, "}"), (2, "c")]


def test_clauses_outside_a_block_are_reported_once():
    assert places("require x\nwhen y\nlet z = 1 1") == [(1, "require"), (3, "1")]


def test_text_without_a_declaration_is_one_mistake():
    assert places("a b c\nd e f\n") == [(1, "a")]


def test_lets_at_the_margin_of_a_block_stay_in_it():
    text = 'rule "x" {\nlet y = 3\nprefer y y\nlet z = 4\n}\nlet w = 5 5\n'
    assert places(text) == [(3, "y"), (6, "5")]


def test_head_that_cannot_be_read_does_not_hide_its_clauses():
    assert places('rule "x" "y" {\n  when a b\n}\nlet z = 1 1\n') == [
        (1, '"y"'),
        (2, "b"),
        (4, "1"),
    ]


def test_head_without_a_brace_ends_before_the_next_block():
    assert places('rule one two\nrule "x" { when a b }') == [(1, "one"), (2, "b")]


def test_let_at_the_margin_begins_a_declaration_where_the_block_is_not_closed():
    text = 'rule "x" {\n  prefer 1 1\n\nlet y = 2 2\nrule "z" {\n  when a b\n}\n'
    assert places(text) == [(2, "1"), (4, "2"), (6, "b")]


def test_keys_that_are_no_clauses_are_named_as_such():
    assert places('rule "x" {\n  name: "a"\n  when: b\n}\n') == [(2, "name"), (3, ":")]


def test_colon_for_the_name_of_a_let_is_a_mistake():
    assert places("let : 1\nlet y = 1 1\n") == [(1, ":"), (2, "1")]


def test_depth_is_bounded_behind_a_mistake():
    found_there = found("let x = 1 1\nlet y = 1" + " + 1" * 500 + "\n")
    assert [d.code for d in found_there] == ["E101", "E302"]


def test_repeated_bad_characters_are_one_mistake():
    assert places("a ;;; == b", parse_expression) == [(1, ";;;")]


def test_only_the_first_fault_of_an_expression_that_cannot_be_read_on_is_reported():
    assert places("(a b) c + + d", parse_expression) == [(1, "b")]


def test_expression_is_read_on_where_the_meaning_is_sure():
    assert places("a and b = c or not d", parse_expression) == [
        (1, "and"),
        (1, "="),
        (1, "or"),
        (1, "not"),
    ]


def test_no_more_than_the_bound_is_reported():
    assert len(found('rule "x" {\n' + "  when a b\n" * 200 + "}\n")) == MAX_DIAGNOSTICS
    assert len(found("a" + " and a" * 500, parse_expression)) == MAX_DIAGNOSTICS


def test_diagnostics_come_in_the_order_of_the_text():
    text = 'rule "x" {\n  when "\\q" b\n  require ; a b\n}\nlet x == "\\z"\n'
    spans = [d.span for d in found(text)]
    assert spans == sorted(spans)
    assert len(spans) == 5


def test_good_files_have_no_faults():
    for path in sorted(RULES.glob("*.expr")):
        parse_file(Source(path.name, path.read_text(encoding="utf-8")))


PIECES = (
    *("(", ")", "[", "]", "{", "}", "=", "==", "and", "not", "?", ":", ".", ",", ";", "&", "foo"),
    *("rule", "require", "let", '"', "'", '"""', "/*", "#", "5.", "1_0", "\u201c", "\0", "\\", "$"),
)


def damaged(text, rng):
    """Take a word of a text away, or put one in."""
    words = re.findall(r"\"[^\"\n]*\"|//.*|\w+|\s+|.", text)
    at = rng.randrange(len(words))
    if rng.random() < 0.5:
        del words[at]
    else:
        words.insert(at, f" {rng.choice(PIECES)} ")
    return "".join(words)


def rule_texts():
    return [path.read_text(encoding="utf-8") for path in sorted(RULES.glob("*.expr"))]


@pytest.mark.parametrize("seed", range(5))
def test_one_damage_to_a_good_file_gives_mostly_one_diagnostic(seed):
    """No cascades: of the damaged files that are refused, few have more than one diagnostic."""
    rng, texts = random.Random(seed), rule_texts()  # noqa: S311 - no secret depends on it
    counts = []
    for _ in range(100):
        try:
            parse_file(Source("x", damaged(rng.choice(texts), rng)))
        except RuleError as error:
            counts.append(len(error.diagnostics))
    assert sum(count > 1 for count in counts) < 0.08 * len(counts)
    assert max(counts) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_any_damage_gives_diagnostics_with_places_inside_the_text(seed):
    rng, texts = random.Random(seed), rule_texts()  # noqa: S311 - no secret depends on it
    for _ in range(40):
        text = rng.choice(texts)
        for _ in range(rng.randrange(1, 8)):
            text = damaged(text, rng)
        for parse in (parse_file, parse_expression):
            try:
                parse(Source("x", text))
            except RuleError as error:
                for diagnostic in error.diagnostics:
                    assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
                    for span, _ in diagnostic.related:
                        assert 0 <= span.start <= span.end <= len(text)
