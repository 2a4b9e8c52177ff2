"""The schema of the Kubernetes objects that rules can see, as `scripts/make_schema.py` wrote it.

Read when it is first asked for: the descriptions, which only help and hover show, apart from the
rest. A type is written as `language.types.parse_type` reads it, an object by its name: `v1.Pod`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Schema:
    """Objects by name and their fields, by the names they have in JSON.

    `types` gives each field's type. Quantities have the type `string` there (a map of quantities
    `map(string, string)`), as expressions see them, though JSON may write them as numbers:
    `quantities` names them. `int_or_string` names the fields of type `dyn` that hold an int or a
    string. `kubernetes` is the version of the `kubernetes` package that all this was read from.
    """

    kubernetes: str
    types: Mapping[str, Mapping[str, str]]
    quantities: Mapping[str, frozenset[str]]
    int_or_string: Mapping[str, frozenset[str]]


@cache
def schema() -> Schema:
    """Give the schema, reading it the first time."""
    content = _read("schema.json")
    return Schema(
        kubernetes=content["kubernetes"],
        types=_frozen(content["types"]),
        quantities=_names(content["quantities"]),
        int_or_string=_names(content["intOrString"]),
    )


def api_types() -> Mapping[str, Mapping[str, str]]:
    """Give the type's text of each field of each object: `["v1.Pod"]["spec"]` is `v1.PodSpec`."""
    return schema().types


def description(type_name: str, field: str = "") -> str:
    """Give the API's own description of a field or, without `field`, of an object.

    A field that the API leaves without one is described by its type. Empty where there is none,
    also for names that do not exist.
    """
    texts = _descriptions()
    if text := texts.get(type_name, {}).get(field):
        return text
    inner = api_types().get(type_name, {}).get(field, "")
    return texts.get(inner, {}).get("", "")


@cache
def _descriptions() -> Mapping[str, Mapping[str, str]]:
    return _frozen(_read("descriptions.json")["descriptions"])


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / name).read_bytes())
    return content


def _frozen(content: dict[str, dict[str, str]]) -> Mapping[str, Mapping[str, str]]:
    return MappingProxyType({name: MappingProxyType(inner) for name, inner in content.items()})


def _names(content: dict[str, list[str]]) -> Mapping[str, frozenset[str]]:
    return MappingProxyType({name: frozenset(fields) for name, fields in content.items()})
