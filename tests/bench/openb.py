"""Repeats the published OpenB experiment: the rules that ship, in the loop of the simulation.

    python -m tests.bench.openb [--traces default cpu250] [--policies fgd] [--seeds 10]

Each run is one policy on one trace with one seed. Runs are done in two processes and written to a
file as they end, so that what was interrupted goes on where it was. Printed is the mean of the
allocation at each of the published arrivals, beside the published mean, which is read from the
reference data's own page.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

from policyd.language.source import Source
from policyd.policy.load import load
from policyd.policy.ruleset import Ruleset
from policyd.simulation.openb import GPU, Trace, experiment
from policyd.simulation.openb_files import published, read_trace
from policyd.simulation.run import Scenario, simulate
from policyd.values.times import Timestamp
from tests.shared import ABSENT, ROOT, shared_file

TRACES = ("default", "gpushare100", "multigpu50", "cpu250", "gpuspec33")
POLICIES = ("random", "dotprod", "gpupacking", "bestfit", "fgd")
ARRIVALS = (80, 90, 100, 110, 130)
FIRST_SEED = 42
RATIO = 1.3
START = Timestamp(0)


@dataclass(frozen=True)
class Run:
    """One policy on one trace with one seed."""

    trace: str
    policy: str
    seed: int


@dataclass(frozen=True)
class Result:
    """What a run came to: the allocation in per cent at each of `ARRIVALS`, and its CPU seconds."""

    trace: str
    policy: str
    seed: int
    allocated: dict[str, float]
    seconds: float
    placed: int
    dropped: int
    ruleset: str


def do(run: Run) -> Result:
    """Do a run."""
    trace = _trace(run.trace)
    ruleset = _ruleset(run.policy)
    drawn = experiment(trace, RATIO, run.seed, START)
    scenario = Scenario(
        START,
        drawn.nodes,
        arrivals=drawn.arrivals,
        workload=trace.workload(START),
        drops=True,
        resource=GPU,
    )
    started = time.process_time()
    outcome = simulate(ruleset, scenario)
    seconds = time.process_time() - started
    found = {str(mark): outcome.curve.at(mark / 100) for mark in ARRIVALS}
    allocated = {mark: round(100 * part, 4) for mark, part in found.items() if part is not None}
    return Result(
        *(run.trace, run.policy, run.seed, allocated, round(seconds, 2)),
        *(len(outcome.placements), len(outcome.dropped), ruleset.hash),
    )


def _trace(name: str) -> Trace:
    nodes, pods = published(shared_file("data", "openb"), name)
    return read_trace([nodes], [pods])


def _ruleset(policy: str) -> Ruleset:
    path = ROOT / "rules" / "openb" / policy / f"{policy}.expr"
    return load([Source(path.name, path.read_text(encoding="utf-8"))], {})


def published_means() -> dict[tuple[str, str], dict[str, float]]:
    """Read the published means of each trace and policy from the reference data's page."""
    text = shared_file("data", "openb", "README.md").read_text(encoding="utf-8")
    means: dict[tuple[str, str], dict[str, float]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 7 and re.fullmatch(r"[0-9.]+", cells[2]):
            values = dict(zip(map(str, ARRIVALS), map(float, cells[2:]), strict=True))
            means[cells[0], cells[1].lower()] = values
    return means


def done(path: Path, hashes: dict[str, str]) -> dict[Run, Result]:
    """Give the results in a file that are of the present rules."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {Run(r.trace, r.policy, r.seed): r for r in results if hashes[r.policy] == r.ruleset}


def table(results: Iterable[Result], traces: Iterable[str], policies: list[str]) -> Iterator[str]:
    """Give the lines of the table: ours, and how far from the published mean."""
    means = published_means()
    heads = [f"{mark} %" for mark in ARRIVALS]
    yield f"| trace | policy | runs | {' | '.join(heads)} | CPU s a run |"
    yield "| --- | --- | --- |" + " --- |" * (len(ARRIVALS) + 1)
    found = list(results)
    for trace in traces:
        for policy in policies:
            runs = [r for r in found if (r.trace, r.policy) == (trace, policy)]
            if runs:
                cells = [_cell(runs, str(mark), means.get((trace, policy))) for mark in ARRIVALS]
                seconds = f"{mean(r.seconds for r in runs):.1f}"
                yield f"| {trace} | {policy} | {len(runs)} | {' | '.join(cells)} | {seconds} |"


def _cell(runs: list[Result], mark: str, means: dict[str, float] | None) -> str:
    ours = mean(r.allocated[mark] for r in runs)
    return f"{ours:.2f}" if means is None else f"{ours:.2f} ({ours - means[mark]:+.2f})"


def main() -> int:
    """Do the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", nargs="+", choices=TRACES, default=TRACES)
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("build/openb.jsonl"))
    given = parser.parse_args()
    if ABSENT:
        print(ABSENT, file=sys.stderr)
        return 2
    known = done(given.results, {policy: _ruleset(policy).hash for policy in POLICIES})
    wanted = [
        Run(trace, policy, FIRST_SEED + at)
        for at in range(given.seeds)
        for policy in given.policies
        for trace in given.traces
    ]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    missing = [run for run in wanted if run not in known]
    with (
        given.results.open("a", encoding="utf-8") as file,
        get_context("spawn").Pool(given.processes) as pool,
    ):
        for result in pool.imap_unordered(do, missing):
            known[Run(result.trace, result.policy, result.seed)] = result
            print(json.dumps(asdict(result)), file=file, flush=True)
            print(f"{result.trace} {result.policy} {result.seed}: {result.seconds} s", flush=True)
    chosen = [known[run] for run in wanted]
    print("\n".join(table(chosen, given.traces, list(given.policies))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
