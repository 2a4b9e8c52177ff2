"""Request arithmetic: containers, sidecars, init containers, pod level, overhead, resizes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.model.faults import decode_part
from policyd.model.qos import qos_class
from policyd.model.requests import AmountError, charge, limits, requests
from policyd.model.wire import PodSpec, PodStatus
from policyd.values.quantity import Quantity


def spec(**fields: Any) -> PodSpec:
    return decode_part(json.dumps(fields).encode(), PodSpec)


def status(**fields: Any) -> PodStatus:
    return decode_part(json.dumps(fields).encode(), PodStatus)


def container(name: str = "c", *, sidecar: bool = False, **resources: Any) -> dict[str, Any]:
    policy = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "resources": resources, **policy}


def asks(**amounts: Any) -> dict[str, Any]:
    return container(requests=amounts)


def sidecar(**amounts: Any) -> dict[str, Any]:
    return container(sidecar=True, requests=amounts)


def texts(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"containers": None, "initContainers": [None]}, {}, id="nulls"),
        pytest.param(
            {"containers": [asks(cpu="500m", memory="1Gi"), asks(cpu="1")]},
            {"cpu": "1500m", "memory": "1Gi"},
            id="containers add up",
        ),
        pytest.param(
            {"containers": [asks(cpu="100m")], "initContainers": [asks(cpu="300m"), asks(cpu="2")]},
            {"cpu": "2"},
            id="the largest init container counts if it is larger",
        ),
        pytest.param(
            {"containers": [asks(cpu="3")], "initContainers": [asks(cpu="2", memory="1Gi")]},
            {"cpu": "3", "memory": "1Gi"},
            id="each resource on its own",
        ),
        pytest.param(
            {"containers": [asks(cpu="1")], "initContainers": [sidecar(cpu="500m")]},
            {"cpu": "1500m"},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1")],
                "initContainers": [sidecar(cpu="500m"), asks(cpu="1"), sidecar(cpu="2")],
            },
            {"cpu": "3500m"},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1")],
                "initContainers": [sidecar(cpu="500m"), asks(cpu="9"), sidecar(cpu="2")],
            },
            {"cpu": "9500m"},
            id="which can be the most",
        ),
        pytest.param(
            {"containers": [container(limits={"cpu": "1", "x.io/y": 2}, requests={"cpu": "1m"})]},
            {"cpu": "1m", "x.io/y": "2"},
            id="missing requests come from limits",
        ),
        pytest.param(
            {"containers": [asks(cpu="1")], "overhead": {"cpu": "250m", "memory": "120Mi"}},
            {"cpu": "1250m", "memory": "120Mi"},
            id="overhead comes on top",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="2", memory="1Gi", **{"x.io/y": "1"})],
                "resources": {"requests": {"cpu": "1", "x.io/y": "7"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": "2", "memory": "1Gi", "x.io/y": "1"},
            id="the pod level replaces, for cpu and memory",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="2")],
                "resources": {"limits": {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "4Mi"}},
            },
            {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
            id="pod-level limits stand in for what no container asks for",
        ),
        pytest.param(
            {"containers": [asks(memory="128974848000m"), asks(memory="0.5"), asks(memory="0.5")]},
            {"memory": "128974849"},
            id="memory is rounded up to bytes once it is added up",
        ),
        pytest.param(
            {"containers": [asks(cpu="100000001n"), asks(cpu="0.1m")]},
            {"cpu": "102m"},
            id="cpu is rounded up to thousandths before",
        ),
        pytest.param(
            {"containers": [asks(cpu=0.35, memory=129e6), asks(cpu=2, memory=None)]},
            {"cpu": "2350m", "memory": "129M"},
            id="numbers and null",
        ),
        pytest.param({"containers": [asks(cpu="0")]}, {"cpu": "0"}, id="an explicit zero is kept"),
        pytest.param({"containers": [asks(cpu=" 1 ")]}, {"cpu": "1"}, id="spaces are forgiven"),
    ],
)
def test_requests(fields, expected):
    found = requests(spec(**fields))
    assert texts(found) == expected
    assert found["absent"] == Quantity.from_int(0)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"containers": [container(limits={"cpu": "1"}, requests={"memory": "1Gi"})]},
            {"cpu": "1"},
        ),
        (
            {
                "containers": [container(limits={"cpu": "1"})],
                "overhead": {"cpu": "250m", "memory": "1Gi"},
            },
            {"cpu": "1250m"},
        ),
        (
            {"containers": [container(limits={"cpu": "1"})], "resources": {"limits": {"cpu": "3"}}},
            {"cpu": "3"},
        ),
    ],
)
def test_limits(fields, expected):
    assert texts(limits(spec(**fields))) == expected


RESIZED = {
    "containers": [container("a", requests={"cpu": "1", "memory": "1Gi"}), container("b")],
    "initContainers": [container("s", sidecar=True, requests={"cpu": "1"}), container("i")],
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {"cpu": "2", "memory": "1Gi"}, id="by the spec"),
        pytest.param(
            {"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "3"}}}]},
            {"cpu": "4", "memory": "1Gi"},
            id="what it has, where that is more",
        ),
        pytest.param(
            {
                "containerStatuses": [
                    {
                        "name": "a",
                        "resources": {"requests": {"cpu": "500m"}},
                        "allocatedResources": {"cpu": "700m", "memory": "4Gi"},
                    }
                ]
            },
            {"cpu": "2", "memory": "4Gi"},
            id="what was allotted to it, where that is more",
        ),
        pytest.param(
            {
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                "containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}],
            },
            {"cpu": "1500m"},
            id="not the spec, where it can never be had",
        ),
        pytest.param(
            {
                "conditions": [{"type": "PodResizePending", "reason": "Deferred"}],
                "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "9"}}],
            },
            {"cpu": "2", "memory": "1Gi"},
            id="nothing is known without resources in the status",
        ),
        pytest.param(
            {
                "initContainerStatuses": [
                    {"name": "s", "resources": {"requests": {"cpu": "2"}}},
                    {"name": "i", "resources": {"requests": {"cpu": "9"}}},
                ]
            },
            {"cpu": "3", "memory": "1Gi"},
            id="sidecars are resized, other init containers are not",
        ),
    ],
)
def test_what_a_bound_pod_counts_for(fields, expected):
    assert texts(charge(spec(**RESIZED), status(**fields))) == expected


def test_a_resize_at_pod_level_counts_too():
    resized = spec(resources={"requests": {"cpu": "1"}}, containers=[asks(memory="1Gi")])
    has = status(resources={"requests": {"cpu": "2"}}, allocatedResources={"cpu": "3", "memory": 1})
    assert texts(charge(resized, has)) == {"cpu": "3", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("fields", "path", "cause"),
    [
        (
            {"containers": [{}, asks(cpu="x")]},
            ("spec", "containers", 1, "resources", "requests", "cpu"),
            "quantit",
        ),
        (
            {"initContainers": [container(limits={"cpu": "-1"})]},
            ("spec", "initContainers", 0, "resources", "limits", "cpu"),
            "-1 is below zero",
        ),
        ({"overhead": {"cpu": ""}}, ("spec", "overhead", "cpu"), "quantit"),
        (
            {"resources": {"requests": {"cpu": "1e9999"}}},
            ("spec", "resources", "requests", "cpu"),
            "",
        ),
    ],
)
def test_an_amount_that_cannot_be_read_is_an_error_with_its_path(fields, path, cause):
    with pytest.raises(AmountError) as caught:
        requests(spec(**fields))
    assert caught.value.path == path
    assert cause in caught.value.cause


QUANTITIES = st.sampled_from(
    ["0", "1", "100m", "1500m", "2Gi", "64Mi", "1.5", "1e3", "7k", "3n", 2]
)
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "x.io/y"]), QUANTITIES)
CONTAINERS = st.lists(
    st.builds(
        lambda asked, limited, always: container(sidecar=always, requests=asked, limits=limited),
        RESOURCES,
        RESOURCES,
        st.booleans(),
    ),
    max_size=4,
)


@given(CONTAINERS, CONTAINERS)
def test_requests_never_shrink_with_another_container(containers, init):
    before = requests(spec(containers=containers, initContainers=init))
    for more in ([*containers, asks(cpu="1")], containers):
        added = init if more is not containers else [*init, asks(cpu="1")]
        after = requests(spec(containers=more, initContainers=added))
        assert all(after[name] >= amount for name, amount in before.items())


@given(CONTAINERS, CONTAINERS)
def test_amounts_come_in_thousandths_of_cpu_and_in_whole_units(containers, init):
    found = requests(spec(containers=containers, initContainers=init))
    assert all(
        amount.nanos % (10**6 if name == "cpu" else 10**9) == 0 for name, amount in found.items()
    )


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"containers": [container()]}, "BestEffort"),
        ({"containers": [asks(**{"nvidia.com/gpu": 1})]}, "BestEffort"),
        ({"containers": [asks(cpu="0")]}, "BestEffort"),
        ({"containers": [container(limits=BOTH)]}, "Guaranteed"),
        ({"containers": [container(limits=BOTH, requests={"cpu": "1000m"})]}, "Guaranteed"),
        ({"containers": [container(limits=BOTH, requests={"cpu": "500m"})]}, "Burstable"),
        ({"containers": [container(limits={"cpu": "1"})]}, "Burstable"),
        ({"containers": [container(limits=BOTH), container()]}, "Burstable"),
        (
            {"containers": [container(limits=BOTH)], "initContainers": [container(limits=BOTH)]},
            "Guaranteed",
        ),
        ({"containers": [container(limits=BOTH)], "initContainers": [asks(cpu="1")]}, "Burstable"),
        ({"containers": [container()], "resources": {"limits": BOTH}}, "Guaranteed"),
        ({"containers": [asks(cpu="500m")], "resources": {"limits": BOTH}}, "Burstable"),
        ({"containers": [container(limits=BOTH)], "resources": {}}, "BestEffort"),
        ({"containers": [asks(cpu="1")], "resources": {"requests": {"cpu": "1"}}}, "Burstable"),
    ],
)
def test_the_quality_of_service_is_the_kubelets(fields, expected):
    assert qos_class(spec(**fields)) == expected
