"""The functions and constants that every expression may use, by dialect."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from policyd.language.declarations import Function, Library
from policyd.language.dialect import Dialect
from policyd.language.types import Type, parse_type, type_of
from policyd.values.kinds import TypeValue

LIBRARIES: Final = (
    *("operators", "conversions", "strings", "regex", "lists", "math", "sets", "times"),
    *("optionals", "encoders", "quantity", "semver", "url", "network", "formats"),
)
"""The modules of `policyd.language.libraries`, in the order of the reference."""

_TYPE_NAMES: Final = (
    *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"),
    *("google.protobuf.Timestamp", "google.protobuf.Duration", "optional_type"),
)


@lru_cache(maxsize=2)
def libraries(dialect: Dialect) -> tuple[Library, ...]:
    """Give the libraries of a dialect."""
    made: list[Library] = []
    for name in LIBRARIES:
        module = import_module(f"policyd.language.libraries.{name}")
        made.append(module.library(dialect))
    return tuple(made)


@lru_cache(maxsize=2)
def standard_functions(dialect: Dialect) -> Mapping[str, Function]:
    """Give the functions of a dialect by name."""
    return merge([f for library in libraries(dialect) for f in library.functions])


@lru_cache(maxsize=64)
def functions_with(dialect: Dialect, more: tuple[Function, ...]) -> Mapping[str, Function]:
    """Give the functions of a dialect and some more; overloads of one name are joined."""
    if not more:
        return standard_functions(dialect)
    return merge([*standard_functions(dialect).values(), *more])


@lru_cache(maxsize=2)
def standard_constants(dialect: Dialect) -> Mapping[str, tuple[Type, Any]]:
    """Give the named constants of a dialect: the types as values, and the libraries' own."""
    constants: dict[str, tuple[Type, Any]] = {
        name: (type_of(parse_type(name)), TypeValue(name)) for name in _TYPE_NAMES if name != "type"
    }
    constants["type"] = (type_of(type_of(parse_type("dyn"))), TypeValue("type"))
    for library in libraries(dialect):
        constants.update(library.constants)
    return constants


def merge(functions: Sequence[Function]) -> dict[str, Function]:
    """Join functions of the same name."""
    table: dict[str, Function] = {}
    for function in functions:
        known = table.get(function.name)
        table[function.name] = (
            function
            if known is None
            else Function(
                function.name, (*known.overloads, *function.overloads), known.doc or function.doc
            )
        )
    return table
