"""Runs every example of the README and of docs/.

What a fenced block is for follows from its language: see `LANGUAGES`. `title=NAME` behind it names
the file that commands further down on the page find.
"""

import json
import re

import pytest

from policyd.language.diagnostics import Severity
from policyd.language.render import render
from policyd.language.source import Source
from policyd.model.manifests import read_bytes
from policyd.policy.load import examine
from policyd.ruletests.text import SuiteText, decode_text
from scripts.example_values import shown
from tests.docs.console import play
from tests.docs.pages import WITH_EXAMPLES, read
from tests.shared import ROOT

LANGUAGES = {
    "expr": "a rule file, which compiles without a finding",
    "cel": "expressions with their values behind an arrow, which are what they evaluate to",
    "console": "commands and what they print, which are run",
    "yaml": "manifests, which load, or tests of rules, which decode",
    "json": "data, which can be read as JSON",
    "csv": "data, which the commands around it read",
    "sh": "commands that set up or measure, which are not run here: see `NOT_RUN`",
    "text": "shapes and signatures, which are nothing that could be run",
}

NOT_RUN = {
    r"make (?P<target>[a-z-]+)( [A-Z]+=.*)?": "builds environments; the target must exist",
    r"\. \.venv/bin/activate": "changes the reader's own shell",
    r"pip install dist/\*\.whl": "tests/packaging installs the wheel",
    r"kubectl get [\w, -]+ -o (yaml|json)( > \S+| \| policyd eval .*)?": "needs a cluster",
    r"(\.venv/bin/)?python tests/conformance/run\.py FILE\.json( --\S+.*)?": "reads reference data",
    r"(\.venv/bin/)?python scripts/(?P<script>\w+\.py)( .*)?": "takes long; the script must exist",
    r"(\.venv/bin/)?python -X importtime .*": "prints times",
    r"(\.venv/bin/)?python -m (cProfile|pstats) .*": "prints times",
    r"(\.venv/bin/)?pip install pyinstrument": "installs a package",
    r"(\.venv/bin/)?pyinstrument .*": "prints times",
    r"time (\.venv/bin/)?policyd .*": "prints times",
    r"(\.venv/bin/)?python tests/bench/\w+\.py( .*)?": "measures for long",
    r"(\.venv/bin/)?python -m tests\.bench\.\w+( .*)?": "measures for long",
    r"docker buildx build .*": "needs Docker; tests/packaging looks at the Dockerfile",
    r"helm install policyd charts/policyd .*": "needs a cluster; tests/charts installs the chart",
    r"kubectl (-n policyd )?(apply|describe pod|get lease|rollout status) .*": "needs a cluster",
    r"policyd explain \S+ --live .*": "needs a cluster; tests/cli asks one",
    r"policyd run .*": "does not end by itself; tests/daemon runs it",
}
"""What the lines of `sh` blocks may be, and why they are not run."""

PAGES = {name: read(name) for name in WITH_EXAMPLES}
BLOCKS = [block for page in PAGES.values() for block in page.blocks]
CODE = re.compile(r"([EWN]\d{3}): ")


def blocks_of(language):
    return pytest.mark.parametrize(
        "block", [each for each in BLOCKS if each.language == language], ids=str
    )


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_every_block_of_a_page_has_a_language_that_is_known_here(page):
    unknown = [
        f"{block}: {block.language!r}" for block in page.blocks if block.language not in LANGUAGES
    ]
    assert not unknown


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_no_page_hides_code_by_setting_it_in(page):
    """What is set in by four blanks is code without a language, which nothing runs."""
    hidden = []
    for (number, line), (_, above) in zip(page.prose[1:], page.prose, strict=False):
        if line.startswith("    ") and line.strip() and not above.strip():
            hidden.append(f"{page.name}:{number}")
    assert not hidden, f"write it between ```: {hidden}"


@blocks_of("expr")
def test_a_rule_file_compiles(block):
    _, found = examine([Source(block.attributes.get("title", str(block)), block.text)])
    code = CODE.match(block.heading)
    if block.page == "docs/diagnostics.md" and code and block.lead != "Instead:":
        assert code[1] in {each.code for each in found}
        return
    wrong = [render(each) for each in found if each.severity is not Severity.NOTE]
    assert not wrong, "\n".join(wrong)


@blocks_of("cel")
def test_expressions_have_the_values_that_are_shown(block):
    wrong = []
    for line in block.text.splitlines():
        expression, arrow, value = line.rpartition(" → ")
        assert arrow, f"{block}: `{line}` has no value behind an arrow"
        if (is_ := shown(expression.strip())) != value.strip():
            wrong.append(f"{expression.strip()} → {is_}, and not {value.strip()}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES.values() if any(it.language == "console" for it in page.blocks)],
    ids=lambda page: page.name,
)
def test_commands_print_what_is_shown(page, tmp_path):
    wrong = [command.difference(printed) for command, printed in play(page, tmp_path)]
    wrong = [each for each in wrong if each]
    assert not wrong, "\n\n".join([*wrong, "`python -m tests.docs.update` writes what is printed"])


def test_manifests_load():
    for block in (each for each in BLOCKS if each.language == "yaml" and not _is_of_tests(each)):
        loaded = read_bytes(block.text.encode(), str(block))
        assert loaded.documents or loaded.notes, block
        assert not loaded.problems, block


def _is_of_tests(block):
    return block.attributes.get("title", "").endswith(".test.yaml")


def test_tests_of_rules_are_of_the_shape_of_such():
    shown = [block for block in BLOCKS if block.language == "yaml" and _is_of_tests(block)]
    assert shown
    for block in shown:
        decode_text(SuiteText(str(block), block.text))


def test_data_is_json():
    for block in (each for each in BLOCKS if each.language == "json"):
        json.loads(block.text)


@blocks_of("sh")
def test_commands_that_are_not_run_are_of_a_known_kind(block):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in block.text.splitlines():
        command = line.partition(" # ")[0].strip()
        found = [match for each in NOT_RUN if (match := re.fullmatch(each, command))]
        assert found, f"{block}: `{command}` is neither run nor said why not"
        named = found[0].groupdict()
        if target := named.get("target"):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"there is no `make {target}`"
        if script := named.get("script"):
            assert (ROOT / "scripts" / script).is_file(), f"there is no scripts/{script}"


def test_the_pages_have_examples_of_every_kind_that_is_run():
    assert {block.language for block in BLOCKS} >= {"expr", "cel", "console", "sh"}
