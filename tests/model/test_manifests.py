"""Manifests: which objects are read, which leave a note, which a problem, and where they are."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.model import documents, pieces
from policyd.model.manifests import MAX_PROBLEMS, Manifests, read_bytes, read_file, read_stream
from policyd.model.places import Note, Place, Problem
from tests.shared import needs_shared, shared_file

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}


VOLCANO = (
    "batch.volcano.sh/v1alpha1 is not Kubernetes' own batch/v1, and its objects are made otherwise"
)


def read(text: str) -> Manifests:
    return read_bytes(text.encode(), "f")


def objects(text: str) -> list[dict[str, Any]]:
    found = read(text)
    assert (found.notes, found.problems) == ((), ())
    return [json.loads(each.json) for each in found.documents]


def problem_of(text: str | bytes) -> Problem:
    [problem] = read_bytes(text.encode() if isinstance(text, str) else text, "f").problems
    return problem


# --- which objects ---


@pytest.mark.parametrize(
    ("version", "kind", "path", "owner"),
    [
        ("v1", "PodTemplate", ("template",), None),
        ("v1", "ReplicationController", ("spec", "template"), "ReplicationController"),
        ("apps/v1", "Deployment", ("spec", "template"), "ReplicaSet"),
        ("apps/v1", "ReplicaSet", ("spec", "template"), "ReplicaSet"),
        ("apps/v1", "StatefulSet", ("spec", "template"), "StatefulSet"),
        ("apps/v1", "DaemonSet", ("spec", "template"), "DaemonSet"),
        ("batch/v1", "Job", ("spec", "template"), "Job"),
        ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec", "template"), "Job"),
    ],
)
def test_a_template_becomes_the_pod_that_its_controller_would_make(version, kind, path, owner):
    content: Any = {
        "metadata": {"name": "ignored", "namespace": "ignored", "labels": {"x": "y"}},
        "spec": {"nodeName": "n"},
    }
    for step in reversed(path):
        content = {step: content}
    workload = {"apiVersion": version, "kind": kind, "metadata": {"name": "w", "namespace": "s"}}
    [document] = read(json.dumps(workload | content)).documents
    pod = json.loads(document.json)
    assert (document.kind, document.workload) == ("Pod", kind)
    assert (pod["apiVersion"], pod["kind"], pod["spec"]) == ("v1", "Pod", {"nodeName": "n"})
    metadata = pod["metadata"]
    assert (metadata["name"], metadata["namespace"], metadata["labels"]) == ("w", "s", {"x": "y"})
    owners = metadata.get("ownerReferences", [])
    assert [(each["kind"], each["name"], each["controller"]) for each in owners] == (
        [(owner, "w", True)] if owner else []
    )


@pytest.mark.parametrize(
    ("version", "kind", "reason"),
    [
        ("v1", "ConfigMap", "rules do not read objects of this kind"),
        ("x.io/v1", "Pod", "x.io/v1 is not Kubernetes' own v1, and its objects are made otherwise"),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            VOLCANO,
        ),
        (
            "extensions/v1beta1",
            "Deployment",
            "Kubernetes does not serve Deployment in extensions/v1beta1, but in apps/v1",
        ),
        (
            "batch/v1beta1",
            "CronJob",
            "Kubernetes does not serve CronJob in batch/v1beta1, but in batch/v1",
        ),
    ],
)
def test_every_other_object_leaves_a_note(version, kind, reason):
    found = read(f"# c\napiVersion: {version}\nkind: {kind}\nmetadata:\n  name: thing\n")
    assert found == Manifests(notes=(Note(kind, "thing", Place("f", 2, 1), reason),))


def test_elements_of_a_raw_list_get_their_kind_from_it():
    text = "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n"
    assert objects(text) == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}} for name in "ab"
    ]


def test_lists_in_lists_are_read_and_empty_ones_are_fine():
    inner = {"apiVersion": "v1", "kind": "List", "items": [POD, {**POD, "metadata": {"name": "b"}}]}
    empty = {"apiVersion": "v1", "kind": "NodeList", "items": None}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner, empty, POD]}
    assert [each["metadata"]["name"] for each in objects(json.dumps(outer))] == ["a", "b", "a"]


def test_json_values_may_follow_each_other():
    text = f"{json.dumps(POD)}\n\n {json.dumps(POD, indent=2)}{json.dumps(POD)}\n"
    assert objects(text) == [POD] * 3
    assert [str(each.place) for each in read(text).documents] == ["f:1:1", "f:3:2", "f:10:2"]


def test_an_error_in_one_document_leaves_the_others():
    found = read("apiVersion: v1\nkind: Pod\n---\na: [\n---\nkind: Pod\napiVersion: v1\n")
    assert [each.place.line for each in found.documents] == [1, 6]
    assert [each.place.line for each in found.problems] == [5]


def test_json_and_yaml_documents_may_alternate():
    text = f"---\n{json.dumps(POD, indent=1)}\n---\nkind: Pod\napiVersion: v1\n--- {{kind: Pod}}\n"
    found = read(text)
    assert [str(each.place) for each in found.documents] == ["f:2:1", "f:11:1"]
    assert [each.cause for each in found.problems] == [
        'the object of kind "Pod" has no `apiVersion`'
    ]


def test_an_error_after_a_json_value_leaves_what_was_before_it():
    found = read(f'{json.dumps(POD)}\n{{"kind" 1}}\n')
    assert len(found.documents) == 1
    assert [str(each.place) for each in found.problems] == ["f:2:9"]


# --- problems ---


@pytest.mark.parametrize(
    ("text", "place", "cause", "remedy"),
    [
        ("kind: Pod\n", "f:1:1", 'the object of kind "Pod" has no `apiVersion`', "add one"),
        ("apiVersion: v1\n", "f:1:1", "the object has no `kind`", "add `apiVersion`"),
        ("just text\n", "f:1:1", "expected map, got string", ""),
        ("- a\n- b\n", "f:1:1", "expected map, got list", ""),
        ("kind: 5\n", "f:1:7", "expected string, got int", "put it in quotes"),
        (
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: 123\n",
            "f:4:9",
            "expected string, got int",
            "put it in quotes",
        ),
        (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}\n",
            "f:4:7",
            "the Deployment has no pod template at `spec.template`",
            "",
        ),
        ('{"apiVersion": "v1",\n "kind" "Pod"}', "f:2:9", "JSON is malformed", "before this place"),
        ('{"apiVersion": "v1"', "f:1:20", "the JSON ends before it is complete", ""),
        ("a: b\x00\n", "f:1:5", "the character U+0000 is not allowed in YAML", "escape"),
        (b"a: \xff\n", "f:1:4", "the byte 0xff is not UTF-8", "UTF-8"),
        (b'{"a": "\xff"}', "f:1:8", "the byte 0xff is not UTF-8", "UTF-8"),
        ("a: b".encode("utf-16"), "f:1:1", "the text is UTF-16 or binary, not UTF-8", "UTF-8"),
        ("a: b".encode("utf-16-le"), "f:1:1", "the text is UTF-16 or binary", "UTF-8"),
        ("[" * 200_000, "f:1:1", "JSON is nested too deeply", ""),
        ('{"a":' * 200_000, "f:1:1", "JSON is nested too deeply", ""),
        ("a: " + "[" * 200_000, "f:1:1", "nest", "at most 100"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_a_place(text, place, cause, remedy):
    problem = problem_of(text)
    if "nest" not in cause:
        assert str(problem.place) == place
    assert cause in problem.cause
    assert remedy in problem.remedy


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path: Path):
    absent = read_file(tmp_path / "absent.yaml")
    folder = read_file(tmp_path)
    assert [each.cause for each in absent.problems] == ["no such file or directory"]
    assert [each.cause for each in folder.problems] == ["is a directory"]


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"# c\n", b"---\n---\n", b"null\n", b"\xef\xbb\xbf"]
)
def test_an_empty_input_holds_nothing_and_is_no_problem(text):
    assert read_bytes(text) == Manifests()


def test_a_stream_that_cannot_go_back_is_read():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    assert len(read_stream(Pipe(json.dumps(POD).encode()), "<stdin>").documents) == 1


@pytest.mark.parametrize("item", ["---\na: b\n", "{}\n"])
def test_reading_stops_after_very_many_problems(item):
    found = read(item * (MAX_PROBLEMS + 10))
    assert len(found.problems) == MAX_PROBLEMS + 1
    assert (
        found.problems[-1].cause == "there are 1000 problems up to here: what follows was not read"
    )


def test_a_list_of_very_many_wrong_elements_is_not_read_to_its_end():
    found = read(json.dumps({"kind": "List", "apiVersion": "v1", "items": [1] * 200_000}))
    assert len(found.problems) == MAX_PROBLEMS + 1


def test_a_thousand_problems_in_one_text_are_placed_quickly():
    pods = [{**POD, "metadata": {"name": number}} for number in range(5000)]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}, indent=1)
    problems = read(text).problems
    assert problems[7].place.line == 9 + 8 * 7
    assert len(problems) == MAX_PROBLEMS + 1


# --- large inputs ---


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every input count as large, and read it in small blocks."""
    monkeypatch.setattr(documents, "SMALL", 0)
    monkeypatch.setattr(pieces, "BLOCK", 1024)


def shape(found: Manifests) -> Any:
    return (
        [
            (each.kind, each.workload, json.loads(each.json), each.place.line)
            for each in found.documents
        ],
        [(each.kind, each.name, each.place.line, each.reason) for each in found.notes],
        [(each.cause, each.place.line) for each in found.problems],
    )


@needs_shared
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "path", sorted(shared_file("data", "manifests").glob("*/*.[yj]*")), ids=str
)
def test_large_inputs_are_read_like_small_ones(path, monkeypatch):
    cut = read_file(path)
    monkeypatch.setattr(documents, "SMALL", 10**9)
    assert shape(cut) == shape(read_file(path))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
        "apiVersion: v1\nitems:\n- metadata:\n    name: a\nkind: NodeList\n",
        "apiVersion: v1\nitems:\n- kind: Pod\nkind: List\n",
        "items:\n- apiVersion: v1\n  kind: Pod\n",
        "items:\n- a\n",
        "items:\n- 'a\n- b'\n",
        "kind: List\napiVersion: v1\nitems:\n- &a {kind: Pod, apiVersion: v1}\n- *a\n",
        "kind: Foo\napiVersion: v1\nitems:\n- a\n",
        "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n  kind: Pod\n",
        "kind: List\napiVersion: v1\nitems:\n- kind: [\n- kind: Pod\n  apiVersion: v1\n",
        "apiVersion: v1\nitems:\n- kind: Pod\n  apiVersion: v1\nkind: List\nx: [\n",
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [POD, POD]}, indent=4),
        json.dumps({"apiVersion": "v1", "items": [POD, POD], "kind": "List"}, indent=4),
        json.dumps({"apiVersion": "v1", "items": [{"metadata": {}}], "kind": "PodList"}, indent=4),
        json.dumps({"apiVersion": "v1", "items": [POD, POD], "kind": "List"}, indent=4)[:-9],
        "{\n kind: Pod,\n apiVersion: v1,\n}\n",
    ],
)
def test_large_inputs_give_the_same_objects_and_problems(text, monkeypatch):
    cut = read(text)
    monkeypatch.setattr(documents, "SMALL", 10**9)
    whole = read(text)
    assert bool(cut.problems) == bool(whole.problems)
    if not whole.problems:
        assert [json.loads(each.json) for each in cut.documents] == [
            json.loads(each.json) for each in whole.documents
        ]
        assert [each.kind for each in cut.notes] == [each.kind for each in whole.notes]


# --- hostile inputs ---


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_no_input_raises(data):
    read_bytes(data)


PIECES = [
    *(
        "kind: Pod\n",
        "apiVersion: v1\n",
        "kind: List\n",
        "items:\n",
        "- ",
        "  ",
        "\n",
        "---\n",
        "a: b",
    ),
    *("{", "}", "[", "]", '"', "'", ",", ":", "&a ", "*a", "!!int ", "<<: ", "|\n", "\t", "\r\n"),
    *("\x00", "\ufeff", "metadata:\n", "  name: 1\n", "spec: {template: 5}\n", "kind: Job\n"),
    *("apiVersion: batch/v1\n", "null", '{"kind": "Pod", "apiVersion": "v1"}', "# c\n", "...\n"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.booleans())
def test_no_text_that_looks_like_a_manifest_raises_however_it_is_cut(text, large):
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(documents, "SMALL", 0)
            patch.setattr(pieces, "BLOCK", 8)
        read(text)
