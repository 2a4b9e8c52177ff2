"""The types that the checker gives to expressions, and their text form.

A type prints as the conformance suite and Kubernetes print it: `list(int)`,
`map(string, dyn)`, `optional_type(int)`, `type(int)`, `kubernetes.Quantity`, `v1.Pod`.
"""

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final


class Kind(Enum):
    """What sort of type it is, as far as the rules of assignment care."""

    PRIMITIVE = "primitive"  # bool int uint double string bytes null_type
    DYN = "dyn"  # known only when evaluated
    ERROR = "error"  # an error was reported already; agrees with everything
    LIST = "list"
    MAP = "map"
    TYPE = "type"  # the type of a type
    OPTIONAL = "optional_type"
    NULLABLE = "nullable"  # a value of the parameter, or null
    OPAQUE = "opaque"  # a library's type, possibly with parameters
    OBJECT = "object"  # has fields, which the environment knows by its name
    PARAM = "param"  # a type parameter of a function's signature
    VAR = "var"  # a parameter while a call is being resolved


MAX_PARTS: Final = 100
"""Names in one type. A larger type is taken to be dyn: types that a hostile expression makes can
grow exponentially with its length."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its kind, its name and its parameters. `parts` counts the names in it."""

    kind: Kind
    name: str
    params: tuple["Type", ...] = ()
    parts: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", 1 + sum([param.parts for param in self.params]))

    def __str__(self) -> str:
        if self.kind is Kind.NULLABLE:
            return f"{self.params[0]}?"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL: Final = Type(Kind.PRIMITIVE, "bool")
INT: Final = Type(Kind.PRIMITIVE, "int")
UINT: Final = Type(Kind.PRIMITIVE, "uint")
DOUBLE: Final = Type(Kind.PRIMITIVE, "double")
STRING: Final = Type(Kind.PRIMITIVE, "string")
BYTES: Final = Type(Kind.PRIMITIVE, "bytes")
NULL: Final = Type(Kind.PRIMITIVE, "null_type")
DYN: Final = Type(Kind.DYN, "dyn")
ERROR: Final = Type(Kind.ERROR, "error")
TIMESTAMP: Final = Type(Kind.OPAQUE, "google.protobuf.Timestamp")
DURATION: Final = Type(Kind.OPAQUE, "google.protobuf.Duration")
QUANTITY: Final = Type(Kind.OPAQUE, "kubernetes.Quantity")
SEMVER: Final = Type(Kind.OPAQUE, "kubernetes.Semver")
URL: Final = Type(Kind.OPAQUE, "kubernetes.URL")
NAMED_FORMAT: Final = Type(Kind.OPAQUE, "kubernetes.NamedFormat")
IP: Final = Type(Kind.OPAQUE, "net.IP")
CIDR: Final = Type(Kind.OPAQUE, "net.CIDR")

_SIMPLE: Final = {
    t.name: t
    for t in (
        *(BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN),
        *(TIMESTAMP, DURATION, QUANTITY, SEMVER, URL, NAMED_FORMAT, IP, CIDR),
    )
} | {
    "null": NULL,
    "any": DYN,
    "quantity": QUANTITY,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "semver": SEMVER,
    "url": URL,
    "ip": IP,
    "cidr": CIDR,
}


def composed(kind: Kind, name: str, params: tuple[Type, ...]) -> Type:
    """Give the type with these parameters, or dyn where it would have more than `MAX_PARTS`."""
    made = Type(kind, name, params)
    return made if made.parts <= MAX_PARTS else DYN


def has_error(type_: Type) -> bool:
    """Say whether a type has a part about which an error was reported."""
    return type_.kind is Kind.ERROR or any(map(has_error, type_.params))


def list_of(element: Type) -> Type:
    """Give the type of a list of `element`."""
    return composed(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Give the type of a map from `key` to `value`."""
    return composed(Kind.MAP, "map", (key, value))


def optional_of(inner: Type) -> Type:
    """Give the type of an optional `inner`."""
    return composed(Kind.OPTIONAL, "optional_type", (inner,))


def type_of(inner: Type) -> Type:
    """Give the type of `inner` used as a value."""
    return composed(Kind.TYPE, "type", (inner,))


def nullable(inner: Type) -> Type:
    """Give the type of an `inner` that may be null."""
    if inner.kind in (Kind.NULLABLE, Kind.DYN, Kind.ERROR) or inner == NULL:
        return inner
    return composed(Kind.NULLABLE, "nullable", (inner,))


def object_type(name: str) -> Type:
    """Give the type of objects with the fields that the environment declares under `name`."""
    return Type(Kind.OBJECT, name)


class TypeSyntaxError(Exception):
    """A type's text that cannot be read. `offset` is where, in code points."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Read a type's text form. One capital letter is a type parameter; `T?` is nullable.

    >>> str(parse_type("map(string, list(T))"))
    'map(string, list(T))'

    Raises:
        TypeSyntaxError: the text is not a type.
    """
    parsed, rest = _parse(text, 0)
    if text[rest:].strip():
        raise TypeSyntaxError(f"unexpected `{text[rest:].strip()}` after a type", rest)
    return parsed


def _parse(text: str, at: int) -> tuple[Type, int]:
    while text[at : at + 1] == " ":
        at += 1
    end = at
    while end < len(text) and (text[end].isalnum() or text[end] in "._"):
        end += 1
    name, at_name = text[at:end], at
    if not name:
        raise TypeSyntaxError("a type was expected here", at)
    params: list[Type] = []
    if text[end : end + 1] == "(":
        end += 1
        while True:
            param, end = _parse(text, end)
            params.append(param)
            while text[end : end + 1] == " ":
                end += 1
            stop = text[end : end + 1]
            end += 1
            if stop == ")":
                break
            if stop != ",":
                raise TypeSyntaxError("`)` was expected here", end - 1)
    made = _make(name, tuple(params), at_name)
    if text[end : end + 1] == "?":
        return nullable(made), end + 1
    return made, end


def _make(name: str, params: tuple[Type, ...], at: int) -> Type:
    arity = {"list": 1, "map": 2, "type": 1, "optional_type": 1, "optional": 1}.get(name)
    if arity is not None and len(params) in (0, arity):
        params = params or (DYN,) * arity
        if name == "list":
            return list_of(*params)
        if name == "map":
            return map_of(*params)
        return type_of(*params) if name == "type" else optional_of(*params)
    if arity is not None or (params and name in _SIMPLE):
        wanted = arity or 0
        raise TypeSyntaxError(f"`{name}` takes {wanted} type parameters, not {len(params)}", at)
    if name in _SIMPLE:
        return _SIMPLE[name]
    if len(name) == 1 and name.isupper() and not params:
        return Type(Kind.PARAM, name)
    if not params and (name.startswith("v1.") or name[0].isupper()):
        return Type(Kind.OBJECT, name)
    return Type(Kind.OPAQUE, name, params)
