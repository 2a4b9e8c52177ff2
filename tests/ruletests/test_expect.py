"""When a decision is as expected, and when it is not."""

from pathlib import Path
from textwrap import dedent

import pytest

from policyd.ruletests.cases import read_suite
from policyd.ruletests.expect import Mismatch, mismatches
from policyd.ruletests.run import rule_on
from tests.policy.build import rules

CLUSTER = """
    cluster:
      nodes:
      - metadata: {name: ant}
        status: {allocatable: {cpu: 4, nvidia.com/gpu: 2}}
      - metadata: {name: bee}
        status: {allocatable: {cpu: 1, nvidia.com/gpu: 2}}
      pods:
      - metadata: {name: a, annotations: {policyd.io/device-share: nvidia.com/gpu=600m}}
        spec: {nodeName: ant}
      - metadata: {name: b, annotations: {policyd.io/devices: nvidia.com/gpu=1}}
        spec: {nodeName: ant, containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}]}
"""

RULES = """
    rule "cpu" {
      require node.free.cpu >= pod.requests.cpu because ["Insufficient cpu", "Insufficient cpu"]
      require node.free.cpu >= 2 * pod.requests.cpu because "tight"
    }
    rule "taste" { prefer node.name == "ant" ? 33.333 : null }
    rule "tried" { mode shadow require node.name != "ant" because "no ant" }
"""

POD = "pod: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}"


def _mismatches(
    folder: Path, expect: str, pod: str = POD, text: str = RULES, cluster: str = CLUSTER
) -> list[Mismatch]:
    file = folder / "a.test.yaml"
    test = f"tests:\n- name: a\n  {pod}\n  expect: {{{expect}}}\n"
    file.write_text(dedent(cluster) + test, encoding="utf-8")
    (case,) = read_suite(file).cases
    return mismatches(case, rule_on(case, rules(text)))


@pytest.mark.parametrize(
    "expect",
    [
        "fits: true",
        "fits: [ant]",
        "fits: {ant: true}",
        "fits: {bee: false, ant: true}",
        "rejected: {bee: Insufficient cpu}",
        "rejected: {bee: tight}",
        "rejected: {bee: [Insufficient cpu, tight]}",
        "rejected: {bee: {rule: cpu}}",
        "rejected: {bee: {rule: cpu, reason: tight}}",
        "rejected: {bee: {}}",
        "scores: {taste: {ant: 33.33, bee: null}}",
        "scores: {cpu: {ant: null}}",
        "totals: {ant: 33.338}",
        "order: [ant]",
        "order: []",
        "node: ant",
        "devices: {}",
    ],
)
def test_what_came_out_is_as_expected(tmp_path: Path, expect: str) -> None:
    assert _mismatches(tmp_path, expect) == []


@pytest.mark.parametrize(
    ("expect", "got"),
    [
        ("fits: false", "it fits on ant"),
        ("fits: [ant, bee]", "it fits on ant"),
        ("fits: []", "it fits on ant"),
        ("fits: {ant: false}", "it fits on ant"),
        ("rejected: {ant: Insufficient cpu}", "it fits on ant"),
        ("rejected: {ant: {rule: tried}}", "it fits on ant"),
        ("rejected: {bee: insufficient cpu}", "bee rejects it by cpu: Insufficient cpu, "),
        ("rejected: {bee: [tight, Insufficient cpu]}", "bee rejects it by cpu: "),
        ("rejected: {bee: [tight]}", "bee rejects it by cpu: "),
        ("rejected: {bee: {rule: taste}}", "bee rejects it by cpu: "),
        ("rejected: {bee: {rule: cpu, reason: []}}", "bee rejects it by cpu: "),
        ("scores: {taste: {ant: 33.32}}", "it gives 33.33"),
        ("scores: {taste: {ant: null}}", "it gives 33.33"),
        ("scores: {taste: {bee: 0}}", "it gives no score: bee rejects it by cpu: "),
        ("scores: {cpu: {ant: 0}}", "it gives no score: there is no `prefer` or `avoid`"),
        ("totals: {ant: 33}", "it has 33.33"),
        ("totals: {bee: 0}", "bee rejects it by cpu: "),
        ("order: [ant, bee]", "ant (33.33); bee rejects it by cpu: "),
        ("node: bee", "ant is chosen with 33.33; bee rejects it by cpu: "),
        ("node: null", "ant is chosen with 33.33"),
        ("devices: {nvidia.com/gpu: [0]}", "it takes no devices"),
    ],
)
def test_what_came_out_is_not_as_expected(tmp_path: Path, expect: str, got: str) -> None:
    (found,) = _mismatches(tmp_path, expect)
    assert found.expectation == expect.partition(":")[0]
    assert got in found.got
    assert found.expected


def test_a_score_of_a_rule_that_does_not_apply_is_explained_by_its_when(tmp_path: Path) -> None:
    text = 'rule "r" { when pod.name == "x" prefer 1 }'
    (found,) = _mismatches(tmp_path, "scores: {r: {ant: 1}}", text=text)
    assert found.got == "it gives no score: its `when` is false"
    assert [(value.text, value.value) for value in found.values] == [
        ('when pod.name == "x"', "false"),
        ("pod.name", '"pod"'),
    ]


def test_a_score_that_cannot_be_evaluated_says_why(tmp_path: Path) -> None:
    text = 'rule "r" { prefer 1 / (pod.name.size() - 3) }'
    (found,) = _mismatches(tmp_path, "scores: {r: {ant: 1}}", text=text)
    assert found.values[0].value == "error: division by zero"


def test_a_node_whose_devices_do_not_suffice_is_none_that_fits(tmp_path: Path) -> None:
    pod = "pod: {metadata: {annotations: {policyd.io/device-share: nvidia.com/gpu=500m}}}"
    text = 'rule "r" { prefer node.name == "ant" }'
    expect = 'fits: [bee], node: bee, rejected: {ant: "no device has enough left"}'
    assert _mismatches(tmp_path, expect, pod, text) == []
    (found,) = _mismatches(tmp_path, "fits: {ant: true}", pod, text)
    assert found.got == "ant is left out: no device has enough left"


def test_where_no_node_fits_none_is_chosen(tmp_path: Path) -> None:
    pod = "pod: {spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}"
    assert _mismatches(tmp_path, "node: null, fits: false, order: []", pod) == []
    (found,) = _mismatches(tmp_path, "node: ant", pod)
    assert found.got.startswith("ant rejects it by cpu: ")


def test_of_many_nodes_only_some_are_named(tmp_path: Path) -> None:
    nodes = "".join(f"  - {{metadata: {{name: n{at:02}}}}}\n" for at in range(20))
    found = _mismatches(
        tmp_path, "fits: false", "pod: {}", 'rule "r" { prefer 1 }', f"cluster:\n  nodes:\n{nodes}"
    )
    assert found[0].got.endswith(" and 12 more")
    assert len(found[0].nodes) == 8
