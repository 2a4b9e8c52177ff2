"""Shows every code once: a text, and what is printed of it.

The snapshots stand in `diagnostics/`, one file for each code: the text, a line, the output. They
are written anew with UPDATE_SNAPSHOTS=1; the difference is for people to read.
"""

import os
import re
from pathlib import Path

import pytest

from policyd.cli.report import of_error
from policyd.language.codes import CODES, explain
from policyd.language.decoding import decode
from policyd.language.diagnostics import RuleError
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.limits import MAX_SOURCE, MAX_TOKENS
from policyd.language.render import render
from policyd.language.source import Source
from policyd.policy.load import examine

FOLDER = Path(__file__).parent / "diagnostics"
PACKAGE = Path(__file__).resolve().parents[2] / "policyd"
LINE = "─" * 80

CALLS_INSIDE_CALLS = "".join(
    f"let f{n + 1}(x) = f{n}(x) + f{n}(x) + f{n}(x) + f{n}(x)\n" for n in range(12)
)

BYTES = {
    "E301": b"// " + b"a" * MAX_SOURCE,
    "E302": b"let deep = " + b"(" * 1000 + b"1" + b")" * 1000,
    "E303": b"let many = [" + b"1," * MAX_TOKENS + b"]",
    "E304": "// caf\u00e9\nlet x = 1\n".encode("latin-1"),
    "E305": b"let x = 1\nlet y = \0 2\n",
    "E306": (f'let f0(x) = x * 2\n{CALLS_INSIDE_CALLS}rule "x" {{\n  prefer f12(1)\n}}\n').encode(),
}
"""Inputs that are no short text."""

EXPRESSIONS = {"E402": "lists.range(1000).map(x, lists.range(1000).map(y, x * y))"}
"""Inputs that are evaluated."""


def reported(code):
    """Give a code's input in words or as it is, and the diagnostics that it gives."""
    if code in EXPRESSIONS:
        return EXPRESSIONS[code], [evaluated(EXPRESSIONS[code])]
    data = BYTES.get(code, CODES[code].example.encode())
    try:
        source = decode("example.expr", data)
    except RuleError as error:
        return shortened(data), error.diagnostics
    _, found = examine([source])
    return shortened(data), found


def evaluated(text):
    environment = Environment()
    program = environment.program(environment.compile(text))
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({})
    return of_error(caught.value, Source("example.expr", text))


def shortened(data):
    """Show an input so that a person can see what it is."""
    text = data.decode("utf-8", "backslashreplace").replace("\0", "\\x00").rstrip("\n")
    cut = re.sub(r"(.{1,2}?)\1{40,}", lambda m: f"{m[1] * 3}…{m[1] * 3}", text)
    return "\n".join(line if len(line) < 120 else f"{line[:100]}…" for line in cut.split("\n"))


@pytest.mark.parametrize("code", sorted(CODES.keys()))
def test_output_of_each_code_is_the_one_of_its_snapshot(code):
    shown, found = reported(code)
    own = [diagnostic for diagnostic in found if diagnostic.code == code]
    assert own, f"{code} is not among {[d.code for d in found]}"
    text = f"{shown}\n{LINE}\n{render(own[0])}\n"
    path = FOLDER / f"{code}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("code", sorted(code for code in CODES if CODES[code].example))
def test_example_of_each_code_gives_it_and_the_better_text_gives_nothing(code):
    _, found = examine([Source("example.expr", CODES[code].example)])
    implied = {"W505": {"W502"}}.get(code, set())
    assert {diagnostic.code for diagnostic in found} - implied == {code}
    _, found = examine([Source("example.expr", CODES[code].instead)])
    assert {diagnostic.code for diagnostic in found} <= {"N601"} - {code}


def test_every_code_is_reported_somewhere_and_no_other_is():
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "codes.py"]
    used = {code for text in texts for code in re.findall(r'"([EWN]\d{3})"', text)}
    assert used == CODES.keys()


def test_every_snapshot_is_of_a_code():
    names = {path.stem for path in FOLDER.glob("*.txt")}
    assert names == CODES.keys()


def test_code_without_an_example_says_what_gives_it():
    for code, known in CODES.items():
        assert bool(known.example) == bool(known.instead), code
        assert len(known.meaning) > 40, code


@pytest.mark.parametrize("code", sorted(CODES))
def test_page_of_a_code_fits_a_terminal(code):
    page = explain(code)
    assert page.startswith(f"{code}: {CODES[code].title}\n\n")
    assert page.endswith("\n")
    assert max(map(len, page.split("\n"))) <= 100
    for part in (CODES[code].example, CODES[code].instead):
        assert all(f"    {line}\n" in page for line in part.splitlines() if line)


def test_unknown_code_has_no_page():
    with pytest.raises(KeyError):
        explain("E999")
