"""The record of a decision: small on any number of nodes, the same after writing and reading."""

import json
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.policy.decide import decide
from policyd.policy.record import (
    VERSION,
    Brief,
    DecisionData,
    ErrorData,
    Group,
    NeedData,
    NodeData,
    PodData,
    Record,
    RecordError,
    RejectionData,
    RuleName,
    RulesetData,
    ScoreData,
    ShadowData,
    ValueData,
    VerdictData,
    from_json,
    to_json,
)
from policyd.policy.recording import (
    GROUP_NAMES,
    KEPT_NODES,
    MAX_GROUPS,
    SMALL,
    decision_data,
    ruleset_data,
)
from tests.policy.build import as_pod, decision, node, pod, rules, snapshot

RULES = """
    rule "room" {
      require node.free.cpu >= pod.requests.cpu because "Insufficient cpu"
      require node.free.memory >= pod.requests.memory because "Insufficient memory"
    }
    rule "disk" { require node.labels["disk"] == "ssd" because "wrong disk" }
    rule "spread" { prefer node.free.cpu * 10 }
"""


def cluster(count, **labels):
    """Give nodes with 1 to 8 cpu, every third of which has the right disk."""
    return [
        node(f"n{at:05}", {"disk": "ssd" if at % 3 == 0 else "hdd"} | labels, cpu=str(1 + at % 8))
        for at in range(count)
    ]


def made(nodes, text=RULES, **options):
    found = decide(rules(text), as_pod(pod(cpu="4", memory="1Gi")), snapshot(*nodes))
    return found, decision_data(found, **options)


# --- groups ---


def test_nodes_that_agree_in_every_verdict_and_reason_are_one_group_and_each_is_in_one():
    found, data = made(cluster(60))
    ssd = [at % 3 == 0 for at in range(60)]
    room = [1 + at % 8 >= 4 for at in range(60)]
    alike = Counter(zip(room, ssd, strict=True))
    assert [(group.fits, group.reasons, group.count) for group in data.groups] == [
        (True, (), alike[True, True]),
        (False, ("Insufficient cpu",), alike[False, True]),
        (False, ("wrong disk",), alike[True, False]),
        (False, ("Insufficient cpu", "wrong disk"), alike[False, False]),
    ]
    assert data.considered == found.considered == 60
    assert data.feasible == alike[True, True]


def test_groups_stand_in_the_order_of_how_little_has_to_change():
    nodes = [
        node("far", {"disk": "hdd"}, cpu="1", memory="512Mi"),
        node("little", {"disk": "ssd"}, cpu="3500m"),
        node("much", {"disk": "ssd"}, cpu="1"),
        node("label", {"disk": "hdd"}),
        node("two", {"disk": "hdd"}, cpu="3"),
    ]
    _, data = made(nodes)
    assert [(g.names, g.unmet, g.changes) for g in data.groups] == [
        (("little", "much"), 1, 1),
        (("label",), 1, 1),
        (("two",), 2, 2),
        (("far",), 3, 3),
    ]


def test_what_two_rules_need_alike_is_one_change():
    text = """
        rule "a" { require node.free.cpu >= pod.requests.cpu because "a" }
        rule "b" { require node.free.cpu >= pod.requests.cpu because "b" }
    """
    _, data = made([node("n", cpu="1")], text)
    (group,) = data.groups
    assert (group.unmet, group.changes, group.rules) == (2, 1, ("a", "b"))


def test_the_example_of_a_group_is_the_node_that_lacks_least_and_is_there_in_full():
    nodes = [
        node(f"n{at:02}", {"disk": "ssd"}, cpu=f"{1000 + 37 * at % 1000}m") for at in range(30)
    ]
    _, data = made(nodes)
    (group,) = data.groups
    largest = max(nodes, key=lambda each: int(each["status"]["allocatable"]["cpu"][:-1]))
    assert group.example == largest["metadata"]["name"] == group.names[0]
    example = next(each for each in data.nodes if each.node == group.example)
    (rejection,) = example.rules[0].rejections
    (need,) = rejection.needs
    assert (need.expression, need.relation, need.bound) == ("node.free.cpu", "at least", "4")


def test_groups_of_nodes_that_fit_tell_the_bounds_of_their_totals():
    _, data = made(cluster(60))
    (group,) = [group for group in data.groups if group.fits]
    totals = {each.total for each in data.nodes if each.fits}
    assert group.highest == max(totals)
    assert group.lowest is not None
    assert group.lowest < group.highest


def test_reasons_that_name_their_node_do_not_make_a_group_of_every_node():
    text = 'rule "own" { require false because node.name + " will not" }'
    _, data = made(cluster(500), text)
    (group,) = data.groups
    assert (group.count, data.ungrouped) == (500, 0)


def test_there_are_no_more_groups_than_the_largest_few():
    """Every set of nine rules that reject is a group of its own."""
    text = "\n".join(
        f'rule "bit{bit}" {{ require (int(node.labels["at"]) / {2**bit}) % 2 == 0 }}'
        for bit in range(9)
    )
    nodes = [node(f"n{at:03}", {"at": str(at)}) for at in range(512)]
    nodes += [node(f"more{at:03}", {"at": "7"}) for at in range(50)]
    _, data = made(nodes, text)
    assert len(data.groups) == MAX_GROUPS
    assert data.ungrouped + sum(group.count for group in data.groups) == 562
    assert max(group.count for group in data.groups) == 51


def test_a_shadow_rule_parts_groups_and_does_not_count_as_unmet():
    text = RULES + 'rule "dry" { mode shadow require node.name != "n00003" because "not that" }'
    _, data = made(cluster(15), text)
    fitting = [group for group in data.groups if group.fits]
    assert [(group.unmet, group.reasons) for group in fitting] == [(0, ()), (0, ())]
    assert ("n00003",) in {group.names for group in fitting}


# --- which nodes are there in full ---


def test_of_few_nodes_all_are_there_in_full():
    _, data = made(cluster(SMALL))
    assert len(data.nodes) == SMALL


def test_of_many_nodes_the_best_are_there_and_an_example_of_each_group():
    found, data = made(cluster(200))
    names = {each.node for each in data.nodes}
    assert names == {each.name for each in found.nodes[:KEPT_NODES]} | {
        group.example for group in data.groups
    }
    assert data.node == data.nodes[0].node == found.nodes[0].name


def test_a_node_that_is_wanted_is_there_too():
    _, data = made(cluster(200))
    assert "n00101" not in {each.node for each in data.nodes}
    _, data = made(cluster(200), wanted=["n00101"])
    assert "n00101" in {each.node for each in data.nodes}


def test_in_full_all_nodes_are_there():
    found, data = made(cluster(50), full=True)
    assert [each.node for each in data.nodes] == [each.name for each in found.nodes]


def test_groups_name_only_a_few_of_their_nodes():
    _, data = made(cluster(200))
    assert max(len(group.names) for group in data.groups) == GROUP_NAMES


# --- size ---


@pytest.mark.parametrize(
    "text",
    [
        RULES,
        RULES + 'rule "own" { require node.name.endsWith("x") because "it is " + node.name }',
        "\n".join(
            f'rule "bit{bit}" {{ require int(node.name.substring(1)) / {2**bit} % 2 == 0 }}'
            for bit in range(12)
        ),
    ],
    ids=["few reasons", "a reason for each node", "thousands of groups"],
)
def test_the_record_of_5000_nodes_stays_small(text):
    found, data = made(cluster(5_000), text)
    assert found.considered == 5_000
    size = len(msgspec.json.encode(data))
    assert size < 150_000
    assert len(data.nodes) <= KEPT_NODES + MAX_GROUPS


# --- what is told of a rule ---


def test_everything_that_a_rule_says_is_told():
    text = """
        rule "r" {
          when node.name != "other"
          require node.free.cpu >= pod.requests.cpu because "Insufficient cpu"
          prefer 250
        }
        rule "broken" { require 1 / node.pods.size() > 0 }
        rule "off" { when false require false }
        rule "scores" { prefer 150 weight 2 prefer 1 / node.pods.size() }
    """
    _, data = made([node("n", cpu="1")], text)
    (only,) = data.nodes
    r, broken, off, scores = only.rules
    assert (only.fits, only.total) == (False, None)
    assert (r.rule, r.applies, r.rejects, r.shadow) == ("r", True, True, False)
    assert r.rejections == (
        RejectionData(
            reasons=("Insufficient cpu",),
            expression="node.free.cpu >= pod.requests.cpu",
            place="test.expr:4:19",
            values=(
                ValueData(expression="node.free.cpu", value="1"),
                ValueData(expression="pod.requests.cpu", value="4"),
            ),
            needs=(
                NeedData(
                    expression="node.free.cpu",
                    value="1",
                    relation="at least",
                    bound="4",
                    missing="3",
                ),
            ),
        ),
    )
    (rejection,) = broken.rejections
    assert rejection.error == ErrorData(message="division by zero", place="test.expr:7:33")
    assert rejection.needs == ()
    assert (off.applies, off.rejects) == (False, False)
    assert scores.scores == ()


def test_scores_are_told_with_what_became_of_them():
    _, data = made([node("n")], 'rule "s" { prefer 150 weight 2 prefer 1 / node.pods.size() }')
    over, broken = data.nodes[0].rules[0].scores
    assert over == ScoreData(raw=150, score=100.0, weighted=200.0, clamped=True)
    assert broken.error == ErrorData(message="division by zero", place="test.expr:1:39")
    assert data.nodes[0].total == 200.0


def test_a_rule_set_is_named_by_its_hash_its_rules_and_its_parameters():
    text = 'param most: int = 5\nrule "a" { mode shadow prefer most }'
    data = ruleset_data(rules(text, most="7"))
    assert data.params == {"most": 7}
    assert data.rules == (RuleName(name="a", place="test.expr:2:1", shadow=True),)
    assert data.hash == rules(text, most="7").hash != rules(text).hash


# --- writing and reading ---

TEXT = st.text(max_size=8)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
SCORE = st.floats(allow_nan=False, allow_infinity=False)
DEVICES = st.dictionaries(TEXT, st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2)


def few(of):
    return st.lists(of, max_size=2).map(tuple)


ERROR = st.builds(ErrorData, message=TEXT, place=TEXT)
REJECTION = st.builds(
    RejectionData,
    reasons=TEXTS,
    expression=TEXT,
    place=TEXT,
    values=few(st.builds(ValueData, expression=TEXT, value=TEXT)),
    needs=few(
        st.builds(NeedData, expression=TEXT, value=TEXT, relation=TEXT, bound=TEXT, missing=TEXT)
    ),
    error=st.none() | ERROR,
)
RAW = st.none() | st.integers(-(2**53), 2**53) | SCORE | st.booleans() | TEXT
SCORED = st.builds(
    ScoreData, raw=RAW, score=SCORE, weighted=SCORE, clamped=st.booleans(), error=st.none() | ERROR
)
VERDICT = st.builds(
    VerdictData,
    rule=TEXT,
    shadow=st.booleans(),
    applies=st.booleans(),
    rejects=st.booleans(),
    score=st.none() | SCORE,
    rejections=few(REJECTION),
    scores=few(SCORED),
)
NODE = st.builds(
    NodeData, node=TEXT, fits=st.booleans(), total=st.none() | SCORE, rules=few(VERDICT)
)
GROUP = st.builds(
    Group,
    count=st.integers(1, 5_000),
    names=TEXTS,
    example=st.none() | TEXT,
    fits=st.booleans(),
    unmet=st.integers(0, 9),
    changes=st.integers(0, 9),
    rules=TEXTS,
    reasons=TEXTS,
    lowest=st.none() | SCORE,
    highest=st.none() | SCORE,
)
SHADOW = st.builds(
    ShadowData,
    block=TEXT,
    name=TEXT,
    place=TEXT,
    rejected=st.integers(0, 9),
    errors=st.integers(0, 9),
    disagrees=st.booleans(),
    node=st.none() | TEXT,
    devices=DEVICES,
)
POD = st.builds(PodData, namespace=TEXT, name=TEXT, uid=TEXT, workload=TEXT)
DECISION = st.builds(
    DecisionData,
    pod=POD,
    fits=st.booleans(),
    node=st.none() | TEXT,
    considered=st.integers(0, 5_000),
    feasible=st.integers(0, 5_000),
    without_devices=st.integers(0, 9),
    devices=DEVICES,
    reasons=st.dictionaries(TEXT, st.integers(1, 9), max_size=3),
    shadow=few(SHADOW),
    nodes=few(NODE),
    groups=few(GROUP),
    ungrouped=st.integers(0, 9),
)
PARAMS = st.dictionaries(TEXT, RAW, max_size=2)
RULESET = st.builds(
    RulesetData,
    hash=TEXT,
    rules=few(st.builds(RuleName, name=TEXT, place=TEXT, shadow=st.booleans())),
    params=PARAMS,
)
BRIEF = st.builds(
    Brief,
    id=TEXT,
    time=TEXT,
    namespace=TEXT,
    name=TEXT,
    result=TEXT,
    message=TEXT,
    node=st.none() | TEXT,
)
RECORD = st.builds(
    Record,
    id=TEXT,
    time=TEXT,
    profile=TEXT,
    pod=POD,
    ruleset=st.none() | RULESET,
    result=TEXT,
    message=TEXT,
    node=st.none() | TEXT,
    failures=TEXTS,
    seconds=SCORE,
    attempt=st.integers(1, 99),
    earlier=few(BRIEF),
    decision=st.none() | DECISION,
)


@given(RECORD)
def test_a_record_is_the_same_after_writing_and_reading(record):
    text = to_json(record)
    assert from_json(text) == record
    assert b"\n" not in text
    json.loads(text)


def record(**changes):
    data = {
        "version": VERSION,
        "id": "a-1",
        "time": "t",
        "profile": "p",
        "ruleset": None,
        "pod": {"namespace": "n", "name": "m"},
        "result": "error",
        "message": "x",
        "node": None,
        "seconds": 0.5,
        **changes,
    }
    return json.dumps(data)


def test_fields_of_later_releases_are_passed_over():
    assert from_json(record(colour="red")).id == "a-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            record(version=VERSION + 1),
            f"is of version {VERSION + 1}, and .* reads version {VERSION}",
        ),
        (record(version=0), "is of version 0"),
        ("{}", "no.* record of a decision: .*version"),
        ("[]", "not the record of a decision"),
        ("{", "not the record of a decision"),
        ("", "not the record of a decision"),
        (b"\xff", "not the record of a decision"),
        (record(seconds="long"), "cannot be read: .*seconds"),
        (record(pod={}), "cannot be read: .*namespace"),
    ],
)
def test_what_is_no_record_is_refused_with_the_reason(text, said):
    with pytest.raises(RecordError, match=said):
        from_json(text)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_bytes_are_read_or_refused(text):
    with pytest.raises(RecordError):
        from_json(text)


def test_a_decision_on_no_nodes_has_a_record():
    data = decision_data(decision(RULES, pod()))
    assert (data.considered, data.nodes, data.groups) == (0, (), ())
