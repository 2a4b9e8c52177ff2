"""The oracle gives the answers on record for every scenario of the reference data."""

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.test_plane import a_node, a_pod
from tests.shared import needs_shared, shared_file

Oracle = Callable[[bytes], list[dict[str, Any]]]


@needs_shared
@pytest.mark.parametrize(("data", "scenarios"), [("parity", 2400), ("preemption", 1400)])
def test_every_answer_on_record_is_given_again(oracle: Oracle, data: str, scenarios: int) -> None:
    folder = shared_file("data", data)
    expected = _lines(folder / "expected.ndjson.gz")
    answers = oracle(gzip.decompress((folder / "scenarios.ndjson.gz").read_bytes()))
    differing = [it["id"] for it, answer in zip(expected, answers, strict=True) if it != answer]
    assert not differing
    assert len(answers) == scenarios


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def _scenario(**fields: object) -> bytes:
    nodes = [a_node("n1"), a_node("n2")]
    asked = {"id": "asked", "nodes": nodes, "pods": [], "pod": a_pod("asked"), "namespaces": []}
    return json.dumps(asked | fields).encode() + b"\n"


def test_a_finished_pod_and_one_on_an_unknown_node_take_no_room(oracle: Oracle) -> None:
    done = a_pod("done", nodeName="n1") | {"status": {"phase": "Succeeded"}}
    for pod in (done, lost := a_pod("lost", nodeName="n9")):
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    [empty, with_them] = oracle(_scenario() + _scenario(pods=[done, lost]))
    assert empty["nodes"]["n1"]["feasible"]
    assert with_them == empty


def test_a_tie_between_nodes_to_evict_from_is_told(oracle: Oracle) -> None:
    pods = []
    for node in ("n1", "n2"):
        pod = a_pod(f"on-{node}", nodeName=node, priority=0)
        pod["metadata"] |= {"namespace": "default", "uid": f"uid-{node}"}
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
        pod["status"] = {"startTime": "2026-01-01T00:00:00Z"}
        pods.append(pod)
    urgent = a_pod("urgent", priority=10)
    urgent["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    [answer] = oracle(_scenario(pod=urgent, pods=pods, pdbs=[]))
    assert sorted(answer["preemption"]["chosen"]) == ["n1", "n2"]
    assert answer["preemption"]["candidates"]["n1"]["victims"] == ["default/on-n1"]


def test_a_line_that_is_no_scenario_is_answered_with_its_error(go_program: Path) -> None:
    given = b'{"id": "bad", "nodes": 1}\n' + _scenario(id="good")
    done = subprocess.run([go_program, "oracle"], input=given, capture_output=True, check=False)
    [bad, good] = [json.loads(line) for line in done.stdout.splitlines()]
    assert "cannot unmarshal" in bad["error"]
    assert good["nodes"]["n1"]["feasible"]
    assert done.returncode == 1
    assert b"1 scenarios could not be answered" in done.stderr
