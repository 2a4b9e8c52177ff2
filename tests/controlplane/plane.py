"""A control plane that a test may start, kill, start again and compact.

It runs `controlplane up`, or the programs of KUBEBUILDER_ASSETS, in a folder of its own and as a
process group of its own, so that SIGKILL takes etcd as well. Started again, it has the same
objects, keys, address and kubeconfig.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import urllib3

from tests.controlplane.api import Api
from tests.controlplane.assets import assets
from tests.controlplane.program import program
from tests.shared import ROOT

STOP_SECONDS = 30
LOG_TAIL = 4_000


class NotReadyError(Exception):
    """The control plane ended before it was ready; the message has the end of its log."""


class ControlPlane:
    """One control plane in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.log = folder / "log"
        self.server = ""
        self.etcd = ""
        self.version = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> None:
        """Start it and wait until it is ready; `flags` go to kube-apiserver.

        Raises NotReadyError.
        """
        assert self._process is None, "it runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_command(), "--data-dir", str(self.folder), "--", *flags],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._forget()
            raise NotReadyError(self.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:])
        said = json.loads(line)
        self.server, self.etcd, self.version = said["server"], said["etcd"], said["version"]

    def stop(self) -> int:
        """Stop it as its owner's end would, by the end of its input; gives its exit status."""
        assert self._process
        assert self._process.stdin
        self._process.stdin.close()
        try:
            return self._process.wait(timeout=STOP_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill server and etcd with SIGKILL; nothing where they run no more."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._forget()

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()

    def terminate(self) -> int:
        """Stop it by SIGTERM; gives its exit status."""
        assert self._process
        self._process.terminate()
        try:
            return self._process.wait(timeout=STOP_SECONDS)
        finally:
            self.kill()

    def api(self, *, context: str | None = None, token: str | None = None) -> Api:
        """Give a client: the administrator's, or that of a token's owner."""
        return Api(self.kubeconfig, context=context, token=token)

    def compact(self) -> int:
        """Forget in etcd all revisions but the last, and give that one.

        A watch that the API server answers from etcd and that starts before it gets status 410.
        """
        revision = int(self._etcd("kv/range", {"key": "AA=="})["header"]["revision"])
        self._etcd("kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def _etcd(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = urllib3.request("POST", f"{self.etcd}/v3/{method}", json=body, timeout=30)
        assert answer.status == 200, f"etcd said {answer.status}: {answer.data!r}"
        return dict(answer.json())

    @contextlib.contextmanager
    def scheduler(self, config: Path | None = None, *, port: int = 0) -> Iterator[None]:
        """Let a kube-scheduler run on this control plane; with a port it serves /metrics there."""
        flags = [f"--kubeconfig={self.kubeconfig}", f"--port={port}"]
        flags += [f"--config={config}"] if config else []
        with (self.folder / "scheduler.log").open("ab") as log:
            process = subprocess.Popen(
                [program("controlplane"), "scheduler", *flags], stdin=subprocess.DEVNULL, stderr=log
            )
        try:
            yield
            assert process.poll() is None, f"kube-scheduler ended by itself: see {log.name}"
        finally:
            process.kill()
            process.wait()


def _command() -> list[str]:
    if assets():
        return [sys.executable, "-m", "tests.controlplane.assets"]
    return [str(program("controlplane")), "up"]


def oracle(scenarios: bytes) -> list[dict[str, Any]]:
    """Answer scenarios, one JSON object a line, as kube-scheduler would.

    An answer that the scheduler could not give has `error`; then CalledProcessError is raised.
    """
    done = subprocess.run(
        [program("controlplane"), "oracle"], input=scenarios, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
