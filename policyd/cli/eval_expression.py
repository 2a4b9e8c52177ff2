"""`policyd eval -e`: the value of one expression, once or for each node and pod that it reads.

What the expression does not need is not imported: the model and the readers of manifests come
with the first name that is about Kubernetes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from policyd.cli.assignments import Bound
from policyd.cli.failure import UNUSABLE
from policyd.cli.report import of_error, print_diagnostics
from policyd.cli.request import Request
from policyd.cli.terminal import columns, is_terminal, wants_colour
from policyd.language.cells import visible
from policyd.language.diagnostics import RuleError, Severity
from policyd.language.environment import Checked, Environment
from policyd.language.equality import type_value
from policyd.language.errors import EvaluationError
from policyd.language.show import show, to_json
from policyd.language.types import Kind

if TYPE_CHECKING:
    from policyd.cli.inputs import Inputs
    from policyd.model.pod import Pod

NAME: Final = "<expression>"
"""What diagnostics call the text of `-e`."""

_PODS_NAMES: Final = frozenset({"pod", "namespace"})
_CLUSTERS_NAMES: Final = frozenset({"node", "cluster", "now"})


@dataclass(frozen=True, slots=True)
class Result:
    """What the expression gives: for a pod and on a node, where it reads them."""

    pod: str | None
    node: str | None
    value: Any = None
    error: EvaluationError | None = None


def evaluate_expression(
    text: str, bindings: Mapping[str, Bound], request: Request, output: str
) -> int:
    """Evaluate an expression, print what it gives, and give the exit status.

    Raises:
        Failure: the input cannot be used.
    """
    try:
        checked = _compile(text, bindings, request)
    except RuleError as error:
        print_diagnostics(error.diagnostics, "stderr")
        return UNUSABLE
    _print_warnings(checked)
    results = list(_evaluate(checked, bindings, request))
    if output == "table":
        _print_text(checked, results)
    else:
        _print_data(checked, results, output)
    return 1 if any(result.error is not None for result in results) else 0


# --- compiling ---


def _compile(text: str, bindings: Mapping[str, Bound], request: Request) -> Checked:
    """Compile with the bound names alone; where that is not enough, with the objects' too."""
    own = {name: bound.type for name, bound in bindings.items()}
    try:
        return Environment(variables=own).compile(text, NAME)
    except RuleError:
        return _environment(bindings, request).compile(text, NAME)


def _environment(bindings: Mapping[str, Bound], request: Request) -> Environment:
    """Give all names that an expression may use with this input."""
    from policyd.policy.functions import FUNCTIONS  # noqa: PLC0415 - the module says why
    from policyd.policy.scope import DERIVED, VARIABLES, Objects  # noqa: PLC0415 - as above

    absent = _absent(VARIABLES, request)
    known = {name: type_ for name, type_ in VARIABLES.items() if name not in absent}
    own = {name: bound.type for name, bound in bindings.items()}
    return Environment(
        variables={**known, **own},
        functions=FUNCTIONS,
        objects=Objects(),
        unavailable={name: why for name, why in absent.items() if name not in own},
        derived=DERIVED,
    )


def _absent(variables: Mapping[str, Any], request: Request) -> dict[str, str]:
    """Say of each name that rules have and this expression has not why it has none."""
    absent = {
        name: f"`{name}` belongs to rules; give it a value with `--bind {name}=…`"
        for name in variables
        if name not in _PODS_NAMES | _CLUSTERS_NAMES
    }
    if not request.pod:
        absent["pod"] = "there is no `pod` here: give one with `--pod FILE`"
        if request.namespace is None:
            absent["namespace"] = (
                "there is no `namespace` here: give one with `--namespace NAME` or `--pod FILE`"
            )
    return absent


def _print_warnings(checked: Checked) -> None:
    warnings = [d for d in checked.findings if d.severity is Severity.WARNING]
    print_diagnostics(warnings, "stderr")


# --- evaluating ---


def _evaluate(
    checked: Checked, bindings: Mapping[str, Bound], request: Request
) -> Iterator[Result]:
    program = Environment().program(checked)

    def run(values: Mapping[str, Any], pod: str | None = None, node: str | None = None) -> Result:
        try:
            return Result(pod, node, program.evaluate(values))
        except EvaluationError as error:
            return Result(pod, node, error=error)

    own = {name: bound.value for name, bound in bindings.items()}
    reads = checked.variables - own.keys()
    if not reads and not request.names_files:
        yield run(own)
        return
    for values, pod, node in _situations(reads, request):
        yield run({**values, **own}, pod, node)


def _situations(
    reads: frozenset[str], request: Request
) -> Iterator[tuple[dict[str, Any], str | None, str | None]]:
    """Give the names' values for each pod and each node that there are to evaluate for."""
    from policyd.cli.inputs import read_inputs  # noqa: PLC0415 - the module says why

    needs_nodes = bool(reads & {"node", "cluster"})
    inputs = read_inputs(request, needs_pods="pod" in reads, needs_nodes=needs_nodes)
    pods: Sequence[Pod | None] = inputs.pods if reads & _PODS_NAMES and inputs.pods else (None,)
    for pod in pods:
        view = inputs.view(pod if needs_nodes else None)
        values: dict[str, Any] = {"cluster": view.snapshot.surveyed, "now": view.snapshot.now}
        title = None
        if pod is not None:
            values["pod"] = pod
            title = f"{pod.namespace}/{pod.name}" if len(pods) > 1 else None
        values["namespace"] = _namespace(inputs, pod, request)
        if "node" not in reads:
            yield values, title, None
            continue
        for node in view.nodes:
            yield {**values, "node": node}, title, node.name


def _namespace(inputs: "Inputs", pod: "Pod | None", request: Request) -> Any:
    name = pod.namespace if pod is not None else request.namespace or "default"
    return inputs.snapshot.namespace(name)


# --- printing ---


def _type_text(checked: Checked, value: Any) -> str:
    """Give the expression's type; where only its value tells, the value's."""
    if checked.type.kind is Kind.DYN:
        return type_value(value).name
    return str(checked.type)


def _print_text(checked: Checked, results: Sequence[Result]) -> None:
    if len(results) == 1 and results[0].node is None and results[0].pod is None:
        (only,) = results
        if only.error is None:
            value = visible(show(only.value, full=True))
            click.echo(f"{value} : {_type_text(checked, only.value)}")
    else:
        _print_table(checked, results)
    _print_errors(checked, results)


def _print_table(checked: Checked, results: Sequence[Result]) -> None:
    from policyd.cli.table import Cell, Column, draw  # noqa: PLC0415 - only for many results

    has_pods = any(result.pod is not None for result in results)
    has_nodes = any(result.node is not None for result in results)
    heads = [name for name, has in (("POD", has_pods), ("NODE", has_nodes)) if has]
    rows = []
    for result in results:
        row = [Cell(name) for name in (result.pod, result.node) if name is not None]
        if result.error is not None:
            row += [Cell("error", "red"), Cell("")]
        else:
            row += [Cell(show(result.value)), Cell(_type_text(checked, result.value), "dim")]
        rows.append(row)
    colour = wants_colour("stdout")
    width = columns("stdout") if is_terminal("stdout") else None
    made = [Column(head) for head in (*heads, "VALUE", "TYPE")]
    click.echo(draw(made, rows, width=width, colour=colour), color=colour)


def _print_errors(checked: Checked, results: Sequence[Result]) -> None:
    """Print each error once, and say where it comes up."""
    alike: dict[tuple[Any, str], list[Result]] = {}
    errors: dict[tuple[Any, str], EvaluationError] = {}
    for result in results:
        if result.error is not None:
            likeness = (result.error.span, result.error.message)
            errors.setdefault(likeness, result.error)
            alike.setdefault(likeness, []).append(result)
    print_diagnostics(
        (
            of_error(error, checked.source, *_where(alike[likeness], len(results)))
            for likeness, error in errors.items()
        ),
        "stderr",
    )


def _where(same: Sequence[Result], of: int) -> tuple[str, ...]:
    from policyd.cli.notices import names  # noqa: PLC0415 - only where something is wrong

    places = [" on ".join(part for part in (r.pod, r.node) if part) for r in same]
    if not any(places):
        return ()
    return (f"this comes up for {len(same):,} of {of:,}: {names(places)}",)


def _print_data(checked: Checked, results: Sequence[Result], output: str) -> None:
    from policyd.cli.output import print_data  # noqa: PLC0415 - only where it is asked for

    print_data({"results": [_as_data(checked, result) for result in results]}, output)


def _as_data(checked: Checked, result: Result) -> dict[str, Any]:
    where = {"pod": result.pod, "node": result.node}
    data: dict[str, Any] = {name: value for name, value in where.items() if value is not None}
    if result.error is not None:
        from policyd.language.render import to_json as as_json  # noqa: PLC0415 - only here

        return {**data, "error": as_json(of_error(result.error, checked.source))}
    return {**data, "value": to_json(result.value), "type": _type_text(checked, result.value)}
