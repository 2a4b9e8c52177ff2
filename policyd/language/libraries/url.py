"""Kubernetes' URL library.

Answers are those of Kubernetes 1.36 (https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#URLs).
"""

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.sizes import one_text_cost, text_cost
from policyd.values.errors import ValueFault
from policyd.values.url import URL, check_uri


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both dialects
    """Declare the functions."""
    return Library(
        "url",
        (
            function(
                "url",
                overload("string_to_url", "(string) -> url", URL.parse, cost=_reading),
                doc="Reads an absolute URL or an absolute path.",
            ),
            function(
                "isURL",
                overload("is_url_string", "(string) -> bool", _is_url, cost=_reading),
                doc="Says whether a string can be read as a URL.",
            ),
            function(
                "getScheme",
                overload("url_get_scheme", "url.() -> string", _scheme, cost=one_text_cost),
                doc="Gives the scheme of a URL, such as `https`, or the empty string.",
            ),
            function(
                "getHost",
                overload("url_get_host", "url.() -> string", _host, cost=one_text_cost),
                doc="Gives the host of a URL with its port, or the empty string.",
            ),
            function(
                "getHostname",
                overload("url_get_hostname", "url.() -> string", _hostname, cost=one_text_cost),
                doc="Gives the host of a URL without its port and without brackets.",
            ),
            function(
                "getPort",
                overload("url_get_port", "url.() -> string", _port, cost=one_text_cost),
                doc="Gives the port of a URL as a string, or the empty string.",
            ),
            function(
                "getEscapedPath",
                overload(
                    "url_get_escaped_path", "url.() -> string", _escaped_path, cost=one_text_cost
                ),
                doc="Gives the path of a URL, with what needs it percent-escaped.",
            ),
            function(
                "getQuery",
                overload(
                    "url_get_query",
                    "url.() -> map(string, list(string))",
                    URL.query,
                    cost=_decoding,
                ),
                doc="Gives the query of a URL: for each key the list of its values, decoded.",
            ),
        ),
    )


def _is_url(text: str) -> bool:
    try:
        check_uri(text)
    except ValueFault:
        return False
    return True


def _scheme(url: URL) -> str:
    return url.scheme


def _host(url: URL) -> str:
    return url.host


def _hostname(url: URL) -> str:
    return url.hostname


def _port(url: URL) -> str:
    return url.port


def _escaped_path(url: URL) -> str:
    return url.escaped_path


def _decoding(url: URL) -> int:
    return text_cost(len(url.raw_query))


def _reading(text: str, *_: object) -> int:
    return text_cost(len(text))
