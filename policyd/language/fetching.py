"""Closures that fetch: fields, items, and what may not be there."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from policyd.language.access import find_field, find_item, index_value, select_field
from policyd.language.equality import type_value
from policyd.language.errors import EvaluationError
from policyd.language.sizes import COMPARED
from policyd.language.source import Span
from policyd.language.work import Evaluate, Frame, charge, located
from policyd.values.errors import ValueFault
from policyd.values.optional import Optional


def attributed(compute: Callable[..., Any], first: Any, second: Any, span: Span) -> Any:
    """Compute, and say where it failed if it does."""
    try:
        return compute(first, second)
    except ValueFault as fault:
        raise located(fault, span) from None


def as_optional(value: Any, span: Span) -> Optional:
    """Take a value for the optional that it must be."""
    if value.__class__ is Optional:
        made: Optional = value
        return made
    raise EvaluationError(f"an optional is needed here, not {type_value(value)}", span)


def native_field(operand: Evaluate, name: str, span: Span) -> Evaluate:
    """Fetch a field that is an attribute of an object of the model."""
    get = attrgetter(name)

    def select(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return get(value)
        except AttributeError:
            return attributed(select_field, value, name, span)
        except ValueFault as fault:  # a field that is read from the object's JSON when asked for
            raise located(fault, span) from None

    return select


def constant_item(operand: Evaluate, key: str, span: Span) -> Evaluate:
    """Fetch the entry of a map under a key that the text gives."""

    def item(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return value[key]
        except (KeyError, TypeError):
            return attributed(index_value, value, key, span)

    return item


def variable_item(operand: Evaluate, index: Evaluate, span: Span) -> Evaluate:
    """Fetch an item whose index is computed."""

    def item(frame: Frame) -> Any:
        value, key = operand(frame), index(frame)
        if key.__class__ is str:
            charge(frame, len(key) // COMPARED, span)
        return attributed(index_value, value, key, span)

    return item


def optional_field(operand: Evaluate, name: str, span: Span) -> Evaluate:
    """Fetch `a.?b`."""

    def select(frame: Frame) -> Optional:
        found: Optional = attributed(find_field, operand(frame), name, span)
        return found

    return select


def optional_item(operand: Evaluate, index: Evaluate, span: Span) -> Evaluate:
    """Fetch `a[?b]`."""

    def item(frame: Frame) -> Optional:
        value, key = operand(frame), index(frame)
        if key.__class__ is str:
            charge(frame, len(key) // COMPARED, span)
        found: Optional = attributed(find_item, value, key, span)
        return found

    return item
