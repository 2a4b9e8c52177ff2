"""Writes a generated page of the documentation, or says whether it is stale."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"


def publish(name: str, text: str, arguments: Sequence[str]) -> int:
    """Write `docs/NAME`, or with `--check` compare it; give the exit status, 1 for a stale page."""
    page = DOCS / name
    if list(arguments) != ["--check"]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
    return 1


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table in Markdown; `|` in cells is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def fenced(language: str, text: str) -> str:
    """Give a fenced block."""
    return f"```{language}\n{text}\n```\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
