"""`policyd test`: what it prints, how it ends, and what it says of tests that cannot be run."""

import json
import xml.etree.ElementTree as ET

import pytest

from tests.cli.command import Ran, run, snapshot, write
from tests.shared import ROOT

RULES = """
    param reserve: quantity = 1Gi

    let web = pod.labels["app"] == "web"

    rule "room" {
      require node.free.cpu >= pod.requests.cpu
              because "Insufficient cpu"
      require node.free.memory - pod.requests.memory >= reserve
              because "less than " + string(reserve) + " would be left"
    }

    rule "fast-disk" {
      when   web
      prefer node.labels["disk"] == "ssd"  weight 2
    }

    rule "taste" {
      when  !web && node.labels["disk"] != "tape"
      avoid node.pods.size()
    }
"""

CLUSTER = """
    cluster:
      nodes:
      - metadata: {name: small, labels: {disk: hdd}}
        status: {allocatable: {cpu: 2, memory: 4Gi}}
      - metadata: {name: big, labels: {disk: ssd}}
        status: {allocatable: {cpu: 16, memory: 64Gi}}
"""

WEB = """
      pod:
        metadata: {name: web, labels: {app: web}}
        spec:
          containers:
          - {name: web, image: web, resources: {requests: {cpu: 1, memory: 1Gi}}}
"""

PASSING = f"""
{CLUSTER}
    tests:
    - name: web goes to a fast disk
{WEB}
      expect: {{fits: [small, big], node: big, scores: {{fast-disk: {{big: 200, small: 0}}}}}}
    - name: a large pod fits nowhere
      pod:
        spec: {{containers: [{{name: a, image: a, resources: {{requests: {{cpu: 17}}}}}}]}}
      expect: {{fits: false, rejected: {{big: Insufficient cpu}}}}
"""

FAILING = f"""
{CLUSTER}
    tests:
    - name: every kind of expectation can fail
{WEB}
      expect:
        fits: [small]
        rejected:
          small: {{rule: room, reason: Insufficient cpu}}
        scores:
          fast-disk: {{big: 100, small: null}}
          taste: {{big: 1}}
        totals: {{big: 1}}
        order: [small, big]
        node: small
        devices: {{nvidia.com/gpu: [0]}}
    - name: where the pod fits nowhere the values are shown
      set: {{reserve: 5Gi}}
{WEB}
      expect:
        fits: {{small: true}}
        rejected:
          small: {{rule: room, reason: [Insufficient cpu]}}
        order: [small, big]
        totals: {{small: 0}}
        node: small
    - name: a pod that fits nowhere was to fit
      set: {{reserve: 500Gi}}
{WEB}
      expect: {{fits: true, node: big, scores: {{fast-disk: {{big: 200}}}}}}
    - name: this one passes
{WEB}
      expect: {{fits: true}}
"""


def _given(tests: str, *arguments: str, rules: str = RULES) -> Ran:
    write("rules/web.expr", rules)
    write("rules/web.test.yaml", tests)
    return run("test", "rules", *arguments)


def _parsed(xml: str) -> ET.Element:
    return ET.fromstring(xml)  # noqa: S314 - it is our own


# --- passing and failing ---


def test_passing_tests_are_counted_by_file() -> None:
    ran = _given(PASSING)
    assert ran == Ran(0, "rules/web.test.yaml: 2 passed\n2 tests in 1 file: 2 passed\n", "")


def test_a_failure_shows_both_sides_and_the_values_behind_them() -> None:
    ran = _given(FAILING)
    assert ran.status == 1
    assert ran.err == ""
    assert ran.out == snapshot("rule-tests-failing", ran.out)


def test_in_json_a_failure_has_both_sides_and_the_decision() -> None:
    data = json.loads(_given(FAILING, "-o", "json").out)
    assert data["summary"] == {"files": 1, "tests": 4, "passed": 1, "failed": 3}
    (file,) = data["files"]
    assert (file["file"], file["rules"]) == ("rules/web.test.yaml", ["rules/web.expr"])
    first, second, _, last = file["tests"]
    assert [each["expectation"] for each in first["failures"]] == [
        *("fits", "rejected", "scores", "scores", "scores", "totals", "order", "node", "devices"),
    ]
    assert second["failures"][0] | {"place": ""} == {
        "expectation": "fits",
        "place": "",
        "expected": "it fits on small",
        "got": "small rejects it by room: less than 5Gi would be left",
        "nodes": ["small"],
        "values": [],
    }
    rejected = next(node for node in second["decision"]["nodes"] if node["node"] == "small")
    assert rejected["rules"][0]["rejections"][0]["values"]
    assert last["passed"]
    assert (last["failures"], last["decision"]) == ([], None)


def test_in_xml_there_is_a_suite_for_each_file_and_a_case_for_each_test() -> None:
    ran = _given(FAILING, "-o", "junit")
    assert ran.status == 1
    root = _parsed(ran.out)
    (suite,) = root
    for counted in (root, suite):
        assert (counted.get("tests"), counted.get("failures")) == ("4", "3")
    assert suite.get("name") == "rules/web.test.yaml"
    first, *_, last = suite
    assert first.get("name") == "every kind of expectation can fail"
    (failure,) = first
    assert failure.get("type") == "fits"
    assert "expected: it fits on small, and on no other" in (failure.get("message") or "")
    assert "node.labels" in (failure.text or "")
    assert list(last) == []


def test_xml_can_carry_any_name() -> None:
    name = 'a "quoted" <name> & \\u0007 ✗'
    tests = PASSING.replace("web goes to a fast disk", f"'{name}'").replace("\\u0007", "bell")
    root = _parsed(_given(tests, "-o", "junit").out)
    assert root[0][0].get("name") == name.replace("\\u0007", "bell")


def test_control_characters_do_not_break_the_xml() -> None:
    tests = PASSING.replace("web goes to a fast disk", '"a bell \\a"')
    root = _parsed(_given(tests, "-o", "junit").out)
    assert (root[0][0].get("name") or "").startswith("a bell ")


# --- choosing ---


def test_only_tests_whose_name_matches_are_run() -> None:
    ran = _given(FAILING, "--run", "this one|fits nowhere was")
    assert ran.status == 1
    assert ran.out.endswith("2 tests in 1 file: 1 passed, 1 failed\n")
    assert _given(FAILING, "--run", r"web\.test\.yaml: this").status == 0


def test_a_file_of_which_no_test_is_wanted_is_not_shown() -> None:
    write("rules/other.expr", RULES)
    write("rules/other.test.yaml", PASSING)
    assert "other" not in _given(FAILING, "--run", "this one").out


@pytest.mark.parametrize("path", ["rules", "rules/web.expr", "rules/web.test.yaml", "./rules/"])
def test_tests_are_found_in_a_directory_beside_rules_and_by_name(path: str) -> None:
    write("rules/web.expr", RULES)
    write("rules/web.test.yaml", PASSING)
    assert run("test", path).out.startswith("rules/web.test.yaml: 2 passed\n")


def test_directories_are_searched_to_their_ends_and_a_file_is_run_once() -> None:
    write("rules/deep/er/web.expr", RULES)
    write("rules/deep/er/web.test.yaml", PASSING)
    write("rules/.hidden/web.test.yaml", "not: tests")
    ran = run("test", "rules", "rules/deep/er/web.expr")
    assert ran.out == "rules/deep/er/web.test.yaml: 2 passed\n2 tests in 1 file: 2 passed\n"


def test_a_parameter_is_set_in_the_rules_that_have_it() -> None:
    write("rules/plain.expr", 'rule "all" { require node.name != "" }')
    plain = PASSING.replace("scores: {fast-disk: {big: 200, small: 0}}", "totals: {big: 0}")
    plain = plain.replace("fits: false, rejected: {big: Insufficient cpu}", "fits: true")
    write("rules/plain.test.yaml", plain.replace("node: big, ", ""))
    ran = _given(PASSING, "--set", "reserve=3500Mi")
    assert ran.status == 1
    assert "got:      it fits on big" in ran.out
    assert "plain.test.yaml: 2 passed" in ran.out


# --- coverage ---


def test_coverage_says_which_conditions_were_never_true_or_never_false() -> None:
    write("rules/untested.expr", 'rule "none" { require true }')
    ran = _given(PASSING, "--coverage")
    assert ran.status == 0
    assert ran.out == snapshot("rule-tests-coverage", ran.out)


def test_coverage_in_json_counts_how_each_condition_came_out() -> None:
    write("rules/untested.expr", 'rule "none" { require true }')
    data = json.loads(_given(PASSING, "--coverage", "-o", "json").out)
    web, untested = data["coverage"]
    assert untested == {"file": "rules/untested.expr", "untested": True}
    assert web["seen"] == sum((c["true"] > 0) + (c["false"] > 0) for c in web["conditions"])
    assert web["outcomes"] == 2 * len(web["conditions"])
    room = next(c for c in web["conditions"] if c["condition"].startswith("node.free.cpu"))
    assert room == {
        "line": 6,
        "column": 11,
        "endLine": 6,
        "endColumn": 44,
        "block": 'rule "room"',
        "clause": "require",
        "condition": "node.free.cpu >= pod.requests.cpu",
        "true": 2,
        "false": 2,
    }


def test_coverage_changes_no_result() -> None:
    plain, watched = _given(FAILING), _given(FAILING, "--coverage")
    assert watched.status == plain.status
    assert watched.out.startswith(plain.out)


# --- what cannot be used ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give files or directories with tests: `policyd test rules/`"),
        (["rules", "--coverage", "-o", "junit"], "JUnit's XML has no coverage"),
        (["nowhere"], "no such file or directory"),
        (["empty"], "this directory has no tests"),
        (["rules/web.expr"], "these rules have no tests"),
        (["rules/notes.txt"], "this is no file of tests"),
    ],
    ids=["nothing", "coverage in XML", "no path", "no tests", "no tests beside", "no file of them"],
)
def test_what_cannot_be_run_ends_with_status_2(arguments: list[str], message: str) -> None:
    write("rules/web.expr", RULES)
    write("rules/notes.txt", "")
    write("empty/web.expr", RULES)
    ran = run("test", *arguments)
    assert ran.status == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "("], "`(` is no regular expression"),
        (["--run", "nothing"], "none of the 2 tests is called so"),
        (["--set", "reverse=1Gi"], "no rule has a parameter `reverse`"),
        (["--set", "reserve=much"], "`much` is no value for `reserve`"),
    ],
    ids=["pattern", "no match", "no parameter", "no value"],
)
def test_an_option_that_cannot_be_used_ends_with_status_2(
    arguments: list[str], message: str
) -> None:
    ran = _given(PASSING, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_errors_of_rules_are_shown_as_everywhere() -> None:
    ran = _given(PASSING, rules='rule "a" { require node.lables["x"] == "y" }')
    assert (ran.status, ran.out) == (2, "")
    assert "error[E203]: node has no field `lables`" in ran.err
    assert ran.err.count("error[E203]") == 1


def test_every_file_that_cannot_be_used_is_told_of() -> None:
    write("rules/a.test.yaml", "tests: 1")
    write("rules/b.test.yaml", "tests: [}")
    ran = _given(PASSING)
    assert ran.status == 2
    assert "rules/a.test.yaml:1:8" in ran.err
    assert "rules/b.test.yaml:1:9" in ran.err


@pytest.mark.parametrize(
    ("expect", "place", "message", "remedy"),
    [
        ("fits: [bigg]", "4:20", "there is no node `bigg`", "did you mean `big`?"),
        ("fits: {bigg: true}", "4:26", "there is no node `bigg`", "did you mean `big`?"),
        ("rejected: {x: z}", "4:27", "there is no node `x`", "there are: small, big"),
        ("totals: {x: 1}", "4:25", "there is no node `x`", "there are: small, big"),
        ("order: [big, x]", "4:26", "there is no node `x`", "there are: small, big"),
        ("node: x", "4:19", "there is no node `x`", "there are: small, big"),
        ("scores: {rom: {big: 1}}", "4:27", "there is no rule `rom`", "did you mean `room`?"),
        ("scores: {room: {bigg: 1}}", "4:35", "there is no node `bigg`", "did you mean `big`?"),
        ("rejected: {big: {rule: rom}}", "4:36", "there is no rule `rom`", "did you mean `room`?"),
    ],
)
def test_names_that_are_not_there_are_found_before_anything_runs(
    expect: str, place: str, message: str, remedy: str
) -> None:
    ran = _given(f"""
    tests:
    - name: a
      pod: {{spec: {{containers: []}}}}
      expect: {{ {expect} }}
    {CLUSTER}""")
    assert (ran.status, ran.out) == (2, "")
    assert f"error: {message}" in ran.err
    assert f"--> rules/web.test.yaml:{place}\n" in ran.err
    assert f"= help: {remedy}" in ran.err


# --- the rules that ship ---


def test_every_rule_that_ships_passes_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = run("test", "rules", "--coverage", "-o", "json")
    data = json.loads(ran.out)
    assert (ran.status, ran.err, data["summary"]["failed"]) == (0, "", 0)
    files = {entry["file"] for entry in data["coverage"] if not entry.get("untested")}
    assert files == {str(path.relative_to(ROOT)) for path in (ROOT / "rules").rglob("*.expr")}
    for entry in data["coverage"]:
        assert entry["seen"] >= 0.95 * entry["outcomes"], entry["file"]
    named = {block["block"] for entry in data["coverage"] for block in entry["conditions"]}
    assert 'rule "PodTopologySpread"' in named


# --- tests beside rules are no rules ---


@pytest.mark.parametrize("command", [["check"], ["fmt", "--check"]])
def test_other_commands_leave_files_of_tests_out(command: list[str]) -> None:
    write("rules/web.expr", 'rule "a" {\n  require node.name != ""\n}\n')
    write("rules/web.test.yaml", PASSING)
    by_folder = run(*command, "rules")
    by_names = run(*command, "rules/web.expr", "rules/web.test.yaml")
    assert by_folder.status == by_names.status == 0
    assert by_folder.out == by_names.out
    alone = run(*command, "rules/web.test.yaml")
    assert alone.status == 2
    assert "these are tests of rules, and no rules" in alone.err
    assert "= help: run them with `policyd test rules/web.test.yaml`" in alone.err
