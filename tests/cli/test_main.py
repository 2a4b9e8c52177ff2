"""The command as a whole: its help, its exit statuses, how it ends when it is disturbed."""

import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from policyd.cli import main
from policyd.cli.main import COMMANDS, policyd
from tests.cli.command import NODES, POD, RULES, run, text, write

POLICYD = (sys.executable, "-m", "policyd")


def _start(*arguments: str, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*POLICYD, *arguments], capture_output=True, text=True, check=False, timeout=60, **how
    )


def _commands() -> dict[str, click.Command]:
    return {
        name: getattr(import_module(lazy.module), lazy.attribute) for name, lazy in COMMANDS.items()
    }


def test_help_lists_the_commands() -> None:
    assert run("--help").out == text("""
        Usage: policyd [OPTIONS] COMMAND [ARGS]...

          Run a Kubernetes scheduler whose whole policy is text.

            policyd check rules/
            policyd eval -e '2Gi + 500Mi > 2.4Gi'
            policyd eval rules/gpu.expr --pod pod.yaml --cluster dump.yaml

          `policyd COMMAND --help` says more, with examples.

        Options:
          --version   Say which version this is.
          -h, --help  Show this message and exit.

        Commands:
          eval      Evaluate an expression, or rules for a pod.
          check     Find what is wrong with rules.
          test      Run the tests of rules.
          fmt       Write rules in their canonical layout.
          simulate  Place pods with the real loop, on a cluster in memory.
          run       Run the scheduler until it is told to end.
          explain   Say why a pod is where it is, or why it waits.
          dump      Write a live cluster into a file.
          version   Say which version this is.
        """)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_its_own_help_starts_with(name: str) -> None:
    help_ = _commands()[name].help or ""
    assert help_.split("\n", 1)[0] == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_is_documented(name: str) -> None:
    shown = run(name, "--help").out
    for parameter in _commands()[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            for option in parameter.opts:
                assert option in shown
        else:
            assert parameter.metavar
            assert parameter.metavar.strip("[].") in (_commands()[name].help or "")


@pytest.mark.parametrize("name", ["eval", "check", "fmt", "simulate"])
def test_the_help_of_a_command_has_examples_and_its_exit_statuses(name: str) -> None:
    shown = run(name, "-h").out
    assert f"    policyd {name} " in shown
    for status in "012":
        assert f"\n    {status}  " in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_the_examples_of_the_help_are_of_options_that_exist() -> None:
    for name, command in _commands().items():
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        used = set(re.findall(rf"policyd {name}[^\n|]*", command.help or ""))
        for example in used:
            options = re.findall(r"(?<= )--?[a-z][a-z-]*", re.sub(r"'[^']*'", "", example))
            assert set(options) <= known, example


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chekc", "there is no command `chekc`: did you mean `check`?"),
        ("frobnicate", f"there is no command `frobnicate`: there are {', '.join(COMMANDS)}"),
    ],
)
def test_an_unknown_command_gets_a_suggestion(name: str, message: str) -> None:
    ran = run(name)
    assert ran.status == 2
    assert message in ran.err


def test_no_arguments_give_the_help_and_status_2() -> None:
    ran = run()
    assert ran.status == 2
    assert "Commands:" in ran.out + ran.err


def test_version_gives_the_version_and_the_grammars_hash() -> None:
    ran = run("version")
    assert re.fullmatch(r"policyd \S[^\n]*\ngrammar [0-9a-f]{12}\n", ran.out)
    assert run("--version") == ran
    assert '"grammar": "' in run("version", "-o", "json").out


EXITS = [
    (0, ["--help"]),
    (0, ["version"]),
    (0, ["eval", "-e", "1 + 1"]),
    (0, ["eval", "-e", "false"]),
    (1, ["eval", "-e", "1 / 0"]),
    (2, ["eval", "-e", "1 +"]),
    (2, ["eval", "-e", "1 + 'a'"]),
    (2, ["eval", "-e", "x", "--bind", "x"]),
    (2, ["eval"]),
    (0, ["eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml"]),
    (1, ["eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml", "--node", "small"]),
    (2, ["eval", "broken.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml"]),
    (2, ["eval", "rules.expr", "--pod", "absent.yaml"]),
    (2, ["eval", "rules.expr", "--pod", "rules.expr"]),
    (2, ["eval", "rules.expr", "--pod", "pod.yaml", "--set", "x=1"]),
    (2, ["eval", "rules.expr"]),
    (0, ["check", "rules.expr"]),
    (0, ["check", "warned.expr"]),
    (1, ["check", "warned.expr", "--strict"]),
    (1, ["check", "broken.expr"]),
    (2, ["check"]),
    (2, ["check", "absent.expr"]),
    (2, ["check", "--nonsense"]),
    (0, ["check", "--explain", "E203"]),
    (2, ["check", "--explain", "E999"]),
    (0, ["fmt", "--check", "rules.expr"]),
    (1, ["fmt", "--check", "ragged.expr"]),
    (0, ["fmt", "--diff", "ragged.expr"]),
    (1, ["fmt", "--diff", "--check", "ragged.expr"]),
    (0, ["fmt", "ragged.expr"]),
    (2, ["fmt", "broken.expr"]),
    (2, ["fmt", "absent.expr"]),
    (2, ["fmt"]),
    (2, ["no-such-command"]),
]


@pytest.mark.parametrize(("status", "arguments"), EXITS, ids=[" ".join(args) for _, args in EXITS])
def test_exit_status(status: int, arguments: list[str]) -> None:
    write("pod.yaml", POD)
    write("nodes.yaml", NODES)
    write("rules.expr", RULES)
    write("warned.expr", 'rule "x" {\n  when    1 == 1\n  require node.ready\n}\n')
    write("broken.expr", 'rule "x" {\n  require node.labls.disk == "ssd" &&\n}\n')
    write("ragged.expr", 'rule "x" { require node.ready }\n')
    ran = run(*arguments)
    assert ran.status == status
    if status == 2:
        assert ran.err
        assert not ran.out


def test_python_runs_the_package_as_the_script_does() -> None:
    ran = _start("eval", "-e", "6 * 7")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "42 : int\n", "")


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    os.mkfifo("pipe")
    started = subprocess.Popen(
        [*POLICYD, "eval", "-e", "node.name", "--nodes", "pipe"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # what starts the tests may have had the signal ignored, as a shell does for `&`
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread here
    )
    with Path("pipe").open("w", encoding="utf-8"):  # returns when the command has begun to read
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert (out, err.strip()) == ("", "")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    many = "lists.range(20000).map(i, i)"
    with subprocess.Popen(
        [*POLICYD, "eval", "-e", many, "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout
        assert started.stderr
        started.stdout.readline()
        started.stdout.close()
        assert started.stderr.read() == ""
    assert started.returncode == -signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_an_error_and_not_silence() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ran = subprocess.run(
            [*POLICYD, "eval", "-e", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ran.returncode == 2
    assert ran.stderr == text("""
        error: no space left on device
          --> standard output
           = help: make room on the disk
        """)


def test_a_closed_output_is_no_crash() -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m policyd eval -e 1 >&-"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in ran.stderr


def test_an_output_that_cannot_carry_every_character_gets_escapes() -> None:
    latin = {"env": {**os.environ, "PYTHONIOENCODING": "latin-1"}, "encoding": "latin-1"}
    ran = _start("eval", "-e", "'\u00e9\u2713'", **latin)
    assert (ran.returncode, ran.stdout) == (0, '"\u00e9\\u2713" : string\n')
    ran = _start("eval", "-e", "'\u00e9\U0001f600'", "-o", "json", **latin)
    assert '"value": "\\u00e9\\ud83d\\ude00"' in ran.stdout


def test_a_table_uses_plain_signs_where_there_are_no_others() -> None:
    write("pod.yaml", POD)
    write("nodes.yaml", NODES)
    write("rules.expr", RULES)
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ran = _start("eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml", env=latin)
    assert ran.returncode == 0
    assert ran.stdout.isascii()
    assert re.search(r"^small +no +no +-$", ran.stdout, re.MULTILINE)


def test_a_fault_of_policyds_own_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(main.policyd, "main", fail)
    monkeypatch.setattr(main, "_prepare", lambda: None)  # leave this process's signals alone
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == main.BUG


def test_the_group_gives_what_click_asks_it_for() -> None:
    context = click.Context(policyd)
    assert policyd.list_commands(context) == list(COMMANDS)
    assert policyd.get_command(context, "nothing") is None
