"""What the package imports is what it declares, no more and no less."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = {canonicalize_name(Requirement(it).name) for it in PROJECT["dependencies"]}
DATA = {"tzdata"}
"""Packages that are read by the standard library and imported by nobody."""


def _imports(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_every_imported_package_is_declared_and_every_declared_one_is_imported() -> None:
    imported: set[str] = set()
    for path in (ROOT / "policyd").rglob("*.py"):
        imported |= _imports(ast.parse(path.read_text(encoding="utf-8")))
    third_party = imported - sys.stdlib_module_names - {"policyd"}
    owners = packages_distributions()
    assert {name for name in third_party if name not in owners} == set(), "not installed"
    used = {canonicalize_name(owners[name][0]) for name in third_party}
    assert used | DATA == DECLARED
