"""Decoding real manifests: each object is accepted, and each time in it becomes a timestamp."""

from collections import Counter

import pytest
import yaml

from policyd.model.decode import decode
from policyd.model.schema import api_types
from policyd.values.times import Timestamp
from tests.shared import ABSENT, needs_shared, shared_file

KINDS = ("Pod", "Node", "Namespace", "PersistentVolumeClaim", "PodDisruptionBudget")
FILES = [] if ABSENT else sorted(shared_file("data", "manifests").glob("*/*.*"))
TABS = "respelled-04-tabs.yaml"  # PyYAML refuses a tab before a comment, which YAML allows


class JsonLoader(yaml.CSafeLoader):
    """Reads YAML to what JSON can hold: times stay texts."""


JsonLoader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(path):
    text = path.read_bytes().decode("utf-8-sig")
    if path.name == TABS:
        text = text.replace("\t", " ")
    return list(yaml.load_all(text, JsonLoader))


def objects(document):
    """Find the objects of known kinds in a document, and the pod templates in its workloads."""
    rest = [document]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest += value
        elif isinstance(value, dict):
            name = object_type(value)
            if name:
                yield name, value
            elif str(value.get("kind")).endswith("NodeList"):
                yield from (("v1.Node", item) for item in value["items"])
            else:
                rest += value.values()


def object_type(value):
    if value.get("kind") in KINDS and "metadata" in value:
        return f"v1.{value['kind']}"
    spec = value.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
        return "v1.Pod" if "status" in value else "v1.PodTemplateSpec"
    return ""


def fields_of(name, raw, made):
    """Walk the typed fields of an object and of its decoded form side by side."""
    for field, text in api_types()[name].items():
        if raw.get(field) is None:
            continue
        yield from values_of(text, raw[field], made[field])


def values_of(text, raw, made):
    if text.startswith("list("):
        for each, decoded in zip(raw, made, strict=True):
            yield from values_of(text[5:-1], each, decoded)
    elif text in api_types():
        yield from fields_of(text, raw, made)
    else:
        yield text, made


@needs_shared
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_object_of_a_real_file_is_decoded_and_its_times_are_timestamps(path):
    for document in documents(path):
        for name, raw in objects(document):
            made = decode(name, raw)
            for text, value in fields_of(name, raw, made):
                if text == "timestamp":
                    assert isinstance(value, Timestamp)


@needs_shared
def test_real_files_hold_what_the_test_above_looks_for():
    kinds, times = Counter(), 0
    for path in FILES:
        for document in documents(path):
            for name, raw in objects(document):
                kinds[name] += 1
                found = fields_of(name, raw, decode(name, raw))
                times += sum(text == "timestamp" for text, _ in found)
    assert kinds["v1.Pod"] > 90
    assert kinds["v1.Node"] > 40
    assert kinds["v1.PodTemplateSpec"] > 25
    assert times > 500
