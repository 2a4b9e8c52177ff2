"""The command line: what it prints, and its exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.run import main
from tests.shared import ROOT

GOOD = {"group": "lists", "expr": "[1].size()", "expected": {"value": {"int": 1}}, "type": "int"}
BAD = {"group": "numbers", "expr": "1 + 1", "expected": {"value": {"int": 3}}}
KNOWN = {"group": "numbers", "expr": "1 + 1.0", "expected": {"error": True, "phase": "compile"}}


def _file(folder: Path, *rows: object) -> str:
    path = folder / "cases.json"
    path.write_text(json.dumps(rows))
    return str(path)


def test_a_difference_is_shown_in_full_and_gives_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_file(tmp_path, GOOD, BAD)]) == 1
    shown = capsys.readouterr().out
    assert "FAILED numbers/1\n  expression  '1 + 1'\n" in shown
    assert '{"int": 2} of type int' in shown
    assert [line.split() for line in shown.splitlines()[-5:-1]] == [
        ["group", "cases", "passed", "failed", "known"],
        ["lists", "1", "1", "0", "0"],
        ["numbers", "1", "0", "1", "0"],
        ["total", "2", "1", "1", "0"],
    ]


def test_what_is_documented_counts_apart_and_gives_status_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_file(tmp_path, GOOD, KNOWN)]) == 0
    assert "KNOWN numbers/1" in capsys.readouterr().out
    assert main([_file(tmp_path, GOOD, KNOWN), "--only-failures"]) == 0
    assert "KNOWN" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        (["--group", "lists"], 0),
        (["--group", "numbers"], 1),
        (["--id", "lists/1"], 0),
        (["--id", "1 + 1"], 1),
        (["--group", "lists", "--group", "numbers"], 1),
    ],
)
def test_groups_and_cases_are_chosen(choice: list[str], status: int, tmp_path: Path) -> None:
    assert main([_file(tmp_path, GOOD, BAD), *choice]) == status


@pytest.mark.parametrize("choice", [["--group", "none"], ["--id", "lists/9"]])
def test_a_choice_that_no_case_meets_is_an_error(choice: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([_file(tmp_path, GOOD), *choice])
    assert stopped.value.code == 2


def test_a_file_that_is_none_of_cases_gives_status_2(tmp_path: Path) -> None:
    for path in (_file(tmp_path, {"x": 1}), str(tmp_path / "absent.json")):
        with pytest.raises(SystemExit) as stopped:
            main([path])
        assert stopped.value.code == 2


def test_it_runs_as_a_script_from_any_folder(tmp_path: Path) -> None:
    script = ROOT / "tests" / "conformance" / "run.py"
    done = subprocess.run(
        [sys.executable, script, _file(tmp_path, GOOD)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cases.json: 1 cases" in done.stdout
