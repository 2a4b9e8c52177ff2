"""Compares a decision with what a rule test expects of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import UNSET

from policyd.language.show import show
from policyd.language.suggest import closest
from policyd.model.places import Place, Problem
from policyd.model.yaml_reader import Step
from policyd.policy.decide import NodeVerdict, Rejection, RuleVerdict, Scored, bindings
from policyd.policy.devices import REASON
from policyd.policy.explain import Finding, explain
from policyd.policy.parts import Parts, Plans, shown
from policyd.policy.ruleset import Expression, Ruleset
from policyd.ruletests.cases import Case
from policyd.ruletests.form import RejectedForm
from policyd.ruletests.run import Ruling

TOLERANCE: Final = 0.005
"""How far a score may be from what is expected: scores are shown with two decimals."""

_ROUNDING: Final = 1e-9
_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that came out otherwise than expected.

    `expectation` is the field of `expect`, `nodes` are the nodes whose verdicts are behind it, and
    `values` the parts of a score with their values.
    """

    expectation: str
    place: Place
    expected: str
    got: str
    nodes: tuple[str, ...] = ()
    values: tuple[Finding, ...] = ()


def unknown_names(case: Case, ruleset: Ruleset) -> list[Problem]:
    """Find nodes and rules that are expected something of and are not there."""
    nodes = [node.name for node in case.snapshot.nodes]
    rules = [rule.name for rule in ruleset.rules]
    return [
        _unknown(case, path, kind, nodes if kind == "node" else rules)
        for kind, path in _names(case)
        if path[-1] not in (nodes if kind == "node" else rules)
    ]


def mismatches(case: Case, ruling: Ruling) -> list[Mismatch]:
    """Give everything that is not as expected, in the order of the fields."""
    comparison = _Comparison(case, ruling)
    every: Iterable[Callable[[], Iterator[Mismatch]]] = (
        comparison.fits,
        comparison.rejected,
        comparison.scores,
        comparison.totals,
        comparison.order,
        comparison.node,
        comparison.devices,
    )
    return [mismatch for compare in every for mismatch in compare()]


# --- names ---


def _names(case: Case) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Give the names of nodes and rules in what is expected, each as the end of its path."""
    expect = case.expect
    for field in ("fits", "rejected", "totals", "order"):
        value = getattr(expect, field)
        if isinstance(value, list | dict):
            yield from (("node", (field, name)) for name in value)
    if isinstance(expect.node, str):
        yield "node", ("node", expect.node)
    if isinstance(expect.rejected, dict):
        for name, rejected in expect.rejected.items():
            if isinstance(rejected, RejectedForm) and rejected.rule:
                yield "rule", ("rejected", name, "rule", rejected.rule)
    if isinstance(expect.scores, dict):
        for rule, nodes in expect.scores.items():
            yield "rule", ("scores", rule)
            yield from (("node", ("scores", rule, name)) for name in nodes)


def _unknown(case: Case, path: tuple[Step, ...], kind: str, known: Sequence[str]) -> Problem:
    name = str(path[-1])
    near = closest(name, known)
    some = ", ".join(known[:_MOST]) + ("…" if len(known) > _MOST else "")
    remedy = f"did you mean `{near}`?" if near else f"there are: {some or 'none'}"
    where = "in the cluster of this test" if kind == "node" else "in the rules of this test"
    return Problem(case.at(*_in_file(case, path)), f"there is no {kind} `{name}` {where}", remedy)


def _in_file(case: Case, path: tuple[Step, ...]) -> tuple[Step, ...]:
    """Give the path in the file to a name: in a list it is an element, of a field the value."""
    value = getattr(case.expect, str(path[0]))
    if isinstance(value, list):
        return (path[0], value.index(path[1]))
    return path[:-1] if path[0] == "node" or path[-2] == "rule" else path


# --- comparisons ---


class _Comparison:
    """The comparison of one decision with one test."""

    def __init__(self, case: Case, ruling: Ruling) -> None:
        self.case = case
        self.expect = case.expect
        self.ruling = ruling
        self.feasible = ruling.feasible

    def fits(self) -> Iterator[Mismatch]:
        """Compare on which nodes the pod fits."""
        wanted = self.expect.fits
        if isinstance(wanted, bool):
            if wanted is not bool(self.feasible):
                nodes = self.feasible or list(self.ruling.nodes)
                yield self._fits("it fits somewhere" if wanted else "it fits nowhere", nodes)
        elif isinstance(wanted, list):
            wrong = [name for name in self.ruling.nodes if (name in wanted) is not self._on(name)]
            if wrong:
                yield self._fits(f"it fits on {_these(wanted)}, and on no other", wrong)
        elif isinstance(wanted, dict):
            for name, fit in wanted.items():
                if fit is not self._on(name):
                    expected = f"it fits on {name}" if fit else f"{name} rejects it"
                    yield self._mismatch(
                        ("fits", name), expected, self._verdict(name), nodes=[name]
                    )

    def rejected(self) -> Iterator[Mismatch]:
        """Compare by which rule and for which reasons nodes reject the pod."""
        if not isinstance(self.expect.rejected, dict):
            return
        for name, given in self.expect.rejected.items():
            form = given if isinstance(given, RejectedForm) else RejectedForm(reason=given)
            if not self._is_rejected(name, form):
                expected = f"{name} rejects it{_by(form)}"
                verdict = self._verdict_of(form.rule, name)
                yield self._mismatch(
                    ("rejected", name),
                    expected,
                    self._verdict(name),
                    nodes=[name],
                    values=self._conditions(verdict, name),
                )

    def scores(self) -> Iterator[Mismatch]:
        """Compare what rules add to the totals of nodes."""
        if not isinstance(self.expect.scores, dict):
            return
        for rule, nodes in self.expect.scores.items():
            for name, wanted in nodes.items():
                verdict = self._verdict_of(rule, name)
                got = None if verdict is None else verdict.score
                if _differ(wanted, got):
                    yield self._mismatch(
                        ("scores", rule, name),
                        f"{rule} gives {name} {_number(wanted)}",
                        f"it gives {_number(got)}{self._why_none(verdict, name)}",
                        nodes=[name],
                        values=self._parts(verdict, name),
                    )

    def totals(self) -> Iterator[Mismatch]:
        """Compare the totals of nodes."""
        if not isinstance(self.expect.totals, dict):
            return
        for name, wanted in self.expect.totals.items():
            got = self._total(name)
            if _differ(wanted, got):
                told = self._verdict(name) if got is None else f"it has {_number(got)}"
                expected = f"{name} has the total {_number(wanted)}"
                yield self._mismatch(("totals", name), expected, told, nodes=[name])

    def order(self) -> Iterator[Mismatch]:
        """Compare in which order the nodes that fit come; others may stand between."""
        wanted = self.expect.order
        if not isinstance(wanted, list):
            return
        got = [name for name in self.feasible if name in wanted]
        if got != wanted:
            missing = [self._verdict(name) for name in wanted if name not in got]
            totals = [f"{name} ({_number(self._total(name))})" for name in got]
            told = "; ".join([", ".join(totals), *missing] if totals else missing)
            yield self._mismatch(("order",), ", ".join(wanted), told, nodes=wanted)

    def node(self) -> Iterator[Mismatch]:
        """Compare which node is chosen."""
        wanted = self.expect.node
        node = self.ruling.decision.node
        got = None if node is None else node.name
        if wanted is UNSET or wanted == got:
            return
        concerned = [name for name in (wanted, got) if isinstance(name, str)]
        nodes = concerned if got or wanted else list(self.ruling.nodes)
        expected = f"{wanted} is chosen" if wanted else "no node is chosen"
        yield self._mismatch(("node",), expected, self._chosen(wanted, got), nodes=nodes)

    def devices(self) -> Iterator[Mismatch]:
        """Compare which devices of the chosen node the pod takes."""
        wanted = self.expect.devices
        got = {name: list(at) for name, at in self.ruling.choice.taken.items()}
        if isinstance(wanted, dict) and wanted != got:
            yield self._mismatch(("devices",), _taken(wanted), _taken(got))

    # --- what came out ---

    def _mismatch(
        self,
        path: tuple[Step, ...],
        expected: str,
        got: str,
        *,
        nodes: Sequence[str] = (),
        values: Sequence[Finding] = (),
    ) -> Mismatch:
        place = self.case.at(*path)
        concerned = tuple(dict.fromkeys(nodes))[:_MOST]
        return Mismatch(str(path[0]), place, expected, got, concerned, tuple(values))

    def _fits(self, expected: str, nodes: Sequence[str]) -> Mismatch:
        got = f"it fits on {_these(self.feasible)}" if self.feasible else "it fits nowhere"
        return self._mismatch(("fits",), expected, got, nodes=nodes)

    def _on(self, name: str) -> bool:
        return name not in self.ruling.refused and self.ruling.nodes[name].fits

    def _verdict(self, name: str) -> str:
        """Say in a line what came out for a node."""
        verdict = self.ruling.nodes[name]
        if name in self.ruling.refused and verdict.fits:
            return f"{name} is left out: {REASON}"
        if verdict.fits:
            return f"it fits on {name}"
        rejecting = (each for each in verdict.verdicts if each.rejects)
        told = "; ".join(f"by {v.rule.name}: {', '.join(v.reasons)}" for v in rejecting)
        return f"{name} rejects it {told}"

    def _is_rejected(self, name: str, form: RejectedForm) -> bool:
        if self._on(name):
            return False
        if name in self.ruling.refused and not form.rule and form.reason == REASON:
            return True
        rejecting = (each for each in self.ruling.nodes[name].verdicts if each.rejects)
        return any(_is_as(verdict, form) for verdict in rejecting)

    def _verdict_of(self, rule: str, name: str) -> RuleVerdict | None:
        verdicts = self.ruling.nodes[name].verdicts
        return next((each for each in verdicts if each.rule.name == rule), None)

    def _total(self, name: str) -> float | None:
        return self.ruling.nodes[name].total if self._on(name) else None

    def _why_none(self, verdict: RuleVerdict | None, name: str) -> str:
        """Say why there is no score."""
        if verdict is None or verdict.score is not None:
            return ""
        if not self._on(name):
            return f": {self._verdict(name)}"
        if not verdict.applies:
            return ": its `when` is false"
        return ": there is no `prefer` or `avoid` with a value"

    def _parts(self, verdict: RuleVerdict | None, name: str) -> list[Finding]:
        """Give the parts of a rule's scores on a node, with their values."""
        if verdict is None or not self._on(name):
            return []
        if not verdict.applies:
            return self._conditions(verdict, name)
        return list(_score_values(self.ruling, verdict, self.ruling.nodes[name], self.case))

    def _conditions(self, verdict: RuleVerdict | None, name: str) -> list[Finding]:
        """Give why a rule does not reject a node: its `when`, or what it requires and is so."""
        if verdict is None or verdict.rejections:
            return []
        rule = verdict.rule
        asked = [("require", each.condition) for each in rule.requirements]
        if not verdict.applies and rule.when is not None:
            asked = [("when", rule.when)]
        decision = self.ruling.decision
        node = self.ruling.nodes[name].node
        values = {**bindings(decision.ruleset, self.case.pod, self.case.snapshot), "node": node}
        return [finding for word, part in asked for finding in _condition(word, part, values)]

    def _chosen(self, wanted: object, got: str | None) -> str:
        if got is None:
            return "no node is chosen" if wanted is None else self._why_not(wanted)
        total = f" with {_number(self._total(got))}"
        if isinstance(wanted, str) and self._on(wanted):
            total += f", before {wanted} with {_number(self._total(wanted))}"
        elif isinstance(wanted, str):
            total += f"; {self._verdict(wanted)}"
        return f"{got} is chosen{total}"

    def _why_not(self, wanted: object) -> str:
        return self._verdict(wanted) if isinstance(wanted, str) else "no node is chosen"


def _score_values(
    ruling: Ruling, verdict: RuleVerdict, node: NodeVerdict, case: Case
) -> Iterator[Finding]:
    """Explain what each `prefer` and `avoid` of a rule came to."""
    decision = ruling.decision
    values = {
        **bindings(decision.ruleset, case.pod, case.snapshot),
        "feasible": [each.node for each in decision.nodes if each.fits],
        "node": node.node,
    }
    for score, scored in zip(verdict.rule.scores, verdict.scores, strict=True):
        text = f"{'avoid' if score.avoid else 'prefer'} {score.value.text}"
        if scored.error is not None:
            yield Finding(text, f"error: {scored.error.message}")
        else:
            yield Finding(text, _scale(scored))
        yield from explain(score.value.checked, score.value.program, values)


def _condition(word: str, condition: Expression, values: Mapping[str, Any]) -> Iterator[Finding]:
    """Explain how a condition came out."""
    parts = Parts(Plans(condition.checked, condition.program), values)
    yield Finding(f"{word} {condition.text}", shown(parts.value(parts.root)))
    yield from explain(condition.checked, condition.program, values)


def _scale(scored: Scored) -> str:
    """Say what became of a raw value."""
    parts = [show(scored.raw)]
    if scored.raw is not None and scored.raw != scored.score:
        parts.append(f"{_number(scored.score)} of 100")
    if scored.weighted != scored.score:
        parts.append(f"{_number(scored.weighted)} with its weight")
    return ", ".join(parts)


def _is_as(verdict: RuleVerdict, form: RejectedForm) -> bool:
    """Say whether a rule's rejection is the expected one."""
    if form.rule and verdict.rule.name != form.rule:
        return False
    if form.reason is None:
        return True
    reasons = list(dict.fromkeys(_reasons(verdict.rejections)))
    return form.reason in reasons if isinstance(form.reason, str) else form.reason == reasons


def _reasons(rejections: Iterable[Rejection]) -> Iterator[str]:
    return (reason for rejection in rejections for reason in rejection.reasons)


def _by(form: RejectedForm) -> str:
    by = f" by {form.rule}" if form.rule else ""
    if form.reason is None:
        return by
    return f"{by}: {form.reason if isinstance(form.reason, str) else ', '.join(form.reason)}"


def _these(names: Sequence[str]) -> str:
    """List names, and count what is too much of them."""
    more = len(names) - _MOST
    some = ", ".join(names[:_MOST]) or "none"
    return some if more <= 0 else f"{some} and {more:,} more"


def _taken(devices: Mapping[str, Sequence[int]]) -> str:
    told = "; ".join(f"{name} {', '.join(map(str, at))}" for name, at in devices.items())
    return f"it takes {told or 'no devices'}"


def _differ(wanted: float | None, got: float | None) -> bool:
    if wanted is None or got is None:
        return wanted is not got
    return abs(wanted - got) > TOLERANCE + _ROUNDING


def _number(value: float | None) -> str:
    """Write a score with up to two decimals."""
    return "no score" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")
