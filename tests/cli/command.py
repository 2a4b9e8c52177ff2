"""Runs the command line in this process, and has small inputs for it."""

import os
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from click.testing import CliRunner

from policyd.cli.main import policyd


class Ran(NamedTuple):
    """What a command did: its exit status, and what it wrote."""

    status: int
    out: str
    err: str


def run(*arguments: str, given: str | bytes = "", env: dict[str, str] | None = None) -> Ran:
    """Run a command; `given` is its standard input."""
    runner = CliRunner(env={"NO_COLOR": None, "FORCE_COLOR": None, **(env or {})})
    done = runner.invoke(
        policyd, list(arguments), input=given, prog_name="policyd", catch_exceptions=False
    )
    return Ran(done.exit_code, done.stdout, done.stderr)


def text(indented: str) -> str:
    """Give a text that stands indented in a test, as the command prints it."""
    return dedent(indented).lstrip("\n")


def documents(*manifests: str) -> str:
    """Give one YAML text of several."""
    return "---\n".join(text(manifest).rstrip() + "\n" for manifest in manifests)


def snapshot(name: str, current: str) -> str:
    """Give the output that `snapshots/NAME.txt` holds; UPDATE_SNAPSHOTS=1 makes it the current."""
    path = Path(__file__).parent / "snapshots" / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(current, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def write(path: str, content: str) -> str:
    """Write a file below the current folder, with folders where they are missing; give its path."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text(content), encoding="utf-8")
    return path


NODES = """
    apiVersion: v1
    kind: Node
    metadata: {name: small, labels: {disk: hdd, topology.kubernetes.io/zone: a}}
    status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: big, labels: {disk: ssd, topology.kubernetes.io/zone: b}}
    status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: middle, labels: {disk: ssd}}
    status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
"""

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: shop, labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web
          resources: {requests: {cpu: "3", memory: 8Gi}}
"""

HUGE = """
    apiVersion: v1
    kind: Pod
    metadata: {name: huge}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "99"}}}]}
"""

RULES = """
    rule "room" {
      require node.free.cpu >= pod.requests.cpu
              because "Insufficient cpu"
    }

    rule "fast-disk" {
      when   pod.labels["app"] == "web"
      prefer node.labels["disk"] == "ssd"  weight 2
    }

    rule "only-batch" {
      when    pod.labels["app"] == "batch"
      require node.labels["disk"] == "hdd"
    }
"""
