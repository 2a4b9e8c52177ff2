"""Evaluates single parts of a condition for one input, as its explanations need them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policyd.language import typed as ir
from policyd.language.environment import Checked
from policyd.language.errors import EvaluationError
from policyd.language.interpreter import Planner
from policyd.language.program import Program
from policyd.language.show import show
from policyd.language.work import Evaluate
from policyd.values.maps import decode_key

_ARITHMETIC: Final = frozenset("+-*/%")

Filter = tuple[ir.Loop, ir.Typed]
"""A `filter`, and the condition for what it keeps."""


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
        self._bound: dict[int, ir.Typed] = {}

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

    def enter(self, node: ir.Bind) -> ir.Typed:
        """Give the body of a `cel.bind`, with its variable set."""
        self.value(node)
        self._bound[node.slot] = node.init
        return node.body

    def text(self, node: ir.Typed) -> str:
        """Give a part as it was written, on one line."""
        return " ".join(self._plans.checked.source.slice(node.span).split())

    def written(self, node: ir.Typed) -> str:
        """Give a part as it is written, with elements and keys by their values."""
        match node:
            case ir.Variable(name=name) | ir.LetRef(name=name):
                return name
            case ir.Local(slot=slot) if slot in self._bound:
                return self.written(self._bound[slot])
            case ir.Local(name=name):
                value = self.value(node)
                return name if hasattr(value.__class__, "FIELDS") else shown(value)
            case ir.MakeMap() | ir.MakeList():
                return shown(self.value(node))
            case ir.Field(operand=operand, name=name, optional=False, test=False):
                return f"{self.written(operand)}.{name}"
            case ir.Item(operand=operand, index=index, optional=False):
                return f"{self.written(operand)}[{shown(self.value(index))}]"
            case ir.Apply(name=name, args=(target, *rest), overloads=(overload, *_)) if (
                overload.member and name.isidentifier()
            ):
                inside = ", ".join(self.written(each) for each in rest)
                return f"{self.written(target)}.{name}({inside})"
            case ir.Apply(name=name, args=(left, right)) if name in _ARITHMETIC and not (
                _is_arithmetic(left) or _is_arithmetic(right)
            ):
                return f"{self.written(left)} {name} {self.written(right)}"
            case _:
                return self.text(node)

    def filter(self, node: ir.Typed) -> Filter | None:
        """Give the `filter` that a part is, or stands for, with its condition; if it is one."""
        if isinstance(node, ir.LetRef):
            self.value(node)
            node = node.body
        if isinstance(node, ir.Loop) and node.kind == "list" and node.keep is not None:
            return node, node.keep
        return None

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


def shown(value: Any) -> str:
    """Write a value, or the error that stands for it."""
    return f"error: {value.message}" if isinstance(value, EvaluationError) else show(value)


def _is_arithmetic(node: ir.Typed) -> bool:
    return isinstance(node, ir.Apply) and node.name in _ARITHMETIC
