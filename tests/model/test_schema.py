"""The schema in the package: whole, of known types, frozen, and cheap to load."""

import subprocess
import sys

import pytest

from policyd.language.types import Kind, parse_type
from policyd.model.schema import api_types, description, schema
from tests.shared import ROOT

FIELDS = [(name, field) for name, fields in api_types().items() for field in fields]


def objects_in(text):
    parsed = parse_type(text)
    while parsed.kind in (Kind.LIST, Kind.MAP):
        parsed = parsed.params[-1]
    return [parsed.name] if parsed.kind is Kind.OPAQUE and parsed.name.startswith("v1.") else []


@pytest.mark.parametrize(
    "name",
    [
        *("v1.Pod", "v1.Node", "v1.Namespace", "v1.PodTemplateSpec", "v1.PersistentVolume"),
        *("v1.PersistentVolumeClaim", "v1.StorageClass", "v1.PodDisruptionBudget"),
        "v1.ResourceClaim",
    ],
)
def test_objects_that_rules_start_from_are_there(name):
    assert api_types()[name]


@pytest.mark.parametrize(
    ("name", "field", "text"),
    [
        ("v1.Pod", "spec", "v1.PodSpec"),
        ("v1.PodSpec", "containers", "list(v1.Container)"),
        ("v1.PodSpec", "nodeSelector", "map(string, string)"),
        ("v1.PodSpec", "priority", "int"),
        ("v1.PodSpec", "hostNetwork", "bool"),
        ("v1.ObjectMeta", "creationTimestamp", "timestamp"),
        ("v1.ManagedFieldsEntry", "fieldsV1", "dyn"),
        ("v1.HTTPGetAction", "port", "dyn"),
        ("v1.Probe", "exec", "v1.ExecAction"),
        ("v1.ResourceRequirements", "requests", "map(string, string)"),
        ("v1.EmptyDirVolumeSource", "sizeLimit", "string"),
        ("v1.PodDisruptionBudgetStatus", "disruptedPods", "map(string, timestamp)"),
        ("v1.PodSecurityContext", "supplementalGroups", "list(int)"),
    ],
)
def test_types_are_those_that_rules_see(name, field, text):
    assert api_types()[name][field] == text


def test_every_type_can_be_read_and_every_object_in_it_is_in_the_schema():
    for fields in api_types().values():
        for text in fields.values():
            assert str(parse_type(text)).replace("google.protobuf.Timestamp", "timestamp") == text
            assert all(name in api_types() for name in objects_in(text)), text


def test_no_object_contains_itself_so_that_decoding_has_a_depth():
    def visit(name, above):
        assert name not in above
        for text in api_types()[name].values():
            for inner in objects_in(text):
                visit(inner, (*above, name))

    for name in api_types():
        visit(name, ())


def test_quantities_are_strings_or_maps_of_strings():
    marked = [(name, field) for name, fields in schema().quantities.items() for field in fields]
    assert ("v1.NodeStatus", "allocatable") in marked
    assert ("v1.ResourceFieldSelector", "divisor") in marked
    assert ("v1.NodeSwapStatus", "capacity") not in marked
    assert {api_types()[name][field] for name, field in marked} == {"string", "map(string, string)"}


def test_int_or_string_fields_are_dynamic():
    marked = [(name, field) for name, fields in schema().int_or_string.items() for field in fields]
    assert ("v1.TCPSocketAction", "port") in marked
    assert {api_types()[name][field] for name, field in marked} == {"dyn"}


def test_every_field_and_every_object_has_a_description_of_one_line():
    texts = [description(name, field) for name, field in FIELDS]
    texts += [description(name) for name in api_types()]
    assert all(text and "\n" not in text and "noqa" not in text for text in texts)


def test_field_without_a_description_has_that_of_its_type():
    assert description("v1.Pod", "spec") == description("v1.PodSpec")
    assert "scheduled" in description("v1.Pod")
    assert "toleration" in description("v1.PodSpec", "tolerations")


@pytest.mark.parametrize(("name", "field"), [("v1.Nothing", ""), ("v1.Pod", "x"), ("", "spec")])
def test_what_does_not_exist_has_an_empty_description(name, field):
    assert description(name, field) == ""


def test_schema_cannot_be_changed():
    with pytest.raises(TypeError):
        api_types()["v1.Pod"] = {}
    with pytest.raises(TypeError):
        api_types()["v1.Pod"]["spec"] = "dyn"


def test_loading_imports_neither_the_client_nor_the_descriptions():
    """The cold start of the command line pays for what this imports and reads."""
    program = (
        "import sys; from policyd.model import schema; schema.api_types();"
        "print([m for m in ('kubernetes', 'pydantic', 'msgspec', 'yaml') if m in sys.modules],"
        "schema._descriptions.cache_info().currsize)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT,
    )
    assert found.stdout.strip() == "[] 0"
