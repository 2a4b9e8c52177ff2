"""Runs a simulation for each rule set that is given, and prints what they came to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import click
import msgspec

from policyd.cli.eval_rules import load_rules
from policyd.cli.failure import UNUSABLE
from policyd.cli.inputs import Inputs, read_inputs
from policyd.cli.output import print_data
from policyd.cli.report import in_words
from policyd.cli.request import Request
from policyd.cli.table import Cell, Column, draw
from policyd.cli.terminal import columns, is_terminal, wants_colour
from policyd.model.pod import Pod
from policyd.policy.ruleset import Ruleset
from policyd.simulation.run import Arrival, Scenario, simulate
from policyd.simulation.summary import Summary, summarise

_MANY: Final = 200
"""From how many pods on a simulation takes long enough to show that something happens."""


def simulate_rules(
    sets: Sequence[Sequence[str]],
    settings: Mapping[str, str],
    request: Request,
    seed: int,
    output: str,
) -> int:
    """Simulate each rule set on the same input, print the summaries, give the exit status.

    Raises:
        Failure: the input cannot be used.
    """
    rulesets = [load_rules(paths, settings) for paths in sets]
    loaded = [ruleset for ruleset in rulesets if ruleset is not None]
    if len(loaded) < len(rulesets):
        return UNUSABLE
    inputs = read_inputs(request, needs_pods=bool(request.pod), needs_nodes=True)
    scenario = _scenario(inputs, seed)
    summaries = [_run(ruleset, scenario) for ruleset in loaded]
    names = [" ".join(paths) for paths in sets]
    if output == "table":
        _print_table(names, summaries)
    else:
        runs = [{"rules": n, **s.as_data()} for n, s in zip(names, summaries, strict=True)]
        print_data({"nodesFrom": inputs.origin, "seed": seed, "runs": runs}, output)
    return 0 if all(summary.pending == 0 for summary in summaries) else 1


def _scenario(inputs: Inputs, seed: int) -> Scenario:
    """Let the pods that are on no node arrive at once; the others are on their nodes."""
    snapshot = inputs.snapshot
    given = {id(pod) for pod in snapshot.pods}
    waiting = [pod for pod in snapshot.pods if not pod.nodeName and not pod.is_finished]
    waiting += [pod for pod in inputs.pods if id(pod) not in given]
    return Scenario(
        start=snapshot.now,
        nodes=snapshot.nodes,
        namespaces=tuple(snapshot.namespaces.values()),
        bound=[pod for node in snapshot.nodes for pod in node.pods],
        arrivals=[Arrival(_known(pod, seed, at)) for at, pod in enumerate(waiting)],
    )


def _known(pod: Pod, seed: int, at: int) -> Pod:
    """Give a pod a uid of this simulation, by which ties between nodes are broken."""
    return msgspec.structs.replace(pod, uid=f"{seed}-{at:06d}-{pod.uid}", nodeName="")


def _run(ruleset: Ruleset, scenario: Scenario) -> Summary:
    pods = [arrival.pod for arrival in scenario.arrivals]
    with _progress(len(pods)) as progress:
        return summarise(simulate(ruleset, scenario, progress=progress), pods)


@contextmanager
def _progress(pods: int) -> Iterator[Callable[[int], None]]:
    """Show how many attempts were made, where there are many pods and somebody looks."""
    if pods < _MANY or not is_terminal("stderr"):
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - takes long, and is rarely needed
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415 - as above

    parts = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("placing", total=pods)
        yield lambda done: bar.update(task, completed=min(done, pods))


def _print_table(names: Sequence[str], summaries: Sequence[Summary]) -> None:
    rows = [_row("rule set", [s.ruleset for s in summaries])]
    rows.append(_row("placed", [f"{s.placed:,}" for s in summaries]))
    rows.append(_row("pending", [f"{s.pending:,}" for s in summaries]))
    for at, usage in enumerate(summaries[0].usage):
        if usage.allocatable <= 0:
            continue
        used = [s.usage[at] for s in summaries]
        rows.append(_row(f"{usage.resource} used", [f"{u.utilisation:.1%}" for u in used]))
        rows.append(
            _row(f"{usage.resource} free in fragments", [f"{u.fragmentation:.1%}" for u in used])
        )
    rows.append(_row("attempts", [f"{s.attempts:,}" for s in summaries]))
    rows.append(_row("decision p50", [f"{s.decision_p50 * 1000:.2f} ms" for s in summaries]))
    rows.append(_row("decision p99", [f"{s.decision_p99 * 1000:.2f} ms" for s in summaries]))
    heads = [Column(""), *(Column(name, is_number=True) for name in names)]
    colour = wants_colour("stdout")
    click.echo(draw(heads, rows, width=columns("stdout"), colour=colour), color=colour)
    for name, summary in zip(names, summaries, strict=True):
        _print_details(name, summary)


def _row(what: str, values: Sequence[str]) -> list[Cell]:
    return [Cell(what), *(Cell(value) for value in values)]


def _print_details(name: str, summary: Summary) -> None:
    """Print why pods wait, and where shadow rules disagree."""
    if summary.reasons:
        click.echo(f"\npending under {name}:")
    for reason, count in summary.reasons:
        click.echo(f"  {in_words(count, 'pod')}: {reason}")
    for rule, count in summary.shadow:
        click.echo(f"\nshadow rule {rule} would have changed {count:,} of the placements")
