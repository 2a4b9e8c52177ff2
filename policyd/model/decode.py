"""Turns objects of the Kubernetes API, as JSON has them, into the values that rules compute with.

It accepts what the API server accepts and refuses what it refuses, by the types of `schema.py`,
with the path of what is wrong. For each type a plan is made once: the classes of the values that
pass as they are, and a function for each of the others. So most of an object is only looked at.
"""

import math
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from policyd.model.schema import schema
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN
from policyd.values.quantity import Quantity
from policyd.values.quoting import quote
from policyd.values.times import Timestamp, parse_timestamp

MAX_DEPTH: Final = 100
"""How many lists and maps may stand in each other below a field whose type is not known."""

_SHOWN: Final = 40  # characters of a wrong value, or of a key in a path, that a message repeats
_STEPS_SHOWN: Final = 20  # of a path; the schema itself needs fewer
_EXACT_IN_DECIMAL: Final = 1e21  # below it, JSON writers print a whole number without exponent
_MAX_BITS: Final = 512  # of an integer given as a quantity; the API stops at 63
_MEMORABLE: Final = 64  # characters; RFC 3339 needs 35 at most

Convert = Callable[[Any], Any]


class DecodeError(Exception):
    """A value in an object that is not of the type that the API gives its place.

    `problem` says what was expected and found, in lower case and without a final period; `path`
    is the place as rules write it, such as `spec.containers[0].ports[0].hostPort`, and empty for
    the object itself.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem: Final = problem
        self._steps: list[str | int] = []  # innermost first

    def within(self, step: str | int) -> None:
        """Note that the place is inside the field or key, or the element, `step`."""
        self._steps.append(step)

    @property
    def path(self) -> str:
        """The place, from the object that was decoded."""
        shown = "".join(map(_step_text, self._steps[: -_STEPS_SHOWN - 1 : -1])).removeprefix(".")
        return shown if len(self._steps) <= _STEPS_SHOWN else f"{shown}..."

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self._steps else self.problem


def decode(type_name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Give an object of the API as a value of rules.

    `type_name` is an object of the schema, such as `v1.Pod`; `raw` is what a JSON reader makes of
    it: `dict`, `list`, `str`, `int`, `float`, `bool` and None. In the result

    - timestamps are `Timestamp`, base64 texts are bytes, whole floats in int fields are ints;
    - quantities are texts as they were written, also where JSON has a number: 2 is "2" and 0.35
      is "0.35";
    - a field that is null is absent, and a null in a list or map is the empty value of its type;
    - fields that the schema does not have are kept as they are.

    What needs no change is shared with `raw`, so neither may be changed afterwards. A decoded
    object may be decoded again, which changes nothing. The work is linear in the size of `raw`
    written out: a reader of YAML has to bound what aliases expand to.

    Raises:
        DecodeError: something is not of its type, or nests deeper than `MAX_DEPTH`.
        KeyError: the schema has no object `type_name`.
    """
    result: dict[str, Any] = _object_plan(type_name).convert(raw)
    return result


class _Plan(NamedTuple):
    """How the values of a type are converted."""

    exact: type | None
    """The class of the values that need no conversion, if a class can tell."""
    convert: Convert
    """Makes the value of any other value except None, or raises."""
    empty: Callable[[], Any]
    """Makes the value that a null in a list or map stands for."""


@cache
def _plan(text: str) -> _Plan:
    """Give the plan for a type's text, in which `quantity` and `int_or_string` are types too."""
    if text in _SCALARS:
        return _SCALARS[text]
    if text.startswith("list("):
        return _Plan(None, _list_converter(_plan(text[5:-1])), list)
    if text.startswith("map("):
        return _Plan(None, _map_converter(_plan(text.partition(", ")[2][:-1])), dict)
    return _object_plan(text)


@cache
def _object_plan(name: str) -> _Plan:
    fields = {
        field: _plan(_text(name, field, text)) for field, text in schema().types[name].items()
    }
    exact = {field: plan.exact for field, plan in fields.items() if plan.exact}
    converts = {field: plan.convert for field, plan in fields.items()}
    return _Plan(None, _object_converter(name, exact, converts), dict)


def _text(name: str, field: str, text: str) -> str:
    """Give the text of a field's type with what the schema notes beside it."""
    if field in schema().quantities.get(name, ()):
        return text.removesuffix("string)") + "quantity)" if text.endswith(")") else "quantity"
    return "int_or_string" if field in schema().int_or_string.get(name, ()) else text


def _object_converter(name: str, exact: dict[str, type], converts: dict[str, Convert]) -> Convert:
    def convert(raw: Any) -> dict[str, Any]:
        source = raw if raw.__class__ is dict else _as_dict(raw, name)
        result, key = source, ""
        try:
            for key, value in source.items():
                if value.__class__ is exact.get(key):
                    continue
                converter = converts.get(key)
                if converter is None:
                    made = _unknown(key, value)
                elif value is None:
                    result = dict(source) if result is source else result
                    del result[key]
                    continue
                else:
                    made = converter(value)
                if made is not value:
                    result = dict(source) if result is source else result
                    result[key] = made
        except DecodeError as error:
            error.within(key)
            raise
        return result

    return convert


def _list_converter(element: _Plan) -> Convert:
    exact, converter, empty = element

    def convert(raw: Any) -> list[Any]:
        if not isinstance(raw, list):
            raise _unlike("list", raw)
        result, at = raw, -1
        try:
            for at, value in enumerate(raw):
                if value.__class__ is exact:
                    continue
                made = empty() if value is None else converter(value)
                if made is not value:
                    result = list(raw) if result is raw else result
                    result[at] = made
        except DecodeError as error:
            error.within(at)
            raise
        return result

    return convert


def _map_converter(element: _Plan) -> Convert:
    exact, converter, empty = element

    def convert(raw: Any) -> dict[str, Any]:
        source = raw if raw.__class__ is dict else _as_dict(raw, "map")
        result, key = source, ""
        try:
            for key, value in source.items():
                if key.__class__ is not str:
                    raise _unlike("a string as key", key)
                if value.__class__ is exact:
                    continue
                made = empty() if value is None else converter(value)
                if made is not value:
                    result = dict(source) if result is source else result
                    result[key] = made
        except DecodeError as error:
            error.within(key)
            raise
        return result

    return convert


def _as_dict(raw: Any, expected: str) -> dict[str, Any]:
    if isinstance(raw, Mapping):
        return dict(raw)
    raise _unlike(expected, raw)


def _unknown(key: Any, value: Any) -> Any:
    if key.__class__ is not str:
        raise _unlike("a string as key", key)
    return _free(value)


# --- scalars ---------------------------------------------------------------------------------


def _string(raw: Any) -> str:
    if isinstance(raw, str):
        return str(raw)
    raise _unlike("string", raw)


def _bool(raw: Any) -> bool:
    raise _unlike("bool", raw)


def _int(raw: Any) -> int:
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise _unlike("int", raw)
    if INT_MIN <= raw <= INT_MAX:
        return int(raw)
    raise DecodeError(f"expected int of 64 bits, got {_shown(raw)}")


def _int_or_string(raw: Any) -> int | str:
    if isinstance(raw, str):
        return str(raw)
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return _int(raw)
    raise _unlike("int or string", raw)


def _double(raw: Any) -> float:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return _as_double(raw)
    raise _unlike("double", raw)


def _as_double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        raise DecodeError(
            f"expected a number within double's range, got {_shown(number)}"
        ) from None


def _quantity(raw: Any) -> str:
    text = raw if raw.__class__ is str else _quantity_text(raw)
    try:
        Quantity.parse(text)
    except ValueFault as fault:
        if text != text.strip():  # which the API server forgives
            return _quantity(text.strip())
        raise DecodeError(fault.message) from None
    return text


def _quantity_text(raw: Any) -> str:
    if isinstance(raw, str):
        return str(raw)
    if isinstance(raw, int) and not isinstance(raw, bool) and raw.bit_length() <= _MAX_BITS:
        return str(int(raw))
    if not isinstance(raw, float) or not math.isfinite(raw):
        raise _unlike("quantity", raw)
    whole = raw.is_integer() and abs(raw) < _EXACT_IN_DECIMAL
    return str(int(raw)) if whole else repr(float(raw))


def _bytes(raw: Any) -> bytes:
    if not isinstance(raw, str):
        raise _unlike("bytes in base64", raw)
    try:
        return a2b_base64(raw.replace("\r", "").replace("\n", ""), strict_mode=True)
    except ValueError:
        raise _unlike("bytes in base64", raw) from None


def _timestamp(raw: Any) -> Timestamp:
    if not isinstance(raw, str):
        raise _unlike("timestamp", raw)
    try:
        return _remembered_timestamp(raw) if len(raw) <= _MEMORABLE else parse_timestamp(raw)
    except ValueFault:
        raise _unlike("timestamp", raw) from None


_remembered_timestamp = lru_cache(maxsize=4096)(parse_timestamp)  # a cluster's times repeat


def _no_timestamp() -> Any:
    raise DecodeError("expected timestamp, got null")


# --- what has no type ------------------------------------------------------------------------

_LEAVES: Final = frozenset({str, bool, float, type(None)})


def _free(raw: Any) -> Any:
    """Give a value of unknown type, as it is where possible."""
    return raw if _is_plain(raw) else _plain(raw, MAX_DEPTH)


def _is_plain(raw: Any) -> bool:
    """Say whether a value can be used as it is. Level by level, so without recursion."""
    level = [raw]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            kind = value.__class__
            if kind is dict:
                if not value:
                    continue
                for key in value:
                    if key.__class__ is not str:
                        return False
                below += value.values()
            elif kind is list:
                below += value
            elif kind not in _LEAVES and not (kind is int and INT_MIN <= value <= INT_MAX):
                return False
        if not below:
            return True
        level = below
    return False


def _plain(raw: Any, depth: int) -> Any:
    """Make a value of unknown type usable, or raise and say where it is not."""
    if isinstance(raw, (dict, list)) and not depth:
        raise DecodeError(f"lists and maps are nested deeper than {MAX_DEPTH} levels here")
    if isinstance(raw, dict):
        return {_key(key): _plain_within(key, value, depth - 1) for key, value in raw.items()}
    if isinstance(raw, list):
        return [_plain_within(at, value, depth - 1) for at, value in enumerate(raw)]
    return _plain_scalar(raw)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    error = _unlike("a string as key", key)
    error.within(key)
    raise error


def _plain_within(step: str | int, value: Any, depth: int) -> Any:
    try:
        return _plain(value, depth)
    except DecodeError as error:
        error.within(step)
        raise


def _plain_scalar(raw: Any) -> Any:
    if isinstance(raw, str):
        return str(raw)
    if raw is None or isinstance(raw, (bool, float)):
        return raw
    if isinstance(raw, int):
        return int(raw) if INT_MIN <= raw <= INT_MAX else _as_double(raw)
    raise _unlike("a value of JSON", raw)


_SCALARS: Final = {
    "string": _Plan(str, _string, str),
    "bool": _Plan(bool, _bool, bool),
    "int": _Plan(None, _int, int),
    "double": _Plan(float, _double, float),
    "bytes": _Plan(bytes, _bytes, bytes),
    "timestamp": _Plan(Timestamp, _timestamp, _no_timestamp),
    "quantity": _Plan(None, _quantity, lambda: "0"),
    "int_or_string": _Plan(str, _int_or_string, int),
    "dyn": _Plan(str, _free, lambda: None),
}


# --- messages --------------------------------------------------------------------------------


def _unlike(expected: str, raw: Any) -> DecodeError:
    return DecodeError(f"expected {expected}, got {_shown(raw)}")


def _shown(raw: Any) -> str:
    """Say what was found, in one short line whatever it is."""
    if raw is None:
        return "null"
    if isinstance(raw, bool):
        return "bool true" if raw else "bool false"
    if isinstance(raw, int):
        return f"int {raw}" if raw.bit_length() <= 128 else f"an int of {raw.bit_length()} bits"
    if isinstance(raw, float):
        return f"double {raw!r}"
    if isinstance(raw, str):
        return f"string {quote(raw, _SHOWN)}"
    if isinstance(raw, list):
        return "list"
    return "map" if isinstance(raw, Mapping) else f"a value of class {type(raw).__name__}"


def _step_text(step: Any) -> str:
    if isinstance(step, bool):
        return "[true]" if step else "[false]"
    if isinstance(step, int):
        return f"[{step}]" if step.bit_length() <= 64 else "[...]"
    if not isinstance(step, str):
        return "[...]"
    return f".{step}" if step.isidentifier() and len(step) <= _SHOWN else f"[{quote(step, _SHOWN)}]"
