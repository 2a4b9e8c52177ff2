"""Writes the overloads of a function as few signatures that a reader can take in.

`f(int) → int` and `f(double) → double` become `f(X) → X` with the types that X can be, and
overloads that differ in the number of their arguments alone become one with `…`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from policyd.language.declarations import Overload

SHORT: Final = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "kubernetes.Quantity": "quantity",
    "kubernetes.Semver": "semver",
    "kubernetes.URL": "url",
    "kubernetes.NamedFormat": "format",
    "net.IP": "ip",
    "net.CIDR": "cidr",
    "optional_type": "optional",
    "null_type": "null",
}
"""How the reference calls types with long names."""

_VARYING: Final = (
    *("bool", "int", "uint", "double", "string", "bytes"),
    *("timestamp", "duration", "quantity", "ip", "cidr"),
)
_LEAST_RUN: Final = 3
_WORD: Final = "X"


@dataclass(frozen=True)
class Signature:
    """A call and its result. `types` lists what X can be, `counts` how many arguments there are."""

    params: tuple[str, ...]
    result: str
    member: bool
    portable: bool
    types: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    def text(self, name: str) -> str:
        """Write the call of a function of this name, and what it gives."""
        return f"{self._call(name)} → {self.result}"

    def remark(self) -> str:
        """Say what X can be, how many arguments there may be, and what Kubernetes lacks."""
        parts = []
        if self.types:
            parts.append(f"{_WORD} is {_listed(self.types, 'or')}")
        if self.counts:
            parts.append(f"{min(self.counts)} to {max(self.counts)} arguments")
        if not self.portable:
            parts.append("not in Kubernetes")
        return "; ".join(parts)

    def _call(self, name: str) -> str:
        params = [*self.params, "…"] if self.counts else list(self.params)
        if name == "@in":
            return " in ".join(params)
        if "_" in name and not name[0].isalnum():
            holes = iter(params)
            return "".join(f" {c} " if c in "*/%" else c for c in _filled(name, holes))
        receiver = f"{_grouped(params.pop(0))}." if self.member else ""
        return f"{receiver}{name}({', '.join(params)})"


def signatures(overloads: Sequence[Overload]) -> list[Signature]:
    """Give the signatures, in the order of the overloads."""
    plain = [_of(overload) for overload in overloads]
    counted = list(_joined_counts(plain))
    return sorted(_joined_types(counted), key=lambda s: not s.portable)


def short(type_text: str) -> str:
    """Write a type by its short name."""
    for long, brief in SHORT.items():
        type_text = type_text.replace(long, brief)
    return type_text


def _of(overload: Overload) -> Signature:
    params = tuple(short(str(param)) for param in overload.params)
    return Signature(params, short(str(overload.result)), overload.member, overload.portable)


def _listed(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _grouped(type_text: str) -> str:
    return f"({type_text})" if type_text.endswith("?") else type_text


def _filled(name: str, holes: Iterator[str]) -> Iterator[str]:
    """Put operands in the places that `_` marks: `_+_` becomes `int + int`."""
    operator = name.strip("_")
    if name.startswith("_"):
        yield f"{next(holes)} {operator} {next(holes)}"
    else:
        yield f"{operator}{next(holes)}"


# --- overloads that differ in the number of their arguments ---


def _joined_counts(plain: Sequence[Signature]) -> Iterator[Signature]:
    runs: dict[tuple[str, str, bool, bool], list[int]] = {}
    for each in plain:
        if (key := _alike(each)) is not None:
            runs.setdefault(key, []).append(len(each.params))
    for each in plain:
        counts = tuple(sorted(runs.get(_alike(each) or ("", "", False, False), ())))
        if not _is_run(counts):
            yield each
        elif len(each.params) == counts[0]:
            yield replace(each, params=each.params[:1], counts=counts)


def _alike(each: Signature) -> tuple[str, str, bool, bool] | None:
    """Give what overloads have in common that may differ in the number of arguments alone."""
    if each.member or len(set(each.params)) != 1:
        return None
    return each.params[0], each.result, each.member, each.portable


def _is_run(counts: Sequence[int]) -> bool:
    return len(counts) >= _LEAST_RUN and all(b - a == 1 for a, b in pairwise(counts))


# --- overloads that differ in one type ---


def _joined_types(plain: Sequence[Signature]) -> list[Signature]:
    """Join what follows one pattern, the patterns that cover the most first."""
    left = dict(enumerate(plain))
    made: dict[int, Signature] = {}
    while left:
        patterns: dict[Signature, dict[str, int]] = {}
        for at, each in left.items():
            for type_, pattern in _patterns(each):
                patterns.setdefault(pattern, {}).setdefault(type_, at)
        best = max(patterns, key=lambda p: len(patterns[p]), default=None)
        if best is None or len(patterns[best]) < 2:
            break
        members = patterns[best]
        made[min(members.values())] = replace(best, types=tuple(members))
        for at in members.values():
            del left[at]
    return [each for _, each in sorted({**made, **left}.items())]


def _patterns(each: Signature) -> Iterator[tuple[str, Signature]]:
    """Give what is left of a signature when one of its types becomes X: everywhere, or in part."""
    for type_ in _VARYING:
        params = tuple(_with_word(param, type_) for param in each.params)
        if params == each.params:
            continue
        yield type_, replace(each, params=params, result=_with_word(each.result, type_))
        yield type_, replace(each, params=params)
        for at, param in enumerate(params):
            if param != each.params[at]:
                one = (*each.params[:at], param, *each.params[at + 1 :])
                yield type_, replace(each, params=one)


def _with_word(text: str, type_: str) -> str:
    """Put X in the place of a type, wherever its whole name stands in a type's text."""
    if text == type_:
        return _WORD
    head, bracket, inner = text.partition("(")
    if not bracket:
        return text
    parts = ", ".join(_with_word(part, type_) for part in inner[:-1].split(", "))
    return f"{head}({parts})"
