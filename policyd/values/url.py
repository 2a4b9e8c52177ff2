"""URLs, taken apart as Go's `net/url` does it (https://pkg.go.dev/net/url).

Kubernetes' CEL builds on that package. A URL is a sequence of bytes, some of them escaped. Inside
this module a text is therefore its UTF-8 bytes, each as the character of the same number
(`_widen`), and is made a real text again on the way out (`_narrow`).
"""

import re
from dataclasses import dataclass, field
from string import ascii_letters, digits
from typing import ClassVar, Final

from policyd.values.errors import ValueFault
from policyd.values.network import read_address
from policyd.values.quoting import quote

MAX_PARAMETERS: Final = 10_000
"""A query with more parameters counts as empty, as in Go."""

# What may stand unescaped in each part.
_UNRESERVED: Final = frozenset(ascii_letters + digits + "-._~")
_PATH: Final = _UNRESERVED | frozenset("$&+,/:;=@")
_FRAGMENT: Final = _UNRESERVED | frozenset("!$&()*+,/:;=?@")
_USER: Final = _UNRESERVED | frozenset("$&+,;=")
_HOST: Final = _UNRESERVED | frozenset("!\"$&'()*+,;=:<>[]")
_USERINFO: Final = _UNRESERVED | frozenset("!$&'()*+,;=:%@")
_KEPT: Final = frozenset("!$&'()*+,;=:@[]%")  # left alone in a path that came escaped
_ASCII: Final = 0x80

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class URL:
    """A URL. Equal to another that prints the same.

    `host` has the port with it, as in Go; `escaped_path` is the path in the spelling it came in
    where that is a valid one; `raw_query` is the query without the `?`, not decoded.
    """

    text: str
    scheme: str = field(compare=False)
    host: str = field(compare=False)
    escaped_path: str = field(compare=False)
    raw_query: str = field(compare=False)

    cel_type: ClassVar[str] = "kubernetes.URL"

    @staticmethod
    def parse(text: str) -> "URL":
        """Read an absolute URL, or an absolute path without scheme and host.

        Raises:
            ValueFault: the text is neither.
        """
        # Read twice, as Kubernetes does: a fragment is no part of a request's URL, so that the
        # first, stricter reading takes it for the end of the path or the query.
        check_uri(text)
        before, _, fragment = _widen(text).partition("#")
        try:
            return _made(_split(before, request=False), fragment)
        except ValueFault as fault:
            raise ValueFault(f"parse {quote(text)}: {fault.message}") from None

    def __str__(self) -> str:
        return self.text

    @property
    def cel_length(self) -> int:
        """Give the length of its text, which is what comparing it takes."""
        return len(self.text)

    @property
    def hostname(self) -> str:
        """Give the host without the port, and an IPv6 address without its brackets."""
        name = self.host[: len(self.host) - len(self._colon_port)]
        return name[1:-1] if name[:1] == "[" and name[-1:] == "]" else name

    @property
    def port(self) -> str:
        """Give the port's digits, or the empty string."""
        return self._colon_port[1:]

    @property
    def _colon_port(self) -> str:
        _, colon, port = self.host.rpartition(":")
        return colon + port if _PORT.fullmatch(colon + port) else ""

    def query(self) -> dict[str, list[str]]:
        """Decode the query: every key with its values, in order. What is malformed is left out."""
        parameters = _widen(self.raw_query).split("&")
        found: dict[str, list[str]] = {}
        if len(parameters) > MAX_PARAMETERS:
            return found
        for parameter in parameters:
            if parameter and ";" not in parameter and not _BAD_ESCAPE.search(parameter):
                key, _, value = parameter.replace("+", " ").partition("=")
                found.setdefault(_narrow(_decoded(key)), []).append(_narrow(_decoded(value)))
        return found


def check_uri(text: str) -> None:
    """Refuse what is neither an absolute URL nor an absolute path.

    Raises:
        ValueFault: the text is neither; the message is the one that Go gives, where it can be.
    """
    try:
        _split(_widen(text), request=True)
    except ValueFault as fault:
        raise ValueFault(f"parse {quote(text)}: {fault.message}") from None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL taken apart, every text widened. `user` is `None` where there is no user part."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    question: bool = False
    rooted: bool = False  # a path right after the scheme, without `//`


def _widen(text: str) -> str:
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError:
        raise ValueFault("the text has half of a surrogate pair") from None


def _narrow(wide: str) -> str:
    return wide.encode("latin-1").decode("utf-8", "replace")


def _split(raw: str, *, request: bool) -> _Parts:
    """Take a URL apart. `request` refuses a relative path and has no fragment."""
    if _CONTROL.search(raw):
        raise ValueFault("net/url: invalid control character in URL")
    if not raw and request:
        raise ValueFault("empty url")
    if raw == "*":
        return _Parts(path="*")
    scheme, rest = _split_scheme(raw)
    rest, question, query = rest.partition("?")
    # A lone `?` at the end is printed again; `a?#b` had it before the fragment.
    lone = bool(question) and not query
    if not rest.startswith("/"):
        if scheme:
            return _Parts(scheme, opaque=rest, query=query, question=lone)
        _refuse_relative(rest, request=request)
    user, host, path = None, "", rest
    if rest.startswith("//") and (scheme or not (request or rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        path = slash + path
    rooted = bool(scheme) and rest.startswith("/") and not rest.startswith("//")
    _refuse_bad_escape(path)
    return _Parts(scheme, "", user, host, path, query, lone, rooted)


def _split_scheme(raw: str) -> tuple[str, str]:
    if raw.startswith(":"):
        raise ValueFault("missing protocol scheme")
    found = _SCHEME.match(raw)
    return (found[1].lower(), raw[found.end() :]) if found else ("", raw)


def _refuse_relative(rest: str, *, request: bool) -> None:
    if request:
        raise ValueFault("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise ValueFault("first path segment in URL cannot contain colon")


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    """Read what stands between `//` and the path: user (escaped afresh) and host."""
    userinfo, at, address = authority.rpartition("@")
    host = _host(scheme, address)
    if not at:
        return None, host
    if not _USERINFO.issuperset(userinfo):
        raise ValueFault("net/url: invalid userinfo")
    _refuse_bad_escape(userinfo)
    name, colon, password = userinfo.partition(":")
    return _escaped(_decoded(name), _USER) + colon + _escaped(_decoded(password), _USER), host


def _host(scheme: str, host: str) -> str:
    """Read host and port, with the escapes that are allowed in a host decoded."""
    opening = host.rfind("[")
    if opening > 0:
        raise ValueFault("invalid IP-literal")
    if opening == 0:
        return _ip_literal(host)
    # Lists of hosts with ports are usual in database URLs, so only the web's schemes are strict.
    strict = scheme in ("http", "https")
    colon = host.find(":") if strict else host.rfind(":")
    if colon >= 0:
        _refuse_bad_port(host[colon:])
    return _decoded_host(host)


def _ip_literal(host: str) -> str:
    """Read `[fe80::1%25eth0]:80`: an IPv6 address, perhaps with a zone, and a port."""
    literal, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise ValueFault("missing ']' in host")
    _refuse_bad_port(port)
    address, percent, zone = literal.partition("%25")
    _refuse_bad_escape(percent + zone)
    for escape in _ESCAPE.finditer(zone):
        char = chr(int(escape[1], 16))
        if char not in _HOST and char not in "% ":
            raise ValueFault(f"invalid URL escape {quote(escape[0])}")
    _refuse_bad_host(_ESCAPE.sub("", zone))
    name = _decoded_host(address)
    suffix = _decoded(percent + zone)
    _refuse_bad_address(name + suffix)
    return f"[{name}{suffix}]{port}"


def _refuse_bad_address(name: str) -> None:
    address, percent, zone = name.partition("%")
    if percent and not zone:
        raise ValueFault("invalid host: zone must be a non-empty string")
    try:
        ip = read_address(address)
    except ValueFault as fault:
        raise ValueFault(f"invalid host: {fault.message}") from None
    if ip.family == 4:
        raise ValueFault("invalid IP-literal")


def _refuse_bad_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueFault(f"invalid port {quote(_narrow(port))} after host")


def _refuse_bad_escape(part: str) -> None:
    bad = _BAD_ESCAPE.search(part)
    if bad:
        raise ValueFault(f"invalid URL escape {quote(_narrow(bad[0]))}")


def _refuse_bad_host(name: str) -> None:
    for char in name:
        if ord(char) < _ASCII and char not in _HOST:
            raise ValueFault(f"invalid character {quote(char)} in host name")


def _decoded_host(host: str) -> str:
    """Decode a host, in which only bytes beyond ASCII and `%25` may be escaped."""
    _refuse_bad_escape(host)
    for escape in _ESCAPE.finditer(host):
        if int(escape[1], 16) < _ASCII and escape[1] != "25":
            raise ValueFault(f"invalid URL escape {quote(escape[0])}")
    _refuse_bad_host(_ESCAPE.sub("", host))
    return _decoded(host)


def _decoded(part: str) -> str:
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), part)


def _escaped(part: str, allowed: frozenset[str]) -> str:
    if allowed.issuperset(part):
        return part
    return "".join(char if char in allowed else f"%{ord(char):02X}" for char in part)


def _spelled(part: str, allowed: frozenset[str]) -> str:
    """Keep a part's own spelling where it is a valid one, else escape it afresh."""
    if all(char in _KEPT or char in allowed for char in part):
        return part
    return _escaped(_decoded(part), allowed)


def _made(parts: _Parts, fragment: str) -> URL:
    _refuse_bad_escape(fragment)
    path = _spelled(parts.path, _PATH)
    text = f"{parts.scheme}:" if parts.scheme else ""
    text += parts.opaque or _printed_authority(parts) + path
    if parts.question or parts.query:
        text += f"?{parts.query}"
    if fragment:
        text += f"#{_spelled(fragment, _FRAGMENT)}"
    return URL(
        _narrow(text), parts.scheme, _narrow(parts.host), _narrow(path), _narrow(parts.query)
    )


def _printed_authority(parts: _Parts) -> str:
    if parts.user is None and not parts.host:
        return "//" if parts.scheme and parts.path and not parts.rooted else ""
    user = "" if parts.user is None else f"{parts.user}@"
    return f"//{user}{_escaped(parts.host, _HOST)}"
