"""Shows the record of a decision to people: what was decided, why, and what would change it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import click

from policyd.cli.failure import Failure
from policyd.cli.notices import names
from policyd.cli.output import print_data
from policyd.cli.record_sources import Server, read_record
from policyd.cli.report import in_words
from policyd.cli.table import Cell, Column, draw
from policyd.cli.terminal import columns, is_terminal, painted, signs, wants_colour
from policyd.cli.verdicts import number, shadow_lines
from policyd.language.cells import visible
from policyd.language.suggest import closest
from policyd.policy.record import (
    COMPARED,
    DecisionData,
    Group,
    NeedData,
    NodeData,
    Record,
    RejectionData,
    ScoreData,
    VerdictData,
    as_data,
)

Line = tuple[str, str]
"""A line of text, and its style."""

_MOST_CHANGES: Final = 3
"""For how many groups of nodes it is said what would have let the pod fit."""

_COMPARED: Final = 4
"""How many nodes stand side by side."""

_FRACTION: Final = re.compile(r"(\.\d{3})\d+")
_FREE: Final = re.compile(r'node\.free(?:\["([^"]+)"\]|\.(\w+))')


def explain_pod(pod: str, source: str | Server, node: str | None, output: str) -> int:
    """Print the last decision for a pod, and give the exit status.

    Raises:
        Failure: there is none, or it cannot be read.
    """
    namespace, name = _parts(pod)
    record = read_record(namespace, name, source, () if node is None else (node,))
    verdict = None if node is None else _node(record, node)
    if output != "table":
        print_data(as_data(record), output)
    elif verdict is not None:
        _print(_one_node(record, verdict))
    else:
        _print(_all(record))
    return 0 if record.result == "scheduled" else 1


def _parts(pod: str) -> tuple[str, str]:
    namespace, slash, name = pod.rpartition("/")
    if not name or (slash and not namespace) or "/" in namespace:
        raise Failure(f"`{pod}` names no pod", "NAMESPACE/POD", "write it as in `shop/web-0`")
    return namespace or "default", name


def _node(record: Record, name: str) -> NodeData:
    """Find a node that is in the record in full."""
    decision = record.decision
    if decision is None:
        raise Failure("no node was looked at in this attempt", "--node", record.message)
    for node in decision.nodes:
        if node.node == name:
            return node
    known = [node.node for node in decision.nodes]
    for group in decision.groups:
        if name in group.names and group.example is not None:
            raise Failure(
                f"this record has no values of node `{name}`, only that it is like {group.example}",
                "--node",
                f"see it with `--node {group.example}`, or ask the running policyd",
            )
    near = closest(name, known)
    remedy = f"did you mean `{near}`?" if near else f"in full there are {names(known)}"
    raise Failure(f"this record has nothing of node `{name}`", "--node", remedy)


def _print(lines: Iterable[Line]) -> None:
    colour = wants_colour("stdout")
    for text, style in lines:
        if style == "drawn":  # a table has its own colours, and shows only what is visible
            click.echo(text, color=colour)
        else:
            click.echo(painted(visible(text), style, colour=colour), color=colour)


# --- the whole decision ---


def _all(record: Record) -> Iterator[Line]:
    yield from _head(record)
    decision = record.decision
    if decision is None:
        return
    if record.node is not None and decision.node is not None:
        yield from _why_here(decision)
    if not decision.fits:
        yield from _changes(decision)
    yield from _why_not(decision)
    yield from _shadow(decision)


def _head(record: Record) -> Iterator[Line]:
    yield headline(record), "bold"
    took = f"{record.seconds * 1000:.1f} ms"
    when = _clock_time(record.time)
    yield f"decided {when} in {took}, attempt {record.attempt}, decision {record.id}", "dim"
    if record.ruleset is not None:
        yield f"under the rule set {record.ruleset.hash} of the profile {record.profile}", "dim"
    if record.result == "scheduled":
        for failure in record.failures:
            yield f"  on the way: {failure}", "yellow"
    elif record.message:
        yield record.message, "plain"
    for failure in record.failures:
        if record.result != "scheduled" and failure != record.message:
            yield f"  {failure}", "yellow"
    for earlier in record.earlier[:3]:
        where = f" on {earlier.node}" if earlier.node else ""
        told = f": {earlier.message}" if earlier.message else ""
        yield f"before: {_clock_time(earlier.time)} {earlier.result}{where}{told}", "dim"


def _clock_time(text: str) -> str:
    """Give a time without more than milliseconds."""
    return _FRACTION.sub(r"\1", text)


def headline(record: Record) -> str:
    """Say in a line what became of the pod."""
    title = f"pod {record.pod.namespace}/{record.pod.name}"
    decision = record.decision
    if record.result == "scheduled":
        return f"{title}: placed on {record.node}" + _devices(decision)
    if record.result == "unschedulable":
        count = decision.considered if decision is not None else 0
        return f"{title}: waits; it fits none of {in_words(count, 'node')}"
    aimed = f", after {record.node} was chosen" if record.node else ""
    return f"{title}: waits; the attempt failed{aimed}"


def _devices(decision: DecisionData | None) -> str:
    taken = decision.devices if decision is not None else {}
    return "".join(f"; takes {name} {', '.join(map(str, at))}" for name, at in taken.items())


# --- why here ---


def _why_here(decision: DecisionData) -> Iterator[Line]:
    """Show the best nodes side by side, rule by rule."""
    best = [node for node in decision.nodes if node.fits][:_COMPARED]
    yield "", "plain"
    yield f"why {decision.node}", "bold"
    yield f"  {_why(best, decision)}", "plain"
    if len(best) < 2 or not any(_scores(node) for node in best):
        return
    yield "", "plain"
    heads = [Column("  RULE"), *(Column(node.node, is_number=True) for node in best)]
    rows = [
        [Cell(f"  {_named(verdicts[0])}"), *(_score_cell(verdict) for verdict in verdicts)]
        for verdicts in zip(*(node.rules for node in best), strict=True)
        if any(verdict.score is not None for verdict in verdicts)
    ]
    rows.append([Cell("  total"), *(Cell(number(node.total or 0.0), "bold") for node in best)])
    width = columns("stdout") if is_terminal("stdout") else None
    yield draw(heads, rows, width=width, colour=wants_colour("stdout")), "drawn"


def _scores(node: NodeData) -> bool:
    return any(verdict.score is not None for verdict in node.rules)


def _score_cell(verdict: VerdictData) -> Cell:
    if verdict.score is None:
        return Cell(signs().absent, "dim")
    return Cell(number(verdict.score))


def _why(best: Sequence[NodeData], decision: DecisionData) -> str:
    """Say in a sentence why the chosen node is before the next."""
    if decision.feasible < 2 or len(best) < 2:
        return "the only node that fits"
    first, second = (node.total or 0.0 for node in best[:2])
    of = f"of {decision.feasible:,} nodes that fit"
    if first > second:
        return f"the best {of}: {number(first)}, before {best[1].node} with {number(second)}"
    return (
        f"one of the best {of}: {number(first)}, as {best[1].node}; `choose`, or a hash of pod and"
        " node, puts it first"
    )


# --- why not ---


@dataclass(slots=True)
class _Alike:
    """The groups that reject for the same reasons, as one."""

    example: NodeData | None
    reasons: tuple[str, ...]
    nodes: list[str] = field(default_factory=list)
    count: int = 0

    def title(self) -> str:
        """Say how many they are, and some of their names."""
        more = self.count - len(self.nodes[:6])
        listed = ", ".join(self.nodes[:6]) + (f" and {more:,} more" if more > 0 else "")
        return f"{in_words(self.count, 'node')}: {listed}"


def _why_not(decision: DecisionData) -> Iterator[Line]:
    alike = list(_by_reasons(decision))
    if not alike and not decision.without_devices:
        return
    yield "", "plain"
    yield ("why not elsewhere" if decision.fits else "why not"), "bold"
    for each in alike:
        yield f"  {each.title()}", "bold"
        if each.example is None:
            yield from ((f"    {signs().rejects} {reason}", "red") for reason in each.reasons)
        else:
            yield from _rejections(each.example, "    ", each.count > 1)
    if decision.without_devices:
        left = in_words(decision.without_devices, "node")
        yield f"  {left}: left out, for no device there has enough left", "bold"
    if decision.ungrouped:
        yield f"  {in_words(decision.ungrouped, 'more node')} for other reasons", "plain"


def _by_reasons(decision: DecisionData) -> Iterable[_Alike]:
    """Put the groups together that reject by the same rules for the same reasons."""
    nodes = {node.node: node for node in decision.nodes}
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], _Alike] = {}
    for group in decision.groups:
        if group.fits:
            continue
        example = nodes.get(group.example or "")
        alike = found.setdefault((group.rules, group.reasons), _Alike(example, group.reasons))
        alike.nodes += group.names
        alike.count += group.count
    return found.values()


def _rejections(node: NodeData, indent: str, of_one: bool) -> Iterator[Line]:  # noqa: FBT001 - one use
    """Show what rejects a node; `of_one` says that the values are of one of several nodes."""
    for verdict in node.rules:
        if not verdict.rejects:
            continue
        for rejection in verdict.rejections:
            yield from _rejection(verdict, rejection, indent)
    if of_one and any(rejection.values for rejection in _counting(node)):
        yield f"{indent}  (the values are those of {node.node})", "dim"


def _counting(node: NodeData) -> Iterator[RejectionData]:
    return (each for verdict in node.rules if verdict.rejects for each in verdict.rejections)


def _rejection(verdict: VerdictData, rejection: RejectionData, indent: str) -> Iterator[Line]:
    style = "yellow" if verdict.shadow else "red"
    for reason in rejection.reasons:
        yield f"{indent}{signs().rejects} {_named(verdict)}: {reason}", style
    yield f"{indent}    {rejection.expression}  ({rejection.place})", "dim"
    for value in rejection.values:
        text = f"{value.expression} = " if value.expression else ""
        yield f"{indent}    {text}{value.value}", "plain"


def _named(verdict: VerdictData) -> str:
    return f"{verdict.rule} (shadow)" if verdict.shadow else verdict.rule


# --- what would have let it fit ---


def _changes(decision: DecisionData) -> Iterator[Line]:
    nodes = {node.node: node for node in decision.nodes}
    groups = [group for group in decision.groups if not group.fits and group.example in nodes]
    if not groups:
        return
    yield "", "plain"
    yield "the smallest changes that would have let it fit", "bold"
    for group in islice(groups, _MOST_CHANGES):
        yield f"  on {_where(group)}:", "plain"
        for text, rules in _needs(nodes[group.example or ""]).items():
            yield f"    {text}  ({', '.join(rules)})", "plain"


def _where(group: Group) -> str:
    if group.count == 1:
        return str(group.example)
    nearest = "the nearest" if group.count <= COMPARED else "one"
    return f"{group.example}, {nearest} of {group.count:,} such nodes"


def _needs(node: NodeData) -> dict[str, dict[str, None]]:
    """Give what is needed on a node, each with the rules that need it."""
    found: dict[str, dict[str, None]] = {}
    for verdict in node.rules:
        for rejection in verdict.rejections if verdict.rejects else ():
            for text in _needs_of(verdict, rejection):
                found.setdefault(text, {})[verdict.rule] = None
    return found


def _needs_of(verdict: VerdictData, rejection: RejectionData) -> Iterator[str]:
    if rejection.error is not None:
        error = rejection.error
        yield f"the rule {verdict.rule} mended: {error.message}, at {error.place}"
    elif not rejection.needs:
        yield f"`{rejection.expression}` to be true"
    for need in rejection.needs:
        yield need_text(need)


def need_text(need: NeedData) -> str:
    """Say what is needed: `1 nvidia.com/gpu more free: 1 is free, and at least 2 is needed`."""
    bound = f"{need.relation} {need.bound}"
    free = _FREE.fullmatch(need.expression)
    if free is not None and need.missing:
        resource = free[1] or free[2]
        return f"{need.missing} {resource} more free: {need.value} is free, {bound} is needed"
    if need.missing:
        direction = "lower" if need.relation in ("less than", "at most") else "higher"
        return (
            f"`{need.expression}` {need.missing} {direction}: it is {need.value}, {bound} is needed"
        )
    if need.bound in ("true", "false") and need.relation == "equal to":
        return f"`{need.expression}` to be {need.bound}"
    return f"`{need.expression}` to be {bound}: it is {need.value}"


# --- shadow rules ---


def _shadow(decision: DecisionData) -> Iterator[Line]:
    if decision.shadow:
        yield "", "plain"
        yield from shadow_lines(decision.shadow, decision.node, decision.considered)


# --- one node ---


def _one_node(record: Record, node: NodeData) -> Iterator[Line]:
    """Show everything that rules say of one node."""
    yield from _head(record)
    yield "", "plain"
    yield f"node {node.node}: {_fits(record, node)}", "bold"
    for verdict in node.rules:
        yield from _verdict(verdict)
    needs = _needs(node)
    if needs:
        yield "", "plain"
        yield "what would have let it fit here", "bold"
        for text, rules in needs.items():
            yield f"  {text}  ({', '.join(rules)})", "plain"


def _fits(record: Record, node: NodeData) -> str:
    if not node.fits:
        return "does not fit"
    chosen = ", and is taken" if record.decision and record.decision.node == node.node else ""
    return f"fits, total {number(node.total or 0.0)}{chosen}"


def _verdict(verdict: VerdictData) -> Iterator[Line]:
    known = signs()
    if not verdict.applies:
        yield f"  {known.absent} {_named(verdict)}: does not apply", "dim"
        return
    if not verdict.rejections:
        score = "" if verdict.score is None else f" {number(verdict.score)}"
        yield f"  {known.met} {_named(verdict)}{score}", "green"
    for rejection in verdict.rejections:
        yield from _rejection(verdict, rejection, "  ")
    for scored in verdict.scores:
        yield f"      {_score(scored)}", "plain"


def _score(score: ScoreData) -> str:
    if score.error is not None:
        return f"counts for 0: {score.error.message} ({score.error.place})"
    raw = number(score.raw) if isinstance(score.raw, int | float) else str(score.raw)
    clamped = ", cut off" if score.clamped else ""
    return f"value {raw}, score {number(score.score)}{clamped}, weighted {number(score.weighted)}"
