"""What property tests and fuzzing found, each as the smallest case of its whole kind."""

from bisect import bisect_left
from contextlib import suppress
from time import perf_counter

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.dialect import Dialect
from policyd.language.environment import Environment
from policyd.language.equality import equal
from policyd.language.errors import EvaluationError, LimitExceeded
from policyd.language.limits import MAX_DEPTH, MAX_DIAGNOSTICS
from policyd.language.parser import parse_file
from policyd.language.show import show
from policyd.language.source import Source
from policyd.language.syntax import Let
from policyd.language.types import BOOL, MAX_PARTS


def compiled(text, **env):
    return Environment(**env).compile(text)


def evaluate(text, bindings=None, **env):
    environment = Environment(**env)
    return environment.program(environment.compile(text)).evaluate(bindings or {})


def bound(count, first, step, last):
    """Write `count` nested `cel.bind`, each of whose values is made of the one before."""
    text = last.format(f"a{count}")
    for at in range(count, 0, -1):
        text = f"cel.bind(a{at}, {step.format(f'a{at - 1}')}, {text})"
    return f"cel.bind(a0, {first}, {text})"


# --- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '(true ? null : quantity("1")).isInteger()',
        'optional.of(null).orValue(quantity("1")).isInteger()',
        '[null, quantity("1")][0].isInteger()',
        '(true ? [null] : [quantity("1")])[0].isInteger()',
        '(true ? {"a": null} : {"a": ip("::")}).a.family()',
        "(true ? null : optional.of(1)).hasValue()",
        "(true ? null : optional.of(1)).value()",
        "(true ? null : optional.of(1)).or(optional.of(2))",
        "(true ? null : optional.of(1)).orValue(2)",
        "(true ? null : optional.of({'a': 1})).?a",
    ],
)
@pytest.mark.parametrize("dialect", Dialect)
def test_a_null_where_a_library_takes_no_null_is_an_error_of_the_language(text, dialect):
    with pytest.raises(EvaluationError):
        evaluate(text, dialect=dialect)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ('true ? {"a": dyn(1)} : {dyn("a"): "x"}', "map(dyn, dyn)"),
        ("[[[dyn(1)], ['x']], [[1], [dyn('x')]]]", "list(list(list(dyn)))"),
        ('true ? [null] : [quantity("1")]', "list(kubernetes.Quantity?)"),
        (
            '[optional.of(null), optional.of(quantity("1"))]',
            "list(optional_type(kubernetes.Quantity?))",
        ),
    ],
)
def test_the_type_of_several_values_is_the_type_of_each(text, type_):
    assert str(compiled(text, dialect=Dialect.CEL).type) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("dyn(['x']).reverse().sum()", "dyn"),
        ("1 + dyn([1Gi]).distinct().sum()", "int"),
        ("cel.bind(l, dyn([1]).distinct(), l == ['a'] || l[0].startsWith('b'))", "bool"),
        ("cel.bind(v, dyn([1])[0], v == 'a' || v.startsWith('b'))", "bool"),
        ("dyn({'a': 1}).?a.orValue('x')", "dyn"),
        ("[].sum()", "int"),
        ("optional.none().orValue('x')", "string"),
    ],
)
def test_what_comes_out_of_a_dyn_is_dyn(text, type_):
    """Nothing later decides what it is: it is there already. What is empty can be of any type."""
    checked = compiled(text)
    assert str(checked.type) == type_
    environment = Environment()
    with suppress(EvaluationError):
        environment.program(checked).evaluate({})


def test_a_type_that_grows_exponentially_is_taken_to_be_dyn():
    assert compiled(bound(40, "{1: 1}", "{{ {0}: {0} }}", "{0}")).type.parts <= MAX_PARTS


def test_variables_that_stand_for_exponentially_large_types_are_compared_in_time():
    names = "".join(f"[].map(x{at}, " for at in range(60))
    pairs = ", ".join(f"x{at + 1} == {{x{at}: x{at}}}" for at in range(59))
    text = f"{names}[{pairs}{', x59 == x58' * 20}]{')' * 60}"
    with pytest.raises(RuleError):
        compiled(text)


def test_a_type_of_many_levels_is_checked():
    deep = "[" * (MAX_PARTS + 10) + "]" * (MAX_PARTS + 10)
    assert compiled(deep).type.parts <= MAX_PARTS
    assert compiled(f"{deep} == {deep}").type == BOOL


# --- work -------------------------------------------------------------------------------------

LONG = bound(19, '"a"', "{0} + {0}", "{0}")  # half a million characters
ALIKE = f'cel.bind(a, {LONG}, cel.bind(b, a + "x" + "z", cel.bind(c, a + "y" + "z", {{}})))'
OFTEN = "lists.range(100000)"


@pytest.mark.parametrize(
    "text",
    [
        f"{OFTEN}.exists(i, b == c)",
        f"{OFTEN}.all(i, dyn(b) != c)",
        f"{OFTEN}.exists(i, b > c)",
        f"{OFTEN}.exists(i, bytes(b) >= bytes(c))",
        f"b in {OFTEN}.map(i, c)",
        f"{OFTEN}.map(i, c).indexOf(b)",
        f"{OFTEN}.exists(i, b.startsWith(c))",
        f"{OFTEN}.exists(i, b.endsWith(c))",
        f"cel.bind(m, {{a: 1}}, {OFTEN}.exists(i, m[a] == 2))",
        f"cel.bind(m, {{a: 1}}, {OFTEN}.exists(i, m[?a] == optional.of(2)))",
        f"cel.bind(m, {{a: 1}}, {OFTEN}.exists(i, !(a in m)))",
        f"{OFTEN}.exists(i, [b] == [c])",
        f"{OFTEN}.exists(i, {{'k': optional.of(b)}} == {{'k': optional.of(c)}})",
    ],
)
def test_comparing_long_texts_is_paid_for(text):
    with pytest.raises(LimitExceeded):
        evaluate(ALIKE.format(text))


@pytest.mark.parametrize(
    "text",
    [
        bound(40, "[1]", "[{0}, {0}]", "{0} == {0}"),
        bound(40, "{'k': 1}", "{{'k': {0}, 'l': {0}}}", "{0} != {0}"),
        bound(22, "optional.of([1])", "optional.of([{0}, {0}])", "{0} == {0}"),
        bound(40, "[1]", "[{0}, {0}]", "{0} in [{0}]"),
        bound(40, "[1]", "[{0}, {0}]", "[{0}].lastIndexOf({0})"),
    ],
)
def test_comparing_values_that_share_their_parts_is_paid_for(text):
    with pytest.raises(LimitExceeded):
        evaluate(text)


@pytest.mark.parametrize(
    "text",
    [
        bound(35, "1 / 0 == 1", "{0} || {0}", "{0}"),
        f"cel.bind(a, {OFTEN}.map(i, [i])[0][5], [1, 2, 3, 4, 5, 6, 7, 8].all(i, a == i))",
    ],
)
def test_a_bound_value_that_fails_is_computed_once(text):
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert not caught.value.final


def lets(text):
    file = parse_file(Source("test", text))
    return {item.name: item for item in file.declarations if isinstance(item, Let)}


def test_a_let_that_fails_is_computed_once():
    chain = "\n".join(f"let a{at + 1} = a{at} || a{at}" for at in range(60))
    with pytest.raises(EvaluationError, match="division by zero"):
        evaluate("a60", lets=lets(f"let a0 = 1 / 0 == 1\n{chain}"))


def test_a_let_that_is_used_twice_is_planned_once():
    chain = "\n".join(f"let a{at + 1} = a{at} - a{at}" for at in range(60))
    assert evaluate("[1].map(x, x + a60)", lets=lets(f"let a0 = 1\n{chain}")) == [1]


# --- depth ------------------------------------------------------------------------------------


def refused(text, **env):
    with pytest.raises(RuleError) as caught:
        compiled(text, **env)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def chain(count, first, step):
    """Write lets of which each uses the one before."""
    rest = "\n".join(step.format(at + 1, at) for at in range(count))
    return lets(f"{first}\n{rest}")


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("a3000", chain(3000, "let a0 = 1", "let a{} = a{}")),
        ("a0 + a500 + a1000 + a1500", chain(1500, "let a0 = 1", "let a{} = a{}")),
        (" + ".join(f"a{at}" for at in range(120)), chain(120, "let a0 = 1", "let a{} = -(-a{})")),
        ("a10(1)", chain(10, "let a0(x) = x", "let a{}(x) = " + "[" * 99 + "a{}(x)" + "]" * 99)),
        ("a3000(1)", chain(3000, "let a0(x) = x", "let a{}(x) = a{}(x)")),
        (
            f"f({', '.join('1' * 500)})",
            lets(f"let f({', '.join(f'a{n}' for n in range(500))}) = 1"),
        ),
        (f"cel.block([{', '.join('1' * 500)}], cel.index(499))", {}),
        (bound(100, "1", "[[[[{0}]]]]", "{0}"), {}),
    ],
)
def test_what_nests_too_deep_when_it_is_evaluated_is_refused(text, declared):
    assert set(refused(text, lets=declared)) == {"E302"}


FORMS = {
    "list": "[{0}]",
    "map": "{{'k': {0}}}",
    "optional element": "[?optional.of({0})]",
    "sum": "[{0}] + []",
    "sum of dyn": "dyn({0}) + 1",
    "text": "{0} + 'x'",
    "sum to the right": "1 + ({0})",
    "choice": "true ? ({0}) : dyn(1)",
    "and": "({0}) && true",
    "or of three": "false || ({0}) || true",
    "not": "!({0})",
    "index": "[{0}][0]",
    "optional index": "{{'k': {0}}}[?'k'].value()",
    "field": "{{'k': {0}}}.k",
    "map macro": "[1].map(x, {0})",
    "filter": "[1].filter(x, {0})",
    "all": "[1].all(x, {0})",
    "exists": "[1].exists(x, i, {0})",
    "transformList": "[1].transformList(i, x, {0})",
    "transformMap": "[1].transformMap(i, x, {0})",
    "transformMapEntry": "[1].transformMapEntry(i, x, {{'k': {0}}})",
    "sortBy": "[1].sortBy(x, {0})",
    "optMap": "optional.of(1).optMap(x, {0})",
    "optFlatMap": "optional.of(1).optFlatMap(x, {0})",
    "bind": "cel.bind(x, {0}, x)",
    "bind inside": "cel.bind(x, 1, {0})",
    "call": "size([{0}])",
    "method": "[{0}].size()",
    "join": "[{0}].join()",
    "format": "'%s'.format([{0}])",
    "orValue": "optional.none().orValue({0})",
    "has": "has({{'k': {0}}}.k)",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", ["1", "'x'", "true", "optional.of(1)"])
def test_what_is_nested_as_deep_as_may_be_is_answered(form, start):
    """Whatever stands in what: a value or one of the language's errors, no other."""
    counts = range(1, MAX_DEPTH)
    deepest = bisect_left(counts, 1, key=lambda count: is_past_limit(nested(form, start, count)))
    text = nested(form, start, counts[deepest - 1])
    environment = Environment()
    for check in (True, False):
        try:
            checked = environment.compile(text, check=check)
            value = environment.program(checked).evaluate({})
        except (RuleError, EvaluationError):
            continue
        assert equal(value, value)
        assert show(value)


def nested(form, start, count):
    text = start
    for _ in range(count):
        text = FORMS[form].format(text)
    return text


def is_past_limit(text):
    try:
        compiled(text)
    except RuleError as error:
        return any(d.code.startswith("E3") for d in error.diagnostics)
    return False


# --- diagnostics ------------------------------------------------------------------------------


def test_an_error_after_many_notes_is_reported():
    """Notes of what is not portable once filled the room for diagnostics."""
    notes = ", ".join(["1Gi"] * (MAX_DIAGNOSTICS + 1))
    assert refused(f"[{notes}] == [] && 1 + 'x' == 2") == ["E204"]


def test_optional_elements_of_an_unknown_type_are_taken():
    assert evaluate("[].map(x, [?x])") == []


# --- time -------------------------------------------------------------------------------------


@pytest.mark.timing
@pytest.mark.parametrize(
    "text",
    [
        " && ".join(["true"] * 29_000),
        " || ".join(["false && false"] * 14_000),
        f"[{', '.join(f'name{at}' for at in range(25_000))}]",
        f"[{', '.join(f'f{at}()' for at in range(14_000))}]",
        f"[{', '.join(['1 == 1'] * 14_000)}]",
        f"[{', '.join(['[]'] * 19_000)}]",
        f"{{{', '.join(['1: [{}]'] * 8_000)}}}",
    ],
)
def test_long_texts_are_answered_in_time_that_grows_with_their_length(text):
    started = perf_counter()
    with suppress(RuleError, EvaluationError):
        evaluate(text)
    assert perf_counter() - started < 10  # quadratic time was a minute


@pytest.mark.timing
@pytest.mark.parametrize(
    "text",
    [
        f"{OFTEN}.map(i, '%f'.format([1e300]))",
        f"cel.bind(l, {OFTEN}.map(i, optional.of(i)), {OFTEN}.map(i, optional.unwrap(l)))",
        (
            f"cel.bind(u, url('/' + {LONG} + 'xz'), cel.bind(v, url('/' + {LONG} + 'yz'),"
            " lists.range(50000).exists(i, u == v)))"
        ),
        f"cel.bind(u, url('http://' + {LONG}), lists.range(50000).exists(i, u.getPort() != ''))",
    ],
)
def test_calls_that_read_long_values_are_paid_for(text):
    started = perf_counter()
    with pytest.raises(LimitExceeded):
        evaluate(text)
    assert perf_counter() - started < 2


@pytest.mark.parametrize("text", [f"{'1' * 2000}Gi", f"-0.{'0' * 2000}1n", f"[{'9' * 1025}m]"])
def test_a_quantity_literal_past_the_limit_is_refused(text):
    assert refused(text) == ["E105"]


def test_faults_in_literals_are_reported_up_to_the_limit():
    assert len(refused(", ".join([r"'\q'"] * 1000).join("[]"))) == MAX_DIAGNOSTICS


@pytest.mark.parametrize("arguments", ["", "[1], 2", "1, 2, 3"])
@pytest.mark.parametrize(
    "call", ['"%s".format({})', '"a".matches({})', '"a".find({})', "duration({})", "timestamp({})"]
)
def test_literal_checks_bear_any_number_of_arguments(call, arguments):
    with pytest.raises(RuleError) as error:
        Environment().compile(call.format(arguments))
    assert {d.code for d in error.value.diagnostics} <= {"E204", "E212"}


@pytest.mark.parametrize(
    "text", ["[1].map(v, v).major()", "{}.transformMap(k, v, v).family()", "(1 == 1).size()"]
)
def test_calls_of_the_wrong_kind_are_errors_where_nothing_is_checked(text):
    env = Environment()
    program = env.program(env.compile(text, check=False))
    with pytest.raises(EvaluationError, match="no such overload"):
        program.evaluate({})


@pytest.mark.parametrize(
    ("selection", "value"),
    [
        ("optional.of({'a': 1}).a", "optional.of(1)"),
        ("optional.of({'a': 1})['a']", "optional.of(1)"),
        ("optional.of({'a': 1}).b", "optional.none()"),
        ("optional.of({'a': 1})[?'b']", "optional.none()"),
        ("optional.of([5])[0]", "optional.of(5)"),
        ("optional.of([5])[1]", "optional.none()"),
        ("optional.none().a.b[0]", "optional.none()"),
    ],
)
def test_what_is_selected_of_an_optional_is_optional_whether_or_not_its_type_is_known(
    selection, value
):
    environment = Environment()
    hidden = selection.replace("optional.", "dyn(optional.", 1).replace(")", "))", 1)
    for text, check in ((selection, True), (selection, False), (hidden, True)):
        checked = environment.compile(text, check=check)
        assert show(environment.program(checked).evaluate({})) == value


def test_the_type_of_opt_flat_map_holds_where_there_is_no_value():
    text = "[1].first().optFlatMap(x, null)"
    assert str(compiled(text).type) == "optional_type(dyn)"
    assert str(compiled(text.replace("null", "optional.of('a')")).type) == "optional_type(string)"
    assert show(evaluate(text.replace("[1]", "[]"))) == "optional.none()"
    with pytest.raises(EvaluationError):
        evaluate(text)
