"""The two public dialects of CEL between which a few functions differ."""

from enum import Enum


class Dialect(Enum):
    """Whose answers are given where the two differ.

    Rules are evaluated in KUBERNETES, so that an expression copied from a manifest means here
    what the API server of Kubernetes 1.36 makes of it. CEL is the text of the CEL specification
    and exists to run its conformance suite. `docs/language.md` lists the differences.
    """

    KUBERNETES = "kubernetes"
    CEL = "cel"
