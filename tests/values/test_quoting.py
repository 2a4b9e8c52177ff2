"""Texts inside messages: escaped, on one line, and short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.values.quoting import SHOWN, quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("é中", '"é中"'),
        ('a"\\\n\t\x00', r'"a\"\\\n\t\x00"'),
        ("\u2028\U000e0001\ud800", r'"\u2028\U000e0001\ud800"'),
        ("x" * (SHOWN + 5), f'"{"x" * SHOWN}..." (5 more characters)'),
    ],
)
def test_escapes_and_shortens(text, quoted):
    assert quote(text) == quoted


@given(st.text(st.characters()))
def test_every_text_becomes_one_printable_line(text):
    assert quote(text).isprintable()
    quote(text).encode()
