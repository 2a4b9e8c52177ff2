"""Strings: cel-go's answers, by dialect where the two differ, and bounds on what is built."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.declarations import Overload
from policyd.language.limits import MAX_LIST, MAX_STRING, MAX_WORK
from policyd.language.standard import standard_functions
from tests.language.libraries.evaluation import (
    CEL,
    KUBERNETES,
    assert_gives,
    evaluate,
    evaluate_typed,
    fault_of,
    limit_of,
)

BOTH = (KUBERNETES, CEL)


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"tacocat".charAt(3)', '"o"'),
        ('"tacocat".charAt(7)', '""'),
        ('"😀a".charAt(1)', '"a"'),
        ('"hello mellow".indexOf("ello")', "1"),
        ('"hello mellow".indexOf("ello", 2)', "7"),
        ('"hello".indexOf("jello")', "-1"),
        ('"hello".indexOf("o", 5)', "-1"),
        ('"tacocat".indexOf("", 3)', "3"),
        ('"".indexOf("")', "0"),
        ('"hello mellow".lastIndexOf("ello")', "7"),
        ('"hello mellow".lastIndexOf("ello", 6)', "1"),
        ('"tacocat".lastIndexOf("")', "7"),
        ('"tacocat".lastIndexOf("", 3)', "3"),
        ('"".lastIndexOf("a")', "-1"),
        ('"ta©o©ñT".lastIndexOf("©ñ", 4)', "4"),
        ('"TacoCÆt İ".lowerAscii()', '"tacocÆt İ"'),
        ('"TacoCÆt ß".upperAscii()', '"TACOCÆT ß"'),
        ('"abc".replace("", "_")', '"_a_b_c_"'),
        ('"abc".replace("", "_", 2)', '"_a_bc"'),
        ('"aaa".replace("a", "b", 2)', '"bba"'),
        ('"aaa".replace("a", "b", 0)', '"aaa"'),
        ('"aaa".replace("a", "b", -1)', '"bbb"'),
        ('"aaa".replace("aa", "")', '"a"'),
        ('"a,b,c".split(",")', '["a", "b", "c"]'),
        ('"a,b,c".split(",", 2)', '["a", "b,c"]'),
        ('"a,b,c".split(",", 0)', "[]"),
        ('"a,b,c".split(",", 1)', '["a,b,c"]'),
        ('"a,b,c".split(",", -1)', '["a", "b", "c"]'),
        ('"".split(",")', '[""]'),
        ('"".split("")', "[]"),
        ('"abc".split("")', '["a", "b", "c"]'),
        ('"abc".split("", 2)', '["a", "bc"]'),
        ('"abc".split("", 9)', '["a", "b", "c"]'),
        ('"tacocat".substring(4)', '"cat"'),
        ('"tacocat".substring(7)', '""'),
        ('"tacocat".substring(0, 4)', '"taco"'),
        ('"tacocat".substring(4, 4)', '""'),
        ('"\\u0085\\u00a0\\u1680 \\t\\n\\v\\f\\rx\\u2028\\u3000".trim()', '"x"'),
        ('"\\u001cx\\u200b".trim()', '"\\u001cx\\u200b"'),
        ('["a", "b"].join()', '"ab"'),
        ('["a", "b"].join("-")', '"a-b"'),
        ('["a"].join("-")', '"a"'),
        ('[].join("-")', '""'),
        (
            'strings.quote("a\\"b\\\\\\a\\b\\f\\n\\r\\t\\v\\u0001é")',
            'r"""' + '"a\\"b\\\\\\a\\b\\f\\n\\r\\t\\v""" + "\\u0001é\\""',
        ),
        ('"Ta©oCñt".reverse()', '"tñCo©aT"'),
        ('size("😀é")', "2"),
        ('"😀é".size()', "2"),
        ('size(b"é")', "2"),
        ('b"\\xff".size()', "1"),
        ("size([1, 2])", "2"),
        ("[].size()", "0"),
        ('size({"a": 1})', "1"),
        ("{}.size()", "0"),
        ('"abc".contains("bc")', "true"),
        ('"abc".contains("")', "true"),
        ('"abc".startsWith("b")', "false"),
        ('"abc".endsWith("bc")', "true"),
    ],
)
def test_functions_of_strings_answer_as_cel_go(expression, expected, dialect):
    assert_gives(expression, expected, dialect)


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('"a".charAt(2)', "index out of range: 2"),
        ('"a".charAt(-1)', "index out of range: -1"),
        ('"a".indexOf("b", -1)', "index out of range: -1"),
        ('"a".lastIndexOf("b", -1)', "index out of range: -1"),
        ('"abc".substring(-1)', "index out of range: -1"),
        ('"abc".substring(4)', "index out of range: 4"),
        ('"abc".substring(1, 4)', "index out of range: 4"),
        ('"abc".substring(4, 5)', "index out of range: 4"),
        ('"abc".substring(2, 1)', "invalid substring range. start: 2, end: 1"),
        ('[dyn("a"), dyn(1)].join()', "join needs a list of strings"),
    ],
)
def test_positions_outside_of_a_string_are_faults(expression, message, dialect):
    assert fault_of(expression, dialect) == message


@pytest.mark.parametrize(
    ("expression", "in_kubernetes"),
    [
        ('"tacocat".indexOf("a", 30)', "-1"),
        ('"tacocat".lastIndexOf("a", 30)', "-1"),
        ('"hello".indexOf("", 20)', "20"),
        ('"hello".indexOf("", -5)', "-5"),
        ('"hello".lastIndexOf("", 20)', "20"),
    ],
)
def test_a_search_from_outside_of_the_string_depends_on_the_dialect(expression, in_kubernetes):
    assert_gives(expression, in_kubernetes)
    assert fault_of(expression, CEL).startswith("index out of range")


@pytest.mark.parametrize("name", ["contains", "startsWith", "endsWith"])
def test_null_an_absent_label_answers_no_to_a_question_about_strings(name):
    for label, answer in ((None, False), ("x", True)):
        found = evaluate_typed(f'label.{name}("")', {"label": "string?"}, label=label)
        assert found is answer
    assert "no such overload" in fault_of(f'label.{name}("")', label=None)  # of type dyn
    assert not _overload(name, f"nullable_{_overload(name).id}").portable


def test_reversing_a_string_is_an_addition_to_kubernetes_only():
    assert not _overload("reverse", "string_reverse").portable
    assert _overload("reverse", "string_reverse", CEL).portable


def _overload(name, id_="", dialect=KUBERNETES) -> Overload:
    overloads = standard_functions(dialect)[name].overloads
    return next(it for it in overloads if it.id == id_ or not id_)


@given(st.text("ab", max_size=200), st.text("ab", min_size=30, max_size=60), st.integers(0, 210))
def test_searching_backwards_for_a_long_string_finds_what_a_simple_search_finds(text, part, at):
    text = text + part + text
    at = min(at, len(text) - 1)
    assert evaluate("s.lastIndexOf(p)", s=text, p=part) == text.rfind(part)
    want = text.rfind(part, 0, at + len(part))
    assert evaluate("s.lastIndexOf(p, at)", s=text, p=part, at=at) == want


@pytest.mark.timing
def test_searching_takes_linear_time_either_way():
    part = "a" * 100_000 + "b" + "a" * 100_000
    start = time.perf_counter()
    assert evaluate("s.lastIndexOf(p)", s="a" * 1_000_000, p=part) == -1
    assert evaluate("s.indexOf(p)", s="a" * 1_000_000, p=part) == -1
    assert time.perf_counter() - start < 2  # measured: 0.01; a quadratic search takes minutes


@pytest.mark.parametrize(
    "expression",
    [
        's.replace("", s)',
        's.replace("a", s)',
        "[s, s].join()",
        'l.join("' + "x" * 100 + '")',
        "strings.quote(q)",
    ],
)
def test_a_string_past_the_limit_is_refused_before_it_is_made(expression):
    big = "a" * (MAX_STRING * 3 // 4)
    message = limit_of(expression, s=big, l=["a"] * 50_000, q='"' * (MAX_STRING - 10))
    assert message in (
        f"a string may have at most {MAX_STRING:,} characters",
        f"this takes more than {MAX_WORK:,} units of work, the limit of one evaluation",
    )


def test_a_list_past_the_limit_is_refused_before_it_is_made():
    message = f"a list may have at most {MAX_LIST:,} elements"
    assert limit_of('s.split("")', s="a" * (MAX_LIST + 1)) == message
    assert len(evaluate('s.split("")', s="a" * MAX_LIST)) == MAX_LIST
    assert len(evaluate('s.split("", 3)', s="a" * (MAX_LIST + 1))) == 3
