"""The pages that are made from the code are those that the code gives, and cover all of it."""

import re
import subprocess
import sys

import pytest

from policyd.language.dialect import Dialect
from policyd.language.macros import MACROS
from policyd.language.standard import libraries, standard_constants
from policyd.policy.functions import FUNCTIONS
from policyd.policy.scope import FACTS
from scripts import function_texts
from tests.shared import ROOT

SCRIPTS = ["make_function_reference.py", "make_field_reference.py"]
SECTIONS = {
    **{library.name: library.functions for library in libraries(Dialect.KUBERNETES)},
    "objects": FUNCTIONS,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_page_is_not_stale(script):
    command = [sys.executable, ROOT / "scripts" / script, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_make_docs_writes_every_page_that_a_script_makes():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"scripts/{script}" in makefile


def _spoken(name):
    return name.strip("_@") if name.startswith(("_", "@", "!", "-")) else name


@pytest.mark.parametrize("library", SECTIONS)
def test_every_function_has_a_sentence_and_an_example(library):
    text = function_texts.OBJECTS if library == "objects" else function_texts.LIBRARIES[library]
    for function in SECTIONS[library]:
        if function.name == "@sortByAssociatedKeys":  # what the macro `sortBy` becomes
            continue
        assert re.fullmatch(r"[A-Z].*\.", function.doc), f"{function.name}: {function.doc!r}"
        word = re.escape(_spoken(function.name))
        bounded = rf"(?<![\w.]){word}\(|\.{word}\(" if word[0].isalpha() and word != "in" else word
        assert any(re.search(bounded, each) for each in text.examples), f"{function.name}"


def test_every_macro_has_an_example():
    for name, _ in MACROS:
        assert any(f"{name}(" in each for each in function_texts.MACRO_EXAMPLES), name


def test_the_page_of_functions_names_every_type_that_is_a_value():
    page = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
    assert not [name for name in standard_constants(Dialect.KUBERNETES) if name not in page]


@pytest.mark.parametrize("name", FACTS)
def test_the_page_of_fields_has_every_short_name(name):
    page = (ROOT / "docs" / "fields.md").read_text(encoding="utf-8")
    section = page.partition(f"\n### {name}\n")[2].partition("\n##")[0]
    assert not [field for field in FACTS[name] if f"\n| `{field}` |" not in section]
