"""Semantic versions, as Kubernetes' CEL reads and orders them (https://semver.org/).

Kubernetes reads them with blang/semver: every number fits 64 unsigned bits, and two versions that
differ only in build metadata are equal.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from policyd.values.errors import ValueFault
from policyd.values.numbers import UINT_MAX
from policyd.values.quoting import quote

MAX_TEXT: Final = 256
"""The longest version that is read, in characters. Names of container tags are half as long."""

_DIGITS: Final = frozenset("0123456789")
_WORD: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


@dataclass(frozen=True, slots=True)
class Semver:
    """A version. Ordered by precedence; build metadata counts neither in order nor equality."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    build: tuple[str, ...] = field(default=(), compare=False)

    cel_type: ClassVar[str] = "kubernetes.Semver"
    cel_ordered: ClassVar[bool] = True

    @staticmethod
    def parse(text: str, *, normalize: bool = False) -> "Semver":
        """Read a version.

        `normalize` first drops a leading `v`, leading zeros of the numbers, and adds the minor
        and patch numbers where they are left out, as Kubernetes does.

        Raises:
            ValueFault: the text is no version, or is longer than `MAX_TEXT`.
        """
        if len(text) > MAX_TEXT:
            raise ValueFault(f"version text is longer than the limit of {MAX_TEXT} characters")
        return _parse(_normalized(text) if normalize else text)

    def __str__(self) -> str:
        numbers = f"{self.major}.{self.minor}.{self.patch}"
        prerelease = f"-{'.'.join(self.prerelease)}" if self.prerelease else ""
        build = f"+{'.'.join(self.build)}" if self.build else ""
        return numbers + prerelease + build

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, Semver):
            return NotImplemented
        return self._precedence() < other._precedence()

    def __gt__(self, other: Any) -> bool:
        return other < self if isinstance(other, Semver) else NotImplemented

    def _precedence(self) -> tuple[Any, ...]:
        """Give what orders versions: a released one comes after its pre-releases."""
        ranks = tuple(map(_rank, self.prerelease))
        return self.major, self.minor, self.patch, not ranks, ranks


def _rank(identifier: str) -> tuple[bool, int, str]:
    """Give the precedence of a pre-release identifier: numbers, by size, before words."""
    if _DIGITS.issuperset(identifier):
        return False, int(identifier), ""
    return True, 0, identifier


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) for part in parts]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise ValueFault(
            f"a short version cannot contain pre-release or build metadata: {quote(text)}"
        )
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in _DIGITS else "0" + stripped


def _parse(text: str) -> Semver:
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueFault(f"no major.minor.patch elements found in version {quote(text)}")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    return Semver(
        _number("major number", parts[0]),
        _number("minor number", parts[1]),
        _number("patch number", patch),
        tuple(map(_prerelease, prerelease.split("."))) if dash else (),
        tuple(map(_build, build.split("."))) if plus else (),
    )


def _number(what: str, digits: str) -> int:
    if not digits:
        raise ValueFault(f"{what} of the version is empty")
    if not _DIGITS.issuperset(digits):
        raise ValueFault(f"invalid character(s) found in {what} {quote(digits)}")
    if digits[0] == "0" and len(digits) > 1:
        raise ValueFault(f"{what} must not contain leading zeroes: {quote(digits)}")
    # The length first: Python refuses to read an integer of thousands of digits.
    if len(digits) > 20 or int(digits) > UINT_MAX:
        raise ValueFault(f"{what} {quote(digits)} is outside the limit of {UINT_MAX}")
    return int(digits)


def _prerelease(identifier: str) -> str:
    if identifier and _DIGITS.issuperset(identifier):
        _number("numeric pre-release version", identifier)
        return identifier
    return _word("pre-release", identifier)


def _build(identifier: str) -> str:
    return _word("build metadata", identifier)


def _word(what: str, identifier: str) -> str:
    if not identifier:
        raise ValueFault(f"{what} of the version is empty")
    if not _WORD.issuperset(identifier):
        raise ValueFault(f"invalid character(s) found in {what} {quote(identifier)}")
    return identifier
