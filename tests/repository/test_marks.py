"""Tests that compare seconds with a bound are marked, so that they run alone."""

import ast
from pathlib import Path

import pytest

from tests.shared import ROOT

CLOCKS = {"perf_counter", "perf_counter_ns", "process_time", "monotonic", "_seconds_of"}
FILES = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "bench" not in path.parts)


def _reads_a_clock(function: ast.FunctionDef) -> bool:
    nodes = list(ast.walk(function))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return bool(CLOCKS & (names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}))


def _marked(tree: ast.Module, function: ast.FunctionDef) -> bool:
    marks = [ast.unparse(it) for it in function.decorator_list]
    marks += [ast.unparse(it) for it in tree.body if isinstance(it, ast.Assign)]
    return any("mark.timing" in it for it in marks)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_that_reads_a_clock_is_marked_timing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tests = [it for it in tree.body if isinstance(it, ast.FunctionDef) and it.name[:5] == "test_"]
    unmarked = [it.name for it in tests if _reads_a_clock(it) and not _marked(tree, it)]
    assert not unmarked, f"add @pytest.mark.timing: {unmarked}"
