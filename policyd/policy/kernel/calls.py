"""Calls over vectors: by an operation on arrays, or by the function itself for what occurs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from policyd.language import typed as ir
from policyd.language.dispatch import Dispatcher
from policyd.policy.kernel import lists, numeric
from policyd.policy.kernel.batch import Batch
from policyd.policy.kernel.vector import (
    Answers,
    Kind,
    ListVector,
    Value,
    Vector,
    elementwise,
    kind_of,
)

_ANY: Final = Kind.ANY

General = Callable[[Batch, Sequence[Vector]], Vector]
"""Calls the function itself."""


def general(node: ir.Apply, settled: Callable[..., Any] | None) -> General:
    """Call the function itself, for each combination of values that occurs."""
    kind, answers = kind_of(node.type), Answers()
    costs = any(overload.cost is not None for overload in node.overloads)
    dispatcher = Dispatcher(node.name, node.overloads)
    most = 0  # the highest cost of all calls so far: answers that are kept have cost it too

    def compute(*values: Any) -> Any:
        nonlocal most
        if settled is not None and not costs:
            return settled(*values)
        overload = node.overloads[0] if settled is not None else dispatcher.choose(values)
        if overload.cost is not None:
            most = max(most, overload.cost(*values))
        return overload.implementation(*values)

    def call(batch: Batch, args: Sequence[Vector]) -> Vector:
        found = elementwise(compute, args, kind, answers)
        if most:
            batch.charge(most)
        return found

    return call


Native = Callable[[Batch, Sequence[Value]], Vector | None]
"""An operation on arrays; gives nothing for values that it is not for."""


def _numeric(kernel: numeric.Kernel) -> Native:
    def native(_: Batch, args: Sequence[Value]) -> Vector | None:
        vectors = [arg for arg in args if isinstance(arg, Vector) and arg.kind is not _ANY]
        return kernel(*vectors) if len(vectors) == len(args) else None

    return native


def _equality(*, negated: bool) -> Native:
    def native(_: Batch, args: Sequence[Value]) -> Vector | None:
        left, right = args
        if isinstance(left, ListVector) or isinstance(right, ListVector):
            return None
        found = numeric.equal(left, right)
        return numeric.logical_not(found) if found is not None and negated else found

    return native


def _of_list(compute: Callable[[ListVector], Vector]) -> Native:
    def native(batch: Batch, args: Sequence[Value]) -> Vector | None:
        (items,) = args
        if not isinstance(items, ListVector):
            return None
        batch.charge(items.size)
        return compute(items)

    return native


def _membership(batch: Batch, args: Sequence[Value]) -> Vector | None:
    value, items = args
    if not isinstance(items, ListVector) or isinstance(value, ListVector):
        return None
    batch.charge(2 * items.size)
    return lists.contains(value, items) if value.kind is not _ANY else None


def _natives() -> Iterator[tuple[str, Native]]:
    for id_, kernel in numeric.KERNELS.items():
        yield id_, _numeric(kernel)
    yield "equals", _equality(negated=False)
    yield "not_equals", _equality(negated=True)
    yield "size_list", _of_list(lists.size)
    yield "list_size", _of_list(lists.size)
    yield "in_list", _membership
    for kind in ("int", "double", "quantity"):
        yield f"list_{kind}_sum_{kind}", _of_list(lists.summed)
        yield f"list_{kind}_min_{kind}", _of_list(lambda it: lists.extreme(it, least=True))
        yield f"list_{kind}_max_{kind}", _of_list(lambda it: lists.extreme(it, least=False))


NATIVE: Final[Mapping[str, Native]] = dict(_natives())
"""The operations on arrays, by the ids of their overloads."""
