"""Kubernetes' URL library."""

import pytest

from tests.language.libraries.evaluation import evaluate, fault_of

LONG = "https://user:pass@example.com:80/path?query=val#fragment"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f'url("{LONG}").getScheme()', "https"),
        (f'url("{LONG}").getHost()', "example.com:80"),
        (f'url("{LONG}").getHostname()', "example.com"),
        (f'url("{LONG}").getPort()', "80"),
        (f'url("{LONG}").getEscapedPath()', "/path"),
        (f'url("{LONG}").getQuery()', {"query": ["val"]}),
        ('url("https://[::1]:80/").getHostname()', "::1"),
        ('url("https://example.com/a b").getEscapedPath()', "/a%20b"),
        ('url("https://example.com/?k=1&k=2&b=").getQuery()', {"k": ["1", "2"], "b": [""]}),
        ('isURL("/absolute-path")', True),
        ('isURL("../x")', False),
        ('isURL("example.com")', False),
        ('url("https://a/") == url("https://a/")', True),
    ],
)
def test_answers_are_those_of_kubernetes(expression, value):
    assert evaluate(expression) == value


def test_the_reason_of_a_refusal_is_given():
    assert fault_of('url("../x")') == 'parse "../x": invalid URI for request'
