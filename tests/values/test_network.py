"""IP addresses and ranges, against the standard library's arithmetic."""

import ipaddress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policyd.language.equality import equal, type_value
from policyd.values.errors import ValueFault
from policyd.values.network import CIDR, IP

addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@given(addresses)
def test_an_address_prints_as_the_standard_library_prints_it(address):
    assume(getattr(address, "ipv4_mapped", None) is None)
    ip = IP.parse(str(address))
    assert str(ip) == str(address)
    assert ip.family == address.version
    assert ip.is_multicast() is address.is_multicast
    assert ip.is_loopback() is address.is_loopback
    assert ip.is_unspecified() is address.is_unspecified
    assert ip.is_link_local_unicast() is address.is_link_local


@given(addresses, addresses, st.integers(0, 128), st.integers(0, 128))
def test_ranges_hold_what_the_standard_library_says(left, right, bits, other_bits):
    assume(not any(getattr(a, "ipv4_mapped", None) for a in (left, right)))
    bits, other_bits = bits % (left.max_prefixlen + 1), other_bits % (right.max_prefixlen + 1)
    network = ipaddress.ip_network((left, bits), strict=False)
    other = ipaddress.ip_network((right, other_bits), strict=False)
    range_ = CIDR.parse(f"{left}/{bits}")
    assert str(range_) == f"{left}/{bits}"
    assert str(range_.masked()) == str(network)
    assert range_.contains(IP.parse(str(right))) is (right in network)
    same = network.version == other.version
    assert range_.contains_range(CIDR.parse(f"{right}/{other_bits}")) is (
        same and other.subnet_of(network)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "parse error: address cannot be empty"),
        ("1.2.3", "expected 4 octets"),
        ("127.0.0.256", "octet 256"),
        ("01.2.3.4", "leading zeros"),
        ("1.2.3.4 ", "parse error"),
        ("1.2.3.٤", "parse error"),
        ("1.2.3.4\x00", "parse error"),
        ("2001:db8:::68", "parse error"),
        ("fe80::1%eth0", "with zone value is not allowed"),
        ("::ffff:1.2.3.4", "IPv4-mapped IPv6 address"),
        ("::ffff:c0a8:1", "IPv4-mapped IPv6 address"),
        ("\ud800::", "parse error"),
        (":" * 1_000_000, "too long"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueFault) as caught:
        IP.parse(text)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "no `/`"),
        ("10.0.0.0/", "bad prefix length"),
        ("10.0.0.0/08", "bad prefix length"),
        ("10.0.0.0/+8", "bad prefix length"),
        ("10.0.0.0/255.0.0.0", "bad prefix length"),
        ("10.0.0.0/٨", "bad prefix length"),
        ("10.0.0.0/33", "out of range"),
        ("::/129", "out of range"),
        ("10.0.0.0/" + "9" * 5000, "out of range"),
        ("fe80::1%en0/24", "zone"),
        ("::ffff:1.2.3.4/112", "IPv4-mapped"),
        ("a/8", "parse error"),
    ],
)
def test_what_is_no_range_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueFault) as caught:
        CIDR.parse(text)
    assert message in caught.value.message


def test_a_mapped_address_is_its_ipv4_address_only_where_that_is_asked_for():
    assert IP.parse("::ffff:c0a8:1", unmap=True) == IP.parse("192.168.0.1")
    with pytest.raises(ValueFault, match="IPv4-mapped"):
        IP.parse("::ffff:192.168.0.1", unmap=True)


@pytest.mark.parametrize(
    ("text", "is_global", "link_multicast"),
    [
        ("192.168.0.1", True, False),
        ("255.255.255.255", False, False),
        ("0.0.0.0", False, False),  # noqa: S104 - nothing binds to it
        ("127.0.0.1", False, False),
        ("224.0.0.1", False, True),
        ("224.0.1.1", False, False),
        ("169.254.169.254", False, False),
        ("2001:db8::abcd", True, False),
        ("fd00::1", True, False),
        ("fe80::1", False, False),
        ("ff02::1", False, True),
        ("ff12::1", False, True),
        ("ff05::1", False, False),
        ("::1", False, False),
    ],
)
def test_scope_of_addresses(text, is_global, link_multicast):
    assert IP.parse(text).is_global_unicast() is is_global
    assert IP.parse(text).is_link_local_multicast() is link_multicast


def test_addresses_and_ranges_are_values_of_the_language():
    assert str(type_value(IP.parse("::1"))) == "net.IP"
    assert str(type_value(CIDR.parse("::1/8"))) == "net.CIDR"
    assert equal(IP.parse("2001:db8::1"), IP.parse("2001:DB8::1"))
    assert not equal(IP.parse("::1"), IP.parse("0.0.0.1"))
    assert not equal(CIDR.parse("10.0.0.1/8"), CIDR.parse("10.0.0.0/8"))
