"""The default policy as rules gives kube-scheduler's answers, to every scenario of the reference.

The scenarios are cut into parts of a hundred, so that several processes can share them.
"""

import json
from itertools import islice

import pytest

from policyd.policy.decide import decide
from tests.parity.compare import (
    answer,
    answer_of,
    default_rules,
    difference,
    read_lines,
    situation,
)
from tests.parity.run import main
from tests.shared import needs_shared, shared_file

SCENARIOS = shared_file("data", "parity", "scenarios.ndjson.gz")
EXPECTED = shared_file("data", "parity", "expected.ndjson.gz")
COUNT, PART = 2400, 100

pytestmark = needs_shared


@pytest.fixture(scope="module")
def ruleset():
    return default_rules()


def pairs(start: int, stop: int):
    both = zip(read_lines(SCENARIOS), read_lines(EXPECTED), strict=True)
    return islice(both, start, stop)


def test_there_are_as_many_scenarios_as_the_reference_says():
    assert sum(1 for _ in pairs(0, COUNT + 1)) == COUNT


@pytest.mark.parametrize("start", range(0, COUNT, PART))
def test_kube_scheduler_gives_the_same_answers(ruleset, start):
    found = {
        scenario["id"]: differing
        for scenario, theirs in pairs(start, start + PART)
        if (differing := difference(answer(ruleset, scenario), theirs))
    }
    assert found == {}


def test_a_wrong_answer_is_a_difference(ruleset):
    """The comparison notices a changed reason, code, plugin, score and feasibility."""
    scenario, theirs = next(pairs(0, 1))
    ours = answer(ruleset, scenario)
    assert difference(ours, theirs) == {}
    for node, change in (
        ("n0", {"reasons": ["Insufficient memory"]}),
        ("n0", {"code": "Unschedulable"}),
        ("n0", {"plugin": "NodePorts"}),
        ("n0", {"feasible": True}),
        ("n1", {"total": 404}),
        ("n1", {"scores": {**theirs["nodes"]["n1"]["scores"], "NodeResourcesFit": 52}}),
    ):
        wrong = {**theirs, "nodes": {**theirs["nodes"], node: {**theirs["nodes"][node], **change}}}
        assert list(difference(ours, wrong)) == [node], change
    assert list(difference(ours, {**theirs, "preFilter": {"plugin": "VolumeZone"}})) == [
        "preFilter"
    ]


def test_deleting_a_rule_turns_exactly_that_off(ruleset):
    """Without ImageLocality every scenario is decided as before, but for that score."""
    names = [rule.name for rule in ruleset.rules]
    at = names.index("ImageLocality")
    fewer = type(ruleset)(
        (*ruleset.rules[:at], *ruleset.rules[at + 1 :]),
        ruleset.blocks,
        ruleset.parameters,
        ruleset.values,
        "without",
    )
    scored = 0
    for scenario, theirs in pairs(0, PART):
        snapshot, pod = situation(scenario)
        ours = answer_of(scenario["id"], decide(fewer, pod, snapshot))
        for verdict in theirs["nodes"].values():
            points = verdict.get("scores", {}).pop("ImageLocality", 0)
            verdict["total"] -= points
            scored += points > 0
        assert difference(ours, theirs) == {}
    assert scored > 0


def test_the_command_counts_by_area_and_shows_the_first_differences(tmp_path, capsys):
    scenarios, expected = tmp_path / "scenarios.ndjson", tmp_path / "expected.ndjson"
    some = list(pairs(0, 4))
    scenarios.write_text("".join(json.dumps(s) + "\n" for s, _ in some))
    expected.write_text("".join(json.dumps(e) + "\n" for _, e in some))
    assert main([str(scenarios), str(expected)]) == 0
    out = capsys.readouterr().out
    assert "all                4 of     4 agree" in out

    some[0][1]["nodes"]["n0"]["reasons"] = ["something else"]
    expected.write_text("".join(json.dumps(e) + "\n" for _, e in some))
    assert main([str(scenarios), str(expected)]) == 1
    out = capsys.readouterr().out
    assert "== a-0-resources differs\n-- n0\n   policyd " in out
    assert "resources          0 of     1 agree" in out
    assert "taints             1 of     1 agree" in out
