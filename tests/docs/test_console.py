"""The reader of console blocks finds what it must not miss."""

import pytest

from tests.docs.console import Shell, commands, matches
from tests.docs.pages import Block


def _block(text):
    return Block("page.md", 10, "console", text)


def test_commands_and_their_output_are_told_apart():
    first, second = commands(_block("$ echo a\na\n\nb\n$ echo \\\n  c\nc\n"))
    assert (first.line, first.text, first.expected) == (10, "echo a", ("a", "", "b"))
    assert (second.line, second.text, second.expected) == (14, "echo \\\n  c", ("c",))


def test_a_block_without_a_command_is_refused():
    with pytest.raises(ValueError, match=r"page\.md:10: a console block begins with a command"):
        list(commands(_block("output\n")))


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        (["a"], ["a"], True),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        ([], ["a"], False),
        ([], [], True),
        (["…"], [], True),
        (["…"], ["a", "b"], True),
        (["a", "…", "c"], ["a", "b", "b", "c"], True),
        (["a", "…", "c"], ["a", "b"], False),
        (["hash …, 3 files"], ["hash 0f3a, 3 files"], True),
        (["hash …, 3 files"], ["hash 0f3a, 4 files"], False),
        (["a.c"], ["abc"], False),
    ],
)
def test_three_dots_stand_for_anything_and_nothing_else_does(expected, printed, fits):
    assert matches(expected, printed) is fits


def test_a_shell_has_the_rules_and_gives_the_status_of_the_last_command(tmp_path):
    shell = Shell(tmp_path)
    shell.write("new/a.txt", "hello\n")
    assert "gpu.expr" in shell.run("ls rules")
    assert shell.run("cat new/a.txt; exit 3") == ("hello",)
    assert shell.run("echo $?") == ("3",)
    assert shell.run("policyd eval -e '1 +'; echo $?")[-1] == "2"
