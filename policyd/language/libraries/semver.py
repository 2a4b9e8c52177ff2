"""Kubernetes' semver library: semantic versions.

Answers are those of Kubernetes 1.36
(https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#SemverLib).
"""

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.sizes import text_cost
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX
from policyd.values.semver import Semver


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both dialects
    """Declare the functions."""
    return Library(
        "semver",
        (
            function(
                "semver",
                overload("string_to_semver", "(string) -> semver", Semver.parse, cost=_reading),
                overload(
                    "string_bool_to_semver",
                    "(string, bool) -> semver",
                    _parse,
                    cost=_reading,
                ),
                doc="Reads a version such as `1.32.4`; with true also `v1.32`.",
            ),
            function(
                "isSemver",
                overload("is_semver_string", "(string) -> bool", _is_semver, cost=_reading),
                overload(
                    "is_semver_string_bool",
                    "(string, bool) -> bool",
                    _is_semver,
                    cost=_reading,
                ),
                doc="Says whether a string can be read as a version.",
            ),
            function(
                "major",
                overload("semver_major", "semver.() -> int", _major),
                doc="Gives the first number of a version.",
            ),
            function(
                "minor",
                overload("semver_minor", "semver.() -> int", _minor),
                doc="Gives the second number of a version.",
            ),
            function(
                "patch",
                overload("semver_patch", "semver.() -> int", _patch),
                doc="Gives the third number of a version.",
            ),
            function(
                "isLessThan",
                overload(
                    "semver_is_less_than", "semver.(semver) -> bool", _is_less, cost=_comparing
                ),
                doc="Says whether the receiver comes before the argument.",
            ),
            function(
                "isGreaterThan",
                overload(
                    "semver_is_greater_than",
                    "semver.(semver) -> bool",
                    _is_greater,
                    cost=_comparing,
                ),
                doc="Says whether the receiver comes after the argument.",
            ),
            function(
                "compareTo",
                overload("semver_compare_to", "semver.(semver) -> int", _compare, cost=_comparing),
                doc="Gives -1, 0 or 1 as the receiver is less than, equal to or greater than the"
                " argument.",
            ),
        ),
    )


def _parse(text: str, normalize: bool) -> Semver:  # noqa: FBT001 - as CEL calls it
    return Semver.parse(text, normalize=normalize)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - as above
    try:
        Semver.parse(text, normalize=normalize)
    except ValueFault:
        return False
    return True


def _major(version: Semver) -> int:
    return _number(version.major, version)


def _minor(version: Semver) -> int:
    return _number(version.minor, version)


def _patch(version: Semver) -> int:
    return _number(version.patch, version)


def _number(number: int, version: Semver) -> int:
    # A version's numbers have 64 bits without a sign. Kubernetes lets the larger half wrap.
    if number > INT_MAX:
        raise ValueFault(f"a number of version {version} is outside the range of int")
    return number


def _is_less(left: Semver, right: Semver) -> bool:
    return left < right


def _is_greater(left: Semver, right: Semver) -> bool:
    return left > right


def _compare(left: Semver, right: Semver) -> int:
    return (left > right) - (left < right)


def _comparing(left: Semver, right: Semver) -> int:
    return text_cost(min(len(str(left)), len(str(right))))


def _reading(text: str, *_: object) -> int:
    return text_cost(len(text))
