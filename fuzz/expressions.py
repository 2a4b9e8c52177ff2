"""Makes the text of an expression from bytes, so that most inputs get past the parser.

Each byte chooses one alternative; when they are used up the simplest one is taken. What comes out
parses nearly always and fits in types often enough to reach every library.
"""

from policyd.language.dialect import Dialect
from policyd.language.standard import standard_functions

_LEAVES = (
    *("1", "0", "-1", "9223372036854775807", "2.5", "1e308", "true", "false", "null", '""', '"a"'),
    *('"ünï"', "b'\\xff'", "3u", "2Gi", "500m", "[]", "{}", "[1, 2]", '{"a": 1}'),
    *("i", "d", "b", "s", "y", "l", "t", "m", "n", "q", "w", "u", "x", "v"),
    *('duration("1h")', 'timestamp("2026-01-01T00:00:00Z")', 'ip("10.0.0.1")', "optional.of(i)"),
)
_BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||")
_LOOPS = ("all", "exists", "exists_one", "map", "filter", "sortBy")
_PAIRS = ("all", "exists", "transformList", "transformMap")
_FUNCTIONS = tuple(sorted(n for n in standard_functions(Dialect.KUBERNETES) if n[0].isalpha()))


class ExpressionMaker:
    """Turns bytes into one expression."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def make(self, depth: int = 0) -> str:
        """Give an expression of what is left of the bytes."""
        kind = self._choose(10) if depth < 8 else 0
        make = self.make
        match kind:
            case 1:
                return f"({make(depth + 1)} {self._of(_BINARY)} {make(depth + 1)})"
            case 2:
                return f"({make(depth + 1)} ? {make(depth + 1)} : {make(depth + 1)})"
            case 3:
                return f"{self._of(_FUNCTIONS)}({self._arguments(depth)})"
            case 4:
                return f"({make(depth + 1)}).{self._of(_FUNCTIONS)}({self._arguments(depth)})"
            case 5:
                return f"({make(depth + 1)}).{self._of(_LOOPS)}(v, {make(depth + 1)})"
            case 6:
                return f"({make(depth + 1)}).{self._of(_PAIRS)}(k, v, {make(depth + 1)})"
            case 7:
                question = self._of(("", "?"))
                return f"({make(depth + 1)})[{question}{make(depth + 1)}]"
            case 8:
                return f"cel.bind(v, {make(depth + 1)}, {make(depth + 1)})"
            case 9:
                return self._of(
                    ("[{0}, {1}]", "{{{0}: {1}}}", "!({0})", "-({0})", "({0}).?a")
                ).format(make(depth + 1), make(depth + 1))
            case _:
                return self._of(_LEAVES)

    def _arguments(self, depth: int) -> str:
        return ", ".join(self.make(depth + 1) for _ in range(self._choose(4)))

    def _of(self, choices: tuple[str, ...]) -> str:
        return choices[self._choose(len(choices))]

    def _choose(self, count: int) -> int:
        if self._at >= len(self._data):
            return 0
        self._at += 1
        return self._data[self._at - 1] % count
