"""Bounds of numbers that can be seen in the text: interval arithmetic, for the checker's warning.

Only bounds that certainly hold count: what is not understood is taken to be anywhere in 0 to
100, so that nothing is said about it.
"""

from math import inf
from typing import Final

from policyd.language import typed as ir

Range = tuple[float, float]

_UNKNOWN: Final[Range] = (-inf, inf)
_FINE: Final[Range] = (0.0, 100.0)


def score_range(node: ir.Typed) -> Range:
    """Give the least and the greatest score that an expression can give, as far as is known."""
    low, high = _range(node, {})
    if low == -inf and high == inf:
        return _FINE
    return (low if low != -inf else 0.0, high if high != inf else 100.0)


def _range(node: ir.Typed, lets: dict[int, Range]) -> Range:
    """Give the range of a node; `lets` holds those of the lets that were met."""
    match node:
        case ir.Constant(value=bool()):
            return _FINE
        case ir.Constant(value=int() | float() as value):
            return float(value), float(value)
        case ir.Choice(then=then, otherwise=otherwise):
            return _union(_range(then, lets), _range(otherwise, lets))
        case ir.LetRef(slot=slot, body=body):
            if slot not in lets:
                lets[slot] = _range(body, lets)
            return lets[slot]
        case ir.Bind(body=body):
            return _range(body, lets)
        case ir.Apply(name=name, args=args):
            return _applied(name, [_range(arg, lets) for arg in args])
        case _:
            return _UNKNOWN


def _union(one: Range, other: Range) -> Range:
    if _UNKNOWN in (one, other):
        return _UNKNOWN
    return min(one[0], other[0]), max(one[1], other[1])


def _applied(name: str, args: list[Range]) -> Range:
    if any(inf in map(abs, arg) for arg in args):
        return _UNKNOWN
    match name, args:
        case "+", [a, b]:
            return a[0] + b[0], a[1] + b[1]
        case "-", [a, b]:
            return a[0] - b[1], a[1] - b[0]
        case "-", [a]:
            return -a[1], -a[0]
        case "*", [a, b]:
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        case ("math.least" | "math.greatest") as which, [_, *_]:
            pick = min if which == "math.least" else max
            return pick(a[0] for a in args), pick(a[1] for a in args)
        case _:
            return _UNKNOWN
