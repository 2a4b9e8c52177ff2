"""Pods that files bring into a cluster in memory.

Drop a manifest, and its pods wait; remove it, and they are gone. A file that cannot be read
leaves what it brought before, and a message says why.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from policyd.daemon.threads import Threads
from policyd.model.manifests import Document, Manifests, read_file
from policyd.model.pod import Pod
from policyd.model.snapshot import load_pods
from policyd.scheduler.protocols import Clock
from policyd.simulation.embedded import EmbeddedCluster

LOOK_SECONDS: Final = 0.5
"""How often the files are looked at."""

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_LOG: Final = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]
_Name = tuple[str, str]


class PodFiles:
    """A file or a directory of manifests. Belongs to the thread that looks at it."""

    def __init__(self, path: str, cluster: EmbeddedCluster, clock: Clock) -> None:
        self._path = Path(path)
        self._cluster = cluster
        self._clock = clock
        self._stamps: dict[Path, _Stamp] = {}
        self._brought: dict[Path, dict[_Name, Pod]] = {}
        self._made = 0

    def start(self, threads: Threads) -> None:
        """Look once, and then again and again on a thread of its own."""
        self.look()

        def turn(seconds: float) -> None:
            if not threads.stopping.wait(min(seconds, LOOK_SECONDS)):
                self.look()

        threads.repeat("pod-files", turn)

    def look(self) -> None:
        """Take over what changed since the last time."""
        stamps = dict(self._found())
        for path in [path for path in self._brought if path not in stamps]:
            self._take(path, {})
            del self._brought[path]
        for path, stamp in stamps.items():
            if self._stamps.get(path) != stamp:
                self._read(path)
        self._stamps = stamps

    def _found(self) -> Iterable[tuple[Path, _Stamp]]:
        try:
            is_directory = self._path.is_dir()
            paths = sorted(self._path.iterdir()) if is_directory else [self._path]
        except OSError as error:
            _LOG.warning("%s cannot be looked at: %s", self._path, error.strerror or error)
            return
        for path in paths:
            if is_directory and (path.name.startswith(".") or path.suffix not in _SUFFIXES):
                continue
            try:
                found = path.stat()
            except OSError:  # it is gone, or not there yet
                continue
            yield path, (found.st_ino, found.st_size, found.st_mtime_ns)

    def _read(self, path: Path) -> None:
        manifests = read_file(path)
        named = Manifests(tuple(self._admitted(path, d) for d in manifests.of_kind("Pod")))
        pods = load_pods(named)
        for problem in (*manifests.problems, *pods.problems):
            _LOG.warning("%s: %s", problem.place, problem.cause)
        if not (manifests.problems or pods.problems):
            self._take(path, {(pod.namespace, pod.name): pod for pod in pods.pods})

    def _admitted(self, path: Path, document: Document) -> Document:
        """Give a pod what an API server would: a uid of its own, and the time of its creation."""
        raw: dict[str, Any] = msgspec.json.decode(document.json)
        metadata = raw.get("metadata")
        if not isinstance(metadata, dict):
            return document  # which is no pod, as will be said
        known = self._known(path, metadata)
        if known is not None:
            given = {"uid": known.uid, "creationTimestamp": _created(known)}
        else:
            self._made += 1
            given = {"uid": f"file-{self._made}", "creationTimestamp": str(self._clock.now())}
        raw["metadata"] = {**given, **{key: each for key, each in metadata.items() if each}}
        return replace(document, json=msgspec.json.encode(raw))

    def _known(self, path: Path, metadata: Mapping[str, Any]) -> Pod | None:
        name = metadata.get("name") or metadata.get("generateName")
        return self._brought.get(path, {}).get((metadata.get("namespace") or "default", name or ""))

    def _take(self, path: Path, pods: dict[_Name, Pod]) -> None:
        before = self._brought.get(path, {})
        for name in before.keys() - pods.keys():
            self._cluster.delete(before[name])
            _LOG.info("pod %s/%s is gone with its manifest", *name)
        for name, pod in pods.items():
            known = before.get(name)
            if known is not None and known.json == pod.json:
                continue
            if known is not None and self._cluster.is_bound(known):
                _LOG.warning("pod %s/%s is on a node already: a change of it comes too late", *name)
                continue
            self._cluster.create(pod)
        self._brought[path] = pods


def _created(pod: Pod) -> str:
    return str(pod.created) if pod.created is not None else ""
