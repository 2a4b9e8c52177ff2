"""`policyd eval RULE...`: what rules say of pods on the nodes of a cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from policyd.cli.failure import UNUSABLE, Failure
from policyd.cli.inputs import Inputs, View, read_inputs
from policyd.cli.notices import print_note
from policyd.cli.output import print_data
from policyd.cli.report import counts_in_words, print_diagnostics
from policyd.cli.request import Request
from policyd.cli.rule_files import one_set, read_sources
from policyd.cli.verdicts import print_choice
from policyd.language.diagnostics import Diagnostic, RuleError, Severity
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.policy.decide import Decision, decide
from policyd.policy.devices import Choice, with_devices
from policyd.policy.load import load
from policyd.policy.params import ParameterError
from policyd.policy.record import DecisionData, as_data
from policyd.policy.recording import decision_data, ruleset_data
from policyd.policy.ruleset import Ruleset


def evaluate_rules(
    paths: Sequence[str], settings: Mapping[str, str], request: Request, output: str
) -> int:
    """Decide for each pod, print what was decided, and give the exit status.

    Raises:
        Failure: the input cannot be used.
    """
    ruleset = load_rules(paths, settings)
    if ruleset is None:
        return UNUSABLE
    _note_findings(ruleset, paths)
    inputs = read_inputs(request, needs_pods=True, needs_nodes=True)
    choices = _choices(ruleset, inputs)
    if output == "table":
        fits = _print_text(choices)
    else:
        fits = _print_data(choices, ruleset, inputs, output)
    return 0 if fits else 1


def load_rules(paths: Sequence[str], settings: Mapping[str, str]) -> Ruleset | None:
    """Compile the rules; where they are wrong, print why and give nothing."""
    sources, unreadable = read_sources(one_set(paths))
    errors: tuple[Diagnostic, ...] = tuple(unreadable)
    ruleset = None
    try:
        ruleset = load(sources, settings)
    except RuleError as error:
        errors += error.diagnostics
    except ParameterError as error:
        raise Failure(error.message, "--set", error.remedy) from None
    print_diagnostics(errors, "stderr")
    return None if errors else ruleset


def _note_findings(ruleset: Ruleset, paths: Sequence[str]) -> None:
    """Say that there is something to be seen with `policyd check`, or nothing to be decided."""
    warnings = [d for d in ruleset.findings if d.severity is Severity.WARNING]
    if warnings:
        print_note(f"{counts_in_words(warnings)}: see `policyd check {' '.join(paths)}`")
    if not ruleset.rules:
        print_note("there is no `rule` in these files, so that every node fits alike")


def _choices(ruleset: Ruleset, inputs: Inputs) -> Iterator[Choice]:
    """Decide for one pod after the other, each as if it were the only one."""
    for pod in inputs.pods:
        yield _choice(ruleset, pod, inputs.view(pod))


def _choice(ruleset: Ruleset, pod: Pod, view: View) -> Choice:
    def on(nodes: Sequence[Node]) -> Decision:
        return decide(ruleset, pod, view.snapshot, nodes)

    return with_devices(on(view.nodes), view.snapshot, on, view.nodes)


def _in_full(choice: Choice) -> DecisionData:
    return decision_data(choice.decision, taken=choice.taken, refused=choice.refused, full=True)


def _print_text(choices: Iterable[Choice]) -> bool:
    """Print decisions, and say whether every pod fits somewhere."""
    fits = True
    for at, choice in enumerate(choices):
        if at:
            click.echo()
        print_choice(choice)
        fits = fits and choice.decision.fits
    return fits


def _print_data(choices: Iterable[Choice], ruleset: Ruleset, inputs: Inputs, output: str) -> bool:
    made = list(choices)
    data = {
        "ruleset": as_data(ruleset_data(ruleset)),
        "nodesFrom": inputs.origin,
        "decisions": [as_data(_in_full(choice)) for choice in made],
    }
    print_data(data, output)
    return all(choice.decision.fits for choice in made)
