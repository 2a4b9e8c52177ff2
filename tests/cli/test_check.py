"""`policyd check`."""

import json
from pathlib import Path

import pytest

from tests.cli.command import RULES, run, text, write

BROKEN = """
    rule "disk" {
      require node.lables["disk"] == "ssd"
    }
"""
WARNED = """
    let limit = 5

    rule "ready" {
      when    1 < 2
      require node.ready
    }
"""
EXTENDED = """
    rule "memory" {
      require node.free.memory > 2Gi
    }
"""


def test_rules_without_a_fault_are_counted() -> None:
    write("rules/a.expr", RULES)
    write("rules/b.expr", "queue {\n  order pod.priority desc\n}\n")
    ran = run("check", "rules")
    assert ran == (0, "2 files, 3 rules, 1 other block: nothing found\n", "")


def test_an_error_is_shown_with_its_place_and_counted() -> None:
    write("rules/disk.expr", BROKEN)
    ran = run("check", "rules")
    assert (ran.status, ran.err) == (1, "")
    assert ran.out == text("""
        error[E203]: node has no field `lables`
          --> rules/disk.expr:2:16
           |
         2 |   require node.lables["disk"] == "ssd"
           |                ^^^^^^ did you mean `labels`?

        1 file, 1 rule: 1 error
        """)


def test_warnings_are_allowed_unless_strict() -> None:
    write("a.expr", WARNED)
    ran = run("check", "a.expr")
    assert ran.status == 0
    assert "warning[W503]: `limit` is not used" in ran.out
    assert ran.out.endswith("1 file, 1 rule: 2 warnings\n")
    assert run("check", "--strict", "a.expr").status == 1


def test_all_findings_of_all_files_are_shown() -> None:
    write("a.expr", BROKEN)
    write("b.expr", WARNED)
    write("c.expr", 'rule "c" {\n  require\n}\n')
    ran = run("check", "a.expr", "b.expr", "c.expr")
    assert ran.status == 1
    for place in ("a.expr:2:16", "b.expr:1:5", "c.expr:"):
        assert f"--> {place}" in ran.out
    assert ran.out.endswith("3 files, 2 rules: 2 errors, 2 warnings\n")


def test_notes_are_hidden_unless_asked_for() -> None:
    write("a.expr", EXTENDED)
    assert run("check", "a.expr").out == "1 file, 1 rule: nothing found\n"
    ran = run("check", "a.expr", "--portable")
    assert ran.status == 0
    assert "note[N601]" in ran.out
    assert json.loads(run("check", "a.expr", "-o", "json").out)["diagnostics"] == []


def test_json_has_every_diagnostic_and_a_summary() -> None:
    write("a.expr", BROKEN)
    ran = run("check", "a.expr", "-o", "json")
    assert (ran.status, ran.err) == (1, "")
    data = json.loads(ran.out)
    assert data["summary"] == {
        "files": 1,
        "rules": 1,
        "blocks": 0,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
    }
    (found,) = data["diagnostics"]
    assert (found["code"], found["severity"], found["file"]) == ("E203", "error", "a.expr")
    assert found["range"]["start"]["line"] == 2
    source = Path("a.expr").read_text(encoding="utf-8")
    start, end = (found["range"][at]["offset"] for at in ("start", "end"))
    assert source[start:end] == "lables"


def test_the_keys_of_the_json_are_a_promise() -> None:
    write("a.expr", BROKEN)
    data = json.loads(run("check", "a.expr", "-o", "json").out)
    assert list(data) == ["diagnostics", "summary"]
    assert list(data["diagnostics"][0]) == [
        *("code", "severity", "message", "file", "range", "label", "related", "helps", "notes"),
        "edit",
    ]


def test_names_are_unique_over_files_that_are_given_together_but_not_over_directories() -> None:
    for path in ("one/a.expr", "two/a.expr"):
        write(path, EXTENDED)
    together = run("check", "one/a.expr", "two/a.expr")
    assert together.status == 1
    assert 'the rule "memory" is declared twice' in together.out
    assert run("check", "one", "two").status == 0


def test_parameters_are_shared_by_the_files_of_a_directory() -> None:
    write("r/params.expr", "param most: int = 5\n")
    write("r/rules.expr", 'rule "few" {\n  require node.pods.size() < most\n}\n')
    assert run("check", "r").status == 0
    assert run("check", "r/rules.expr").status == 1


@pytest.mark.parametrize(
    ("setting", "message", "remedy"),
    [
        ("most=7", "", ""),
        ("mots=7", "no rule has a parameter `mots`", "did you mean `most`?"),
        ("most=many", "`many` is no value for `most`", "it must be int"),
        ("most=1.5", "`1.5` is double, and `most` is int", "give a value of type int"),
        ("most", "`most` is not `name=value`", "write it as in `--set reserve=0.2`"),
    ],
)
def test_a_setting_is_checked(setting: str, message: str, remedy: str) -> None:
    write("a.expr", 'param most: int = 5\nrule "few" {\n  require node.pods.size() < most\n}\n')
    ran = run("check", "a.expr", "--set", setting)
    assert ran.status == (2 if message else 0)
    assert message in ran.err
    assert remedy in ran.err


def test_standard_input_is_checked() -> None:
    ran = run("check", "-", given=text(BROKEN))
    assert ran.status == 1
    assert "--> <stdin>:2:16" in ran.out


def test_what_is_no_text_is_a_diagnostic_among_the_others() -> None:
    Path("latin.expr").write_bytes(b"// caf\xe9\n")
    write("broken.expr", BROKEN)
    ran = run("check", "latin.expr", "broken.expr")
    assert ran.status == 1
    assert "error[E304]" in ran.out
    assert "error[E203]" in ran.out


def test_explain_prints_the_page_of_a_code_in_any_case() -> None:
    ran = run("check", "--explain", "e203")
    assert ran.status == 0
    assert ran.out.startswith("E203: unknown field\n")
    assert ran == run("check", "--explain", "E203")


def test_an_unknown_code_gets_a_suggestion() -> None:
    ran = run("check", "--explain", "E2O3")
    assert ran.status == 2
    assert "there is no code `E2O3`" in ran.err
    assert "did you mean `E2" in ran.err
    assert "codes look like `E101`" in run("check", "--explain", "frobnicate").err


def test_colours_come_only_where_they_are_wanted() -> None:
    write("a.expr", BROKEN)
    assert "\x1b" not in run("check", "a.expr").out
    forced = run("check", "a.expr", env={"FORCE_COLOR": "1"})
    assert "\x1b[1;31merror[E203]\x1b[0m" in forced.out
    assert "\x1b" not in run("check", "a.expr", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_nothing_to_check_is_misuse() -> None:
    ran = run("check")
    assert ran.status == 2
    assert "give files or directories to check, or `--explain CODE`" in ran.err
