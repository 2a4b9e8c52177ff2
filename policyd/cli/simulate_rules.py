"""Runs a simulation for each rule set that is given, and prints what they came to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from policyd.cli.eval_rules import load_rules
from policyd.cli.failure import UNUSABLE
from policyd.cli.output import print_data
from policyd.cli.request import Request, Simulated
from policyd.cli.simulate_plot import Plot
from policyd.cli.simulate_records import Recorder, recording
from policyd.cli.simulate_scenario import prepare
from policyd.cli.simulate_table import print_summaries
from policyd.cli.terminal import is_terminal
from policyd.language.cells import visible
from policyd.policy.ruleset import Ruleset
from policyd.simulation.run import Scenario, simulate
from policyd.simulation.summary import Summary, summarise

_MANY: Final = 200
"""From how many pods on a simulation takes long enough to show that something happens."""


def simulate_rules(
    sets: Sequence[Sequence[str]],
    settings: Mapping[str, str],
    request: Request,
    simulated: Simulated,
    output: str,
) -> int:
    """Simulate each rule set on the same input, print the summaries, give the exit status.

    Raises:
        Failure: the input cannot be used, or the plot or the records cannot be written.
    """
    plot = None if simulated.plot is None else Plot(simulated.plot)
    rulesets = [load_rules(paths, settings) for paths in sets]
    loaded = [ruleset for ruleset in rulesets if ruleset is not None]
    if len(loaded) < len(rulesets):
        return UNUSABLE
    prepared = prepare(request, simulated)
    names = [" ".join(paths) for paths in sets]
    summaries: list[Summary] = []
    for name, ruleset in zip(names, loaded, strict=True):
        with recording(None if summaries else simulated.record) as recorder:
            summaries.append(_run(name, ruleset, prepared.scenario, recorder))
    if output == "table":
        print_summaries(names, summaries)
    else:
        runs = [{"rules": n, **s.as_data()} for n, s in zip(names, summaries, strict=True)]
        data = {"nodesFrom": prepared.origin, "seed": simulated.seed, "runs": runs}
        print_data(data, output)
    if plot is not None:
        plot.draw(names, [summary.curve for summary in summaries])
    return 0 if all(not s.pending and not s.dropped for s in summaries) else 1


def _run(name: str, ruleset: Ruleset, scenario: Scenario, recorder: Recorder | None) -> Summary:
    pods = [arrival.pod for arrival in scenario.arrivals]
    with _progress(name, len(pods)) as progress:
        outcome = simulate(ruleset, scenario, progress=progress, observer=recorder)
        return summarise(outcome, pods)


@contextmanager
def _progress(name: str, pods: int) -> Iterator[Callable[[int], None]]:
    """Show how many attempts were made, where there are many pods and somebody looks."""
    if pods < _MANY or not is_terminal("stderr"):
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - takes long, and is rarely needed
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    text = TextColumn("{task.description}", markup=False)  # which a file's name may hold
    parts = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"placing by {visible(name)}", total=pods)
        yield lambda done: bar.update(task, completed=min(done, pods))
