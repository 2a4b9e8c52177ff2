"""Which devices a placed pod takes, and that no device is promised twice whatever the rules say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.language.libraries.strings import stable_hash
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.decide import decide
from policyd.policy.devices import REASON, choose, suffice, with_devices
from policyd.simulation.run import Arrival, Scenario, simulate
from policyd.values.quantity import ZERO
from tests.policy.build import NOW, as_pod, decision, node, pod, rules, snapshot

GPU = "nvidia.com/gpu"
FIT = (
    'let gpu = "nvidia.com/gpu"\n'
    'rule "fit" { require node.free[gpu] >= pod.requests[gpu] because "Insufficient gpu" }\n'
)


def shared(name="p", share="500m", on="", devices=None):
    made = pod(name, on=on)
    made["metadata"]["annotations"] = {"policyd.io/device-share": f"{GPU}={share}"}
    if devices is not None:
        made["metadata"]["annotations"]["policyd.io/devices"] = f"{GPU}={devices}"
    return made


def whole(name="p", count=1, on="", devices=None):
    made = pod(name, on=on, gpu=str(count))
    if devices is not None:
        made["metadata"]["annotations"] = {"policyd.io/devices": f"{GPU}={devices}"}
    return made


def taken(text, asked, *objects):
    cluster = snapshot(*objects)
    return choose(rules(text), as_pod(asked), cluster.nodes[0], cluster)


# Devices with 1000m, 600m, 500m, 100m and 1000m left.
USED = (
    node("n", gpu="5"),
    shared("a", "400m", "n", "1"),
    shared("b", "500m", "n", "2"),
    shared("c", "900m", "n", "3"),
)


@pytest.mark.parametrize(
    ("asked", "devices"),
    [
        (shared(share="100m"), (3,)),
        (shared(share="500m"), (2,)),
        (shared(share="501m"), (1,)),
        (shared(share="601m"), (0,)),
        (whole(count=1), (0,)),
        (whole(count=2), (0, 4)),
    ],
)
def test_without_keys_a_share_goes_where_least_is_left_and_whole_ones_in_order(asked, devices):
    assert taken("", asked, *USED) == {GPU: devices}


@pytest.mark.parametrize(
    ("keys", "devices"),
    [
        ("device.free desc", (0,)),
        ("device.free asc", (2,)),
        ("device.index desc", (4,)),
        ("device.whole desc, device.index desc", (4,)),
        ("device.model asc", (0,)),  # null everywhere: the lower number
        ("1 / (device.index - 1) asc", (0,)),  # 1 / -1 is the least; for device 1 it fails
        ("node.free.cpu asc, pod.priority asc, device.used desc", (2,)),
    ],
)
def test_keys_order_the_devices_that_suffice(keys, devices):
    assert taken(f"choose {{ device {keys} }}", shared(share="500m"), *USED) == {GPU: devices}


def test_whole_devices_are_the_first_ones_by_the_keys():
    assert taken("choose { device device.index desc }", whole(count=2), *USED) == {GPU: (4, 0)}


def test_a_choice_in_shadow_mode_changes_nothing():
    text = "choose { mode shadow device device.index desc }"
    assert taken(text, whole(count=2), *USED) == {GPU: (0, 4)}


@pytest.mark.parametrize("asked", [shared(share="1"), whole(count=2), shared(share="600m")])
def test_devices_suffice_only_where_one_has_the_share_or_enough_are_wholly_free(asked):
    objects = (node("n", gpu="2"), shared("a", "500m", "n", "0"), shared("b", "500m", "n", "1"))
    cluster = snapshot(*objects)
    assert not suffice(cluster.nodes[0], as_pod(asked))
    assert taken("choose { device device.index asc }", asked, *objects) is None
    assert taken("", asked, *objects) is None


def test_a_pod_that_asks_for_no_device_takes_none():
    assert taken("", pod("p", cpu="1"), *USED) == {}
    assert taken("", pod("p", gpu="1"), node("n")) == {}


def again(text, asked, cluster):
    made = as_pod(asked)

    def on(nodes=None):
        return decide(rules(text), made, cluster, nodes)

    return with_devices(on(), cluster, on)


HALVES = (
    node("a", gpu="2"),
    shared("x", "500m", "a", "0"),
    shared("y", "500m", "a", "1"),
)


def test_a_node_whose_devices_do_not_suffice_is_left_out_though_the_rules_would_take_it():
    text = FIT + 'rule "a" { prefer node.name == "a" }'
    choice = again(text, whole(), snapshot(*HALVES, node("b", gpu="1")))
    assert choice.decision.chosen.name == "b"
    assert (choice.taken, choice.refused) == ({GPU: (0,)}, 1)


def test_scores_are_rescaled_over_the_nodes_whose_devices_suffice():
    text = FIT + 'rule "large" { prefer node.allocatable[gpu] normalized }'
    choice = again(text, whole(), snapshot(*HALVES, node("b", gpu="1")))
    assert choice.decision.chosen.total == 100


def test_a_pod_for_which_no_devices_suffice_fits_nowhere_and_the_reason_is_counted():
    result = simulate(
        rules(FIT),
        Scenario(
            NOW,
            nodes=snapshot(*HALVES, node("c")).nodes,
            bound=[p for n in snapshot(*HALVES).nodes for p in n.pods],
            arrivals=[Arrival(as_pod(whole("big")))],
        ),
    )
    (waiting,) = result.pending
    assert waiting.reason == (f"0/2 nodes are available: 1 Insufficient gpu, 1 {REASON}.")


def test_a_pod_refused_for_its_devices_is_tried_again_when_a_pod_ends():
    small = snapshot(*HALVES)
    result = simulate(
        rules(FIT),
        Scenario(
            NOW,
            nodes=[snapshot(node("a", gpu="2")).nodes[0]],
            arrivals=[
                *(Arrival(p, end=60.0) for p in unbound(small)),
                Arrival(as_pod(shared("long", "600m"))),
                Arrival(as_pod(whole("big"))),
            ],
        ),
    )
    assert result.placements["default/big"] == "a"


def unbound(cluster):
    return [as_pod(shared(p.name, str(p.requests[GPU]))) for n in cluster.nodes for p in n.pods]


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.sampled_from(["1m", "300m", "500m", "999m", "1", "2", "3"]), max_size=25),
    st.sampled_from(["", "choose { device device.free desc }", "choose { device hash(pod.name) }"]),
    st.data(),
)
def test_no_device_is_ever_promised_twice_under_rules_that_do_not_look_at_devices(
    sizes, asked, text, data
):
    nodes = [snapshot(node(f"n{at}", gpu=str(size))).nodes[0] for at, size in enumerate(sizes)]
    arrivals = []
    for at, amount in enumerate(asked):
        made = whole(f"p{at}", int(amount)) if amount in "123" else shared(f"p{at}", amount)
        end = data.draw(st.none() | st.floats(1, 100))
        arrivals.append(Arrival(as_pod(made), at=float(at), end=end))
    result = simulate(rules(FIT + text), Scenario(NOW, nodes=nodes, arrivals=arrivals))
    for made in result.nodes:
        assert_whole(made)


def assert_whole(made: Node) -> None:
    assert not made.guessed
    left = ZERO
    for device in made.devices:
        assert 0 <= device.used <= device.total
        left = left.plus(device.free)
        assert device.used == sum_of(made.pods, device.index)
    assert left == made.free[GPU]


def sum_of(pods: list[Pod], index: int):
    used = ZERO
    for each in pods:
        at = each.taken.get(GPU, ())
        if index in at:
            used = used.plus(each.requests[GPU].over(len(at)))
    return used


# --- what rules read ---


def test_rules_read_the_devices_of_a_node():
    text = (
        'rule "r" { require node.devices.exists(d, d.free >= 1 && d.model == "T4") '
        "because string(node.devices.map(d, d.free).sum()) }"
    )
    labelled = node("n", {f"{GPU}.product": "T4"}, gpu="2")
    assert decision(text, whole(), labelled).fits
    refused = decision(text, whole(), node("n", gpu="2"), shared("a", "500m", "n", "0"))
    assert dict(refused.reasons) == {"1500m": 1}


def test_rules_read_the_shapes_of_the_clusters_pods():
    text = (
        'rule "r" { prefer 100.0 * cluster.shapes.filter(s, s.requests.cpu > 1 && '
        "s.models.size() == 0).map(s, s.frequency).sum() }"
    )
    pods = [pod(f"p{at}", on="n", cpu="2" if at else "1") for at in range(4)]
    assert decision(text, pod("q"), node("n"), *pods).chosen.total == 75


# --- hash ---


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 8238016292129134938), ("a", 2340832890917691671), ("shop/web-1", 9001258169768283471)],
)
def test_the_hash_of_a_string_is_the_same_always(text, number):
    assert stable_hash(text) == number


@given(st.text())
def test_the_hash_of_any_string_is_an_int_of_the_language_and_never_below_zero(text):
    assert 0 <= stable_hash(text) < 2**63


def test_rules_can_use_the_hash_for_a_part_of_the_pods():
    text = 'rule "canary" { when hash(pod.name) % 2 == 0 prefer node.name == "a" }'
    applies = [
        decision(text, pod(f"p{at}"), node("a")).chosen.verdicts[0].applies for at in range(40)
    ]
    assert set(applies) == {True, False}
