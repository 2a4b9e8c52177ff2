"""Shows people what became of rule tests, and which conditions they did not try."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import click

from policyd.cli.explanation import need_text
from policyd.cli.report import in_words
from policyd.cli.terminal import painted, signs, wants_colour
from policyd.cli.verdicts import number
from policyd.language.cells import visible
from policyd.policy.record import NodeData, RejectionData, VerdictData
from policyd.ruletests.coverage import FileCoverage, Point
from policyd.ruletests.expect import Mismatch
from policyd.ruletests.results import CaseResult, SuiteResult

Line = tuple[str, str]
"""A line of text, and its style."""


def print_results(results: Sequence[SuiteResult]) -> None:
    """Print a line for each file of tests, and under it what failed; then the sum."""
    for result in results:
        _print(_suite(result))
    tests = sum(len(result.results) for result in results)
    failed = sum(result.failed for result in results)
    in_files = f"{in_words(tests, 'test')} in {in_words(len(results), 'file')}"
    _print([(f"{in_files}: {_counts(tests, failed)}", "bold")])


def print_coverage(files: Sequence[FileCoverage], untested: Sequence[str]) -> None:
    """Print for each rule file which of its conditions were never true, or never false."""
    _print(_coverage(files, untested))


def _print(lines: Iterable[Line]) -> None:
    colour = wants_colour("stdout")
    for text, style in lines:
        click.echo(painted(visible(text), style, colour=colour), color=colour)


# --- results ---


def _suite(result: SuiteResult) -> Iterator[Line]:
    yield (
        f"{result.suite.name}: {_counts(len(result.results), result.failed)}",
        "red" if result.failed else "plain",
    )
    for each in result.results:
        if not each.passed:
            yield "", "plain"
            yield f"{signs().rejects} {each.case.name}  ({each.case.place})", "bold"
            yield from failure_lines(each)
    if result.failed:
        yield "", "plain"


def _counts(tests: int, failed: int) -> str:
    passed = f"{tests - failed:,} passed"
    return f"{passed}, {failed:,} failed" if failed else passed


def failure_lines(result: CaseResult) -> Iterator[Line]:
    """Say what came out otherwise than expected, with the values behind it."""
    shown: set[str] = set()  # nodes, each once
    nodes = {} if result.decision is None else {n.node: n for n in result.decision.nodes}
    for mismatch in result.mismatches:
        yield from _mismatch(mismatch)
        for name in mismatch.nodes:
            if name in nodes and name not in shown:
                shown.add(name)
                yield from _node(nodes[name])


def _mismatch(mismatch: Mismatch) -> Iterator[Line]:
    yield f"    {mismatch.expectation}  ({mismatch.place})", "dim"
    yield f"      expected: {mismatch.expected}", "green"
    yield f"      got:      {mismatch.got}", "red"
    for value in mismatch.values:
        text = f"{value.text} = " if value.text else ""
        yield f"          {text}{value.value}", "plain"


def _node(node: NodeData) -> Iterator[Line]:
    """Show what decided on a node: what rejects it, or what its total is made of."""
    if node.fits:
        parts = [f"{v.rule} {number(v.score)}" for v in node.rules if v.score is not None]
        made = f": {', '.join(parts)}" if parts else ", for no rule scores"
        yield f"      {node.node} has {number(node.total or 0.0)}{made}", "plain"
        return
    yield f"      {node.node} rejects it", "plain"
    for verdict in node.rules:
        for rejection in verdict.rejections if verdict.rejects else ():
            yield from _rejection(verdict, rejection)


def _rejection(verdict: VerdictData, rejection: RejectionData) -> Iterator[Line]:
    for reason in rejection.reasons:
        yield f"        {signs().rejects} {verdict.rule}: {reason}", "red"
    yield f"            {rejection.expression}  ({rejection.place})", "dim"
    for value in rejection.values:
        text = f"{value.expression} = " if value.expression else ""
        yield f"            {text}{value.value}", "plain"
    for need in rejection.needs:
        yield f"            it would take {need_text(need)}", "plain"


# --- coverage ---


def _coverage(files: Sequence[FileCoverage], untested: Sequence[str]) -> Iterator[Line]:
    yield "", "plain"
    yield "how conditions came out, of all the ways in which they can", "bold"
    for file in files:
        full = file.seen == file.outcomes
        yield (
            f"{file.name}: {file.seen:,} of {file.outcomes:,}{_percent(file)}",
            ("plain" if full else "yellow"),
        )
        missing = [point for point in file.points if point.missing]
        for block, points in groupby(missing, key=lambda point: point.block):
            yield f"  {block}", "plain"
            yield from (_point(point) for point in points)
    for name in untested:
        yield f"{name}: no tests", "yellow"
    outcomes, seen = sum(f.outcomes for f in files), sum(f.seen for f in files)
    if len(files) > 1:
        yield f"in all: {seen:,} of {outcomes:,}{_share(seen, outcomes)}", "bold"


def _percent(file: FileCoverage) -> str:
    return _share(file.seen, file.outcomes)


def _share(seen: int, outcomes: int) -> str:
    """Give a part in percent, rounded down: 100% is all."""
    return f" ({1000 * seen // outcomes / 10:.1f}%)" if outcomes else ""


def _point(point: Point) -> Line:
    line, column = point.source.position(point.span.start)
    never = " or ".join(point.missing)
    clause = f"{point.clause} " if point.clause else ""
    return f"    {line}:{column}  never {never}: {clause}{point.text}", "yellow"
