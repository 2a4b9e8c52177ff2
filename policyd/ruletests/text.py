"""Reads the text of a file of rule tests, and finds the place of each thing in it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from policyd.language.suggest import closest
from policyd.model.documents import Source
from policyd.model.places import Place, Problem
from policyd.model.yaml_reader import Step, YamlError, read_yaml
from policyd.ruletests.form import FileForm, example_of, fields_at

MAX_BYTES: Final = 1024 * 1024
"""The largest file of tests; larger clusters belong into files of their own."""

_AT: Final = " - at `$"
_STEP: Final = re.compile(r"\.(\w+)|\[([0-9]+)\]|(\[\.\.\.\])")
_MISSING: Final = re.compile(r"missing required field `([^`]*)`")
_UNKNOWN: Final = re.compile(r"unknown field `(.*)`$", re.DOTALL)
_TYPES: Final = re.compile(r"`(\w+(?: \| \w+)*)`")
_NAMES: Final = {"str": "string", "array": "list", "object": "map", "float": "double"}


class UnusableError(Exception):
    """A file of tests that cannot be run: everything that is wrong with it."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems[0].cause if problems else "")
        self.problems: Final = problems


@dataclass(frozen=True, slots=True)
class SuiteText:
    """The text of a file of tests, under the name by which messages call it."""

    name: str
    text: str

    def place(self, path: tuple[Step, ...] = ()) -> Place:
        """Give the place of what is at a path of keys and positions."""
        return self.source(()).place(Place(self.name), path)

    def source(self, path: tuple[Step, ...]) -> Source:
        """Give the text as that of the object at a path."""
        return Source(self.text, 1, 0, path)


def read_text(path: Path) -> SuiteText:
    """Read a file of tests.

    Raises:
        UnusableError: it cannot be read, is too large, or is no text.
        OSError: the operating system refuses.
    """
    name = str(path)
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        remedy = "put clusters into files of their own, and name them with `cluster: FILE`"
        raise UnusableError(Problem(Place(name), "this is more than 1 MiB of tests", remedy))
    try:
        return SuiteText(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        cause = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        problem = Problem(Place(name, line), cause, "save the file as UTF-8")
        raise UnusableError(problem) from None


def decode_text(text: SuiteText) -> FileForm:
    """Decode a file of tests.

    Raises:
        UnusableError: it is no YAML, or not of the shape of `FileForm`.
    """
    try:
        documents = [value for value, _ in read_yaml(text.text)]
    except YamlError as error:
        place = Place(text.name, error.line, error.column)
        raise UnusableError(Problem(place, error.cause, error.remedy)) from None
    if len(documents) != 1:
        cause = f"a file of tests is one document, and this has {len(documents)}"
        raise UnusableError(Problem(Place(text.name), cause, "begin with `tests:`"))
    fault = _fault(documents[0])
    if fault is not None:
        raise UnusableError(_problem(text, fault, _path(documents[0], fault)))
    return msgspec.convert(documents[0], FileForm)


# --- what is of another shape ---


def _fault(document: Any) -> str | None:
    """Give what the decoder says about a document, if anything."""
    try:
        msgspec.convert(document, FileForm)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _path(document: Any, fault: str) -> tuple[Step, ...]:
    """Give the path that a fault names, with the keys of maps, which the decoder writes `[...]`."""
    path: tuple[Step, ...] = ()
    for name, at, unknown in _STEP.findall(fault.partition(_AT)[2]):
        if unknown:
            key = _culprit(document, path, fault)
            if key is None:
                break
            path = (*path, key)
        else:
            path = (*path, int(at) if at else name)
    return path


def _culprit(document: Any, path: tuple[Step, ...], fault: str) -> Step | None:
    """Find the key in a map that is at fault: the one with which alone the fault is the same."""
    found = document
    for step in path:
        found = found[step]
    alone = ((key, _with(document, path, {key: found[key]})) for key in found)
    return next((key for key, made in alone if _fault(made) == fault), None)


def _with(document: Any, path: tuple[Step, ...], value: Any) -> Any:
    """Give a document with another value at a path."""
    if not path:
        return value
    step, *rest = path
    copy = document.copy()
    copy[step] = _with(document[step], tuple(rest), value)
    return copy


def _problem(text: SuiteText, fault: str, path: tuple[Step, ...]) -> Problem:
    """Say where a file is not of its shape, and what would be."""
    said = fault.partition(_AT)[0]
    if missing := _MISSING.search(said):
        cause = f"the field `{missing[1]}` is missing here"
        return Problem(text.place(path), cause, example_of((missing[1],)))
    if unknown := _UNKNOWN.search(said):
        known = fields_at(path)
        near = closest(unknown[1], known)
        remedy = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
        place = text.place((*path, unknown[1]))
        return Problem(place, f"there is no field `{unknown[1]}` here", remedy)
    cause = _TYPES.sub(_in_words, said)
    return Problem(text.place(path), cause[:1].lower() + cause[1:], example_of(path))


def _in_words(types: re.Match[str]) -> str:
    """Name the types of which a value is to be one, in the words of the language."""
    *others, last = [_NAMES.get(name, name) for name in types[1].split(" | ")]
    return f"{', '.join(others)} or {last}" if others else last
