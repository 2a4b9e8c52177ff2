"""Runs the commands of a `console` block and compares what they print.

A line that begins with `$ ` is a command, one that ends with `\\` goes on in the next line, and
what follows up to the next command is the expected output, without empty lines at its end. A line
`…` stands for any lines, a `…` within a line for any text. Commands run in one folder for each
page, by `sh`, and print what a terminal without colours would show; `$?` is the status of the
command before.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Final

from tests.docs.pages import Block, Page
from tests.shared import ROOT

PROMPT: Final = "$ "
ANYTHING: Final = "…"
SECONDS: Final = 60
"""How long one command may take."""

_KEPT: Final = ("HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Command:
    """A command, and what it is to print. `line` is that of the command, from 1."""

    page: str
    line: int
    text: str
    expected: tuple[str, ...]

    def difference(self, printed: Sequence[str]) -> str:
        """Say how what was printed differs, or nothing."""
        if matches(self.expected, printed):
            return ""
        lines = unified_diff(self.expected, printed, "on the page", "printed", lineterm="", n=99)
        return "\n".join([f"{self.page}:{self.line}: $ {self.text}", *lines])


def commands(block: Block) -> Iterator[Command]:
    """Give the commands of a block.

    Raises:
        ValueError: the block does not begin with a command.
    """
    lines = block.text.rstrip("\n").split("\n")
    if not lines[0].startswith(PROMPT):
        raise ValueError(f"{block}: a console block begins with a command, `$ …`")
    starts = [at for at, line in enumerate(lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        text = "\n".join(lines[start : last + 1]).removeprefix(PROMPT)
        expected = [line.rstrip() for line in lines[last + 1 : end]]
        while expected and not expected[-1]:
            expected.pop()
        yield Command(block.page, block.line + start, text, tuple(expected))


def matches(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Say whether lines are the expected ones, where `…` stands for anything."""
    if not expected:
        return not printed
    first, rest = expected[0], expected[1:]
    if first.strip() == ANYTHING:
        return any(matches(rest, printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and _fits(first, printed[0]) and matches(rest, printed[1:])


def _fits(expected: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.split(ANYTHING)))
    return re.fullmatch(pattern, printed) is not None


class Shell:
    """What one page does: the files that it writes, and the commands that it runs among them."""

    def __init__(self, folder: Path) -> None:
        self._work = folder / "work"
        self._bin = folder / "bin"
        self._status = 0
        for name in ("rules", "examples"):
            shutil.copytree(ROOT / name, self._work / name)
        self._bin.mkdir()
        shim = self._bin / "policyd"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m policyd "$@"\n', encoding="utf-8")
        shim.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Write a file, as the reader of the page does."""
        path = self._work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, command: str) -> tuple[str, ...]:
        """Run a command and give the lines that it prints, without empty ones at the end."""
        done = subprocess.run(
            ["/bin/sh", "-c", f"(exit {self._status})\n{command}"],
            cwd=self._work,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=SECONDS,
        )
        self._status = done.returncode
        return tuple(line.rstrip() for line in done.stdout.rstrip("\n").splitlines())

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        kept |= {name: text for name, text in os.environ.items() if name.startswith("COVERAGE")}
        path = os.pathsep.join([str(self._bin), os.environ.get("PATH", os.defpath)])
        return {**kept, "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}


def play(page: Page, folder: Path) -> Iterator[tuple[Command, tuple[str, ...]]]:
    """Write the files and run the commands of a page in its order; give what each prints."""
    shell = Shell(folder)
    for block in page.blocks:
        if "title" in block.attributes:
            shell.write(block.attributes["title"], block.text)
        if block.language == "console":
            for command in commands(block):
                yield command, shell.run(command.text)
