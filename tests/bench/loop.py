"""Measures the scheduling loop on the embedded cluster: decisions a second, and memory.

    python tests/bench/loop.py

The loop is that of `policyd run`: one thread decides, by the engine, and the pool binds. All pods
wait from the start and all fit. They come from one template or from a hundred, which differ in
labels and requests, in turn. A cell ends after its pods or its seconds, whichever comes first.
"""

import gc
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_dump import write_dump

from policyd.daemon.clock import SystemClock
from policyd.daemon.threads import Threads, WorkerPool
from policyd.language.source import Source
from policyd.model.manifests import read_file
from policyd.model.node import Node, make_node
from policyd.model.snapshot import load_cluster
from policyd.model.wire import NodeHead
from policyd.policy.load import load
from policyd.policy.ruleset import Ruleset
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.profile import FixedProfile
from policyd.scheduler.queue import SchedulingQueue
from policyd.simulation.embedded import EmbeddedCluster
from policyd.values.times import Timestamp
from tests.policy.build import as_pod, node, pod, snapshot

ROOT = Path(__file__).parents[2]
RULE_SETS = {
    "fit, gpu, headroom": ("fit.expr", "gpu.expr", "headroom.expr"),
    "kubernetes": ("kubernetes.expr",),
}
NODES = (100, 1000, 5000)
TEMPLATES = (1, 100)
PODS = 3000
SECONDS = 10.0


def rule_set(names: Sequence[str]) -> Ruleset:
    """Compile shipped rules."""
    return load([Source(name, (ROOT / "rules" / name).read_text("utf-8")) for name in names])


def nodes(count: int):
    """Give nodes of three zones, with some taints, that have room for all pods."""
    made = []
    for at in range(count):
        labels = {
            "kubernetes.io/hostname": f"n{at:05}",
            "topology.kubernetes.io/zone": f"zone-{at % 3}",
            "topology.kubernetes.io/region": "region",
        }
        each = node(f"n{at:05}", labels, cpu="256", memory="1Ti", pods="1000")
        if at % 20 == 19:
            each["spec"] = {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}
        made.append(each)
    return snapshot(*made).nodes


def pods(count: int, templates: int):
    """Give pods of so many templates, in turn."""
    made = []
    for at in range(count):
        template = at % templates
        each = pod(
            f"p{at}",
            {"app": f"app-{template}"},
            cpu=f"{100 + 10 * (template % 10)}m",
            memory=f"{128 + 64 * (template // 10)}Mi",
        )
        each["metadata"]["uid"] = f"p{at}"
        made.append(as_pod(each))
    return made


class Watcher:
    """Counts what was placed, and how long the decisions took."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.seconds: list[float] = []
        self.done = threading.Event()

    def attempted(self, attempt) -> None:
        """Note an attempt, which must succeed: all pods fit."""
        assert attempt.result == "scheduled", attempt.message
        self.seconds.append(attempt.seconds)
        if len(self.seconds) == self.wanted:
            self.done.set()


def decisions(ruleset: Ruleset, node_count: int, templates: int) -> tuple[float, ...]:
    """Give the pods a second; and in seconds the CPU time of a pod, all threads together, and the
    median and the 99th percentile of a decision.
    """
    clock = SystemClock()
    queue, cache = SchedulingQueue(clock), Cache()
    cluster, threads, pool = EmbeddedCluster(cache, queue), Threads(clock), WorkerPool(clock)
    watcher = Watcher(PODS)
    scheduler = Scheduler(
        cluster=cluster,
        clock=clock,
        pool=pool,
        cache=cache,
        queue=queue,
        profile_of=lambda _: FixedProfile(ruleset),
        observer=watcher,
        deadline_seconds=SECONDS,
    )
    for made in nodes(node_count):
        cluster.put_node(made)
    for made in pods(PODS, templates):
        cluster.create(made)
    pool.start(threads)
    started, cpu = perf_counter(), process_time()
    threads.repeat("decider", scheduler.schedule_next)
    watcher.done.wait(SECONDS)
    seconds, cpu = perf_counter() - started, process_time() - cpu
    found = sorted(watcher.seconds)
    threads.stop()
    queue.close()
    assert threads.join(60, "decider") == []
    assert pool.stop(60)
    count = len(found)
    return count / seconds, cpu / count, median(found), found[round(0.99 * (count - 1))]


# --- memory ---


def cluster_memory(dump: Path) -> int:
    """Give what a cluster takes in the cache, in bytes, once all that it was read from is gone."""
    gc.collect()
    tracemalloc.start()
    cluster = load_cluster(read_file(dump), Timestamp(0))
    cache = Cache()
    for each in cluster.nodes:
        cache.put_node(without_pods(each))
    for each in cluster.pods:
        cache.put_pod(each)
    del cluster, each
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert cache.totals.nodes
    return taken


def without_pods(made: Node) -> Node:
    """Give a node as a watch tells of it, which knows no pods."""
    return make_node(made.json, msgspec.json.decode(made.json, type=NodeHead), [])


def memory(node_count: int, pod_count: int) -> int:
    """Give what a made-up cluster of such a size takes, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump.json"
        with dump.open("w", encoding="utf-8") as out:
            write_dump(out, nodes=node_count, pods_=pod_count, form="json")
        return cluster_memory(dump)


def main(tell: Callable[[str], None] = print) -> None:
    """Measure, and print the tables of docs/performance.md."""
    tell("| rules | nodes | templates | pods a second | CPU a pod | decision p50 | p99 |")
    tell("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, files in RULE_SETS.items():
        ruleset = rule_set(files)
        for count in NODES:
            for templates in TEMPLATES:
                rate, *times = decisions(ruleset, count, templates)
                figures = " | ".join([f"{rate:,.0f}", *(f"{each * 1e3:.2f} ms" for each in times)])
                tell(f"| {name} | {count:,} | {templates} | {figures} |")
    base, with_nodes, with_pods = memory(1, 1), memory(2001, 1), memory(2001, 20001)
    tell("")
    tell("| in the cache | KiB |\n| --- | ---: |")
    tell(f"| a node | {(with_nodes - base) / 2000 / 1024:.1f} |")
    tell(f"| a pod | {(with_pods - with_nodes) / 20000 / 1024:.1f} |")


if __name__ == "__main__":
    main()
