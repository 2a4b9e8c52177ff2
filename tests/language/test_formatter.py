"""The canonical layout: what it looks like, and that it changes nothing but the layout."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.diagnostics import RuleError
from policyd.language.expression_layout import MACROS
from policyd.language.formatter import format_expression, format_source
from policyd.language.macros import MACROS as CHECKED_MACROS
from policyd.language.parser import parse_expression, parse_file
from policyd.language.pieces import read_pieces
from policyd.language.printer import print_expression, print_file
from policyd.language.source import Source
from tests.language.strategies import exact, expressions, files, untidy
from tests.shared import needs_shared, shared_file


def source(text):
    return Source("test", text)


def formatted(text):
    """Give the layout of a text, after it was proved that laying out once more changes nothing."""
    once = format_source(source(text))
    assert format_source(source(once)) == once
    return once


def around(text):
    """Give all tokens with the commas and comments around them, but not the empty lines."""
    return [
        (piece.kind, piece.text, piece.comma, [c.text for c in piece.leading], piece.trailing)
        for piece in read_pieces(source(text))
    ]


# --- properties ---


@given(st.data())
def test_a_file_keeps_its_meaning_and_every_comment_its_place(data):
    plain = print_file(data.draw(files()))
    tree = parse_file(source(plain))
    text = data.draw(untidy(plain, tree))
    once = formatted(text)
    assert exact(parse_file(source(once))) == exact(tree)
    assert around(once) == around(text)


@given(st.data())
def test_an_expression_keeps_its_meaning_and_every_comment_its_place(data):
    plain = print_expression(data.draw(expressions(depth=4)))
    tree = parse_expression(source(plain))
    text = data.draw(untidy(plain, tree))
    once = format_expression(source(text))
    assert exact(parse_expression(source(once))) == exact(tree)
    assert around(once) == around(text)
    assert format_expression(source(once)) == once


@given(st.data())
def test_lines_are_tidy(data):
    plain = print_file(data.draw(files()))
    text = format_source(source(data.draw(untidy(plain, parse_file(source(plain))))))
    assert text == "" or text.endswith("\n")
    assert not text.startswith("\n")
    assert "\n\n\n" not in text
    assert not text.endswith("\n\n")
    lines = text.split("\n")
    assert [line for line in lines if line != line.rstrip()] == []


# --- what it looks like ---


TIDY = {
    "declarations, with their comments aligned": """\
// What the file is for.

// How much stays free.
param reserve: double = 0.1                // a part of the node
param tiers: map(string, int) = {"a": 1}
let gpus = pod.requests["nvidia.com/gpu"]  // of the pod
let half(x) = x / 2

let twice(x, y) = (x + y) * 2 - -1
""",
    "words and what they say stand in two columns": """\
rule "gpu-nodes" {
  when    gpus == 0
  require !("nvidia.com/gpu" in node.allocatable)
          because "node is kept for GPU pods"
  mode    shadow
}

rule "pack" {
  when   gpus > 0
  prefer 100.0 * node.used["nvidia.com/gpu"] / node.allocatable["nvidia.com/gpu"]  weight 5
  avoid  node.pods.size()  weight 2  normalize 100 * (max - raw) / max
  avoid  node.age  weight 3 normalized
}
""",
    "weights move to a line of their own where there is no room": """\
rule "taints" {
  let tolerated = pod.tolerates(t)
  require node.taints.all(t, !(t.effect in ["NoSchedule", "NoExecute"]) || pod.tolerates(t))
          because ["node(s) had an untolerated taint", node.name]
  avoid   node.taints.filter(t, t.effect == "PreferNoSchedule" && !pod.tolerates(t)).size()
          weight 3 normalized
}
""",
    "blocks that are not about a node": """\
choose {
  order  node.name asc
  device device.index
}

queue {
  order pod.priority desc, tenant.share asc, pod.created asc
  hold  when pod.labels["class"] == "batch"
             && now.getHours("Europe/Berlin") in [8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
        because "batch waits for the night"
}

share "teams" {
  tenant    [namespace.labels["org"], pod.labels["team"]]  // outermost first
  weight    {"research": 3.0}[?tenant.name].orValue(1.0)
  guarantee {"research": {"nvidia.com/gpu": 32}}[?tenant.path].orValue({})
  halflife  duration("24h")
  reclaim   when victim.priority <= pod.priority
}

preempt "by-priority" {
  when  victim.priority < pod.priority && pod.spec.preemptionPolicy != "Never"
  spare victim.labels["policyd.io/keep"] == "true"
        because "marked to be kept"
  cost  victim.priority asc, victim.started desc
}
""",
    "long expressions break at their loosest operators": """\
rule "long" {
  require pod.labels["app.kubernetes.io/name"] == "a-name-of-some-length"
          && node.labels["topology.kubernetes.io/zone"] != "europe-west4-a"
          && (
            node.free.memory - pod.requests.memory - node.allocatable.memory * reserve
              >= 1.5Gi + node.free.memory * 0.25
            || pod.priority > 1000
          )
          because "would leave less than " + string(reserve * 100.0) + "% of " + node.name
                  + "'s memory, which is " + string(node.allocatable.memory)
}
""",
    "the branches of conditions": """\
let one =
  pod.labels["app.kubernetes.io/name"] == "a-name-of-some-length" && node.free.cpu > 4
    ? node.allocatable.memory - node.used.memory
    : node.allocatable.memory
let table =
  pod.labels["app.kubernetes.io/name"] == "a-name-of-some-length" ? 100
  : pod.labels["app.kubernetes.io/name"] == "another-name" ? 50
  : 0
""",
    "arguments, elements, entries and calls": """\
let args = leastAllocated(
  node,
  pod,
  {"cpu": 1, "memory": 1, "ephemeral-storage": 12, "example.com/a-resource": 1}
)
let only = math.greatest([
  pod.requests["example.com/a-resource"],
  pod.limits["example.com/a-resource"],
  {"key": "node.kubernetes.io/unschedulable", ?"optional": node.?labels[?"zone"]},
])
let short = [
  10000, 10001, 10002, 10003, 10004, 10005, 10006, 10007, 10008, 10009, 10010, 10011, 10012, 10013,
  10014, 10015,
]
let macro = pod.spec.containers.all(container,
  container.image.startsWith("registry.example/") && container.name != "sidecar"
)
let calls = pod.spec.containers
  .filter(container, container.image.startsWith("registry.example/"))
  .map(container, container.name)
  .exists(name, name == "sidecar")
""",
    "spellings are kept": '''\
let text = r'\\d+' + 'a' + "\\u00e9" + """two
  lines  """ + b'\\x00'  // and a comment
let numbers = [0xFF, 1e3, 1.50, 0.50Gi, .5, 7U]
''',
    "empty blocks": """\
rule "nothing" {}

rule "soon" {
  // nothing yet
}

queue {  // nothing either
}
""",
    "comments inside expressions": """\
rule "commented" {
  // of the clause
  when    a &&  // of the operator
          // of the operand
          b
          // before the operator
          && c
  require x in [
            1,   // one
            22,  // two
            // and no more
          ]
          // of the reason
          because "no"

  // of the end
}
// of the file
""",
}


@pytest.mark.parametrize("text", TIDY.values(), ids=TIDY)
def test_the_canonical_layout_stays_as_it_is(text):
    assert formatted(text) == text


@pytest.mark.parametrize("text", [t for t in TIDY.values() if "//" not in t])
def test_the_canonical_layout_is_found_again_when_lines_are_joined(text):
    """Without comments, only the empty lines between declarations are taken from the text."""
    joined = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    assert formatted(joined) == text


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("", ""),
        ("\n \n", ""),
        ("\n\n// only\n\n\n// comments", "// only\n\n// comments\n"),
        ("let a=[1,2,]\nlet b={'x':1,}", "let a = [1, 2]\nlet b = {'x': 1}\n"),
        ("let a=[,]\n\n\n\nlet b={,}", "let a = []\n\nlet b = {}\n"),
        ("let a = [1 // one\n, 2 // two\n,]", "let a = [\n  1,  // one\n  2,  // two\n]\n"),
        ("let a = f(x // of x\n, y)", "let a = f(\n  x,  // of x\n  y\n)\n"),
        ("let a = [1, - // c\n2, 3]", "let a = [\n  1,\n  -  // c\n  2,\n  3,\n]\n"),
        ("let a = f(// none\n)", "let a = f(  // none\n)\n"),
        ("let a = - 2 . abs ( ) - - 3", "let a = -2.abs() - -3\n"),
        ("let a = x // why\n.y", "let a = x  // why\n  .y\n"),
        ("let a = - // why\n 1", "let a = -  // why\n1\n"),
        ("let a = 1 // c  \r\nlet b = '''x\r\ny'''", "let a = 1  // c\nlet b = '''x\ny'''\n"),
        ("let a = 1\r// b\r\r// c\rlet d = 2\r", "let a = 1\n// b\n\n// c\nlet d = 2\n"),
        (
            "rule 'a' { prefer x because 'y' weight 2 }",
            "rule 'a' {\n  prefer x\n         because 'y'\n         weight 2\n}\n",
        ),
        ("let a = 1 let b = 2", "let a = 1\nlet b = 2\n"),
        ("rule 'a'{}rule 'b'{}let c=1", "rule 'a' {}\n\nrule 'b' {}\n\nlet c = 1\n"),
        ("rule 'a' {\n\n// c\n\n\nwhen a\n\n}", "rule 'a' {\n  // c\n\n  when a\n}\n"),
        (
            "rule 'a' { prefer x // c\nweight 2 }",
            "rule 'a' {\n  prefer x  // c\n         weight 2\n}\n",
        ),
        ("rule 'a' { weight 2 normalized }", "rule 'a' {\n  weight     2\n  normalized\n}\n"),
        ("param a:map(b . c?,list(int))?", "param a: map(b.c?, list(int))?\n"),
        ('let a = "// no comment"', 'let a = "// no comment"\n'),
    ],
)
def test_what_is_untidy_becomes_tidy(text, tidy):
    assert formatted(text) == tidy


def test_carriage_returns_that_are_part_of_a_value_stay():
    text = 'let a = """x\r\r\ny\rz"""\n'
    assert formatted(text) == text


def test_trailing_comments_are_not_aligned_where_the_page_is_too_narrow():
    long = f"let a = 1  // {'x' * 85}\nlet abc = 1  // y\n"
    assert formatted(long) == long


def test_an_expression_has_no_final_newline():
    assert format_expression(source("// a\nx+y // b\n// c\n")) == "// a\nx + y  // b\n// c"


def test_a_text_that_does_not_parse_is_refused():
    with pytest.raises(RuleError):
        format_source(source("rule {"))
    with pytest.raises(RuleError):
        format_expression(source("a +"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"let a=[{','.join(['12345678'] * 28_000)}]", "E301"),
        (f"let a=[{','.join(['1'] * 29_998)}]", "E303"),
    ],
)
def test_a_layout_past_a_limit_is_refused_and_not_written(text, code):
    parse_file(source(text))
    with pytest.raises(RuleError) as caught:
        format_source(source(text))
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert "once it is laid out" in caught.value.diagnostics[0].notes[0]


def test_a_layout_that_says_something_else_is_not_given(monkeypatch):
    monkeypatch.setattr("policyd.language.formatter.render", lambda _: "let a = 2")
    with pytest.raises(AssertionError, match="change its meaning"):
        format_source(source("let a = 1"))


@pytest.mark.parametrize(
    ("opening", "closing", "depth"),
    [("x.f(", ")", 126), ("{1: [", "]}", 63), ("!(a && ", ")", 42), ("a ? b : ", "", 126)],
)
def test_the_deepest_nesting_is_laid_out_without_filling_the_text_with_blanks(
    opening, closing, depth
):
    text = format_expression(source(opening * depth + "x" + closing * depth))
    assert format_expression(source(text)) == text
    assert max(len(line) for line in text.split("\n")) <= 100


def test_a_file_of_nearly_the_largest_size_is_laid_out():
    block = TIDY["words and what they say stand in two columns"].replace("\n", "\n// why\n") + "\n"
    text = block * (230_000 // len(block))
    once = format_source(source(text))
    assert parse_file(source(once)) == parse_file(source(text))


def test_the_calls_with_variables_are_the_macros():
    assert {name.split(".")[-1] for name, _ in CHECKED_MACROS} >= MACROS


@needs_shared
def test_the_examples_of_the_design_keep_all_they_say():
    design = shared_file("design", "language.md").read_text(encoding="utf-8")
    examples = [text.replace("…", "x") for text in re.findall(r"```\n(.*?)```", design, re.DOTALL)]
    examples = [text for text in examples if re.search(r"^\w+ .*\{$", text, re.MULTILINE)]
    assert examples
    for text in examples:
        assert around(formatted(text)) == around(text)
