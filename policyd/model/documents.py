"""Reads an input, YAML or JSON, into objects as JSON with the place of each.

An input of up to `SMALL` bytes is read whole, and every position in it is known. A larger one is
cut into pieces (`pieces`) that are read one by one, YAML by the fast reader where that is safe.
Both ways give the same objects; only the positions of some are coarser.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Final

import msgspec

from policyd.model.pieces import Form, Piece, Progress, blocks, json_pieces, yaml_pieces
from policyd.model.places import Place, Problem
from policyd.model.yaml_reader import (
    Marks,
    Step,
    UnknownAliasError,
    YamlError,
    locate,
    read_yaml,
)

SMALL: Final = 1024 * 1024
"""Up to how many bytes an input is read whole."""

_YAML_AFTER_JSON: Final = 16 * 1024 * 1024  # larger broken JSON is not tried as YAML
_BOM: Final = b"\xef\xbb\xbf"
_SHORT: Final = 200  # bytes; a piece of comments only is told by a look
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_TRAILING: Final = re.compile(r"trailing characters \(byte ([0-9]+)\)")
_BYTE: Final = re.compile(r" \(byte ([0-9]+)\)")
_BEFORE: Final = re.compile(rb"(?:(?:---)?[ \t]*(?:#[^\n]*)?\r?\n)*+")
_COMMENTS: Final = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)|(?:%[^\n]*|---[ \t]*\r?)(?:\n|\Z))*+\Z"
)


class NotCuttableError(Exception):
    """A piece cannot be read without the others: the input has to be read whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text that an object was read from, kept to find places in it.

    `line` is the line of the input on which `text` starts, `document` the position of the
    document in `text`, and `path` the way to the object in the document.
    """

    text: str
    line: int
    document: int
    path: tuple[Step, ...] = ()

    def place(self, start: Place, path: tuple[Step, ...]) -> Place:
        """Give the place of what is at `path` in the object that starts at `start`."""
        try:
            line, column = locate(self.text, self.path + path, self.document)
        except YamlError:  # JSON with escapes that YAML does not have
            return start
        return Place(start.file, self.line - 1 + line, column, start.item)


@dataclass(frozen=True, slots=True)
class Value:
    """An object as JSON.

    The elements of a list that was cut come before what is left of it, their `Form.FRAME`.
    `elements` are the places of the elements of `items`, where they are known.
    """

    json: bytes
    place: Place
    form: Form
    source: Source | None = None
    elements: tuple[Place, ...] = ()


Values = Iterator[Value | Problem]


def read_values(
    stream: BinaryIO, name: str, size: int, progress: Progress | None, *, whole: bool
) -> Values:
    """Give the objects of a stream of `size` bytes in order, and what cannot be read.

    `whole` says not to cut; without it, a second try may be needed.

    Raises:
        NotCuttableError: try again with `whole`. The values so far do not count.
    """
    parts = blocks(stream, size, progress)
    if whole or size <= SMALL:
        return _WholeReader(name).values(b"".join(parts))
    first = next(parts, b"")
    if first.removeprefix(_BOM).lstrip()[:1] in (b"{", b"["):
        return _json_list(json_pieces(chain([first], parts)), name)
    return _YamlReader(name).values(yaml_pieces(chain([first], parts)))


class _YamlReader:
    """Reads pieces of YAML of one input, the fast way where it can."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.element = 0  # the position of the next element of a list that was cut

    def values(self, pieces: Iterator[Piece]) -> Values:
        from policyd.model.yaml_fast import fast_json  # noqa: PLC0415 - large inputs only, 10 ms

        for piece in pieces:
            if len(piece.text) < _SHORT and _COMMENTS.match(piece.text):
                continue
            encoded = fast_json(piece.text)
            if encoded is None:
                yield from self.careful(piece)
            elif piece.form is Form.ITEM:
                yield self._element(piece, msgspec.json.decode(encoded, type=list[msgspec.Raw]))
            elif encoded != b"null":
                yield Value(encoded, Place(self.name, _first_line(piece)), piece.form)

    def careful(self, piece: Piece) -> Values:
        """Read a piece with every position known."""
        try:
            text = piece.text.decode()
        except UnicodeDecodeError as error:
            yield _not_utf8(error, piece.text, self.name, piece.line)
            return
        if _COMMENTS.match(piece.text):
            return  # and directives of the document that follows, which libyaml wants together
        try:
            for at, (value, marks) in enumerate(read_yaml(text)):
                if piece.form is Form.ITEM:
                    yield self._element(piece, value)
                elif value is not None:
                    yield self._document(piece, text, at, value, marks)
        except UnknownAliasError as error:
            if piece.form is Form.ITEM:
                raise NotCuttableError from None
            yield self._problem(error, piece)
        except YamlError as error:
            yield self._problem(error, piece)

    def _document(self, piece: Piece, text: str, at: int, value: Any, marks: Marks) -> Value:
        before = piece.line - 1
        elements = tuple(
            Place(self.name, before + line, column, f"items[{path[1]}]")
            for path, (line, column) in marks.items()
            if len(path) == 2 and path[0] == "items" and isinstance(path[1], int)
        )
        line, column = marks[()]
        place = Place(self.name, before + line, column)
        source = Source(text, piece.line, at) if len(text) <= SMALL else None
        return Value(msgspec.json.encode(value), place, piece.form, source, elements)

    def _element(self, piece: Piece, value: Any) -> Value | Problem:
        place = Place(self.name, piece.line, 1, f"items[{self.element}]")
        self.element += 1
        if isinstance(value, list) and len(value) == 1:
            element = value[0]
            raw = isinstance(element, msgspec.Raw)
            return Value(bytes(element) if raw else msgspec.json.encode(element), place, piece.form)
        return Problem(place, "expected one element of the list here", "check the indentation")

    def _problem(self, error: YamlError, piece: Piece) -> Problem:
        line = piece.line - 1 + error.line
        if piece.form is Form.FRAME and error.line > piece.gap_at:
            line += piece.gap
        return Problem(Place(self.name, line, error.column), error.cause, error.remedy)


def _first_line(piece: Piece) -> int:
    """Give the line on which a document starts, after its mark and comments."""
    found = _BEFORE.match(piece.text)
    return piece.line + (found[0].count(b"\n") if found else 0)


def _json_list(pieces: Iterator[Piece] | None, name: str) -> Values:
    """Read the pieces of a list in JSON."""
    if pieces is None:
        raise NotCuttableError
    element = 0
    for piece in pieces:
        try:
            raws = _check_json(piece)
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
            raise NotCuttableError from None
        if piece.form is Form.FRAME:
            yield Value(piece.text, Place(name, piece.line), piece.form)
        line = piece.line
        for raw in raws:
            data = bytes(raw)
            yield Value(data, Place(name, line, 1, f"items[{element}]"), Form.ITEM)
            line += data.count(b"\n") + 1
            element += 1


def _check_json(piece: Piece) -> list[msgspec.Raw]:
    """Check a piece of a list, and give the elements in it."""
    if not piece.text.isascii():
        piece.text.decode()
    if piece.form is Form.FRAME:
        msgspec.json.decode(piece.text)
        return []
    return msgspec.json.decode(b"[" + piece.text + b"]", type=list[msgspec.Raw])


class _JsonError(Exception):
    """Text that is not JSON: what is wrong, at which byte."""

    def __init__(self, cause: str, at: int) -> None:
        super().__init__(cause)
        self.cause: Final = cause
        self.at: Final = at


class _WholeReader:
    """Reads an input that was not cut."""

    def __init__(self, name: str) -> None:
        self.name = name

    def values(self, data: bytes) -> Values:
        data = data.removeprefix(_BOM)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[1:2] == b"\0" or data[:1] == b"\0":
            remedy = "save it as UTF-8 (in PowerShell: `Out-File -Encoding utf8`)"
            yield Problem(Place(self.name), "the text is UTF-16 or binary, not UTF-8", remedy)
            return
        # An error in one document leaves the others. In JSON no line starts with `---`.
        reader = _YamlReader(self.name)
        for piece in yaml_pieces((data,), lists=False):
            start = _end_of_space(piece.text, 3 if piece.text.startswith(b"---") else 0)
            if piece.text[start : start + 1] in (b"{", b"["):
                yield from self._json(piece, start, reader)
            else:
                yield from reader.careful(piece)

    def _json(self, piece: Piece, start: int, yaml: _YamlReader) -> Values:
        """Read JSON values that follow each other, or YAML in flow style, which starts alike."""
        data, at = piece.text, 0
        line, before = piece.line, -1  # the last line's end before the value
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError as error:
                yield _not_utf8(error, data, self.name, piece.line)
                return
        first = True
        while start < len(data):
            try:
                end = _json_end(data, start)
            except _JsonError as error:
                problem = self._problem(error, piece)
                yield from self._as_yaml(piece, problem, yaml) if first else (problem,)
                return
            line += data.count(b"\n", at, start)
            before = max(before, data.rfind(b"\n", at, start))
            source = Source(data[start:end].decode(), line, 0) if len(data) <= SMALL else None
            yield Value(data[start:end], Place(self.name, line, start - before), Form.WHOLE, source)
            at, start, first = start, _end_of_space(data, end), False

    def _as_yaml(self, piece: Piece, problem: Problem, yaml: _YamlReader) -> Values:
        """Read as YAML what is not JSON; where that fails too, give the error of what was meant."""
        if len(piece.text) > _YAML_AFTER_JSON:
            yield problem
            return
        values = list(yaml.careful(piece))
        failed = any(isinstance(value, Problem) for value in values)
        yield from (problem,) if failed and _is_like_json(piece.text) else values

    def _problem(self, error: _JsonError, piece: Piece) -> Problem:
        before = piece.text[: error.at]
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        place = Place(self.name, before.count(b"\n") + piece.line, column)
        return Problem(place, error.cause, "check the text just before this place")


def _end_of_space(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _json_end(data: bytes, start: int) -> int:
    """Give the end of the JSON value that starts at `start`."""
    try:
        msgspec.json.decode(memoryview(data)[start:], type=msgspec.Raw)
    except msgspec.DecodeError as error:
        if trailing := _TRAILING.search(str(error)):
            return start + int(trailing[1]) - 1  # msgspec counts the first one as read
        byte = _BYTE.search(str(error))
        at = start + int(byte[1]) if byte else len(data)
        cause = _BYTE.sub("", str(error)) if byte else "the JSON ends before it is complete"
        raise _JsonError(cause, at) from None
    except RecursionError:
        raise _JsonError("JSON is nested too deeply", start) from None
    return len(data)


def _is_like_json(data: bytes) -> bool:
    """Say whether what starts with a bracket is meant as JSON rather than as YAML."""
    start = _end_of_space(data, 3 if data.startswith(b"---") else 0)
    inner = _end_of_space(data, start + 1)
    return data[start : start + 1] == b"[" or data[inner : inner + 1] in (b'"', b"}")


def _not_utf8(error: UnicodeDecodeError, data: bytes, name: str, line: int) -> Problem:
    before = data[: error.start]
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    place = Place(name, line + before.count(b"\n"), column)
    cause = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    return Problem(place, cause, "save the file as UTF-8")
