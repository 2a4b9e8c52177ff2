"""Settles a call by the values it meets, where types alone could not.

The first overload whose parameters take the values' classes is the one, as in cel-go. The answer
is kept by class, so that a call pays for it once.
"""

from collections.abc import Callable
from typing import Any, Final

from policyd.language.declarations import Overload
from policyd.language.equality import no_overload
from policyd.language.types import NULL, Kind, Type
from policyd.values.kinds import TypeValue
from policyd.values.numbers import Uint
from policyd.values.optional import Optional

_CLASSES: Final[dict[str, type]] = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "null_type": type(None),
}


def takes(wanted: Type, cls: type) -> bool:
    """Say whether a parameter takes values of a class."""
    match wanted.kind:
        case Kind.PRIMITIVE:
            return cls is _CLASSES[wanted.name]
        case Kind.LIST:
            return cls is list
        case Kind.MAP:
            return issubclass(cls, dict)
        case Kind.OPTIONAL:
            return cls is Optional
        case Kind.TYPE:
            return cls is TypeValue
        case Kind.NULLABLE:
            return cls is type(None) or takes(wanted.params[0], cls)
        case Kind.OPAQUE:
            return bool(getattr(cls, "cel_type", None) == wanted.name)
        case Kind.OBJECT:
            return issubclass(cls, dict) or getattr(cls, "cel_type", None) == wanted.name
        case _:
            return True


class Dispatcher:
    """The overloads of one call, by the classes of its arguments.

    `choose` may be called from any thread: two threads that meet a new combination at once
    compute the same answer.
    """

    def __init__(self, name: str, overloads: tuple[Overload, ...]) -> None:
        self._name = name
        self._overloads = overloads
        self._known: dict[tuple[type, ...], Overload] = {}

    def choose(self, args: tuple[Any, ...]) -> Overload:
        """Give the overload for the values.

        Raises:
            ValueFault: there is none.
        """
        classes = tuple(arg.__class__ for arg in args)
        found = self._known.get(classes)
        if found is None:
            found = self._known[classes] = self._search(classes, args)
        return found

    def _search(self, classes: tuple[type, ...], args: tuple[Any, ...]) -> Overload:
        for overload in self._overloads:
            if len(overload.params) == len(classes) and all(
                takes(wanted, cls) for wanted, cls in zip(overload.params, classes, strict=True)
            ):
                return overload
        raise no_overload(self._name, *args)


def is_settled(
    overloads: tuple[Overload, ...], given: tuple[Type, ...]
) -> Callable[..., Any] | None:
    """Give the implementation where the types leave only one choice."""
    if len(overloads) != 1:
        return None
    if all(_certainly(w, t) for w, t in zip(overloads[0].params, given, strict=True)):
        return overloads[0].implementation
    return None


def _certainly(wanted: Type, given: Type) -> bool:
    """Say whether every value of a type is one that a parameter takes."""
    match wanted.kind:
        case Kind.PARAM | Kind.DYN:
            return True
        case Kind.NULLABLE:
            inner = wanted.params[0]
            return given == NULL or _certainly(
                inner, given.params[0] if given.kind is Kind.NULLABLE else given
            )
        case Kind.LIST | Kind.MAP | Kind.OPTIONAL | Kind.TYPE:
            return given.kind is wanted.kind
        case _:
            return given.kind is wanted.kind and given.name == wanted.name
