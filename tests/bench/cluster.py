"""Measures policyd on a real API server, with kube-scheduler beside it in the same run.

    python tests/bench/cluster.py [--nodes 1000] [--pods 3000] [--reloads 100] [--bound 10000]

Server, scheduler, and this script, which makes pods and watches them, share the machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Condition
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import Daemon, ProfileConfig, RunConfig
from policyd.daemon.threads import short_turns
from policyd.kube.config import from_kubeconfig
from policyd.kube.configmaps import LABEL
from tests.cluster.ground import Ground, place
from tests.controlplane.plane import ControlPlane
from tests.controlplane.program import AbsentError
from tests.daemon.running import running

RULES = Path(__file__).parents[2] / "rules"
RULE_SETS = {
    "policyd, fit, gpu, headroom": ("fit.expr", "gpu.expr", "headroom.expr"),
    "policyd, kubernetes": ("kubernetes.expr",),
}
KUBE_SCHEDULER = "kube-scheduler"
MAKERS = 4
SECONDS = 300


@contextmanager
def cluster(node_count: int) -> Iterator[tuple[ControlPlane, Ground, Path]]:
    """Run a control plane with nodes that have room for all pods."""
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Path(folder))
        plane.start()
        try:
            ground = Ground(plane.api(), "bench")
            for at in range(node_count):
                labels = {"topology.kubernetes.io/zone": f"zone-{at % 3}"}
                ground.add_node(f"{at:05}", labels, cpu="256", memory="1Ti", pods="1000")
            logs = Path(folder) / "run"
            logs.mkdir()
            yield plane, ground, logs
        finally:
            plane.kill()


def make_pods(
    plane: ControlPlane, ground: Ground, count: int, spec: Callable[[int], dict[str, str]]
) -> None:
    """Create pods by several connections at once, each with what its number says."""

    def some(first: int) -> None:
        api = plane.api()
        for at in range(first, count, MAKERS):
            api.create(ground.pods, ground.pod(f"p{at}", "100m", **spec(at)))

    with ThreadPoolExecutor(MAKERS) as pool:
        list(pool.map(some, range(MAKERS)))


# --- pods a second ---


def bind_times(ground: Ground, count: int, version: str) -> list[float]:
    """Watch until so many pods are bound; give when each was seen to be."""
    seen: dict[str, float] = {}
    ends = perf_counter() + SECONDS
    while perf_counter() < ends:  # the server may end a watch; it goes on where it was
        for event in ground.api.watch(ground.pods, resourceVersion=version, timeoutSeconds=SECONDS):
            metadata = event["object"]["metadata"]
            version = metadata["resourceVersion"]
            if event["type"] == "MODIFIED" and place(event["object"]):
                seen.setdefault(metadata["name"], perf_counter())
                if len(seen) == count:
                    return list(seen.values())
    raise AssertionError(f"{len(seen)} of {count} pods were placed")


@contextmanager
def scheduling(plane: ControlPlane, ground: Ground, logs: Path, who: str) -> Iterator[None]:
    """Run kube-scheduler, or policyd with one of its rule sets."""
    if who == KUBE_SCHEDULER:
        with plane.scheduler():
            yield
        return
    paths = ",".join(str(RULES / name) for name in RULE_SETS[who])
    options = ("--profile", f"{ground.name}={paths}", "--kubeconfig", plane.kubeconfig)
    with running(logs, *options, "--log-level", "warning"):
        yield


def pods_a_second(node_count: int, pod_count: int) -> dict[str, float]:
    """Let each place the same pods, all of which wait: the rate from the first to the last bind."""
    rates = {}
    with cluster(node_count) as (plane, ground, logs):
        for who in (KUBE_SCHEDULER, *RULE_SETS):
            scheduler = "default-scheduler" if who == KUBE_SCHEDULER else ground.name
            make_pods(plane, ground, pod_count, lambda _, s=scheduler: {"scheduler": s})
            version = ground.api.get(ground.pods, limit=1)["metadata"]["resourceVersion"]
            with scheduling(plane, ground, logs, who):
                times = bind_times(ground, pod_count, version)
            rates[who] = (pod_count - 1) / (times[-1] - times[0])
            ground.remove_pods()
    return rates


# --- a patch of a ConfigMap ---


class FirstDecisions:
    """Notes when the first decision under each rule set was made."""

    def __init__(self) -> None:
        self._made = Condition()
        self._at: dict[str, float] = {}

    def attempted(self, attempt) -> None:
        """Note an attempt. What binding took comes after the decision, and is taken off."""
        if attempt.ruleset is None or attempt.ruleset.hash in self._at:
            return
        with self._made:
            after = attempt.bind_wait_seconds + attempt.bind_seconds
            self._at[attempt.ruleset.hash] = perf_counter() - after
            self._made.notify_all()

    def wait(self, count: int) -> float:
        """Wait for so many rule sets; give when the first decision under the last was made."""
        with self._made:
            assert self._made.wait_for(lambda: len(self._at) >= count, SECONDS)
            return max(self._at.values())


STREAM = """
import sys
from itertools import count
from pathlib import Path
from tests.cluster.ground import Ground
from tests.controlplane.api import Api
ground = Ground(Api(Path(sys.argv[1])), sys.argv[2] + "-stream")
ground.name = sys.argv[2]
for at in count():
    ground.add_pod(f"s{at}", "10m")
"""


@contextmanager
def stream(plane: ControlPlane, ground: Ground) -> Iterator[None]:
    """Let another process create pods, one after another, without a pause."""
    command = [sys.executable, "-c", STREAM, str(plane.kubeconfig), ground.name]
    process = subprocess.Popen(command, cwd=RULES.parent)
    try:
        yield
        assert process.poll() is None, "pods came no more"
    finally:
        process.kill()
        process.wait()


def patches(node_count: int, times: int) -> list[float]:
    """Give the seconds from before each patch to the first decision under the new rules."""
    text = (RULES / "fit.expr").read_text(encoding="utf-8")
    found = []
    with cluster(node_count) as (plane, ground, _), short_turns():
        maps = f"{ground.space}/configmaps"
        metadata = {"name": "rules", "labels": {LABEL: ground.name}}
        ground.api.create(maps, {"metadata": metadata, "data": {"fit.expr": text}})
        config = RunConfig((ProfileConfig(ground.name, ()),), port=0, awaits=("configmaps",))
        kube = KubeConfig(from_kubeconfig([str(plane.kubeconfig)]), ground.name)
        first = FirstDecisions()
        daemon = Daemon(config, lambda site: KubeFeed(site, kube), traces=first)
        daemon.start()
        with stream(plane, ground):
            first.wait(1)
            for number in range(times):
                more = f'\nrule "n{number}" {{ require {number} >= 0 || node.unschedulable }}\n'
                started = perf_counter()
                ground.api.patch(f"{maps}/rules", {"data": {"fit.expr": text + more}})
                found.append(first.wait(number + 2) - started)
        assert daemon.stop()
    return sorted(found)


# --- start and memory ---


def resident(process: int) -> float:
    """Give the memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def start(node_count: int, bound: int) -> tuple[float, float]:
    """Give the seconds from the start of policyd to the first bind, and the MiB it has then."""
    with cluster(node_count) as (plane, ground, logs):
        names = list(ground.nodes)
        make_pods(plane, ground, bound, lambda at: {"nodeName": names[at % len(names)]})
        if node_count:
            ground.add_pod("first")
        version = ground.api.get(ground.pods, limit=1)["metadata"]["resourceVersion"]
        paths = ",".join(str(RULES / name) for name in next(iter(RULE_SETS.values())))
        options = ("--profile", f"{ground.name}={paths}", "--kubeconfig", plane.kubeconfig)
        started = perf_counter()
        with running(logs, *options, "--log-level", "warning") as policyd:
            if node_count:
                seconds = bind_times(ground, 1, version)[0] - started
            policyd.wait_until_ready()
            if not node_count:
                seconds = perf_counter() - started
            return seconds, resident(policyd.process.pid)


def arguments() -> argparse.Namespace:
    """Read the sizes from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in (("nodes", 1000), ("pods", 3000), ("reloads", 100), ("bound", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=count)
    return parser.parse_args()


def main(tell: Callable[[str], None] = print) -> None:
    """Measure, and print the tables of docs/performance.md."""
    sizes = arguments()
    tell(f"| {sizes.pods:,} pods on {sizes.nodes:,} nodes | pods a second |\n| --- | ---: |")
    for who, rate in pods_a_second(sizes.nodes, sizes.pods).items():
        tell(f"| {who} | {rate:,.0f} |")
    found = patches(sizes.nodes, sizes.reloads)
    p50, p99 = median(found), found[round(0.99 * (len(found) - 1))]
    tell(
        f"\n| {len(found)} patches of a ConfigMap, under load | p50 | p99 |\n| --- | ---: | ---: |"
    )
    tell(f"| first decision under the new set | {p50 * 1e3:.0f} ms | {p99 * 1e3:.0f} ms |")
    tell("\n| start of `policyd run` | until | seconds | memory |\n| --- | --- | ---: | ---: |")
    seconds, memory = start(0, 0)
    tell(f"| nothing there | ready | {seconds:.2f} | {memory:.0f} MiB |")
    seconds, memory = start(sizes.nodes, sizes.bound)
    size = f"{sizes.nodes:,} nodes, {sizes.bound:,} pods"
    tell(f"| {size} | first pod placed | {seconds:.2f} | {memory:.0f} MiB |")


if __name__ == "__main__":
    try:
        main()
    except AbsentError as absent:
        print(f"nothing is measured on an API server: {absent}")
