"""Words and signs of other languages that people write out of habit, and what to write here."""

from typing import Final, NamedTuple


class Infix(NamedTuple):
    """A word between two values: the advice, and the operator that it stands for, if one does."""

    help: str
    token: str | None = None
    instead: str | None = None


_CONDITION: Final = "a condition has two results: `condition ? a : b`"
_MACRO: Final = "a macro takes its variable and its body: `xs.map(x, x + 1)`"
_LET: Final = "a name is given with `let name = …`, outside the expression"
_FIXED: Final = "nothing can be changed: give the new value a name with `let`"

SIGNS: Final = (
    ("===", "use `==`", "=="),
    ("!==", "use `!=`", "!="),
    ("<=>", "compare with `<`, `==` or `>`", None),
    ("<>", "use `!=`", "!="),
    ("=>", f"`>=` compares; {_MACRO}", None),
    ("->", _MACRO, None),
    ("=<", "use `<=`", "<="),
    ("=!", "use `!=`", "!="),
    (":=", "a name is given with `let name = …`", None),
    ("::", "a field is selected with `.`", None),
    ("+=", _FIXED, None),
    ("-=", _FIXED, None),
    ("++", "nothing can be changed: write `x + 1`", None),
    ("**", "there are no powers: multiply", None),
    ("<<", "use `math.bitShiftLeft(x, n)`", None),
    (">>", "use `math.bitShiftRight(x, n)`", None),
    ("??", "use an optional: `a.?b.orValue(c)`", None),
    ("?:", "use an optional: `a.?b.orValue(c)`", None),
    ("?.", "an optional selection is written `a.?b`", ".?"),
    ("..", "use `lists.range(n)`, or compare: `low <= x && x <= high`", None),
)
"""Signs: as written, the advice, and the text to put in their place where that is certain."""

INFIX: Final = {
    "and": Infix("use `&&`", "AND", "&&"),
    "or": Infix("use `||`", "OR", "||"),
    "is": Infix("compare with `==`", "EQ", "=="),
    "eq": Infix("use `==`", "EQ", "=="),
    "ne": Infix("use `!=`", "NE", "!="),
    "lt": Infix("use `<`", "LT", "<"),
    "le": Infix("use `<=`", "LE", "<="),
    "gt": Infix("use `>`", "GT", ">"),
    "ge": Infix("use `>=`", "GE", ">="),
    "mod": Infix("use `%`", "PERCENT", "%"),
    "div": Infix("use `/`", "SLASH", "/"),
    "matches": Infix("write `text.matches(re)`"),
    "like": Infix("write `text.matches(re)`"),
    "contains": Infix("write `text.contains(part)`, or `x in list`"),
    "startsWith": Infix("write `text.startsWith(prefix)`"),
    "endsWith": Infix("write `text.endsWith(suffix)`"),
    "between": Infix("write `low <= x && x <= high`"),
    "xor": Infix("use `!=` of two conditions"),
    "implies": Infix("write `!a || b`"),
    "as": Infix("convert with `int(x)`, `string(x)` and the like"),
    "instanceof": Infix("use `type(x) == int`"),
    "if": Infix(_CONDITION),
    "unless": Infix(_CONDITION),
    "then": Infix(_CONDITION),
    "else": Infix(_CONDITION),
    "for": Infix("a macro goes over a list: `xs.map(x, x + 1)`"),
    "where": Infix("use `xs.filter(x, …)`"),
}

PREFIX: Final = {
    "not": "use `!`",
    "if": _CONDITION,
    "case": _CONDITION,
    "switch": _CONDITION,
    "return": "an expression is its value: leave `return` out",
    "for": "a macro goes over a list: `xs.all(x, x > 0)`, `xs.map(x, x + 1)`",
    "foreach": "a macro goes over a list: `xs.all(x, x > 0)`, `xs.map(x, x + 1)`",
    "while": "there are no loops; a macro goes over a list: `xs.map(x, x + 1)`",
    "let": "inside an expression a name is given with `cel.bind(x, value, body)`",
    "var": _LET,
    "const": _LET,
    "function": "a function is given with `let f(x) = …`, outside the expression",
    "def": "a function is given with `let f(x) = …`, outside the expression",
    "lambda": _MACRO,
    "new": "leave `new` out",
    "typeof": "use `type(x)`",
    "exists": "use `xs.exists(x, x > 0)`",
    "any": "use `xs.exists(x, x > 0)`",
    "forall": "use `xs.all(x, x > 0)`",
    "all": "use `xs.all(x, x > 0)`",
    "try": "an absent field or key is dealt with by `a.?b.orValue(c)`",
}
"""Words that stand before a value."""

NEVER_CALLED: Final = frozenset({"not", "if", "switch", "return", "for", "foreach", "while"})
"""Those of them after which a parenthesis is no call."""

CLAUSES: Final = {
    "if": ("when", "WHEN"),
    "where": ("when", "WHEN"),
    "on": ("when", "WHEN"),
    "match": ("when", "WHEN"),
    "unless": ("when !(…)", None),
    "must": ("require", "REQUIRE"),
    "assert": ("require", "REQUIRE"),
    "allow": ("require", "REQUIRE"),
    "permit": ("require", "REQUIRE"),
    "filter": ("require", "REQUIRE"),
    "ensure": ("require", "REQUIRE"),
    "check": ("require", "REQUIRE"),
    "expression": ("require", "REQUIRE"),
    "deny": ("require !(…)", None),
    "forbid": ("require !(…)", None),
    "reject": ("require !(…)", None),
    "block": ("require !(…)", None),
    "score": ("prefer", "PREFER"),
    "rank": ("prefer", "PREFER"),
    "favor": ("prefer", "PREFER"),
    "favour": ("prefer", "PREFER"),
    "penalty": ("avoid", "AVOID"),
    "penalize": ("avoid", "AVOID"),
    "message": ("because", "BECAUSE"),
    "reason": ("because", "BECAUSE"),
    "else": ("because", "BECAUSE"),
    "otherwise": ("because", "BECAUSE"),
    "sort": ("order", "ORDER"),
    "orderBy": ("order", "ORDER"),
    "maximum": ("limit", "LIMIT"),
    "quota": ("limit", "LIMIT"),
    "guaranteed": ("guarantee", "GUARANTEE"),
    "minimum": ("guarantee", "GUARANTEE"),
}
"""Words where a clause begins: what is meant, and its token where it is a clause's word."""

DECLARATIONS: Final = {
    "policy": 'a rule is written `rule "name" { … }`',
    "const": "a name is given with `let name = …`",
    "var": "a name is given with `let name = …`",
    "val": "a name is given with `let name = …`",
    "def": "a function is given with `let f(x) = …`",
    "fn": "a function is given with `let f(x) = …`",
    "func": "a function is given with `let f(x) = …`",
    "function": "a function is given with `let f(x) = …`",
    "import": "the files of a rule set are compiled together: nothing is imported",
    "include": "the files of a rule set are compiled together: nothing is imported",
    "package": "there are no packages: remove the line",
    "option": "a value that can be set from outside is a `param`",
    "variable": "a value that can be set from outside is a `param`",
    "parameter": "a value that can be set from outside is a `param`",
    "input": "a value that can be set from outside is a `param`",
}
"""Words where a declaration begins."""
