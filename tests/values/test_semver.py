"""Versions: reading as Kubernetes does, and order as https://semver.org/ defines it."""

import pytest
import semver as reference
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.equality import compare, equal
from policyd.values.errors import ValueFault
from policyd.values.semver import Semver

numbers = st.integers(0, 12)
identifiers = st.from_regex(
    r"0|[1-9][0-9]{0,3}|[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,3}", fullmatch=True
)
versions = st.builds(
    lambda major, minor, patch, pre, build: (
        f"{major}.{minor}.{patch}"
        + (f"-{'.'.join(pre)}" if pre else "")
        + (f"+{'.'.join(build)}" if build else "")
    ),
    *(numbers, numbers, numbers),
    st.lists(identifiers, max_size=3),
    st.lists(identifiers, max_size=2),
)


@given(versions, versions)
def test_order_is_that_of_the_reference_package(left, right):
    a, b = Semver.parse(left), Semver.parse(right)
    expected = reference.Version.parse(left).compare(right)
    assert (a > b) - (a < b) == expected
    assert compare(a, b) == expected
    assert (a == b) is (expected == 0)
    assert a != b or hash(a) == hash(b)


@given(versions)
def test_a_version_prints_as_it_was_written(text):
    assert str(Semver.parse(text)) == text
    assert str(Semver.parse(f"v{text}", normalize=True)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("v1.2", "1.2.0"),
        ("v1", "1.0.0"),
        ("1", "1.0.0"),
        ("01.01.01", "1.1.1"),
        ("000.00.00", "0.0.0"),
        ("v1.32.4+k3s1", "1.32.4+k3s1"),
        ("550.54.015", "550.54.15"),
        ("1.2.03-rc.1", "1.2.3-rc.1"),
    ],
)
def test_normalizing_fills_up_and_drops_what_kubernetes_drops(text, printed):
    assert str(Semver.parse(text, normalize=True)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no major.minor.patch elements found"),
        ("1.2", "no major.minor.patch elements found"),
        ("v1.2.3", 'invalid character(s) found in major number "v1"'),
        ("1.x.3", 'invalid character(s) found in minor number "x"'),
        ("1.2.3.4", 'invalid character(s) found in patch number "3.4"'),
        ("1.2.", "patch number of the version is empty"),
        ("01.1.1", 'major number must not contain leading zeroes: "01"'),
        ("1.2.3-01", "must not contain leading zeroes"),
        ("1.2.3-", "pre-release of the version is empty"),
        ("1.2.3-a..b", "pre-release of the version is empty"),
        ("1.2.3-ä", "invalid character(s) found in pre-release"),
        ("1.2.3+", "build metadata of the version is empty"),
        ("1.2.3+a_b", "invalid character(s) found in build metadata"),
        ("1.2.3\n", "invalid character(s)"),
        ("1.2.٣", "invalid character(s)"),
        ("1.2.3-\ud800", "invalid character(s)"),
        ("18446744073709551616.0.0", "outside the limit of 18446744073709551615"),
        ("1.2.3-18446744073709551616", "outside the limit"),
        ("9" * 100_000 + ".0.0", "longer than the limit of 256 characters"),
    ],
)
def test_what_is_no_version_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueFault) as caught:
        Semver.parse(text)
    assert message in caught.value.message
    assert len(caught.value.message) < 300


def test_a_short_version_cannot_have_more_than_numbers():
    with pytest.raises(ValueFault, match="short version"):
        Semver.parse("1.2-rc", normalize=True)


def test_build_metadata_does_not_count():
    assert equal(Semver.parse("1.2.3"), Semver.parse("1.2.3+build"))
    assert compare(Semver.parse("1.2.3+a"), Semver.parse("1.2.3+b")) == 0
