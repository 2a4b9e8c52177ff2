"""Reads the text of a file of rule tests, and finds the place of each thing in it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from policyd.language.suggest import closest
from policyd.model.documents import Source
from policyd.model.faults import ObjectError, decode_part
from policyd.model.places import Place, Problem
from policyd.model.yaml_reader import Step, YamlError, read_yaml
from policyd.ruletests.form import FileForm, fields_at

MAX_BYTES: Final = 1024 * 1024
"""The largest file of tests; larger clusters belong into files of their own."""

_FIELD: Final = re.compile(r"unknown field `([^`]*)`")


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
    try:
        return decode_part(msgspec.json.encode(documents[0]), FileForm)
    except ObjectError as error:
        raise UnusableError(_problem(text, error)) from None


def _problem(text: SuiteText, error: ObjectError) -> Problem:
    """Say where a file is not of its shape, and which field may be meant."""
    unknown = _FIELD.search(error.cause)
    if unknown is None:
        return Problem(text.place(error.path), error.cause, error.remedy)
    known = fields_at(error.path)
    near = closest(unknown[1], known)
    remedy = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
    place = text.place((*error.path, unknown[1]))
    return Problem(place, f"there is no field `{unknown[1]}` here", remedy)
