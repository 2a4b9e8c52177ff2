"""Shows what simulations came to: a table with a column for each rule set, and the reasons."""

from collections.abc import Iterator, Sequence

import click

from policyd.cli.report import in_words
from policyd.cli.table import Cell, Column, draw
from policyd.cli.terminal import columns, wants_colour
from policyd.simulation.summary import Summary


def print_summaries(names: Sequence[str], summaries: Sequence[Summary]) -> None:
    """Print the table; then why pods wait or left, and where shadow rules disagree."""
    heads = [Column(""), *(Column(name, is_number=True) for name in names)]
    rows = [_row(what, values) for what, values in _lines(summaries)]
    colour = wants_colour("stdout")
    click.echo(draw(heads, rows, width=columns("stdout"), colour=colour), color=colour)
    for name, summary in zip(names, summaries, strict=True):
        _print_details(name, summary)


def _lines(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[str]]]:
    yield "rule set", [s.ruleset for s in summaries]
    yield "placed", [f"{s.placed:,}" for s in summaries]
    yield "pending", [f"{s.pending:,}" for s in summaries]
    if any(s.dropped for s in summaries):
        yield "dropped", [f"{s.dropped:,}" for s in summaries]
    yield from _usage(summaries)
    yield from _allocation(summaries)
    yield "attempts", [f"{s.attempts:,}" for s in summaries]
    yield "decision p50", [f"{s.decision_p50 * 1000:.2f} ms" for s in summaries]
    yield "decision p99", [f"{s.decision_p99 * 1000:.2f} ms" for s in summaries]


def _usage(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[str]]]:
    for at, usage in enumerate(summaries[0].usage):
        if usage.allocatable > 0:
            used = [s.usage[at] for s in summaries]
            yield f"{usage.resource} used", [f"{u.utilisation:.1%}" for u in used]
            yield (
                f"{usage.resource} free in fragments",
                [f"{u.fragmentation:.1%}" for u in used],
            )


def _allocation(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[str]]]:
    """Give the allocation at arrivals from 80 % on, where so much arrived."""
    curves = [dict(s.curve.marks()) for s in summaries]
    for mark in curves[0]:
        if mark >= _FIRST_MARK:
            what = f"{summaries[0].curve.resource} at {mark:.0%} arrivals"
            yield what, [f"{curve[mark]:.2%}" for curve in curves]


_FIRST_MARK = 0.8


def _row(what: str, values: Sequence[str]) -> list[Cell]:
    return [Cell(what), *(Cell(value) for value in values)]


def _print_details(name: str, summary: Summary) -> None:
    if summary.reasons:
        what = "pending or dropped" if summary.dropped else "pending"
        click.echo(f"\n{what} under {name}:")
    for reason, count in summary.reasons[:_MOST_REASONS]:
        click.echo(f"  {in_words(count, 'pod')}: {reason}")
    if len(summary.reasons) > _MOST_REASONS:
        rest = sum(count for _, count in summary.reasons[_MOST_REASONS:])
        more = in_words(len(summary.reasons) - _MOST_REASONS, "reason")
        click.echo(f"  {in_words(rest, 'pod')}: {more} more, all of them with -o json")
    if summary.shadow:
        click.echo(f"\nin shadow mode under {name}, so that it changed nothing:")
    for rule, count in summary.shadow:
        decisions = in_words(summary.attempts, "decision")
        click.echo(f"  {rule} would have changed {count:,} of {decisions}")


_MOST_REASONS = 10
