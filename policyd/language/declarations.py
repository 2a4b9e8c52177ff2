"""How functions, libraries and object types are declared to the checker and the interpreter.

A library is a list of functions; a function is a list of overloads; an overload is a signature
and the Python function that computes it. Adding a function to the language is adding an overload
to a library: neither parser, checker nor interpreter changes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyd.language.types import Type, parse_type

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    `params` has the receiver first where `member` is true. `implementation` takes the
    arguments' values in that order and raises `ValueFault` where there is no result.
    `cost`, where given, takes the same arguments and gives the units of work that grow with
    their sizes; it is charged before the call (see `limits.py`).
    `portable` is false for what policyd adds to Kubernetes' CEL.
    `reads` says of arguments, by their places, which fields of them the function looks at; an
    argument that is not named is looked at whole. `eviction` is false for a function by which
    nothing is ever allowed because a pod has gone, whatever pods it looks at.
    """

    id: str
    params: tuple[Type, ...]
    result: Type
    implementation: Implementation
    member: bool = False
    cost: Callable[..., int] | None = None
    portable: bool = True
    reads: Mapping[int, tuple[str, ...]] = field(default_factory=dict, hash=False)
    eviction: bool = True


@dataclass(frozen=True, slots=True)
class Function:
    """A name and everything that can be called by it. `doc` is one sentence for the reference."""

    name: str
    overloads: tuple[Overload, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """Functions that belong together, under the name that the reference uses for them.

    `constants` are names with fixed values (`type`, as declared; value), such as `net.IP`.
    """

    name: str
    functions: tuple[Function, ...]
    constants: Mapping[str, tuple[Type, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Derived:
    """How a field follows from another field of its object and from a variable.

    Its value is `variable operator field`, and null where that field is null. It is no attribute
    of the object, and whoever reads it reads the variable too: what an object is and what only
    seems to change in it (an age, by the time of the decision) stay apart.
    """

    variable: str
    operator: str
    field: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its type, and the API's own description of it.

    `native` fields are attributes of a Python object of the model; the others are keys of a
    `dict` in the API's JSON form. A `derived` one is neither, and is computed.
    """

    type: Type
    doc: str = ""
    native: bool = False
    derived: Derived | None = None


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A named object and its fields."""

    name: str
    fields: Mapping[str, Field]
    doc: str = ""


def overload(
    id_: str,
    signature: str,
    implementation: Implementation,
    *,
    cost: Callable[..., int] | None = None,
    portable: bool = True,
    reads: Mapping[int, tuple[str, ...]] | None = None,
    eviction: bool = True,
) -> Overload:
    """Declare an overload by its signature's text.

    `"(string, int) -> string"` is a function of two arguments; `"string.(int) -> string"` is
    a method of `string` with one argument. Types are read by `parse_type`; a single capital
    letter is a type parameter.
    """
    arguments, _, result = signature.rpartition(" -> ")
    receiver, dot, params = arguments.partition(".(")
    member = bool(dot) and not receiver.startswith("(")
    inner = params[:-1] if member else arguments[1:-1]
    types = [parse_type(text) for text in _split(inner)]
    if member:
        types.insert(0, parse_type(receiver))
    return Overload(
        id_,
        tuple(types),
        parse_type(result),
        implementation,
        member,
        cost,
        portable,
        reads or {},
        eviction,
    )


def _split(text: str) -> list[str]:
    """Split at the commas that are outside parentheses."""
    parts: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def function(name: str, *overloads: Overload, doc: str = "") -> Function:
    """Declare a function."""
    return Function(name, overloads, doc)
