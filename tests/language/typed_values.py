"""Values of every type of the language, for tests: strategies, comparison, membership of a type.

The names of an environment with a variable of every type, and the objects that it has, are here
too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from policyd.language.declarations import Field, ObjectType
from policyd.language.types import Kind, Type, parse_type
from policyd.values.formats import FORMATS
from policyd.values.kinds import TypeValue
from policyd.values.maps import TotalMap, decode_key, encode_key
from policyd.values.network import CIDR, IP
from policyd.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from policyd.values.optional import NONE, Optional
from policyd.values.quantity import ZERO, Quantity
from policyd.values.semver import Semver
from policyd.values.times import (
    Duration,
    Timestamp,
    parse_duration,
    parse_timestamp,
)
from policyd.values.url import URL

QUANTITIES = ("0", "1", "500m", "1Gi", "-2Ki", "1.5Ti", "100M", "1n", "12e6", "1e900", "-1e1000")
TIMES = (
    *("1970-01-01T00:00:00Z", "2024-02-29T12:30:15.123456789+05:30", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59.999999999Z", "2026-10-25T01:30:00Z"),
)
DURATIONS = ("0s", "1h30m", "-1ns", "24h", "100ms", "2562047h47m16.854775807s")
VERSIONS = ("0.0.0", "1.2.3", "1.10.0-rc.1+build.5", "18446744073709551615.0.1")
URLS = ("https://example.test:8443/a%20b?c=d&c=e#f", "/path", "http://[::1]:80/", "mailto:x@y")
ADDRESSES = ("10.0.0.1", "::1", "fe80::1", "255.255.255.255", "0.0.0.0")  # noqa: S104 - not bound
RANGES = ("10.0.0.0/8", "::/0", "192.168.1.7/32", "fe80::1/64")
PATTERNS = ("a", "^[a-z]+$", "(a|b)*c", r"\d{1,3}\.", "", "(?i)É", "[[:alpha:]]")
ZONES = ("Europe/Berlin", "UTC", "+05:30", "-08:00", "Nowhere/Else", "")
KEYS = ("a", "b", "app", "zone", "x_1")
TEXTS = (
    *("", "a", "abc", "a,b,c", " \t padded\n", "é", "\U0001f680\U0001f680", "a\u0301", "\0", "ß"),
    *("1", "-5", "1.5", "1e3", "true", "%s", "%", "%d and %s", "NaN", "null", "IQ==", "x" * 300),
    *(*KEYS, *QUANTITIES, *TIMES[:2], *DURATIONS[:2], *VERSIONS[:2], *URLS[:2], *ADDRESSES[:2]),
    *(*RANGES[:2], *PATTERNS, *ZONES[:3], "dns1123Label", "(", "[a", "99999999999999999999"),
)
INTS = (
    *(0, 1, -1, 2, 3, 7, 10, 63, 64, 100, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1),
    *(INT_MAX, INT_MIN, INT_MAX - 1),
)
UINTS = (0, 1, 2, 10, 63, 64, 2**53 + 1, 2**63, UINT_MAX)
DOUBLES = (
    *(0.0, -0.0, 1.0, 0.5, -1.5, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2.0**53, 2.0**63),
    *(float("inf"), float("-inf"), float("nan")),
)


# --- objects ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Box:
    """An object of the kind that the model has: its fields are attributes."""

    name: str
    labels: TotalMap
    amount: Quantity
    tags: list[str]
    inner: "Box | None"
    part: dict[str, Any]
    started: Timestamp | None

    cel_type: ClassVar[str] = "Box"
    FIELDS: ClassVar = MappingProxyType(
        {
            "name": ("string", "Its name."),
            "labels": ("map(string, string?)", "Its labels."),
            "amount": ("quantity", "Its amount."),
            "tags": ("list(string)", "Its tags."),
            "inner": ("Box?", "What is in it."),
            "part": ("v1.Part", "Its part, as the API has it."),
            "started": ("timestamp?", "When it was started."),
        }
    )


PART = {
    "name": "string",
    "count": "int",
    "ports": "list(v1.Port)",
    "limits": "map(string, quantity)",
    "namespace": "string",
    "ready": "bool",
}
PORT = {"number": "int", "protocol": "string"}
OBJECTS = {
    "Box": ObjectType(
        "Box",
        {
            name: Field(parse_type(text), doc, native=True)
            for name, (text, doc) in Box.FIELDS.items()
        },
    ),
    "v1.Part": ObjectType("v1.Part", {k: Field(parse_type(v)) for k, v in PART.items()}),
    "v1.Port": ObjectType("v1.Port", {k: Field(parse_type(v)) for k, v in PORT.items()}),
}
VARIABLES = {
    name: parse_type(text)
    for name, text in {
        "flag": "bool",
        "count": "int",
        "size_": "uint",
        "ratio": "double",
        "text": "string",
        "data": "bytes",
        "nothing": "null",
        "at": "timestamp",
        "period": "duration",
        "amount": "quantity",
        "version": "semver",
        "link": "url",
        "address": "ip",
        "range_": "cidr",
        "form": "kubernetes.NamedFormat",
        "counts": "list(int)",
        "ratios": "list(double)",
        "texts": "list(string)",
        "amounts": "list(quantity)",
        "flags": "list(bool)",
        "rows": "list(list(int))",
        "by_name": "map(string, int)",
        "by_number": "map(int, string)",
        "by_flag": "map(bool, double)",
        "labels": "map(string, string?)",
        "requests": "map(string, quantity)",
        "owner": "string?",
        "limit": "quantity?",
        "maybe_count": "optional_type(int)",
        "maybe_text": "optional_type(string)",
        "box": "Box",
        "part": "v1.Part",
        "json": "dyn",
    }.items()
}
TOTAL = {"labels": None, "requests": ZERO}
"""The variables that have a value for each key, and that value."""


# --- strategies -------------------------------------------------------------------------------

_SCALARS: dict[str, SearchStrategy] = {
    "bool": st.booleans(),
    "int": st.sampled_from(INTS) | st.integers(INT_MIN, INT_MAX),
    "uint": (st.sampled_from(UINTS) | st.integers(0, UINT_MAX)).map(Uint),
    "double": st.sampled_from(DOUBLES) | st.floats(),
    "string": st.sampled_from(TEXTS) | st.text(max_size=20),
    "bytes": st.sampled_from((b"", b"abc", b"\xff\x00", "é".encode())) | st.binary(max_size=12),
    "null_type": st.none(),
    "type": st.sampled_from((TypeValue("int"), TypeValue("kubernetes.Quantity"))),
    "google.protobuf.Timestamp": st.sampled_from(TIMES).map(parse_timestamp),
    "google.protobuf.Duration": st.one_of(
        st.sampled_from(DURATIONS).map(parse_duration),
        st.integers(INT_MIN, INT_MAX).map(Duration),
    ),
    "kubernetes.Quantity": st.sampled_from(QUANTITIES).map(Quantity.parse),
    "kubernetes.Semver": st.sampled_from(VERSIONS).map(Semver.parse),
    "kubernetes.URL": st.sampled_from(URLS).map(URL.parse),
    "kubernetes.NamedFormat": st.sampled_from(sorted(FORMATS)).map(FORMATS.__getitem__),
    "net.IP": st.sampled_from(ADDRESSES).map(IP.parse),
    "net.CIDR": st.sampled_from(RANGES).map(CIDR.parse),
}
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(DOUBLES[:6])
    | st.sampled_from(TEXTS[:6]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


def values(type_: Type) -> SearchStrategy:
    """Give the values of a type, its edges foremost."""
    match type_.kind:
        case Kind.DYN:
            return _JSON
        case Kind.NULLABLE:
            return st.none() | values(type_.params[0])
        case Kind.LIST:
            return st.lists(values(type_.params[0]), max_size=4)
        case Kind.MAP:
            return _maps(*type_.params)
        case Kind.OPTIONAL:
            return st.just(NONE) | values(type_.params[0]).map(Optional)
        case Kind.OBJECT:
            return {"Box": _boxes, "v1.Part": _parts, "v1.Port": _ports}[type_.name]()
        case _:
            return _SCALARS[type_.name]


def _maps(key: Type, value: Type) -> SearchStrategy:
    keys = st.sampled_from(KEYS) if key.name == "string" else values(key).map(encode_key)
    return st.dictionaries(keys, values(value), max_size=4)


def _total(name: str) -> SearchStrategy:
    return values(VARIABLES[name]).map(lambda entries: TotalMap(entries, TOTAL[name]))


def _objects(fields: dict[str, str]) -> SearchStrategy:
    """Give objects of the API: mostly whole ones, since every absent field is an error."""
    all_ = {name: values(parse_type(text)) for name, text in fields.items()}
    whole = st.fixed_dictionaries(all_)
    return st.one_of(whole, whole, st.fixed_dictionaries({}, optional=all_))


def _ports() -> SearchStrategy:
    return _objects(PORT)


def _parts() -> SearchStrategy:
    return _objects(PART)


def _boxes(depth: int = 2) -> SearchStrategy:
    return st.builds(
        Box,
        name=values(VARIABLES["text"]),
        labels=_total("labels"),
        amount=values(VARIABLES["amount"]),
        tags=values(VARIABLES["texts"]),
        inner=_boxes(depth - 1) | st.none() if depth else st.none(),
        part=_parts(),
        started=values(VARIABLES["at"]) | st.none(),
    )


def bindings(names: Iterable[str] = VARIABLES) -> SearchStrategy[dict[str, Any]]:
    """Give a value to each variable of the environment, or to some."""
    return st.fixed_dictionaries(
        {name: _total(name) if name in TOTAL else values(VARIABLES[name]) for name in sorted(names)}
    )


# --- what values are --------------------------------------------------------------------------


def conforms(value: Any, type_: Type) -> bool:
    """Say whether a value, with all that is in it, is one of a type."""
    match type_.kind:
        case Kind.DYN | Kind.VAR | Kind.PARAM:
            return True
        case Kind.NULLABLE:
            return value is None or conforms(value, type_.params[0])
        case Kind.LIST:
            return type(value) is list and all(conforms(it, type_.params[0]) for it in value)
        case Kind.MAP:
            key, inner = type_.params
            return isinstance(value, dict) and all(
                conforms(decode_key(k), key) and conforms(v, inner) for k, v in value.items()
            )
        case Kind.OPTIONAL:  # null is a value of it, as in CEL
            absent = value is None or (type(value) is Optional and not value.present)
            return absent or (type(value) is Optional and conforms(value.value, type_.params[0]))
        case Kind.TYPE:
            return type(value) is TypeValue
        case Kind.OBJECT:
            return type(value) is dict or getattr(value, "cel_type", None) == type_.name
        case Kind.OPAQUE:
            return getattr(type(value), "cel_type", None) == type_.name
        case _:
            return type(value) is _CLASSES[type_.name]


_CLASSES = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "null_type": type(None),
}


def same(left: Any, right: Any) -> bool:
    """Say whether two values are the same to the last bit; NaN is the same as NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return left.hex() == right.hex()
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    if isinstance(left, Optional):
        return left.present == right.present and same(left.value, right.value)
    if isinstance(left, Box):
        return all(same(getattr(left, name), getattr(right, name)) for name in Box.FIELDS)
    return left is right or left == right


def copied(value: Any) -> Any:
    """Copy what could be changed: lists and maps, and all in them."""
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, TotalMap):
        return TotalMap({key: copied(item) for key, item in value.items()}, value.default)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, Box):
        return Box(**{name: copied(getattr(value, name)) for name in Box.FIELDS})
    return Optional(copied(value.value)) if type(value) is Optional and value.present else value
