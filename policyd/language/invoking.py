"""Closures that call: overloads that are known, that cost, and that the values decide."""

from collections.abc import Callable, Sequence
from typing import Any

from policyd.language import typed as ir
from policyd.language.dispatch import Dispatcher
from policyd.language.fetching import as_optional
from policyd.language.source import Span
from policyd.language.work import Evaluate, Frame, charge, located
from policyd.values.errors import ValueFault


def words(node: ir.Typed) -> frozenset[str] | None:
    """Give the strings of a list of constant strings."""
    if not isinstance(node, ir.MakeList) or node.optional:
        return None
    values = [e.value for e in node.elements if isinstance(e, ir.Constant)]
    if len(values) != len(node.elements) or not all(isinstance(v, str) for v in values):
        return None
    return frozenset(values)


def folded(compute: Callable[..., Any], node: ir.Apply) -> Evaluate | None:
    """Compute a call of constants once. One that fails is left to fail where it is needed."""
    if not node.args or not all(isinstance(arg, ir.Constant) for arg in node.args):
        return None
    try:
        value = compute(*[arg.value for arg in node.args if isinstance(arg, ir.Constant)])
    except ValueFault:
        return None
    return lambda _: value


def or_else(optional: Evaluate, other: Evaluate, node: ir.Apply) -> Evaluate:
    """Plan `or` and `orValue`, which need their argument only where there is no value."""
    take = node.name == "orValue"
    span = node.args[0].span

    def choose(frame: Frame) -> Any:
        first = as_optional(optional(frame), span)
        if first.present:
            return first.value if take else first
        return other(frame)

    return choose


def direct(compute: Callable[..., Any], args: list[Evaluate], span: Span) -> Evaluate:
    """Plan a call whose overload is known."""
    if len(args) == 1:
        (only,) = args

        def call_one(frame: Frame) -> Any:
            try:
                return compute(only(frame))
            except ValueFault as fault:
                raise located(fault, span) from None

        return call_one
    if len(args) == 2:
        left, right = args

        def call_two(frame: Frame) -> Any:
            try:
                return compute(left(frame), right(frame))
            except ValueFault as fault:
                raise located(fault, span) from None

        return call_two

    def call(frame: Frame) -> Any:
        try:
            return compute(*[arg(frame) for arg in args])
        except ValueFault as fault:
            raise located(fault, span) from None

    return call


def costed(
    compute: Callable[..., Any], cost: Callable[..., int], args: Sequence[Evaluate], span: Span
) -> Evaluate:
    """Plan a call that is charged by the sizes of its arguments."""
    if len(args) == 2:
        left, right = args

        def call_two(frame: Frame) -> Any:
            first, second = left(frame), right(frame)
            try:
                charge(frame, cost(first, second), span)
                return compute(first, second)
            except ValueFault as fault:
                raise located(fault, span) from None

        return call_two

    def call(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        try:
            charge(frame, cost(*values), span)
            return compute(*values)
        except ValueFault as fault:
            raise located(fault, span) from None

    return call


def dispatched(dispatcher: Dispatcher, args: Sequence[Evaluate], span: Span) -> Evaluate:
    """Plan a call whose overload the values decide."""

    def call(frame: Frame) -> Any:
        values = tuple([arg(frame) for arg in args])
        try:
            overload = dispatcher.choose(values)
            if overload.cost is not None:
                charge(frame, overload.cost(*values), span)
            return overload.implementation(*values)
        except ValueFault as fault:
            raise located(fault, span) from None

    return call
