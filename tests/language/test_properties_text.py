"""What holds for every text, however far from the language it is."""

from time import perf_counter

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from policyd.language.decoding import decode
from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.environment import Environment
from policyd.language.formatter import format_expression, format_source
from policyd.language.parser import parse_expression, parse_file
from policyd.language.printer import print_expression, print_file
from policyd.language.render import render, to_json
from policyd.language.source import Source
from tests.language import strategies as untyped
from tests.language.typed_strategies import ENVIRONMENT, expressions

SECONDS = 5  # of one short text; measured: a hundredth of that
OFTEN = settings(max_examples=max(400, settings.default.max_examples))

SIGNS = (
    *("(", ")", "[", "]", "{", "}", ",", ".", ":", "?", "=", "==", "!=", "<", "<=", ">", ">=", "+"),
    *("-", "*", "/", "%", "!", "&&", "||", "&", "|", "in", "true", "false", "null", "has(", ".?"),
    *("[?", "//", "/*", "*/", "`", "`a b`", '"', "'", '"""', "'''", "\\", ";", "=>", "and", "or"),
)
WORDS = (
    *("pod", "node", "count", "text", "labels", "x", "cel", "math", "optional", "size", "map"),
    *("all", "exists", "bind", "@", "_", "e5", "let", "param", "if", "namespace", "not"),
    *untyped.BLOCK_WORDS,
    *untyped.VALUE_WORDS,
    *untyped.WHEN_WORDS,
    *untyped.KEY_WORDS,
    *("mode", "shadow", "normalized", "asc", "desc", "rule", "require", "prefer", "because"),
)
VALUES = (
    *("0", "1", "1.5", ".5", "5.", "1e3", "0x1F", "0x", "1u", "2Gi", "500m", "1K", "1e", "00"),
    *('"a"', "'b'", 'r"\\d"', 'b"\\xff"', '"\\q"', '"\\u12"', "'''a\nb'''", '"%s"', "9" * 30, '""'),
)
GAPS = ("", " ", " ", "\n", "\r\n", "\t", "\r", "\f", " // c\n", "\u00a0", "\ufeff", "\0", "\u2028")


def soups() -> SearchStrategy[str]:
    """Give tokens in any order, with anything that may stand between them."""
    token = st.one_of(*map(st.sampled_from, (SIGNS, SIGNS, WORDS, VALUES)), st.text(max_size=2))
    pair = st.tuples(token, st.sampled_from(GAPS)).map("".join)
    return st.lists(pair, max_size=40).map("".join)


@st.composite
def damaged(draw, texts: SearchStrategy[str]) -> str:
    """Give texts with a few pieces taken out, put in or doubled."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 6)))
        piece = draw(st.sampled_from((*SIGNS, *WORDS, *VALUES, text[start:end] * 2, "", "é", "\0")))
        text = text[:start] + piece + text[end:]
    return text


def texts() -> SearchStrategy[str]:
    written = expressions().map(print_expression) | untyped.expressions().map(print_expression)
    return st.one_of(st.text(), soups(), damaged(written), damaged(untyped.files().map(print_file)))


def assert_presentable(found: Diagnostic, length: int) -> None:
    """Check that a diagnostic points into its text and can be shown in both forms."""
    assert 0 <= found.span.start <= found.span.end <= length
    assert found.code[1:].isdigit()
    shown = render(found)
    assert found.code in shown
    assert shown.isprintable() or "\n" in shown
    assert to_json(found)["code"] == found.code


def refusal(read, source: Source) -> RuleError | None:
    """Read a text in some way, and give its refusal; whatever else is raised is a failure."""
    refused = None
    started = perf_counter()
    try:
        read(source)
    except RuleError as error:
        refused = error
    assert perf_counter() - started < SECONDS
    for found in refused.diagnostics if refused else ():
        assert_presentable(found, len(source.text))
    assert refused is None or refused.diagnostics
    return refused


@OFTEN
@given(texts())
def test_any_text_is_read_or_refused(text):
    source = Source("test.expr", text)
    for read in (parse_expression, parse_file):
        refusal(read, source)


@OFTEN
@given(texts())
def test_any_text_is_checked_or_refused(text):
    source = Source("test.expr", text)
    for check in (True, False):
        refusal(lambda source: ENVIRONMENT.compile(source.text, check=check), source)  # noqa: B023 - called at once


@given(texts())
def test_any_text_is_formatted_or_refused_as_it_is_read(text):
    source = Source("test.expr", text)
    for read, format_ in ((parse_expression, format_expression), (parse_file, format_source)):
        refused = refusal(read, source)
        assert (refusal(format_, source) is None) == (refused is None)


@given(st.binary(max_size=60) | texts().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_decoded_or_refused(data):
    try:
        source = decode("test.expr", data)
    except RuleError as error:
        for found in error.diagnostics:
            assert_presentable(found, len(found.source.text))
    else:
        assert source.text.encode("utf-8") == data[source.dropped :]


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_in_quotes_is_one_string(text):
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\x00")
    quoted = quoted.replace("\r", "\\r").replace("\n", "\\n")
    environment = Environment()
    assert environment.program(environment.compile(f'"{quoted}"')).evaluate({}) == text
