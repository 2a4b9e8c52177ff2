"""`math`: cel-go's answers at the edges of 64 bits and of doubles."""

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.libraries.math import MAX_ARGUMENTS
from policyd.language.standard import standard_functions
from tests.language.libraries.evaluation import CEL, KUBERNETES, assert_gives, evaluate, fault_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("math.greatest(5)", "5"),
        ("math.greatest(5u)", "5u"),
        ("math.greatest(1, 1.0)", "1"),
        ("math.greatest(1.0, 1)", "1.0"),
        ("math.greatest(-3, 3u)", "3u"),
        ("math.greatest(5.4, 10, 3u, -5.0, 18446744073709551615u)", "18446744073709551615u"),
        ("math.greatest([5.4, 10.5, -5.0])", "10.5"),
        ("math.greatest([dyn(5.4), dyn(10u)])", "10u"),
        ("math.least(1, 3, 0)", "0"),
        ("math.least(5.4, 10, 3u, -5.0)", "-5.0"),
        ("math.least([1u, 3u])", "1u"),
        ("math.ceil(1.2)", "2.0"),
        ("math.ceil(-0.2)", "-0.0"),
        ("math.floor(-1.2)", "-2.0"),
        ("math.floor(-0.0)", "-0.0"),
        ("math.round(-1.5)", "-2.0"),
        ("math.round(2.5)", "3.0"),
        ("math.round(0.49999999999999994)", "0.0"),
        ("math.round(-0.4)", "-0.0"),
        ("math.round(9007199254740993.0)", "9007199254740993.0"),
        ("math.trunc(-1.9)", "-1.0"),
        ("math.trunc(1e300)", "1e300"),
        ('math.ceil(double("inf"))', 'double("inf")'),
        ('math.round(double("NaN"))', 'double("NaN")'),
        ("math.abs(-11)", "11"),
        ("math.abs(1u)", "1u"),
        ("math.abs(-11.5)", "11.5"),
        ("math.sign(-11)", "-1"),
        ("math.sign(0)", "0"),
        ("math.sign(100u)", "1u"),
        ("math.sign(-32.0)", "-1.0"),
        ("math.sign(-0.0)", "0.0"),
        ('math.sign(double("NaN"))', 'double("NaN")'),
        ("math.sqrt(81)", "9.0"),
        ("math.sqrt(4u)", "2.0"),
        ("math.sqrt(-1.0)", 'double("NaN")'),
        ('math.isInf(double("-inf"))', "true"),
        ("math.isNaN(0.0 / 0.0)", "true"),
        ("math.isFinite(1.0)", "true"),
        ("math.bitAnd(1, -1)", "1"),
        ("math.bitOr(4, -2)", "-2"),
        ("math.bitXor(4, -2)", "-6"),
        ("math.bitXor(1u, 3u)", "2u"),
        ("math.bitNot(1)", "-2"),
        ("math.bitNot(0u)", "18446744073709551615u"),
        ("math.bitShiftLeft(1, 63)", "-9223372036854775808"),
        ("math.bitShiftLeft(-1, 64)", "0"),
        ("math.bitShiftLeft(1u, 63)", "9223372036854775808u"),
        ("math.bitShiftLeft(1u, 200)", "0u"),
        ("math.bitShiftRight(-1024, 3)", "2305843009213693824"),
        ("math.bitShiftRight(-1024, 0)", "-1024"),
        ("math.bitShiftRight(-1, 9223372036854775807)", "0"),
        ("math.bitShiftRight(1024u, 2)", "256u"),
    ],
)
def test_math_answers_as_cel_go(expression, expected):
    assert_gives(expression, expected, CEL)
    assert_gives(expression, expected, KUBERNETES)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("math.abs(-9223372036854775808)", "integer overflow"),
        ("math.bitShiftLeft(1u, -1)", "negative offset: -1"),
        ("math.bitShiftRight(1, -1)", "negative offset: -1"),
        ('math.greatest(double("NaN"), 1.0)', "NaN values cannot be ordered"),
        ("math.greatest(dyn([]))", "math.greatest of an empty list"),
        ('math.least([dyn("a")])', "no such overload: math.least(string)"),
        ('math.least(1, dyn("a"), 2)', "no such overload: math.least(string)"),
        ("math.ceil(dyn(1))", "no such overload: math.ceil(int)"),
        ("math.abs(dyn(true))", "no such overload: math.abs(bool)"),
    ],
)
def test_math_without_an_answer_is_a_fault(expression, message):
    assert fault_of(expression, CEL) == message


def test_the_greatest_of_many_numbers_is_found_up_to_the_documented_count():
    many = ", ".join(map(str, range(MAX_ARGUMENTS)))
    assert evaluate(f"math.greatest({many})") == MAX_ARGUMENTS - 1
    assert evaluate(f"math.least([{many}, -1, 100])") == -1
    with pytest.raises(RuleError):
        evaluate(f"math.greatest({many}, 1)")
    with pytest.raises(RuleError):
        evaluate("math.greatest()")


def test_all_of_math_is_an_addition_to_kubernetes():
    for dialect, portable in ((KUBERNETES, False), (CEL, True)):
        for name, function in standard_functions(dialect).items():
            if name.startswith("math."):
                assert {it.portable for it in function.overloads} == {portable}
