"""The manifests of examples/ can be read, and the command at the head of each does what it says."""

import re
import shlex

import pytest

from policyd.model.manifests import read_bytes
from tests.docs.console import Shell
from tests.shared import ROOT

FILES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_holds_one_pod_and_nothing_unknown(path):
    read = read_bytes(path.read_bytes(), path.name)
    assert not read.problems
    assert not read.notes
    assert len(list(read.of_kind("Pod"))) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_command_of_an_example_finds_a_node(path, tmp_path):
    found = re.search(r"^#   (policyd eval .*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "say in a comment how the example is used: `#   policyd eval …`"
    assert f"examples/{path.name}" in shlex.split(found[1])
    printed = Shell(tmp_path).run(f"{found[1]}; echo status $?")
    assert printed[-1] == "status 0", "\n".join(printed)
