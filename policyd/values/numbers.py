"""Unsigned integers, and the bounds of the language's 64-bit numbers."""

from typing import Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer: an `int` of its own class, so that kinds can be told apart.

    It equals and hashes like the `int` of the same value, which is how CEL looks up map keys
    (https://github.com/google/cel-spec/blob/master/doc/langdef.md#equality). The bounds are
    checked where values are computed, not here.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"
