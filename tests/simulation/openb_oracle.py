"""The OpenB policies once more, as their description has them, in plain Python and by themselves.

Nothing of policyd is used here: what the rules of `rules/openb/` do in the loop must come to the
same placements.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import exp

WHOLE = 1000


@dataclass(frozen=True)
class Job:
    """A pod: millicores, MiB, GPUs, and thousandths of each GPU."""

    name: str
    cpu: int
    memory: int
    gpus: int
    milli: int
    models: tuple[str, ...] = ()


@dataclass
class Machine:
    """A node, with what is left of it."""

    name: str
    cpu: int
    memory: int
    gpus: int
    model: str
    left: list[int] = field(default_factory=list)

    def __post_init__(self):
        self.left = [WHOLE] * self.gpus

    def fits(self, job):
        if job.cpu > self.cpu or job.memory > self.memory:
            return False
        if job.models and self.model not in job.models:
            return False
        return sum(left >= job.milli for left in self.left) >= job.gpus if job.gpus else True


def packed(machine, job):
    """Give the devices that a job takes where the policy does not say: the fullest, the first."""
    if job.gpus == 1 and job.milli < WHOLE:
        able = [at for at, left in enumerate(machine.left) if left >= job.milli]
        return [min(able, key=lambda at: (machine.left[at], at))]
    return [at for at, left in enumerate(machine.left) if left == WHOLE][: job.gpus]


def best_fit(machine, job, _):
    cpu = (machine.cpu - job.cpu) / 1000 / 128 / 2
    gpu = (sum(machine.left) - job.gpus * job.milli) / 1000 / 8 / 2
    return int(100.0 * (1.0 - (cpu + gpu))), packed(machine, job)


def dot_product(machine, job, _):
    cpu = machine.cpu / 1000 / 128.0 * (job.cpu / 1000 / 128.0)
    gpu = sum(machine.left) / 1000 / 8.0 * (job.gpus * job.milli / 1000 / 8.0)
    return int(100.0 * (1.0 - (cpu + gpu) / 2.0)), packed(machine, job)


def gpu_packing(machine, job, _):
    devices = packed(machine, job)
    if not job.gpus:
        return 0, devices
    free = sum(left == WHOLE for left in machine.left)
    if free == machine.gpus:
        return 33 - free, devices
    taken = sum(machine.left[at] == WHOLE for at in devices)
    if taken:
        return max(50 - taken, 33), devices
    return max(100 - machine.left[devices[0]] // 100, 50), devices


def useless(shape, cpu, left, model):
    """Give what is idle and of no use to pods of a shape."""
    asked_cpu, gpus, milli, models = shape
    able = sum(each >= milli for each in left)
    if not gpus or asked_cpu > cpu or able < gpus or (models and model not in models):
        return sum(left)
    return sum(each for each in left if each < milli)


def fragmentation(machine, job, shapes):
    def of(cpu, left):
        total = 0.0
        for shape, frequency in shapes:
            total += frequency * useless(shape, cpu, left, machine.model)
        return total

    def score(devices):
        left = list(machine.left)
        for at in devices:
            left[at] -= job.milli
        after = of(machine.cpu - job.cpu, left)
        return int(100.0 / (1.0 + exp((after - before) / 1000.0)))

    before = of(machine.cpu, machine.left)
    if job.gpus == 1 and job.milli < WHOLE:
        able = [at for at, left in enumerate(machine.left) if left >= job.milli]
        best = max(able, key=lambda at: (score([at]), -at))
        return score([best]), [best]
    devices = packed(machine, job)
    return score(devices), devices


POLICIES = {
    "bestfit": best_fit,
    "dotprod": dot_product,
    "gpupacking": gpu_packing,
    "fgd": fragmentation,
}


def shapes_of(jobs):
    """Give the most frequent shapes that make up 95 % of the jobs, with their frequencies."""
    counts = Counter((job.cpu, job.gpus, job.milli, job.models) for job in jobs)
    by_size = sorted(counts.items(), key=lambda item: _order(*item), reverse=True)
    kept, covered = [], 0
    for shape, count in by_size:
        if covered < 0.95 * len(jobs):
            kept.append((shape, count))
            covered += count
    return [(shape, count / covered) for shape, count in kept]


def _order(shape, count):
    cpu, gpus, milli, models = shape
    return count, cpu, milli, gpus, models


def place(policy, machines, jobs, shapes):
    """Place jobs one after the other; give for each the machine and the devices, or nothing."""
    placed = {}
    for job in jobs:
        scored = [
            (*POLICIES[policy](machine, job, shapes), machine)
            for machine in sorted(machines, key=lambda machine: machine.name)
            if machine.fits(job)
        ]
        if not scored:
            placed[job.name] = None
            continue
        _, devices, machine = max(scored, key=lambda entry: entry[0])  # the first of equal ones
        machine.cpu -= job.cpu
        machine.memory -= job.memory
        for at in devices:
            machine.left[at] -= job.milli
        placed[job.name] = machine.name, tuple(sorted(devices))
    return placed
