"""IP addresses and ranges, as Go's `net/netip` reads them (https://pkg.go.dev/net/netip).

An address is a family and an integer, so that questions about ranges are integer arithmetic.
The standard library reads and prints them, and is imported when the first is read.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from policyd.values.errors import ValueFault
from policyd.values.quoting import quote

_BITS: Final = {4: 32, 6: 128}
_MAPPED: Final = 0xFFFF  # the upper 96 bits of an IPv4 address inside IPv6
_LONGEST: Final = 64  # characters; no address or range is written with more


@dataclass(frozen=True, slots=True)
class IP:
    """An address. `family` is 4 or 6, `number` the address as an integer."""

    family: int
    number: int

    cel_type: ClassVar[str] = "net.IP"

    @staticmethod
    def parse(text: str, *, unmap: bool = False) -> "IP":
        """Read an address. Zones are refused, and so are IPv4 addresses written inside IPv6.

        `unmap` takes a mapped address that is written in hexadecimal as the IPv4 address it
        carries, which the CEL suite asks for and Kubernetes refuses.

        Raises:
            ValueFault: the text is no such address.
        """
        address = read_address(text)
        if address.family == 6 and address.number >> 32 == _MAPPED:
            if not unmap or "." in text:
                raise ValueFault(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
            return IP(4, address.number & 0xFFFFFFFF)
        return address

    def __str__(self) -> str:
        from ipaddress import IPv4Address, IPv6Address  # noqa: PLC0415 - few programs need it

        return str(IPv4Address(self.number) if self.family == 4 else IPv6Address(self.number))

    def is_unspecified(self) -> bool:
        """Say whether it is `0.0.0.0` or `::`."""
        return self.number == 0

    def is_loopback(self) -> bool:
        """Say whether it is in `127.0.0.0/8`, or `::1`."""
        return self.number >> 24 == 127 if self.family == 4 else self.number == 1

    def is_link_local_multicast(self) -> bool:
        """Say whether it is in `224.0.0.0/24` or `ff02::/16` (of any flags)."""
        if self.family == 4:
            return self.number >> 8 == 0xE00000
        return self.number >> 112 & 0xFF0F == 0xFF02

    def is_link_local_unicast(self) -> bool:
        """Say whether it is in `169.254.0.0/16` or `fe80::/10`."""
        return self.number >> 16 == 0xA9FE if self.family == 4 else self.number >> 118 == 0x3FA

    def is_multicast(self) -> bool:
        """Say whether it is in `224.0.0.0/4` or `ff00::/8`."""
        return self.number >> 28 == 0xE if self.family == 4 else self.number >> 120 == 0xFF

    def is_global_unicast(self) -> bool:
        """Say whether it is unicast beyond this link. Private ranges are."""
        broadcast = self.family == 4 and self.number == 0xFFFFFFFF
        return not (
            broadcast
            or self.is_unspecified()
            or self.is_loopback()
            or self.is_multicast()
            or self.is_link_local_unicast()
        )


@dataclass(frozen=True, slots=True)
class CIDR:
    """A range: an address and the length of the prefix. Bits past the prefix are kept."""

    address: IP
    bits: int

    cel_type: ClassVar[str] = "net.CIDR"

    @staticmethod
    def parse(text: str) -> "CIDR":
        """Read a range such as `10.0.0.0/8`.

        Raises:
            ValueFault: the text is no range, has a zone, or maps IPv4 into IPv6.
        """
        address, slash, length = text.rpartition("/")
        if not slash:
            raise ValueFault(f"network address parse error: no `/` in {quote(text)}")
        ip = IP.parse(address)
        if not (length.isascii() and length.isdigit()) or (length[0] == "0" and length != "0"):
            raise ValueFault(f"network address parse error: bad prefix length in {quote(text)}")
        if len(length) > 3 or int(length) > _BITS[ip.family]:
            raise ValueFault(
                f"network address parse error: prefix length out of range in {quote(text)}"
            )
        return CIDR(ip, int(length))

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def contains(self, ip: IP) -> bool:
        """Say whether an address of the same family is in the range."""
        return ip.family == self.address.family and self._prefix(ip) == self._prefix(self.address)

    def contains_range(self, other: "CIDR") -> bool:
        """Say whether every address of `other` is in the range."""
        return self.bits <= other.bits and self.contains(other.address)

    def masked(self) -> "CIDR":
        """Give the range with the bits past the prefix set to zero."""
        prefix = self._prefix(self.address) << self._free
        return CIDR(IP(self.address.family, prefix), self.bits)

    @property
    def _free(self) -> int:
        return _BITS[self.address.family] - self.bits

    def _prefix(self, ip: IP) -> int:
        return ip.number >> self._free


def read_address(text: str) -> IP:
    """Read an address of any kind but those with a zone.

    Raises:
        ValueFault: the text is no such address.
    """
    from ipaddress import AddressValueError, IPv4Address, IPv6Address  # noqa: PLC0415 - as above

    if len(text) > _LONGEST:
        raise ValueFault(f"IP address {quote(text)} parse error: it is too long")
    if "%" in text:
        raise ValueFault(f"IP address {quote(text)} with zone value is not allowed")
    try:
        if ":" in text:
            return IP(6, int(IPv6Address(text)))
        return IP(4, int(IPv4Address(text)))
    except AddressValueError as error:
        raise ValueFault(f"IP address {quote(text)} parse error: {_reason(error)}") from None


def _reason(error: ValueError) -> str:
    """Give the reason without the text, which the message shows already, and on one line."""
    reason = str(error).partition(" in ")[0].partition(": ")[0]
    return quote(reason)[1:-1].lower()
