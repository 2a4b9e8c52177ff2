"""What holds for every expression, whatever it is made of and whatever values it meets."""

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from policyd.language import typed as ir
from policyd.language.checked import Checked
from policyd.language.diagnostics import RuleError, Severity
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.formatter import format_expression
from policyd.language.macros import MACROS
from policyd.language.parser import parse_expression
from policyd.language.printer import print_expression
from policyd.language.show import show, to_json
from policyd.language.source import Source
from policyd.language.syntax import Call, Expr, Index, Logical, Name, Parens, Select
from policyd.language.types import BOOL, Kind, Type
from policyd.language.unify import Substitution
from policyd.values.maps import decode_key
from policyd.values.optional import Optional
from policyd.values.quantity import Quantity
from tests.language import strategies as untyped
from tests.language.strategies import exact, strip_parens
from tests.language.typed_strategies import (
    ENVIRONMENT,
    OVERLOADS,
    TYPES,
    calls_of,
    expressions,
    mutated,
    nodes,
    swapped,
)
from tests.language.typed_values import TOTAL, VARIABLES, bindings, conforms, copied, same

OFTEN = settings(max_examples=max(400, settings.default.max_examples))


def compiled(tree: Expr, environment: Environment = ENVIRONMENT, *, check: bool = True) -> Checked:
    return environment.compile(print_expression(tree), check=check)


def compiled_or_passed(tree: Expr) -> Checked:
    """Compile; what the checker refuses is not looked at further."""
    try:
        return compiled(tree)
    except RuleError:
        assume(False)
        raise


def drawn_for(checked: Checked, data: st.DataObject) -> dict[str, Any]:
    """Draw a value for each variable that an expression uses."""
    return data.draw(bindings(checked.variables))


class Outcome:
    """The value of an evaluation, or the language's error; anything else is raised."""

    def __init__(
        self, checked: Checked, values: Mapping[str, Any], environment: Environment = ENVIRONMENT
    ) -> None:
        self.value: Any = None
        self.error: EvaluationError | None = None
        try:
            self.value = environment.program(checked).evaluate(values)
        except EvaluationError as error:
            self.error = error

    def __repr__(self) -> str:
        return f"error: {self.error}" if self.error else f"{self.value!r}"

    def same_as(self, other: "Outcome") -> bool:
        """Say whether both are the same value, or both are errors."""
        if self.error is None or other.error is None:
            return self.error is other.error and same(self.value, other.value)
        return True

    def exactly_as(self, other: "Outcome") -> bool:
        if self.error is None or other.error is None:
            return self.same_as(other)
        return type(self.error) is type(other.error) and self.error.args == other.error.args


# --- the text ---------------------------------------------------------------------------------


@given(expressions())
def test_what_is_printed_reads_back_as_itself(tree):
    again = parse_expression(Source("test", print_expression(tree)))
    assert exact(strip_parens(again)) == exact(strip_parens(tree))


@given(expressions())
def test_formatting_keeps_the_meaning_and_is_done_once(tree):
    text = print_expression(tree)
    once = format_expression(Source("test", text))
    again = parse_expression(Source("test", once))
    assert exact(strip_parens(again)) == exact(strip_parens(tree))
    assert format_expression(Source("test", once)) == once


# --- types and values -------------------------------------------------------------------------


@OFTEN
@given(st.data(), st.sampled_from(TYPES))
def test_what_is_drawn_well_typed_is_accepted_with_its_type(data, type_):
    tree = data.draw(expressions(type_, certain=True))
    found = compiled(tree).type
    assert Substitution().assignable((found,), (type_,), lenient=True)


@OFTEN
@given(expressions(), st.data())
def test_a_value_is_of_the_type_that_the_checker_gives(tree, data):
    checked = compiled_or_passed(tree)
    outcome = Outcome(checked, drawn_for(checked, data))
    assert outcome.error is not None or conforms(outcome.value, checked.type)


@given(expressions(depth=4), st.data())
def test_evaluating_changes_nothing_and_gives_the_same_again(tree, data):
    checked = compiled_or_passed(tree)
    values = drawn_for(checked, data)
    before = copied(values)
    first = Outcome(checked, values)
    kept = copied(first.value)
    assert first.exactly_as(Outcome(checked, values))
    assert first.exactly_as(Outcome(compiled(tree), copied(values)))
    assert same(values, before)
    assert same(first.value, kept)


@pytest.mark.parametrize("id_", OVERLOADS)
@settings(max_examples=max(3, settings.default.max_examples // 40))
@given(data=st.data())
def test_each_overload_is_reached_and_gives_what_it_says(id_, data):
    tree = data.draw(calls_of(*OVERLOADS[id_]))
    checked = compiled(tree)
    root = checked.root.body if isinstance(checked.root, ir.Bind) else checked.root  # of sortBy
    assert id_ in [overload.id for overload in root.overloads]
    outcome = Outcome(checked, drawn_for(checked, data))
    assert outcome.error is not None or conforms(outcome.value, checked.type)


@given(expressions(), st.data())
def test_values_can_be_shown(tree, data):
    checked = compiled_or_passed(tree)
    value = Outcome(checked, drawn_for(checked, data)).value
    assert show(value, full=True)
    assert show(value) in show(value, full=True) or "…" in show(value)
    to_json(value)


# --- agreement --------------------------------------------------------------------------------


def is_portable(checked: Checked) -> bool:
    return all(found.code != "N601" for found in checked.findings)


@OFTEN
@given(expressions(), st.data())
def test_without_types_there_is_the_same_value_or_an_error(tree, data):
    """Unchecked calls are settled by the values alone."""
    checked = compiled_or_passed(tree)
    assume(is_portable(checked))
    values = drawn_for(checked, data)
    outcome = Outcome(checked, values)
    unchecked = Outcome(compiled(tree, check=False), values)
    assert outcome.same_as(unchecked) or sums_of_nothing(tree)


def sums_of_nothing(tree: Expr) -> bool:
    """Say whether a sum may be of an empty list, which is zero of the type that is known."""
    return any(isinstance(node, Call) and node.name == "sum" for node in nodes(tree))


@given(st.lists(expressions(BOOL, depth=2), min_size=2, max_size=4), st.data())
def test_the_order_of_operands_decides_only_which_error_it_is(operands, data):
    values = drawn_for(compiled_or_passed(Logical("&&", tuple(operands))), data)
    shuffled = data.draw(st.permutations(operands))
    for op in ("&&", "||"):
        outcomes = []
        for operands_ in (operands, shuffled):
            tree = Logical(op, tuple(operands_))
            outcomes.append(Outcome(compiled_or_passed(tree), values))
        limited = any(outcome.error and outcome.error.final for outcome in outcomes)
        assert limited or outcomes[0].same_as(outcomes[1])


def names_of(tree: Expr) -> list[Name]:
    return [node for node in nodes(tree) if isinstance(node, Name)]


@given(expressions(), st.data())
def test_a_literal_in_the_place_of_a_name_gives_the_same(tree, data):
    """What is computed before there are values is what would be computed with them."""
    checked = compiled_or_passed(tree)
    values = drawn_for(checked, data)
    names = [name for name in names_of(tree) if is_replaceable(name, tree, values)]
    assume(names)
    name = data.draw(st.sampled_from(names))
    literal = parse_expression(Source("test", written(values[name.name])))
    changed = swapped(tree, name, Parens(literal))
    again, found = ENVIRONMENT.examine(Source("test", ""), changed)
    errors = {d.code for d in found if d.severity is Severity.ERROR}
    assert errors <= {"E208", "E209"}  # a literal that its call can never take
    assert errors or Outcome(checked, values).same_as(Outcome(again, values))


def written(value: Any) -> str:
    """Write the expression that gives a value; `show` does not tell a quantity from a number."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        pairs = (f"{show(decode_key(key), full=True)}: {written(it)}" for key, it in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Optional):
        return f"optional.of({written(value.value)})"
    return f'quantity("{value}")' if isinstance(value, Quantity) else show(value, full=True)


def is_replaceable(name: Name, tree: Expr, values: Mapping[str, Any]) -> bool:
    """Say whether a name is a variable's whose value can be written as a literal of its type."""
    hidden = {
        arg.name
        for call in nodes(tree)
        if isinstance(call, Call)
        for arg in call.args
        if isinstance(arg, Name)
    }
    known = VARIABLES.get(name.name)
    if known is None or name.name in TOTAL or name.name in hidden:
        return False
    value = values[name.name]
    return is_writable(known) and not has_empty(value) and is_spelled_alike(value)


def is_spelled_alike(value: Any) -> bool:
    """Say whether quantities print as they were written, which some of their methods tell."""
    if isinstance(value, list):
        return all(map(is_spelled_alike, value))
    if isinstance(value, dict):
        return all(map(is_spelled_alike, value.values()))
    if isinstance(value, Optional):
        return is_spelled_alike(value.value)
    if not isinstance(value, Quantity):
        return True
    again = Quantity.parse(str(value))
    return (value.narrow, value.exponent) == (again.narrow, again.exponent)


def is_writable(type_: Type) -> bool:
    if type_.kind in (Kind.DYN, Kind.OBJECT, Kind.NULLABLE) or type_.name in (
        "kubernetes.NamedFormat",
        "net.IP",
    ):
        return False
    return all(map(is_writable, type_.params))


def has_empty(value: Any) -> bool:
    """Say whether a value has a list, a map or an optional in it that is empty."""
    if isinstance(value, list):
        return not value or any(map(has_empty, value))
    if isinstance(value, dict):
        return not value or any(map(has_empty, value.values()))
    return getattr(value, "present", True) is False


# --- what is wrong ----------------------------------------------------------------------------


def assert_refused_properly(error: RuleError, text: str) -> None:
    errors = [d for d in error.diagnostics if d.severity is Severity.ERROR]
    assert errors
    for found in error.diagnostics:
        assert 0 <= found.span.start <= found.span.end <= len(text)
        assert found.message


@OFTEN
@given(mutated(), st.data())
def test_what_is_ill_typed_is_refused_with_its_place(tree, data):
    text = print_expression(tree)
    try:
        checked = ENVIRONMENT.compile(text)
    except RuleError as error:
        assert_refused_properly(error, text)
        return
    outcome = Outcome(checked, drawn_for(checked, data))
    assert outcome.error is not None or conforms(outcome.value, checked.type)


@given(untyped.expressions(depth=4))
def test_any_tree_is_accepted_or_refused(tree):
    text = print_expression(tree)
    for check in (True, False):
        try:
            checked = ENVIRONMENT.compile(text, check=check)
        except RuleError as error:
            assert_refused_properly(error, text)
            continue
        Outcome(checked, dict.fromkeys(checked.variables))


def test_what_is_drawn_reaches_every_macro_and_every_form():
    """Whatever is written in the language is among what the other tests are about."""
    seen: set[object] = set()

    @settings(max_examples=1500, derandomize=True, database=None, phases=[Phase.generate])
    @given(expressions())
    def collect(tree):
        for node in nodes(tree):
            seen.add(type(node))
            if isinstance(node, Call):
                seen.add(node.name)
            seen.update(part.optional for part in getattr(node, "entries", ()))
            seen.update(("element", part.optional) for part in getattr(node, "elements", ()))
            if isinstance(node, Index | Select):
                seen.add((type(node), node.optional))

    collect()
    inner = {"block", "index", "iterVar"}  # of `cel`, which nobody writes
    assert {name.rpartition(".")[2] for name, _ in MACROS} - inner <= seen
    assert set(get_args(Expr)) <= seen
    forms = [(form, optional) for form in (Index, Select, "element") for optional in (True, False)]
    assert {*forms, True, False} <= seen
