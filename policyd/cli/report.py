"""Prints diagnostics and counts them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import click

from policyd.cli.terminal import StreamName, columns, wants_colour
from policyd.language.diagnostics import Diagnostic, Severity
from policyd.language.errors import EvaluationError
from policyd.language.render import render
from policyd.language.source import Source


def print_diagnostics(found: Iterable[Diagnostic], stream: StreamName) -> None:
    """Print diagnostics, an empty line after each."""
    colour, width = wants_colour(stream), columns(stream)
    for diagnostic in found:
        text = render(diagnostic, colour=colour, width=width)
        click.echo(f"{text}\n", err=stream == "stderr", color=colour)


def count(found: Iterable[Diagnostic]) -> Counter[Severity]:
    """Count diagnostics by severity."""
    return Counter(diagnostic.severity for diagnostic in found)


def in_words(number: int, what: str) -> str:
    """Say how many there are: `1 rule`, `2 rules`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def counts_in_words(found: Sequence[Diagnostic]) -> str:
    """Say how many of each severity there are, the worst first."""
    counts = count(found)
    return ", ".join(
        in_words(counts[severity], severity.value) for severity in Severity if counts[severity]
    )


def of_error(error: EvaluationError, source: Source, *notes: str) -> Diagnostic:
    """Give an evaluation that has no value as a diagnostic."""
    code = "E402" if error.final else "E401"
    return Diagnostic(code, error.message, source, error.span, notes=notes)
