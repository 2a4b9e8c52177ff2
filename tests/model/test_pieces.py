"""Inputs are cut where they may be cut, whatever the sizes of the blocks they are read in."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.model import pieces
from policyd.model.pieces import Form, blocks, json_pieces, yaml_pieces


def line_blocks(data: bytes, size: int) -> list[bytes]:
    """Give blocks of about `size` bytes that end with a line's end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK", size)
        return list(blocks(io.BytesIO(data), len(data), None))


def cut(data: bytes, size: int = 4096) -> list[tuple[str, bytes, int]]:
    return [
        (each.form.value, each.text, each.line) for each in yaml_pieces(line_blocks(data, size))
    ]


LIST = b"apiVersion: v1\nitems:\n- a: 1\n  b: |\n    - x\n\n# c\n- d: 2\nkind: List\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 4096])
def test_a_list_is_cut_between_its_items_and_its_frame_comes_last(size):
    assert cut(LIST, size) == [
        ("item", b"- a: 1\n  b: |\n    - x\n\n# c\n", 3),
        ("item", b"- d: 2\n", 8),
        ("frame", b"apiVersion: v1\nitems:\nkind: List\n", 1),
    ]


def test_a_frame_knows_where_its_items_were():
    *_, frame = yaml_pieces([LIST])
    assert (frame.gap_at, frame.gap) == (2, 6)


@pytest.mark.parametrize("size", [1, 5, 4096])
def test_documents_are_cut_at_their_marks(size):
    text = b"# c\n---\na: b\n--- # x\nc: |\n ---\nd: ---\n---\n"
    assert cut(text, size) == [
        ("document", b"# c\n", 1),
        ("document", b"---\na: b\n", 2),
        ("document", b"--- # x\nc: |\n ---\nd: ---\n", 4),
        ("document", b"---\n", 8),
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"items:\n  - a\n  - b\n",  # indented: not how kubectl prints it
        b"things:\n- a\n- b\n",
        b"items: # none\nkind: List\n",
        b"items:\nx: y\n- a\n",
    ],
)
def test_what_is_laid_out_otherwise_stays_in_one_piece(text):
    assert cut(text) == [("document", text, 1)]


def test_items_may_have_a_comment_behind_and_crlf_at_the_line_ends():
    text = b"items: # c\r\n- a\r\n-\r\n  b\r\nkind: List\r\n"
    assert [form for form, _, _ in cut(text)] == ["item", "item", "frame"]


def test_lists_are_not_cut_where_that_is_not_wanted():
    assert [piece.form for piece in yaml_pieces([LIST], lists=False)] == [Form.DOCUMENT]


LINES = st.lists(
    st.sampled_from(
        [
            b"items:",
            b"- a",
            b"-",
            b"--",
            b"---",
            b"--- x",
            b"",
            b"# c",
            b"a: b",
            b" - c",
            b"...",
            b"x",
        ]
    ),
    max_size=12,
)


@given(LINES, st.booleans(), st.integers(1, 30))
def test_nothing_is_lost_and_block_sizes_do_not_matter(lines, ended, size):
    text = b"\n".join(lines) + (b"\n" if ended else b"")
    assert cut(text, size) == cut(text)
    assert sorted(b"".join(part for _, part, _ in cut(text))) == sorted(text)


JSON = b"""{
    "apiVersion": "v1",
    "items": [
        {
            "a": "},\\n        {"
        },
        {
            "b": [
                {}
            ]
        }
    ],
    "kind": "List"
}
"""


@pytest.mark.parametrize("size", [60, 80, 100, 4096])
def test_a_json_list_is_cut_between_its_items(size):
    found = list(json_pieces(iter(line_blocks(JSON, size))) or ())
    assert [each.form for each in found[:-1]] == [Form.ITEMS] * (len(found) - 1)
    items = b",\n".join(each.text for each in found[:-1])
    frame = found[-1]
    assert frame.form is Form.FRAME
    assert b'"items": [\n\n    ],' in frame.text
    assert frame.text.replace(b"[\n\n    ]", b"[\n" + items + b"\n    ]") == JSON
    assert (frame.gap_at, frame.gap) == (3, 7)


@pytest.mark.parametrize(
    "text", [b"{}", b'{"items": []}\n', b'{"items": [{}]}\n', b"[\n {\n }\n]\n", b""]
)
def test_json_in_another_layout_is_not_cut(text):
    assert json_pieces(iter([text])) is None


def test_progress_counts_all_bytes():
    told: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK", 10)
        list(blocks(io.BytesIO(LIST), len(LIST), lambda done, size: told.append((done, size))))
    assert told[-1] == (len(LIST), len(LIST))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
