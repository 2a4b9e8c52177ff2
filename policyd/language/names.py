"""What an expression may use: variables, functions, objects' fields, lets, constants.

Names never change once they are made; everything in them may be shared between threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from policyd.language.declarations import Derived, Function, ObjectType
from policyd.language.dialect import Dialect
from policyd.language.standard import functions_with, standard_constants
from policyd.language.syntax import Let
from policyd.language.types import Type


@dataclass(frozen=True)
class Names:
    """The names that are in scope, and the dialect.

    `unavailable` has names that exist elsewhere in the language, with the sentence that says
    where. `container` is the prefix in which names are looked up first, as CEL defines it.
    `derived` has the derived fields of all objects by their names, for values whose type is
    not known: such a name is derived in the same way wherever it is.
    """

    dialect: Dialect = Dialect.KUBERNETES
    variables: Mapping[str, Type] = field(default_factory=dict)
    functions: Sequence[Function] = ()
    objects: Mapping[str, ObjectType] = field(default_factory=dict)
    lets: Mapping[str, Let] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    container: str = ""
    derived: Mapping[str, Derived] = field(default_factory=dict)

    @cached_property
    def function_table(self) -> Mapping[str, Function]:
        """Give every function by its name; overloads of one name from several places joined."""
        return functions_with(self.dialect, tuple(self.functions))

    @cached_property
    def constants(self) -> Mapping[str, tuple[Type, Any]]:
        """Give every named constant: the types, and what libraries declare."""
        return standard_constants(self.dialect)

    def candidates(self, name: str, *, root: bool = False) -> Iterator[str]:
        """Give the full names that a name may stand for, in the order in which to look."""
        if not root:
            container = self.container
            while container:
                yield f"{container}.{name}"
                container = container.rpartition(".")[0]
        yield name
