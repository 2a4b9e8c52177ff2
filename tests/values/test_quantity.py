"""Quantities: reading, printing, order and arithmetic, against Kubernetes and exact fractions.

The tables were answered by apimachinery 1.36's `resource.Quantity`.
"""

import copy
import math
import pickle
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.equality import compare, equal, type_value
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, Uint
from policyd.values.quantity import (
    MAX_EXPONENT,
    MAX_NANOS,
    MAX_TEXT,
    NANOS,
    ZERO,
    Notation,
    Quantity,
)

q = Quantity.parse

SCALES = {
    **{suffix: Fraction(1000) ** (at - 3) for at, suffix in enumerate(["n", "u", "m", ""])},
    **{suffix: Fraction(1000) ** (at + 1) for at, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024) ** (at + 1) for at, suffix in enumerate("KMGTPE")},
}


@pytest.mark.parametrize(
    ("text", "printed", "is_integer", "as_float"),
    [
        ("0", "0", True, 0.0),
        ("-0", "0", True, 0.0),
        ("1", "1", True, 1.0),
        ("+5", "+5", True, 5.0),
        ("5.", "5.", True, 5.0),
        (".5", "500m", False, 0.5),
        ("007", "007", True, 7.0),
        ("1.5", "1500m", False, 1.5),
        ("1.500k", "1.500k", True, 1500.0),
        ("1000m", "1", False, 1.0),
        ("2000m", "2", False, 2.0),
        ("0.5m", "500u", False, 0.0005),
        ("1025", "1025", True, 1025.0),
        ("100k", "100k", True, 1e5),
        ("1e3", "1e3", True, 1000.0),
        ("1E3", "1E3", True, 1000.0),
        ("1E2", "100", True, 100.0),
        ("1E", "1E", True, 1e18),
        ("1e-3", "1e-3", False, 0.001),
        ("1e400", "10e399", False, math.inf),
        ("1Ki", "1Ki", True, 1024.0),
        ("8Mi", "8Mi", True, 8388608.0),
        ("1024Ki", "1Mi", True, 1048576.0),
        ("1.Gi", "1.Gi", True, 1073741824.0),
        ("1.5Gi", "1536Mi", False, 1610612736.0),
        ("0.5Ki", "512", False, 512.0),
        ("1.1Ki", "1126400m", False, 1126.4000000000001),
        ("0.00001Ki", "10240u", False, 0.010240000000000001),
        ("-1Gi", "-1Gi", True, -1073741824.0),
        # Kubernetes trusts so many digits to 64 bits, and no more.
        ("99999999999Ki", "99999999999Ki", True, 102399999998976.0),
        ("100000000000Ki", "97656250Mi", False, 102400000000000.0),
        ("100Ti", "100Ti", False, 109951162777600.0),
        ("1Pi", "1Pi", False, 1125899906842624.0),
        ("17Ei", "9223372036854775807", False, 9.2233720368547758e18),
        ("9223372036854775808", "9223372036854775808", False, 9.2233720368547758e18),
        # Finer than a nano-unit: away from zero.
        ("1.0000000001", "1000000001n", False, 1.0000000010000001),
        ("2.5n", "3n", False, 3.0000000000000004e-09),
        ("0.1n", "1n", False, 1.0000000000000001e-09),
        ("-0.1n", "-1n", False, -1.0000000000000001e-09),
        ("1e-10", "1e-9", False, 1.0000000000000001e-09),
        # Not what the grammar says, but what Kubernetes does.
        ("+", "0", True, 0.0),
        (".", "0", True, 0.0),
        ("k", "0", True, 0.0),
        ("Gi", "0", True, 0.0),
        ("e3", "0", True, 0.0),
    ],
)
def test_reads_and_prints_as_kubernetes(text, printed, is_integer, as_float):
    quantity = q(text)
    assert str(quantity) == printed
    assert quantity.is_integer() is is_integer
    assert quantity.as_float() == as_float
    assert q(printed) == quantity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quantities must be a number"),
        (" 1", "quantities must be a number"),
        ("1 ", "quantities must be a number"),
        ("1 Gi", "quantities must be a number"),
        ("1,3G", "quantities must be a number"),
        ("0x10", "quantities must be a number"),
        ("1.5.2", "quantities must be a number"),
        ("1Gib", "quantities must be a number"),
        ("१", "quantities must be a number"),
        ("1\x00", "quantities must be a number"),
        ("1\n", "quantities must be a number"),
        ("\ud800", r'"\ud800"'),
        ("Three", "quantities must be a number"),
        ("100K", 'unable to parse quantity\'s suffix: "100K" (kilo is `k`)'),
        ("1mi", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1ee3", "unable to parse quantity's suffix"),
        ("1+5", "unable to parse quantity's suffix"),
        ("1inu", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part"),
        ("-Pi", "unable to parse numeric part"),
        ("e-10", "unable to parse numeric part"),
    ],
)
def test_refuses_what_kubernetes_refuses(text, message):
    with pytest.raises(ValueFault) as caught:
        q(text)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("1e999999999", str(MAX_EXPONENT)),
        ("1e-999999999", str(MAX_EXPONENT)),
        ("1E" + "9" * 900, str(MAX_EXPONENT)),
        ("9" * 900 + "e999", "10^1000"),
        ("1" * (MAX_TEXT + 1), str(MAX_TEXT)),
        ("0" * 10_000_000 + "x", str(MAX_TEXT)),
        ("1" * 10_000_000, str(MAX_TEXT)),
    ],
)
@pytest.mark.timing
def test_hostile_texts_are_refused_at_once_and_name_the_limit(text, limit):
    start = time.perf_counter()
    with pytest.raises(ValueFault, match="limit") as caught:
        q(text)
    assert time.perf_counter() - start < 0.1
    assert limit in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.timing
def test_a_text_that_nearly_fits_is_refused_in_linear_time():
    text = "0" * 500 + "1" * 500 + "!"
    start = time.perf_counter()
    with pytest.raises(ValueFault):
        q(text)
    assert time.perf_counter() - start < 0.01


@pytest.mark.parametrize(
    ("left", "right", "added", "subtracted"),
    [
        ("50k", "20k", "70k", "30k"),
        ("1Gi", "1G", "2073741824", "73741824"),
        ("100m", "900m", "1", "-800m"),
        ("1", "1500m", "2500m", "-500m"),
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("1e3", "1k", "2e3", "0"),
        ("1Gi", "1m", "1073741824001m", "1073741823999m"),
        ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
        # A zero takes the other's notation.
        ("0", "1Ki", "1Ki", "-1Ki"),
        ("0", "1e3", "1e3", "-1e3"),
        ("1Ki", "0", "1Ki", "1Ki"),
    ],
)
def test_sums_print_as_in_kubernetes(left, right, added, subtracted):
    assert str(q(left).plus(q(right))) == added
    assert str(q(left).minus(q(right))) == subtracted


def test_a_sum_that_left_64_bits_stays_no_integer_as_in_kubernetes():
    largest = Quantity.from_int(INT_MAX)
    one = Quantity.from_int(1)
    assert largest.is_integer()
    assert not largest.plus(one).is_integer()
    assert not largest.plus(one).minus(one).is_integer()
    assert largest.plus(one).minus(one) == largest


@pytest.mark.parametrize(
    ("quantity", "printed"),
    [
        (q("1000E"), "1e21"),
        (Quantity.from_int(1024**7, Notation.BINARY), "1180591620717411303424"),
        (Quantity.from_int(-(1024**7), Notation.BINARY), "-1180591620717411303424"),
    ],
)
def test_amounts_past_the_last_suffix_print_as_what_they_are(quantity, printed):
    # Kubernetes drops the exponent here, and prints 1000E as 1.
    assert str(quantity) == printed
    assert q(printed) == quantity


@st.composite
def texts(draw):
    """A quantity's text and the fraction that it means."""
    sign = draw(st.sampled_from(["", "-", "+"]))
    whole = draw(st.integers(0, 10**20))
    places = draw(st.one_of(st.just(""), st.from_regex(r"\.[0-9]{0,12}", fullmatch=True)))
    exponent = st.integers(-40, 40).map(lambda e: (f"e{e}", Fraction(10) ** e))
    suffix, scale = draw(st.one_of(st.sampled_from(sorted(SCALES.items())), exponent))
    value = Fraction(f"{whole}{places if places != '.' else ''}") * scale
    return f"{sign}{whole}{places}{suffix}", suffix, -value if sign == "-" else value


def rounded(value):
    """Round to a nano-unit, away from zero."""
    nanos = value * NANOS
    return Fraction(math.ceil(nanos) if nanos > 0 else math.floor(nanos), NANOS)


@given(texts())
def test_a_text_means_its_fraction_rounded_away_from_zero(case):
    text, suffix, value = case
    expected = rounded(value)
    if suffix.endswith("i"):  # Kubernetes cuts binary amounts that it holds as decimals
        assert abs(q(text).nanos) <= INT_MAX * NANOS
        expected = max(min(expected, Fraction(INT_MAX)), -Fraction(INT_MAX))
    assert Fraction(q(text).nanos, NANOS) == expected


@given(texts(), texts())
def test_printing_and_reading_gives_the_same_amount(left, right):
    total = q(left[0]).plus(q(right[0]))
    for quantity in (q(left[0]), total, q(left[0]).minus(q(right[0])), total.negated()):
        assert q(str(quantity)) == quantity or abs(quantity.nanos) > INT_MAX * NANOS
        # Printing what was read prints the same, so that a text settles.
        assert str(q(str(quantity)).plus(ZERO)) == str(q(str(q(str(quantity)))).plus(ZERO))


amounts = st.one_of(
    st.integers(-(10**30), 10**30), st.integers(-5, 5).map(lambda n: n * NANOS)
).map(Quantity.from_nanos)
numbers = st.one_of(st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False))


def fraction(quantity):
    return Fraction(quantity.nanos, NANOS)


@given(amounts, amounts)
def test_order_equality_and_sums_are_those_of_fractions(left, right):
    a, b = fraction(left), fraction(right)
    assert (left < right, left <= right, left > right, left >= right) == (
        a < b,
        a <= b,
        a > b,
        a >= b,
    )
    assert (left == right) is (a == b)
    assert compare(left, right) == (a > b) - (a < b)
    assert fraction(left.plus(right)) == a + b
    assert fraction(left.minus(right)) == a - b
    assert fraction(left.negated()) == -a
    assert left.sign == (a > 0) - (a < 0)


@given(amounts, numbers)
def test_order_and_hash_against_plain_numbers_are_exact(quantity, number):
    a, b = fraction(quantity), Fraction(number)
    assert (quantity < number, quantity <= number) == (a < b, a <= b)
    assert (quantity > number, quantity >= number) == (a > b, a >= b)
    assert (number < quantity, number >= quantity) == (b < a, b >= a)
    assert (quantity == number) is (a == b)
    assert hash(quantity) == hash(a)


@given(st.integers(-(2**63), 2**63))
def test_an_equal_number_is_equal_both_ways(number):
    quantity = Quantity.from_int(number)
    assert quantity == number
    assert number == quantity
    assert hash(quantity) == hash(number)
    assert {number: 1}[quantity] == 1


def test_nan_has_no_order_infinity_is_beyond_and_other_kinds_do_not_compare():
    one = q("1")
    nan = float("nan")
    assert not any((one < nan, one <= nan, one > nan, one >= nan, one == nan, nan == one))
    assert one < math.inf
    assert one > -math.inf
    assert one == Uint(1)
    assert one != True  # noqa: E712 - a bool is no number of the language
    assert one != "1"
    with pytest.raises(TypeError):
        assert one < "1"
    with pytest.raises(TypeError):
        assert one < True


@given(amounts, numbers)
def test_scaling_is_the_exact_product_rounded_away_from_zero(quantity, number):
    try:
        product = quantity.times(number)
    except ValueFault:
        assert abs(fraction(quantity) * Fraction(number)) > Fraction(MAX_NANOS, NANOS)
        return
    assert fraction(product) == rounded(fraction(quantity) * Fraction(number))
    assert product.notation is quantity.notation


@given(amounts, numbers)
def test_dividing_by_a_number_is_the_exact_quotient_rounded_away_from_zero(quantity, number):
    if not number:
        with pytest.raises(ValueFault, match="division by zero"):
            quantity.over(number)
        return
    assert fraction(quantity.over(number)) == rounded(fraction(quantity) / Fraction(number))


@given(amounts, amounts)
def test_a_ratio_is_the_nearest_double(left, right):
    if right.nanos:
        assert left.ratio(right) == left.nanos / right.nanos
        assert Fraction(left.nanos, right.nanos) == pytest.approx(left.ratio(right))


def test_ratios_by_zero_and_past_the_largest_double_are_as_of_doubles():
    assert q("1").ratio(ZERO) == math.inf
    assert q("-1").ratio(ZERO) == -math.inf
    assert math.isnan(ZERO.ratio(ZERO))
    assert q("1e900").ratio(q("-1")) == -math.inf
    assert q("-1e900").ratio(q("-1")) == math.inf
    assert q("1e900").nearest_float() == math.inf
    assert q("0.1").nearest_float() == 0.1


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_scaling_by_what_is_no_number_is_a_fault(number):
    with pytest.raises(ValueFault, match="cannot be scaled"):
        q("1").times(number)
    with pytest.raises(ValueFault, match="cannot be scaled"):
        q("1").over(number)


def test_arithmetic_past_the_limit_is_a_fault_that_names_it():
    largest = q(f"1e{MAX_EXPONENT}")
    assert largest.nanos == MAX_NANOS
    for compute in (
        lambda: largest.plus(q("1n")),
        lambda: largest.negated().minus(q("1n")),
        lambda: largest.times(1.0000001),
        lambda: largest.over(0.5),
        lambda: Quantity.from_nanos(MAX_NANOS + 1),
        lambda: Quantity.from_int(10**MAX_EXPONENT + 1),
    ):
        with pytest.raises(ValueFault, match=r"limit of 10\^1000"):
            compute()
    assert largest.minus(largest) == ZERO
    assert q(str(largest)) == largest


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("1", 1, 1000),
        ("1500m", 2, 1500),
        ("1n", 1, 1),
        ("0.0001", 1, 1),
        ("-1500m", -2, -1500),
        ("-1n", -1, -1),
        ("0", 0, 0),
        ("1Gi", 1073741824, 1073741824000),
    ],
)
def test_value_and_milli_value_round_away_from_zero(text, value, milli):
    assert q(text).value() == value
    assert q(text).milli_value() == milli


def test_constructors_print_in_their_notation_and_know_whole_numbers():
    assert str(Quantity.from_milli(1500)) == "1500m"
    assert str(Quantity.from_milli(2000)) == "2"
    assert Quantity.from_milli(2000).as_integer() == 2
    assert str(Quantity.from_int(2048, Notation.BINARY)) == "2Ki"
    assert str(Quantity.from_int(2000, Notation.EXPONENT)) == "2e3"
    assert str(Quantity.from_nanos(-1)) == "-1n"
    assert Quantity.from_int(0) == ZERO


def test_a_whole_number_is_given_only_where_kubernetes_gives_it():
    assert q("50k").as_integer() == 50_000
    with pytest.raises(ValueFault, match="cannot convert value to integer: 2"):
        q("2000m").as_integer()


def test_a_quantity_is_a_value_of_the_language():
    assert str(type_value(q("1"))) == "kubernetes.Quantity"
    assert equal(q("1Gi"), q("1024Mi"))
    assert not equal(q("1G"), q("1Gi"))
    assert len({q("1Gi"), q("1024Mi"), q("1073741824")}) == 1
    assert repr(q("1Gi")) == "Quantity.parse('1Gi')"


def test_a_quantity_cannot_be_changed_and_can_be_copied():
    quantity = q("100Ti")
    with pytest.raises(AttributeError):
        quantity.nanos = 1
    with pytest.raises(AttributeError):
        quantity.extra = 1
    for same in (copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):  # noqa: S301 - made here
        assert same == quantity
        assert str(same) == "100Ti"
        assert not same.is_integer()
