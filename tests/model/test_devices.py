"""Devices: which a node has, what pods take of them, and what is said of wrong annotations."""

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.model.devices import (
    MAX_DEVICES,
    default_choice,
    devices_with,
    record,
    recorded,
)
from policyd.model.manifests import read_bytes
from policyd.model.placement import with_pod, without_pod
from policyd.model.pod import with_record
from policyd.model.snapshot import load_cluster, load_pods
from policyd.model.workload import Workload
from policyd.values.quantity import ZERO, Quantity
from tests.policy.build import NOW, as_pod, node, pod, snapshot

GPU = "nvidia.com/gpu"


def annotated(manifest, **annotations):
    named = {f"policyd.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
    manifest["metadata"]["annotations"] = named
    return manifest


def shared(name="p", share="460m", on="", devices=None):
    texts = {"device_share": f"{GPU}={share}"}
    if devices is not None:
        texts["devices"] = f"{GPU}={devices}"
    return annotated(pod(name, on=on), **texts)


def whole(name="p", count=1, on="", devices=None):
    made = pod(name, on=on, gpu=str(count))
    return made if devices is None else annotated(made, devices=f"{GPU}={devices}")


def only(*objects):
    return snapshot(*objects).nodes[0]


def free(made):
    return [str(device.free) for device in made.devices]


def problems_of(*objects):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()
    return load_cluster(read_bytes(text, "f"), NOW).problems


# --- a node's devices ---


def test_eight_gpus_are_eight_devices_in_order():
    made = only(node("n", gpu="8", labels={f"{GPU}.product": "A10"}))
    assert [(d.index, d.resource, d.model) for d in made.devices] == [
        (at, GPU, "A10") for at in range(8)
    ]
    assert {(str(d.total), str(d.used), str(d.free), d.whole) for d in made.devices} == {
        ("1", "0", "1", True)
    }


@pytest.mark.parametrize(
    ("resource", "count"),
    [("amd.com/gpu", 2), ("nvidia.com/gpu.shared", 0), ("example.com/fpga", 0), ("cpu", 0)],
)
def test_resources_named_gpu_are_devices_and_others_are_not(resource, count):
    made = node("n")
    made["status"]["allocatable"] |= {resource: "2"}
    assert len(only(made).devices) == count


@pytest.mark.parametrize(
    ("text", "resources"),
    [
        ("example.com/fpga", ["example.com/fpga"]),
        (f"example.com/fpga, {GPU}", ["example.com/fpga", GPU]),
        ("example.com/absent", []),
        ("", []),
    ],
)
def test_a_nodes_annotation_names_the_resources_that_are_devices(text, resources):
    made = annotated(node("n", gpu="1"), device_resources=text)
    made["status"]["allocatable"] |= {"example.com/fpga": "1"}
    assert [d.resource for d in only(made).devices] == resources


def test_the_annotation_for_the_model_goes_before_the_label():
    made = annotated(node("n", gpu="1", labels={f"{GPU}.product": "A10"}), device_model=f"{GPU}=T4")
    assert only(made).devices[0].model == "T4"
    assert only(node("n", gpu="1")).devices[0].model is None


def test_more_devices_than_can_be_told_apart_are_none():
    assert len(only(node("n", gpu=str(MAX_DEVICES))).devices) == MAX_DEVICES
    assert only(node("n", gpu=str(MAX_DEVICES + 1))).devices == []


def test_a_wrong_annotation_of_a_node_is_a_problem_with_its_place():
    (found,) = problems_of(annotated(node("n", gpu="1"), device_model="A10"))
    assert "expected `nvidia.com/gpu=A10`" in found.cause


# --- what a pod asks for ---


def test_a_share_counts_in_thousandths_in_requests_and_on_the_node():
    assert as_pod(shared()).requests[GPU] == Quantity.parse("460m")
    made = only(node("n", gpu="2"), shared(on="n"))
    assert (str(made.used[GPU]), str(made.free[GPU])) == ("460m", "1540m")


def test_finer_parts_are_rounded_up_to_thousandths():
    assert as_pod(shared(share="0.1234")).requests[GPU] == Quantity.parse("124m")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("460m", "expected `nvidia.com/gpu=460m`, with `;` between several, got `460m`"),
        (f"{GPU}=", "expected `nvidia.com/gpu=460m`"),
        (f"{GPU}=1;{GPU}=1", "expected `nvidia.com/gpu=460m`"),
        (f"{GPU}=half", "quantities must be a number"),
        (f"{GPU}=0", "above 0 and at most 1: 0"),
        (f"{GPU}=1001m", "above 0 and at most 1: 1001m"),
        (f"{GPU}=-1", "-1 is below zero"),
        ("gpu=1", "`gpu` is no extended resource"),
    ],
)
def test_a_wrong_share_is_a_problem_with_its_place(text, cause):
    made = annotated(pod("p"), device_share=text)
    data = json.dumps(made, indent=1).encode()
    (found,) = load_pods(read_bytes(data, "f.json")).problems
    assert cause in found.cause
    line = data.decode().splitlines()[found.place.line - 1]
    assert "device-share" in line


def test_a_pod_cannot_ask_for_whole_devices_and_for_a_share_of_one():
    made = annotated(pod("p", gpu="1"), device_share=f"{GPU}=460m")
    (found,) = problems_of(made)
    assert found.cause == f"the pod asks for whole devices of {GPU} and for a share of one"


@pytest.mark.parametrize("text", ["what", f"{GPU}=2"])
def test_a_pod_that_runs_counts_for_the_rest_whatever_was_written_on_it(text):
    made = annotated(pod("p", on="n", cpu="1", gpu="1"), device_share=text)
    placed = only(node("n", gpu="2"), made)
    assert (str(placed.used.get("cpu")), free(placed)) == ("1", ["0", "1"])


def test_the_models_that_a_pod_can_use_are_a_list():
    assert as_pod(annotated(pod("p"), device_models="V100M16| V100M32")).models == [
        "V100M16",
        "V100M32",
    ]
    assert as_pod(pod("p")).models == []


# --- records ---


@pytest.mark.parametrize("taken", [{GPU: (0, 3)}, {GPU: (7,), "amd.com/gpu": (1, 2)}])
def test_a_record_is_read_as_it_was_written(taken):
    assert recorded({"policyd.io/devices": record(taken)}) == taken


@pytest.mark.parametrize("text", ["", "x", f"{GPU}=", f"{GPU}=a", f"{GPU}=-1", f"{GPU}=0;{GPU}=1"])
def test_a_record_that_cannot_be_read_is_none(text):
    assert recorded({"policyd.io/devices": text}) == {}


def test_a_new_record_replaces_that_of_an_earlier_placement_and_keeps_other_annotations():
    made = pod("p", gpu="1")
    made["metadata"]["annotations"] = {"policyd.io/devices": f"{GPU}=5", "other": "kept"}
    placed = with_record(as_pod(made), {GPU: (2,)})
    assert placed.annotations == {"policyd.io/devices": f"{GPU}=2", "other": "kept"}
    assert with_record(placed, {}).annotations == {"other": "kept"}
    plain = as_pod(pod("p"))
    assert with_record(plain, {}) is plain


def test_pods_take_the_devices_on_their_record():
    made = only(node("n", gpu="4"), whole("a", 2, "n", "1,3"), shared("b", "300m", "n", "2"))
    assert free(made) == ["1", "0", "700m", "0"]
    assert not made.guessed


@pytest.mark.parametrize("devices", ["9", "0,1", "1,1", "x"])
def test_a_record_that_does_not_fit_the_request_counts_as_none(devices):
    made = only(node("n", gpu="4"), whole("a", 1, "n", devices))
    assert made.guessed
    assert free(made) == ["0", "1", "1", "1"]


def test_pods_without_a_record_are_given_what_is_left_in_the_order_of_their_names():
    pods = [whole("c", 1, "n"), shared("b", "300m", "n"), shared("a", "600m", "n")]
    pods.append(whole("d", 1, "n", "0"))
    for ordered in permutations(pods):
        assert free(only(node("n", gpu="4"), *ordered)) == ["0", "100m", "0", "1"]


def test_too_much_promised_shows_as_less_than_nothing_left_of_devices():
    made = only(node("n", gpu="2"), whole("a", 3, "n"), shared("b", "500m", "n"))
    assert free(made) == ["-1", "-500m"]
    assert made.free[GPU] == Quantity.parse("-1500m")


# --- placements ---


def test_a_node_without_devices_pays_nothing_for_them():
    made = only(node("n"))
    assert with_pod(made, as_pod(pod("p"))).devices is made.devices


def test_a_pod_that_takes_no_device_leaves_them_as_they_are():
    made = only(node("n", gpu="2"), whole("a", 1, "n"))
    assert with_pod(made, as_pod(pod("p", cpu="1"))).devices is made.devices


@given(st.data())
def test_devices_after_any_changes_are_those_of_the_pods_that_are_there(data):
    """Nothing is promised twice, sums agree, and the way to a state leaves no trace in it."""
    empty = only(node("n", gpu=str(data.draw(st.integers(1, 4)))))
    made, placed = empty, {}
    for at in range(data.draw(st.integers(0, 12))):
        if placed and data.draw(st.booleans()):
            made = without_pod(made, placed.pop(data.draw(st.sampled_from(sorted(placed)))))
        else:
            share = data.draw(st.sampled_from(["1m", "250m", "500m", "999m", "1", "2"]))
            manifest = whole(f"p{at}", int(share)) if share in "12" else shared(f"p{at}", share)
            asked = as_pod(manifest)
            chosen = default_choice(made.devices, asked.requests[GPU])
            if chosen is None:
                continue
            on_record = data.draw(st.booleans())
            placed[asked.name] = with_record(asked, {GPU: chosen} if on_record else {})
            made = with_pod(made, placed[asked.name])
        if not made.guessed:
            assert all(0 <= d.free <= d.total and d.used.plus(d.free) == 1 for d in made.devices)
        left = ZERO
        for device in made.devices:
            left = left.plus(device.free)
        assert left == made.free[GPU]
        cold, guessed = devices_with(empty.devices, placed.values())
        assert (made.devices, made.guessed) == (cold, guessed)


# --- shapes ---


def test_shapes_are_the_most_frequent_requests_that_make_up_95_percent():
    pods = [as_pod(pod(f"a{at}", cpu="1", memory=f"{at + 1}Gi")) for at in range(15)]
    pods += [as_pod(annotated(pod(f"b{at}", gpu="1"), device_models="A|B")) for at in range(4)]
    pods.append(as_pod(pod("rare", cpu="7")))
    shapes = Workload(pods).shapes
    assert [(s.requests, s.models) for s in shapes] == [
        ({"cpu": Quantity.parse("1")}, []),
        ({GPU: Quantity.parse("1")}, ["A", "B"]),
    ]
    assert [s.frequency for s in shapes] == [15 / 19, 4 / 19]


def test_no_pods_have_no_shapes():
    assert Workload().shapes == []
