"""What a rule set is compiled into, and what is refused."""

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.source import Source
from policyd.policy.load import examine, load
from policyd.policy.params import ParameterError
from tests.policy.build import rules


def codes(*texts):
    sources = [Source(f"{at}.expr", text) for at, text in enumerate(texts)]
    return [d.code for d in examine(sources)[1] if d.code[0] != "N"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('rule "r" { require 1 }', ["E205"]),
        ('rule "r" { require node.name }', ["E205"]),
        ('rule "r" { prefer "x" }', ["E205"]),
        ('rule "r" { require true because 1 }', ["W501", "E205"]),
        ('rule "r" { weight 3 }', ["E114"]),
        ('rule "r" { because "x" }', ["E114"]),
        ('rule "r" { order node.name }', ["E110"]),
        ('rule "r" { when node.ready when node.ready require node.ready }', ["E111"]),
        ('rule "r" { prefer 1 normalized normalize raw }', ["E111"]),
        ('rule "r" { mode shadwo prefer 1 }', ["E115"]),
        ('rule "r" { }', ["W507"]),
        ("rule { prefer 1 }", ["E113"]),
        ('queue "q" { order pod.priority }', ["E113"]),
        ('gang "g" { of pod.labels["x"] }', ["E112"]),
        ('preempt "p" { cost victim.priority }', ["E112"]),
        ('rule "r" { prefer 1 } rule "r" { prefer 2 }', ["E207"]),
        ("queue { order pod.priority } queue { order pod.created }", ["E207"]),
        ('let node = 1 rule "r" { prefer 1 }', ["E206", "W503"]),
        ('let a = 1 let a = 2 rule "r" { prefer a }', ["E207"]),
        ('let a = b let b = a rule "r" { prefer a }', ["E210"]),
        ('let f(x) = f(x) rule "r" { prefer f(1) }', ["E210"]),
        ('let unused = 1 rule "r" { prefer 1 }', ["W503"]),
        ('param p: int = 1 rule "r" { prefer 1 }', ["W504"]),
        ('param p: color = 1 rule "r" { prefer p }', ["E211"]),
        ('param p: int = "x" rule "r" { prefer p }', ["E215"]),
        ('param p rule "r" { prefer p }', ["E215"]),
        ('param pod: int = 1 rule "r" { prefer 1 }', ["E206", "W504"]),
        ('rule "r" { when false prefer 1 }', ["W505"]),
        ('rule "r" { when 1 < 2 prefer 1 }', ["W501"]),
        ('rule "r" { prefer node.ready ? 200 : 10 }', ["W506"]),
        ('rule "r" { prefer node.ready ? 200 : 10 normalized }', []),
        ('rule "r" { require victim.priority > 1 }', ["E217"]),
        ('gang "g" { of node.name size 1 }', ["E217"]),
        ('share "s" { tenant [pod.labels["team"]] measure dominant }', []),
        ('share "s" { tenant pod.labels["team"] halflife 3 }', ["E205"]),
        ("choose { order node.pods }", ["E205"]),
    ],
)
def test_what_is_found(text, expected):
    assert sorted(codes(text)) == sorted(expected)


def test_names_are_unique_over_files_and_the_first_place_is_told():
    sources = [Source("a.expr", 'rule "r" { prefer 1 }'), Source("b.expr", 'rule "r" { prefer 2 }')]
    (found,) = examine(sources)[1]
    assert found.code == "E207"
    assert found.source.name == "b.expr"
    assert found.notes == ("it is declared at a.expr:1",)


def test_parameters_are_shared_by_files_and_lets_are_not():
    assert codes('param p: int = 1 let a = 2 rule "x" { prefer a }', 'rule "r" { prefer p }') == []
    assert codes('let a = 2 rule "x" { prefer a }', 'rule "r" { prefer a }') == ["E201"]


def test_everything_that_is_wrong_in_all_files_is_reported_at_once():
    with pytest.raises(RuleError) as error:
        load([Source("a.expr", 'rule "r" { prefer x }'), Source("b.expr", 'rule "s" { prefer ( }')])
    assert [(d.source.name, d.code) for d in error.value.diagnostics] == [
        ("a.expr", "E201"),
        ("b.expr", "E101"),
    ]


def test_the_hash_is_of_texts_and_settings():
    text = 'param p: int = 1 rule "r" { prefer p }'
    assert rules(text).hash == rules(text).hash
    assert rules(text).hash != rules(text + " ").hash
    assert rules(text).hash != rules(text, p="2").hash


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "3", 3),
        ("double", "3", 3.0),
        ("double", "0.5", 0.5),
        ("string", "plain text", "plain text"),
        ("string", '"quoted"', "quoted"),
        ("bool", "true", True),
        ("list(string)", '["a"]', ["a"]),
    ],
)
def test_settings_are_read_by_the_parameters_type(type_, text, value):
    made = rules(
        f'param p: {type_} rule "r" {{ prefer size(string(p)) }}'.replace(
            "size(string(p))", "p == p ? 1 : 2"
        ),
        p=text,
    )
    assert made.values["p"] == value
    assert type(made.values["p"]) is type(value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"q": "1"}, "no rule has a parameter `q`"),
        ({"p": "x"}, "`x` is no value for `p`"),
        ({"p": "1.5"}, "`1.5` is double, and `p` is int"),
        ({}, "the parameter `p` has no value and no default"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ParameterError, match=message):
        rules('param p: int rule "r" { prefer p }', **settings)
