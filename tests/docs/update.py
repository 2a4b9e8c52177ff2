"""Writes what commands and expressions really give into the pages: `python -m tests.docs.update`.

Only what differs is changed, so that every `…` that still fits stays. What is written is for people
to read before it is committed.
"""

import sys
import tempfile
from pathlib import Path

from scripts.example_values import ARROW, shown
from tests.docs.console import Command, matches, play
from tests.docs.pages import WITH_EXAMPLES, Page, read


def update(name: str) -> int:
    """Update a page and say how many examples have changed."""
    page = read(name)
    edits = [*_outputs(page), *_values(page)]
    lines = page.path.read_text(encoding="utf-8").split("\n")
    for start, end, new in sorted(edits, reverse=True):
        lines[start:end] = new
    page.path.write_text("\n".join(lines), encoding="utf-8")
    return len(edits)


Edit = tuple[int, int, list[str]]
"""The lines from one to another, and what is put in their place."""


def _outputs(page: Page) -> list[Edit]:
    with tempfile.TemporaryDirectory() as folder:
        played = list(play(page, Path(folder)))
    return [_output(command, printed) for command, printed in played if not _fits(command, printed)]


def _fits(command: Command, printed: tuple[str, ...]) -> bool:
    return matches(command.expected, printed)


def _output(command: Command, printed: tuple[str, ...]) -> Edit:
    start = command.line + command.text.count("\n")
    return start, start + len(command.expected), list(printed)


def _values(page: Page) -> list[Edit]:
    edits = []
    for block in page.blocks:
        if block.language != "cel":
            continue
        for at, line in enumerate(block.text.splitlines(), start=block.line - 1):
            head, _, value = line.rpartition(ARROW)
            if (is_ := shown(head.strip())) != value.strip():
                edits.append((at, at + 1, [f"{head}{ARROW}{is_}"]))
    return edits


if __name__ == "__main__":
    for page_name in sys.argv[1:] or WITH_EXAMPLES:
        print(f"{page_name}: {update(page_name)} changed")
