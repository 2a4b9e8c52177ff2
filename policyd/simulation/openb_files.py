"""Reads the files of the OpenB trace: CSV, as they are or compressed by gzip.

A node has `sn`, `cpu_milli`, `memory_mib`, `gpu` (how many) and `model`; a pod has `name`,
`cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli` (the share of one GPU in thousandths, where
`num_gpu` is 1), and where the trace says so `gpu_spec` (the models that it can use, `|` between
them), `qos`, and the times `creation_time` and `deletion_time` in seconds. Other columns are passed
over.
"""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from policyd.model.devices import MAX_DEVICES
from policyd.model.node import Node
from policyd.model.places import Place, Problem
from policyd.simulation.openb import Trace, TraceError, TracePod, as_node

NODES_FILE: Final = "openb_node_list_gpu_node.csv"
"""The published file of nodes."""

PODS_FILE: Final = "openb_pod_list_{name}.csv"
"""The published files of pods: `default` is the trace, the others are sampled from it."""

_NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_MOST: Final = 10**12
_GZIP: Final = b"\x1f\x8b"
_MOST_PROBLEMS: Final = 100


def published(folder: Path, name: str) -> tuple[Path, Path]:
    """Give the published files of nodes and pods in a folder, compressed or not."""
    return _file(folder, NODES_FILE), _file(folder, PODS_FILE.format(name=name))


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if packed.exists() else folder / name


def read_trace(nodes: Sequence[Path], pods: Sequence[Path]) -> Trace:
    """Read a trace.

    Raises:
        TraceError: something in a file is wrong; with everything that is.
        OSError: a file cannot be read.
    """
    problems: list[Problem] = []
    read_nodes = _distinct(nodes, _node, _NODE_COLUMNS, "sn", problems)
    read_pods = _distinct(pods, _pod, _POD_COLUMNS, "name", problems)
    if problems:
        raise TraceError(problems[:_MOST_PROBLEMS])
    return Trace(tuple(read_nodes), tuple(read_pods), ", ".join(str(path) for path in pods))


def _distinct(
    paths: Sequence[Path],
    make: Callable[["_Row"], Any],
    columns: Sequence[str],
    key: str,
    problems: list[Problem],
) -> list[Any]:
    """Make an object of each row; a name that stands twice is a problem."""
    made: list[Any] = []
    seen: dict[str, Place] = {}
    for path in paths:
        for row in _rows(path, columns, problems):
            name = row.text(key)
            if name in seen:
                row.refuse(key, f"`{name}` stands in {seen[name]} already", "remove one of them")
            seen.setdefault(name, row.place(key))
            each = make(row)
            if not row.problems:
                made.append(each)
            problems.extend(row.problems)
    return made


def _node(row: "_Row") -> Node:
    cpu, memory = row.number("cpu_milli"), row.number("memory_mib")
    gpus = row.number("gpu", most=MAX_DEVICES)
    name = row.text("sn")
    if not name:
        row.refuse("sn", "the node has no name", "give it one")
    return as_node(name or "-", cpu, memory, gpus, row.text("model"))


def _pod(row: "_Row") -> TracePod:
    gpus = row.number("num_gpu", most=MAX_DEVICES)
    milli = row.number("gpu_milli", most=1000) if gpus == 1 else 1000 if gpus else 0
    if gpus == 1 and milli == 0 and not row.problems:
        row.refuse("gpu_milli", "a pod with one GPU asks for none of it", "write 1 to 1000")
    if not row.text("name"):
        row.refuse("name", "the pod has no name", "give it one")
    created, deleted = row.optional("creation_time"), row.optional("deletion_time")
    if created is not None and deleted is not None and deleted < created:
        row.refuse("deletion_time", "the pod ends before it arrives", "check the two times")
    return TracePod(
        row.text("name"),
        row.number("cpu_milli"),
        row.number("memory_mib"),
        gpus,
        milli,
        tuple(part for part in row.text("gpu_spec").split("|") if part),
        row.text("qos"),
        created,
        deleted,
    )


@dataclass(slots=True)
class _Row:
    """A line of a file, and what is found to be wrong with it."""

    file: str
    line: int
    columns: Mapping[str, int]
    values: Sequence[str]
    problems: list[Problem] = field(default_factory=list)

    def text(self, column: str) -> str:
        """Give a value; an empty one where the trace has no such column."""
        at = self.columns.get(column)
        return "" if at is None else self.values[at].strip()

    def number(self, column: str, most: int = _MOST) -> int:
        """Give a whole number from 0 to `most`; 0, and a problem, where it is none."""
        text = self.text(column)
        if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most:
            return int(text)
        shown = f"`{text[:40]}`" if text else "empty"
        self.refuse(
            column, f"`{column}` is {shown}, and not a whole number", f"write one from 0 to {most}"
        )
        return 0

    def optional(self, column: str) -> int | None:
        """Give a whole number, or nothing where none is written."""
        return self.number(column) if self.text(column) else None

    def refuse(self, column: str, cause: str, remedy: str) -> None:
        """Note that something is wrong with a value."""
        self.problems.append(Problem(self.place(column), cause, remedy))

    def place(self, column: str) -> Place:
        """Give the place of a value: its line, and the character at which it begins."""
        at = self.columns.get(column, 0)
        return Place(self.file, self.line, 1 + sum(len(value) + 1 for value in self.values[:at]))


def _rows(path: Path, needed: Sequence[str], problems: list[Problem]) -> Iterator[_Row]:
    """Give the rows of a file; what is wrong with the file as a whole is added to the problems."""
    name = str(path)
    text = _text(path, problems)
    if text is None:
        return
    reader = csv.reader(text.splitlines(), strict=True)
    columns: dict[str, int] = {}
    try:
        header = next(reader, [])
        columns = {column.strip().removeprefix("\ufeff"): at for at, column in enumerate(header)}
        missing = [column for column in needed if column not in columns]
        if missing:
            listed = ", ".join(f"`{column}`" for column in missing)
            remedy = f"the first line names the columns: {', '.join(needed)}"
            problems.append(Problem(Place(name), f"there is no column {listed}", remedy))
            return
        for values in reader:
            if not values:
                continue
            if len(values) != len(columns):
                cause = f"this line has {len(values)} values, and the first line {len(columns)}"
                problems.append(Problem(Place(name, reader.line_num), cause, "check the commas"))
                continue
            yield _Row(name, reader.line_num, columns, values)
    except csv.Error as error:
        problems.append(Problem(Place(name, reader.line_num), f"this is no CSV: {error}"))


def _text(path: Path, problems: list[Problem]) -> str | None:
    data = path.read_bytes()
    try:
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        cause = f"the file cannot be decompressed: {str(error).lower()}"
        problems.append(Problem(Place(str(path)), cause, "fetch it anew"))
    except UnicodeDecodeError:
        problems.append(Problem(Place(str(path)), "the file is not UTF-8", "fetch it anew"))
    return None
