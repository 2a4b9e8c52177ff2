"""An expression that was checked."""

from dataclasses import dataclass

from policyd.language.diagnostics import Diagnostic
from policyd.language.source import Source
from policyd.language.typed import Typed
from policyd.language.types import Type


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression.

    `type` is free of type variables. `slots` is how many local variables it has. `findings`
    are its warnings and notes. `used` has the names of the lets, and `variables` those of the
    variables, that it uses.
    """

    source: Source
    root: Typed
    type: Type
    slots: int
    findings: tuple[Diagnostic, ...]
    used: frozenset[str]
    variables: frozenset[str]
