"""`policyd simulate`."""

import json
from pathlib import Path

import pytest

from tests.cli.command import HUGE, NODES, POD, RULES, run, text, write


@pytest.fixture(autouse=True)
def files():
    write("rules.expr", RULES)
    write("nodes.yaml", NODES)
    write("pods.yaml", text(POD) + "---\n" + text(HUGE))


def data(*more):
    ran = run("simulate", "rules.expr", "--nodes", "nodes.yaml", "-o", "json", *more)
    return ran.status, json.loads(ran.out)


def test_what_fits_is_placed_and_what_waits_has_its_reason():
    status, found = data("--pods", "pods.yaml")
    assert status == 1
    (made,) = found["runs"]
    assert (made["placed"], made["pending"]) == (1, 1)
    assert list(made["reasons"]) == ["0/3 nodes are available: 3 Insufficient cpu."]
    assert made["usage"]["cpu"]["used"] == "3"


def test_the_table_has_a_line_for_each_number():
    ran = run("simulate", "rules.expr", "--nodes", "nodes.yaml", "--pods", "pods.yaml")
    assert ran.status == 1
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["placed", "1"] in lines
    assert ["cpu", "used", "13.6%"] in lines
    assert "  1 pod: 0/3 nodes are available: 3 Insufficient cpu." in ran.out.splitlines()


def test_two_rule_sets_stand_side_by_side():
    write("other.expr", 'rule "none" { require false because "closed" }')
    status, found = data("--pods", "pods.yaml", "--compare", "other.expr")
    assert status == 1
    assert [(run_["rules"], run_["placed"]) for run_ in found["runs"]] == [
        ("rules.expr", 1),
        ("other.expr", 0),
    ]


def test_pods_of_a_dump_that_are_on_no_node_are_placed_and_the_others_stay():
    bound = text(POD).replace("spec:", "spec:\n  nodeName: big", 1).replace("web, n", "old, n", 1)
    write("dump.yaml", text(NODES) + "---\n" + bound + "---\n" + text(POD))
    ran = run("simulate", "rules.expr", "--cluster", "dump.yaml", "-o", "json")
    (made,) = json.loads(ran.out)["runs"]
    assert ran.status == 0
    assert (made["placed"], made["usage"]["cpu"]["used"]) == (1, "6")


def test_the_same_seed_gives_the_same_numbers():
    def numbers(seed):
        (made,) = data("--pods", "pods.yaml", "--seed", seed)[1]["runs"]
        return {k: v for k, v in made.items() if k != "decisionSeconds"}

    assert numbers("3") == numbers("3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rules.expr",), "there is nothing to place"),
        (("rules.expr", "--nodes", "n", "--cluster", "c"), "both give the nodes"),
        (("gone.expr", "--pods", "pods.yaml"), "no such file"),
        (("rules.expr", "--pods", "gone.yaml"), "no such file"),
    ],
)
def test_input_that_cannot_be_used(arguments, message):
    ran = run("simulate", *arguments)
    assert ran.status == 2
    assert message in ran.err


def test_blocks_in_shadow_mode_are_counted_those_too_that_agree() -> None:
    shadow = """
        rule "dry" { mode shadow require false }
        rule "same" { mode shadow require true }
        choose { mode shadow order node.name }
    """
    write("rules.expr", RULES + shadow)
    _, found = data("--pods", "pods.yaml")
    (made,) = found["runs"]
    assert made["shadowDisagreements"] == {"choose": 0, "dry": 1, "same": 0}
    ran = run("simulate", "rules.expr", "--nodes", "nodes.yaml", "--pods", "pods.yaml")
    assert ran.out.endswith(
        "\nin shadow mode under rules.expr, so that it changed nothing:\n"
        "  choose would have changed 0 of 2 decisions\n"
        "  dry would have changed 1 of 2 decisions\n"
        "  same would have changed 0 of 2 decisions\n"
    )


def test_records_are_written_for_the_rules_and_not_for_those_compared() -> None:
    write("other.expr", 'rule "none" { require false because "closed" }')
    data("--pods", "pods.yaml", "--compare", "other.expr", "--record", "decisions.jsonl")
    records = [json.loads(line) for line in Path("decisions.jsonl").read_text().splitlines()]
    assert [(each["pod"]["name"], each["result"]) for each in records] == [
        ("web", "scheduled"),
        ("huge", "unschedulable"),
    ]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("none/decisions.jsonl", "no such file or directory"),
        (".", "is a directory"),
        ("-", "records go to a file"),
        ("", "the name of a file is empty"),
    ],
)
def test_a_file_for_records_that_cannot_be_written_is_refused(path: str, said: str) -> None:
    ran = run(
        *("simulate", "rules.expr", "--nodes", "nodes.yaml", "--pods", "pods.yaml"),
        *("--record", path),
    )
    assert ran.status == 2
    assert said in ran.err


def test_pods_of_a_dump_can_arrive_at_the_times_of_their_creation():
    def created(name, minute):
        made = text(POD).replace("web, n", f"{name}, n", 1)
        return made.replace(
            "metadata: {", f'metadata: {{creationTimestamp: "2026-06-01T12:0{minute}:00Z", ', 1
        )

    write("pods.yaml", created("late", 5) + "---\n" + created("early", 2))
    _, found = data("--pods", "pods.yaml", "--times")
    (made,) = found["runs"]
    assert made["placed"] == 2
    assert [point["seconds"] for point in made["allocation"]["curve"]] == [0.0, 0.0, 180.0]
