"""Evaluates the examples of the documentation, so that the pages show real values.

An expression may read `pod` (`examples/gpu-pod.yaml`), `node` (`dragonfly` of the sample cluster),
`namespace`, `cluster` and `now` (noon of June 1st, 2026, UTC).
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.show import show
from policyd.model.manifests import read_bytes
from policyd.model.sample import sample_cluster
from policyd.model.snapshot import load_cluster, load_pods
from policyd.policy.functions import FUNCTIONS
from policyd.policy.scope import DERIVED, VARIABLES, Objects
from policyd.values.times import parse_timestamp

ROOT: Final = Path(__file__).resolve().parents[1]
POD: Final = ROOT / "examples" / "gpu-pod.yaml"
NODE: Final = "dragonfly"
NOW: Final = "2026-06-01T12:00:00Z"
ARROW: Final = " → "

_READ: Final = ("pod", "node", "namespace", "cluster", "now")
_MOST_APART: Final = 64
"""Behind how many columns an arrow follows its expression instead of the arrows above."""


def shown(expression: str) -> str:
    """Give the text of an expression's value, or `error: …` where it has none.

    Raises:
        RuleError: the expression does not compile.
    """
    environment = _environment()
    program = environment.program(environment.compile(expression))
    try:
        return show(program.evaluate(_objects()), full=True)
    except EvaluationError as error:
        return f"error: {error.message}"


def lines(expressions: Iterable[str]) -> str:
    """Give the lines of a `cel` block: each expression with its value behind an arrow."""
    texts = list(expressions)
    width = max((len(text) for text in texts if len(text) <= _MOST_APART), default=0)
    return "\n".join(f"{text.ljust(width)}{ARROW}{shown(text)}" for text in texts)


@cache
def _environment() -> Environment:
    variables = {name: VARIABLES[name] for name in _READ}
    return Environment(variables=variables, functions=FUNCTIONS, objects=Objects(), derived=DERIVED)


@cache
def _objects() -> Mapping[str, Any]:
    now = parse_timestamp(NOW)
    snapshot = load_cluster(sample_cluster(), now)
    (pod,) = load_pods(read_bytes(POD.read_bytes(), POD.name)).pods
    (node,) = (node for node in snapshot.nodes if node.name == NODE)
    return {
        "pod": pod,
        "node": node,
        "namespace": snapshot.namespace(pod.namespace),
        "cluster": snapshot.surveyed,
        "now": now,
    }
