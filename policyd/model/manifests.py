"""Reads manifests and cluster dumps into the objects that policyd knows, and notes the rest.

Pods are read, and the pod templates of the workloads of Kubernetes' own API groups; nodes and
namespaces; the classes that priorities and overheads come from; storage; and what selects pods. A
template becomes the pod that its controller would make of it: with the workload's name and
namespace, and with the controller as its owner. Every other object leaves a note, and what cannot
be read a problem.

A kind counts only in the API group and version that serve it: Volcano's `Job` is none of
`batch/v1`, and `batch/v1beta1` is gone.
"""

import gc
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from policyd.model.documents import NotCuttableError, Source, Value, read_values
from policyd.model.faults import ObjectError, decode_part
from policyd.model.owners import OWNER_KINDS
from policyd.model.pieces import Form, Progress
from policyd.model.places import Note, Place, Problem
from policyd.model.storage import STORAGE_KINDS
from policyd.model.wire import Envelope, Title
from policyd.model.yaml_reader import Step
from policyd.values.quoting import quote

KINDS: Final = {
    "Pod": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "Service": "v1",
    **STORAGE_KINDS,
}
"""The kinds that are read as they are, and their API versions."""

TEMPLATES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "PodTemplate": ("v1", ("template",)),
    "ReplicationController": ("v1", ("spec", "template")),
    "Deployment": ("apps/v1", ("spec", "template")),
    "ReplicaSet": ("apps/v1", ("spec", "template")),
    "StatefulSet": ("apps/v1", ("spec", "template")),
    "DaemonSet": ("apps/v1", ("spec", "template")),
    "Job": ("batch/v1", ("spec", "template")),
    "CronJob": ("batch/v1", ("spec", "jobTemplate", "spec", "template")),
}
"""The kinds that make pods, their API versions, and where their pod template is."""

# What owns the pods, where it is not the workload itself: it makes these, and they make the pods.
_MAKERS: Final = {"Deployment": "ReplicaSet", "CronJob": "Job"}
_OWN_GROUPS: Final = frozenset(
    {"", "apps", "batch", "extensions", "scheduling.k8s.io", "node.k8s.io"}
)
_SHOWN: Final = 60
_GAP: Final = re.compile(rb"[ \t\r\n,]*+")  # between the elements of a list in JSON


MAX_PROBLEMS: Final = 1000
"""After how many problems an input is read no further."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object that is read, as compact JSON.

    `kind` is one of `KINDS`. Where `workload` is not empty, it is the pod of a template, and
    `workload` the kind that the template is in. `source` is known for small inputs. `selecting` is
    the workload itself, where it is one of `OWNER_KINDS`.
    """

    kind: str
    json: bytes
    place: Place
    workload: str = ""
    source: Source | None = None
    selecting: bytes = b""

    def place_of(self, path: tuple[Step, ...]) -> Place:
        """Give the place of what is at `path` in the object, as near as it is known."""
        if self.source is None or not path:
            return self.place
        return self.source.place(self.place, path)


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was read from one or more inputs, in order."""

    documents: tuple[Document, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: "Manifests") -> "Manifests":
        return Manifests(
            self.documents + other.documents,
            self.notes + other.notes,
            self.problems + other.problems,
        )

    def of_kind(self, kind: str) -> Iterator[Document]:
        """Give the documents of one of `KINDS`."""
        return (each for each in self.documents if each.kind == kind)


def read_file(path: Path, progress: Progress | None = None) -> Manifests:
    """Read a file; what the operating system refuses is a problem too."""
    try:
        with path.open("rb") as stream:
            return read_stream(stream, str(path), progress)
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        return Manifests(problems=(Problem(Place(str(path)), cause, "check the name"),))


def read_bytes(data: bytes, name: str = "<input>") -> Manifests:
    """Read what is in memory already."""
    return read_stream(io.BytesIO(data), name)


def read_stream(stream: BinaryIO, name: str, progress: Progress | None = None) -> Manifests:
    """Read a stream to its end. `name` is what problems and notes call it.

    `progress` is told how many bytes are done, of how many. A large list keeps memory to about
    the size of its objects as compact JSON.
    """
    if not stream.seekable():
        stream = io.BytesIO(stream.read())
    size = stream.seek(0, io.SEEK_END)
    with _without_collector():
        for whole in (False, True):
            stream.seek(0)
            sorter = _Sorter()
            try:
                for value in read_values(stream, name, size, progress, whole=whole):
                    sorter.take(value)
                    if sorter.is_full:
                        break
            except NotCuttableError:
                continue
            return sorter.result()
    raise AssertionError("an input that is read whole is never cut")


def read_objects(values: Iterable[Value]) -> Manifests:
    """Take objects that stand inside another text and are read already, with their places."""
    sorter = _Sorter()
    for value in values:
        sorter.take(value)
    return sorter.result()


Elements = Iterator[tuple[Value, str, str]]
"""Values, each with the kind and the API version that it has where it does not say."""


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the garbage collector from looking through a growing heap again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Sorter:
    """Sorts values by what they are."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.notes: list[Note] = []
        self.problems: list[Problem] = []
        self.unread: list[Problem] = []  # what is no YAML or JSON
        self.waiting: list[Value] = []  # elements of a list that was cut, without a kind
        self.before: tuple[int, int, int] | None = None  # how much there was before that list

    def result(self) -> Manifests:
        for value in self.waiting:
            self.problems.append(_no_kind(value.place))
        problems = sorted((*self.unread, *self.problems), key=lambda each: each.place.line)
        if len(problems) >= MAX_PROBLEMS:
            place = problems[MAX_PROBLEMS - 1].place
            cause = f"there are {MAX_PROBLEMS} problems up to here: what follows was not read"
            problems[MAX_PROBLEMS:] = [Problem(place, cause, "solve these first")]
        return Manifests(tuple(self.documents), tuple(self.notes), tuple(problems))

    @property
    def is_full(self) -> bool:
        """Whether there are so many problems that reading on would help nobody."""
        return len(self.problems) + len(self.unread) >= MAX_PROBLEMS

    def take(self, value: Value | Problem) -> None:
        """Take what comes next."""
        if isinstance(value, Problem):
            self.unread.append(value)
            return
        if value.form is Form.ITEM and self.before is None:
            self.before = len(self.documents), len(self.notes), len(self.problems)
        elif value.form is not Form.ITEM:
            self._end_cut_list(value)
        todo: list[Elements] = [iter([(value, "", "")])]
        while todo and not self.is_full:
            element = next(todo[-1], None)
            if element is None:
                todo.pop()
                continue
            try:
                todo.append(self._sort(*element))
            except ObjectError as error:
                self.problems.append(_problem(element[0], error))

    def _end_cut_list(self, frame: Value) -> None:
        """Drop the elements again where what is left of the list shows that it is none."""
        before, self.before = self.before, None
        try:
            head = decode_part(frame.json, Envelope)
        except ObjectError:  # which will be found again
            return
        if before and not (head.kind or "").endswith("List"):
            del self.documents[before[0] :], self.notes[before[1] :], self.problems[before[2] :]
            self.waiting.clear()

    def _sort(self, value: Value, kind: str, version: str) -> Elements:
        """Put a value where it belongs; of a list, give the elements with their defaults."""
        head = decode_part(value.json, Envelope)
        known = bool(head.kind and head.api_version)
        kind, version = head.kind or kind, head.api_version or version
        if value.form is Form.FRAME and kind.endswith("List"):
            waiting, self.waiting = self.waiting, []
            return ((each, *_element_defaults(kind, version)) for each in waiting)
        if value.form is Form.ITEM and not kind:
            self.waiting.append(value)
        elif not kind:
            self.problems.append(_no_kind(value.place))
        elif not version:
            cause = f"the object of kind {quote(kind, _SHOWN)} has no `apiVersion`"
            self.problems.append(Problem(value.place, cause, "add one, such as `apiVersion: v1`"))
        elif kind.endswith("List") and (head.items is not None or _is_known_list(kind, version)):
            return _elements(value, head.items or [], kind, version)
        else:
            data = value.json if known else _with_type(value.json, kind, version)
            self._object(replace(value, json=data), kind, version, head.metadata)
        return iter(())

    def _object(self, value: Value, kind: str, version: str, title: Title | None) -> None:
        if KINDS.get(kind) == version:
            data = _compact(value.json)
            self.documents.append(Document(kind, data, value.place, "", value.source))
            return
        served, path = TEMPLATES.get(kind, ("", ()))
        if served == version:
            document = _of_template(value, kind, version, path)
            if kind in OWNER_KINDS:
                document = replace(document, selecting=_compact(value.json))
            self.documents.append(document)
            return
        name = (title and (title.name or title.generate_name)) or ""
        reason = _why_not(kind, version)
        self.notes.append(Note(kind[:_SHOWN], name[:253], value.place, reason))


def _is_known_list(kind: str, version: str) -> bool:
    """Say whether it is a list even without items."""
    own = kind.removesuffix("List")
    return version == (KINDS.get(own) or TEMPLATES.get(own, ("",))[0] if own else "v1")


def _element_defaults(kind: str, version: str) -> tuple[str, str]:
    """Give what elements without a kind are: those of a `PodList` are pods."""
    own = kind.removesuffix("List")
    return (own, version) if own else ("", "")


def _elements(value: Value, raws: list[msgspec.Raw], kind: str, version: str) -> Elements:
    known = len(value.elements) == len(raws)
    places = iter(value.elements) if known else _places(value, raws)
    source = value.source
    for at, (raw, place) in enumerate(zip(raws, places, strict=True)):
        inner = source and Source(
            source.text, source.line, source.document, (*source.path, "items", at)
        )
        element = Value(bytes(raw), place, Form.WHOLE, inner)
        yield (element, *_element_defaults(kind, version))


def _places(value: Value, raws: list[msgspec.Raw]) -> Iterator[Place]:
    """Find the elements of a list in its JSON, between which there is only space and a comma."""
    data, line = value.json, value.place.line
    at = data.find(bytes(raws[0]), data.find(b'"items"')) if raws else 0
    last, start = 0, -1
    for index, raw in enumerate(raws):
        line += data.count(b"\n", last, at)
        start = max(start, data.rfind(b"\n", last, at))  # of the line, less one
        item = f"{value.place.item}.items[{index}]" if value.place.item else f"items[{index}]"
        yield Place(value.place.file, line, at - start, item)
        last = at
        gap = _GAP.match(data, at + len(bytes(raw)))
        at = gap.end() if gap else len(data)


def _with_type(data: bytes, kind: str, version: str) -> bytes:
    """Give the object its `kind` and `apiVersion`, which the elements of raw lists lack."""
    return msgspec.json.encode({"apiVersion": version, "kind": kind} | _as_dict(data))


def _as_dict(data: bytes) -> dict[str, Any]:
    return decode_part(data, dict[str, Any])


def _compact(data: bytes) -> bytes:
    return msgspec.json.format(data, indent=-1) if b"\n" in data else data


def _of_template(value: Value, kind: str, version: str, path: tuple[str, ...]) -> Document:
    workload = _as_dict(value.json)
    template: Any = workload
    for at, step in enumerate(path):
        template = template.get(step) if isinstance(template, dict) else None
        if template is None:
            where = ".".join(path)
            raise ObjectError(f"the {kind} has no pod template at `{where}`", path[:at])
    if not isinstance(template, dict):
        raise ObjectError("expected map, got something else", path)
    pod = _pod_of(template, workload.get("metadata") or {}, kind, version)
    source = value.source and Source(
        value.source.text,
        value.source.line,
        value.source.document,
        (*value.source.path, *path),
    )
    return Document("Pod", msgspec.json.encode(pod), value.place, kind, source)


def _pod_of(
    template: dict[str, Any], metadata: dict[str, Any], kind: str, version: str
) -> dict[str, Any]:
    """Make the pod that the controller would make, except for what only it can know."""
    name = metadata.get("name") or metadata.get("generateName") or ""
    owner = {
        "apiVersion": version,
        "kind": _MAKERS.get(kind, kind),
        "name": name,
        "uid": metadata.get("uid") or "",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    own = template.get("metadata") or {}
    made = {**own, "name": name, "generateName": f"{name}-"} if isinstance(own, dict) else own
    if isinstance(made, dict):
        made.pop("namespace", None)
        if metadata.get("namespace"):
            made["namespace"] = metadata["namespace"]
        if kind != "PodTemplate":
            made["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec")}


def _why_not(kind: str, version: str) -> str:
    """Say why an object of this kind is left out."""
    known = KINDS.get(kind) or TEMPLATES.get(kind, ("", ()))[0]
    if not known:
        return "rules do not read objects of this kind"
    group = version.rpartition("/")[0]
    if group in _OWN_GROUPS:
        return f"Kubernetes does not serve {kind} in {version}, but in {known}"
    return f"{version} is not Kubernetes' own {known}, and its objects are made otherwise"


def _no_kind(place: Place) -> Problem:
    return Problem(place, "the object has no `kind`", "add `apiVersion` and `kind`")


def _problem(value: Value, error: ObjectError) -> Problem:
    inside = value.source if error.path else None
    place = inside.place(value.place, error.path) if inside else value.place
    return Problem(place, error.cause, error.remedy)
