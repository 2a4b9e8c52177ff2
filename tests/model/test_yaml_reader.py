"""The careful YAML reader: what texts mean to kubectl, where errors are, and what hostile texts
cost."""

from typing import Any

import pytest
import yaml

from policyd.model import yaml_reader
from policyd.model.yaml_reader import (
    MAX_DEPTH,
    UnknownAliasError,
    YamlError,
    locate,
    read_yaml,
    resolve,
)


def only(text: str) -> Any:
    [(value, _)] = read_yaml(text)
    return value


def error_of(text: str) -> YamlError:
    with pytest.raises(YamlError) as caught:
        list(read_yaml(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # go-yaml v2 as kubectl uses it; YAML 1.1 words, but times and base 60 stay texts.
        ("y", True),
        ("Yes", True),
        ("ON", True),
        ("n", False),
        ("off", False),
        ("yEs", "yEs"),
        ("~", None),
        ("Null", None),
        ("0755", 493),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("08", "08"),
        ("0_129", "0_129"),
        ("08.5", 8.5),
        ("1_000", 1000),
        ("+12", 12),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("+.5e-1", 0.05),
        ("1.", 1.0),
        ("-.5", -0.5),
        ("1e400", "1e400"),
        ("1" * 500, "1" * 500),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14T21:59:43.10Z", "2001-12-14T21:59:43.10Z"),
        ("190:20:30", "190:20:30"),
        ("250m", "250m"),
        ("1.2.3", "1.2.3"),
        ("10.0.0.1", "10.0.0.1"),
        ("-", "-"),
        ("_1", "_1"),
        ("0xg", "0xg"),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_kubectl(text, value):
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: '0755'\n", {"a": "0755"}),
        ("1: p\ntrue: q\n1.5: r\n", {"1": "p", "true": "q", "1.5": "r"}),
        (
            "a: !!str 5\nb: !!int 5\nc: !!float 5\nd: !custom 5\n",
            {"a": "5", "b": 5, "c": 5.0, "d": "5"},
        ),
        ("y: 1\n", {"true": 1}),
        ("a: '<<'\n", {"a": "<<"}),
        ("a: |\n  <<EOF\n  x\n", {"a": "<<EOF\nx\n"}),
        ("\ufeffa: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("a: b\t# tab before the comment\n", {"a": "b"}),
        ("  a:\n    b: c\n", {"a": {"b": "c"}}),
        ("{\n  a: 'x',\n  b: [1, 2,],\n}\n", {"a": "x", "b": [1, 2]}),
        ("%YAML 1.1\n---\na: yes\n", {"a": True}),
        ("''\n", ""),
    ],
)
def test_texts_that_kubectl_reads(text, value):
    assert only(text) == value


def test_of_merged_maps_the_first_wins_and_what_the_map_says_itself_wins_over_all():
    text = (
        "- &a {p: 1, q: 1}\n- &b {p: 2, q: 2, r: 2}\n- {r: 3, <<: [*a, *b]}\n- {<<: *a, <<: *b}\n"
    )
    assert only(text)[2:] == [{"p": 1, "q": 1, "r": 3}, {"p": 1, "q": 1, "r": 2}]


@pytest.mark.parametrize("text", ["", "\n", "# only\n# comments\n", "---\n---\n# x\n"])
def test_no_document_gives_no_value(text):
    assert list(read_yaml(text)) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "cause"),
    [
        ("a: b\na: c\n", 2, 1, 'the key "a" stands twice in this map'),
        ("1: b\n'1': c\n", 2, 1, 'the key "1" stands twice in this map'),
        ("a: .nan\n", 1, 4, "`.nan` is no number that JSON has"),
        ("a: [x, -.inf]\n", 1, 8, "`-.inf` is no number that JSON has"),
        ("a:\n  ? [x]\n  : y\n", 2, 7, "a key must be a text, and this is a list"),
        ("null: b\n", 1, 1, "a key must be a text, and this is null"),
        ("a: !!int x\n", 1, 4, '"x" is no value of the tag `!!int`'),
        ("a: !!binary aGk=\n", 1, 4, "the tag `!!binary` is not read"),
        ("a: *b\n", 1, 4, 'the alias "b" has no anchor that is complete before it'),
        ("&a [*a]\n", 1, 5, 'the alias "a" has no anchor that is complete before it'),
        ("<<: 3\n", 1, 5, "`<<` merges maps, and this is none"),
        ("a: x\x00\n", 1, 5, "the character U+0000 is not allowed in YAML"),
        ("a: b\nc: 'ü\x07'\n", 2, 6, "the character U+0007 is not allowed in YAML"),
        ("a: 'b\nc: d\n", 1, 4, "found unexpected end of stream (while scanning a quoted scalar)"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed in this context"),
    ],
)
def test_an_error_has_its_place_and_says_what_is_wrong(text, line, column, cause):
    error = error_of(text)
    assert (error.line, error.column, error.cause) == (line, column, cause)


def test_an_unknown_alias_can_be_told_apart():
    with pytest.raises(UnknownAliasError):
        list(read_yaml("- *x\n"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 1_000_000, id="brackets"),
        pytest.param("{a: " * 300_000, id="braces"),
        pytest.param("- " * 300_000, id="dashes"),
        pytest.param("? " * 300_000, id="question-marks"),
        pytest.param("".join("  " * i + "a:\n" for i in range(3000)), id="indents"),
    ],
)
def test_deep_nesting_is_an_error_that_names_the_limit(text):
    assert f"{MAX_DEPTH} levels" in error_of(text).remedy


def test_aliases_cannot_make_a_document_explode():
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"]
    laughs += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)]
    assert "aliases add more than" in error_of("".join(laughs)).cause


def test_a_long_text_repeated_by_aliases_counts_by_its_length():
    text = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 50)}]\n"
    assert "aliases add more than" in error_of(text).cause


def test_ten_megabytes_in_one_scalar_are_fine():
    assert len(only(f"a: {'x' * 10_000_000}\n")["a"]) == 10_000_000


def test_a_place_is_found_by_the_path_to_a_value():
    text = "a:\n  b:\n  - x\n  - c: 1\n    d: [p, q]\n---\na: 7\n"
    assert locate(text, ()) == (1, 1)
    assert locate(text, ("a", "b", 1, "d", 1)) == (5, 12)
    assert locate(text, ("a", "b", 1, "absent")) == (4, 5)
    assert locate(text, ("a",), document=1) == (7, 4)
    assert locate(text, ("a",), document=9) == (1, 1)


def test_without_libyaml_the_same_is_read(monkeypatch):
    text = "a: [1, yes, &x {b: c}]\nd: *x\ne: |\n  f\n"
    expected = only(text)
    monkeypatch.setattr(yaml_reader, "_Loader", yaml.SafeLoader)
    assert only(text) == expected
    assert "levels" in error_of("[" * 2000).remedy
    assert error_of("a: b\x00\n").line == 1
