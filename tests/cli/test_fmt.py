"""`policyd fmt`."""

import os
import stat
from pathlib import Path

import pytest

from policyd.cli import fmt
from tests.cli.command import run, text, write

RAGGED = 'rule "x" { require node.ready }\n'
NEAT = text("""
    rule "x" {
      require node.ready
    }
""")


def _stat(path: str) -> os.stat_result:
    return Path(path).stat()


def test_a_file_is_rewritten_and_then_stays() -> None:
    write("a.expr", RAGGED)
    ran = run("fmt", "a.expr")
    assert ran == (0, "formatted a.expr\n", "1 file formatted, 0 unchanged\n")
    assert Path("a.expr").read_text(encoding="utf-8") == NEAT
    before = _stat("a.expr")
    assert run("fmt", "a.expr") == (0, "", "0 files formatted, 1 unchanged\n")
    after = _stat("a.expr")
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_permissions_are_kept_and_nothing_is_left_behind() -> None:
    write("a.expr", RAGGED)
    Path("a.expr").chmod(0o640)
    run("fmt", "a.expr")
    assert stat.S_IMODE(_stat("a.expr").st_mode) == 0o640
    assert [path.name for path in Path().iterdir()] == ["a.expr"]


def test_a_link_stays_a_link_and_its_target_is_rewritten() -> None:
    write("real/a.expr", RAGGED)
    Path("link.expr").symlink_to("real/a.expr")
    assert run("fmt", "link.expr").status == 0
    assert Path("link.expr").is_symlink()
    assert Path("real/a.expr").read_text(encoding="utf-8") == NEAT


def test_check_lists_what_would_change_and_writes_nothing() -> None:
    write("r/a.expr", RAGGED)
    write("r/b.expr", NEAT)
    write("r/alt/c.expr", RAGGED)
    ran = run("fmt", "--check", "r")
    assert ran.status == 1
    assert ran.out == "would change r/a.expr\nwould change r/alt/c.expr\n"
    assert ran.err == "2 files would change, 1 unchanged\n"
    assert Path("r/a.expr").read_text(encoding="utf-8") == RAGGED


def test_diff_shows_what_would_change_and_writes_nothing() -> None:
    write("a.expr", RAGGED)
    ran = run("fmt", "--diff", "a.expr")
    assert ran.status == 0
    assert ran.out == text("""
        --- a.expr
        +++ a.expr (formatted)
        @@ -1 +1,3 @@
        -rule "x" { require node.ready }
        +rule "x" {
        +  require node.ready
        +}
        """)
    assert Path("a.expr").read_text(encoding="utf-8") == RAGGED
    assert run("fmt", "--diff", "--check", "a.expr").status == 1


def test_a_diff_is_coloured_on_a_terminal() -> None:
    write("a.expr", RAGGED)
    out = run("fmt", "--diff", "a.expr", env={"FORCE_COLOR": "1"}).out
    assert "\x1b[1;31m-rule" in out
    assert "\x1b[32m+}" in out


def test_standard_input_goes_to_standard_output() -> None:
    assert run("fmt", "-", given=RAGGED) == (0, NEAT, "")
    assert run("fmt", "-", given=NEAT) == (0, NEAT, "")
    assert run("fmt", "--check", "-", given=RAGGED).out == "would change <stdin>\n"


def test_what_does_not_parse_is_shown_and_the_others_are_done() -> None:
    write("a.expr", 'rule "x" {\n  require node.ready &&\n}\n')
    write("b.expr", RAGGED)
    ran = run("fmt", "a.expr", "b.expr")
    assert ran.status == 2
    assert ran.out == "formatted b.expr\n"
    assert "--> a.expr:" in ran.err
    assert ran.err.endswith("1 file formatted, 0 unchanged, 1 not formatted\n")


def test_standard_input_that_does_not_parse_gives_no_output() -> None:
    ran = run("fmt", "-", given="rule")
    assert (ran.status, ran.out) == (2, "")
    assert "error[" in ran.err


def test_a_file_that_cannot_be_written_is_reported_and_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests may run as root, who can write everything: the refusal is the operating system's."""
    write("a.expr", RAGGED)
    write("b.expr", RAGGED)
    written = fmt.replace_file

    def refuse(path: str, data: bytes) -> None:
        if path == "a.expr":
            monkeypatch.setattr(os, "access", lambda *_: False)
        written(path, data)
        monkeypatch.undo()

    monkeypatch.setattr(fmt, "replace_file", refuse)
    ran = run("fmt", "a.expr")
    assert ran.status == 2
    assert "error: permission denied\n  --> a.expr\n   = help: check who may" in ran.err
    assert Path("a.expr").read_text(encoding="utf-8") == RAGGED


def test_a_disk_that_is_full_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.expr", RAGGED)

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    ran = run("fmt", "a.expr")
    assert ran.status == 2
    assert "error: no space left on device\n  --> a.expr" in ran.err
    assert Path("a.expr").read_text(encoding="utf-8") == RAGGED
    assert [path.name for path in Path().iterdir()] == ["a.expr"]


def test_a_mark_of_the_byte_order_and_other_line_ends_become_canonical() -> None:
    Path("a.expr").write_bytes(b"\xef\xbb\xbf" + NEAT.replace("\n", "\r\n").encode())
    assert run("fmt", "a.expr").status == 0
    assert Path("a.expr").read_bytes() == NEAT.encode()


def test_a_file_is_formatted_once_however_often_it_is_given() -> None:
    write("r/a.expr", RAGGED)
    assert run("fmt", "r", "r/a.expr", "./r/a.expr").out.count("formatted") == 1
