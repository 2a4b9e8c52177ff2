"""Prints what the readers of manifests have to say: problems, and notes, which are summed up."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import click

from policyd.cli.failure import Failure
from policyd.cli.terminal import painted, wants_colour
from policyd.language.cells import visible
from policyd.model.places import Note, Problem

_NOTES_EACH: Final = 3
"""Up to how many notes of one kind and reason are shown one by one."""

_MOST_PROBLEMS: Final = 20


def print_note(text: str) -> None:
    """Print a line on standard error that is good to know."""
    colour = wants_colour("stderr")
    click.echo(f"{painted('note', 'cyan', colour=colour)}: {visible(text)}", err=True, color=colour)


def print_notes(notes: Sequence[Note]) -> None:
    """Print notes; many of the same kind, file and reason become one line."""
    ordered = sorted(notes, key=_likeness)  # stable: those that are alike keep their order
    for _, alike in groupby(ordered, key=_likeness):
        _print_alike(list(alike))


def refuse(problems: Sequence[Problem]) -> None:
    """End the command where something could not be read.

    Raises:
        Failure: with the last problem; those before it are printed.
    """
    if not problems:
        return
    failures = [_failure(problem) for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        more = len(problems) - _MOST_PROBLEMS
        failures.append(Failure(f"there are {more:,} more problems like these"))
    for failure in failures[:-1]:
        failure.show()
    raise failures[-1]


def _failure(problem: Problem) -> Failure:
    place = str(problem.place)
    if problem.place.item:
        place += f" ({problem.place.item})"
    return Failure(problem.cause, place, problem.remedy)


def _likeness(note: Note) -> tuple[str, str, str]:
    return note.place.file, note.kind, note.reason


def _print_alike(notes: Sequence[Note]) -> None:
    if len(notes) <= _NOTES_EACH:
        for note in notes:
            print_note(f"{note.place}: {note.kind} {_named(note)}{note.reason}")
        return
    first = notes[0]
    print_note(
        f"{first.place.file}: {len(notes):,} objects of kind {first.kind}: {first.reason} "
        f"(the first is {first.name or 'nameless'}, line {first.place.line})"
    )


def _named(note: Note) -> str:
    return f"{note.name}: " if note.name else "without a name: "


def names(all_names: Iterable[str], most: int = 8) -> str:
    """List names, and say how many are left out where there are many."""
    listed = list(all_names)
    shown = ", ".join(listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most:,} more"
