"""Kubernetes' format library: what names, labels, dates and the like must look like.

Answers are those of Kubernetes 1.36
(https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Format).
"""

from collections.abc import Callable

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.language.sizes import text_cost
from policyd.values.formats import FORMATS, NamedFormat
from policyd.values.optional import NONE, Optional


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both dialects
    """Declare the functions."""
    return Library(
        "format",
        (
            *(
                function(
                    f"format.{name}",
                    overload(f"format.{name}", "() -> kubernetes.NamedFormat", _giver(named)),
                    doc=f"Gives the format `{name}`.",
                )
                for name, named in FORMATS.items()
            ),
            function(
                "format.named",
                overload(
                    "format-named",
                    "(string) -> optional_type(kubernetes.NamedFormat)",
                    _named,
                ),
                doc="Gives the format of a name, or none.",
            ),
            function(
                "validate",
                overload(
                    "format-validate",
                    "kubernetes.NamedFormat.(string) -> optional_type(list(string))",
                    _validate,
                    cost=_validating,
                ),
                doc="Gives what is wrong with a string, or none if it fits the format.",
            ),
        ),
    )


def _giver(named: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: named


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(named: NamedFormat, text: str) -> Optional:
    faults = named.validate(text)
    return Optional(faults) if faults else NONE


def _validating(named: NamedFormat, text: str) -> int:  # noqa: ARG001 - as CEL calls it
    # A check looks at a text up to four times, byte by byte.
    return text_cost(4 * len(text))
