"""The Makefile and the pages that name its targets agree."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shared import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = frozenset(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
PAGES = ["README.md", "CONTRIBUTING.md", "requirements/README.md", ".ci/run", "tests/conftest.py"]
PROMISED = {
    "demo",
    "test",
    "check",
    "fmt",
    "bench",
    "fuzz",
    "fuzz-quick",
    "wheel",
    "lock",
    "schema",
}


def _named(text: str) -> set[str]:
    """Find the targets that a page names as code, or runs."""
    calls = re.findall(r"(?:`|^ *|step )(?:PYTHON=\S+ )?make ([a-z][a-z-]*)", text, re.MULTILINE)
    return set(calls)


@pytest.mark.parametrize("page", PAGES)
def test_every_target_that_a_page_names_exists(page: str) -> None:
    assert _named((ROOT / page).read_text(encoding="utf-8")) <= TARGETS


def test_the_promised_targets_exist() -> None:
    assert PROMISED <= TARGETS


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    assert make, "these tests need make"
    return subprocess.run([make, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_target_is_phony_and_listed_by_help() -> None:
    assert set(re.findall(r"^\.PHONY: (\S+)", MAKEFILE, re.MULTILINE)) == TARGETS
    listed = re.findall(r"^  make (\S+)", _make("help").stdout, re.MULTILINE)
    assert set(listed) == TARGETS


def test_the_readme_names_the_two_commands_that_do_all_the_set_up() -> None:
    assert {"demo", "test"} <= _named((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("target", ["env", "demo", "check", "test", "fuzz-quick", "bench", "wheel"])
def test_make_plans_each_target_without_a_missing_rule(target: str, tmp_path: Path) -> None:
    plan = _make("--dry-run", f"VENV={tmp_path / 'none'}", target)
    assert plan.returncode == 0, plan.stderr


def test_an_interpreter_that_is_too_old_is_refused_with_what_to_do(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1" && exit 0\nexit 1\n')
    old.chmod(0o755)
    made = _make(f"PYTHON={old}", f"VENV={tmp_path / 'none'}", "env")
    assert made.returncode != 0
    assert "policyd needs Python 3.11 or newer" in made.stderr
    assert "Python 3.8.1" in made.stderr
    assert "make PYTHON=" in made.stderr


def test_the_demo_runs_what_the_readme_shows() -> None:
    plan = _make("--dry-run", "demo").stdout
    run = re.findall(r"^\S*/policyd (.+?)(?: \|\| .*)?$", plan, re.MULTILINE)
    shown = re.findall(
        r"^\$ policyd (.*build/demo\.jsonl)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert run == shown
    assert [command.split()[0] for command in run] == ["simulate", "explain"]
