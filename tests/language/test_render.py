"""The text form and the JSON form of diagnostics."""

import json
import re

import pytest

from policyd.language.cells import cells, visible
from policyd.language.diagnostics import Diagnostic, Edit
from policyd.language.render import render, to_json
from policyd.language.source import Source, Span

RULE = 'rule "x" {\n  require node.lables["disk"] == "ssd"\n}\n'


def at(text, piece, start=0):
    where = text.index(piece, start)
    return Span(where, where + len(piece))


def found(text, span, **more):
    more = {"code": "E204", "message": "something", **more}
    return Diagnostic(source=Source("gpu.expr", text), span=span, **more)


def shown(diagnostic, **options):
    return render(diagnostic, **options).split("\n")


def test_shape_is_the_one_of_the_language_reference():
    text = "\n" * 6 + '  require node.lables["disk"] == "ssd"\n'
    diagnostic = found(
        text,
        at(text, "lables"),
        code="E203",
        message="node has no field `lables`",
        label="did you mean `labels`?",
        helps=("one thing", "another\nover two lines"),
        notes=("a reason",),
    )
    assert render(diagnostic) == (
        "error[E203]: node has no field `lables`\n"
        "  --> gpu.expr:7:16\n"
        "   |\n"
        ' 7 |   require node.lables["disk"] == "ssd"\n'
        "   |                ^^^^^^ did you mean `labels`?\n"
        "   |\n"
        "   = help: one thing\n"
        "   = help: another\n"
        "           over two lines\n"
        "   = note: a reason"
    )


@pytest.mark.parametrize(
    ("code", "severity"), [("E101", "error"), ("W503", "warning"), ("N601", "note")]
)
def test_headline_begins_with_the_severity(code, severity):
    assert shown(found(RULE, Span(0, 4), code=code))[0] == f"{severity}[{code}]: something"


def test_operands_of_one_line_get_their_labels_below_from_right_to_left():
    text = "node.podCount * 0.5"
    diagnostic = found(
        text,
        at(text, "*"),
        related=((at(text, "node.podCount"), "int"), (at(text, "0.5"), "double")),
    )
    assert shown(diagnostic)[3:] == [
        " 1 | node.podCount * 0.5",
        "   | ------------- ^ --- double",
        "   | int",
    ]


def test_labels_below_hang_on_bars():
    text = "aa + bb"
    diagnostic = found(
        text, at(text, "+"), label="here", related=((at(text, "aa"), "A"), (at(text, "bb"), "B"))
    )
    assert shown(diagnostic)[3:] == [
        " 1 | aa + bb",
        "   | -- ^ -- B",
        "   | |  here",
        "   | A",
    ]


def test_own_marks_are_drawn_over_the_others():
    text = "aaaa"
    diagnostic = found(text, Span(1, 3), related=((Span(0, 4), "all"),))
    assert shown(diagnostic)[3:] == [" 1 | aaaa", "   | -^^-", "   | all"]


def test_second_place_in_another_line_is_shown_in_the_order_of_the_text():
    text = "first\n\nx\n\n\n\nlast"
    diagnostic = found(text, at(text, "last"), related=((at(text, "first"), "declared here"),))
    assert shown(diagnostic)[2:] == [
        "   |",
        " 1 | first",
        "   | ----- declared here",
        "...",
        " 7 | last",
        "   | ^^^^",
    ]


def test_one_line_between_two_places_is_shown_and_not_left_out():
    text = "a\nb\nc"
    diagnostic = found(text, at(text, "c"), related=((at(text, "a"), ""),))
    assert shown(diagnostic)[3:] == [" 1 | a", "   | -", " 2 | b", " 3 | c", "   | ^"]


def test_gutter_is_as_wide_as_the_largest_number():
    text = "\n" * 98 + "a\nb"
    diagnostic = found(text, at(text, "a"), related=((at(text, "b"), ""),), helps=("h",))
    assert shown(diagnostic)[1:] == [
        "    --> gpu.expr:99:1",
        "     |",
        "  99 | a",
        "     | ^",
        " 100 | b",
        "     | -",
        "     |",
        "     = help: h",
    ]


def test_span_over_lines_is_marked_line_by_line_with_the_label_at_its_end():
    text = "when a &&\n\n     b // c\n"
    diagnostic = found(text, Span(5, text.index("b") + 1), label="whole")
    assert shown(diagnostic)[3:] == [
        " 1 | when a &&",
        "   |      ^^^^",
        " 2 |",
        " 3 |      b // c",
        "   |      ^ whole",
    ]


def test_long_span_shows_its_first_lines_and_its_last():
    text = "".join(f"line {number}\n" for number in range(1, 10))
    diagnostic = found(text, Span(0, len(text) - 1), label="all")
    assert shown(diagnostic)[3:] == [
        " 1 | line 1",
        "   | ^^^^^^",
        " 2 | line 2",
        "   | ^^^^^^",
        "...",
        " 9 | line 9",
        "   | ^^^^^^ all",
    ]


def test_span_that_ends_with_a_line_end_does_not_reach_into_the_next_line():
    assert shown(found("ab\ncd", Span(0, 3)))[3:] == [" 1 | ab", "   | ^^"]


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("a ==", 4, [" 1 | a ==", "   |     ^"]),
        ("a ==\n", 5, [" 2 |", "   | ^"]),
        ("a", 99, [" 1 | a", "   |  ^"]),
    ],
)
def test_end_of_the_text_is_marked_behind_its_last_character(text, offset, expected):
    assert shown(found(text, Span(offset, offset)))[3:] == expected


def test_empty_text_has_a_place_and_no_lines():
    assert shown(found("", Span(0, 0), helps=("write one",))) == [
        "error[E204]: something",
        "  --> gpu.expr:1:1",
        "   = help: write one",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_every_line_end_counts_as_one(line_end):
    text = f"one{line_end}two{line_end}three"
    diagnostic = found(text, at(text, "three"))
    assert shown(diagnostic)[1:] == [
        "  --> gpu.expr:3:1",
        "   |",
        " 3 | three",
        "   | ^^^^^",
    ]


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("日本 == x", "        ^"),
        ("\uff46\uff55\uff4c\uff4c x", "         ^"),
        ("e\u0301e\u0301 x", "   ^"),
        ("\U0001f469\u200d\U0001f469\u200d\U0001f467 x", "   ^"),
        ("\U0001f44d\U0001f3fd x", "   ^"),
        ("\u2764\ufe0f x", "   ^"),
        ("1\ufe0f\u20e3 x", "   ^"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 x", "     ^"),
        ("한글 x", "     ^"),
        ("\u1112\u1161\u11ab x", "   ^"),
        ("\tx", "    ^"),
        ("ab\tx", "    ^"),
        ("abcd\tx", "        ^"),
        ("日\tx", "    ^"),
    ],
    ids=ascii,
)
def test_marks_stand_under_what_they_mark_whatever_stands_before(line, marks):
    assert shown(found(line, at(line, "x")))[4] == f"   | {marks}"


def test_wide_characters_are_marked_over_their_width():
    assert shown(found('"日本"', Span(1, 3)))[4] == "   |  ^^^^"


def test_mark_inside_a_cluster_covers_its_cell():
    text = "ae\u0301b"
    assert shown(found(text, Span(2, 3)))[4] == "   |  ^"


@pytest.mark.parametrize(
    ("hidden", "picture"),
    [
        ("\x1b", "␛"),
        ("\0", "␀"),
        ("\x07", "␇"),
        ("\x7f", "␡"),
        ("\x9b", "<U+009B>"),
        ("\u202e", "<U+202E>"),
        ("\u2066", "<U+2066>"),
        ("\u200b", "<U+200B>"),
        ("\ufeff", "<U+FEFF>"),
        ("\u2028", "<U+2028>"),
        ("\x85", "<U+0085>"),
        ("\x0b", "␋"),
        ("\ud800", "<U+D800>"),
        ("\u200d", "<U+200D>"),
        ("\u0301", "◌\u0301"),
    ],
    ids=ascii,
)
def test_what_could_steer_a_terminal_is_shown_as_a_picture(hidden, picture):
    text = f"{hidden}a"
    diagnostic = Diagnostic(
        "E102", f"bad {hidden}", Source(f"f{hidden}", text), Span(1, 2), f"l {hidden}"
    )
    lines = shown(diagnostic)
    assert lines[1] == f"  --> f{picture if hidden != chr(0x301) else hidden}:1:2"
    assert lines[3] == f" 1 | {picture}a"
    assert lines[4].lstrip(" |").startswith("^")
    if hidden != "\u0301":
        assert hidden not in "".join(lines)


def test_text_of_a_message_stays_on_one_line():
    assert shown(found("a", Span(0, 1), message="x\ny\r"))[0] == "error[E204]: x␊y␍"


def test_quotations_of_any_length_are_cut_in_messages():
    lines = shown(found("a", Span(0, 1), message=f"there is no `{'x' * 100_000}` here"))
    assert lines[0] == f"error[E204]: there is no `{'x' * 48}…` here"


def test_line_that_fits_is_shown_whole():
    text = "a" * 95
    assert shown(found(text, Span(90, 91)), width=100)[3] == f" 1 | {text}"


@pytest.mark.parametrize("start", [0, 1, 50, 299, 500, 599])
def test_long_line_is_cut_around_the_span(start):
    text = "".join(chr(97 + n % 26) for n in range(600))
    line, marks = shown(found(text, Span(start, start + 1)), width=80)[3:5]
    assert len(line) <= 80
    assert line[marks.index("^")] == text[start]
    assert line.startswith(" 1 | …") == (start > 40)
    assert line.endswith("…") == (start < 560)


def test_long_line_shows_each_of_several_places():
    text = "a" * 300 + "+" + "b" * 300
    diagnostic = found(
        text, Span(300, 301), related=((Span(0, 5), "left"), (Span(596, 601), "right"))
    )
    line, marks, *labels = shown(diagnostic, width=100)[3:]
    assert len(line) <= 100
    assert [line[m.start() : m.end()] for m in re.finditer(r"[-^]+", marks.split(" right")[0])] == [
        "aaaaa",
        "+",
        "bbbbb",
    ]
    assert marks.endswith("right")
    assert labels == ["   | left"]


def test_long_span_in_a_long_line_is_cut_in_its_middle():
    text = "x" + "a" * 1000 + "y"
    line, marks = shown(found(text, Span(0, 1002), label="all"), width=60)[3:5]
    assert line.count("…") == 1
    assert line[5] == "x"
    assert line[-1] == "y"
    assert marks[5:] == "^" * (len(line) - 5) + " all"


def test_cut_lines_of_wide_characters_keep_the_width():
    text = "日" * 500
    line, marks = shown(found(text, Span(250, 251)), width=80)[3:5]
    assert sum(cell.width for cell in cells(line, 0, len(line))) <= 80
    assert marks.strip(" |") == "^^"


def test_colour_adds_escapes_and_nothing_else():
    text = "aa + bb"
    diagnostic = found(
        text, at(text, "+"), label="here", related=((at(text, "aa"), "A"),), helps=("h",)
    )
    coloured = render(diagnostic, colour=True)
    assert "\x1b[1;31merror[E204]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(diagnostic)


def test_huge_line_is_rendered_without_being_laid_out():
    text = "a" * 200_000 + "é" * 200_000
    assert len(render(found(text, Span(200_000, 200_001)))) < 1000


def test_visible_text_is_unchanged():
    assert visible("plain `text` …") == "plain `text` …"


# --- JSON ---


def places(data):
    yield data["range"]
    yield from (related["range"] for related in data["related"])
    if data["edit"]:
        yield data["edit"]["range"]


def test_json_carries_everything():
    source = Source("gpu.expr", "日本 + \U0001f600x\r\ny")
    diagnostic = Diagnostic(
        "W503",
        "message",
        source,
        Span(6, 7),
        "label",
        ((Span(9, 10), "other"),),
        ("help",),
        ("note",),
        Edit(Span(6, 7), "z"),
    )
    data = to_json(diagnostic)
    assert json.loads(json.dumps(data)) == data
    assert data == {
        "code": "W503",
        "severity": "warning",
        "message": "message",
        "file": "gpu.expr",
        "range": {
            "start": {
                "offset": 6,
                "byte": 13,
                "utf16": 7,
                "line": 1,
                "column": 7,
                "utf16_column": 8,
            },
            "end": {
                "offset": 7,
                "byte": 14,
                "utf16": 8,
                "line": 1,
                "column": 8,
                "utf16_column": 9,
            },
        },
        "label": "label",
        "related": [
            {
                "range": {
                    "start": {
                        "offset": 9,
                        "byte": 16,
                        "utf16": 10,
                        "line": 2,
                        "column": 1,
                        "utf16_column": 1,
                    },
                    "end": {
                        "offset": 10,
                        "byte": 17,
                        "utf16": 11,
                        "line": 2,
                        "column": 2,
                        "utf16_column": 2,
                    },
                },
                "label": "other",
            }
        ],
        "helps": ["help"],
        "notes": ["note"],
        "edit": {"range": data["range"], "text": "z"},
    }


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("text", ["a\n日本\U0001f600 + b\r\nc", "e\u0301\rx", "x"])
def test_json_places_cut_the_same_text_in_every_unit(text, bom):
    source = Source("f", text, len(bom))
    stored, wide = bom + text.encode(), text.encode("utf-16-le")
    lines = re.split(r"\r\n|\r|\n", text)
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            data = to_json(Diagnostic("E101", "m", source, Span(start, end)))
            a, b = data["range"]["start"], data["range"]["end"]
            assert text[a["offset"] : b["offset"]] == text[start:end]
            assert stored[a["byte"] : b["byte"]].decode() == text[start:end]
            assert wide[2 * a["utf16"] : 2 * b["utf16"]].decode("utf-16-le") == text[start:end]
            if a["line"] == b["line"] and "\r" not in text[start:end]:
                line = lines[a["line"] - 1]
                assert line[a["column"] - 1 : b["column"] - 1] == text[start:end]
                wide_line = line.encode("utf-16-le")
                cut = wide_line[2 * a["utf16_column"] - 2 : 2 * b["utf16_column"] - 2]
                assert cut.decode("utf-16-le") == text[start:end]


def test_json_keeps_places_inside_the_text():
    data = to_json(Diagnostic("E101", "m", Source("f", "ab"), Span(5, 9)))
    assert [place["start"]["offset"] for place in places(data)] == [2]
    assert data["edit"] is None
