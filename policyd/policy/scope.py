"""What each name in a rule is: the types of `pod`, `node` and the others, and their fields.

The API's objects come from its own schema, the short names from the model's classes. Objects
are turned into the checker's form when they are first asked for.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from policyd.language.blocks import BLOCKS
from policyd.language.declarations import Derived, Field, ObjectType
from policyd.language.types import (
    DOUBLE,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    object_type,
    parse_type,
)
from policyd.model.cluster import Cluster
from policyd.model.devices import Device
from policyd.model.namespace import Namespace
from policyd.model.node import Node
from policyd.model.objects import DERIVED as DERIVATIONS
from policyd.model.pod import Pod
from policyd.model.schema import api_types, description
from policyd.model.storage import Volume
from policyd.model.workload import Shape
from policyd.policy.functions.facts import (
    AffinityDomains,
    SpreadConstraint,
    SpreadDomains,
    VolumeBinding,
    VolumeClaim,
)

FACTS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    fact.cel_type: fact.FIELDS
    for fact in (
        *(Pod, Node, Namespace, Cluster, Device, Shape),
        *(SpreadConstraint, SpreadDomains, AffinityDomains, VolumeClaim, VolumeBinding, Volume),
    )
}
"""The short names of the model's classes: for each field its type and one sentence."""

DERIVED: Final[Mapping[str, Derived]] = {
    name: Derived(*derivation) for name, derivation in DERIVATIONS.items()
}
"""The derived fields of the model's objects, by their names."""

VARIABLES: Final[Mapping[str, Type]] = {
    "pod": object_type("Pod"),
    "node": object_type("Node"),
    "feasible": list_of(object_type("Node")),
    "namespace": object_type("Namespace"),
    "cluster": object_type("Cluster"),
    "victim": object_type("Victim"),
    "tenant": object_type("Tenant"),
    "device": object_type("Device"),
    "params": object_type("Params"),
    "now": TIMESTAMP,
    "raw": DOUBLE,
    "min": DOUBLE,
    "max": DOUBLE,
    "dominant": STRING,
}
"""Every name that some clause may read, and its type."""

_AMOUNTS: Final = "map(string, quantity)"
_DECLARED: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Tenant": {
        "name": ("string", "The last part of the tenant's path."),
        "path": ("string", "The whole path, its parts joined by `/`."),
        "parent": ("Tenant?", "The tenant above, or null at the top."),
        "usage": (_AMOUNTS, "The requests of the tenant's bound and assumed pods."),
        "guarantee": (_AMOUNTS, "What the tenant can always have."),
        "limit": (_AMOUNTS, "What the tenant may not go beyond."),
        "weight": ("double", "How much of a fair division is the tenant's."),
        "share": ("double", "The tenant's share, by the measure of its `share` block."),
        "pending": ("int", "How many pods of the tenant wait."),
    },
}


class Objects(Mapping[str, ObjectType]):
    """The objects with fields, by the names that types have for them."""

    def __init__(self, params: Mapping[str, Type] | None = None) -> None:
        self._params = params or {}

    def __getitem__(self, name: str) -> ObjectType:
        if name == "Params":
            fields = {key: Field(type_) for key, type_ in self._params.items()}
            return ObjectType("Params", fields, "The parameters of the rule set.")
        return _object(name)

    def __iter__(self) -> Iterator[str]:
        yield from (*FACTS, *_DECLARED, "Victim", "Params", *api_types())

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache(maxsize=1024)
def _object(name: str) -> ObjectType:
    if name in FACTS:
        return _native(name, FACTS[name])
    if name == "Victim":
        started = {"started": ("timestamp?", "When the pod's containers started, or null.")}
        return _native(name, {**FACTS["Pod"], **started})
    if name in _DECLARED:
        return _native(name, _DECLARED[name])
    fields = {
        field: Field(parse_type(text), description(name, field))
        for field, text in api_types()[name].items()
    }
    return ObjectType(name, fields, description(name))


def _native(name: str, declared: Mapping[str, tuple[str, str]]) -> ObjectType:
    return ObjectType(name, {field: _field(field, *each) for field, each in declared.items()})


def _field(name: str, text: str, doc: str) -> Field:
    return Field(parse_type(text), doc, native=True, derived=DERIVED.get(name))


def variables_for(reads: tuple[str, ...]) -> Mapping[str, Type]:
    """Give the types of the names that a clause may read."""
    return {name: VARIABLES[name] for name in reads}


def unavailable_for(reads: tuple[str, ...], where: str) -> Mapping[str, str]:
    """Give, for the names that a clause may not read, the sentence that says so."""
    return {
        name: f"`{name}` is not known in {where}; it is read in {_places(name)}"
        for name in VARIABLES
        if name not in reads
    }


@lru_cache(maxsize=64)
def _places(name: str) -> str:
    """Say in which clauses a name can be read."""
    clauses = [
        f"`{word}` of `{block}`"
        for block, spec in BLOCKS.items()
        for word, clause in spec.clauses.items()
        if name in clause.reads
    ]
    shown = clauses[:3]
    return ", ".join(shown) + (" and others" if len(clauses) > len(shown) else "")
