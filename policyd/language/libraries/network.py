"""IP addresses and ranges, as in Kubernetes' CEL and in the CEL suite.

The two differ in one point: the suite takes an IPv4 address that is written as a hexadecimal IPv6
address for that IPv4 address, and Kubernetes refuses it
(https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#IP).
"""

from collections.abc import Callable

from policyd.language.declarations import Function, Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.types import CIDR as CIDR_TYPE
from policyd.language.types import IP as IP_TYPE
from policyd.language.types import type_of
from policyd.values.errors import ValueFault
from policyd.values.kinds import TypeValue
from policyd.values.network import CIDR, IP


def library(dialect: Dialect) -> Library:
    """Declare the functions and the names of the two types."""
    # A text longer than any address is refused unread: none has a cost that grows.
    return Library(
        "network",
        (*_addresses(_reader(dialect)), *_address_questions(), *_ranges(_reader(dialect))),
        {
            "net.IP": (type_of(IP_TYPE), TypeValue(IP.cel_type)),
            "net.CIDR": (type_of(CIDR_TYPE), TypeValue(CIDR.cel_type)),
        },
    )


def _reader(dialect: Dialect) -> Callable[[str], IP]:
    return lambda text: IP.parse(text, unmap=dialect is Dialect.CEL)


def _addresses(read: Callable[[str], IP]) -> tuple[Function, ...]:
    def is_ip(text: str) -> bool:
        try:
            read(text)
        except ValueFault:
            return False
        return True

    def is_canonical(text: str) -> bool:
        return str(read(text)) == text

    return (
        function(
            "ip",
            overload("string_to_ip", "(string) -> ip", read),
            overload("cidr_ip", "cidr.() -> ip", _address),
            doc="Reads an IP address, or gives the address of a range as it was written.",
        ),
        function(
            "isIP",
            overload("is_ip", "(string) -> bool", is_ip),
            doc="Says whether a string can be read as an IP address.",
        ),
        function(
            "ip.isCanonical",
            overload("ip_is_canonical", "(string) -> bool", is_canonical),
            doc="Says whether an address is written as `string` would write it.",
        ),
        function(
            "string",
            overload("ip_to_string", "(ip) -> string", str),
            overload("cidr_to_string", "(cidr) -> string", str),
            doc="Writes an address or a range as a string, in its shortest form.",
        ),
    )


def _address_questions() -> tuple[Function, ...]:
    questions = (
        ("isUnspecified", "ip_is_unspecified", IP.is_unspecified, "`0.0.0.0` or `::`"),
        ("isLoopback", "ip_is_loopback", IP.is_loopback, "a loopback address"),
        (
            "isLinkLocalMulticast",
            "ip_is_link_local_multicast",
            IP.is_link_local_multicast,
            "a multicast address of the link",
        ),
        (
            "isLinkLocalUnicast",
            "ip_is_link_local_unicast",
            IP.is_link_local_unicast,
            "a unicast address of the link",
        ),
        (
            "isGlobalUnicast",
            "ip_is_global_unicast",
            IP.is_global_unicast,
            "a unicast address that is valid beyond the link, private or not",
        ),
    )
    return (
        function(
            "family",
            overload("ip_family", "ip.() -> int", _family),
            doc="Gives 4 or 6.",
        ),
        *(
            function(
                name,
                overload(id_, "ip.() -> bool", answer),
                doc=f"Says whether an IP address is {what}.",
            )
            for name, id_, answer, what in questions
        ),
    )


def _ranges(read: Callable[[str], IP]) -> tuple[Function, ...]:
    def contains_text(range_: CIDR, text: str) -> bool:
        return range_.contains(read(text))

    return (
        function(
            "cidr",
            overload("string_to_cidr", "(string) -> cidr", CIDR.parse),
            doc="Reads a range of addresses such as `10.0.0.0/8`.",
        ),
        function(
            "isCIDR",
            overload("is_cidr", "(string) -> bool", _is_cidr),
            doc="Says whether a string can be read as a range of addresses.",
        ),
        function(
            "containsIP",
            overload("cidr_contains_ip_ip", "cidr.(ip) -> bool", CIDR.contains),
            overload("cidr_contains_ip_string", "cidr.(string) -> bool", contains_text),
            doc="Says whether a range holds an address.",
        ),
        function(
            "containsCIDR",
            overload("cidr_contains_cidr", "cidr.(cidr) -> bool", CIDR.contains_range),
            overload("cidr_contains_cidr_string", "cidr.(string) -> bool", _contains_range_text),
            doc="Says whether a range holds all of another range.",
        ),
        function(
            "masked",
            overload("cidr_masked", "cidr.() -> cidr", CIDR.masked),
            doc="Gives the range with the bits past its prefix set to zero.",
        ),
        function(
            "prefixLength",
            overload("cidr_prefix_length", "cidr.() -> int", _prefix_length),
            doc="Gives the length of a range's prefix in bits.",
        ),
    )


def _family(ip: IP) -> int:
    return ip.family


def _address(range_: CIDR) -> IP:
    return range_.address


def _prefix_length(range_: CIDR) -> int:
    return range_.bits


def _is_cidr(text: str) -> bool:
    try:
        CIDR.parse(text)
    except ValueFault:
        return False
    return True


def _contains_range_text(range_: CIDR, text: str) -> bool:
    return range_.contains_range(CIDR.parse(text))
