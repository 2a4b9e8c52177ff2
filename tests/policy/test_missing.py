"""What would have to be otherwise for a condition to hold, and how much of an amount is missing."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policyd.policy.missing import MAX_NEEDS, Asker
from tests.policy.build import decision, node, pod

TAINT = '{"key": "k", "value": "v", "effect": "NoSchedule"}'
TAINTED = node("a", {"disk": "ssd"}, cpu="4", gpu="1") | {
    "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
}


def needs(condition, lets=""):
    """Give the needs of the one node's one rejection, as `text is value, relation bound [missing]`.

    The pod asks for 2 cpu and 2 GPUs; the node has 4 cpu, of which 3 are taken, and 1 GPU.
    """
    made = decision(
        f'{lets}\nrule "r" {{ require {condition} }}',
        pod(labels={"app": "api"}, cpu="2", memory="1Gi", gpu="2"),
        TAINTED,
        pod("other", {"app": "web"}, on="a", cpu="3"),
    )
    (rejection,) = made.nodes[0].verdicts[0].rejections
    found = Asker(rejection.expression).needs(rejection.values)
    return [
        f"{each.text} is {each.value}, {each.relation} {each.bound} [{each.missing}]"
        for each in found
    ]


CPU = "node.free.cpu is 1, at least 2 [1]"
GPU = 'node.free["nvidia.com/gpu"] is 1, at least 2 [1]'


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("node.free.cpu >= pod.requests.cpu", [CPU]),
        ("pod.requests.cpu <= node.free.cpu", [CPU]),
        ("!(node.free.cpu < pod.requests.cpu)", [CPU]),
        ("node.free.cpu > 1500m", ["node.free.cpu is 1, more than 1500m [500m]"]),
        ("node.free.cpu > 1", ["node.free.cpu is 1, more than 1 []"]),
        ("node.pods.size() < 1", ["node.pods.size() is 1, less than 1 [1]"]),
        ("node.pods.size() > 1", ["node.pods.size() is 1, more than 1 [1]"]),
        ("node.pods.size() * 2 >= 6", ["node.pods.size() * 2 is 2, at least 6 [4]"]),
        (
            "node.free.cpu / node.allocatable.cpu >= 0.5",
            ["node.free.cpu / node.allocatable.cpu is 0.25, at least 0.5 [0.25]"],
        ),
        ("pod.priority > 5", ["pod.priority is 0, more than 5 [6]"]),
        ('node.labels["disk"] == "hdd"', ['node.labels["disk"] is "ssd", equal to "hdd" []']),
        ('node.labels["disk"] != "ssd"', ['node.labels["disk"] is "ssd", other than "ssd" []']),
        ('node.name in ["b", "c"]', ['node.name is "a", one of ["b", "c"] []']),
        ('!(node.name in ["a"])', ['node.name in ["a"] is true, equal to false []']),
        ("node.ready", ["node.ready is false, equal to true []"]),
        ("false", ["false is false, equal to true []"]),
        ('node.free.cpu >= pod.requests.cpu && node.free["nvidia.com/gpu"] >= 2', [CPU, GPU]),
        ("node.free.cpu >= 100 || node.free.cpu >= 2", [CPU]),
        (
            "!(node.free.cpu < 2 || node.free.cpu < 3)",
            [
                CPU,
                "node.free.cpu is 1, at least 3 [2]",
            ],
        ),
        ("node.ready ? node.free.cpu > 9 : node.free.cpu >= 2", [CPU]),
        ("cel.bind(n, node.free.cpu, n >= 2)", [CPU]),
        (
            '["cpu", "nvidia.com/gpu", "memory"].all(r, node.free[r] >= pod.requests[r])',
            ['node.free["cpu"] is 1, at least 2 [1]', GPU],
        ),
        (
            "[10.0, 3.0, 7.0].exists(least, node.free.cpu >= least)",
            ["node.free.cpu is 1, at least 3.0 [2.0]"],
        ),
        (
            "!pod.requests.exists(r, pod.requests[r] > node.free[r])",
            ['node.free["cpu"] is 1, at least 2 [1]', GPU],
        ),
        (
            "pod.requests.filter(r, pod.requests[r] > 0 && pod.requests[r] > node.free[r]) == []",
            ['node.free["cpu"] is 1, at least 2 [1]', GPU],
        ),
        (
            '{"disk": "hdd", "zone": "z"}.all(key, value, node.labels[key] == value)',
            [
                'node.labels["disk"] is "ssd", equal to "hdd" []',
                'node.labels["zone"] is null, equal to "z" []',
            ],
        ),
        (
            'node.taints.all(t, t.effect == "PreferNoSchedule" || pod.tolerates(t))',
            [f"pod.tolerates({TAINT}) is false, equal to true []"],
        ),
        (
            'node.pods.all(p, p.labels["app"] == "api")',
            ['p.labels["app"] is "web", equal to "api" []'],
        ),
    ],
)
def test_what_is_missing(condition, expected):
    assert needs(condition) == expected


@pytest.mark.parametrize(
    "condition", ["lacking.size() == 0", "lacking.size() < 1", "lacking == []"]
)
def test_a_filter_that_is_to_be_empty_lacks_what_its_elements_lack(condition):
    lets = "let lacking = pod.requests.filter(r, pod.requests[r] > node.free[r])"
    assert needs(condition, lets) == ['node.free["cpu"] is 1, at least 2 [1]', GPU]


def test_a_filter_that_is_to_be_full_is_a_number_like_any_other():
    lets = "let lacking = pod.requests.filter(r, pod.requests[r] > node.free[r])"
    assert needs("lacking.size() >= 5", lets) == ["lacking.size() is 2, at least 5 [3]"]


def test_an_operand_without_a_value_is_said_to_have_none():
    assert needs("node.free.cpu >= 2 && node.ready == (1 / int(node.name.size() - 1) > 0)") == [
        CPU,
        "node.ready is false, equal to error: division by zero []",
    ]


def test_no_more_than_six_needs_are_told():
    assert len(needs("[1, 2, 3, 4, 5, 6, 7, 8, 9].all(n, node.pods.size() > n)")) == 6


# --- that it is true ---

RESOURCES = ("cpu", "memory", "example.com/fpga")
ATOM = st.builds(
    lambda r, least, form: form.format(r=r, n=least),
    st.sampled_from(RESOURCES),
    st.integers(1, 40),
    st.sampled_from(
        [
            'node.free["{r}"] >= {n}',
            '{n} <= node.free["{r}"]',
            '!(node.free["{r}"] < {n})',
            '["{r}", "pods"].all(x, x == "pods" || node.free[x] >= {n})',
            '["{r}"].filter(x, node.free[x] < {n}).size() == 0',
            'cel.bind(free, node.free["{r}"], free >= {n})',
        ]
    ),
)
CONDITION = st.recursive(
    ATOM,
    lambda inner: st.builds(
        lambda form, a, b: form.format(a=a, b=b),
        st.sampled_from(["({a} && {b})", "({a} || {b})", "(node.ready ? {a} : {b})"]),
        inner,
        inner,
    ),
    max_leaves=6,
)


def rejection_of(condition, amounts):
    """Give the rejection of a node with such amounts, if it is rejected."""
    named = {name: str(amount) for name, amount in amounts.items()}
    made = decision(f'rule "r" {{ require {condition} }}', pod(), node("a", **named))
    found = made.nodes[0].verdicts[0].rejections
    return found[0] if found else None


@given(CONDITION, st.tuples(*[st.integers(0, 40)] * len(RESOURCES)))
def test_with_what_is_missing_the_condition_holds_and_with_less_it_does_not(condition, amounts):
    """Where each need is of one resource, giving the node that much is enough."""
    has = dict(zip(RESOURCES, amounts, strict=True))
    rejection = rejection_of(condition, has)
    assume(rejection is not None)
    found = Asker(rejection.expression).needs(rejection.values)
    assert found
    assume(len(found) < MAX_NEEDS)
    lacking: dict[str, int] = {}
    for need in found:
        (resource,) = [r for r in RESOURCES if need.text == f'node.free["{r}"]']
        assert int(need.bound) - int(need.value) == int(need.missing) > 0
        lacking[resource] = max(lacking.get(resource, 0), int(need.missing))
    with_it = {name: has[name] + lacking.get(name, 0) for name in has}
    assert rejection_of(condition, with_it) is None
    for name in lacking:
        assert rejection_of(condition, with_it | {name: with_it[name] - 1}) is not None or (
            "||" in condition
        )
