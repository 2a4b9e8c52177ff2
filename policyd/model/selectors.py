"""Selectors of objects by their labels and of nodes, with the API's meaning.

Follows `LabelSelectorAsSelector` and the node affinity helpers of Kubernetes 1.36. A selector that
is absent selects nothing, an empty one everything.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from policyd.model.wire_placement import (
    LabelRequirement,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
)
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN

Labels = Mapping[str, str | None]

NAME_FIELD: Final = "metadata.name"
"""The only field that a node selector can ask for."""

_DECIMAL: Final = re.compile(r"[+-]?[0-9]++", re.ASCII)
_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NUMERIC: Final = ("Gt", "Lt")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on labels; `number` is what `Gt` and `Lt` compare with."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    number: int = 0

    def matches(self, labels: Labels) -> bool:
        """Say whether labels meet it."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
            case _:
                return self._compares(labels)

    def _compares(self, labels: Labels) -> bool:
        """Say whether the label's value is an integer above or below the number."""
        number = _int64(labels[self.key]) if self.key in labels else None
        if number is None:
            return False
        return number > self.number if self.operator == "Gt" else number < self.number


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that labels must all meet; with `nothing` no labels do."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Say whether it has no requirements, and so selects everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        """Say whether it selects an object with these labels."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def with_requirements(self, more: Iterable[Requirement]) -> "Selector":
        """Give a selector that requires more; what selects nothing stays so."""
        return self if self.nothing else Selector((*self.requirements, *more))


NOTHING: Final = Selector(nothing=True)
EVERYTHING: Final = Selector()


def label_selector(raw: LabelSelector | None) -> Selector:
    """Make a selector of the API's form.

    Raises:
        ValueFault: the API server would refuse it.
    """
    if raw is None:
        return NOTHING
    requirements = list(equal_to(raw.match_labels or {}).requirements)
    for each in raw.match_expressions or ():
        if each is not None:
            if each.operator not in _LABEL_OPERATORS:
                raise ValueFault(f"{each.operator!r} is not a valid label selector operator")
            requirements.append(_requirement(each))
    return Selector(tuple(requirements))


def equal_to(labels: Labels) -> Selector:
    """Make a selector of the objects that have these labels, and maybe more."""
    return Selector(
        tuple(
            Requirement(key, "In", frozenset({value or ""}))
            for key, value in sorted(labels.items())
        )
    )


def _requirement(raw: LabelRequirement) -> Requirement:
    """Make a requirement.

    Raises:
        ValueFault: the API server would refuse it.
    """
    operator = raw.operator or ""
    values = [value or "" for value in raw.values or ()]
    if operator in ("In", "NotIn") and not values:
        raise ValueFault(f"the operator {operator} needs values")
    if operator in ("Exists", "DoesNotExist") and values:
        raise ValueFault(f"the operator {operator} takes no values")
    if wrong := next((value for value in values if not _VALUE.fullmatch(value)), None):
        raise ValueFault(f"{wrong!r} is no value of a label")
    number = 0
    if operator in _NUMERIC:
        found = _int64(values[0]) if len(values) == 1 else None
        if found is None:
            raise ValueFault(f"the operator {operator} needs one integer")
        number = found
    return Requirement(raw.key or "", operator, frozenset(values), number)


def _int64(text: str | None) -> int | None:
    """Read an integer as Go's strconv.ParseInt does; nothing where it is none."""
    if text is None or not _DECIMAL.fullmatch(text) or len(text) > 64:
        return None
    number = int(text)
    return number if INT_MIN <= number <= INT_MAX else None


# --- nodes ---


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A term of a node selector: requirements on labels, and on the name."""

    labels: tuple[Requirement, ...]
    names: tuple[Requirement, ...]

    def matches(self, name: str, labels: Labels) -> bool:
        """Say whether a node meets all of it."""
        own = {NAME_FIELD: name}
        return all(r.matches(labels) for r in self.labels) and (
            not name or all(r.matches(own) for r in self.names)
        )


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """A node selector: one of its terms must match. `names` are those that it allows by name."""

    terms: tuple[NodeTerm, ...]
    names: frozenset[str] | None

    def matches(self, name: str, labels: Labels) -> bool:
        """Say whether it selects a node."""
        return any(term.matches(name, labels) for term in self.terms)


def node_terms(raw: NodeSelector) -> NodeTerms:
    """Make a node selector. A term that is empty or not valid matches no node."""
    given = [term for term in raw.node_selector_terms or () if term is not None]
    made = [node_term(term) for term in given]
    allowed = [_names(term) for term in given]
    names: frozenset[str] | None = frozenset()
    for each in allowed:
        names = None if names is None or each is None else names | each
    return NodeTerms(tuple(term for term in made if term), names if given else None)


def _names(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Give the names that a term allows, valid or not."""
    found: frozenset[str] | None = None
    for each in term.match_fields or ():
        if each is not None and each.key == NAME_FIELD and each.operator == "In":
            values = frozenset(value or "" for value in each.values or ())
            found = values if found is None else found & values
    return found


def node_term(raw: NodeSelectorTerm) -> NodeTerm | None:
    """Make a term; nothing where it is empty or not valid, and so matches no node."""
    expressions = [each for each in raw.match_expressions or () if each is not None]
    fields = [each for each in raw.match_fields or () if each is not None]
    if not expressions and not fields:
        return None
    if any(each.operator not in (*_LABEL_OPERATORS, *_NUMERIC) for each in expressions):
        return None
    if any(f.operator not in ("In", "NotIn") or len(f.values or ()) != 1 for f in fields):
        return None
    try:
        return NodeTerm(
            tuple(map(_requirement, expressions)),
            tuple(map(_requirement, fields)),
        )
    except ValueFault:
        return None
