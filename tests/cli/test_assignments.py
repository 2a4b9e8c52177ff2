"""`name=value`: settings of parameters, and values bound to names."""

import pytest

from policyd.cli.assignments import read_bindings, read_namespace, read_settings
from policyd.cli.failure import Failure


@pytest.mark.parametrize(
    ("json", "type_"),
    [
        ("true", "bool"),
        ("3", "int"),
        ("-9223372036854775808", "int"),
        ("3.0", "double"),
        ("1e3", "double"),
        ('"3"', "string"),
        ("null", "null_type"),
        ("[]", "list(dyn)"),
        ("[1, 2]", "list(int)"),
        ('[1, "a"]', "list(dyn)"),
        ("[1, 2.5]", "list(dyn)"),
        ("[[1], [2]]", "list(list(int))"),
        ("{}", "map(string, dyn)"),
        ('{"a": 1}', "map(string, dyn)"),
        ('[{"a": 1}, {"b": "c"}]', "list(map(string, dyn))"),
    ],
)
def test_a_bound_value_has_the_type_of_its_json(json: str, type_: str) -> None:
    assert str(read_bindings([f"x={json}"])["x"].type) == type_


def test_a_value_may_hold_the_sign_and_spaces() -> None:
    assert read_settings(["a=b=c", "d= e "]) == {"a": "b=c", "d": " e "}
    assert read_bindings(['x="a=b"'])["x"].value == "a=b"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x", "`x` is not `name=value`"),
        ("=3", "`=3` is not `name=value`"),
        ("a-b=3", "an expression has no names like `a-b`"),
        ("in=3", "an expression has no names like `in`"),
        ("1x=3", "an expression has no names like `1x`"),
        ("x=eu", "`eu` is no JSON: expecting value (column 1)"),
        ("x=", "`` is no JSON: expecting value (column 1)"),
        ("x=[1,", "`[1,` is no JSON: expecting value (column 4)"),
        ("x=NaN", "this is no JSON: `NaN` is not part of JSON"),
        ("x=1e999", "a number is too large for a double"),
        ("x=9223372036854775808", "the number 9223372036854775808 does not fit 64 bits"),
        (r'x="\ud800"', "a text has half of a surrogate pair"),
        (r'x={"\udc00": 1}', "a text has half of a surrogate pair"),
        ("x=" + "[" * 100_000, "it is nested too deeply"),
        ("x=" + "[" * 129 + "]" * 129, "it is nested too deeply"),
    ],
)
def test_what_cannot_be_bound_is_refused_with_its_cause(text: str, cause: str) -> None:
    with pytest.raises(Failure) as caught:
        read_bindings([text])
    assert caught.value.message == cause
    assert caught.value.place.startswith("--bind")


def test_a_number_of_many_digits_is_refused_quickly_and_shortly() -> None:
    with pytest.raises(Failure) as caught:
        read_bindings(["x=" + "9" * 4000])
    assert len(caught.value.message) < 120


def test_a_value_may_be_as_deep_as_an_expression() -> None:
    assert str(read_bindings(["x=" + "[" * 128 + "]" * 128])["x"].type).startswith("list(list(")


@pytest.mark.parametrize("name", ["default", "a", "kube-system", "x" * 63, None])
def test_a_namespace_may_have_the_names_that_kubernetes_gives(name: str | None) -> None:
    assert read_namespace(name) == name


@pytest.mark.parametrize("name", ["", "Shop", "a_b", "-a", "a-", "a.b", "x" * 64, "\udcff", "a\n"])
def test_other_names_of_namespaces_are_refused(name: str) -> None:
    with pytest.raises(Failure, match="a namespace cannot be called"):
        read_namespace(name)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Failure, match="not text in the system's encoding"):
        read_settings(["x=\udcff"])


@pytest.mark.parametrize("read", [read_settings, read_bindings])
def test_a_name_has_one_value(read) -> None:
    with pytest.raises(Failure, match="twice"):
        read(["x=1", "x=2"])
