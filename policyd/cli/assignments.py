"""Reads options of the form `name=value`: parameters' settings, and values bound to names."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from policyd.cli.failure import Failure
from policyd.language.limits import MAX_DEPTH
from policyd.language.types import BOOL, DOUBLE, DYN, INT, NULL, STRING, Type, list_of, map_of

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset({"true", "false", "null", "in"})
_INT_BITS: Final = 63
_SHOWN: Final = 60
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Bound:
    """A value that is bound to a name, and its type."""

    type: Type
    value: Any


def read_settings(texts: Sequence[str]) -> Mapping[str, str]:
    """Read the `name=value` of each `--set`.

    Raises:
        Failure: one has no `=` or no name, or a name is set twice.
    """
    settings: dict[str, str] = {}
    for text in texts:
        name, value = _split(read_text(text, "--set"), "--set", "--set reserve=0.2")
        if name in settings:
            raise Failure(f"`{name}` is set twice", "--set", "keep one of them")
        settings[name] = value
    return settings


def read_bindings(texts: Sequence[str]) -> Mapping[str, Bound]:
    """Read the `name=JSON` of each `--bind`.

    Raises:
        Failure: one is not of that form, a name is bound twice or is no name, or the JSON is none.
    """
    bindings: dict[str, Bound] = {}
    for text in texts:
        name, value = _split(text, "--bind", "--bind replicas=3")
        if not _NAME.fullmatch(name) or name in _RESERVED:
            remedy = "use letters, digits and `_`, such as `--bind max_pods=3`"
            raise Failure(f"an expression has no names like `{name}`", "--bind", remedy)
        if name in bindings:
            raise Failure(f"`{name}` is bound twice", "--bind", "keep one of them")
        bindings[name] = _bound(name, value)
    return bindings


def read_text(text: str, option: str) -> str:
    """Give an argument that is text; the shell can pass any bytes.

    Raises:
        Failure: it is not in the encoding of the system.
    """
    if not _is_text(text):
        raise Failure("this is not text in the system's encoding", option, "write it in UTF-8")
    return text


def read_namespace(name: str | None) -> str | None:
    """Check the name of a namespace, where one is given.

    Raises:
        Failure: Kubernetes has no such names.
    """
    if name is not None and not _NAMESPACE.fullmatch(name):
        remedy = "use at most 63 small letters, digits and hyphens"
        raise Failure(f"a namespace cannot be called `{name[:_SHOWN]}`", "--namespace", remedy)
    return name


def _split(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise Failure(f"`{text}` is not `name=value`", option, f"write it as in `{example}`")
    return name.strip(), value


def _bound(name: str, text: str) -> Bound:
    place = f"--bind {name}"
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Failure(*_json_fault(text, error, place)) from None
    except RecursionError:
        raise Failure(
            "it is nested too deeply", place, f"nest at most {MAX_DEPTH} levels"
        ) from None
    except ValueError as error:  # NaN, or more digits than Python reads
        raise Failure(f"this is no JSON: {error}", place, "write a number of JSON") from None
    _refuse_unfit(value, place)
    return Bound(_type_of(value), value)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"`{text}` is not part of JSON")


def _json_fault(text: str, error: json.JSONDecodeError, place: str) -> tuple[str, str, str]:
    what = error.msg[:1].lower() + error.msg[1:]
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    remedy = "a text needs its own quotes inside the shell's, as in `--bind 'zone=\"eu-1\"'`"
    return f"`{shown}` is no JSON: {what} (column {error.pos + 1})", place, remedy


def _refuse_unfit(value: Any, place: str) -> None:
    """Refuse what JSON can say and the language cannot."""
    todo = [(value, 1)]
    while todo:
        each, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise Failure("it is nested too deeply", place, f"nest at most {MAX_DEPTH} levels")
        if isinstance(each, dict):
            todo += [(inner, depth + 1) for pair in each.items() for inner in pair]
        elif isinstance(each, list):
            todo += [(inner, depth + 1) for inner in each]
        elif isinstance(each, int) and not -(1 << _INT_BITS) <= each < 1 << _INT_BITS:
            remedy = f"write it as a double: `{float_text(each)}`"
            raise Failure(f"the number {str(each)[:_SHOWN]} does not fit 64 bits", place, remedy)
        elif isinstance(each, float) and each - each != 0:
            raise Failure("a number is too large for a double", place, "write a smaller one")
        elif isinstance(each, str) and not _is_text(each):
            raise Failure("a text has half of a surrogate pair", place, "write both halves")


def float_text(number: int) -> str:
    """Write a large number as a double, where there is one."""
    try:
        return repr(float(number))
    except OverflowError:
        return "1e308"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _type_of(value: Any) -> Type:
    """Give the type of a JSON value: an object's values may be of any."""
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return DOUBLE
        case str():
            return STRING
        case list():
            types = {_type_of(element) for element in value}
            return list_of(types.pop() if len(types) == 1 else DYN)
        case dict():
            return map_of(STRING, DYN)
        case _:
            return NULL
