"""Every test of the command line runs in an empty folder of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
