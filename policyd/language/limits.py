"""The bounds that make hostile rules harmless: what each is, and its value.

Rules come from people who may edit a ConfigMap and nothing else. What can be known from the text
is refused when it is compiled; the rest is counted in units of work while it is evaluated. One
unit is about one visit of a small expression, a tenth of a microsecond to a microsecond.
"""

from typing import Final

MAX_SOURCE: Final = 262_144
"""Code points in one file or expression; a ConfigMap holds at most 1 MiB in all."""

MAX_TOKENS: Final = 60_000
"""Words, numbers, strings and signs in one file or expression."""

MAX_DEPTH: Final = 128
"""Levels of nesting of one expression. Chains of `&&` and of `||` count as one level."""

MAX_DIAGNOSTICS: Final = 100
"""Diagnostics reported for one file."""

MAX_WORK: Final = 1_000_000
"""Units of work of one evaluation, as Kubernetes' PerCallLimit."""

MAX_STRING: Final = 1_048_576
"""Code points of a string (or bytes) that an expression builds."""

MAX_LIST: Final = 100_000
"""Elements of a list or a map that an expression builds."""

MAX_INLINED: Final = 10_000
"""Nodes of one expression once its `let` functions are written out."""
