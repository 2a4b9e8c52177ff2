"""Which types agree, and what the type variables of a check stand for.

The rules are cel-go's (`checker/types.go`), so that deduced types are the ones that Kubernetes
deduces; nullable types are ours.
"""

from itertools import count
from typing import Final

from policyd.language.types import DYN, NULL, Kind, Type, nullable

_ANY: Final = (Kind.DYN, Kind.ERROR)
_NULLABLE: Final = (Kind.OBJECT, Kind.NULLABLE, Kind.OPTIONAL, Kind.OPAQUE)


class Substitution:
    """What the type variables of one check stand for so far. Belongs to one checker."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._fresh = count()

    def fresh(self) -> Type:
        """Make a type variable that stands for nothing yet."""
        return Type(Kind.VAR, f"_var{next(self._fresh)}")

    def instantiate(self, params: tuple[Type, ...], result: Type) -> tuple[tuple[Type, ...], Type]:
        """Give a signature with fresh variables for its type parameters."""
        names: dict[Type, Type] = {}
        return tuple(self._replace(p, names) for p in params), self._replace(result, names)

    def _replace(self, type_: Type, names: dict[Type, Type]) -> Type:
        if type_.kind is Kind.PARAM:
            if type_ not in names:
                names[type_] = self.fresh()
            return names[type_]
        if not type_.params:
            return type_
        return Type(type_.kind, type_.name, tuple(self._replace(p, names) for p in type_.params))

    def resolve(self, type_: Type, *, unbound: Type | None = None) -> Type:
        """Give a type with what its variables stand for; `unbound` for those that are free."""
        if type_.kind is Kind.VAR:
            bound = self._bound.get(type_)
            if bound is not None:
                return self.resolve(bound, unbound=unbound)
            return type_ if unbound is None else unbound
        if not type_.params:
            return type_
        params = tuple(self.resolve(p, unbound=unbound) for p in type_.params)
        if type_.kind is Kind.NULLABLE:
            return nullable(params[0])
        return Type(type_.kind, type_.name, params)

    def final(self, type_: Type) -> Type:
        """Give a type with what its variables stand for, and dyn for the rest."""
        return self.resolve(type_, unbound=DYN)

    def assignable(
        self, given: tuple[Type, ...], wanted: tuple[Type, ...], *, lenient: bool = False
    ) -> bool:
        """Say whether values of the given types can stand where the wanted are, and bind.

        `lenient` lets a nullable stand where its inner type is wanted.
        """
        before = dict(self._bound)
        if len(given) == len(wanted) and all(
            self._agree(g, w, lenient) for g, w in zip(given, wanted, strict=True)
        ):
            return True
        self._bound = before
        return False

    def join(self, left: Type, right: Type) -> Type | None:
        """Give the type that holds values of both; `None` where there is none."""
        if self.assignable((left,), (right,)):
            return self.most_general(left, right)
        if left.kind is Kind.NULLABLE and self.assignable((right,), (left.params[0],)):
            return left
        if right.kind is Kind.NULLABLE and self.assignable((left,), (right.params[0],)):
            return right
        return None

    def _agree(self, left: Type, right: Type, lenient: bool) -> bool:  # noqa: FBT001 - recursion
        if left.kind is Kind.VAR:
            return self._bind(left, right, lenient)
        if right.kind is Kind.VAR:
            return self._bind(right, left, lenient)
        if left.kind in _ANY or right.kind in _ANY:
            return True
        if NULL in (left, right):
            other = right if left == NULL else left
            return other == NULL or other.kind in _NULLABLE
        if left.kind is Kind.NULLABLE and right.kind is not Kind.NULLABLE:
            return lenient and self._agree(left.params[0], right, lenient)
        if right.kind is Kind.NULLABLE and left.kind is not Kind.NULLABLE:
            return self._agree(left, right.params[0], lenient)
        if left.kind is Kind.TYPE and right.kind is Kind.TYPE:
            return True
        return (
            left.kind is right.kind
            and left.name == right.name
            and len(left.params) == len(right.params)
            and all(
                self._agree(a, b, lenient) for a, b in zip(left.params, right.params, strict=True)
            )
        )

    def _bind(self, var: Type, other: Type, lenient: bool) -> bool:  # noqa: FBT001 - recursion
        if var == other:
            return True
        bound = self._bound.get(var)
        if bound is None:
            if self._occurs(var, other):
                return False
            self._bound[var] = other
            return True
        if bound == other:
            return True
        if not (self._agree(other, bound, lenient) or self._nullable_pair(other, bound)):
            return False
        if self._occurs(var, other):
            return False
        general = self.most_general(other, bound)
        if general != var:
            self._bound[var] = general
        return True

    def _nullable_pair(self, left: Type, right: Type) -> bool:
        """Let a parameter that meets a type and its nullable stand for the nullable."""
        if left.kind is Kind.NULLABLE and right.kind is not Kind.NULLABLE:
            return self._agree(left.params[0], right, lenient=False)
        return False

    def _occurs(self, var: Type, inside: Type) -> bool:
        if inside == var:
            return True
        if inside.kind is Kind.VAR:
            bound = self._bound.get(inside)
            return bound is not None and self._occurs(var, bound)
        return any(self._occurs(var, p) for p in inside.params)

    def most_general(self, left: Type, right: Type) -> Type:
        """Give the less specific of two types that agree."""
        if NULL in (left, right):
            return right if left == NULL else left
        if left.kind is Kind.NULLABLE:
            return left
        if right.kind is Kind.NULLABLE:
            return right
        return left if self._less_specific(left, right) else right

    def _less_specific(self, left: Type, right: Type) -> bool:
        if left.kind in _ANY or left.kind is Kind.VAR:
            return True
        if right.kind in _ANY or right.kind is Kind.VAR:
            return False
        if left.kind is not right.kind:
            return False
        if left.kind is Kind.TYPE:
            return True
        if len(left.params) != len(right.params) or left.name != right.name:
            return False
        return all(
            self._less_specific(a, b) for a, b in zip(left.params, right.params, strict=True)
        )
