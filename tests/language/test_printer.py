"""What is printed reads back as what it was printed from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.parser import parse_expression, parse_file
from policyd.language.printer import print_expression, print_file, quote
from policyd.language.source import Source
from policyd.language.syntax import (
    Binary,
    Call,
    Conditional,
    Element,
    Entry,
    Index,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Parens,
    Select,
    Unary,
)
from policyd.values.numbers import Uint
from tests.language.strategies import OPERATORS, exact, expressions, files, strip_parens

X, Y, Z = Name("x"), Name("y"), Name("z")
ONE, MINUS_ONE = Literal("int", 1), Literal("int", -1)


def parsed(text):
    return parse_expression(Source("test", text))


@given(expressions(depth=4))
def test_an_expression_reads_back_as_itself(tree):
    assert exact(strip_parens(parsed(print_expression(tree)))) == exact(strip_parens(tree))


@given(expressions(depth=4))
def test_what_was_read_prints_with_no_more_parentheses(tree):
    once = parsed(print_expression(tree))
    assert exact(parsed(print_expression(once))) == exact(once)


@given(files())
def test_a_file_reads_back_as_itself(tree):
    read = parse_file(Source("test", print_file(tree)))
    assert exact(strip_parens(read)) == exact(strip_parens(tree))
    assert print_file(read) == print_file(tree)


@given(st.text())
def test_any_text_can_be_quoted_on_one_printable_line(text):
    literal = quote(text)
    assert parsed(literal) == Literal("string", text)
    assert literal.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "a.b.?c[d][?e].f(g, h)",
        "a.`content-type`.?`b c`",
        ".root.path(.call(x))",
        '["a", ?b, {?"k": v, 1: 2u}]',
        "a || b && c == d + e * -f",
        "!(a && b) || (a || b) && c",
        "a ? b : c ? d : e",
        "(a ? b : c) ? (d ? e : f) : g",
        "x - (y - z) + (y + z)",
        "-2.abs() + -(2.abs())",
        "1.e5() + 1.5.floor()",
        "a - -1 - -b",
        "--1 + -(-1) + !-1",
        "1.5Gi + 500m - -2Ki",
        'b"\\x00\\xffA" + b""',
        "when in [rule, weight, asc]",
        "null == true || false",
    ],
)
def test_the_canonical_spelling_prints_as_it_stands(text):
    assert print_expression(parsed(text)) == text


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Unary("-", ONE), "-(1)"),
        (Unary("-", MINUS_ONE), "--1"),
        (Unary("-", Literal("double", 0.0)), "-(0.0)"),
        (Unary("-", Literal("double", -0.0)), "-(-0.0)"),
        (Unary("-", Literal("quantity", "1Gi")), "-(1Gi)"),
        (Unary("-", Literal("uint", Uint(1))), "-1u"),
        (Unary("-", Call("abs", (), ONE)), "-(1.abs())"),
        (Unary("-", Index(Select(ONE, "a"), X)), "-(1.a[x])"),
        (Unary("-", Parens(ONE)), "-(1)"),
        (Unary("-", Unary("!", X)), "-(!x)"),
        (Unary("!", Unary("-", X)), "!(-x)"),
        (Unary("!", Unary("!", X)), "!!x"),
        (Call("abs", (), MINUS_ONE), "-1.abs()"),
        (Call("abs", (), Unary("-", ONE)), "(-(1)).abs()"),
        (Call("abs", (), Unary("-", X)), "(-x).abs()"),
        (Binary("-", MINUS_ONE, MINUS_ONE), "-1 - -1"),
        (Binary("-", X, Binary("-", Y, Z)), "x - (y - z)"),
        (Binary("-", Binary("-", X, Y), Z), "x - y - z"),
        (Binary("==", X, Binary("==", Y, Z)), "x == (y == z)"),
        (Logical("&&", (Logical("&&", (X, Y)), Z)), "(x && y) && z"),
        (Logical("&&", (X, Logical("&&", (Y, Z)))), "x && (y && z)"),
        (Logical("||", (Logical("&&", (X, Y)), Z)), "x && y || z"),
        (Conditional(X, Conditional(X, Y, Z), Z), "x ? (x ? y : z) : z"),
        (Conditional(Conditional(X, Y, Z), Y, Z), "(x ? y : z) ? y : z"),
        (Select(Binary("+", X, Y), "a"), "(x + y).a"),
        (Select(X, "a b", quoted=True), "x.`a b`"),
        (Literal("double", 1e16), "1e16"),
        (Literal("double", 5e-324), "5e-324"),
        (Literal("double", -float("inf")), "-1e999"),
        (Literal("int", -(2**63)), "-9223372036854775808"),
        (
            Literal("string", '\\"\0\n\x7f\u2028\U000e0001é'),
            '"\\\\\\"\\x00\\n\\x7f\\u2028\\U000e0001é"',
        ),
    ],
)
def test_parentheses_and_signs_stand_only_where_they_must(tree, text):
    assert print_expression(tree) == text
    assert exact(strip_parens(parsed(text))) == exact(strip_parens(tree))


def combined(left, right):
    """Give every form with operands from two trees."""
    yield from (Binary(op, left, right) for op in OPERATORS)
    yield from (Logical(op, (left, right)) for op in ("&&", "||"))
    yield from (
        Conditional(left, right, X),
        Conditional(X, left, right),
        Conditional(right, X, left),
    )
    yield from (Unary("!", left), Unary("-", left), Select(left, "a"), Index(left, right))
    yield from (Call("f", (right,), left), Call("f", (left, right)), Parens(left))
    yield from (
        ListOf((Element(left), Element(right, optional=True))),
        MapOf((Entry(left, right),)),
    )


def test_every_form_reads_back_inside_every_form():
    for inner in (*combined(X, Y), ONE, MINUS_ONE):
        for tree in (*combined(inner, Z), *combined(Z, inner)):
            assert strip_parens(parsed(print_expression(tree))) == strip_parens(tree)


def test_the_deepest_tree_that_is_read_is_printed():
    text = "f(" * 127 + "x" + ")" * 127
    assert print_expression(parsed(text)) == text


def test_no_literal_is_invented_for_nan():
    with pytest.raises(ValueError, match="NaN"):
        print_expression(Literal("double", float("nan")))


def test_a_file_has_one_clause_on_each_line():
    text = (
        "param x: map(string, int) = {}\n"
        "let f(a, b) = a + b\n"
        'rule "r" {\n'
        "  let y = 1\n"
        "  hold when y == 1\n"
        "  reclaim when true\n"
        "  order a asc, b desc, c\n"
        "  prefer x\n"
        "  normalized\n"
        "  mode shadow\n"
        "}\n"
        "queue {\n"
        "}\n"
    )
    assert print_file(parse_file(Source("test", text))) == text
