"""Texts made to do harm get a diagnostic that names the limit, in less than a second.

Time is that of the processor, so that a busy machine does not fail the tests.
"""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.decoding import decode
from policyd.language.diagnostics import RuleError
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.limits import MAX_DIAGNOSTICS
from policyd.language.parser import parse_expression, parse_file
from policyd.language.render import render, to_json
from policyd.policy.load import examine

SECONDS = 1.0


@pytest.fixture(autouse=True, scope="module")
def parser():
    """Build the parser before anything is timed."""
    parse_expression(decode("x", b"1"))


def refused(data, parse):
    """Give the diagnostics of a text, all of them also printed, after less than a second."""
    start = time.process_time()
    with pytest.raises(RuleError) as caught:
        parse(decode("hostile.expr", data))
    diagnostics = caught.value.diagnostics
    for diagnostic in diagnostics:
        render(diagnostic, colour=True)
        to_json(diagnostic)
    assert time.process_time() - start < SECONDS
    assert len(diagnostics) <= MAX_DIAGNOSTICS
    return diagnostics


LIMITS = [
    ("parentheses", b"(" * 10_000 + b"1" + b")" * 10_000, "E302", "128 levels"),
    ("open parentheses", b"(" * 10_000, "E302", "128 levels"),
    ("lists", b"[" * 10_000 + b"]" * 10_000, "E302", "128 levels"),
    ("maps", b"{1:" * 10_000 + b"1" + b"}" * 10_000, "E302", "128 levels"),
    ("indexes", b"a" + b"[a" * 10_000 + b"]" * 10_000, "E302", "128 levels"),
    ("calls", b"f(" * 10_000 + b")" * 10_000, "E302", "128 levels"),
    ("macros", b"[1].map(x, " * 5_000 + b"x" + b")" * 5_000, "E302", "128 levels"),
    ("negations", b"!" * 10_000 + b"a", "E302", "128 levels"),
    ("signs", b"-" * 10_001 + b"a", "E302", "128 levels"),
    ("sums", b"1" + b" + 1" * 20_000, "E302", "128 levels"),
    ("selections", b"a" + b".b" * 20_000, "E302", "128 levels"),
    ("calls in a row", b"a" + b".f()" * 10_000, "E302", "128 levels"),
    ("conditions", b"a ? b : " * 10_000 + b"c", "E302", "128 levels"),
    ("commas", b"," * 200_000, "E303", "60,000 words"),
    ("elements", b"[" + b"1," * 100_000 + b"]", "E303", "60,000 words"),
    ("10 MB", b"a" * 10_000_000, "E301", "262,144 characters"),
    ("10 MB of rules", b'rule "x" { when a }\n' * 500_000, "E301", "262,144 characters"),
    ("1 MB string", b'"' + b"a" * 1_000_000 + b'"', "E301", "262,144 characters"),
    ("10 MB that are no UTF-8", b"\xff" * 10_000_000, "E301", "262,144 characters"),
    ("NUL bytes", b"a == \0" * 1000, "E305", "NUL byte"),
    ("invalid UTF-8", b"a == \xc3(" * 1000, "E304", "not UTF-8"),
    ("UTF-16", "a == 1".encode("utf-16"), "E304", "UTF-16"),
]


@pytest.mark.timing
@pytest.mark.parametrize("parse", [parse_expression, parse_file])
@pytest.mark.parametrize(
    ("data", "code", "limit"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS]
)
def test_limit_is_named(data, code, limit, parse):
    prefix = b"" if parse is parse_expression or code in ("E304", "E301") else b"let x = "
    (diagnostic,) = [d for d in refused(prefix + data, parse) if d.code == code]
    assert limit in diagnostic.message


MANY = {
    "words": b"foo " * 50_000,
    "lines of words": b"foo\n" * 50_000,
    "bad characters": b"$ " * 100_000,
    "no-break spaces": "a\u00a0".encode() * 80_000,
    "zero width spaces": "a\u200b".encode() * 60_000,
    "combining marks": ("a" + "\u0301" * 200_000).encode(),
    "quotes": b'" \n' * 60_000,
    "long string without an end": b'"""' + b"a\n" * 100_000,
    "bad clauses": b'rule "x" {\n' + b"when a b\n" * 15_000 + b"}",
    "misspelt clauses": b'rule "x" {\n' + b"requre a\n" * 19_000 + b"}",
    "blocks without an end": b'rule "x" {\n' * 19_000,
    "words for operators": b"a" + b" and a" * 29_000,
    "deep and wrong": b"let y = " + b"(" * 100 + b"a" + b" and a" * 10_000,
    "comments": b"/*" * 100_000,
    "long name": b"x" * 250_000 + b" = 1",
    "bad escapes": b'"' + b"\\q" * 100_000 + b'"',
    "long line with a fault at its end": b"[" + b'"a", ' * 20_000 + b"b c]",
    "carriage returns": b"\r" * 200_000 + b"a b",
}


@pytest.mark.timing
@pytest.mark.parametrize("parse", [parse_expression, parse_file])
@pytest.mark.parametrize("data", MANY.values(), ids=MANY.keys())
def test_many_faults_are_found_and_printed_quickly(data, parse):
    assert refused(data, parse)


def test_nothing_of_the_text_reaches_the_terminal_raw():
    data = "\x1b[2J\x1b]0;title\x07 \u202e \x9b31m\r\x08 == 'a".encode()
    for diagnostic in found(data, parse_expression):
        assert is_safe(render(diagnostic))


DOUBLING = "let f0(x) = x + x\n" + "".join(
    f"let f{n + 1}(x) = f{n}(x) + f{n}(x)\n" for n in range(40)
)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (DOUBLING + 'rule "x" { prefer f40(1) }', "E306"),
        ('rule "x" { require node.name.matches("(a*)*b{1000}{1000}") }', "E208"),
        (
            'rule "x" { require node.name.matches("' + "(a|" * 120 + "b" + ")" * 120 + '{999}") }',
            None,
        ),
    ],
    ids=["doubling", "repetition of repetition", "large expression"],
)
def test_what_grows_when_it_is_compiled_is_bounded(text, code):
    start = time.process_time()
    _, found = examine([decode("hostile.expr", text.encode())])
    assert time.process_time() - start < SECONDS
    if code is not None:
        assert code in {diagnostic.code for diagnostic in found}


EVALUATIONS = [
    "lists.range(1000).map(a, lists.range(1000).map(b, a * b))",
    "lists.range(100000).map(a, lists.range(100000))",
    (
        "[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c,"
        " [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e,"
        " [1,2,3,4,5,6,7,8,9,10].map(f, [1,2,3,4,5,6,7,8,9,10].map(g, a))))))).size()"
    ),
    (
        "lists.range(1000).map(i, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('').replace('a',"
        " lists.range(1000).map(i, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join(''))"
    ),
    "lists.range(99999).map(i, lists.range(99999).exists(j, i == j + 1000000))",
    (
        "lists.range(1000).map(i, 'a').join('').matches('(a*)*(a*)*(a*)*b') ||"
        " lists.range(100000).all(i, lists.range(1000).map(j, 'a').join('').matches('(a|aa)+$'))"
    ),
]


@pytest.mark.timing
@pytest.mark.parametrize("text", EVALUATIONS, ids=range(len(EVALUATIONS)))
def test_what_grows_when_it_is_evaluated_is_bounded(text):
    environment = Environment()
    program = environment.program(environment.compile(text))
    start = time.process_time()
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({})
    assert time.process_time() - start < SECONDS
    assert caught.value.final


WORDS = st.sampled_from(
    [
        *"()[]{},.:;?!=<>+-*/%&|^~#@$`'\"\\\n \t",
        "rule",
        "when",
        "let",
        "param",
        "in",
        "x",
        "1",
        "2Gi",
    ]
)


@pytest.mark.parametrize("parse", [parse_expression, parse_file])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.lists(WORDS, max_size=30).map(lambda words: "".join(words).encode()),
        st.lists(WORDS, max_size=30).map(lambda words: " ".join(words).encode()),
    )
)
def test_any_bytes_are_read_or_refused_with_places_that_can_be_shown(parse, data):
    for diagnostic in found(data, parse):
        assert 0 <= diagnostic.span.start <= diagnostic.span.end
        assert diagnostic.span.end <= max(len(diagnostic.source.text), 1)
        assert is_safe(render(diagnostic))
        to_json(diagnostic)


def found(data, parse):
    try:
        parse(decode("any", data))
    except RuleError as error:
        return error.diagnostics
    return ()


def is_safe(text):
    """Say whether a terminal shows a text as it is: no controls, nothing that reorders it."""
    kinds = {unicodedata.category(char) for char in text if char not in "\n\u200d"}
    return not kinds & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
