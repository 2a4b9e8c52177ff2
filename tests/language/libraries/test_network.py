"""IP addresses and ranges in both dialects."""

import subprocess
import sys

import pytest

from policyd.values.kinds import TypeValue
from tests.language.libraries.evaluation import CEL, KUBERNETES, evaluate, fault_of


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('ip("127.0.0.1").family()', 4),
        ('ip("::1").family()', 6),
        ('isIP("::1")', True),
        ('isIP("1.2.3")', False),
        ('ip.isCanonical("2001:DB8::ABCD")', False),
        ('ip.isCanonical("2001:db8::abcd")', True),
        ('string(ip("2001:DB8::1"))', "2001:db8::1"),
        ('string(cidr("10.0.0.1/8"))', "10.0.0.1/8"),
        ('ip("169.254.169.254").isLinkLocalUnicast()', True),
        ('ip("224.0.0.1").isLinkLocalMulticast()', True),
        ('ip("0.0.0.0").isUnspecified()', True),
        ('ip("127.0.0.1").isLoopback()', True),
        ('ip("10.0.0.1").isGlobalUnicast()', True),
        ('type(ip("1.1.1.1")) == net.IP', True),
        ('type(cidr("1.1.1.1/8")) == net.CIDR', True),
        ("net.IP", TypeValue("net.IP")),
        ('isCIDR("10.0.0.0/8")', True),
        ('isCIDR("10.0.0.0")', False),
        ('cidr("192.168.0.0/24").containsIP("192.168.0.77")', True),
        ('cidr("192.168.0.0/24").containsIP(ip("192.168.1.1"))', False),
        ('cidr("10.0.0.0/8").containsIP("2001:db8::1")', False),
        ('cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24")', True),
        ('cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.0/16"))', False),
        ('cidr("192.168.0.1/24").masked() == cidr("192.168.0.0/24")', True),
        ('cidr("192.168.0.1/24").ip() == ip("192.168.0.1")', True),
        ('cidr("::1/128").prefixLength()', 128),
    ],
)
def test_answers_are_those_of_both_dialects(expression, value, dialect):
    assert evaluate(expression, dialect) == value


def test_a_mapped_address_is_refused_by_kubernetes_and_unmapped_by_the_suite():
    expression = 'ip("::ffff:c0a8:1") == ip("192.168.0.1")'
    assert evaluate(expression, CEL) is True
    assert "IPv4-mapped" in fault_of(expression, KUBERNETES)
    for dialect in (KUBERNETES, CEL):
        assert "IPv4-mapped" in fault_of('ip("::ffff:192.168.0.1")', dialect)
        assert "IPv4-mapped" in fault_of('cidr("::ffff:192.168.0.1/112")', dialect)


@pytest.mark.parametrize(
    "expression",
    [
        'ip("127.0.0.256")',
        'ip.isCanonical("x")',
        'cidr("10.0.0.0/33")',
        'cidr("10.0.0.0/8").containsIP("x")',
        'cidr("10.0.0.0/8").containsCIDR("10.0.0.0")',
    ],
)
def test_what_cannot_be_read_is_a_fault(expression):
    assert "parse error" in fault_of(expression)


def test_declaring_the_libraries_imports_no_address_parser_and_no_re2():
    """The command line must not pay for what an expression does not use."""
    program = (
        "import sys\n"
        "from policyd.language.dialect import Dialect\n"
        "from policyd.language.libraries import formats, network, quantity, regex, semver, url\n"
        "for library in (formats, network, quantity, regex, semver, url):\n"
        "    library.library(Dialect.KUBERNETES)\n"
        "print(sorted({'re2', 'ipaddress', 'semver', 'fractions', 'decimal'} & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
