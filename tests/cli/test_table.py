"""Tables for people."""

from policyd.cli.table import Cell, Column, draw
from tests.cli.command import text


def _drawn(heads: list[Column], rows: list[list[str]], **how) -> str:
    cells = [[Cell(each) for each in row] for row in rows]
    return draw(heads, cells, width=how.get("width"), colour=how.get("colour", False)) + "\n"


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    heads = [Column("NODE"), Column("TOTAL", is_number=True), Column("NOTE")]
    assert _drawn(heads, [["a", "7.5", "x"], ["longer", "120", ""]]) == text("""
        NODE    TOTAL  NOTE
        a         7.5  x
        longer    120
        """)


def test_long_headings_are_folded_at_their_joints() -> None:
    heads = [
        Column("NODE"),
        Column("gpu-nodes-for-gpu-pods"),
        Column("NodeResourcesBalancedAllocation"),
        Column("a rule (shadow)"),
        Column("x" * 20),
    ]
    assert _drawn(heads, [["a", "1", "2", "3", "4"]]) == text("""
                              NodeResources
              gpu-nodes-for-  Balanced       a rule
        NODE  gpu-pods        Allocation     (shadow)  xxxxxxxxxxxxxxxxxxxx
        a     1               2              3         4
        """)


def test_a_table_that_is_too_wide_is_shown_in_bands_with_the_first_column_in_each() -> None:
    heads = [Column("NODE"), Column("one"), Column("two"), Column("three")]
    assert _drawn(heads, [["n1", "1", "2", "3"]], width=12) == text("""
        NODE  one
        n1    1

        NODE  two
        n1    2

        NODE  three
        n1    3
        """)


def test_wide_characters_and_combining_marks_keep_columns_straight() -> None:
    rows = [["節点", "1"], ["e\u0301t\u00e9", "2"], ["plain", "3"]]
    assert _drawn([Column("NODE"), Column("N")], rows) == text("""
        NODE   N
        節点   1
        e\u0301t\u00e9    2
        plain  3
        """)


def test_what_steers_a_terminal_is_shown_and_not_sent() -> None:
    drawn = _drawn([Column("N\x1b[2J")], [["a\x1b[31mb\nc\u202e"]])
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert drawn.count("\n") == 2


def test_colours_do_not_move_columns() -> None:
    heads = [Column("NODE"), Column("FITS")]
    rows = [[Cell("a", "bold"), Cell("yes", "green")]]
    plain = draw(heads, rows, width=None, colour=False)
    assert plain == "NODE  FITS\na     yes"
    coloured = draw(heads, rows, width=None, colour=True)
    assert "\x1b[32myes\x1b[0m" in coloured
