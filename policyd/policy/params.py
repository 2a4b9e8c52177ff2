"""The typed tunables of a rule set: their defaults and the values that are set for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from policyd.language.diagnostics import Diagnostic, RuleError, Severity
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.source import Source, Span
from policyd.language.suggest import closest
from policyd.language.syntax import Param
from policyd.language.types import (
    DOUBLE,
    INT,
    QUANTITY,
    STRING,
    Kind,
    Type,
    TypeSyntaxError,
    parse_type,
)
from policyd.language.unify import Substitution
from policyd.values.errors import ValueFault
from policyd.values.quantity import Quantity

_CONSTANTS: Final = Environment()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter. `default` is nothing where it has none and must be set."""

    name: str
    type: Type
    default: Any
    has_default: bool
    source: Source
    span: Span


class ParameterError(Exception):
    """A value that cannot be set. The message says which, and what would do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def declare(source: Source, param: Param) -> tuple[Parameter | None, tuple[Diagnostic, ...]]:
    """Check a `param` declaration."""
    found: list[Diagnostic] = []
    declared = _declared_type(source, param, found)
    value, type_ = None, declared
    if param.default is not None:
        value, type_ = _default(source, param, declared, found)
    elif declared is None and not found:
        found.append(
            Diagnostic(
                "E215",
                f"the parameter `{param.name}` has neither a type nor a default",
                source,
                param.name_span,
                helps=(f"write `param {param.name}: int`, or give it a default",),
            )
        )
    if any(d.severity is Severity.ERROR for d in found) or type_ is None:
        return None, tuple(found)
    made = Parameter(param.name, type_, value, param.default is not None, source, param.name_span)
    return made, tuple(found)


def _declared_type(source: Source, param: Param, found: list[Diagnostic]) -> Type | None:
    if param.type_text is None:
        return None
    try:
        declared = parse_type(param.type_text)
    except TypeSyntaxError as error:
        found.append(Diagnostic("E211", error.message, source, param.type_span))
        return None
    unknown = _unknown_part(declared)
    if unknown is None:
        return declared
    near = closest(
        unknown, ("int", "double", "string", "bool", "quantity", "duration", "list", "map")
    )
    found.append(
        Diagnostic(
            "E211",
            f"there is no type `{unknown}` for a parameter",
            source,
            param.type_span,
            helps=(
                f"did you mean `{near}`?"
                if near
                else "a parameter is bool, int, double, string, quantity, duration, timestamp, "
                "or a list or map of those",
            ),
        )
    )
    return None


def _unknown_part(type_: Type) -> str | None:
    known = type_ == QUANTITY or type_.name.startswith("google.protobuf.")
    if type_.kind in (Kind.OBJECT, Kind.PARAM) or (type_.kind is Kind.OPAQUE and not known):
        return type_.name
    return next((u for u in map(_unknown_part, type_.params) if u is not None), None)


def _default(
    source: Source, param: Param, declared: Type | None, found: list[Diagnostic]
) -> tuple[Any, Type | None]:
    """Evaluate a default, which may use nothing but constants and functions."""
    if param.default is None:
        return None, declared
    checked, diagnostics = _CONSTANTS.examine(source, param.default)
    found.extend(diagnostics)
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return None, None
    type_ = declared or checked.type
    try:
        value = _CONSTANTS.program(checked).evaluate({})
    except EvaluationError as error:
        code = "E402" if error.final else "E401"
        found.append(Diagnostic(code, error.message, source, error.span))
        return None, None
    fitted = fit(value, checked.type, type_)
    if fitted is None:
        message = f"the default of `{param.name}` is {checked.type}, not {type_}"
        found.append(Diagnostic("E215", message, source, param.default.span))
        return None, None
    return fitted[0], type_


def fit(value: Any, given: Type, wanted: Type) -> tuple[Any] | None:
    """Give a value as one of the wanted type, where it is one: 1 may stand for 1.0."""
    if given == INT and wanted == DOUBLE:
        return (float(value),)
    if given == INT and wanted == QUANTITY:
        return (Quantity.from_int(value),)
    if given == STRING and wanted == QUANTITY:
        try:
            return (Quantity.parse(value),)
        except ValueFault:
            return None
    return (value,) if Substitution().assignable((given,), (wanted,)) else None


def settle(parameters: Mapping[str, Parameter], texts: Mapping[str, str]) -> Mapping[str, Any]:
    """Give every parameter its value: the text that is set for it, or its default.

    Raises:
        ParameterError: one does not exist, cannot have the value, or has none.
    """
    for name in texts:
        if name not in parameters:
            near = closest(name, parameters)
            known = ", ".join(sorted(parameters)) or "none"
            raise ParameterError(
                f"no rule has a parameter `{name}`",
                f"did you mean `{near}`?" if near else f"the parameters are: {known}",
            )
    settled: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name in texts:
            settled[name] = read(parameter, texts[name])
        elif parameter.has_default:
            settled[name] = parameter.default
        else:
            raise ParameterError(
                f"the parameter `{name}` has no value and no default",
                f"set it with `--set {name}=…`",
            )
    return settled


def read(parameter: Parameter, text: str) -> Any:
    """Read the text that is set for a parameter: an expression, or for a string just its text.

    Raises:
        ParameterError: it is no value of the parameter's type.
    """
    if parameter.type == STRING and text[:1] not in ('"', "'"):
        return text
    try:
        checked = _CONSTANTS.compile(text, f"--set {parameter.name}")
        value = _CONSTANTS.program(checked).evaluate({})
    except (RuleError, EvaluationError) as error:
        raise ParameterError(
            f"`{text}` is no value for `{parameter.name}`: {_reason(error)}",
            f"it must be {parameter.type}",
        ) from None
    fitted = fit(value, checked.type, parameter.type)
    if fitted is None:
        raise ParameterError(
            f"`{text}` is {checked.type}, and `{parameter.name}` is {parameter.type}",
            f"give a value of type {parameter.type}",
        )
    return fitted[0]


def _reason(error: RuleError | EvaluationError) -> str:
    return error.diagnostics[0].message if isinstance(error, RuleError) else error.message
