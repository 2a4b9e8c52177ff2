"""Regular expressions; the tables were answered by Go's `regexp`, on which Kubernetes runs."""

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.dialect import Dialect
from policyd.language.libraries.regex import (
    MAX_MEMORY,
    MAX_PATTERN,
    READINGS,
    compile_pattern,
    library,
)
from policyd.values.errors import LimitFault, ValueFault
from tests.language.libraries.evaluation import CEL, KUBERNETES, evaluate, fault_of

OVERLOADS = {
    overload.id: overload
    for function in library(Dialect.KUBERNETES).functions
    for overload in function.overloads
}
matches = OVERLOADS["matches_string"].implementation
find = OVERLOADS["string_find_string"].implementation
find_all = OVERLOADS["string_find_all_string_int"].implementation


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('"hubba".matches("ubb")', True),
        ('matches("hubba", "^ubb")', False),
        ('"mañana".matches("a+ñ+a+")', True),
        ('"\U0001f431\U0001f600\U0001f600".matches("(a|\U0001f600){2}")', True),
        ('"a\\nb".matches("a.b")', False),
        ('"a\\nb".matches("(?s)a.b")', True),
        ('"abc 123".find("[0-9]+")', "123"),
        ('"abc 123".find("[0-9]*")', ""),
        ('"123 abc 456".findAll("[0-9]+")', ["123", "456"]),
        ('"123 abc 456".findAll("[0-9]+", 1)', ["123"]),
        ('"123 abc 456".findAll("[0-9]+", 0)', []),
        ('"123 abc 456".findAll("[0-9]+", -1)', ["123", "456"]),
    ],
)
def test_expressions_answer_as_in_kubernetes(expression, value, dialect):
    assert evaluate(expression, dialect) == value


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("abc", "", ["", "", "", ""]),
        ("baab", "a*", ["", "aa", ""]),
        ("aéb", "é*", ["", "é", ""]),
        ("a\x00b", ".", ["a", "\x00", "b"]),
        ("a\x00b", "\x00", ["\x00"]),
        ("xéy", "[^a-z]", ["é"]),
        ("\U0001f600é", r"\pL|\pS", ["\U0001f600", "é"]),
        # Between the bytes of a character is no place for a match to be.
        ("éxé", r"\B", ["", ""]),
        ("0\U0001f6000", r"\B", []),
        ("ab", r"\b", ["", ""]),
        ("ab", "^|b", ["", "b"]),
        ("aab", "(a|b)+?", ["a", "a", "b"]),
        ("Éa", "(?i)é", ["É"]),
        (r"\C", r"\Q\C\E", [r"\C"]),
        (r"\C", r"\\C", [r"\C"]),
        ("", "", [""]),
        ("\n", "(?m)^", ["", ""]),
    ],
)
def test_every_match_is_found_where_go_finds_it(text, pattern, found):
    assert find_all(text, pattern, -1) == found
    assert find_all(text, pattern, 1) == found[:1]
    assert find(text, pattern) == (found[0] if found else "")
    assert matches(text, pattern) is bool(found)


# Patterns that mean the same to Python's `re`, which is slow on none of them.
atoms = st.sampled_from(["a", "b", "é", "\U0001f600", ".", "[ab]", "[^a]", "(?:a|é)", "x", r"\."])
simple = st.lists(
    st.builds(str.__add__, atoms, st.sampled_from(["", "", "*", "+", "?"])), min_size=1, max_size=4
).map("".join)


@given(st.text(st.sampled_from("abéx.\U0001f600"), max_size=12), simple)
def test_simple_patterns_agree_with_python(text, pattern):
    expected = re.search(pattern, text)
    assert matches(text, pattern) is (expected is not None)
    assert find(text, pattern) == (expected[0] if expected else "")


@given(st.text(st.characters(), max_size=20), st.text(st.characters(), max_size=10))
def test_any_text_and_pattern_give_an_answer_or_a_fault(text, pattern):
    for overload in OVERLOADS.values():
        arguments = (text, pattern, -1)[: len(overload.params)]
        assert overload.cost(*arguments) >= 0
        with contextlib.suppress(ValueFault):
            overload.implementation(*arguments)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing ): ("),
        ("a**", "bad repetition operator: **"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("[z-a]", "invalid character class range: z-a"),
        (r"\Z", r"invalid escape sequence: \Z"),
        (r"\C", r"invalid escape sequence: \C"),
        (r"[a]\\\C", r"invalid escape sequence: \C"),
        (r"(a)\1", r"back references are not supported: \1"),
        ("(?P<n>a)(?P=n)", "invalid perl operator: (?P"),
        ("(?=a)", "lookahead and lookbehind are not supported: (?="),
        ("(?!a)", "lookahead and lookbehind are not supported: (?!"),
        ("(?<=a)", "lookahead and lookbehind are not supported: (?<="),
        ("(?<!a)", "lookahead and lookbehind are not supported: (?<!"),
        ("\ud800", "half of a surrogate pair"),
        ("x" * (MAX_PATTERN + 1), f"limit of {MAX_PATTERN} characters"),
        ("x" * 10_000_000, f"limit of {MAX_PATTERN} characters"),
        (r"(?:\pL{1000}){1}" * 9, f"limit of {MAX_MEMORY} bytes"),
    ],
)
def test_a_pattern_that_re2_refuses_is_a_fault_with_the_reason(pattern, reason):
    start = time.perf_counter()
    with pytest.raises(ValueFault) as caught:
        compile_pattern(pattern)
    assert time.perf_counter() - start < 1
    assert reason in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400


def test_a_computed_pattern_is_refused_when_it_is_met():
    assert "missing )" in fault_of('"a".matches(p)', p="(")


def test_half_of_a_surrogate_pair_in_the_text_is_a_fault():
    for run in (matches, find, lambda text, pattern: find_all(text, pattern, 1)):
        with pytest.raises(ValueFault, match="half of a surrogate pair"):
            run("a\udc00", "a")


@pytest.mark.timing
@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(x?){50}x{50}y", "(x|xx)*y", "(.*)(.*)(.*)(.*)y"])
def test_patterns_that_ruin_backtracking_take_linear_time(pattern):
    start = time.perf_counter()
    assert matches("x" * 100_000, pattern) is False
    assert time.perf_counter() - start < 1


@pytest.mark.timing
@pytest.mark.parametrize(
    ("text", "pattern"), [("a" * 100_000, "a(.*z)?"), ("ab" * 50_000, "(a|b)*a(a|b){30}c|a")]
)
def test_looking_for_many_matches_in_a_long_text_meets_a_limit(text, pattern):
    start = time.perf_counter()
    with pytest.raises(LimitFault, match="too often"):
        find_all(text, pattern, -1)
    assert time.perf_counter() - start < 2


def test_many_matches_in_a_text_of_usual_length_meet_no_limit():
    text = '"key": "value",' * 1000
    assert len(find_all(text, '"[a-z]+":', -1)) == 1000
    assert len(find_all("a" * 3000, "a", -1)) == 3000
    assert find_all("a" * 1_000_000, "a", 3) == ["a", "a", "a"]
    assert READINGS > 1


def test_the_charge_grows_with_the_text_and_does_not_depend_on_what_is_kept():
    cost = OVERLOADS["matches_string"].cost
    first = cost("a" * 1000, "(a|b)*c")
    assert cost("a" * 1000, "(a|b)*c") == first
    assert cost("a" * 2000, "(a|b)*c") == pytest.approx(2 * first, rel=0.1)
    assert cost("a" * 1000, "(?:(?:a|b){10}){90}") > 20 * first
    assert 0 < cost("a", "(") < 10
    assert cost("a", r"(?:\pL{1000}){1}" * 9) > 10_000
