"""What is not imported: heavy modules, where a command does not need them.

Times depend on the machine; what is imported does not.
"""

import subprocess
import sys

import pytest

from tests.cli.command import NODES, POD, RULES, write

HEAVY = (
    *("rich", "yaml", "yaml12", "msgspec", "re2", "semver", "numpy", "kubernetes"),
    *("zoneinfo", "importlib.metadata", "email", "http", "asyncio", "multiprocessing"),
)
PROBE = """
import sys
from policyd.cli.main import policyd
status = policyd.main(sys.argv[1:], prog_name="policyd", standalone_mode=False)
print("imported:", *sorted(set(sys.modules)), file=sys.stderr)
sys.exit(status or 0)
"""


def _imported(*arguments: str) -> set[str]:
    """Run a command in a new process, and give the modules that it has imported at its end."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.rpartition("imported: ")[2].split())


@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        (["--help"], ("lark", "policyd.language.parser", "policyd.model", "policyd.policy")),
        (["eval", "--help"], ("lark", "policyd.language.parser", "policyd.model")),
        (["check", "--help"], ("lark", "policyd.model", "policyd.policy")),
        (["check", "--explain", "E203"], ("lark", "policyd.model", "policyd.policy")),
        (["eval", "-e", "1 + 1"], ("policyd.model", "policyd.policy", "policyd.cli.inputs")),
        (["eval", "-e", "x.map(y, y * 2)", "--bind", "x=[1]"], ("policyd.model",)),
        (["eval", "-e", "2Gi > 500Mi"], ("policyd.model", "policyd.policy")),
    ],
    ids=" ".join,
)
def test_a_command_imports_nothing_that_it_does_not_need(
    arguments: list[str], also: tuple[str, ...]
) -> None:
    assert _imported(*arguments).isdisjoint({*HEAVY, *also})


def test_checking_a_rule_needs_no_reader_of_manifests_and_no_tables() -> None:
    write("rules.expr", RULES)
    imported = _imported("check", "rules.expr")
    assert imported.isdisjoint({"rich", "yaml12", "re2", "semver", "zoneinfo"})
    assert imported.isdisjoint({"policyd.cli.inputs", "policyd.cli.table", "policyd.policy.decide"})


def test_formatting_needs_no_types_and_no_model() -> None:
    write("rules.expr", RULES)
    imported = _imported("fmt", "rules.expr")
    assert imported.isdisjoint({*HEAVY, "policyd.model", "policyd.policy"})
    assert "policyd.language.checker" not in imported


def test_deciding_draws_no_progress_bar_for_small_input() -> None:
    write("rules.expr", RULES)
    write("pod.yaml", POD)
    write("nodes.yaml", NODES)
    imported = _imported("eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml")
    assert imported.isdisjoint({"rich", "re2", "semver", "zoneinfo", "kubernetes", "yaml12"})
