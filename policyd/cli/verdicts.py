"""Shows a decision to people: a table of nodes and rules, and why a node is rejected."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import click

from policyd.cli.notices import names
from policyd.cli.report import in_words, of_error, print_diagnostics
from policyd.cli.table import Cell, Column, draw
from policyd.cli.terminal import columns, is_terminal, painted, signs, wants_colour
from policyd.language.cells import visible
from policyd.language.errors import EvaluationError
from policyd.language.source import Source
from policyd.model.devices import Taken
from policyd.policy.decide import Decision, NodeVerdict, RuleVerdict
from policyd.policy.devices import REASON, Choice
from policyd.policy.record import ShadowData
from policyd.policy.recording import shadow_data
from policyd.policy.ruleset import Rule

_ERROR: Final = "!"
_CLAMPED: Final = "*"
_MOST_REASONS: Final = 6


def print_choice(choice: Choice) -> None:
    """Print what was decided for a pod, and the devices that it takes."""
    decision = choice.decision
    colour = wants_colour("stdout")
    first = headline(decision) + _devices(choice.taken)
    click.echo(painted(visible(first), "bold", colour=colour), color=colour)
    if reasons := histogram(decision):
        click.echo(visible(reasons))
    if choice.refused:
        click.echo(f"left out: {in_words(choice.refused, 'node')}, {REASON}")
    click.echo()
    width = columns("stdout") if is_terminal("stdout") else None
    click.echo(_table(decision, width=width, colour=colour), color=colour)
    for line in _legend(decision):
        click.echo(line)
    _print_shadow(decision, colour=colour)
    for lines, nodes in _explanations(decision).items():
        click.echo()
        for text, style in ((visible(names(nodes)), "bold"), *lines):
            click.echo(painted(text, style, colour=colour), color=colour)
    errors = list(_errors(decision))
    if errors:
        click.echo()
        print_diagnostics(
            (of_error(each.error, each.source, each.note(len(decision.nodes))) for each in errors),
            "stdout",
        )


def headline(decision: Decision) -> str:
    """Say in a line what was decided."""
    pod, count = decision.pod, len(decision.nodes)
    title = f"pod {pod.namespace}/{pod.name}"
    if pod.workload:
        title += f" (of the {pod.workload})"
    nodes = "1 node" if count == 1 else f"{count:,} nodes"
    if decision.chosen is None:
        return f"{title}: fits none of {nodes}"
    fitting = sum(verdict.fits for verdict in decision.nodes)
    return f"{title}: fits {fitting:,} of {nodes}, best on {decision.chosen.name}"


def _devices(taken: Taken) -> str:
    """Say which devices of the node are taken."""
    named = (f"{resource} {', '.join(map(str, at))}" for resource, at in taken.items())
    return "".join(f"; takes {text}" for text in named)


def histogram(decision: Decision) -> str:
    """Count the reasons for which nodes are rejected, as the scheduler's events do."""
    counts = Counter(
        reason
        for node in decision.nodes
        for reason in {r for v in node.verdicts if v.rejects for r in v.reasons}
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    listed = names((f"{count:,} {reason}" for reason, count in ordered), most=_MOST_REASONS)
    return f"rejected: {listed}" if listed else ""


def number(value: float) -> str:
    """Write a score with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


# --- the table ---


def _table(decision: Decision, *, width: int | None, colour: bool) -> str:
    heads = [Column("NODE"), Column("FITS"), Column("TOTAL", is_number=True)]
    heads += [Column(_heading(rule), is_number=True) for rule in decision.ruleset.rules]
    rows = [_row(verdict) for verdict in decision.nodes]
    return draw(heads, rows, width=width, colour=colour)


def _heading(rule: Rule) -> str:
    return f"{rule.name} (shadow)" if rule.shadow else rule.name


def _row(verdict: NodeVerdict) -> list[Cell]:
    fits = Cell("yes", "green") if verdict.fits else Cell("no", "red")
    total = Cell("" if verdict.total is None else number(verdict.total))
    return [Cell(verdict.name), fits, total, *(_cell(each) for each in verdict.verdicts)]


def _cell(verdict: RuleVerdict) -> Cell:
    """Show a rule's verdict; of a score that was not needed, nothing."""
    known = signs()
    mark = _ERROR if verdict.errors else ""
    if not verdict.applies:
        return Cell(known.absent, "dim")
    if verdict.rejections:
        return Cell(known.rejects + mark, "red")
    if verdict.score is not None:
        clamped = _CLAMPED if any(score.clamped for score in verdict.scores) else ""
        return Cell(number(verdict.score) + clamped + mark, "yellow" if mark else "plain")
    return Cell(known.met if verdict.rule.requirements else "", "green")


def _legend(decision: Decision) -> Iterator[str]:
    """Explain the signs that the table has and that do not explain themselves."""
    verdicts = [each for node in decision.nodes for each in node.verdicts]
    meanings = [
        (any(each.errors for each in verdicts), f"{_ERROR} could not be evaluated"),
        (
            any(score.clamped for each in verdicts for score in each.scores),
            f"{_CLAMPED} was outside 0 to 100 and is cut off",
        ),
        (
            any(rule.shadow for rule in decision.ruleset.rules),
            "(shadow) is evaluated and changes nothing",
        ),
    ]
    shown = [meaning for is_there, meaning in meanings if is_there]
    if shown:
        yield ""
        yield from shown


# --- shadow mode ---


def _print_shadow(decision: Decision, *, colour: bool) -> None:
    found = shadow_data(decision)
    if not found:
        return
    click.echo()
    node = decision.node.name if decision.node else None
    for text, style in shadow_lines(found, node, decision.considered):
        click.echo(painted(visible(text), style, colour=colour), color=colour)


def shadow_lines(
    found: Sequence[ShadowData], node: str | None, considered: int
) -> Iterator[tuple[str, str]]:
    """Say of each block in shadow mode what it would have changed; lines with their styles.

    `node` is the one that was taken, of those `considered`.
    """
    yield "in shadow mode, so that it changed nothing:", "bold"
    for each in found:
        title = each.name if each.name == each.block else f"{each.block} {each.name}"
        told = f"{title}: {_instead(each, node)}{_counted(each, considered)}"
        yield f"  {told}", "yellow" if each.disagrees else "plain"


def _counted(shadow: ShadowData, considered: int) -> str:
    counts = []
    if shadow.rejected:
        counts.append(f"rejects {shadow.rejected:,} of {in_words(considered, 'node')}")
    if shadow.errors:
        counts.append(f"cannot be evaluated on {shadow.errors:,}")
    return f" ({', '.join(counts)})" if counts else ""


def _instead(shadow: ShadowData, node: str | None) -> str:
    if not shadow.disagrees:
        return "agrees"
    if shadow.node is None:
        return f"disagrees, and would have taken no node, not {node}"
    if shadow.node != node:
        return f"disagrees, and would have taken {shadow.node}, not {node}"
    devices = "; ".join(f"{name} {', '.join(map(str, at))}" for name, at in shadow.devices.items())
    return f"disagrees, and would have taken {devices} of the same node"


# --- why not ---


Lines = tuple[tuple[str, str], ...]
"""Lines of text, each with its style."""


def _explanations(decision: Decision) -> Mapping[Lines, list[str]]:
    """Explain the nodes on which a rule rejects, those with the same explanation together."""
    explained: dict[Lines, list[str]] = {}
    for node in decision.nodes:
        lines = tuple(_lines(node))
        if lines:
            explained.setdefault(lines, []).append(node.name)
    return explained


def _lines(node: NodeVerdict) -> Iterator[tuple[str, str]]:
    """Say why a node is rejected: the reasons, and the values that decided."""
    for verdict in node.verdicts:
        style = "yellow" if verdict.rule.shadow else "red"
        for rejection in verdict.rejections:
            for reason in rejection.reasons:
                said = visible(f"{_heading(verdict.rule)}: {reason}")
                yield f"  {signs().rejects} {said}", style
            for finding in rejection.findings:
                text = f"{finding.text} = " if finding.text else ""
                yield f"      {visible(text + finding.value)}", "plain"


# --- errors ---


@dataclass(frozen=True, slots=True)
class _RuleFault:
    """An error of a rule, and the nodes on which it comes up."""

    rule: Rule
    error: EvaluationError
    source: Source
    nodes: list[str] = field(default_factory=list)

    def note(self, of: int) -> str:
        """Say where it comes up."""
        count = len(self.nodes)
        where = f"on {count:,} of {of:,} nodes" if of > 1 else "on the node"
        return f"in the rule `{self.rule.name}`, {where}: {names(self.nodes)}"


def _errors(decision: Decision) -> Iterator[_RuleFault]:
    """Give each error once, with all its nodes."""
    found: dict[object, _RuleFault] = {}
    for node in decision.nodes:
        for verdict in node.verdicts:
            for error, source in _errors_of(verdict):
                key = (verdict.rule.name, error.span, error.message)
                fault = found.setdefault(key, _RuleFault(verdict.rule, error, source))
                if node.name not in fault.nodes[-1:]:
                    fault.nodes.append(node.name)
    yield from found.values()


def _errors_of(verdict: RuleVerdict) -> Iterator[tuple[EvaluationError, Source]]:
    for rejection in verdict.rejections:
        if rejection.error is not None:
            yield rejection.error, rejection.expression.source
    for score in verdict.scores:
        if score.error is not None:
            yield score.error, verdict.rule.source
