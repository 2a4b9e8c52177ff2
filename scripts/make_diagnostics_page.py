"""Writes docs/diagnostics.md from the table of codes; with `--check`, says whether it is stale."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from policyd.language.codes import CODES, Code, wrapped

PAGE: Final = Path(__file__).parent.parent / "docs" / "diagnostics.md"

_INTRODUCTION: Final = """\
# Diagnostics

What `policyd check` and `policyd eval` report, by code. Errors (`E`) refuse a rule set, warnings
(`W`) do not, notes (`N`) are shown when asked for. `policyd check --explain CODE` prints the same
on a terminal.

This page is generated from `policyd/language/codes.py`.
"""

_GROUPS: Final = {
    "E10": "Syntax",
    "E11": "Blocks and clauses",
    "E20": "Names and types",
    "E21": "Names and types",
    "E30": "Limits",
    "E40": "Evaluation",
    "W50": "Warnings",
    "N60": "Notes",
}


def page() -> str:
    """Give the page: all codes under the headings of their groups."""
    parts = [_INTRODUCTION]
    heading = ""
    for name, code in CODES.items():
        if _GROUPS[name[:3]] != heading:
            heading = _GROUPS[name[:3]]
            parts.append(f"## {heading}\n")
        parts.extend(_section(name, code))
    return "\n".join(parts)


def _section(name: str, code: Code) -> Iterator[str]:
    yield f"### {name}: {code.title}\n"
    yield "\n".join(wrapped(code.meaning, 100)) + "\n"
    if code.example:
        yield f"```expr\n{code.example}```\n"
    if code.instead:
        yield f"Instead:\n\n```expr\n{code.instead}```\n"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; 1 where it is stale."""
    text = page()
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE} is stale: run {Path(__file__).name}", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
