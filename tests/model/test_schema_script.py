"""`scripts/make_schema.py`: what is in the package is what the installed models say."""

import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.shared import ROOT

SCRIPT = ROOT / "scripts" / "make_schema.py"
MODEL = ROOT / "policyd" / "model"

needs_kubernetes = pytest.mark.skipif(
    importlib.util.find_spec("kubernetes") is None,
    reason="the `kubernetes` package (dependency group `schema`) is not installed",
)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_schema", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@needs_kubernetes
def test_files_in_the_package_are_up_to_date():
    found = run("--check")
    assert found.returncode == 0, found.stdout + found.stderr


@needs_kubernetes
def test_check_says_what_differs_and_writing_mends_it(tmp_path):
    content = json.loads((MODEL / "schema.json").read_text(encoding="utf-8"))
    content["kubernetes"] = "1.0"
    content["types"]["v1.Pod"]["spec"] = "string"
    del content["types"]["v1.Taint"]
    content["types"]["v1.Node"]["gone"] = "int"
    (tmp_path / "schema.json").write_text(json.dumps(content), encoding="utf-8")
    before = run("--check", "--folder", tmp_path)
    assert before.returncode == 1
    assert 'schema.json: kubernetes: "1.0" is now "' in before.stdout
    assert 'types > v1.Pod > spec: "string" is now "v1.PodSpec"' in before.stdout
    assert "types > v1.Taint: is new" in before.stdout
    assert "types > v1.Node > gone: is no longer there" in before.stdout
    assert "descriptions.json: cannot be read" in before.stdout

    assert run("--folder", tmp_path).returncode == 0
    for name in ("schema.json", "descriptions.json"):
        assert (tmp_path / name).read_bytes() == (MODEL / name).read_bytes()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("V1PodSpec", "v1.PodSpec"),
        ("CoreV1ResourceClaim", "v1.ResourceClaim"),
        ("V1beta2DeviceClass", "v1beta2.DeviceClass"),
        ("V1VsphereVirtualDiskVolumeSource", "v1.VsphereVirtualDiskVolumeSource"),
    ],
)
def test_names_of_objects(script, model, name):
    assert script.object_name(model) == name


def test_model_without_a_version_stops_the_script(script):
    with pytest.raises(script.Undecided, match="VersionInfo"):
        script.object_name("VersionInfo")


@pytest.mark.parametrize(
    ("openapi", "text"),
    [
        ("str", "string"),
        ("float", "double"),
        ("datetime", "timestamp"),
        ("object", "dyn"),
        ("List[str]", "list(string)"),
        ("Dict[str, bytes]", "map(string, bytes)"),
        ("Dict[str, List[V1Taint]]", "map(string, list(v1.Taint))"),
    ],
)
def test_types_of_the_models(script, openapi, text):
    assert script.type_text(openapi) == text


def model(openapi, described=""):
    return SimpleNamespace(
        __name__="V1Thing",
        openapi_types={"amount": openapi},
        attribute_map={"amount": "amount"},
        model_fields={"amount": SimpleNamespace(description=described)},
    )


def test_new_map_or_text_that_may_be_a_quantity_stops_the_script(script):
    """Otherwise a field that the API adds would silently be read as plain text."""
    with pytest.raises(script.Undecided, match=r"V1Thing\.amount"):
        script._is_quantity(model("Dict[str, str]"), "amount")
    with pytest.raises(script.Undecided, match=r"V1Thing\.amount"):
        script._is_quantity(model("str", "The quantity of it."), "amount")
    assert not script._is_quantity(model("int"), "amount")


def test_model_that_contains_itself_stops_the_script(script, monkeypatch):
    monkeypatch.setattr(script, "ROOTS", ("V1Tree",))
    tree = SimpleNamespace(openapi_types={"children": "List[V1Tree]"})
    with pytest.raises(script.Undecided, match="contains itself"):
        script.reachable(SimpleNamespace(V1Tree=tree))


def test_two_models_of_one_name_stop_the_script(script, monkeypatch):
    monkeypatch.setattr(script, "ROOTS", ("V1Claim", "CoreV1Claim"))
    models = SimpleNamespace(
        V1Claim=SimpleNamespace(openapi_types={}), CoreV1Claim=SimpleNamespace(openapi_types={})
    )
    with pytest.raises(script.Undecided, match="two models"):
        script.reachable(models)
