"""Prints what the benchmarks measured as the tables of docs/performance.md."""

from collections.abc import Iterable

import pytest

UNITS = {"evaluation": ("ns per evaluation", 1e9), "text": ("µs per KiB", 1e6)}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print a Markdown table for each kind of measurement: the median, divided by its number."""
    session = getattr(config, "_benchmarksession", None)
    measured = [b for b in getattr(session, "benchmarks", ()) if "table" in b.extra_info]
    for table, (unit, scale) in UNITS.items():
        rows = [b for b in measured if b.extra_info["table"] == table]
        if rows:
            terminalreporter.section(f"{table}: {unit}, median")
            for line in markdown(rows, scale):
                terminalreporter.line(line)


def markdown(measured: Iterable, scale: float) -> list[str]:
    """Arrange measurements by row and column."""
    cells: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for benchmark in measured:
        info = benchmark.extra_info
        if info["column"] not in columns:
            columns.append(info["column"])
        value = benchmark.stats.median / info["per"] * scale
        cells.setdefault(info["row"], {})[info["column"]] = f"{value:,.0f}"
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    lines += [
        f"| {row} | {' | '.join(values.get(c, '') for c in columns)} |"
        for row, values in cells.items()
    ]
    return lines
