"""What is fuzzed: each target takes bytes and must end in a value or in the language's own errors.

A target raises nothing for any input; whatever escapes from it is a finding.
"""

from collections.abc import Callable

from fuzz.expressions import ExpressionMaker
from fuzz.properties import typed
from policyd.language.decoding import decode
from policyd.language.diagnostics import RuleError
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.formatter import format_source
from policyd.language.parser import parse_expression
from policyd.language.printer import print_expression
from policyd.language.render import render, to_json
from policyd.language.show import show
from policyd.language.show import to_json as value_to_json
from policyd.language.source import Source
from policyd.language.types import parse_type
from policyd.policy.functions import FUNCTIONS
from policyd.policy.load import examine
from policyd.policy.scope import DERIVED, VARIABLES, Objects
from policyd.values.maps import TotalMap
from policyd.values.quantity import Quantity
from policyd.values.times import Duration, Timestamp

Target = Callable[[bytes], None]

_RULES = Environment(variables=VARIABLES, objects=Objects(), functions=FUNCTIONS, derived=DERIVED)
_VALUES = {
    "i": 7,
    "d": -2.5,
    "b": True,
    "s": "worker-Ünï-17",
    "y": b"\xff\x00a",
    "l": [3, 1, 2],
    "t": ["b", "a", ""],
    "m": {"a": 1, "b": 2},
    "n": TotalMap({"zone": "z1"}, None),
    "q": Quantity.parse("1536Mi"),
    "w": Timestamp(1_700_000_000_123_456_789),
    "u": Duration(90_000_000_000),
    "x": {"a": [1, "two", {"b": None}], "c": 1.5},
}
_TYPES = {
    "i": "int",
    "d": "double",
    "b": "bool",
    "s": "string",
    "y": "bytes",
    "l": "list(int)",
    "t": "list(string)",
    "m": "map(string, int)",
    "n": "map(string, string?)",
    "q": "quantity",
    "w": "timestamp",
    "u": "duration",
    "x": "dyn",
}


def parser(data: bytes) -> None:
    """Any bytes as an expression: a tree that prints and reads back the same, or diagnostics."""
    try:
        source = decode("fuzz", data)
        tree = parse_expression(source)
    except RuleError as error:
        _shown(error)
        return
    text = print_expression(tree)
    again = print_expression(parse_expression(Source("again", text)))
    assert again == text, (text, again)


def checker(data: bytes) -> None:
    """Any bytes as an expression of a rule: a type, or diagnostics."""
    try:
        _RULES.check(source := decode("fuzz", data), parse_expression(source))
    except RuleError as error:
        _shown(error)


def interpreter(data: bytes) -> None:
    """An expression that the bytes choose, over values of every kind: a value, or an error."""
    text = ExpressionMaker(data).make()
    env = _environment()
    for check in (True, False):
        try:
            program = env.program(env.compile(text, check=check))
            value = program.evaluate(_VALUES, work=100_000)
        except RuleError as error:
            _shown(error)
        except EvaluationError as error:
            assert error.message
        else:
            show(value)
            value_to_json(value)


def files(data: bytes) -> None:
    """Any bytes as a rule file: rules that format to themselves, or diagnostics."""
    try:
        source = decode("fuzz.expr", data)
    except RuleError as error:
        _shown(error)
        return
    _, found = examine([source])
    for diagnostic in found:
        render(diagnostic)
        to_json(diagnostic)
    try:
        once = format_source(source)
    except RuleError:
        return
    assert format_source(Source("again", once)) == once, once


def _environment() -> Environment:
    return Environment(variables={name: parse_type(text) for name, text in _TYPES.items()})


def _shown(error: RuleError) -> None:
    assert error.diagnostics
    for diagnostic in error.diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(diagnostic.source.text)
        render(diagnostic)
        to_json(diagnostic)


TARGETS: dict[str, Target] = {
    "parser": parser,
    "checker": checker,
    "interpreter": interpreter,
    "typed": typed,
    "files": files,
}
