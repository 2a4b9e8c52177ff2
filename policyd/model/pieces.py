"""Cuts an input into pieces that can be read one by one, so that memory does not grow with it.

YAML is cut between documents, at lines that start with `---` (as kubectl does it, before any
parsing), and the list that `kubectl get -o yaml` prints between its items, at lines that start
with `- ` after a line `items:`. JSON is cut between the items of the list that
`kubectl get -o json` prints, by its indentation. What has another layout comes as one piece.

Cutting at lines cannot mistake text for structure unnoticed. In YAML nothing but an element of a
list at the outermost level can start with `- ` in the first column, except inside a quoted text;
then the piece ends inside a quote and cannot be read. In JSON a line's end is never inside a
text, and a cut between other things than items leaves brackets open.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import BinaryIO, Final, NamedTuple

BLOCK: Final = 4 * 1024 * 1024
"""How much is read at once, in bytes."""

Progress = Callable[[int, int], None]
"""Is told how many bytes are done, of how many."""


class Form(Enum):
    """What a piece is."""

    DOCUMENT = "document"  # of YAML
    ITEM = "item"  # one of a list, in YAML: a list of one
    FRAME = "frame"  # what is left of the list, in YAML or JSON, after its items came
    ITEMS = "items"  # some of a list, in JSON, with commas between
    WHOLE = "whole"  # an input that was not cut


class Piece(NamedTuple):
    """A part of an input: `line` is the line on which it starts, from 1.

    A frame has a `gap` of lines, after `gap_at` lines of its own, where the items were.
    """

    form: Form
    text: bytes
    line: int
    gap_at: int = 0
    gap: int = 0


def yaml_pieces(blocks: Iterable[bytes], *, lists: bool = True) -> Iterator[Piece]:
    """Cut YAML, and its `lists`; each block ends with a line's end, except perhaps the last."""
    splitter = _YamlSplitter(lists=lists)
    for block in blocks:
        yield from splitter.feed(block)
    yield from splitter.finish()


# What starts in the first column: a document, an element of a list, anything but a comment. The
# line's end before it makes the search much faster than `^` does.
_OUTERMOST: Final = re.compile(rb"\n(?:(---)(?=[ \t\r\n]|\Z)|(-)(?=[ \t\r\n]|\Z)|(?=[^ \t\r\n#]))")
_ITEMS_LINE: Final = re.compile(rb"items:[ \t]*(?:#[^\n]*)?\r?\n")


class _YamlSplitter:
    """Collects lines into the piece that they belong to."""

    def __init__(self, *, lists: bool) -> None:
        self.lists = lists
        self.parts: list[bytes] = []  # of the piece that is being collected
        self.line = 1  # of its start
        self.head: Piece | None = None  # of the list that is being cut
        self.in_items = False
        self.expects_items = False  # the last line in the first column was `items:`

    def feed(self, block: bytes) -> Iterator[Piece]:
        start = 0
        for found in _OUTERMOST.finditer(b"\n" + block):
            at = found.start()  # of the line in the block
            if found[1]:
                yield from self._end(block[start:at])
                self.head, self.in_items, self.expects_items = None, False, False
            elif found[2] and self.in_items:
                yield self._cut(block[start:at], Form.ITEM)
            elif found[2] and self.expects_items and self.head is None:
                self.head = self._cut(block[start:at], Form.FRAME)
                self.in_items, self.expects_items = True, False
            elif self.in_items:
                yield self._cut(block[start:at], Form.ITEM)
                self.in_items = False
            else:
                self.expects_items = self.lists and _ITEMS_LINE.match(block, at) is not None
                continue
            start = at
        self.parts.append(block[start:] if start else block)

    def finish(self) -> Iterator[Piece]:
        yield from self._end(b"")

    def _cut(self, rest: bytes, form: Form) -> Piece:
        text = b"".join((*self.parts, rest)) if self.parts else rest
        piece = Piece(form, text, self.line)
        self.parts = []
        self.line += text.count(b"\n")
        return piece

    def _end(self, rest: bytes) -> Iterator[Piece]:
        """Give what ends with the document."""
        if self.in_items:
            yield self._cut(rest, Form.ITEM)
            rest = b""
        head, line = self.head, self.line
        last = self._cut(rest, Form.DOCUMENT)
        if head is None:
            yield last
            return
        own = head.text.count(b"\n")
        yield Piece(Form.FRAME, head.text + last.text, head.line, own, line - head.line - own)


_JSON_HEAD: Final = re.compile(
    rb'\s*+\{\s*+(?:"[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+"|\{\s*+\}|null)\s*+,\s*+)*'
    rb'"items"\s*+:\s*+\[[ \t]*+(\r?\n)([ \t]++)\{\r?\n'
)
_LONGEST_HEAD: Final = 64 * 1024


def json_pieces(blocks: Iterable[bytes]) -> Iterator[Piece] | None:
    """Cut a list in JSON that is indented as kubectl does it; None where it is not."""
    rest = iter(blocks)
    first = next(rest, b"")
    found = _JSON_HEAD.match(first, 0, _LONGEST_HEAD)
    return None if found is None else _json_pieces(first, rest, found)


def _json_pieces(first: bytes, rest: Iterator[bytes], found: re.Match[bytes]) -> Iterator[Piece]:
    eol, indent = found[1], found[2]
    end = eol + indent + b"}"
    separator = end + b"," + eol + indent + b"{"
    head, buffer = first[: found.start(2)], first[found.start(2) :]
    line = head.count(b"\n") + 1
    own = line - 1
    for block in rest:
        buffer += block
        at = buffer.rfind(separator)
        if at < 0:
            continue
        yield Piece(Form.ITEMS, buffer[: at + len(end)], line)
        line += buffer.count(b"\n", 0, at + len(separator) - len(indent) - 1)
        buffer = buffer[at + len(separator) - len(indent) - 1 :]
    at = buffer.rfind(end + eol)
    items = buffer[: at + len(end)] if at >= 0 else b""
    yield Piece(Form.ITEMS, items, line)
    line += items.count(b"\n")
    yield Piece(Form.FRAME, head + buffer[len(items) :], 1, own, line - 1 - own)


def blocks(stream: BinaryIO, size: int, progress: Progress | None) -> Iterator[bytes]:
    """Read a stream of `size` bytes in blocks that end with a line's end."""
    done, parts = 0, list[bytes]()
    while block := stream.read(BLOCK):
        done += len(block)
        at = block.rfind(b"\n") + 1
        if at:
            yield b"".join((*parts, block[:at]))
            parts = [block[at:]] if at < len(block) else []
        else:
            parts.append(block)
        if progress is not None:
            progress(done, max(size, done))
    if parts:
        yield b"".join(parts)
