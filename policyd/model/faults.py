"""Turns what the decoders say about a wrong object into one error with a path."""

import re
from typing import Any, Final, TypeVar

import msgspec

from policyd.model.decode import DecodeError, decode
from policyd.model.requests import AmountError
from policyd.model.yaml_reader import Step

T = TypeVar("T")

_KIND_NAMES: Final = {
    "str": "string",
    "array": "list",
    "object": "map",
    "float": "double",
}
_WORD: Final = re.compile(r"`(\w+)(?: \| null)?`")
_STEP: Final = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]{1,9})\]|\[\"([^\"\\]*)\"\]")
_QUOTING: Final = "put it in quotes if it is meant as text"


class ObjectError(Exception):
    """An object that the API server would refuse: what is wrong, and where in the object."""

    def __init__(self, cause: str, path: tuple[Step, ...] = ()) -> None:
        super().__init__(cause)
        self.cause: Final = cause
        self.path: Final = path

    @property
    def remedy(self) -> str:
        """Say what to do about it, where that is clear."""
        wanted, _, got = self.cause.partition(", got ")
        scalar = got.startswith(("int", "double", "bool"))
        return _QUOTING if scalar and wanted.endswith("expected string") else ""


def decode_part(data: bytes, part: type[T]) -> T:
    """Decode the declared parts of an object.

    Raises:
        ObjectError: a part is not of its type, or the JSON is wrong.
    """
    try:
        return msgspec.json.decode(data, type=part)
    except msgspec.ValidationError as error:
        cause, _, place = str(error).partition(" - at ")
        path = steps(place.strip("`").removeprefix("$"))
        raise ObjectError(_plain(cause), path) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError(str(error)) from None


def decode_whole(data: bytes, kind: str) -> dict[str, Any]:
    """Decode an object completely, by the API's schema.

    Raises:
        ObjectError: something in it is not of its type.
    """
    raw = decode_part(data, dict)
    try:
        return decode(kind, raw)
    except DecodeError as error:
        raise ObjectError(error.problem, steps(error.path)) from None


def of_amount(error: AmountError) -> ObjectError:
    """Give an error of request arithmetic as one of the object."""
    return ObjectError(error.cause, error.path)


def steps(text: str) -> tuple[Step, ...]:
    """Read a path such as `spec.containers[0].name`, as far as it can be followed."""
    found: list[Step] = []
    at = 0
    while step := _STEP.match(text, at):
        found.append(int(step[2]) if step[2] else step[1] or step[3])
        at = step.end()
    return tuple(found)


def path_text(path: tuple[Step, ...]) -> str:
    """Write a path as `steps` reads it."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _plain(cause: str) -> str:
    """Say it in the words of the language: "expected string, got int"."""
    words = _WORD.sub(lambda found: _KIND_NAMES.get(found[1], found[1]), cause)
    return words[:1].lower() + words[1:]
