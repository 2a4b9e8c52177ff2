"""What was probably meant: the nearest known word, and other languages' names for what CEL has.

Everything here is about words only, so that parser, checker and command line share it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

_FUNCTION: Final = "function"
_METHOD: Final = "method"


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """Give the candidate that was most likely meant, or nothing where none is close.

    A word that differs only in case or in `_` and `-` comes first; then the one with the
    fewest letters changed, added, left out or swapped with a neighbour, at most one in three.
    Equally near ones are settled by the same first letter, then by the alphabet.
    """
    known = sorted(set(candidates) - {word})
    plain = _plain(word)
    for candidate in known:
        if plain and _plain(candidate) == plain:
            return candidate
    most = _tolerance(word)
    near = [
        (distance, candidate[:1].lower() != word[:1].lower(), candidate)
        for candidate in known
        if (distance := edit_distance(word.lower(), candidate.lower(), most)) <= most
    ]
    return min(near)[2] if near else None


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def _tolerance(word: str) -> int:
    return min(3, len(word) // 3)


def edit_distance(one: str, other: str, most: int) -> int:
    """Count the changes between two words, or give `most + 1` where there are more than `most`.

    The optimal string alignment distance: a changed, added or missing letter counts one, and so
    do two neighbours that are swapped.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = above, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


class _Slip(NamedTuple):
    """Names that other languages use. `arguments` is nothing where any number is meant."""

    names: str
    form: str
    arguments: int | None
    hint: str


_SLIPS: Final = (
    # sizes and emptiness
    _Slip("len lenght length count sizeof", _FUNCTION, 1, "use `size(x)`"),
    _Slip("len lenght length count getsize", _METHOD, 0, "use `x.size()`"),
    _Slip("count count_if countif", _METHOD, 2, "use `xs.filter(x, …).size()`"),
    _Slip("empty isempty is_empty isblank", _FUNCTION, 1, "use `x.size() == 0`"),
    _Slip("empty isempty is_empty isblank", _METHOD, 0, "use `x.size() == 0`"),
    # null and absence
    _Slip("isnull is_null isnone isnil", _FUNCTION, 1, "compare with null: `x == null`"),
    _Slip("isnull is_null isnone isnil", _METHOD, 0, "compare with null: `x == null`"),
    _Slip("notnull isnotnull is_not_null", _FUNCTION, 1, "compare with null: `x != null`"),
    _Slip("notnull isnotnull is_not_null", _METHOD, 0, "compare with null: `x != null`"),
    _Slip(
        "defined isdefined is_defined isset exists present",
        _FUNCTION,
        1,
        'use `has(x.field)` for a field and `"key" in m` for a key',
    ),
    _Slip("ispresent issome isdefined", _METHOD, 0, "use `x.hasValue()` of an optional"),
    _Slip(
        "coalesce default ifnull ifempty nvl isnull",
        _FUNCTION,
        2,
        'use an optional: `m[?"key"].orValue(0)`, `a.?b.orValue(0)`',
    ),
    _Slip("orelse or_else getorelse unwrapor unwrap_or", _METHOD, 1, "use `x.orValue(y)`"),
    _Slip("default", _METHOD, 1, 'use an optional: `m[?"key"].orValue(0)`, `a.?b.orValue(0)`'),
    # maps
    _Slip("haskey has_key containskey contains_key has", _METHOD, 1, 'use `"key" in m`'),
    _Slip("haskey has_key containskey has", _FUNCTION, 2, 'use `"key" in m`'),
    _Slip("get getordefault", _METHOD, 2, 'use `m[?"key"].orValue(0)`'),
    _Slip("get", _METHOD, 1, 'use `m["key"]`, or `m[?"key"]` where it may be absent'),
    _Slip("keys", _METHOD, 0, "a macro over a map goes through its keys: `m.map(k, k)`"),
    _Slip("keys", _FUNCTION, 1, "a macro over a map goes through its keys: `m.map(k, k)`"),
    _Slip("values", _METHOD, 0, "use `m.transformList(k, v, v)`"),
    _Slip("values", _FUNCTION, 1, "use `m.transformList(k, v, v)`"),
    _Slip("items entries", _METHOD, 0, "macros take two variables: `m.exists(k, v, …)`"),
    # lists
    _Slip("includes has_element contains", _METHOD, 1, "use `x in list`"),
    _Slip("contains includes", _FUNCTION, 2, "use `x in list`, or `text.contains(part)`"),
    _Slip("append push add", _METHOD, 1, "add with `+`: `list + [x]`"),
    _Slip("any some", _METHOD, 2, "use `.exists(x, …)`"),
    _Slip("every forall", _METHOD, 2, "use `.all(x, …)`"),
    _Slip("none", _METHOD, 2, "use `!xs.exists(x, …)`"),
    _Slip(
        "any some every all exists filter map none",
        _METHOD,
        1,
        "name the element first: `xs.exists(x, x > 0)`",
    ),
    _Slip("any some", _FUNCTION, None, "use `xs.exists(x, …)`"),
    _Slip("all every", _FUNCTION, None, "use `xs.all(x, …)`"),
    _Slip("filter", _FUNCTION, None, "use `xs.filter(x, …)`"),
    _Slip("map", _FUNCTION, None, "use `xs.map(x, …)`"),
    _Slip("where findall find_all", _METHOD, 2, "use `.filter(x, …)`"),
    _Slip("find", _METHOD, 2, "use `.filter(x, …)` and take its first with `[0]`"),
    _Slip("select collect foreach", _METHOD, 2, "use `.map(x, …)`"),
    _Slip("one exactly_one", _METHOD, 2, "use `.exists_one(x, …)`"),
    _Slip(
        "reduce fold aggregate",
        _METHOD,
        None,
        "there is no fold: use `.sum()`, `.min()`, `.max()` or `.map(x, …)`",
    ),
    _Slip("range", _FUNCTION, 1, "use `lists.range(n)`"),
    _Slip("sort sorted", _FUNCTION, 1, "use `xs.sort()`"),
    _Slip("sorted", _METHOD, 0, "use `xs.sort()`"),
    _Slip("sort_by sorted_by orderby order_by sort", _METHOD, 2, "use `xs.sortBy(x, x.name)`"),
    _Slip("reversed reverse", _FUNCTION, 1, "use `xs.reverse()`"),
    _Slip("unique uniq", _METHOD, 0, "use `xs.distinct()`"),
    _Slip("unique uniq distinct set", _FUNCTION, 1, "use `xs.distinct()`"),
    _Slip("flat", _METHOD, 0, "use `xs.flatten()`"),
    _Slip("head", _METHOD, 0, "use `xs[0]`"),
    _Slip("sum", _FUNCTION, 1, "use `xs.sum()`"),
    _Slip("sum", _METHOD, 2, "use `xs.map(x, …).sum()`"),
    _Slip("min max", _METHOD, 2, "use `xs.map(x, …)` and then `.min()` or `.max()`"),
    _Slip("avg average mean", _METHOD, 0, "use `double(xs.sum()) / double(xs.size())`"),
    _Slip("avg average mean", _FUNCTION, 1, "use `double(xs.sum()) / double(xs.size())`"),
    _Slip("intersect intersects overlaps", _FUNCTION, 2, "use `sets.intersects(a, b)`"),
    _Slip("intersect intersects overlaps", _METHOD, 1, "use `sets.intersects(a, b)`"),
    _Slip("containsall subset issubset", _METHOD, 1, "use `sets.contains(a, b)`"),
    # numbers
    _Slip("max", _FUNCTION, 1, "use `xs.max()`"),
    _Slip("min", _FUNCTION, 1, "use `xs.min()`"),
    _Slip("max greatest", _FUNCTION, None, "use `math.greatest(a, b)`"),
    _Slip("min least", _FUNCTION, None, "use `math.least(a, b)`"),
    _Slip("clamp", _FUNCTION, 3, "use `math.least(math.greatest(x, low), high)`"),
    _Slip("abs absolute", _FUNCTION, 1, "use `math.abs(x)`"),
    _Slip("abs", _METHOD, 0, "use `math.abs(x)`"),
    _Slip("ceil ceiling", _FUNCTION, 1, "use `math.ceil(x)`"),
    _Slip("floor", _FUNCTION, 1, "use `math.floor(x)`"),
    _Slip("round", _FUNCTION, None, "use `math.round(x)`"),
    _Slip("trunc truncate", _FUNCTION, 1, "use `math.trunc(x)`"),
    _Slip("sqrt", _FUNCTION, 1, "use `math.sqrt(x)`"),
    _Slip("isnan", _FUNCTION, 1, "use `math.isNaN(x)`"),
    _Slip("isinf isinfinite", _FUNCTION, 1, "use `math.isInf(x)`"),
    _Slip("pow power", _FUNCTION, 2, "there are no powers: multiply"),
    _Slip("mod modulo rem", _FUNCTION, 2, "use `a % b`"),
    # text
    _Slip("lower tolower to_lower lowercase tolowercase", _FUNCTION, 1, "use `x.lowerAscii()`"),
    _Slip("lower tolower to_lower lowercase tolowercase", _METHOD, 0, "use `x.lowerAscii()`"),
    _Slip("upper toupper to_upper uppercase touppercase", _FUNCTION, 1, "use `x.upperAscii()`"),
    _Slip("upper toupper to_upper uppercase touppercase", _METHOD, 0, "use `x.upperAscii()`"),
    _Slip("concat concatenate strcat", _FUNCTION, None, "join with `+`: `a + b`"),
    _Slip("concat plus", _METHOD, None, "join with `+`: `a + b`, and one element as `list + [x]`"),
    _Slip("startswith starts_with hasprefix", _FUNCTION, 2, "use `x.startsWith(prefix)`"),
    _Slip("starts_with hasprefix beginswith", _METHOD, 1, "use `x.startsWith(prefix)`"),
    _Slip("endswith ends_with hassuffix", _FUNCTION, 2, "use `x.endsWith(suffix)`"),
    _Slip("ends_with hassuffix", _METHOD, 1, "use `x.endsWith(suffix)`"),
    _Slip(
        "match regex re_match regexmatch regex_match test like", _FUNCTION, 2, "use `x.matches(re)`"
    ),
    _Slip("match regex regexmatch test like", _METHOD, 1, "use `x.matches(re)`"),
    _Slip("strip trim", _FUNCTION, 1, "use `x.trim()`"),
    _Slip("strip", _METHOD, 0, "use `x.trim()`"),
    _Slip("substr slice mid", _METHOD, None, "use `x.substring(start, end)`"),
    _Slip("substr substring", _FUNCTION, None, "use `x.substring(start, end)`"),
    _Slip("split", _FUNCTION, 2, 'use `x.split(",")`'),
    _Slip("replace replaceall", _FUNCTION, 3, "use `x.replace(old, new)`"),
    _Slip("replaceall replace_all gsub", _METHOD, 2, "use `x.replace(old, new)`"),
    _Slip("join", _FUNCTION, None, 'use `xs.join(", ")`'),
    _Slip("format sprintf printf", _FUNCTION, None, 'use `"%s has %d".format([name, count])`'),
    _Slip("equals eq equal isequal", _METHOD, 1, "compare with `==`"),
    _Slip("equals eq equal", _FUNCTION, 2, "compare with `==`"),
    _Slip("equalsignorecase", _METHOD, 1, "use `a.lowerAscii() == b.lowerAscii()`"),
    # conversions
    _Slip("str tostring to_string text", _FUNCTION, 1, "use `string(x)`"),
    _Slip("tostring to_string str", _METHOD, 0, "use `string(x)`"),
    _Slip("toint to_int parseint integer long atoi", _FUNCTION, None, "use `int(x)`"),
    _Slip("toint to_int intvalue", _METHOD, 0, "use `int(x)`"),
    _Slip("float tofloat todouble parsefloat number", _FUNCTION, None, "use `double(x)`"),
    _Slip("tofloat todouble float double", _METHOD, 0, "use `double(x)`"),
    _Slip("boolean tobool parsebool", _FUNCTION, 1, "use `bool(x)`"),
    _Slip("typeof type_of kind", _FUNCTION, 1, "use `type(x)`"),
    # time
    _Slip("now today time", _FUNCTION, 0, "`now` is a name: leave the parentheses out"),
    _Slip(
        "date datetime parsetime todate",
        _FUNCTION,
        1,
        'use `timestamp("2025-01-31T00:00:00Z")`',
    ),
    _Slip("before isbefore", _METHOD, 1, "compare times with `<`"),
    _Slip("after isafter", _METHOD, 1, "compare times with `>`"),
    _Slip("hour hours", _METHOD, None, "use `x.getHours()`, or of a zone `x.getHours(zone)`"),
    _Slip("minute minutes", _METHOD, None, "use `x.getMinutes()`"),
    _Slip("second seconds", _METHOD, None, "use `x.getSeconds()`"),
    _Slip("year", _METHOD, None, "use `x.getFullYear()`"),
    _Slip("month", _METHOD, None, "use `x.getMonth()`, where January is 0"),
    _Slip("day", _METHOD, None, "use `x.getDate()`, from 1"),
    _Slip("weekday dayofweek", _METHOD, None, "use `x.getDayOfWeek()`, where Sunday is 0"),
    # operators and conditions
    _Slip("not", _FUNCTION, 1, "use `!x`"),
    _Slip("and", _FUNCTION, None, "use `a && b`"),
    _Slip("or", _FUNCTION, None, "use `a || b`"),
    _Slip("if iif ifelse cond ternary", _FUNCTION, None, "use `condition ? a : b`"),
    _Slip("between", _FUNCTION, 3, "use `low <= x && x <= high`"),
    _Slip("between", _METHOD, 2, "use `low <= x && x <= high`"),
    _Slip("memory bytes_of gib mib", _FUNCTION, 1, "write the amount: `2Gi`, `500m`"),
)

_FIELDS: Final = {
    **dict.fromkeys(("length", "len", "lenght", "count", "size"), "use `x.size()`"),
    **dict.fromkeys(("keys",), "a macro over a map goes through its keys: `m.map(k, k)`"),
    **dict.fromkeys(("values",), "use `m.transformList(k, v, v)`"),
    **dict.fromkeys(("isempty", "empty"), "use `x.size() == 0`"),
    **dict.fromkeys(("first",), "use `xs[0]`"),
    **dict.fromkeys(("last",), "use `xs[xs.size() - 1]`"),
}

_NAMES: Final = {
    **dict.fromkeys(("none", "nil", "undefined"), "write `null`"),
    **dict.fromkeys(("yes", "on"), "write `true`"),
    **dict.fromkeys(("no", "off"), "write `false`"),
    **dict.fromkeys(
        ("true", "false", "null"), "write it in small letters: `true`, `false`, `null`"
    ),
}


def hint_for_function(name: str, *, is_method: bool, argument_count: int) -> str | None:
    """Say what CEL has for a function or a method of another language, if that is known.

    `argument_count` does not count the method's receiver.
    """
    form = _METHOD if is_method else _FUNCTION
    exact = _HINTS.get((name.lower(), form, argument_count))
    return exact or _HINTS.get((name.lower(), form, None))


def hint_for_field(name: str) -> str | None:
    """Say what CEL has for what other languages select from texts, lists and maps."""
    return _FIELDS.get(name.lower())


def hint_for_name(name: str) -> str | None:
    """Say what CEL has for a name of another language, if that is known."""
    return _NAMES.get(name.lower())


def _by_name() -> dict[tuple[str, str, int | None], str]:
    hints: dict[tuple[str, str, int | None], str] = {}
    for slip in _SLIPS:
        for name in slip.names.split():
            hints.setdefault((name, slip.form, slip.arguments), slip.hint)
    return hints


_HINTS: Final = _by_name()
