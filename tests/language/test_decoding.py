"""From bytes to text."""

import codecs

import pytest

from policyd.language.decoding import MAX_BYTES, decode
from policyd.language.diagnostics import RuleError
from policyd.language.limits import MAX_SOURCE
from policyd.language.parser import parse_expression, parse_file
from policyd.language.source import Source, Span


def refused(data):
    with pytest.raises(RuleError) as caught:
        decode("f.expr", data)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_text_is_kept_as_it_is():
    assert decode("f", "a\r\n\té\rb\n".encode()) == Source("f", "a\r\n\té\rb\n")


def test_byte_order_mark_is_dropped_and_remembered():
    source = decode("f", codecs.BOM_UTF8 + b"a == 1")
    assert (source.text, source.dropped) == ("a == 1", 3)
    parse_expression(source)


def test_mark_inside_the_text_is_not_dropped():
    assert decode("f", codecs.BOM_UTF8 * 2).text == "\ufeff"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_separate_clauses(line_end):
    text = line_end.join(['rule "x" {', "  require node.ready", '  because "no"', "}", ""])
    source = decode("f", text.encode())
    (block,) = parse_file(source).declarations
    assert source.position(block.clauses[1].span.start) == (3, 3)


@pytest.mark.parametrize("size", [MAX_BYTES + 1, 10_000_000])
def test_too_many_bytes_are_refused_before_they_are_decoded(size):
    diagnostic = refused(b"a" * (size - 1) + b"\xff")
    assert diagnostic.code == "E301"
    assert diagnostic.message == f"this is {size:,} bytes long; at most 262,144 characters are read"
    assert diagnostic.span == Span(MAX_SOURCE, MAX_SOURCE)
    assert len(diagnostic.source.text) <= MAX_BYTES + 1


def test_characters_and_not_bytes_are_bounded():
    assert len(decode("f", "é".encode() * MAX_SOURCE).text) == MAX_SOURCE
    diagnostic = refused("é".encode() * (MAX_SOURCE + 1))
    assert diagnostic.message == (
        "this is 262,145 characters long; at most 262,144 characters are read"
    )


@pytest.mark.parametrize(
    ("data", "offset", "byte"),
    [
        (b"a\xffb", 1, 1),
        (b"\xe9t\xe9", 0, 0),
        ("日".encode() + b"\x80", 1, 3),
        (b"ok\xc3", 2, 2),
        (b"\xed\xa0\x80", 0, 0),
        (b"\xc0\xaf", 0, 0),
        (codecs.BOM_UTF8 + b"a\xff", 1, 4),
    ],
)
def test_first_byte_that_is_not_utf8_is_marked(data, offset, byte):
    diagnostic = refused(data)
    assert diagnostic.code == "E304"
    assert diagnostic.span == Span(offset, offset + 1)
    assert f"at offset {byte}" in diagnostic.message
    assert "save the file as UTF-8" in diagnostic.helps


def test_letter_of_latin_1_is_recognised():
    diagnostic = refused("// caf\u00e9".encode("latin-1"))
    assert diagnostic.message == "byte 0xE9 at offset 6 is not UTF-8"
    assert any("`é`" in help_ for help_ in diagnostic.helps)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_other_encodings_with_a_mark_are_named(encoding):
    mark = {"utf-16-be": codecs.BOM_UTF16_BE, "utf-32-be": codecs.BOM_UTF32_BE}.get(encoding, b"")
    diagnostic = refused(mark + "a == 1".encode(encoding))
    assert diagnostic.code == "E304"
    assert diagnostic.message == f"this file is {encoding[:6].upper()}; rules are read as UTF-8"
    assert diagnostic.helps == ("save the file as UTF-8",)


def test_nul_byte_is_refused_with_its_place():
    diagnostic = refused(b"abc == def && g\0h")
    assert (diagnostic.code, diagnostic.span) == ("E305", Span(15, 16))
    assert diagnostic.helps == ("remove it",)


def test_utf_16_without_a_mark_is_guessed_from_its_nul_bytes():
    assert "UTF-16" in refused("a == 1".encode("utf-16-le")).helps[0]


@pytest.mark.parametrize(
    ("offset", "place"),
    [(0, (1, 1)), (1, (1, 2)), (2, (2, 1)), (3, (3, 1)), (6, (4, 1)), (7, (4, 2))],
)
def test_positions_count_lines_and_columns_from_one(offset, place):
    assert Source("f", "a\n\rb\r\nc").position(offset) == place


@pytest.mark.parametrize(("number", "line"), [(1, "a"), (2, ""), (3, "b"), (4, "c")])
def test_lines_are_given_without_their_ends(number, line):
    assert Source("f", "a\n\rb\r\nc").line(number) == line
