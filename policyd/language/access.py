"""Selecting fields and items of values whose types are known only when they are there."""

from typing import Any

from policyd.language.equality import type_value
from policyd.values.errors import ValueFault
from policyd.values.maps import decode_key, encode_key
from policyd.values.numbers import Uint
from policyd.values.optional import NONE, Optional

_MAX_SHOWN = 64


def _is_object(value: Any, name: str) -> bool:
    """Say whether a value is an object of the model that declares the field."""
    cls = value.__class__
    return name in getattr(cls, "FIELDS", ()) and name not in getattr(cls, "DERIVED", ())


def select_field(value: Any, name: str) -> Any:
    """Give a field of an object or the value of a map's key; of an optional, as an optional.

    Raises:
        ValueFault: there is no such key, or the value has no fields.
    """
    if isinstance(value, dict):
        try:
            return value[name]
        except KeyError:
            raise ValueFault(f"no such key: {name}") from None
    if _is_object(value, name):
        return getattr(value, name)
    if value.__class__ is Optional:
        return find_field(value, name)
    raise ValueFault(f"no such overload: {type_value(value)} has no field `{name}`")


def find_field(value: Any, name: str) -> Optional:
    """Give a field, as `select_field` does, or nothing where it is not set.

    Raises:
        ValueFault: the value has no fields.
    """
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    return wrapped(select_field(value, name)) if has_field(value, name) else NONE


def has_field(value: Any, name: str) -> bool:
    """Say whether an object has a field set, or a map has a key.

    Raises:
        ValueFault: the value has no fields.
    """
    if isinstance(value, dict):
        return name in value
    if value.__class__ is Optional:
        return value.present and has_field(value.value, name)
    if hasattr(value.__class__, "FIELDS"):
        return _is_object(value, name) and getattr(value, name) is not None
    raise ValueFault(f"no such overload: {type_value(value)} has no field `{name}`")


def index_value(value: Any, index: Any) -> Any:
    """Give an element of a list, or the value of a map's key; of an optional, as an optional.

    Raises:
        ValueFault: there is none, or the value has no elements.
    """
    if value.__class__ is list:
        return _element(value, index)
    if isinstance(value, dict):
        return _entry(value, index)
    if value.__class__ is Optional:
        return find_item(value, index)
    raise ValueFault(f"no such overload: {type_value(value)} cannot be indexed")


def find_item(value: Any, index: Any) -> Optional:
    """Give an item, as `index_value` does, or nothing where there is none.

    Raises:
        ValueFault: the value has no elements, or the elements of a list have no such places.
    """
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    if value.__class__ is list:
        place = _place(index)
        return wrapped(value[place]) if 0 <= place < len(value) else NONE
    if not isinstance(value, dict):
        return wrapped(index_value(value, index))
    key = encode_key(index)
    try:
        return wrapped(value[key]) if key in value else NONE
    except TypeError:
        return NONE


def wrapped(value: Any) -> Optional:
    """Give a value as an optional, unless it is one."""
    return value if value.__class__ is Optional else Optional(value)


def _element(items: list[Any], index: Any) -> Any:
    place = _place(index)
    if not 0 <= place < len(items):
        raise ValueFault(f"index out of bounds: {place}")
    return items[place]


def _place(index: Any) -> int:
    """Give the place in a list that an index means."""
    if index.__class__ is float and index.is_integer():
        return int(index)
    if index.__class__ is not int and index.__class__ is not Uint:
        raise ValueFault(f"no such overload: a list is not indexed by {type_value(index)}")
    place: int = index
    return place


def _entry(entries: dict[Any, Any], key: Any) -> Any:
    try:
        return entries[encode_key(key)]
    except KeyError:
        raise ValueFault(f"no such key: {_shown(key)}") from None
    except TypeError:
        raise ValueFault(f"no such overload: {type_value(key)} is no key") from None


def _shown(key: Any) -> str:
    text = str(decode_key(key)).lower() if key is True or key is False else str(key)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
