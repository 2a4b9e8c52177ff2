"""Values as keys: two that no expression can tell apart have equal keys.

What an expression reads of the pod decides its verdicts, so pods that agree in it share them.
Kinds are told apart where Python's equality does not (`1`, `1.0` and `True`, a quantity by how it
is written). What is not known here is the same only as itself.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from policyd.model.cluster import Cluster
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.quantity import Quantity
from policyd.values.times import Duration, Timestamp

Key = Hashable

_ABSENT: Final = ("absent",)
_PLAIN: Final = frozenset({str, type(None), bytes})


class Same:
    """A value that is equal to itself only; keeps it, so that its identity is not used again."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Same and other.value is self.value


def frozen(value: Any) -> Key:
    """Give the key of a value."""
    cls = value.__class__
    if cls in _PLAIN:
        return value  # type: ignore[no-any-return]  # it is one of the plain classes
    if cls is Quantity:
        return ("q", value.nanos, value.notation, value.exponent, value.narrow, str(value))
    if cls is list:
        return ("l", *map(frozen, value))
    if cls is dict:
        return ("m", *((frozen(k), frozen(v)) for k, v in value.items()))
    if cls is TotalMap:
        entries = ((frozen(k), frozen(v)) for k, v in value.items())
        return ("t", frozen(value.default), *entries)
    return _of_scalar(value, cls)


def contents(value: Any) -> Key:
    """Give the key of a small object of the model by its fields; of others as `frozen` does."""
    cls = value.__class__
    declared = getattr(cls, "FIELDS", None)
    if declared is None or hasattr(cls, "kind"):  # an object of the API is known by itself
        return frozen(value)
    return (cls.__name__, *(frozen(getattr(value, name)) for name in declared))


def _of_scalar(value: Any, cls: type) -> Key:
    if cls is bool or cls is int:
        return (cls.__name__, value)
    if cls is float:
        return ("f", value.hex())
    if cls is Timestamp:
        return ("ts", value.nanos, value.offset)
    if cls is Duration:
        return ("d", value.nanos)
    return Same(value)


Aspects = Callable[[tuple[str, ...]], Key]
"""Gives what stands for an aspect of the cluster: another value where it may be different."""


class Facts:
    """Gives the key of what some paths lead to; remembers that of the last value of each path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = [tuple(path.removesuffix(".*").split(".")) for path in sorted(paths)]
        self._last: list[tuple[Any, Key]] = [(_ABSENT, _ABSENT)] * len(self._paths)

    def key(self, bindings: Mapping[str, Any], aspects: Aspects) -> Key:
        """Give the key of the values under these bindings.

        `aspects` gives what stands for an aspect of the cluster that functions look into.
        """
        return tuple(
            [self._one(at, path, bindings, aspects) for at, path in enumerate(self._paths)]
        )

    def _one(
        self, at: int, path: tuple[str, ...], bindings: Mapping[str, Any], aspects: Aspects
    ) -> Key:
        if path[0] == "cluster":
            return (aspects(path), self._value(at, path, bindings))
        return self._value(at, path, bindings)

    def _value(self, at: int, path: tuple[str, ...], bindings: Mapping[str, Any]) -> Key:
        if path[0] == "cluster" and (len(path) == 1 or path[1] not in Cluster.FIELDS):
            return None  # what stands for it says all
        try:
            value = _follow(bindings[path[0]], path[1:])
        except ValueFault as fault:
            return ("fault", fault.message)
        last, key = self._last[at]
        if last is value:
            return key
        key = frozen(value)
        self._last[at] = (value, key)
        return key


def _follow(value: Any, names: tuple[str, ...]) -> Any:
    """Go along a path as far as it goes; where it ends early, what is there decides."""
    for name in names:
        if isinstance(value, dict):
            if name not in value:
                return _ABSENT
            value = value[name]
        elif name in getattr(value.__class__, "FIELDS", ()):
            value = getattr(value, name)
        else:
            return value
    return value
