"""Reads the two formats of case files, and the exceptions that the documentation allows.

A file of the CEL conformance suite holds rows with an `id`; a file of Kubernetes' answers holds
rows with a `group`. Both become a list of `Case`.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policyd.language.declarations import Function, Overload
from policyd.language.dialect import Dialect
from policyd.language.types import DYN, Type, parse_type
from policyd.values.errors import ValueFault
from tests.conformance.tagged import decode


@dataclass(frozen=True)
class Expected:
    """What a case wants: a value (tagged), or an error, and perhaps the static type.

    `phase` says when the error comes (`compile`, `program` or `eval`; empty where any will do);
    `message` is how the engine that made the row words it.
    """

    value: Mapping[str, Any] | None
    error: bool
    type: str | None
    phase: str = ""
    message: str = ""


@dataclass(frozen=True)
class Case:
    """One row: an expression, what it is evaluated with, and what is to come out."""

    id: str
    group: str
    expr: str
    dialect: Dialect
    types: Mapping[str, Type]
    bindings: Mapping[str, Any]
    functions: tuple[Function, ...]
    container: str
    check: bool
    evaluate: bool
    expected: Expected

    @property
    def key(self) -> str:
        """Give the name under which the documentation lists it as an exception."""
        return self.id if self.dialect is Dialect.CEL else self.expr


def load(path: Path) -> list[Case]:
    """Read a file of either format.

    Raises:
        ValueError: the file is of neither.
    """
    rows = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and "expr" in row for row in rows
    ):
        raise ValueError(f"{path}: not a list of cases")
    if all("id" in row for row in rows):
        return [_conformance(row) for row in rows]
    if all("group" in row for row in rows):
        counts: Counter[str] = Counter()
        return [_vector(row, counts) for row in rows]
    raise ValueError(f"{path}: the rows have neither `id` nor `group`")


def _conformance(row: Mapping[str, Any]) -> Case:
    declared = row.get("type_env") or {}
    tagged = row.get("bindings") or {}
    types = {name: parse_type(it) for name, it in declared.items() if isinstance(it, str)}
    functions = [_function(name, it) for name, it in declared.items() if isinstance(it, list)]
    want = row["expected"]
    return Case(
        id=row["id"],
        group=row["file"],
        expr=row["expr"],
        dialect=Dialect.CEL,
        types=dict.fromkeys(tagged, DYN) | types,
        bindings={name: decode(value) for name, value in tagged.items()},
        functions=tuple(functions),
        container=row.get("container") or "",
        check=not row.get("disable_check"),
        evaluate=not row.get("check_only"),
        expected=Expected(
            value=want.get("value"),
            error=bool(want.get("error")),
            type=want.get("type"),
            message=want.get("message_hint") or "",
        ),
    )


def _function(name: str, overloads: list[Mapping[str, Any]]) -> Function:
    """Declare a function that a row only type-checks; calling it would be a mistake."""

    def absent(*_: Any) -> Any:
        raise ValueFault(f"`{name}` is declared without an implementation")

    return Function(
        name,
        tuple(
            Overload(
                id=it["overload"],
                params=tuple(map(parse_type, it["params"])),
                result=parse_type(it["result"]),
                implementation=absent,
                member=it["receiver"],
            )
            for it in overloads
        ),
    )


def _vector(row: Mapping[str, Any], counts: Counter[str]) -> Case:
    counts[row["group"]] += 1
    bindings = row.get("bindings_json") or {}
    want = row["expected"]
    return Case(
        id=f"{row['group']}/{counts[row['group']]}",
        group=row["group"],
        expr=row["expr"],
        dialect=Dialect.KUBERNETES,
        types=dict.fromkeys(bindings, DYN),
        bindings=bindings,
        functions=(),
        container="",
        check=True,
        evaluate=True,
        expected=Expected(
            value=want.get("value"),
            error=bool(want.get("error")),
            type=row.get("type"),
            phase=want.get("phase", ""),
            message=want.get("message", ""),
        ),
    )


@dataclass(frozen=True)
class Documented:
    """An allowed difference: what the page says is answered instead, and why."""

    answer: str
    reason: str


def exceptions(page: Path) -> dict[str, Documented]:
    """Read the allowed differences from a page, by case.

    A table row whose first two cells are code is one; the last cell is the reason. In a cell
    `\\|` stands for a bar, and in a case `⏎` for a line end.

    Raises:
        ValueError: a case is listed twice, or without a reason.
    """
    found: dict[str, Documented] = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [_code(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or cells[0] is None or cells[1] is None:
            continue
        key, reason = cells[0].replace("⏎", "\n"), line.rsplit("|", 2)[1].strip()
        if key in found or not reason:
            raise ValueError(f"{page}: `{key}` is listed twice or without a reason")
        found[key] = Documented(cells[1], reason)
    return found


def _code(cell: str) -> str | None:
    """Give the text of a cell that is one piece of code."""
    code = re.fullmatch(r"\s*(`+) ?(.+?) ?\1\s*", cell)
    return code[2].replace(r"\|", "|") if code else None
