"""Decoding: what each kind of field accepts, refuses and becomes, and how faults are told."""

import copy
import math
from collections import OrderedDict

import pytest

from policyd.model import decode as decode_module
from policyd.model.decode import MAX_DEPTH, DecodeError, decode
from policyd.values.times import Timestamp, parse_timestamp

HUGE = pytest.param(10**5000, id="5001 digits")  # more than Python turns into text
TIME = "2024-05-01T10:00:00Z"


def metadata(**fields):
    return decode("v1.ObjectMeta", fields)


def container(**fields):
    return decode("v1.Container", fields)


def pod(**spec):
    return decode("v1.Pod", {"spec": spec})["spec"]


def problem(name, raw):
    with pytest.raises(DecodeError) as raised:
        decode(name, raw)
    error = raised.value
    assert str(error) == (f"{error.path}: {error.problem}" if error.path else error.problem)
    assert "\n" not in str(error)
    return str(error)


def nested(depth, leaf=0):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_pod_becomes_values_of_rules():
    raw = {
        "metadata": {"name": "web", "creationTimestamp": TIME, "labels": {"app": "web"}},
        "spec": {
            "nodeName": None,
            "priority": 5.0,
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": 0.35, "memory": "1Gi", "gpu": 2}}}
            ],
        },
    }
    before = copy.deepcopy(raw)
    made = decode("v1.Pod", raw)
    assert made["metadata"]["creationTimestamp"] == parse_timestamp(TIME)
    assert made["metadata"]["labels"] == {"app": "web"}
    assert "nodeName" not in made["spec"]
    assert made["spec"]["priority"] == 5
    assert type(made["spec"]["priority"]) is int
    requests = made["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "0.35", "memory": "1Gi", "gpu": "2"}
    assert raw == before


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (2, "2"),
        (-1, "-1"),
        (0.35, "0.35"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-07, "1e-07"),
        (2**70, str(2**70)),
        ("500m", "500m"),
        ("1.5Gi", "1.5Gi"),
        (" 1Gi\n", "1Gi"),
        (".5", ".5"),
        (None, "0"),
    ],
)
def test_quantities_become_texts(given, text):
    made = decode("v1.NodeStatus", {"allocatable": {"cpu": given}})
    assert made == {"allocatable": {"cpu": text}}


def test_single_quantity_becomes_a_text_and_a_null_one_is_absent():
    assert decode("v1.EmptyDirVolumeSource", {"sizeLimit": 5}) == {"sizeLimit": "5"}
    assert decode("v1.EmptyDirVolumeSource", {"sizeLimit": None}) == {}


@pytest.mark.parametrize("given", [True, math.nan, math.inf, [], {}, "a lot", "", "1 Gi", HUGE])
def test_what_is_no_quantity_is_refused(given):
    assert problem("v1.NodeStatus", {"capacity": {"cpu": given}}).startswith("capacity.cpu: ")


@pytest.mark.parametrize("given", [80, 80.0])
def test_ints_may_be_written_as_whole_floats(given):
    made = decode("v1.ContainerPort", {"hostPort": given})["hostPort"]
    assert (made, type(made)) == (80, int)


@pytest.mark.parametrize("given", [2**63 - 1, -(2**63)])
def test_ints_have_64_bits(given):
    assert metadata(generation=given) == {"generation": given}
    assert "64 bits" in problem("v1.ObjectMeta", {"generation": given * 2})


@pytest.mark.parametrize("given", ["80", True, 80.5, math.inf, math.nan, [80], {}, HUGE])
def test_what_is_no_int_is_refused(given):
    assert problem("v1.ContainerPort", {"hostPort": given}).startswith("hostPort: expected int")


@pytest.mark.parametrize("given", [1, 1.5, True, ["x"], {"x": "y"}])
def test_what_is_no_string_is_refused(given):
    assert problem("v1.ObjectMeta", {"name": given}).startswith("name: expected string, got ")
    assert problem("v1.ObjectMeta", {"labels": {"a": given}}).startswith("labels.a: expected str")


@pytest.mark.parametrize("given", ["true", 1, 0, 1.0, []])
def test_what_is_no_bool_is_refused(given):
    assert problem("v1.PodSpec", {"hostNetwork": given}).startswith("hostNetwork: expected bool")


@pytest.mark.parametrize(("given", "value"), [(80, 80), (80.0, 80), ("http", "http")])
def test_int_or_string_is_either(given, value):
    made = decode("v1.TCPSocketAction", {"port": given})["port"]
    assert (made, type(made)) == (value, type(value))


@pytest.mark.parametrize("given", [True, 80.5, [80], {}])
def test_what_is_neither_int_nor_string_is_refused(given):
    assert problem("v1.TCPSocketAction", {"port": given}).startswith("port: expected int")


@pytest.mark.parametrize("given", [TIME, "2024-05-01T12:00:00.5+02:00"])
def test_times_become_timestamps(given):
    assert metadata(creationTimestamp=given) == {"creationTimestamp": parse_timestamp(given)}
    made = decode("v1.PodDisruptionBudgetStatus", {"disruptedPods": {"a": given}})
    assert made == {"disruptedPods": {"a": parse_timestamp(given)}}


@pytest.mark.parametrize("given", ["", "yesterday", "2024-05-01", 1714557600, True, "0" * 1000])
def test_what_is_no_time_is_refused(given):
    found = problem("v1.ObjectMeta", {"creationTimestamp": given})
    assert found.startswith("creationTimestamp: expected timestamp, got ")


def test_null_fields_are_absent():
    assert metadata(creationTimestamp=None, name=None, labels=None, ownerReferences=None) == {}
    assert decode("v1.TCPSocketAction", {"port": None, "host": "a"}) == {"host": "a"}


def test_nulls_in_lists_and_maps_are_empty_values_as_for_the_api_server():
    assert metadata(labels={"a": None}) == {"labels": {"a": ""}}
    assert container(args=["x", None]) == {"args": ["x", ""]}
    assert container(env=[None, {"name": "x"}]) == {"env": [{}, {"name": "x"}]}
    assert pod(securityContext={"supplementalGroups": [None]})["securityContext"] == {
        "supplementalGroups": [0]
    }
    assert "null" in problem("v1.PodDisruptionBudgetStatus", {"disruptedPods": {"a": None}})


def test_unknown_fields_are_kept_as_they_are():
    extra = {"a": [1, 1.0, True, None, "x", {"b": []}, {}]}
    made = decode("v1.Pod", {"future": extra, "spec": {"other": 1.0, "none": None}})
    assert made == {"future": extra, "spec": {"other": 1.0, "none": None}}
    assert type(made["spec"]["other"]) is float
    assert [type(value) for value in made["future"]["a"][:3]] == [int, float, bool]


def test_ints_past_64_bits_in_unknown_fields_are_floats_as_for_the_api_server():
    made = decode("v1.Pod", {"future": [{"a": 2**64}, 1, None]})["future"]
    assert (made, type(made[0]["a"])) == ([{"a": float(2**64)}, 1, None], float)
    assert problem("v1.Pod", {"future": [{"a": 10**400}]}).startswith("future[0].a: expected a num")


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (
            "v1.Pod",
            {"spec": {"containers": [{"ports": [{"hostPort": "80"}]}]}},
            'spec.containers[0].ports[0].hostPort: expected int, got string "80"',
        ),
        ("v1.Pod", {"spec": []}, "spec: expected v1.PodSpec, got list"),
        ("v1.Pod", {"spec": {"containers": {}}}, "spec.containers: expected list, got map"),
        ("v1.Pod", {"spec": {"containers": ["a"]}}, 'spec.containers[0]: expected v1.Container, got string "a"'),  # noqa: E501 - a message in one line
        ("v1.Pod", {"metadata": {"labels": ["a"]}}, "metadata.labels: expected map, got list"),
        ("v1.Pod", {"metadata": {"labels": {"a/b": 1}}}, 'metadata.labels["a/b"]: expected string, got int 1'),  # noqa: E501 - as above
        ("v1.Pod", {"metadata": {"labels": {1: "a"}}}, "metadata.labels[1]: expected a string as key, got int 1"),  # noqa: E501 - as above
        ("v1.Pod", {"metadata": {True: "a"}}, "metadata[true]: expected a string as key, got bool true"),  # noqa: E501 - as above
        ("v1.Pod", {"x": [{None: "a"}]}, "x[0][...]: expected a string as key, got null"),
        ("v1.Node", {"status": {"images": [{"sizeBytes": 0.5}]}}, "status.images[0].sizeBytes: expected int, got double 0.5"),  # noqa: E501 - as above
        ("v1.NodeStatus", {"capacity": {"cpu": "1K"}}, "capacity.cpu: unable to parse quantity's suffix: \"1K\" (kilo is `k`)"),  # noqa: E501 - as above
        ("v1.Pod", [], "expected v1.Pod, got list"),
        ("v1.Pod", {"x": object()}, "x: expected a value of JSON, got a value of class object"),
    ],
)  # fmt: skip
def test_message_names_the_path_and_what_was_expected_and_found(name, raw, message):
    assert problem(name, raw) == message


def test_messages_are_short_and_printable_whatever_was_found():
    hostile = "\x1b[31m\u202e\ud800" + "x" * 100_000
    found = problem("v1.ObjectMeta", {"labels": {hostile: [hostile]}})
    assert len(found) < 300
    assert found.isprintable()


@pytest.mark.parametrize("build", [nested, lambda depth: {"a": nested(depth - 1)}])
def test_nesting_below_unknown_fields_has_a_limit(build):
    kept = build(MAX_DEPTH)
    assert decode("v1.Pod", {"future": kept})["future"] == kept
    for depth in (MAX_DEPTH + 1, 100_000):
        found = problem("v1.Pod", {"future": build(depth)})
        assert f"nested deeper than {MAX_DEPTH} levels" in found
        assert len(found) < 300


def test_wide_input_is_decoded():
    many = [{"name": str(at), "value": "x"} for at in range(100_000)]
    assert container(env=many)["env"] == many


def test_what_needs_no_change_is_shared_and_the_rest_is_copied():
    raw = {"metadata": {"labels": {"a": "b"}}, "spec": {"priority": 1.0}}
    made = decode("v1.Pod", raw)
    assert made["metadata"] is raw["metadata"]
    assert made["spec"] == {"priority": 1}
    assert raw["spec"] == {"priority": 1.0}


def test_other_maps_and_subclasses_become_plain():
    class Text(str):
        __slots__ = ()

    made = metadata(labels=OrderedDict(a=Text("b")), name=Text("c"), x=[Text("d")])
    assert made == {"labels": {"a": "b"}, "name": "c", "x": ["d"]}
    assert type(made["x"][0]) is str
    assert type(made["labels"]) is dict
    assert type(made["labels"]["a"]) is type(made["name"]) is str
    size = decode("v1.EmptyDirVolumeSource", {"sizeLimit": Text("1Gi")})["sizeLimit"]
    port = decode("v1.TCPSocketAction", {"port": Text("http")})["port"]
    assert (size, type(size), port, type(port)) == ("1Gi", str, "http", str)


def test_decoded_object_can_be_decoded_again():
    once = metadata(creationTimestamp=TIME, generation=3.0, managedFields=[{"time": TIME}])
    assert isinstance(once["creationTimestamp"], Timestamp)
    assert decode("v1.ObjectMeta", once) == once


def test_object_that_the_schema_does_not_have_is_a_key_error():
    with pytest.raises(KeyError, match=r"v1\.Nothing"):
        decode("v1.Nothing", {})


def test_bytes_are_base64():
    """No object that rules see has bytes today: the plan for the type is tried by itself."""
    plan = decode_module._plan("map(string, bytes)")
    assert plan.convert(
        {"a": "aGk=", "b": "aGVsbG8g\nd29ybGQ=", "c": "", "d": None, "e": b"x"}
    ) == {"a": b"hi", "b": b"hello world", "c": b"", "d": b"", "e": b"x"}
    for wrong in ("aGk", "a", "*", "ü", "aG k=", 1, "aGk=aGk="):
        with pytest.raises(DecodeError, match="expected bytes in base64"):
            plan.convert({"a": wrong})


@pytest.mark.parametrize(("given", "value"), [(1, 1.0), (0.5, 0.5), (None, 0.0), (2**70, 2.0**70)])
def test_doubles_may_be_written_as_ints(given, value):
    made = decode_module._plan("list(double)").convert([given])
    assert (made, type(made[0])) == ([value], float)
    for wrong in ("1", True, 10**400):
        with pytest.raises(DecodeError):
            decode_module._plan("list(double)").convert([wrong])
