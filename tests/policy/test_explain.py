"""Which parts of a condition are shown as those that decided, with which values."""

import pytest

from tests.policy.build import decision, node, pod


def findings(condition, **kind):
    made = decision(
        f'rule "r" {{ require {condition} }}',
        pod(labels=kind.get("labels"), cpu="2"),
        node("a", {"disk": "ssd", "zone": "z1"}),
        pod("other", {"app": "web"}, on="a", cpu="3"),
    )
    (rejection,) = made.nodes[0].verdicts[0].rejections
    return {finding.text: finding.value for finding in rejection.findings}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('node.labels["disk"] == "hdd"', {'node.labels["disk"]': '"ssd"'}),
        ('node.labels["gone"] == "x"', {'node.labels["gone"]': "null"}),
        (
            'node.name == "a" && node.labels["zone"] == "z2" && true',
            {'node.labels["zone"]': '"z1"'},
        ),
        (
            'node.name == "b" || node.labels["zone"] == "z2"',
            {"node.name": '"a"', 'node.labels["zone"]': '"z1"'},
        ),
        ('!(node.name == "a")', {"node.name": '"a"'}),
        (
            "node.free.cpu - pod.requests.cpu >= node.allocatable.cpu * 0.5",
            {
                "node.free.cpu - pod.requests.cpu": "-1",
                "node.free.cpu": "1",
                "pod.requests.cpu": "2",
                "node.allocatable.cpu * 0.5": "2",
                "node.allocatable.cpu": "4",
            },
        ),
        ("false", {}),
        ("[1, 2, 3].all(x, x < 2)", {"[1, 2, 3]": "[1, 2, 3], and it is 2", "x": "2"}),
        (
            'node.pods.exists(p, p.labels["app"] == "api")',
            {"node.pods": "[pod other]"},
        ),
        ('node.name in ["b", "c"]', {"node.name": '"a"'}),
        ('node.name.startsWith("gpu")', {"node.name": '"a"'}),
        ('node.ready ? true : node.name == "b"', {"node.ready": "false", "node.name": '"a"'}),
        (
            'node.metadata.labels["gone"] == "x"',
            {
                'node.metadata.labels["gone"]': "error: no such key: gone",
                "node.metadata.labels": '{"disk": "ssd", "zone": "z1"}',
            },
        ),
    ],
)
def test_the_values_that_decided(condition, expected):
    assert findings(condition) == expected


def test_a_let_is_shown_with_its_value():
    text = """
    let missing = ["cpu", "memory"].filter(r, pod.requests[r] > node.free[r])
    rule "r" { require missing.size() == 0 }
    """
    made = decision(text, pod(cpu="8"), node("a"))
    (rejection,) = made.nodes[0].verdicts[0].rejections
    assert ("missing", '["cpu"]') in [(f.text, f.value) for f in rejection.findings]
