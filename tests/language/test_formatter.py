"""The canonical layout: what it looks like, and that it changes nothing but the layout."""

from hypothesis import given
from hypothesis import strategies as st

from policyd.language.formatter import format_expression, format_source
from policyd.language.parser import parse_expression, parse_file
from policyd.language.pieces import read_pieces
from policyd.language.printer import print_expression, print_file
from policyd.language.source import Source
from tests.language.strategies import exact, expressions, files, untidy


def source(text):
    return Source("test", text)


def formatted(text):
    """Give the layout of a text, after it was proved that laying out once more changes nothing."""
    once = format_source(source(text))
    assert format_source(source(once)) == once
    return once


def around(text):
    """Give all tokens with the commas and comments around them, but not the empty lines."""
    return [
        (piece.kind, piece.text, piece.comma, [c.text for c in piece.leading], piece.trailing)
        for piece in read_pieces(source(text))
    ]


# --- properties ---


@given(st.data())
def test_a_file_keeps_its_meaning_and_every_comment_its_place(data):
    plain = print_file(data.draw(files()))
    tree = parse_file(source(plain))
    text = data.draw(untidy(plain, tree))
    once = formatted(text)
    assert exact(parse_file(source(once))) == exact(tree)
    assert around(once) == around(text)


@given(st.data())
def test_an_expression_keeps_its_meaning_and_every_comment_its_place(data):
    plain = print_expression(data.draw(expressions(depth=4)))
    tree = parse_expression(source(plain))
    text = data.draw(untidy(plain, tree))
    once = format_expression(source(text))
    assert exact(parse_expression(source(once))) == exact(tree)
    assert around(once) == around(text)
    assert format_expression(source(once)) == once


@given(st.data())
def test_lines_are_tidy(data):
    plain = print_file(data.draw(files()))
    text = format_source(source(data.draw(untidy(plain, parse_file(source(plain))))))
    assert text == "" or text.endswith("\n")
    assert not text.startswith("\n")
    assert "\n\n\n" not in text
    assert not text.endswith("\n\n")
    lines = text.split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
