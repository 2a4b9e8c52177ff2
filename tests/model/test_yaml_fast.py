"""The fast YAML reader gives what the careful one gives, or nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policyd.model.yaml_fast import fast_json
from policyd.model.yaml_reader import read_yaml
from scripts.make_dump import as_yaml
from tests.shared import needs_shared, shared_file


def careful(text: str) -> Any:
    return [value for value, _ in read_yaml(text)]


def agree(text: str) -> bool:
    """Compare the two readers; say whether the fast one read the text at all."""
    found = fast_json(text.encode())
    if found is None:
        return False
    expected = careful(text) or [None]
    assert [json.loads(found)] == expected
    return True


@pytest.mark.parametrize(
    "text",
    [
        # What means something else in YAML 1.2, or is read differently.
        *("a: yes\n", "- no\n", "a:\n  on\n", "y: 1\n", "a: 0755\n", "a: 0x1f # x\n", "a: 0b1\n"),
        *("a: 1_0\n", "a: 1e3\n", "a: .5\n", "a: .inf\n", "a: +1\n", "a: 12345678901234567890\n"),
        *(
            "a: &b c\n",
            "a: *b\n",
            "- *b\n",
            "a: !x b\n",
            "<<: {a: b}\n",
            "? a\n: b\n",
            "a: >\n  b\n",
        ),
        *("a: b\na: c\n", "a:\n- b: c\n  b: d\n", "1: a\n", "true: a\n", "~: a\n", "-1: a\n"),
        *("a: [yes]\n", "a: {b: no}\n", "a: |2\n   x\n", "a: b\n...\nc\n", "a: \u2028\n"),
        *("a: b\x00\n", "a: b\tc\n", "a: b\r\n", "a:: yes\n", '"a: b": yes\n', "'a: b': yes\n"),
        *("a: yes", "a: b: c\n", "a: 'b\n", "\ufeffa: b\n", "a: 0o17\n", "a: 0_1\n", "a: 1E400\n"),
    ],
)
def test_what_could_be_read_differently_is_left_to_the_careful_reader(text):
    assert fast_json(text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        *("a: b\n", "a: 1\n", "a: -1.5\n", "a: true\n", "a: null\n", "a:\n", "a: ''\n", "a: []\n"),
        *("--- # x\na: b\n", "a:\n- b\n- c: d\n  e: f\n", "a: 'it''s'\n", 'a: "\\u00e9\\n"\n'),
        *(
            "a: |\n  b\n   c\n\n  d\n",
            "a: |-\n  b\n",
            "a: |+\n  b\n\n",
            "'yes': 'no'\n",
            '"1": "2"\n',
        ),
        *("a: 'b\n\n  c\n  d'\n", "a: b # c\n", "a: b\n  c\n", "a: b:c\n", "# x\na: b\n", "null\n"),
        *("a: 10.0.0.1\n", "a: 250m\n", "a: 2026-01-01T00:00:00Z\n", "a: 'x: y'\nb: c\n"),
    ],
)
def test_what_kubectl_prints_is_read_fast(text):
    assert agree(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- " * 1_000_000 + "a\n", id="dashes"),
        pytest.param("".join(" " * at + "a:\n" for at in range(3000)), id="maps"),
        pytest.param("".join(" " * at + "-\n" for at in range(3000)), id="lists"),
        pytest.param("a: " + "[" * 1_000_000 + "\n", id="brackets"),
        pytest.param("- ? " * 300_000 + "\n", id="keys"),
    ],
)
def test_deep_nesting_is_left_to_the_careful_reader(text):
    """The fast reader would run out of stack, which ends the process."""
    assert fast_json(text.encode()) is None


def test_the_deepest_text_that_is_left_to_the_fast_reader_is_no_trouble_for_it():
    lines = [
        line for at in range(75) for line in (" " * 2 * at + "a:\n", " " * 2 * at + "- - - -\n")
    ]
    fast_json("".join(lines).encode())
    levels = [f"{' ' * at}a:\n{' ' * at}- b:\n" for at in range(0, 149, 2)]
    fast_json("".join(levels).encode())


def test_bytes_that_are_not_utf_8_are_left_to_the_careful_reader():
    assert fast_json(b"a: \xff\n") is None


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        ["yes", "no", "0755", "1e3", "a: b", "- x", "a\n b\n\nc", " x", "x ", "#", "<<"]
    ),
)
KEYS = st.text(min_size=1, max_size=6) | st.sampled_from(["y", "1", "a: b", "true", "a#b", "#a"])
OBJECTS = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=20,
    ),
    min_size=1,
    max_size=5,
)


@given(OBJECTS)
def test_both_readers_agree_on_whatever_an_object_is_printed_as(value):
    text = as_yaml(value)
    agree(text)


LINES = st.lists(
    st.builds(
        lambda indent, lead, rest: " " * indent + lead + rest,
        st.integers(0, 4),
        st.sampled_from(
            ["", "- ", "a: ", "b: ", "- c: ", "a:", "-", "# ", "'d': ", '"e": ', "f:: "]
        ),
        st.sampled_from(
            [
                *("", "x", "yes", "0755", "1", "1_0", "'", '"', "'x'", '"x"', "|", "|-", ">", "["),
                *("]", "{}", "[]", "{", "&a x", "*a", "!t x", "x: y", "x # y", "x:", "null", "---"),
                *('"a: \'b"', "- x", "? x", "<<: x", "1.5e3", ".5", "~", "x\ty", "\u00e9", "\x85"),
            ]
        ),
    ),
    min_size=1,
    max_size=8,
)


@given(LINES)
@example(["a: 'x", "- y'"])
@example(["a: |", "  x", " y: z"])
@example(["a: |", "b: c"])
@example(["{}", "x"])
@example(["a: {}", "a: {}"])
@example(["::", "::"])
def test_both_readers_agree_on_lines_put_together_at_random(lines):
    text = "\n".join(lines) + "\n"
    found = fast_json(text.encode())
    if found is not None:
        assert [json.loads(found)] == (careful(text) or [None])


@needs_shared
def test_both_readers_agree_on_every_document_of_the_real_manifests():
    """Also on each item of a list, as large lists are cut."""
    fast = 0
    for path in sorted(shared_file("data", "manifests").glob("*/*.yaml")):
        for document in path.read_text(encoding="utf-8-sig").split("\n---"):
            fast += agree(f"{document}\n")
        items = path.read_text(encoding="utf-8-sig").split("\n- ")
        if items[0].endswith("\nitems:"):
            for item in items[1:-1]:
                if "*" not in item:
                    fast += agree(f"- {item}\n")
    assert fast > 100
