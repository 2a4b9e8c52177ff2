"""What happens where the control plane cannot be built, and that it is built once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import program
from tests.controlplane.assets import IncompleteAssetsError, assets
from tests.shared import ROOT

SOURCES = program.SOURCES

FAKE_GO = """#!/bin/sh
case "$1 $2" in
  "env GOVERSION") echo "go1.26 linux amd64" ;;
  "mod download") {download} ;;
  "build "*) {build}; while [ "$1" != -o ]; do shift; done; echo built >> "$2" ;;
esac
"""
NOTHING_WRONG = {"download": "true", "build": "true"}


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a Go toolchain on the PATH whose script the test writes, and an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    go = folder / "go"
    go.touch(mode=0o755)
    return go


def test_what_was_built_is_used_again(fake_go: Path) -> None:
    fake_go.write_text(FAKE_GO.format_map(NOTHING_WRONG), encoding="utf-8")
    first = program._build()
    assert program._build() == first
    assert {path.name: path.read_text() for path in first.iterdir()} == {
        "controlplane": "built\n",
        "helm": "built\n",
    }


def test_other_sources_are_built_anew_and_old_programs_are_thrown_away(
    fake_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_go.write_text(FAKE_GO.format_map(NOTHING_WRONG), encoding="utf-8")
    folders = []
    for number in range(program.KEPT + 2):
        source = tmp_path / "sources" / f"{number}.go"
        source.parent.mkdir(exist_ok=True)
        source.touch()
        shutil.copy(SOURCES / "go.mod", source.parent)
        monkeypatch.setattr(program, "SOURCES", source.parent)
        folders.append(program._build())
        os.utime(folders[-1], (number, number))
    kept = {path for path in program.cache_folder().iterdir() if path.is_dir()}
    assert kept == set(folders[-program.KEPT :])


def test_modules_that_cannot_be_downloaded_mean_that_there_is_no_control_plane(
    fake_go: Path,
) -> None:
    failing = {"download": 'echo "dial tcp: lookup proxy" >&2; exit 1'}
    fake_go.write_text(FAKE_GO.format_map(NOTHING_WRONG | failing), encoding="utf-8")
    with pytest.raises(
        program.AbsentError, match="Go modules cannot be had: dial tcp: lookup proxy"
    ):
        program._build()


def test_sources_that_do_not_compile_are_a_failure_and_leave_nothing(fake_go: Path) -> None:
    failing = {"build": 'echo "main.go:1: syntax error" >&2; exit 1'}
    fake_go.write_text(FAKE_GO.format_map(NOTHING_WRONG | failing), encoding="utf-8")
    with pytest.raises(program.BuildError, match="syntax error"):
        program._build()
    assert [path.name for path in program.cache_folder().iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")], ids=["by hand", "in CI"]
)
def test_without_go_a_cluster_test_is_skipped_with_the_reason_but_fails_in_ci(
    tmp_path: Path, ci: str, outcome: str
) -> None:
    here = f"{Path(__file__).parent.relative_to(ROOT)}/test_plane.py"
    unset = {"KUBEBUILDER_ASSETS": "", "POLICYD_NOT_RUN": ""}
    environment = os.environ | unset | {"PATH": str(tmp_path), "CI": ci}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            f"{here}::test_a_stranger_is_refused",
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in done.stdout
    assert (done.returncode != 0) == bool(ci)
    assert "no test control plane: there is no Go toolchain" in done.stdout


def test_a_folder_of_assets_without_the_server_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etcd").touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(
        IncompleteAssetsError, match=f"names {tmp_path}, which has no kube-apiserver"
    ):
        assets()
    (tmp_path / "kube-apiserver").touch(mode=0o755)
    assert assets() == tmp_path


def test_the_go_sources_are_formatted(go_program: Path) -> None:
    gofmt = shutil.which("gofmt")
    assert gofmt, f"gofmt is missing beside the Go that built {go_program}"
    files = [path for path in program.sources() if path.suffix == ".go"]
    done = subprocess.run([gofmt, "-l", *files], capture_output=True, text=True, check=True)
    assert done.stdout == ""
