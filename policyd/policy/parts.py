"""Evaluates single parts of a condition for one input, as its explanations need them."""

from collections.abc import Iterator, Mapping
from typing import Any

from policyd.language import typed as ir
from policyd.language.environment import Checked
from policyd.language.errors import EvaluationError
from policyd.language.interpreter import Planner
from policyd.language.program import Program
from policyd.language.work import Evaluate
from policyd.values.maps import decode_key


class Plans:
    """The planned parts of one condition, each planned once. Belongs to one thread."""

    def __init__(self, checked: Checked, program: Program) -> None:
        self.checked = checked
        self.program = program
        places = {name: at for at, name in enumerate(program.variables, 1)}
        self._planner = Planner(places, len(program.variables) + 1)
        self._known: dict[int, Evaluate] = {}

    def plan(self, node: ir.Typed) -> Evaluate:
        """Give the function that evaluates a part."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._planner.plan(node)
        return found

    def place(self, slot: int) -> int:
        """Give the place of a local slot in the frame."""
        return self._planner.at(slot)


class Parts:
    """The parts of a condition with the values that they have for one input."""

    def __init__(self, plans: Plans, values: Mapping[str, Any]) -> None:
        """Make the frame.

        Raises:
            EvaluationError: a variable that the condition uses has no value.
        """
        self._plans = plans
        self._frame = plans.program.frame(values)

    @property
    def root(self) -> ir.Typed:
        """Give the whole condition."""
        return self._plans.checked.root

    def value(self, node: ir.Typed) -> Any:
        """Give the value of a part, or the error that it ends in."""
        try:
            return self._plans.plan(node)(self._frame)
        except EvaluationError as error:
            return error

    def text(self, node: ir.Typed) -> str:
        """Give a part as it was written, on one line."""
        return " ".join(self._plans.checked.source.slice(node.span).split())

    def turns(self, loop: ir.Loop) -> Iterator[Any]:
        """Set the variables of a macro to each element in turn, and give it: of a map the key."""
        items = self.value(loop.range)
        places = [self._plans.place(slot) for slot in loop.slots]
        if isinstance(items, dict):
            for key, value in list(items.items()):
                plain = decode_key(key)
                self._set(places, plain, value)
                yield plain
        elif isinstance(items, list):
            for at, item in enumerate(items):
                self._set(places, *((at, item) if len(places) > 1 else (item, None)))
                yield item

    def _set(self, places: list[int], first: Any, second: Any) -> None:
        self._frame[places[0]] = first
        if len(places) > 1:
            self._frame[places[1]] = second
