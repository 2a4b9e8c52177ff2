"""Base64: round trips, tolerated padding, and texts that are not base64."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.libraries.encoders import decode, encode
from policyd.language.standard import standard_functions
from policyd.values.errors import ValueFault
from tests.language.libraries.evaluation import CEL, KUBERNETES, evaluate, limit_of


@given(st.binary(max_size=50))
def test_bytes_survive_with_and_without_padding(data):
    assert decode(encode(data)) == data
    assert decode(encode(data).rstrip("=")) == data
    assert decode("\r\n".join(encode(data))) == data


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "abcde",
        "ab=",
        "abc==",
        "=",
        "==",
        "abcd=",
        "abcd==",
        "ab==cd",
        "a b",
        "a-b_",
        "é",
        "ab\0d",
    ],
)
def test_what_is_not_base64_is_a_fault(text):
    with pytest.raises(ValueFault):
        decode(text)


def test_the_functions_are_additions_to_kubernetes():
    assert evaluate('base64.decode("aGVsbG8")') == b"hello"
    assert evaluate('base64.encode(b"hello")', CEL) == "aGVsbG8="
    for dialect, portable in ((KUBERNETES, False), (CEL, True)):
        for name in ("base64.encode", "base64.decode"):
            assert standard_functions(dialect)[name].overloads[0].portable is portable


def test_a_text_past_the_limit_is_refused():
    assert limit_of("base64.encode(b)", b=b"x" * 1_000_000)
