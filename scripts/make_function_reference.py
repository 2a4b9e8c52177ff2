"""Writes docs/functions.md from the declarations; with `--check`, says whether it is stale."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import fill
from typing import Final, NamedTuple

from example_values import lines
from function_texts import (
    LIBRARIES,
    MACRO_EXAMPLES,
    MACROS,
    OBJECTS,
    SYNTAX,
    SYNTAX_EXAMPLES,
    TYPES,
    Form,
    Text,
)
from pages import fenced, publish, table
from signatures import Signature, signatures

from policyd.language import macros
from policyd.language.declarations import Function
from policyd.language.dialect import Dialect
from policyd.language.standard import libraries
from policyd.policy.functions import FUNCTIONS

PAGE: Final = "functions.md"
WIDTH: Final = 100

_INTRODUCTION: Final = """\
# Functions

Every operator, macro and function of the language, with its signatures: the types of what it takes
and, behind the arrow, of what it gives. `list(A).size() → int` is called as `[1, 2].size()`,
`size(list(A)) → int` as `size([1, 2])`. A capital letter stands for any type; beside an `X` stands
which it can be. What is "not in Kubernetes" goes beyond its CEL; `policyd check --portable` notes
each use. [language.md](language.md) says what an expression is, [fields.md](fields.md) what `pod`,
`node` and the other names are.

This page is generated from the declarations (`policyd/language/libraries`,
`policyd/language/macros.py`, `policyd/policy/functions/`), and a test runs its examples. In them
`pod` is `examples/gpu-pod.yaml`, `node` is `dragonfly` of the sample cluster, and `now` is noon of
June 1st, 2026.
"""


class _Section(NamedTuple):
    """A part of the page: its heading, the names in it, and its text."""

    title: str
    names: Sequence[str]
    text: str


def page() -> str:
    """Give the page."""
    sections = list(_sections())
    rows = (
        (f"[{each.title}](#{_anchor(each.title)})", " ".join(f"`{name}`" for name in each.names))
        for each in sections
    )
    parts = [_INTRODUCTION, table(("part", "has"), rows), _types()]
    parts += [f"## {each.title}\n\n{each.text}" for each in sections]
    return "\n".join(parts)


def _sections() -> Iterator[_Section]:
    yield _forms("Syntax", "", SYNTAX, SYNTAX_EXAMPLES)
    known = {name for name, _ in macros.MACROS}
    if known != MACROS.keys():
        raise ValueError(f"macros without a sentence, or none: {known ^ MACROS.keys()}")
    intro = "Calls whose arguments are evaluated for each element. The first ones name variables."
    yield _forms("Macros", intro, MACROS, MACRO_EXAMPLES)
    for library in libraries(Dialect.KUBERNETES):
        yield _library(LIBRARIES[library.name], library.functions)
    yield _library(OBJECTS, FUNCTIONS)


def _types() -> str:
    rows = [(f"`{name}`", text) for name, text in TYPES]
    return "## Types\n\n" + table(("type", "values"), rows)


def _forms(title: str, intro: str, forms: Mapping[str, Form], examples: Iterable[str]) -> _Section:
    rows = ((_stacked(map(_code, form.forms)), form.doc) for form in forms.values())
    return _section(Text(title, intro, tuple(examples)), list(forms), rows)


def _library(text: Text, functions: Sequence[Function]) -> _Section:
    groups = [list(group) for _, group in groupby(filter(_is_public, functions), key=_likeness)]
    names = [_spoken(each.name) for group in groups for each in group]
    added = len(functions) > 1 and not any(_in_kubernetes(each) for each in functions)
    if added:
        text = text._replace(intro=f"{text.intro} Kubernetes has none of these.".strip())
    return _section(text, names, (_row(group, marked=not added) for group in groups))


def _section(text: Text, names: Sequence[str], rows: Iterable[Sequence[str]]) -> _Section:
    parts = [fill(text.intro, WIDTH, break_on_hyphens=False) + "\n"] if text.intro else []
    parts += [table(("call", "does"), rows), fenced("cel", lines(text.examples))]
    return _Section(text.title, names, "\n".join(parts))


def _is_public(function: Function) -> bool:
    return not function.name.startswith("@") or function.name == "@in"


def _in_kubernetes(function: Function) -> bool:
    return any(each.portable for each in function.overloads)


def _likeness(function: Function) -> tuple[str, object]:
    """Put operators that differ in nothing but their sign into one row."""
    alike = tuple(signatures(function.overloads)) if "_" in function.name else function.name
    return function.doc, alike


def _row(group: Sequence[Function], *, marked: bool) -> tuple[str, str]:
    first, *others = group
    if not first.doc:
        raise ValueError(f"`{first.name}` has no doc")
    some = _in_kubernetes(first)
    calls = [_call(first.name, each, marked=some) for each in signatures(first.overloads)]
    if others:
        calls.append("and so " + " ".join(_code(_spoken(each.name)) for each in others))
    return _stacked(calls), first.doc if some or not marked else f"{first.doc} Not in Kubernetes."


def _call(name: str, signature: Signature, *, marked: bool) -> str:
    """Write a call; `marked` says that what Kubernetes lacks is marked here."""
    remark = (signature if marked else replace(signature, portable=True)).remark()
    return _code(signature.text(name)) + (f", {remark}" if remark else "")


def _code(text: str) -> str:
    return f"`{text}`"


def _stacked(texts: Iterable[str]) -> str:
    return "<br>".join(texts)


def _spoken(name: str) -> str:
    """Give an operator as it is written: `_+_` is `+`, `@in` is `in`."""
    if name.startswith(("_", "@", "!", "-")):
        return name.strip("_@")
    return name


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    sys.exit(publish(PAGE, page(), sys.argv[1:]))
