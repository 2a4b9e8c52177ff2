"""Takes PromQL apart as far as a test needs: which series an expression reads, by which labels."""

import re
from dataclasses import dataclass

from policyd.metrics import METRICS, Kind, Metrics

TARGET = frozenset({"namespace", "job", "instance"})
"""What Prometheus adds to the labels of a series."""

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"\b((?:policyd|scheduler|process|python)_\w+)\s*(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_BY = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


@dataclass(frozen=True)
class Expression:
    """The series that an expression reads with the labels that it chooses by, and groups by."""

    series: tuple[tuple[str, frozenset[str]], ...]
    grouped: frozenset[str]


def parsed(text):
    bare = _TEXT.sub('""', text)
    return Expression(
        tuple((m[1], frozenset(_MATCHER.findall(m[2] or ""))) for m in _SELECTOR.finditer(bare)),
        frozenset(label.strip() for m in _BY.finditer(bare) for label in m[1].split(",")),
    )


def exported():
    """Give every series that policyd can export, with its labels."""
    found = {}
    for metric in METRICS:
        labels = frozenset(metric.labels)
        if metric.kind is Kind.HISTOGRAM:
            found[f"{metric.name}_bucket"] = labels | {"le"}
            found[f"{metric.name}_sum"] = found[f"{metric.name}_count"] = labels
        else:
            found[metric.name] = labels
    text = Metrics().exposition()[0].decode()
    for line in text.splitlines():
        name = re.match(r"(?:process|python)_\w+", line)
        if name:
            found[name[0]] = frozenset(re.findall(r'(\w+)="', line))
    return found


def faults(text, known):
    """Say what is wrong in an expression: a series that is not there, or a label that it lacks."""
    read = parsed(text)
    if not read.series:
        yield f"it reads nothing of policyd: {text}"
    labels = TARGET.union(*(known.get(name, frozenset()) for name, _ in read.series))
    for name, chosen in read.series:
        if name not in known:
            yield f"there is no series {name}"
        else:
            for label in chosen - known[name] - TARGET:
                yield f"{name} has no label {label}"
            if not chosen >= {"namespace", "job"}:
                yield f"{name} is not that of one release"
    for label in read.grouped - labels:
        yield f"no series of it has the label {label}"
