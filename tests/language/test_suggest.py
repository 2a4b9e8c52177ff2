"""What was probably meant."""

import re

import pytest

from policyd.language import suggest
from policyd.language.dialect import Dialect
from policyd.language.macros import MACROS
from policyd.language.standard import standard_functions
from policyd.language.suggest import (
    closest,
    edit_distance,
    hint_for_field,
    hint_for_function,
    hint_for_name,
)

FIELDS = ("name", "labels", "annotations", "taints", "allocatable", "used", "free", "pods", "zone")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("lables", "labels"),
        ("label", "labels"),
        ("allocateable", "allocatable"),
        ("Labels", "labels"),
        ("NAME", "name"),
        ("nmae", "name"),
        ("taint", "taints"),
        ("anotations", "annotations"),
        ("status", None),
        ("x", None),
        ("ab", None),
        ("", None),
        ("labels", None),
        ("l" * 100_000, None),
    ],
)
def test_nearest_field_is_suggested_or_none(word, meant):
    assert closest(word, FIELDS) == meant


def test_case_and_separators_come_before_letters():
    assert closest("lower_ascii", ["lowerAscii", "lower_asci"]) == "lowerAscii"
    assert closest("STARTSWITH", ["startsWith", "startswit"]) == "startsWith"


def test_equally_near_words_are_settled_by_the_first_letter_and_the_alphabet():
    assert closest("cat", ["bat", "car", "cab"]) == "cab"
    assert closest("cat", ["car", "cab", "bat"]) == "cab"
    assert closest("bet", ["get", "let"]) == "get"


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "abd", 1),
        ("abc", "ab", 1),
        ("abcd", "badc", 2),
        ("kitten", "sitting", 3),
        ("kitten", "mailbox", 4),
        ("a", "abcdefgh", 4),
    ],
)
def test_distance_counts_changes_and_swaps_up_to_its_bound(one, other, distance):
    assert edit_distance(one, other, 3) == distance
    assert edit_distance(other, one, 3) == distance


@pytest.mark.parametrize(
    ("name", "is_method", "count", "hint"),
    [
        ("len", False, 1, "use `size(x)`"),
        ("lenght", True, 0, "use `x.size()`"),
        ("length", True, 0, "use `x.size()`"),
        ("count", True, 0, "use `x.size()`"),
        ("count", True, 2, "use `xs.filter(x, …).size()`"),
        ("lower", False, 1, "use `x.lowerAscii()`"),
        ("toLower", True, 0, "use `x.lowerAscii()`"),
        ("ToUpperCase", True, 0, "use `x.upperAscii()`"),
        ("abs", False, 1, "use `math.abs(x)`"),
        ("max", False, 2, "use `math.greatest(a, b)`"),
        ("max", False, 1, "use `xs.max()`"),
        ("min", False, 3, "use `math.least(a, b)`"),
        ("concat", True, 1, "join with `+`: `a + b`, and one element as `list + [x]`"),
        ("contains", True, 1, "use `x in list`"),
        ("hasKey", True, 1, 'use `"key" in m`'),
        ("any", True, 2, "use `.exists(x, …)`"),
        ("every", True, 2, "use `.all(x, …)`"),
        ("isNull", True, 0, "compare with null: `x == null`"),
        ("coalesce", False, 2, 'use an optional: `m[?"key"].orValue(0)`, `a.?b.orValue(0)`'),
        ("startswith", False, 2, "use `x.startsWith(prefix)`"),
        ("now", False, 0, "`now` is a name: leave the parentheses out"),
        ("not", False, 1, "use `!x`"),
        ("frobnicate", False, 1, None),
        ("len", False, 2, None),
    ],
)
def test_functions_of_other_languages_have_a_hint(name, is_method, count, hint):
    assert hint_for_function(name, is_method=is_method, argument_count=count) == hint


def test_fields_and_names_of_other_languages_have_a_hint():
    assert hint_for_field("length") == "use `x.size()`"
    assert hint_for_field("labels") is None
    assert hint_for_name("None") == "write `null`"
    assert hint_for_name("TRUE") == "write it in small letters: `true`, `false`, `null`"
    assert hint_for_name("node") is None


def test_every_function_that_a_hint_names_exists():
    """Hints name functions of Kubernetes' dialect, with their full names, or macros."""
    known = set(standard_functions(Dialect.KUBERNETES)) | {name for name, _ in MACROS}
    hints = [*suggest._HINTS.values(), *suggest._FIELDS.values(), *suggest._NAMES.values()]
    named = {
        name
        for hint in hints
        for quoted in re.findall(r"`([^`]+)`", hint)
        for name in re.findall(r"((?:math\.|sets\.|lists\.)?[A-Za-z_]+)\(", quoted)
    }
    assert len(named) > 50
    assert named - known == set()
