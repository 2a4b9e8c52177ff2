"""Reads a file of rule tests into cases: for each a pod, a cluster, and what is expected."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from policyd.language.suggest import closest
from policyd.model.documents import Value
from policyd.model.manifests import KINDS, TEMPLATES, Document, Manifests, read_file, read_objects
from policyd.model.pieces import Form
from policyd.model.places import Note, Place, Problem
from policyd.model.pod import Pod
from policyd.model.sample import sample_cluster
from policyd.model.snapshot import Snapshot, load_cluster, load_pods
from policyd.model.wire import Named
from policyd.model.yaml_reader import Step
from policyd.ruletests.form import (
    SAMPLE,
    CaseForm,
    ClusterForm,
    ExpectForm,
    FileForm,
    Setting,
)
from policyd.ruletests.text import SuiteText, UnusableError, decode_text, read_text
from policyd.values.errors import ValueFault
from policyd.values.times import Timestamp, parse_timestamp

SUFFIX: Final = ".test.yaml"
"""How the names of files of tests end."""

_CLASSES: Final = frozenset({"PriorityClass", "RuntimeClass"})
_VERSIONS: Final = {**KINDS, **{kind: version for kind, (version, _) in TEMPLATES.items()}}
_UNNAMED: Final = "pod"  # what the pod of a test is called where its manifest does not say


@dataclass(frozen=True, slots=True)
class Case:
    """One test. `place` is that of its name; `settings` are the texts of parameters."""

    name: str
    place: Place
    pod: Pod
    snapshot: Snapshot
    settings: Mapping[str, str]
    expect: ExpectForm
    text: SuiteText
    path: tuple[Step, ...]

    def at(self, *path: Step) -> Place:
        """Give the place of something that is expected."""
        return self.text.place((*self.path, "expect", *path))


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one file, and the files of the rules that they are about."""

    name: str
    rules: tuple[str, ...]
    rules_place: Place
    cases: tuple[Case, ...]
    notes: tuple[Note, ...] = ()


def read_suite(path: Path) -> Suite:
    """Read a file of tests with all that it names, except for the rules.

    Raises:
        UnusableError: with everything that is wrong with it.
        OSError: the operating system refuses to read it.
    """
    text = read_text(path)
    form = decode_text(text)
    reader = _Reader(text, form)
    cases = reader.cases()
    reader.check_names(cases)
    if reader.problems:
        raise UnusableError(*dict.fromkeys(reader.problems))
    notes = tuple(dict.fromkeys(reader.notes))
    return Suite(text.name, reader.rules, text.place(("rules",)), tuple(cases), notes)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The objects of a cluster, and where in the file it is written."""

    manifests: Manifests
    path: tuple[Step, ...]


_Written = tuple[tuple[Step, ...], int, tuple[str, str] | None]
"""What a snapshot is made of: the path of a cluster, the time, and the pod that is left out."""


class _Reader:
    """Reads the cases of one file. Each cluster is read once for all cases that have it."""

    def __init__(self, text: SuiteText, form: FileForm) -> None:
        self.text = text
        self.form = form
        self.folder = Path(text.name).parent
        self.problems: list[Problem] = []
        self.notes: list[Note] = []
        self._files: dict[str, Manifests] = {}
        self._snapshots: dict[_Written, Snapshot] = {}

    @property
    def rules(self) -> tuple[str, ...]:
        """Give the files of the rules: those that are named, else the one beside the tests."""
        named = _listed(self.form.rules) or (
            Path(self.text.name).name.removesuffix(SUFFIX) + ".expr",
        )
        return tuple(self._beside(name) for name in named)

    def cases(self) -> list[Case]:
        """Read every case that can be read; what cannot leaves problems."""
        if not self.form.tests:
            self._problem(("tests",), "there are no tests in this file", "add one to `tests`")
        made = (self._case(form, ("tests", at)) for at, form in enumerate(self.form.tests))
        return [case for case in made if case is not None]

    def check_names(self, cases: Sequence[Case]) -> None:
        """Find tests of the same name, which `--run` and reports could not tell apart."""
        seen: dict[str, Place] = {}
        for case in cases:
            before = seen.setdefault(case.name, case.place)
            if before is not case.place:
                cause = f"another test is called so, on line {before.line}"
                self.problems.append(Problem(case.place, cause, "rename one of them"))

    def _case(self, form: CaseForm, path: tuple[Step, ...]) -> Case | None:
        known = len(self.problems)
        if not form.name.strip():
            self._problem((*path, "name"), "this test has no name", "say what it proves")
        if form.expect == ExpectForm():
            remedy = "say what must come out, such as `fits: true`"
            self._problem((*path, "expect"), "this test expects nothing", remedy)
        now = self._time(form, path)
        cluster = self._cluster(form, path)
        pod = None if cluster is None else self._pod(form, path, cluster)
        if cluster is None or pod is None or now is None:
            return None
        snapshot = self._snapshot(cluster, now, pod)
        if len(self.problems) > known:
            return None
        return Case(
            form.name,
            self.text.place((*path, "name")),
            pod,
            snapshot,
            _settings(self.form.set) | _settings(form.set),
            form.expect,
            self.text,
            path,
        )

    def _time(self, form: CaseForm, path: tuple[Step, ...]) -> Timestamp | None:
        at = (*path, "now") if form.now else ("now",)
        try:
            return parse_timestamp(form.now or self.form.now)
        except ValueFault as fault:
            self._problem(at, fault.message, "write it as in `2026-06-01T12:00:00Z`")
            return None

    # --- clusters ---

    def _cluster(self, form: CaseForm, path: tuple[Step, ...]) -> _Cluster | None:
        if form.cluster is not None:
            return self._read_cluster(form.cluster, (*path, "cluster"))
        if self.form.cluster is not None:
            return self._shared_cluster
        remedy = "add `cluster: FILE`, `cluster: sample`, or `cluster: {nodes: […]}`"
        self._problem(path, "this test has no cluster", remedy)
        return None

    @cached_property
    def _shared_cluster(self) -> _Cluster:
        return self._read_cluster(self.form.cluster or [], ("cluster",))

    def _read_cluster(
        self, form: str | list[str] | ClusterForm, path: tuple[Step, ...]
    ) -> _Cluster:
        if isinstance(form, ClusterForm):
            manifests = self._from_files(form.from_, (*path, "from"))
            manifests += self._inline(form.nodes, "Node", (*path, "nodes"))
            manifests += self._inline(form.pods, "Pod", (*path, "pods"))
            manifests += self._inline(form.objects, "", (*path, "objects"))
        else:
            manifests = self._from_files(form, path)
        self._take(manifests)
        if not any(manifests.of_kind("Node")) and not manifests.problems:
            self._problem(path, "this cluster has no node", "add one to `nodes`")
        return _Cluster(manifests, path)

    def _from_files(self, files: str | list[str], path: tuple[Step, ...]) -> Manifests:
        names = _listed(files)
        read = [
            self._file(name, path if isinstance(files, str) else (*path, at))
            for at, name in enumerate(names)
        ]
        return sum(read, start=Manifests())

    def _file(self, name: str, path: tuple[Step, ...]) -> Manifests:
        if name == SAMPLE:
            return self._files.setdefault(name, sample_cluster())
        found = self._beside(name)
        if not Path(found).is_file():
            remedy = "a name is looked for beside the file of tests"
            self._problem(path, f"there is no file `{found}`", remedy)
            return Manifests()
        if found not in self._files:
            self._files[found] = read_file(Path(found))
        return self._files[found]

    def _inline(
        self, objects: Sequence[dict[str, Any]], kind: str, path: tuple[Step, ...]
    ) -> Manifests:
        return read_objects(self._value(each, kind, (*path, at)) for at, each in enumerate(objects))

    def _value(self, content: dict[str, Any], kind: str, path: tuple[Step, ...]) -> Value:
        """Give a manifest in the text as an object, with its kind and version."""
        kind = content.get("kind") or kind
        version = _VERSIONS.get(kind) if isinstance(kind, str) else None
        typed = {"kind": kind} if kind else {}
        typed |= {"apiVersion": version} if version else {}
        data = msgspec.json.encode(typed | content)
        return Value(data, self.text.place(path), Form.WHOLE, self.text.source(path))

    def _snapshot(self, cluster: _Cluster, now: Timestamp, pod: Pod) -> Snapshot:
        """Give the cluster without the pod, which counts as waiting."""
        name = (pod.namespace, pod.name)
        inside = any(_name_of(each) == name for each in cluster.manifests.of_kind("Pod"))
        key = (cluster.path, now.nanos, name if inside else None)
        if key not in self._snapshots:
            manifests = _without(cluster.manifests, name) if inside else cluster.manifests
            snapshot = load_cluster(manifests, now)
            self.problems += snapshot.problems
            self.notes += snapshot.notes
            self._snapshots[key] = snapshot
        return self._snapshots[key]

    # --- pods ---

    def _pod(self, form: CaseForm, path: tuple[Step, ...], cluster: _Cluster) -> Pod | None:
        place = (*path, "pod")
        if isinstance(form.pod, str):
            given = self._file(form.pod, place)
        else:
            content = _named(form.pod, _UNNAMED)
            given = read_objects([self._value(content, "Pod", place)])
        self._take(given)
        classes = [each for each in cluster.manifests.documents if each.kind in _CLASSES]
        own = [each for each in given.documents if each.kind in {"Pod", *_CLASSES}]
        pods = load_pods(Manifests((*own, *classes)))
        self.problems += pods.problems
        self.notes += pods.notes
        if pods.problems or given.problems:
            return None
        return self._chosen(form, path, pods.pods)

    def _chosen(self, form: CaseForm, path: tuple[Step, ...], pods: Sequence[Pod]) -> Pod | None:
        name = form.pod_name
        found = [p for p in pods if name in ("", p.name, f"{p.namespace}/{p.name}")]
        if len(found) == 1:
            return found[0]
        known = list(dict.fromkeys(pod.name for pod in pods))
        near = closest(name, known) if name else None
        remedy = f"did you mean `{near}`?" if near else f"there are: {', '.join(known) or 'none'}"
        if not found and name:
            self._problem((*path, "podName"), f"there is no pod `{name}` there", remedy)
        elif pods:
            cause = f"there are {len(found)} such pods, and a test is about one"
            self._problem((*path, "pod"), cause, f"name it with `podName`; {remedy}")
        elif not self.problems:
            remedy = "give a Pod, or a workload such as a Deployment"
            self._problem((*path, "pod"), "there is no pod here", remedy)
        return None

    # --- what is found ---

    def _take(self, manifests: Manifests) -> None:
        self.problems += manifests.problems
        self.notes += manifests.notes

    def _problem(self, path: tuple[Step, ...], cause: str, remedy: str) -> None:
        self.problems.append(Problem(self.text.place(path), cause, remedy))

    def _beside(self, name: str) -> str:
        return os.path.normpath(self.folder / name)


def _listed(names: str | list[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _settings(given: Mapping[str, Setting]) -> dict[str, str]:
    """Give values of parameters as the texts that `--set` would be given."""
    return {name: _setting(value) for name, value in given.items()}


def _setting(value: Setting) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _named(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Give a manifest a name, where it has none."""
    metadata = content.get("metadata") or {}
    if not isinstance(metadata, dict) or metadata.get("name") or metadata.get("generateName"):
        return content
    return {**content, "metadata": {**metadata, "name": name}}


class _Head(msgspec.Struct):
    metadata: Named | None = None


def _name_of(document: Document) -> tuple[str, str] | None:
    """Give namespace and name of a pod of the cluster; a template is none."""
    try:
        head = msgspec.json.decode(document.json, type=_Head).metadata
    except msgspec.ValidationError:  # it will be a problem of the cluster
        return None
    if document.workload or head is None:
        return None
    return head.namespace or "default", head.name or ""


def _without(manifests: Manifests, pod: tuple[str, str]) -> Manifests:
    kept: Iterable[Document] = (
        each for each in manifests.documents if each.kind != "Pod" or _name_of(each) != pod
    )
    return replace(manifests, documents=tuple(kept))
