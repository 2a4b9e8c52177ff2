"""`format` in both dialects: every clause, every kind of value, and bounds on what is printed."""

import pytest

from policyd.language.libraries.formatting import MAX_NESTING, MAX_PRECISION, Mistake, find_mistake
from policyd.language.limits import MAX_STRING
from policyd.language.types import parse_type
from tests.language.libraries.evaluation import (
    CEL,
    KUBERNETES,
    evaluate,
    fault_of,
    limit_of,
)

TIME = 'timestamp("2024-01-01T00:00:00.5+02:00")'


@pytest.mark.parametrize(
    ("clause", "value", "kubernetes", "cel"),
    [
        ("%s", '"é"', "é", "é"),
        ("%s", "1", "1", "1"),
        ("%s", "18446744073709551615u", "18446744073709551615", "18446744073709551615"),
        ("%s", "1.0", "1", "1"),
        ("%s", "1234567.0", "1.234567e+06", "1234567"),
        ("%s", "0.00001", "1e-05", "0.00001"),
        ("%s", 'double("-inf")', "-Inf", "-Infinity"),
        ("%s", "true", "true", "true"),
        ("%s", "null", "null", "null"),
        ("%s", 'b"xyz"', "xyz", "xyz"),
        ("%s", "type(1)", "int", "int"),
        ("%s", 'duration("1h45m47s")', "6347s", "6347s"),
        ("%s", TIME, "2024-01-01T00:00:00.5+02:00", "2023-12-31T22:00:00.5Z"),
        ("%s", "[]", "[]", "[]"),
        ("%s", "{}", "{}", "{}"),
        ("%s", '[dyn("a\\n"), dyn(1.5)]', '["a\\n", 1.500000]', "[a\n, 1.5]"),
        ("%s", '[dyn(b"x"), dyn(null)]', '[b"x", null]', "[x, null]"),
        ("%s", '[double("NaN"), double("inf")]', '["NaN", "+Inf"]', "[NaN, Infinity]"),
        ("%s", 'dyn([duration("1s")])', '[duration("1s")]', "[1s]"),
        (
            "%s",
            f"[{TIME}]",
            '[timestamp("2024-01-01T00:00:00.5+02:00")]',
            "[2023-12-31T22:00:00.5Z]",
        ),
        ("%s", '{"b": 1, "a": 2}', '{"a":2, "b":1}', "{a: 2, b: 1}"),
        (
            "%s",
            '{dyn("a"): 1, dyn(1): 2, dyn(true): 3, dyn(2u): 4}',
            '{"a":1, 1:2, 2:4, true:3}',
            "{1: 2, 2: 4, a: 1, true: 3}",
        ),
        ("%s", '[{"k": [1, 2]}]', '[{"k":[1, 2]}]', "[{k: [1, 2]}]"),
        ("%.5s", "1", "1", "1"),
        ("%d", "-5", "-5", "-5"),
        ("%d", "5u", "5", "5"),
        ("%.5d", "12", "12", "12"),
        ("%f", "2.71828", "2.718280", "2.718280"),
        ("%f", "1234567.891", "1,234,567.891000", "1234567.891000"),
        ("%f", "-0.0", "0.000000", "-0.000000"),
        ("%f", "-0.0000001", "-0.000000", "-0.000000"),
        ("%.0f", "2.5", "2", "2"),
        ("%.2f", "1.005", "1.00", "1.00"),
        ("%.30f", "0.1", "0.100000000000000005551115123126", "0.100000000000000005551115123126"),
        ("%f", 'double("NaN")', "NaN", "NaN"),
        ("%f", 'double("inf")', "∞", "Infinity"),
        ("%e", "1234.5", "1.234500\u00d710⁰³", "1.234500e+03"),
        ("%e", "-0.0", "0.000000\u00d710⁰⁰", "-0.000000e+00"),
        ("%e", "1e-100", "1.000000\u00d710⁻¹⁰⁰", "1.000000e-100"),
        ("%.2e", "1234.5", "1.234500\u00d710⁰³", "1.23e+03"),
        ("%.20e", "-1234.5", "      -1.234500\u00d710⁰³", "-1.23450000000000000000e+03"),
        ("%e", 'double("-inf")', "    -∞", "-Infinity"),
        ("%b", "-5", "-101", "-101"),
        ("%b", "true", "1", "1"),
        ("%o", "65535u", "177777", "177777"),
        ("%x", "-255", "-ff", "-ff"),
        ("%X", '"é"', "C3A9", "C3A9"),
        ("%x", 'b"\\xff"', "ff", "ff"),
    ],
)
def test_a_clause_prints_as_the_dialect_prints_it(clause, value, kubernetes, cel):
    expression = f'"<{clause}>".format([{value}])'
    assert evaluate(expression, KUBERNETES) == f"<{kubernetes}>"
    assert evaluate(expression, CEL) == f"<{cel}>"


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
def test_text_around_the_clauses_is_kept(dialect):
    expression = '"%% é%s%%%d\\n%%".format([dyn("ü"), dyn(3)])'
    assert evaluate(expression, dialect) == "% éü%3\n%"
    assert evaluate('"no clause".format([])', dialect) == "no clause"
    assert evaluate("t.format([1, 2])", dialect, t="%d") == "1"  # more values than clauses


def test_names_of_what_is_not_finite_print_as_numbers_in_kubernetes_only():
    assert evaluate("t.format([v])", t="%f", v="-Infinity") == "-∞"
    assert "not string" in fault_of("t.format([v])", CEL, t="%f", v="-Infinity")


def test_numbers_of_all_kinds_print_as_each_other_in_cel_only():
    assert evaluate("t.format([1.5, 2, 3])", CEL, t="%d %f %e") == "1.5 2.000000 3.000000e+00"
    assert "not double" in fault_of("t.format([1.5])", t="%d")
    assert "not int" in fault_of("t.format([1])", t="%f")


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("template", "value"),
    [
        *(("%a", 1), ("%E", 0.5), ("%5d", 1), ("%é", 1), ("%", 1), ("x%", 1)),
        *(("%.", 1), ("%.5", 1), ("%.f", 1.0), ("%.-1f", 1.0), ("%.2%", 1.0)),
        *(("%d", "x"), ("%d", None), ("%f", None), ("%e", "x"), ("%x", 0.5), ("%o", "x")),
        *(("%b", "x"), ("%b", 1.5), ("%s", b"\xff"), ("%s %s", 1)),
        ("%.1000000000f", 1.0),
        ("%.99999999999999999999999f", 1.0),
        ("%." + "9" * 10_000 + "f", 1.0),
        (f"%.{MAX_PRECISION + 1}f", 1.0),
        (f"%.{MAX_PRECISION + 1}e", 1.0),
    ],
)
def test_a_clause_that_cannot_print_its_value_is_a_fault(template, value, dialect):
    assert len(fault_of("t.format([v])", dialect, t=template, v=value)) < 200


def test_the_largest_precision_is_printed_exactly():
    for dialect in (KUBERNETES, CEL):
        shown = evaluate("t.format([1.0])", dialect, t=f"%.{MAX_PRECISION}f")
        assert shown == "1." + "0" * MAX_PRECISION


def test_values_without_a_text_are_faults():
    assert fault_of('t.format([quantity("1")])', t="%s").endswith("not kubernetes.Quantity")
    assert fault_of("t.format([optional.of(1)])", t="%s").endswith("not optional_type")
    assert fault_of("t.format([[optional.of(1)]])", t="%s").endswith("not optional_type")


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
def test_what_is_nested_too_deeply_is_a_fault(dialect):
    value = []
    for _ in range(MAX_NESTING - 1):
        value = [value]
    assert evaluate("t.format([v])", dialect, t="%s", v=value).count("[") == MAX_NESTING
    assert "in each other" in fault_of("t.format([v])", dialect, t="%s", v=[value])


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
def test_what_is_too_long_is_refused_before_it_is_printed(dialect):
    assert limit_of("t.format([v])", dialect, t="%x", v="a" * MAX_STRING)
    assert limit_of("t.format([v, v])", dialect, t="%s%s", v="a" * (MAX_STRING - 100))
    assert limit_of("t.format([v])", dialect, t="%s", v=[1e300] * 90_000)
    assert limit_of("t.format(v)", dialect, t="%.255f" * 40_000, v=[1.0] * 40_000)


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
def test_a_list_that_shares_its_parts_is_refused_quickly(dialect):
    value = ["x"]
    for _ in range(60):  # 2^60 parts, if they are counted
        value = [value, value]
    assert limit_of("t.format([v])", dialect, t="%s", v=value)


@pytest.mark.parametrize(
    ("template", "types", "in_kubernetes", "in_cel"),
    [
        ("%s %d %f %e", ("dyn", "int", "double", "double"), None, None),
        ("%%", (), None, None),
        ("%s", ("list(map(string, timestamp))",), None, None),
        ("%x%X%o%b", ("string", "bytes", "uint", "bool"), None, None),
        ("%s", ("string?",), None, None),
        ("%s", ("type(int)",), None, None),
        ("%s", ("quantity",), 0, 0),
        ("%s", ("list(list(quantity))",), 0, 0),
        ("%s", ("optional(int)",), 0, 0),
        ("%s%d", ("int", "list(int)"), 1, 1),
        ("%d", ("double",), 0, None),
        ("%f", ("int",), 0, None),
        ("%f", ("string",), None, 0),
        ("%d %d", ("int",), "more", "more"),
        ("%d", ("int", "int"), "uses", "uses"),
        ("%a", ("int",), "clause", "clause"),
        ("%", ("int",), "clause", "clause"),
        ("%.f", ("double",), "clause", "clause"),
        ("%.999f", ("double",), "digits", "digits"),
    ],
)
def test_mistakes_are_found_before_there_are_values(template, types, in_kubernetes, in_cel):
    given = [parse_type(it) for it in types]
    for dialect, want in ((KUBERNETES, in_kubernetes), (CEL, in_cel)):
        found = find_mistake(template, given, dialect)
        if want is None:
            assert found is None
        elif isinstance(want, str):
            assert isinstance(found, Mistake)
            assert found.argument is None
            assert want in found.message
        else:
            assert found is not None
            assert found.argument == want
