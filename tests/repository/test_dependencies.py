"""What the package imports is what it declares, no more and no less."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = {
    canonicalize_name(Requirement(it).name)
    for group in (PROJECT["dependencies"], *EXTRAS.values())
    for it in group
}
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
    owners = {
        name: {canonicalize_name(owner) for owner in packages}
        for name, packages in packages_distributions().items()
    }
    assert {name for name in third_party if name not in owners} == set(), "not installed"
    assert {name for name in third_party if not owners[name] & DECLARED} == set(), "not declared"
    # A namespace, as `opentelemetry` is, belongs to several packages.
    used = {owner for name in third_party for owner in owners[name]}
    assert DECLARED - used - DATA == set(), "not imported"
