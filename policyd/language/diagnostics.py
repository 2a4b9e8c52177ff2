"""What is wrong with a text, where, and what to write instead: as data.

Every diagnostic has a code of `codes.py`. Rendering is in `render.py`.
"""

from dataclasses import dataclass
from enum import Enum

from policyd.language.source import Source, Span


class Severity(Enum):
    """An error refuses the rule set, a warning does not, a note is shown when asked for."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement that mends the text: put `text` in the place of `span`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `label` stands beside the marks under the span; `related` marks a second place (the other
    operand, the first declaration); `helps` say what to do; `notes` say why.
    """

    code: str
    message: str
    source: Source
    span: Span
    label: str = ""
    related: tuple[tuple[Span, str], ...] = ()
    helps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    edit: Edit | None = None

    @property
    def severity(self) -> Severity:
        """Give the severity, which the code's first letter tells."""
        return {"E": Severity.ERROR, "W": Severity.WARNING}.get(self.code[0], Severity.NOTE)


class RuleError(Exception):
    """A text that is refused, with all that is wrong with it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
