"""Values, schema, README and rules of the chart agree with each other; this needs no helm."""

import json
import re

import pytest
import yaml

from tests.charts.rendering import CHART
from tests.shared import ROOT

VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
README = (CHART / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w.]+)` \| `(.*?)` \|", README, re.MULTILINE))


def leaves(value, path=""):
    """Give the paths of all values; an empty map and a list are values."""
    if not isinstance(value, dict) or not value:
        return {path}
    return set().union(*(leaves(v, f"{path}.{k}".lstrip(".")) for k, v in value.items()))


def at(path):
    found = VALUES
    for part in path.split("."):
        found = found[part]
    return found


def test_the_readme_lists_every_value():
    left = {
        leaf
        for leaf in leaves(VALUES)
        if not any(leaf == row or leaf.startswith(f"{row}.") for row in ROWS)
    }
    assert not left


@pytest.mark.parametrize("path", ROWS)
def test_the_readme_says_the_default_that_is(path):
    assert yaml.safe_load(ROWS[path]) == at(path)


def closed(schema, path=""):
    """Give the paths of maps whose keys the schema lists, and these keys."""
    if "properties" in schema:
        yield path, set(schema["properties"]), schema.get("additionalProperties")
        for key, inner in schema["properties"].items():
            yield from closed(inner, f"{path}.{key}".lstrip("."))


def test_the_schema_knows_every_value_and_no_other():
    for path, keys, more in closed(SCHEMA):
        if path.startswith(("profiles", "env")) or path == "global":
            continue
        there = set(at(path) if path else VALUES)
        assert keys - {"global"} == there, path
        assert more is False, path


def test_the_rules_of_the_chart_are_those_that_ship_and_no_copy():
    assert (CHART / "rules").is_symlink()
    assert (CHART / "rules").resolve() == ROOT / "rules"


def test_the_chart_has_the_version_of_the_package():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{chart["appVersion"]}"\n' in project


def test_no_template_names_a_registry():
    image = VALUES["image"]["repository"]
    assert "." not in image
    assert ":" not in image
