"""`policyd simulate`."""

import json

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
