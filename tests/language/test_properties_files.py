"""What holds for every rule set: it is compiled or refused, and what is compiled can be used."""

from functools import lru_cache
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from policyd.language.blocks import BLOCKS, ClauseSpec
from policyd.language.diagnostics import Severity
from policyd.language.environment import Environment
from policyd.language.formatter import format_source
from policyd.language.parser import parse_file
from policyd.language.printer import print_file
from policyd.language.source import Source
from policyd.language.syntax import Block, Clause, File, Key, Let, Param
from policyd.language.types import DOUBLE, INT, QUANTITY, STRING, Type, parse_type
from policyd.model.sample import sample_cluster
from policyd.model.snapshot import Snapshot, load_cluster
from policyd.policy.decide import decide
from policyd.policy.functions import FUNCTIONS
from policyd.policy.load import examine, load
from policyd.policy.scope import Objects, variables_for
from policyd.values.times import parse_timestamp
from tests.language import strategies as untyped
from tests.language.strategies import exact, strip_parens
from tests.language.test_properties_text import assert_presentable, texts
from tests.language.typed_strategies import Maker, Pool

OFTEN = settings(max_examples=max(200, settings.default.max_examples))
ORDERED = (INT, DOUBLE, STRING, QUANTITY)
PARAMS = {
    "reserve": "double",
    "most": "int",
    "zone": "string",
    "kept": "quantity",
    "zones": "list(string)",
}
CONSTANTS = Pool(Environment())
SHARED = {name: parse_type(text) for name, text in PARAMS.items()}


@lru_cache(maxsize=64)
def pool(reads: tuple[str, ...]) -> Pool:
    """Give what may be drawn from in a clause that reads these names."""
    return Pool(
        Environment(
            variables={**variables_for(reads), **SHARED},
            functions=FUNCTIONS,
            objects=Objects(SHARED),
        )
    )


# --- well-typed files -------------------------------------------------------------------------


@st.composite
def clauses(draw, word: str, spec: ClauseSpec) -> Clause:
    """Draw a clause with expressions of the types that it takes."""
    types = ORDERED if spec.gives == ("ordered",) else tuple(map(parse_type, spec.gives))

    def expression() -> Any:
        type_: Type = draw(st.sampled_from(types))
        return Maker(draw, pool(spec.reads), certain=True).expression(type_, 2)

    if spec.flag:
        return Clause(word)
    if not spec.keys:
        return Clause(word, expression())
    directions = draw(st.lists(st.sampled_from((None, "asc", "desc")), min_size=1, max_size=2))
    return Clause(word, None, tuple(Key(expression(), direction) for direction in directions))


@st.composite
def blocks(draw, word: str, name: str) -> Block:
    """Draw a block with its clauses, and what belongs to a clause behind it."""
    spec = BLOCKS[word]
    drawn: list[Clause | Let] = []
    owners = [owner for owner, clause in spec.clauses.items() if not clause.follows]
    for owner in owners:
        if owner not in spec.needs and draw(st.booleans()):
            continue
        for _ in range(draw(st.integers(1, 2)) if spec.clauses[owner].many else 1):
            drawn.append(draw(clauses(owner, spec.clauses[owner])))
            parts = [part for part, clause in spec.clauses.items() if owner in clause.follows]
            chosen = draw(st.lists(st.sampled_from(parts), unique=True)) if parts else []
            if {"normalized", "normalize"} <= set(chosen):
                chosen.remove("normalize")
            drawn += [draw(clauses(part, spec.clauses[part])) for part in chosen]
    if draw(st.integers(0, 5)) == 5:
        drawn.append(Clause("mode", mode="shadow"))
    return Block(word, name if spec.named else None, tuple(drawn))


@st.composite
def rule_sets(draw) -> File:
    """Draw a rule file that says what is legal: parameters, and blocks over typed expressions."""
    written = []
    for name, type_ in SHARED.items():
        constant = Maker(draw, CONSTANTS, certain=True).constant(type_)
        written.append(Param(name, str(type_), constant))
    words = draw(st.lists(st.sampled_from(("rule", "rule", *BLOCKS)), max_size=3))
    unnamed = {word for word in words if not BLOCKS[word].named}
    kept = [word for word in words if word not in unnamed] + sorted(unnamed)
    written += [draw(blocks(word, f"b{at}")) for at, word in enumerate(kept)]
    return File(tuple(written))


def errors_of(text: str) -> list[str]:
    """Compile a text, and give what is wrong with it; every finding can be shown."""
    source = Source("test.expr", text)
    _, found = examine([source])
    for finding in found:
        assert_presentable(finding, len(text))
    return [finding.message for finding in found if finding.severity is Severity.ERROR]


# --- properties -------------------------------------------------------------------------------


@OFTEN
@given(rule_sets())
def test_a_rule_set_of_well_typed_expressions_is_accepted(file):
    """What fails whatever the input (E401) is refused, since nothing else shows its author."""
    found = examine([Source("test.expr", print_file(file))])[1]
    assert {d.code for d in found if d.severity is Severity.ERROR} <= {"E401"}


@lru_cache(maxsize=1)
def snapshot() -> Snapshot:
    return load_cluster(sample_cluster(), parse_timestamp("2026-06-01T12:00:00Z"))


@OFTEN
@given(rule_sets(), st.integers(0, 1000))
def test_what_is_accepted_decides_for_any_pod_and_explains_itself(file, which):
    text = print_file(file)
    assume(not errors_of(text))
    ruleset = load([Source("test.expr", text)])
    cluster = snapshot()
    pods = [pod for node in cluster.nodes for pod in node.pods]
    decision = decide(ruleset, pods[which % len(pods)], cluster)
    assert len(decision.nodes) == len(cluster.nodes)
    for verdict in decision.nodes:
        assert verdict.fits == (not any(rule.rejects for rule in verdict.verdicts))
        for rule in verdict.verdicts:
            for rejection in rule.rejections:
                assert all(finding.value for finding in rejection.findings)


@given(rule_sets())
def test_formatting_a_rule_set_keeps_its_meaning_and_is_done_once(file):
    once = format_source(Source("test.expr", print_file(file)))
    again = parse_file(Source("test.expr", once))
    assert exact(strip_parens(again)) == exact(strip_parens(file))
    assert format_source(Source("test.expr", once)) == once


@OFTEN
@given(texts() | untyped.files().map(print_file))
def test_any_rule_file_is_accepted_or_refused(text):
    errors_of(text)


def several() -> SearchStrategy[list[str]]:
    return st.lists(untyped.files().map(print_file) | rule_sets().map(print_file), max_size=3)


@given(several())
def test_any_files_together_are_accepted_or_refused(files):
    sources = [Source(f"{at}.expr", text) for at, text in enumerate(files)]
    _, found = examine(sources)
    lengths = {source.name: len(source.text) for source in sources}
    for finding in found:
        assert_presentable(finding, lengths[finding.source.name])
