"""Prints how each expression of a rule set is evaluated."""

from collections.abc import Sequence
from typing import Any

import click

from policyd.cli.output import print_data
from policyd.cli.table import Cell, Column, draw
from policyd.cli.terminal import columns, wants_colour
from policyd.policy.planning import Planned, planned
from policyd.policy.ruleset import Ruleset

_WAYS = {
    "once": "once for a pod",
    "arrays": "over all nodes at once",
    "rows": "NODE BY NODE",
}


def print_plans(rulesets: Sequence[Ruleset], output: str) -> None:
    """Print the plans of rule sets: what is evaluated node by node in Python is marked."""
    plans = [plan for ruleset in rulesets for plan in planned(ruleset)]
    if output == "json":
        print_data({"expressions": [_as_data(plan) for plan in plans]}, output)
        return
    heads = [Column(name) for name in ("PLACE", "RULE", "CLAUSE", "EVALUATED", "KEPT BY")]
    rows = [_row(plan) for plan in plans]
    colour = wants_colour("stdout")
    click.echo(draw(heads, rows, width=columns("stdout"), colour=colour), color=colour)
    for plan in plans:
        if plan.why:
            click.echo(f"\n{_place(plan)}: {plan.text}\n  node by node: {plan.why}")


def _row(plan: Planned) -> list[Cell]:
    way = _WAYS[plan.way]
    kept = ", ".join(plan.shares) or ("nothing of the pod" if plan.way != "once" else "")
    return [
        Cell(_place(plan)),
        Cell(plan.rule or "choose"),
        Cell(plan.clause),
        Cell(way, "yellow" if plan.way == "rows" else "plain"),
        Cell(kept),
    ]


def _place(plan: Planned) -> str:
    line, column = plan.source.position(plan.span.start)
    return f"{plan.source.name}:{line}:{column}"


def _as_data(plan: Planned) -> dict[str, Any]:
    return {
        "place": _place(plan),
        "rule": plan.rule,
        "clause": plan.clause,
        "expression": plan.text,
        "evaluated": plan.way,
        "why": plan.why,
        "keptBy": list(plan.shares),
        "staleBy": list(plan.repairs),
    }
