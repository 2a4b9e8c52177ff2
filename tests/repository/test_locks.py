"""The locked versions satisfy pyproject.toml, agree with each other, and carry hashes."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = PROJECT["dependency-groups"]
OWN = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED = {
    "base": OWN,
    "build": GROUPS["build"] + PROJECT["build-system"]["requires"],
    "dev": OWN + GROUPS["build"] + GROUPS["test"] + GROUPS["lint"] + GROUPS["schema"],
    "image": OWN + EXTRAS["run"] + EXTRAS["tracing"],
    "bench": OWN + GROUPS["test"] + GROUPS["bench"],
    "fuzz": OWN + GROUPS["test"] + GROUPS["fuzz"],
    "lock": GROUPS["lock"],
}
ENTRY = re.compile(
    r"^([a-z0-9.-]+)==([^ \\]+)[^\n]*\\\n((?: +--hash=sha256:[0-9a-f]{64}.*\n?)+)", re.MULTILINE
)


def _text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def _locked(name: str) -> dict[str, str]:
    return {match[1]: match[2] for match in ENTRY.finditer(_text(name))}


@pytest.mark.parametrize("name", WANTED)
def test_what_pyproject_asks_for_is_locked(name: str) -> None:
    """If this fails, pyproject.toml was changed without `make lock`."""
    locked = _locked(name)
    for wanted in map(Requirement, WANTED[name]):
        version = locked.get(canonicalize_name(wanted.name))
        assert version is not None, f"{wanted.name} is not in requirements/{name}.txt: make lock"
        assert wanted.specifier.contains(version), f"{wanted} but {version} is locked: make lock"


@pytest.mark.parametrize("name", WANTED)
def test_each_line_is_a_version_or_a_hash_and_none_names_an_index(name: str) -> None:
    left = ENTRY.sub("", _text(name))
    assert left.strip() == ""


def test_a_package_has_the_same_version_in_every_file() -> None:
    seen: dict[str, str] = {}
    for name in WANTED:
        for package, version in _locked(name).items():
            assert seen.setdefault(package, version) == version, f"{package} in {name}.txt"


def test_every_lock_file_is_known_here_and_in_its_readme() -> None:
    files = {path.stem for path in (ROOT / "requirements").glob("*.txt")}
    assert files == set(WANTED)
    page = Path(ROOT / "requirements" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)\.txt`", page, re.MULTILINE)) == files
