"""The named formats; every row was answered by Kubernetes 1.36."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.equality import equal
from policyd.values.formats import FORMATS

LABEL = "a lowercase RFC 1123 label must consist of"
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"
DNS1035 = "a DNS-1035 label must consist of"
NAME = "name part must consist of alphanumeric characters"


@pytest.mark.parametrize(
    ("name", "text", "faults"),
    [
        ("dns1123Label", "my-label", []),
        ("dns1123Label", "My_Label", [LABEL]),
        ("dns1123Label", "", [LABEL]),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 63, []),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "é" * 32, ["must be no more than 63 characters", LABEL]),
        ("dns1123Label", "a\n", [LABEL]),
        ("dns1123Subdomain", "a.b-c", []),
        ("dns1123Subdomain", "a..b", [SUBDOMAIN]),
        ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
        ("dns1035Label", "a1", []),
        ("dns1035Label", "1a", [DNS1035]),
        ("dns1123LabelPrefix", "abc-", []),
        ("dns1123LabelPrefix", "a.b-", ["must not contain dots"]),
        ("dns1123LabelPrefix", "--", []),
        ("dns1123LabelPrefix", "-", [LABEL]),
        ("dns1123LabelPrefix", "é-", [LABEL]),
        ("dns1123SubdomainPrefix", "a.b-", []),
        ("dns1035LabelPrefix", "a1-", []),
        ("dns1035LabelPrefix", "1a-", [DNS1035]),
        ("qualifiedName", "example.com/a", []),
        ("qualifiedName", "Aa._-b", []),
        ("qualifiedName", "a/b/c", ["a valid label key must consist of"]),
        ("qualifiedName", "/x", ["prefix part must be non-empty"]),
        ("qualifiedName", "x/", ["name part must be non-empty", NAME]),
        ("qualifiedName", "X/a", [f"prefix part {SUBDOMAIN}"]),
        ("qualifiedName", "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            "qualifiedName",
            "a" * 254 + "/b",
            ["prefix part must be no more than 253 bytes"],
        ),
        ("labelValue", "", []),
        ("labelValue", "my_Value.1", []),
        ("labelValue", "-x", ["a valid label must be an empty string or consist of"]),
        ("labelValue", "a" * 64, ["must be no more than 63 bytes"]),
        ("uri", "http://x", []),
        ("uri", "x y", ['parse "x y": invalid URI for request']),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", []),
        ("uuid", "123E4567e89b12d3a456426614174000", []),
        ("uuid", "123e4567", ["does not match the UUID format"]),
        ("byte", "aGVsbG8=", []),
        ("byte", "aGVs", []),
        ("byte", "", ["invalid base64"]),
        ("byte", "aGVsbG8", ["invalid base64"]),
        ("byte", "a===", ["invalid base64"]),
        ("byte", "aGV_", ["invalid base64"]),
        ("date", "2020-02-29", []),
        ("date", "0000-02-29", []),
        ("date", "2021-02-29", ["invalid date"]),
        ("date", "2021-13-01", ["invalid date"]),
        ("date", "2021-1-1", ["invalid date"]),
        ("datetime", "2021-01-01T00:00:00Z", []),
        ("datetime", "2021-01-01t23:59:59.5+24:99", []),
        ("datetime", "2021-01-01T23:59:60Z", ["invalid datetime"]),
        ("datetime", "2021-01-01 00:00:00Z", ["invalid datetime"]),
        ("datetime", "2021-01-01", ["invalid datetime"]),
        ("datetime", "", ["invalid datetime"]),
    ],
)
def test_says_what_is_wrong_as_kubernetes_does(name, text, faults):
    found = FORMATS[name].validate(text)
    assert len(found) == len(faults)
    assert all(map(str.startswith, found, faults))


def test_a_sentence_shows_examples_and_the_expression():
    (sentence,) = FORMATS["dns1123Label"].validate("-")
    assert sentence == (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
        " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex"
        " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )


@given(st.sampled_from(sorted(FORMATS)), st.text(st.characters(), max_size=20))
def test_any_text_is_checked_without_failing(name, text):
    faults = FORMATS[name].validate(text)
    assert all(isinstance(fault, str) for fault in faults)


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("unit", ["a", "a-", "a.", "-", "a/", "A", "é", "t", "\ud800", "aaaa"])
@pytest.mark.timing
def test_long_texts_are_checked_in_linear_time(name, unit):
    text = unit * (200_000 // len(unit)) + "!"
    start = time.perf_counter()
    FORMATS[name].validate(text)
    assert time.perf_counter() - start < 1


def test_formats_are_equal_by_name():
    assert equal(FORMATS["uri"], FORMATS["uri"])
    assert not equal(FORMATS["uri"], FORMATS["uuid"])
    assert str(FORMATS["uri"]) == "URI"
