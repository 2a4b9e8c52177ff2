"""Values as the case files write them: one key that names the kind, and the value.

`{"int": 1}` and `{"uint": 1}` and `{"double": 1.0}` are three values, and so are `0.0` and
`-0.0`: two values are the same where their canonical texts are the same, whatever the language's
own `==` says of them.
"""

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from policyd.values.kinds import TypeValue
from policyd.values.maps import decode_key, encode_key
from policyd.values.numbers import Uint
from policyd.values.optional import NONE, Optional
from policyd.values.times import Duration, Timestamp

_SECOND = 10**9
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "null": lambda _: None,
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "type": TypeValue,
}


def decode(tagged: Mapping[str, Any]) -> Any:
    """Give the value of the language for a tagged one. Used for the bindings of a case."""
    ((tag, raw),) = tagged.items()
    match tag:
        case "list":
            return [decode(item) for item in raw]
        case "map":
            return {encode_key(decode(key)): decode(value) for key, value in raw}
        case "bytes":
            return base64.b64decode(raw)
        case "optional":
            return NONE if raw is None else Optional(decode(raw))
        case "timestamp":
            return Timestamp(raw[0] * _SECOND + raw[1])
        case "duration":
            return Duration(raw[0] * _SECOND + raw[1])
        case _:
            return _PLAIN[tag](raw)


def encode(value: Any) -> dict[str, Any]:
    """Give the tagged form of what an evaluation answered."""
    cls = value.__class__
    if value is None:
        return {"null": None}
    if cls in (bool, str):
        return {"bool" if cls is bool else "string": value}
    if cls is Uint or cls is int:
        return {"uint" if cls is Uint else "int": int(value)}
    if cls is float:
        return {"double": _double(value)}
    if cls is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if cls is list:
        return {"list": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"map": [[encode(decode_key(key)), encode(item)] for key, item in value.items()]}
    if cls is Optional:
        return {"optional": encode(value.value) if value.present else None}
    return _encode_opaque(value)


def _encode_opaque(value: Any) -> dict[str, Any]:
    if isinstance(value, TypeValue):
        return {"type": value.name}
    if isinstance(value, Timestamp):  # nanoseconds count forward, as in the protobuf message
        return {"timestamp": list(divmod(value.nanos, _SECOND))}
    if isinstance(value, Duration):  # both parts have the sign of the whole
        whole, rest = divmod(abs(value.nanos), _SECOND)
        return {"duration": [-whole, -rest] if value.nanos < 0 else [whole, rest]}
    name = getattr(value, "cel_type", None)
    if name is None:
        return {"not a value of the language": repr(value)}
    short = {"kubernetes.Quantity": "quantity", "kubernetes.Semver": "semver"}.get(name)
    return {short: str(value)} if short else {"opaque": name, "string": str(value)}


def _double(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def canonical(tagged: Mapping[str, Any]) -> str:
    """Give one text for every way to write the same tagged value: maps have no order."""
    return json.dumps(_canonical(tagged), ensure_ascii=False, sort_keys=True)


def _canonical(tagged: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for tag, raw in tagged.items():
        if tag == "list":
            made[tag] = [_canonical(item) for item in raw]
        elif tag == "map":
            pairs = [[_canonical(key), _canonical(value)] for key, value in raw]
            made[tag] = sorted(pairs, key=json.dumps)
        elif tag == "double" and not isinstance(raw, str):
            made[tag] = _double(float(raw))
        elif tag == "optional" and raw is not None:
            made[tag] = _canonical(raw)
        else:
            made[tag] = raw
    return made
