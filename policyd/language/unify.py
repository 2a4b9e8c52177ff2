"""Which types agree, and what the type variables of a check stand for.

The rules are cel-go's (`checker/types.go`), so that deduced types are the ones that Kubernetes
deduces; nullable types are ours.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final

from policyd.language.types import (
    DYN,
    MAX_PARTS,
    NULL,
    Kind,
    Type,
    composed,
    nullable,
)

_ANY: Final = (Kind.DYN, Kind.ERROR)
_TAKES_NULL: Final = (Kind.OBJECT, Kind.NULLABLE, Kind.OPTIONAL, Kind.OPAQUE)
_MAX_STEPS: Final = 5_000
"""Steps of one question whether types agree. Variables that stand for types of variables can make
types of exponential size; such types agree with nothing."""


class Substitution:
    """What the type variables of one check stand for so far. Belongs to one checker."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []  # what was bound, to take it back
        self._steps = 0
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
        params = tuple([self._replace(p, names) for p in type_.params])
        return composed(type_.kind, type_.name, params)

    def resolve(self, type_: Type, *, unbound: Type | None = None) -> Type:
        """Give a type with what its variables stand for; `unbound` for those that are free."""
        if type_.kind is not Kind.VAR and not type_.params:
            return type_
        return self._resolved(type_, unbound, {}, 0)

    def _resolved(
        self, type_: Type, unbound: Type | None, known: dict[Type, Type], depth: int
    ) -> Type:
        if depth > MAX_PARTS:
            return DYN
        if type_.kind is Kind.VAR:
            last = self._last(type_)
            bound = self._bound.get(last)
            if bound is None:
                return last if unbound is None else unbound
            if last not in known:
                known[last] = self._resolved(bound, unbound, known, depth + 1)
            return known[last]
        if not type_.params:
            return type_
        params = tuple([self._resolved(p, unbound, known, depth + 1) for p in type_.params])
        if type_.kind is Kind.NULLABLE:
            return nullable(params[0])
        return composed(type_.kind, type_.name, params)

    def _last(self, var: Type) -> Type:
        """Follow variables that stand for variables to the last one, and shorten the way."""
        passed: list[Type] = []
        while (bound := self._bound.get(var)) is not None and bound.kind is Kind.VAR:
            passed.append(var)
            var = bound
        for before in passed[:-1]:
            self._set(before, var)
        return var

    def final(self, type_: Type) -> Type:
        """Give a type with what its variables stand for, and dyn for the rest."""
        return self.resolve(type_, unbound=DYN)

    def assignable(
        self, given: tuple[Type, ...], wanted: tuple[Type, ...], *, lenient: bool = False
    ) -> bool:
        """Say whether values of the given types can stand where the wanted are, and bind.

        `lenient` lets a nullable stand where its inner type is wanted.
        """
        self._steps = 0
        self._trail.clear()
        if len(given) == len(wanted) and all(
            self._agree(g, w, lenient) for g, w in zip(given, wanted, strict=True)
        ):
            return True
        self.take_back()
        return False

    def take_back(self) -> None:
        """Undo what the last `assignable` has bound."""
        for var, before in reversed(self._trail):
            if before is None:
                del self._bound[var]
            else:
                self._bound[var] = before
        self._trail.clear()

    def join(self, left: Type, right: Type) -> Type | None:
        """Give the type that holds values of both; `None` where there is none."""
        if self.assignable((left,), (right,)):
            return self.most_general(left, right)
        if left.kind is Kind.NULLABLE and self.assignable((right,), (left.params[0],)):
            return left
        if right.kind is Kind.NULLABLE and self.assignable((left,), (right.params[0],)):
            return right
        return None

    def _agree(
        self,
        left: Type,
        right: Type,
        lenient: bool,  # noqa: FBT001 - recursion
        depth: int = 0,
    ) -> bool:
        self._steps += 1
        if depth > MAX_PARTS or self._steps > _MAX_STEPS:
            return False
        depth += 1
        if left.kind is Kind.VAR:
            return self._bind(left, right, lenient, depth)
        if right.kind is Kind.VAR:
            return self._bind(right, left, lenient, depth)
        if left.kind in _ANY or right.kind in _ANY:
            self._open(right if left.kind in _ANY else left)
            return True
        if NULL in (left, right):
            other = right if left == NULL else left
            return other == NULL or other.kind in _TAKES_NULL
        if left.kind is Kind.NULLABLE and right.kind is not Kind.NULLABLE:
            return lenient and self._agree(left.params[0], right, lenient, depth)
        if right.kind is Kind.NULLABLE and left.kind is not Kind.NULLABLE:
            return self._agree(left, right.params[0], lenient, depth)
        if left.kind is Kind.TYPE and right.kind is Kind.TYPE:
            return True
        return (
            left.kind is right.kind
            and left.name == right.name
            and len(left.params) == len(right.params)
            and all(
                self._agree(a, b, lenient, depth)
                for a, b in zip(left.params, right.params, strict=True)
            )
        )

    def _bind(self, var: Type, other: Type, lenient: bool, depth: int) -> bool:  # noqa: FBT001 - recursion
        var = self._last(var)
        if other.kind is Kind.VAR:
            other = self._last(other)
        if var == other:
            return True
        if self._occurs(var, other):
            return False
        bound = self._bound.get(var)
        if bound is None:
            self._set(var, other)
            return True
        if bound == other:
            return True
        if not (
            self._agree(other, bound, lenient, depth) or self._nullable_pair(other, bound, depth)
        ):
            return False
        general = self.most_general(other, bound)
        if general != var:
            self._set(var, general)
        return True

    def _open(self, type_: Type) -> None:
        """Let the free variables in a type that met dyn be dyn: its values can be anything."""
        if type_.kind is Kind.VAR or type_.params:
            for var in self._variables(type_):
                if var not in self._bound:
                    self._set(var, DYN)

    def _set(self, var: Type, type_: Type) -> None:
        self._trail.append((var, self._bound.get(var)))
        self._bound[var] = type_

    def _nullable_pair(self, left: Type, right: Type, depth: int) -> bool:
        """Let a parameter that meets a type and its nullable stand for the nullable."""
        if left.kind is Kind.NULLABLE and right.kind is not Kind.NULLABLE:
            return self._agree(left.params[0], right, False, depth)  # noqa: FBT003 - not lenient
        return False

    def _occurs(self, var: Type, inside: Type) -> bool:
        return any(each == var for each in self._variables(inside))

    def _variables(self, inside: Type) -> Iterator[Type]:
        """Give the variables in a type, and those in what they stand for, once each."""
        waiting = [inside]
        seen: set[Type] = set()
        while waiting:
            type_ = waiting.pop()
            waiting.extend(type_.params)
            if type_.kind is Kind.VAR and type_ not in seen:
                seen.add(type_)
                if type_ in self._bound:
                    waiting.append(self._bound[type_])
                yield type_

    def most_general(self, left: Type, right: Type) -> Type:
        """Give the type of the values of two types that agree."""
        if left == right:
            return left
        if NULL in (left, right):
            other = right if left == NULL else left
            # An optional may be null without saying so, as in CEL; its functions look.
            return nullable(other) if other.kind in (Kind.OBJECT, Kind.OPAQUE) else other
        if Kind.NULLABLE in (left.kind, right.kind):
            return nullable(self.most_general(_not_null(left), _not_null(right)))
        if left.kind in _ANY or right.kind in _ANY:
            return left if left.kind in _ANY else right
        if Kind.VAR in (left.kind, right.kind) or not left.params:
            return left if left.kind is Kind.VAR else right
        if left.kind is Kind.TYPE:
            return left
        params = zip(left.params, right.params, strict=True)
        return composed(left.kind, left.name, tuple([self.most_general(*pair) for pair in params]))


def _not_null(type_: Type) -> Type:
    return type_.params[0] if type_.kind is Kind.NULLABLE else type_
