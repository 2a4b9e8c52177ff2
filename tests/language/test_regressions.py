"""What property tests and fuzzing found, each as the smallest case of its whole kind."""

import pytest

from policyd.language.diagnostics import RuleError
from policyd.language.dialect import Dialect
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
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
