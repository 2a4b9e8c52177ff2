"""Takes pages of Markdown apart: fenced blocks, headings and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.shared import ROOT

WITH_EXAMPLES: Final = (
    "README.md",
    *sorted(f"docs/{it.name}" for it in (ROOT / "docs").glob("*.md")),
)
"""The pages whose examples are run."""

ALL: Final = (
    *WITH_EXAMPLES,
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "charts/policyd/README.md",
    "requirements/README.md",
)
"""The pages whose links are followed."""

_FENCE: Final = re.compile(r"^ *(`{3,}|~{3,})(.*)$")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?) *#*$")
_LINK: Final = re.compile(r"(?<!\\)\[(?:[^\[\]]|\\.)+\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"(`+)(.+?)\1")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it is, what it is, and what stands above it.

    `line` is the number of its first line of text, from 1. `heading` is the nearest heading above
    it, and `lead` the last line of text above it.
    """

    page: str
    line: int
    language: str
    text: str
    attributes: dict[str, str] = field(default_factory=dict)
    heading: str = ""
    lead: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    """A page: its blocks, and the text between them, line by line with the numbers of the lines."""

    name: str
    blocks: tuple[Block, ...]
    prose: tuple[tuple[int, str], ...]

    @property
    def path(self) -> Path:
        """Where the page is."""
        return ROOT / self.name

    def headings(self) -> Iterator[str]:
        """Give the texts of the headings."""
        for _, line in self.prose:
            if found := _HEADING.match(line):
                yield found[1]

    def links(self) -> Iterator[tuple[int, str]]:
        """Give what the page links to, with the numbers of the lines; code holds no links."""
        for number, line in self.prose:
            for target in _LINK.findall(_CODE.sub("`code`", line)):
                yield number, target

    def code(self) -> Iterator[tuple[int, str]]:
        """Give what stands between backticks in the text, with the numbers of the lines."""
        for number, line in self.prose:
            for _, text in _CODE.findall(line):
                yield number, text


def read(name: str) -> Page:
    """Read a page of the repository.

    Raises:
        ValueError: a block has no end.
    """
    lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
    blocks: list[Block] = []
    prose: list[tuple[int, str]] = []
    heading = lead = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        fence = _FENCE.match(line)
        if fence is None:
            prose.append((at, line))
            heading = found[1] if (found := _HEADING.match(line)) else heading
            lead = line.strip() or lead
            continue
        end = _end(lines, at, fence[1], f"{name}:{at}")
        language, attributes = _info(fence[2])
        text = "".join(f"{each}\n" for each in lines[at:end])
        blocks.append(Block(name, at + 1, language, text, attributes, heading, lead))
        at = end + 1
    return Page(name, tuple(blocks), tuple(prose))


def _end(lines: list[str], start: int, fence: str, place: str) -> int:
    for at in range(start, len(lines)):
        if lines[at].strip() == fence:
            return at
    raise ValueError(f"{place}: this block has no end")


def _info(text: str) -> tuple[str, dict[str, str]]:
    """Take `expr title=first.expr` apart."""
    language, *rest = text.split() or [""]
    return language, dict(each.split("=", 1) for each in rest)


def anchor(heading: str) -> str:
    """Give the anchor that renderers of Markdown make of a heading."""
    plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return plain.strip().replace(" ", "-")
