"""Values that stand for types, as `type(x)` and the type names in expressions give."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: `type(1) == int`. Equal by name."""

    name: str

    def __str__(self) -> str:
        return self.name
