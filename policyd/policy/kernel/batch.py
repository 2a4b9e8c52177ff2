"""The evaluation of an expression over some rows: what steps are given, and what they give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from policyd.language.limits import MAX_WORK
from policyd.language.program import Program
from policyd.language.types import Kind as TypeKind
from policyd.language.types import Type
from policyd.policy.kernel import lists
from policyd.policy.kernel.keys import Facts, Key
from policyd.policy.kernel.vector import Array, Kind, ListVector, Unvectorised, Value, Vector

Step = Callable[["Batch"], Value]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of an expression that is kept by itself: a constant, or a column.

    `step` computes it over arrays; without it the interpreter does, row by row. `signature` is
    equal for parts with the same meaning. `outside` gives the key of what is read beside the
    row, `reads` are the paths of the row.
    """

    program: Program
    type: Type
    signature: int
    outside: Facts
    reads: frozenset[str]
    step: Step | None = None
    columns: tuple["Part", ...] = ()  # those that the step is made of

    @property
    def is_list(self) -> bool:
        """Say whether it is a list of objects, whose fields are columns of their own."""
        return self.type.kind is TypeKind.LIST and self.type.params[0].kind is TypeKind.OBJECT


class Source(Protocol):
    """Where a batch has constants and columns from."""

    def constant(self, part: Part) -> tuple[Value, int]:
        """Give the value of a constant, and the work of computing it."""
        ...

    def column(self, part: Part, rows: Array) -> tuple[Value, int]:
        """Give the values of a column at some rows, and the most work of one of them."""
        ...

    def kept(self, key: Key, make: Callable[[], tuple[Value, int]]) -> tuple[Value, int]:
        """Give what was made for a key before, or make it."""
        ...


@dataclass(slots=True)
class Batch:
    """The evaluation of one expression over some rows.

    `work` bounds from above what the interpreter would count for any of the rows; `turns` is how
    often the part that is being computed is gone through, and `most` the most turns of any part.
    """

    source: Source
    rows: Array
    given: Mapping[str, Vector] = field(default_factory=dict)
    slots: dict[int, Value] = field(default_factory=dict)
    fields: dict[int, Any] = field(default_factory=dict)
    axes: int = 1
    turns: int = 1
    most: int = 1
    work: int = 0

    def charge(self, units: int) -> None:
        """Count work of the part that is being computed.

        Raises:
            Unvectorised: the interpreter might reach its limit.
        """
        self.work += self.turns * units
        if self.work > MAX_WORK:
            raise Unvectorised("the interpreter might find it too much work")


def scalar(value: Value) -> Vector:
    """Give a value as a vector: lists put together again."""
    if isinstance(value, ListVector):
        return lists.whole(value)
    return value


def condition(value: Value) -> Vector:
    """Give a value that is to be a bool.

    Raises:
        Unvectorised: it is something else.
    """
    if isinstance(value, ListVector) or value.kind is not Kind.BOOL:
        raise Unvectorised("a condition that is no bool")
    return value
