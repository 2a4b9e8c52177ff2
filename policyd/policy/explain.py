"""Which parts of a condition decided, and the values that they had.

A condition that is false is false because of some of its parts: the operands of `&&` that are
false, all operands of `||`, the element for which `all` fails. Those are followed down to
comparisons and calls, and the values on both sides are what is worth printing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policyd.language import typed as ir
from policyd.language.environment import Checked
from policyd.language.errors import EvaluationError
from policyd.language.program import Program
from policyd.language.show import show
from policyd.language.types import Kind
from policyd.policy.parts import Parts, Plans, shown

_MAX_FINDINGS: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a condition, as it is written, and the value or the error that it has."""

    text: str
    value: str


def explain(checked: Checked, program: Program, values: Mapping[str, Any]) -> list[Finding]:
    """Give the parts that decided the value of a condition for some input."""
    try:
        parts = Parts(Plans(checked, program), values)
    except EvaluationError as error:
        return [Finding("", f"error: {error.message}")]
    found: dict[str, Finding] = {}
    for finding in _Walk(parts).decided(parts.root):
        found.setdefault(finding.text, finding)
        if len(found) == _MAX_FINDINGS:
            break
    return list(found.values())


class _Walk:
    """One walk through a checked condition with values for its parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lets: set[int] = set()  # those that were followed

    def decided(self, node: ir.Typed) -> Iterator[Finding]:
        """Give the findings for a node whose value decided."""
        match node:
            case ir.Junction(conjunction=conjunction, operands=operands):
                deciding = [o for o in operands if self._parts.value(o) is not conjunction]
                for operand in deciding or operands:
                    yield from self.decided(operand)
            case ir.Apply(name="!", args=(inner,)):
                yield from self.decided(inner)
            case ir.Choice(condition=condition, then=then, otherwise=otherwise):
                yield from self.decided(condition)
                yield from self.decided(then if self._parts.value(condition) is True else otherwise)
            case ir.LetRef(slot=slot, body=body):
                yield from self._shown(node)
                if slot not in self._lets:
                    self._lets.add(slot)
                    yield from self.decided(body)
            case ir.Bind():
                yield from self.decided(self._parts.enter(node))
            case ir.Loop(kind="all" | "exists"):
                yield from self._loop(node)
            case ir.Apply(args=args):
                yield from self._call(node, args)
            case _:
                yield from self._shown(node)

    def _call(self, node: ir.Typed, args: tuple[ir.Typed, ...]) -> Iterator[Finding]:
        """Show what a comparison or a call was given."""
        told = False
        for arg in args:
            if _is_told_by_its_text(arg):
                continue
            for finding in (*self._shown(arg), *self._inside(arg)):
                told = True
                yield finding
        if not told:
            yield from self._shown(node)

    def _inside(self, node: ir.Typed) -> Iterator[Finding]:
        """Show the operands of arithmetic and the arguments of calls, one level down."""
        if isinstance(node, ir.Apply):
            for arg in node.args:
                if not _is_told_by_its_text(arg):
                    yield from self._shown(arg)
                yield from self._kept(arg)

    def _kept(self, node: ir.Typed) -> Iterator[Finding]:
        """Show why a filter keeps what it keeps, with the elements in place of their names."""
        found = self._parts.filter(node)
        if found is None:
            return
        loop, keep = found
        conditions = keep.operands if isinstance(keep, ir.Junction) else (keep,)
        for _ in self._parts.turns(loop):
            if self._parts.value(keep) is not True:
                continue
            for condition in conditions:
                yield from self._operands(condition)

    def _operands(self, node: ir.Typed) -> Iterator[Finding]:
        """Show both sides of a comparison in the terms of the element that is looked at."""
        for arg in node.args if isinstance(node, ir.Apply) else ():
            if not _is_told_by_its_text(arg) and not _is_object(arg):
                yield Finding(self._parts.written(arg), shown(self._parts.value(arg)))

    def _loop(self, node: ir.Loop) -> Iterator[Finding]:
        """Show the first element that decided, and why it did; else what the loop went over."""
        items = self._parts.value(node.range)
        if node.body is None or not isinstance(items, list | dict):
            yield from self._shown(node)
            return
        for item in self._parts.turns(node):
            if self._parts.value(node.body) is (node.kind == "exists"):
                yield Finding(
                    self._parts.text(node.range), f"{show(items)}, and it is {show(item)}"
                )
                yield from self.decided(node.body)
                return
        yield from self._shown(node.range)

    def _shown(self, node: ir.Typed) -> Iterator[Finding]:
        text = self._parts.text(node)
        value = self._parts.value(node)
        if text != shown(value) and not _is_object(node):
            yield Finding(text, shown(value))
        if isinstance(value, EvaluationError) and isinstance(node, ir.Item | ir.Field):
            yield from self._shown(node.operand)  # what is there instead


def _is_told_by_its_text(node: ir.Typed) -> bool:
    """Say whether a node's text tells its value: a constant, or a list of constants."""
    if isinstance(node, ir.MakeList | ir.MakeMap):
        return all(_is_told_by_its_text(inner) for inner in ir.operands(node))
    return isinstance(node, ir.Constant)


def _is_object(node: ir.Typed) -> bool:
    """Say whether a node is a whole object, which is too much to print."""
    return node.type.kind is Kind.OBJECT
