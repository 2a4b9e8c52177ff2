"""Both formats of case files are read, and the page of exceptions."""

import json
from pathlib import Path

import pytest

from policyd.language.dialect import Dialect
from policyd.language.types import DYN, INT
from tests.conformance.cases import Documented, exceptions, load


def _file(folder: Path, rows: object) -> Path:
    path = folder / "cases.json"
    path.write_text(json.dumps(rows))
    return path


def test_a_row_of_the_suite_carries_its_declarations_and_switches(tmp_path: Path) -> None:
    row = {
        "id": "basic/variables/x",
        "file": "basic",
        "expr": "f(x)",
        "bindings": {"x": {"int": 1}, "y": {"null": None}},
        "type_env": {
            "x": "int",
            "f": [{"overload": "f_int", "params": ["int"], "result": "T", "receiver": False}],
        },
        "container": "com.example",
        "disable_check": True,
        "check_only": True,
        "expected": {"error": True, "message_hint": "no such overload"},
    }
    (case,) = load(_file(tmp_path, [row]))
    assert (case.key, case.group, case.dialect) == ("basic/variables/x", "basic", Dialect.CEL)
    assert case.types == {"x": INT, "y": DYN}
    assert case.bindings == {"x": 1, "y": None}
    assert [str(it.result) for it in case.functions[0].overloads] == ["T"]
    assert (case.container, case.check, case.evaluate) == ("com.example", False, False)
    assert (case.expected.error, case.expected.message) == (True, "no such overload")


def test_a_row_of_kubernetes_answers_is_named_by_its_group_and_place(tmp_path: Path) -> None:
    rows = [
        {"group": "lists", "expr": "[1].sum()", "expected": {"value": {"int": 1}}, "type": "int"},
        {
            "group": "lists",
            "expr": "node.x",
            "bindings_json": {"node": {"x": 1.5}},
            "expected": {"error": True, "message": "no such key: x", "phase": "eval"},
        },
    ]
    first, second = load(_file(tmp_path, rows))
    assert (first.id, first.key, first.dialect) == ("lists/1", "[1].sum()", Dialect.KUBERNETES)
    assert (first.expected.value, first.expected.type) == ({"int": 1}, "int")
    assert (second.id, second.types, second.bindings) == (
        "lists/2",
        {"node": DYN},
        {"node": {"x": 1.5}},
    )
    assert (second.expected.phase, second.expected.value) == ("eval", None)


@pytest.mark.parametrize("rows", [{}, [1], [{"id": "x"}], [{"expr": "1"}]], ids=repr)
def test_a_file_of_another_format_is_refused(rows: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cases\.json"):
        load(_file(tmp_path, rows))


def test_exceptions_are_the_table_rows_that_start_with_two_pieces_of_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "| case | answer | why |\n| --- | --- | --- |\n"
        "| `a/b/c` | `1` | wider |\n"
        "| `1 \\|\\| x` | `true` | because of `x` |\n"
        "| `` has(a.`b`) `` | `false` | quoted |\n"
        "| `'a⏎b'` | `\"\"` | two lines |\n"
        "| text | `1` | not a case |\n"
        "| `two` | cells |\n"
        "`code` outside a table\n"
    )
    assert exceptions(page) == {
        "a/b/c": Documented("1", "wider"),
        "1 || x": Documented("true", "because of `x`"),
        "has(a.`b`)": Documented("false", "quoted"),
        "'a\nb'": Documented('""', "two lines"),
    }


@pytest.mark.parametrize("rows", ["| `a` | `1` | x |\n| `a` | `1` | y |\n", "| `a` | `1` | |\n"])
def test_an_exception_that_is_listed_twice_or_without_a_reason_is_refused(
    rows: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(rows)
    with pytest.raises(ValueError, match="twice or without a reason"):
        exceptions(page)
