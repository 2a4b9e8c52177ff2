"""Base64, as CEL's encoders extension has it. Kubernetes has no such functions."""

import re
from binascii import a2b_base64, b2a_base64
from typing import Final

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.sizes import bounded_text, text_cost
from policyd.values.errors import ValueFault
from policyd.values.quoting import quote

_ENCODED: Final = re.compile(r"([A-Za-z0-9+/]*+)(={0,2})")


def library(dialect: Dialect) -> Library:
    """Declare the functions."""
    portable = dialect is Dialect.CEL
    return Library(
        "encoders",
        (
            function(
                "base64.encode",
                overload(
                    "base64_encode_bytes",
                    "(bytes) -> string",
                    encode,
                    cost=lambda data: text_cost(len(data) * 2),
                    portable=portable,
                ),
                doc="Writes bytes as base64, with padding.",
            ),
            function(
                "base64.decode",
                overload(
                    "base64_decode_string",
                    "(string) -> bytes",
                    decode,
                    cost=lambda text: text_cost(len(text) * 2),
                    portable=portable,
                ),
                doc="Reads base64, with or without padding; line ends in it are skipped.",
            ),
        ),
    )


def encode(data: bytes) -> str:
    """Write bytes as base64 with padding (RFC 4648, section 4).

    Raises:
        ValueFault: the text would be past the limit.
    """
    bounded_text((len(data) + 2) // 3 * 4)
    return b2a_base64(data, newline=False).decode("ascii")


def decode(text: str) -> bytes:
    """Read base64, whose padding may be complete or absent.

    Raises:
        ValueFault: the text is not base64.
    """
    found = _ENCODED.fullmatch(text.replace("\r", "").replace("\n", ""))
    if found is not None:
        digits, padding = found.groups()
        missing = -len(digits) % 4
        if missing < 3 and len(padding) in (0, missing):
            return a2b_base64(digits + "=" * missing)
    raise ValueFault(f"{quote(text)} is not base64")
