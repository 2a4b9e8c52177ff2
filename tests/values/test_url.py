"""URLs, taken apart as Go 1.26 does it; every row was answered by `net/url`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.language.equality import equal
from policyd.values.errors import ValueFault
from policyd.values.url import MAX_PARAMETERS, URL, check_uri


@pytest.mark.parametrize(
    ("text", "printed", "host", "hostname", "port", "path"),
    [
        ("https://u:p@h.com:80/a?b#c", "", "h.com:80", "h.com", "80", "/a"),
        ("https://[::1]:80/", "", "[::1]:80", "::1", "80", "/"),
        ("https://[fe80::1%25eth0]/", "", "[fe80::1%eth0]", "fe80::1%eth0", "", "/"),
        ("https://[::ffff:1.2.3.4]", "", "[::ffff:1.2.3.4]", "::ffff:1.2.3.4", "", ""),
        ("HTTPS://EXAMPLE.com", "https://EXAMPLE.com", "EXAMPLE.com", "EXAMPLE.com", "", ""),
        ("https://h:/", "", "h:", "h", "", "/"),
        ("https://h/a b", "https://h/a%20b", "h", "h", "", "/a%20b"),
        ("https://h/a%20b", "", "h", "h", "", "/a%20b"),
        ("https://h/%41%2f", "", "h", "h", "", "/%41%2f"),
        ("https://h/%41 ", "https://h/A%20", "h", "h", "", "/A%20"),
        ("https://h/é", "https://h/%C3%A9", "h", "h", "", "/%C3%A9"),
        ("https://é.com/", "https://%C3%A9.com/", "é.com", "é.com", "", "/"),
        ("https://%C3%A9.com/", "", "é.com", "é.com", "", "/"),
        ("https://h?", "", "h", "h", "", ""),
        ("mysql://a:1,b:2/x", "", "a:1,b:2", "a:1,b", "2", "/x"),
        ("file:///etc/x", "", "", "", "", "/etc/x"),
        ("http:/x", "", "", "", "", "/x"),
        ("mailto:a@b", "", "", "", "", ""),
        ("/path", "", "", "", "", "/path"),
        ("//h/p", "", "h", "h", "", "/p"),
        ("http://@h/", "", "h", "h", "", "/"),
        ("*", "", "", "", "", "*"),
    ],
)
def test_takes_apart_as_go(text, printed, host, hostname, port, path):
    url = URL.parse(text)
    assert str(url) == (printed or text)
    assert (url.host, url.hostname, url.port) == (host, hostname, port)
    assert url.escaped_path == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'parse "": empty url'),
        ("../x", 'parse "../x": invalid URI for request'),
        ("example.com", 'parse "example.com": invalid URI for request'),
        (":x", "missing protocol scheme"),
        ("https://a:b:c/", 'invalid port ":b:c" after host'),
        ("https://a:1:2/", 'invalid port ":1:2" after host'),
        ("https://h:x/", 'invalid port ":x" after host'),
        ("https://h/%zz", 'invalid URL escape "%zz"'),
        ("https://h/%4", 'invalid URL escape "%4"'),
        ("https://h%41/", 'invalid URL escape "%41"'),
        ("https://h /", 'invalid character " " in host name'),
        ("https://h#f", 'invalid character "#" in host name'),
        ("https://[::1", "missing ']' in host"),
        ("https://x[::1]", "invalid IP-literal"),
        ("https://[1.2.3.4]", "invalid IP-literal"),
        ("https://[g]/", "invalid host"),
        ("https://[fe80::1%25]/", "zone must be a non-empty string"),
        ("https://[fe80::1%25a%0a]/", 'invalid URL escape "%0a"'),
        ("https://a b@h/", "net/url: invalid userinfo"),
        ("https://a%zz@h/", 'invalid URL escape "%zz"'),
        ("https://h/#%zz", 'invalid URL escape "%zz"'),
        ("https://h/\n", "net/url: invalid control character in URL"),
        ("https://h/\x00", "net/url: invalid control character in URL"),
        ("https://h/\ud800", "half of a surrogate pair"),
    ],
)
def test_what_is_no_url_is_refused_with_gos_reason(text, message):
    with pytest.raises(ValueFault) as caught:
        URL.parse(text)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("k=1&k=2&b=", {"k": ["1", "2"], "b": [""]}),
        ("a+b=c+d&e%3D=%C3%A9", {"a b": ["c d"], "e=": ["é"]}),
        ("&&x&=v", {"x": [""], "": ["v"]}),
        ("a=1;b=2&c=3&d=%zz&%z=1", {"c": ["3"]}),
        ("q=%ff", {"q": ["\N{REPLACEMENT CHARACTER}"]}),
        ("é=中", {"é": ["中"]}),
        ("", {}),
        ("&".join(["a=1"] * (MAX_PARAMETERS + 1)), {}),
    ],
)
def test_queries_are_decoded_as_in_go(query, found):
    assert URL.parse(f"https://h/?{query}").query() == found


@given(st.text(max_size=30))
def test_any_text_is_a_url_or_a_fault(text):
    for head in ("", "https://", "/", "https://h/?", "https://h/#"):
        try:
            url = URL.parse(head + text)
        except ValueFault:
            continue
        check_uri(head + text)
        url.query()
        # What is printed is read as the same URL, but for a fragment right after the host and for
        # `//`, which has nothing to print.
        assert "#" in str(url) or not str(url) or equal(URL.parse(str(url)), url)


def test_urls_are_equal_where_they_print_the_same():
    assert equal(URL.parse("HTTP://a/"), URL.parse("http://a/"))
    assert hash(URL.parse("HTTP://a/")) == hash(URL.parse("http://a/"))
    assert not equal(URL.parse("http://a/"), URL.parse("http://a"))
