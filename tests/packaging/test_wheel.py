"""The wheel, built from the tree, installed into an empty environment, used from elsewhere."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.shared import ROOT

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("wheel")]

MINUTES = 300
"""Seconds that one command may take: an installation on a busy machine."""


def _run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """Run a command outside this test's environment and give its standard output."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(
        command, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=MINUTES
    )
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `make wheel` does; it needs no network."""
    out = tmp_path_factory.mktemp("dist")
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory", str(out))
    _run(sys.executable, *build, cwd=ROOT)
    (made,) = out.glob("policyd-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel beside the locked versions of what it needs; give the bin folder."""
    home = tmp_path_factory.mktemp("empty")
    _run(sys.executable, "-m", "venv", home, cwd=home)
    pip = (home / "bin" / "python", "-m", "pip", "--quiet", "install")
    _run(*pip, "--require-hashes", "-r", ROOT / "requirements" / "base.txt", cwd=home)
    _run(*pip, "--no-index", "--no-deps", wheel, cwd=home)
    return home / "bin"


def test_the_wheel_carries_the_grammar_the_rules_and_the_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"policyd/grammar/{path.name}" for path in (ROOT / "grammar").glob("*.lark")}
    shipped |= {f"policyd/rules/{path.name}" for path in (ROOT / "rules").glob("*.expr")}
    assert len(shipped) > 1
    assert shipped <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_has_rules_without_their_tests(wheel: Path) -> None:
    assert not [
        n for n in zipfile.ZipFile(wheel).namelist() if "rules/" in n and n.endswith(".yaml")
    ]


def test_every_module_of_the_tree_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    tree = {str(path.relative_to(ROOT)) for path in (ROOT / "policyd").rglob("*.py")}
    assert packed == tree


def test_what_the_wheel_asks_for_is_what_is_locked(installed: Path) -> None:
    _run(installed / "python", "-m", "pip", "check", cwd=installed)


def _policyd(installed: Path, folder: Path, arguments: Sequence[str | Path]) -> str:
    return _run(installed / "policyd", *arguments, cwd=folder)


def test_eval_of_an_expression_works_from_another_folder(installed: Path, tmp_path: Path) -> None:
    shown = _policyd(installed, tmp_path, ["eval", "-e", 'quantity("1Gi") == quantity("1024Mi")'])
    assert "true" in shown


def test_eval_of_a_shipped_rule_works_from_another_folder(installed: Path, tmp_path: Path) -> None:
    where = "import policyd, pathlib; print(pathlib.Path(policyd.__file__).parent)"
    package = Path(_run(installed / "python", "-c", where, cwd=tmp_path).strip())
    assert ROOT not in package.parents, "the wheel is to be used, not the tree"
    rule, pod = package / "rules" / "gpu.expr", ROOT / "examples" / "gpu-pod.yaml"
    shown = _policyd(installed, tmp_path, ["eval", rule, "--pod", pod, "-o", "json"])
    assert json.loads(shown)


def test_the_modules_run_as_a_module_too(installed: Path, tmp_path: Path) -> None:
    assert "eval" in _run(installed / "python", "-m", "policyd", "--help", cwd=tmp_path)
