"""Numbers and names that pages write out are those of the code."""

import re

import pytest

from policyd.cli.failure import UNUSABLE
from policyd.cli.main import BUG, COMMANDS, INTERRUPTED
from policyd.cli.progress import LARGE
from policyd.language import limits
from policyd.language.libraries.regex import MAX_PATTERN
from policyd.model import yaml_reader
from policyd.model.manifests import TEMPLATES
from policyd.values import quantity
from tests.shared import ROOT


def _page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def _section(name, heading):
    return _page(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "limit",
    [
        *(limits.MAX_SOURCE, limits.MAX_TOKENS, limits.MAX_DEPTH),
        *(limits.MAX_WORK, limits.MAX_STRING, limits.MAX_LIST, limits.MAX_INLINED, MAX_PATTERN),
    ],
)
def test_the_limits_of_rules_are_those_of_the_page(limit):
    assert f"{limit:,} " in _section("docs/language.md", "Limits")


@pytest.mark.parametrize(
    "limit", [yaml_reader.MAX_DEPTH, yaml_reader.MAX_ALIASED, quantity.MAX_TEXT]
)
def test_the_limits_of_manifests_are_those_of_the_page(limit):
    assert re.search(rf"\b{limit:,}\b", _section("docs/operations.md", "Limits"))


def test_every_command_stands_in_the_page_of_operations():
    section = _section("docs/operations.md", "Commands")
    assert not [name for name in COMMANDS if f"`policyd {name}" not in section]


def test_every_exit_status_stands_in_the_page_of_operations():
    section = _section("docs/operations.md", "Exit statuses")
    listed = {int(status) for status in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    assert listed == {0, 1, UNUSABLE, BUG, INTERRUPTED}


def test_every_workload_stands_in_the_page_of_operations():
    section = _section("docs/operations.md", "Input")
    assert not [kind for kind in TEMPLATES if f"`{kind}`" not in section]


def test_the_size_from_which_on_a_bar_is_shown_is_the_one_of_the_page():
    assert f"more than {LARGE // 2**20} MiB" in _page("docs/operations.md")


def test_the_readme_counts_the_cases_that_the_page_of_conformance_lists():
    rows = re.findall(r"^\| ([\d,]+) \| ", _page("docs/conformance.md"), re.MULTILINE)
    total = sum(int(row.replace(",", "")) for row in rows)
    assert f"{total:,} cases" in _page("README.md")
