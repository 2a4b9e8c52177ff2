"""Each mistake of syntax gets a sentence of its own, a place, and what to write instead."""

import json

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.parser import parse_expression, parse_file
from policyd.language.source import Source
from tests.shared import SHARED, needs_shared


def faults(parse, text):
    with pytest.raises(RuleError) as caught:
        parse(Source("x.expr", text))
    return caught.value.diagnostics


def in_short(diagnostic):
    """Give a diagnostic as its code, the text it marks, its message and its advice."""
    marked = diagnostic.source.slice(diagnostic.span)
    advice = " / ".join(filter(None, [diagnostic.label, *diagnostic.helps]))
    return diagnostic.code, marked, diagnostic.message, advice


def mended(diagnostic):
    """Give the text with the diagnostic's edit made."""
    edit, text = diagnostic.edit, diagnostic.source.text
    return text[: edit.span.start] + edit.text + text[edit.span.end :]


CONDITION = "a condition has two results: `condition ? a : b`"
MACRO = "a macro takes its variable and its body: `xs.map(x, x + 1)`"

EXPRESSIONS = [
    # words of other languages
    ("a and b", "E108", "and", "`and` is not an operator", "use `&&`"),
    ("a or b", "E108", "or", "`or` is not an operator", "use `||`"),
    ("not a", "E108", "not", "`not` is not a word of expressions", "use `!`"),
    ("a && not b", "E108", "not", "`not` is not a word of expressions", "use `!`"),
    ("a not in b", "E108", "not", "`not in` is not an operator", "write `!(x in list)`"),
    ("a is null", "E108", "is", "`is` is not an operator", "compare with `==`"),
    (
        "name contains 'x'",
        "E108",
        "contains",
        "`contains` is not an operator",
        "write `text.contains(part)`, or `x in list`",
    ),
    ("if a then b else c", "E108", "if", "`if` is not a word of expressions", CONDITION),
    ("if (a) { b } else { c }", "E108", "if", "`if` is not a word of expressions", CONDITION),
    ("a if b else c", "E108", "if", "`if` is not an operator", CONDITION),
    (
        "return a",
        "E108",
        "return",
        "`return` is not a word of expressions",
        "an expression is its value: leave `return` out",
    ),
    (
        "[x * 2 for x in xs]",
        "E108",
        "for",
        "`for` is not an operator",
        "a macro goes over a list: `xs.map(x, x + 1)`",
    ),
    ("lambda x: x", "E108", "lambda", "`lambda` is not a word of expressions", MACRO),
    (
        "let x = 1 in x",
        "E108",
        "let",
        "`let` is not a word of expressions",
        "inside an expression a name is given with `cel.bind(x, value, body)`",
    ),
    # signs of other languages
    ("a = 1", "E108", "=", "`=` is not an operator", "compare with `==`"),
    ("1 === 1", "E108", "===", "`===` is not an operator", "use `==`"),
    ("a !== b", "E108", "!==", "`!==` is not an operator", "use `!=`"),
    ("a <> b", "E108", "<>", "`<>` is not an operator", "use `!=`"),
    ("a =< b", "E108", "=<", "`=<` is not an operator", "use `<=`"),
    ("2 ** 3", "E108", "**", "`**` is not an operator", "there are no powers: multiply"),
    (
        "2 ^ 3",
        "E108",
        "^",
        "`^` is not an operator",
        "use `math.bitXor(a, b)`; there is no power operator",
    ),
    ("~1", "E108", "~", "`~` is not an operator", "use `math.bitNot(x)`"),
    (
        '"a" ~ "b"',
        "E108",
        "~",
        "`~` is not an operator",
        "join strings with `+`; match them with `text.matches(re)`",
    ),
    ('a =~ "x"', "E108", "=~", "`=~` is not an operator", "use `text.matches(re)`"),
    ("1 & 1", "E108", "&", "`&` is not an operator", "write `&&`"),
    ("1 | 1", "E108", "|", "`|` is not an operator", "write `||`"),
    ("1 << 1", "E108", "<<", "`<<` is not an operator", "use `math.bitShiftLeft(x, n)`"),
    ("a ?? b", "E108", "??", "`??` is not an operator", "use an optional: `a.?b.orValue(c)`"),
    ("a ?: b", "E108", "?:", "`?:` is not an operator", "use an optional: `a.?b.orValue(c)`"),
    ("a?.b", "E108", "?.", "`?.` is not an operator", "an optional selection is written `a.?b`"),
    ("f(a?.b)", "E108", "?.", "`?.` is not an operator", "an optional selection is written `a.?b`"),
    (
        "a?.b ? c : d",
        "E108",
        "?.",
        "`?.` is not an operator",
        "an optional selection is written `a.?b`",
    ),
    ("x => x", "E108", "=>", "`=>` is not an operator", f"`>=` compares; {MACRO}"),
    ("xs.map(x -> x)", "E108", "->", "`->` is not an operator", MACRO),
    ("x++", "E108", "++", "`++` is not an operator", "nothing can be changed: write `x + 1`"),
    (
        "x += 1",
        "E108",
        "+=",
        "`+=` is not an operator",
        "nothing can be changed: give the new value a name with `let`",
    ),
    (
        "1 .. 2",
        "E108",
        "..",
        "`..` is not an operator",
        "use `lists.range(n)`, or compare: `low <= x && x <= high`",
    ),
    (
        "1 /* c */ + 2",
        "E108",
        "/*",
        "there are no `/* */` comments",
        "write `//` before each line of the comment",
    ),
    # conditions
    (
        "a ? b",
        "E107",
        "",
        "the text ends where `:` was expected",
        "expected `:` / a condition has two results: `a ? b : c`",
    ),
    (
        "a ? : c",
        "E101",
        ":",
        "`:` stands where an expression was expected after `?`",
        "expected an expression",
    ),
    (
        "true ? false ? 1 : 2 : 3",
        "E101",
        "?",
        "`?` stands where `:` was expected",
        ("expected `:` / put a condition inside a condition in parentheses: `a ? (b ? c : d) : e`"),
    ),
    # strings
    (
        'a == "ssd',
        "E103",
        '"ssd',
        "this string is not ended",
        (
            'begins here / end it with `"` / a string over several lines stands between `"""` and'
            ' `"""`'
        ),
    ),
    (
        "'abc\"",
        "E103",
        "'abc\"",
        "this string is not ended",
        "begins here / it begins with `'` and must end with the same sign, not with `\"`",
    ),
    (
        '"""abc\nd',
        "E103",
        '"""abc',
        "this string is not ended",
        'begins here / end it with `"""`',
    ),
    (
        "b'''abc\nd",
        "E103",
        "b'''abc",
        "this string is not ended",
        "begins here / end it with `'''`",
    ),
    (
        "'it's'",
        "E101",
        "'s",
        "`s` cannot stand directly after a string",
        'the string ends here / inside the string write `\\\'`, or put it between `"` and `"`',
    ),
    (
        '"\\q"',
        "E104",
        "\\q",
        "`\\q` is not an escape",
        "write `\\\\` for a backslash, or put `r` before the string to take it as it stands",
    ),
    (
        "\u201cssd\u201d",
        "E102",
        "\u201cssd\u201d",
        "`\u201c` is not a quotation mark of the language",
        'write `"`',
    ),
    (
        "\u2018ssd\u2019",
        "E102",
        "\u2018ssd\u2019",
        "`\u2018` is not a quotation mark of the language",
        "write `'`",
    ),
    (
        "\u201cssd",
        "E102",
        "\u201c",
        "`\u201c` is not a quotation mark of the language",
        'write `"`',
    ),
    ("'a' 'b'", "E101", "'b'", "an operator is missing before `'b'`", "join strings with `+`"),
    (
        "rb'x'",
        "E101",
        "rb",
        "`rb` cannot stand directly before a string",
        "bytes taken as they stand begin with `br`",
    ),
    (
        'f"{x}"',
        "E101",
        "f",
        "`f` cannot stand directly before a string",
        'values are put into a string by `"%s has %d".format([name, count])`',
    ),
    (
        'u"x"',
        "E101",
        "u",
        "`u` cannot stand directly before a string",
        "before a string only `r`, `b` and `br` may stand",
    ),
    # characters
    (
        "a\u00a0== b",
        "E102",
        "\u00a0",
        "this is a no-break space (U+00A0)",
        "replace it with a plain space",
    ),
    ("a\u200b== b", "E102", "\u200b", "this is a zero width space (U+200B)", "remove it"),
    ("a == \ufeffb", "E102", "\ufeff", "this is a byte order mark inside the text", "remove it"),
    ("a\0", "E102", "\0", "this is a NUL character", "remove it"),
    (
        "a;",
        "E102",
        ";",
        "`;` ends nothing here",
        "remove it: no terminator is needed",
    ),
    ("a # b", "E102", "#", "`#` does not begin a comment", "comments are written `// …`"),
    (
        "$x",
        "E102",
        "$",
        "`$` cannot stand in a name",
        "names are letters, digits and `_`, without a sign before",
    ),
    (
        "@x",
        "E102",
        "@",
        "`@` cannot stand in a name",
        "names are letters, digits and `_`, without a sign before",
    ),
    ("a &&\\\n b", "E102", "\\", "a line goes on without `\\`", "remove it"),
    ("\\x", "E102", "\\", "`\\` has no meaning outside a string", "remove it"),
    ("m.`a b", "E102", "`", "this quoted field name is not ended", "write `` a.`content-type` ``"),
    ("a \u2264 b", "E102", "\u2264", "`\u2264` cannot stand here", "write `<=`"),
    ("a \u2212 b", "E102", "\u2212", "`\u2212` cannot stand here", "write `-`"),
    ("f\uff08a)", "E102", "\uff08", "`\uff08` cannot stand here", "write `(`"),
    (
        "n\u043ede.name",
        "E102",
        "\u043ede",
        "`\u043ede` cannot stand here",
        (
            "cyrillic small letter o (U+043E) / names are ASCII letters, digits and `_`; other"
            " characters stand in strings"
        ),
    ),
    (
        "a == \uff55\uff53",
        "E102",
        "\uff55\uff53",
        "`\uff55\uff53` cannot stand here",
        (
            "fullwidth latin small letter u (U+FF55) / write `us` / names are ASCII letters, digits"
            " and `_`; other characters stand in strings"
        ),
    ),
    # numbers
    ("5.", "E101", "5.", "`5.` is not a number", "a point is followed by a digit"),
    (
        "0x",
        "E101",
        "0x",
        "`0x` is not a number",
        "hexadecimal digits follow `0x` in small letters: `0x1f`",
    ),
    (
        "0b11",
        "E101",
        "0b11",
        "`0b11` is not a number",
        "numbers are decimal, or hexadecimal after `0x`",
    ),
    ("1_000", "E101", "1_000", "`1_000` is not a number", "write `1000`"),
    ("5GB", "E101", "5GB", "`5GB` is not a number", "amounts are written `5G`"),
    ("5GiB", "E101", "5GiB", "`5GiB` is not a number", "amounts are written `5Gi`"),
    ("64K", "E101", "64K", "`64K` is not a number", "amounts are written `64k`"),
    (
        "5min",
        "E101",
        "5min",
        "`5min` is not a number",
        'times are written `duration("1h30m")`; the largest unit is `h`',
    ),
    (
        "2nd",
        "E101",
        "2nd",
        "`2nd` is not a number",
        "a number ends before a letter; names do not begin with a digit",
    ),
    (
        "10.0.0.1",
        "E101",
        "10.0.0.1",
        "`10.0.0.1` is not a number",
        'versions and addresses are strings: `semver("1.2.3")`, `ip("10.0.0.1")`',
    ),
    (
        "10%",
        "E107",
        "",
        "the text ends where an expression was expected after `%`",
        (
            "expected an expression / a share is a fraction: `0.1` for a tenth; `%` gives the"
            " remainder of a division"
        ),
    ),
    (
        "18446744073709551616u",
        "E105",
        "18446744073709551616u",
        "`18446744073709551616u` is out of range for uint",
        "an uint holds 0 to 18446744073709551615",
    ),
    # brackets and what stands in them
    ("(1", "E107", "", "the text ends where `)` was expected", "expected `)`"),
    ("a.b(", "E107", "", "the text ends where `)` was expected", "expected `)`"),
    ("[1, 2", "E107", "", "the text ends where `]` was expected", "expected `]`"),
    ("1)", "E101", ")", "`)` closes nothing", "remove it"),
    ("(a ]", "E101", "]", "`]` stands where `)` was expected", "expected `)`"),
    (
        "f(1,)",
        "E101",
        ",",
        "`,` cannot stand before `)` here",
        "remove the comma; lists and maps may end with one, arguments may not",
    ),
    ("[1 2]", "E101", "2", "`,` or an operator is missing before `2`", ""),
    (
        "a[1:2]",
        "E101",
        ":",
        "there are no slices with `:`",
        "use `xs.slice(start, end)` of a list and `text.substring(start, end)` of a string",
    ),
    (
        "{'a' = 1}",
        "E101",
        "=",
        "`=` cannot stand here",
        'expected `:` / the entries of a map are written `"key": value`',
    ),
    (
        "{a}",
        "E101",
        "}",
        "`}` stands where `:` was expected",
        'expected `:` / the entries of a map are written `"key": value`',
    ),
    (
        "Pod{name: 1}",
        "E101",
        "{",
        "there are no objects to make, so no `Pod{…}`",
        'a map is written `{"key": value}`',
    ),
    # fields
    (
        '"a"."b"',
        "E101",
        '"b"',
        "a field's name has no quotation marks",
        'write `["b"]` without the dot',
    ),
    (
        "a.1",
        "E101",
        ".1",
        "an operator is missing before `.1`",
        "an element is taken with brackets: `[1]`",
    ),
    ("a.in", "E106", "in", "`in` cannot be a field's name", 'write `["in"]`'),
    (".true", "E106", "true", "`true` cannot be a field's name", 'write `["true"]`'),
    ("a.", "E107", "", "the text ends after `.`", "expected a field's name"),
    ("a.+b", "E101", "+", "`+` cannot follow `.`", "expected a field's name"),
    (
        "m[`a`]",
        "E101",
        "`a`",
        "a name in backticks can stand only after a dot",
        'a string stands between `"` and `"`',
    ),
    (
        "if",
        "E106",
        "if",
        "`if` is a reserved word of CEL",
        "choose another name; as a field it may be written after a dot",
    ),
    # nothing, too little, too much
    ("", "E107", "", "an expression was expected", "there is nothing here"),
    (" \n // c", "E107", "", "an expression was expected", "there is nothing here"),
    (
        "1 in",
        "E107",
        "",
        "the text ends where an expression was expected after `in`",
        "expected an expression",
    ),
    (
        "a && * b",
        "E101",
        "*",
        "`*` stands where an expression was expected after `&&`",
        "expected an expression",
    ),
    ("a b", "E101", "b", "an operator is missing before `b`", ""),
    ("1 1", "E101", "1", "an operator is missing before `1`", ""),
    ("a, b", "E101", ",", "`,` cannot stand here", "expected the end"),
]


@pytest.mark.parametrize(
    ("text", "code", "marked", "message", "advice"),
    EXPRESSIONS,
    ids=[ascii(e[0]) for e in EXPRESSIONS],
)
def test_mistake_in_an_expression_is_named_once(text, code, marked, message, advice):
    (diagnostic,) = faults(parse_expression, text)
    assert in_short(diagnostic) == (code, marked, message, advice)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a and b", "a && b"),
        ("a = 1", "a == 1"),
        ("1 === 1", "1 == 1"),
        ("a <> b", "a != b"),
        ("a?.b", "a.?b"),
        ("1 & 1", "1 && 1"),
        ("not a", "! a"),
        ("f(1,)", "f(1)"),
        ("{'a' = 1}", "{'a' : 1}"),
        ("5.", "5.0"),
        ("a;", "a"),
        ("a\u00a0== b", "a == b"),
        ("\u201cssd\u201d", '"ssd"'),
        ("a \u2264 b", "a <= b"),
        ("a # b", "a // b"),
        ("a == \uff55\uff53", "a == us"),
    ],
    ids=ascii,
)
def test_edit_makes_a_text_that_parses(text, expected):
    (diagnostic,) = faults(parse_expression, text)
    assert mended(diagnostic) == expected
    parse_expression(Source("x", expected))


def test_open_bracket_is_shown_beside_the_place_where_it_is_missed():
    (diagnostic,) = faults(parse_expression, "f(a, [b, c)")
    assert [(diagnostic.source.slice(s), label) for s, label in diagnostic.related] == [
        ("[", "this `[` is not closed")
    ]


def test_end_of_a_text_is_behind_its_last_word():
    (diagnostic,) = faults(parse_expression, "a +  // more\n\n")
    assert diagnostic.span == (3, 3)


FILES = [
    (
        'rule "x" { requires a }',
        "E101",
        "requires",
        "`requires` is not a clause",
        "did you mean `require`?",
    ),
    (
        'rule "x" {\n  require a\n  perfer 1\n}',
        "E101",
        "perfer",
        "`perfer` is not a clause",
        "did you mean `prefer`?",
    ),
    (
        'rule "x" { prefer 1 wieght 3 }',
        "E101",
        "wieght",
        "`wieght` is not a clause",
        "did you mean `weight`?",
    ),
    (
        'rule "x" { prefer 1 normalised }',
        "E101",
        "normalised",
        "`normalised` is not a clause",
        "did you mean `normalized`?",
    ),
    (
        'rule "x" {\n  deny a\n}',
        "E101",
        "deny",
        "`deny` is not a clause",
        "did you mean `require !(…)`?",
    ),
    (
        'rule "x" {\n  message "a"\n}',
        "E101",
        "message",
        "`message` is not a clause",
        "did you mean `because`?",
    ),
    (
        'rule "x" {\n  frobnicate "a"\n}',
        "E101",
        "frobnicate",
        "`frobnicate` is not a clause",
        "clauses begin with words such as `when`, `require` and `prefer`",
    ),
    (
        'rule "x" {\n  node.ready\n}',
        "E101",
        "node",
        "`node` is not a clause",
        "an expression stands after the word of its clause, such as `require`",
    ),
    (
        'rul "x" { require a }',
        "E101",
        "rul",
        "`rul` is not a declaration",
        "did you mean `rule`?",
    ),
    (
        "rule gpu-nodes { require a }",
        "E113",
        "gpu-nodes",
        "the name of a `rule` stands between quotation marks",
        'write `rule "gpu-nodes" {`',
    ),
    (
        "queue main { order a }",
        "E113",
        "main",
        "the name of a `queue` stands between quotation marks",
        "`queue` has no name",
    ),
    (
        'rule "x"\n  require a\n}',
        "E101",
        "require",
        '`{` is missing after `rule "x"`',
        'expected `{` / a `rule` is written `rule "x" { … }`',
    ),
    (
        'rule "x": { require a }',
        "E101",
        ":",
        "`:` does not stand before `{`",
        "remove it",
    ),
    (
        'rule "x"',
        "E107",
        "",
        "the text ends where `{` was expected",
        "expected `{`",
    ),
    (
        'rule "x" {\n  require a\n',
        "E107",
        "",
        "the text ends where `}` was expected",
        "expected `}`",
    ),
    (
        'rule "x" {\n  require a\n\nrule "y" { require b }',
        "E101",
        "rule",
        "`rule` stands where `}` was expected",
        "expected `}`",
    ),
    ('rule "x" { require a }}', "E101", "}", "`}` closes nothing", "remove it"),
    (
        "require a",
        "E101",
        "require",
        "`require` stands outside a block",
        'a clause / put it into one: `rule "name" { require … }`',
    ),
    (
        'node.labels["x"] == "y"',
        "E101",
        "node",
        "this is not a declaration",
        (
            'expected `rule "name" {`, `let` or `param` / an expression stands in a clause of a'
            " block, such as `require` in a `rule`"
        ),
    ),
    (
        "apiVersion: v1\nkind: Rule",
        "E101",
        "apiVersion",
        "this is not a declaration",
        (
            'expected `rule "name" {`, `let` or `param` / rules are not YAML: they are written'
            ' `rule "name" { … }`'
        ),
    ),
    (
        '{"rules": []}',
        "E101",
        "{",
        "this is not a declaration",
        (
            'expected `rule "name" {`, `let` or `param` / rules are not JSON: they are written'
            ' `rule "name" { … }`'
        ),
    ),
    (
        'import "x"',
        "E101",
        "import",
        "`import` is not a word of rule files",
        "the files of a rule set are compiled together: nothing is imported",
    ),
    (
        "def f(x) = x",
        "E101",
        "def",
        "`def` is not a word of rule files",
        "a function is given with `let f(x) = …`",
    ),
    (
        'rule "x" {\n  when: a\n}',
        "E101",
        ":",
        "`:` does not stand after `when`",
        "write `when …`: a clause is its word and an expression",
    ),
    (
        'rule "x" {\n  weight = 3\n}',
        "E101",
        "=",
        "`=` does not stand after `weight`",
        "write `weight …`: a clause is its word and an expression",
    ),
    (
        'rule "x" {\n  require a,\n  require b\n}',
        "E101",
        ",",
        "`,` does not stand between clauses",
        "remove it",
    ),
    (
        'rule "x" { require a },\nrule "y" { require a }',
        "E101",
        ",",
        "`,` does not stand between declarations",
        "",
    ),
    (
        'rule "x" {\n  require a;\n}',
        "E102",
        ";",
        "`;` ends nothing here",
        "remove it: no terminator is needed",
    ),
    (
        'rule "x" {\n  when a {\n    require b\n  }\n  require c\n}',
        "E101",
        "{",
        "there are no blocks inside blocks",
        "a `when` holds for its whole block: write another one for another condition",
    ),
    (
        'rule "x" {\n  require\n  because "y"\n}',
        "E101",
        "because",
        "`because` stands where an expression was expected after `require`",
        "expected an expression",
    ),
    (
        'rule "x" {\n  require a ||\n}',
        "E101",
        "}",
        "`}` stands where an expression was expected after `||`",
        "expected an expression",
    ),
    (
        'rule "x" {\n  require f(a\n  because "y"\n}',
        "E101",
        "because",
        "`because` stands where `)` was expected",
        "expected `)`",
    ),
    (
        "queue {\n  hold a\n}",
        "E101",
        "a",
        "`hold` is followed by `when`",
        "expected `when` / write `hold when …`",
    ),
    (
        'rule "x" {\n  mode "shadow"\n}',
        "E101",
        '"shadow"',
        "a mode has no quotation marks",
        "write `mode shadow`",
    ),
    (
        'rule "x" {\n  mode 3\n}',
        "E101",
        "3",
        "`3` cannot stand here",
        "expected a mode / write `mode shadow`",
    ),
    (
        "let x == 1",
        "E101",
        "==",
        "`==` compares",
        "a name is given with one `=`",
    ),
    ("let x := 1", "E108", ":=", "`:=` is not an operator", "a name is given with `let name = …`"),
    (
        "let x: int = 1",
        "E101",
        ":",
        "a `let` has no type",
        "write `let x = …`; a `param` has a type",
    ),
    (
        "let x 1",
        "E101",
        "1",
        "`=` is missing before the value",
        "expected `=` / write `let x = …`",
    ),
    (
        'let "x" = 1',
        "E101",
        '"x"',
        "the name of a `let` has no quotation marks",
        "write `let x = …`",
    ),
    (
        "let 1x = 1",
        "E101",
        "1",
        "a name does not begin with a digit",
        "choose another name: `let x1`",
    ),
    ("let in = 1", "E106", "in", "`in` is a reserved word of CEL", "choose another name"),
    (
        "param x int = 1",
        "E101",
        "int",
        "`:` is missing before the type `int`",
        "write `param x: int = …`",
    ),
    ("param x: = 1", "E101", "=", "`=` cannot stand here", "expected a type"),
    ("param", "E107", "", "the text ends where a name was expected", "the end"),
]


@pytest.mark.parametrize(("text", "code", "marked", "message", "advice"), FILES)
def test_mistake_in_a_file_is_named_once(text, code, marked, message, advice):
    (diagnostic,) = faults(parse_file, text)
    assert in_short(diagnostic) == (code, marked, message, advice)


def test_open_block_is_shown_beside_the_place_where_its_end_is_missed():
    (diagnostic,) = faults(parse_file, 'rule "x" {\n  require a\n\nlet y = 1\nqueue {}')
    assert [(diagnostic.source.slice(s), label) for s, label in diagnostic.related] == [
        ("{", 'the block `rule "x"` is not closed')
    ]


@needs_shared
def test_every_text_that_kubernetes_cannot_read_is_refused_in_words():
    """Every syntax error among Kubernetes' answers is one here, with advice or a label."""
    rows = json.loads((SHARED / "data" / "cel" / "k8s_vectors.json").read_text(encoding="utf-8"))
    wrong = [row["expr"] for row in rows if "Syntax error" in row["expected"].get("message", "")]
    assert len(wrong) > 40
    for text in wrong:
        for diagnostic in faults(parse_expression, text):
            _, _, message, advice = in_short(diagnostic)
            assert advice or "is missing before" in message, text
            assert "Token" not in message + advice
            assert not any(name in message + advice for name in ("RPAR", "NAME", "LBRACE"))
