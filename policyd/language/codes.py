"""What every code of a diagnostic means: the text of `policyd check --explain` and of the docs.

The examples are rule files. A test compiles each: the first gives its code, the second gives
nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from policyd.language.limits import (
    MAX_DEPTH,
    MAX_INLINED,
    MAX_LIST,
    MAX_SOURCE,
    MAX_STRING,
    MAX_TOKENS,
    MAX_WORK,
)


@dataclass(frozen=True, slots=True)
class Code:
    """A code: what it says in a few words, what it means, a text that gives it, and a better one.

    `example` is empty where no short text gives the code; `meaning` says then what does.
    """

    title: str
    meaning: str
    example: str = ""
    instead: str = ""


_SYNTAX: Final = {
    "E101": Code(
        "something cannot stand here",
        "The text cannot be read on at the marked place. The label says what could stand there;"
        " where a habit of another language is recognised, the help says what to write.",
        'rule "disk" {\n  require (node.labels["disk"] == "ssd"\n  because "needs an SSD"\n}\n',
        'rule "disk" {\n  require (node.labels["disk"] == "ssd")\n  because "needs an SSD"\n}\n',
    ),
    "E102": Code(
        "character without a meaning",
        "The marked character is no part of the language. Mostly it came in by pasting: a curved"
        " quotation mark, a no-break space, a letter of another script that looks like an ASCII"
        " one. Inside strings and comments every character may stand.",
        'rule "disk" {\n  require node.labels["disk"] == “ssd”\n}\n',
        'rule "disk" {\n  require node.labels["disk"] == "ssd"\n}\n',
    ),
    "E103": Code(
        "string without an end",
        "A string begins here and has no closing quotation mark. A string between single marks"
        " ends on its line; one over several lines stands between three marks.",
        'rule "disk" {\n  require node.labels["disk"] == "ssd\n}\n',
        'rule "disk" {\n  require node.labels["disk"] == "ssd"\n}\n',
    ),
    "E104": Code(
        "unknown escape",
        "After a backslash in a string only `a b f n r t v \\ ? ' \" `` ` ``, `xHH`, `uHHHH`,"
        " `UHHHHHHHH` and three octal digits may stand. Regular expressions are easier in a raw"
        ' string, `r"…"`, in which a backslash is a backslash.',
        'rule "name" {\n  require node.name.matches("gpu-\\d+")\n}\n',
        'rule "name" {\n  require node.name.matches(r"gpu-\\d+")\n}\n',
    ),
    "E105": Code(
        "number out of range",
        "An int holds -9223372036854775808 to 9223372036854775807, a uint 0 to"
        " 18446744073709551615. Larger numbers can be written as a double, `1e20`, or as a"
        " quantity, `10E`.",
        'rule "big" {\n  require pod.priority < 9223372036854775808\n}\n',
        'rule "big" {\n  require pod.priority < 1e20\n}\n',
    ),
    "E106": Code(
        "reserved word",
        "CEL keeps a few words for itself (`as break const continue else for function if import"
        " let loop package return var void while`, and `in true false null`). They cannot be"
        " names. As a field most of them may stand after a dot.",
        'let for = 1\nrule "x" {\n  prefer for\n}\n',
        'let duration = 1\nrule "x" {\n  prefer duration\n}\n',
    ),
    "E107": Code(
        "the text ends too early",
        "Something is begun and not ended: a block without its `}`, a bracket without its"
        " partner, an operator without a right side.",
        'rule "disk" {\n  require node.labels["disk"] == "ssd"\n',
        'rule "disk" {\n  require node.labels["disk"] == "ssd"\n}\n',
    ),
    "E108": Code(
        "operator or word of another language",
        "The meaning is clear but the spelling is another language's: `and` for `&&`, `=` for"
        " `==`, `if … then … else` for `? :`. The help says how CEL writes it.",
        'rule "disk" {\n  require node.ready and node.labels["disk"] = "ssd"\n}\n',
        'rule "disk" {\n  require node.ready && node.labels["disk"] == "ssd"\n}\n',
    ),
}

_BLOCKS: Final = {
    "E110": Code(
        "clause of another block",
        "Each kind of block has its own clauses. The help lists those of this one, and says to"
        " which block the clause belongs.",
        'gang "mpi" {\n  of pod.labels["job"]\n  size 4\n  require node.ready\n}\n',
        'gang "mpi" {\n  of pod.labels["job"]\n  size 4\n}\n\n'
        'rule "ready" {\n  require node.ready\n}\n',
    ),
    "E111": Code(
        "clause given twice",
        "This clause may stand once. Conditions are joined with `&&`; for another condition"
        " write another block.",
        'rule "x" {\n  when pod.priority > 0\n  when pod.priority < 10\n  require node.ready\n}\n',
        'rule "x" {\n  when pod.priority > 0 && pod.priority < 10\n  require node.ready\n}\n',
    ),
    "E112": Code(
        "clause missing",
        "A block of this kind does nothing without this clause.",
        'gang "mpi" {\n  of pod.labels["job"]\n}\n',
        'gang "mpi" {\n  of pod.labels["job"]\n  size 4\n}\n',
    ),
    "E113": Code(
        "name of a block missing or misplaced",
        "`rule`, `share`, `gang` and `preempt` have a name, a string between quotation marks;"
        " `choose` and `queue` have none. The name appears in explanations, metrics and events.",
        "rule disk {\n  require node.ready\n}\n",
        'rule "disk" {\n  require node.ready\n}\n',
    ),
    "E114": Code(
        "clause without the one it belongs to",
        "`because` belongs to a `require`, `hold` or `spare`; `weight`, `normalized` and"
        " `normalize` belong to a `prefer` or `avoid`. They stand directly after it.",
        'rule "x" {\n  require node.ready\n  weight 5\n}\n',
        'rule "x" {\n  require node.ready\n  prefer 100 weight 5\n}\n',
    ),
    "E115": Code(
        "unknown mode",
        "A block is in force (`mode enforce`, the default), or it is evaluated, counted and shown"
        " without changing anything (`mode shadow`).",
        'rule "x" {\n  mode dry\n  require node.ready\n}\n',
        'rule "x" {\n  mode shadow\n  require node.ready\n}\n',
    ),
}

_NAMES: Final = {
    "E201": Code(
        "unknown name",
        "Nothing is called this here: no variable, `param`, `let` or macro variable. Keys of maps"
        " are strings and need quotation marks.",
        'rule "x" {\n  require nod.ready\n}\n',
        'rule "x" {\n  require node.ready\n}\n',
    ),
    "E202": Code(
        "unknown function or method",
        "There is no function of this name, or none that is called in this way. Functions stand"
        " before their arguments, `size(x)`, methods after their first, `x.startsWith(y)`. The"
        " reference of functions lists them all.",
        'rule "x" {\n  require node.name.toLower() == "a"\n}\n',
        'rule "x" {\n  require node.name.lowerAscii() == "a"\n}\n',
    ),
    "E203": Code(
        "unknown field",
        "The object has no field of this name. Objects of the API have the fields of their API"
        " version; `pod`, `node`, `namespace` and `cluster` have short names besides. Labels and"
        ' annotations are maps: `node.labels["key"]`.',
        'rule "x" {\n  require node.lables["disk"] == "ssd"\n}\n',
        'rule "x" {\n  require node.labels["disk"] == "ssd"\n}\n',
    ),
    "E204": Code(
        "no such operation for these types",
        "The function, method or operator exists, but not for values of these types. Convert one"
        " of them: `int(x)`, `double(x)`, `string(x)`, `quantity(x)`.",
        'rule "x" {\n  require node.pods.size() + "1" == "11"\n}\n',
        'rule "x" {\n  require string(node.pods.size()) + "1" == "11"\n}\n',
    ),
    "E205": Code(
        "wrong type for this place",
        "A clause, a condition of a macro or a default must be of a certain type: `when` and"
        " `require` are bool, `because` is a string or a list of strings, `prefer` is a number or"
        " a bool.",
        'rule "x" {\n  require node.pods.size()\n}\n',
        'rule "x" {\n  require node.pods.size() > 0\n}\n',
    ),
    "E206": Code(
        "name with a meaning already",
        "A `param`, a `let` or a parameter of a `let` cannot take a name that the language gives"
        " a meaning, such as `node`: a reader would take it for that.",
        'let half(node) = node / 2\nrule "x" {\n  prefer half(100)\n}\n',
        'let half(points) = points / 2\nrule "x" {\n  prefer half(100)\n}\n',
    ),
    "E207": Code(
        "declared twice",
        "Names of parameters and of blocks are unique in all files of a rule set; a `let` is"
        " unique in its file.",
        'rule "x" {\n  require node.ready\n}\nrule "x" {\n  prefer 1\n}\n',
        'rule "x" {\n  require node.ready\n}\nrule "y" {\n  prefer 1\n}\n',
    ),
    "E208": Code(
        "regular expression that does not compile",
        "Regular expressions have the syntax of RE2, which matches in linear time: there are no"
        " back references and no look-around.",
        'rule "x" {\n  require node.name.matches("gpu-(?!old)")\n}\n',
        'rule "x" {\n  require node.name.startsWith("gpu-") && !node.name.startsWith("gpu-old")\n'
        "}\n",
    ),
    "E209": Code(
        "literal that its function refuses",
        "A constant argument is checked when the rule is compiled: durations such as `1h30m`,"
        " timestamps of RFC 3339, the clauses of a format and their values.",
        'rule "x" {\n  require now < timestamp("2030-01-31")\n}\n',
        'rule "x" {\n  require now < timestamp("2030-01-31T00:00:00Z")\n}\n',
    ),
    "E210": Code(
        "let that needs itself",
        "The value of a `let` cannot depend on itself, directly or through others: rules always"
        " come to an end. Macros such as `map`, `filter` and `exists` go over lists.",
        'let twice(x) = twice(x) * 2\nrule "x" {\n  prefer twice(1)\n}\n',
        'let twice(x) = x * 2\nrule "x" {\n  prefer twice(1)\n}\n',
    ),
    "E211": Code(
        "unknown type",
        "A parameter is a `bool`, `int`, `double`, `string`, `quantity`, `duration` or"
        " `timestamp`, or a `list(…)` or `map(string, …)` of one of them.",
        'param most: integer = 5\nrule "x" {\n  require node.pods.size() < most\n}\n',
        'param most: int = 5\nrule "x" {\n  require node.pods.size() < most\n}\n',
    ),
    "E212": Code(
        "wrong number of arguments",
        "The function takes another number of arguments; the help shows its forms.",
        'rule "x" {\n  require node.name.startsWith("a", "b")\n}\n',
        'rule "x" {\n  require node.name.startsWith("a") || node.name.startsWith("b")\n}\n',
    ),
    "E213": Code(
        "list or map of mixed types",
        "The elements of a literal list, and the keys and the values of a literal map, are of one"
        " type, as in Kubernetes. `dyn(x)` says that a mixture is meant.",
        'rule "x" {\n  require node.labels["tier"] in ["1", 2]\n}\n',
        'rule "x" {\n  require node.labels["tier"] in ["1", "2"]\n}\n',
    ),
    "E214": Code(
        "macro used in a wrong way",
        "A macro is given pieces of text: `has()` takes a selection of a field, and the macros"
        " over lists and maps take plain names for their variables.",
        'rule "x" {\n  require has(node.labels["disk"])\n}\n',
        'rule "x" {\n  require "disk" in node.labels\n}\n',
    ),
    "E215": Code(
        "parameter without a usable value",
        "A parameter has a type, a default or both, and its default is of its type.",
        'param most: int = "many"\nrule "x" {\n  require node.pods.size() < most\n}\n',
        'param most: int = 5\nrule "x" {\n  require node.pods.size() < most\n}\n',
    ),
    "E216": Code(
        "selection of what has no parts",
        "Fields are selected from objects and maps, with a dot; elements are taken from lists and"
        " maps, with brackets.",
        'rule "x" {\n  require node.name.length > 3\n}\n',
        'rule "x" {\n  require node.name.size() > 3\n}\n',
    ),
    "E217": Code(
        "name that this clause cannot read",
        "The name exists, but not for this clause: the order of the queue is decided before any"
        " node is looked at, a victim is known only in `preempt`.",
        "queue {\n  order node.name asc\n}\n",
        "queue {\n  order pod.name asc\n}\n",
    ),
}

_LIMITS: Final = {
    "E301": Code(
        "text too large",
        f"A file or an expression has at most {MAX_SOURCE:,} characters. Split it into several"
        " files: they are compiled together.",
    ),
    "E302": Code(
        "nested too deep",
        f"An expression is nested at most {MAX_DEPTH} levels deep. Give parts of it names with"
        " `let`. Chains of `&&` and of `||` count as one level, however long they are.",
    ),
    "E303": Code(
        "too many words and signs",
        f"A file or an expression has at most {MAX_TOKENS:,} words, numbers, strings and signs."
        " Split it into several files: they are compiled together.",
    ),
    "E304": Code(
        "not UTF-8",
        "Rule files are UTF-8, with or without a byte order mark. The marked byte cannot be read"
        " as such; save the file as UTF-8.",
    ),
    "E305": Code(
        "NUL byte",
        "A rule file is text and holds no NUL byte. In a string, write it as `\\x00`.",
    ),
    "E306": Code(
        "too large once its functions are written out",
        "A `let` with parameters is written out where it is called. Calls inside calls multiply:"
        f" an expression may have about {MAX_INLINED:,} parts in the end.",
    ),
}

_EVALUATION: Final = {
    "E401": Code(
        "evaluation without a value",
        "The expression has no value for this input: a key that is absent from a strict map, a"
        " division by zero, an overflow. In `require` and its `when` the node does not fit, with"
        ' the error as the reason; a `prefer` contributes 0. `m[?"key"].orValue(x)` deals with'
        " absent keys.",
        'rule "x" {\n  require 1 / 0 == 1\n}\n',
        'rule "x" {\n  require node.pods.size() / 1 == 1\n}\n',
    ),
    "E402": Code(
        "evaluation stopped at a limit",
        f"One evaluation may take {MAX_WORK:,} units of work, and may build strings of"
        f" {MAX_STRING:,} characters and lists of {MAX_LIST:,} elements. What would take more is"
        " stopped, so that no rule can hold the scheduler up.",
    ),
}

_WARNINGS: Final = {
    "W501": Code(
        "condition that is always true",
        "The condition reads nothing, and so it is the same for every pod and node: the clause"
        " can be left out.",
        'rule "x" {\n  when 1 < 2\n  require node.ready\n}\n',
        'rule "x" {\n  require node.ready\n}\n',
    ),
    "W502": Code(
        "condition that is always false",
        "The condition reads nothing, and so it is the same for every pod and node: no node can"
        " ever fit, or the rule never applies.",
        'rule "x" {\n  require 1 > 2\n}\n',
        'rule "x" {\n  require node.ready\n}\n',
    ),
    "W503": Code(
        "let that is not used",
        "Nothing in its file, or in its block, uses the name.",
        'let limit = 5\nrule "x" {\n  require node.ready\n}\n',
        'let limit = 5\nrule "x" {\n  require node.pods.size() < limit\n}\n',
    ),
    "W504": Code(
        "parameter that is not used",
        "No rule reads the parameter, so that setting it does nothing.",
        'param most: int = 5\nrule "x" {\n  require node.ready\n}\n',
        'param most: int = 5\nrule "x" {\n  require node.pods.size() < most\n}\n',
    ),
    "W505": Code(
        "rule that can never apply",
        "Its `when` is always false. To try a rule out without effect, write `mode shadow`; to"
        " switch it on and off, make a `param` of it.",
        'rule "x" {\n  when false\n  require node.ready\n}\n',
        'rule "x" {\n  mode shadow\n  require node.ready\n}\n',
    ),
    "W506": Code(
        "score that may leave 0 to 100",
        "Scores are on a scale of 0 to 100 before their weight; what is outside is cut off, and"
        " differences there are lost. `weight` says how much a score counts, and `normalized`"
        " rescales it over the nodes that fit.",
        'rule "x" {\n  prefer node.ready ? 1000 : 0\n}\n',
        'rule "x" {\n  prefer node.ready ? 100 : 0  weight 10\n}\n',
    ),
    "W507": Code(
        "block that does nothing",
        "The block has no clauses, so that it neither forbids nor prefers anything.",
        'rule "x" {\n}\n',
        'rule "x" {\n  require node.ready\n}\n',
    ),
    "W508": Code(
        "comparison with itself",
        "The two sides are the same text, so that the comparison says nothing. Mostly one side"
        " was meant to be something else.",
        'rule "x" {\n  require pod.labels["team"] == pod.labels["team"]\n}\n',
        'rule "x" {\n  require pod.labels["team"] == node.labels["team"]\n}\n',
    ),
}

_NOTES: Final = {
    "N601": Code(
        "not plain Kubernetes CEL",
        "The expression uses what policyd adds to CEL: quantity literals, mixed numbers,"
        " operators on quantities. It is right here, and Kubernetes would refuse it. Shown by"
        " `policyd check --portable`.",
        'rule "x" {\n  require node.allocatable.memory >= 2Gi\n}\n',
        'rule "x" {\n  require node.status.allocatable["memory"] != "0"\n}\n',
    ),
}

CODES: Final[Mapping[str, Code]] = MappingProxyType(
    {**_SYNTAX, **_BLOCKS, **_NAMES, **_LIMITS, **_EVALUATION, **_WARNINGS, **_NOTES}
)
"""Every code that a diagnostic can have."""


def explain(code: str) -> str:
    """Give the page of a code as text for a terminal.

    Raises:
        KeyError: there is no such code.
    """
    known = CODES[code]
    return "\n".join([f"{code}: {known.title}", "", *_sections(known)]).rstrip() + "\n"


def _sections(code: Code) -> Iterator[str]:
    yield from wrapped(code.meaning)
    for heading, text in (("Example:", code.example), ("Instead:", code.instead)):
        if text:
            yield from ("", heading, "", *(f"    {line}" for line in text.splitlines()))


def wrapped(text: str, width: int = 80) -> Iterator[str]:
    """Give a text in lines of at most `width` characters, broken at blanks."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
