"""Measures how long a change of a rule file takes to count, while another thread decides.

    python tests/bench/reload.py

One thread decides without a pause for a pod on 1,000 nodes under `rules/fit.expr`, as the
scheduler does in a full queue. Another process saves the file again and again, each time with
another comment; the clock, which is one for all processes, runs from just before it opens the file.
"""

import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from policyd.daemon.clock import SystemClock
from policyd.daemon.reload import FileReload
from policyd.daemon.threads import Threads, short_turns
from policyd.policy.decide import decide
from policyd.policy.store import RulesetStore
from tests.policy.build import as_pod, node, pod, snapshot

RULES = Path(__file__).parents[2] / "rules" / "fit.expr"
NODES = 1000
RELOADS = 100
LONGEST_PAUSE = 0.05  # a random pause between reloads, so that they do not beat with the decisions
CHANCE = random.Random(1)  # noqa: S311 - nothing secret is made of it
SECONDS = 60


WRITER = """
import sys
from pathlib import Path
from time import perf_counter
file = Path(sys.argv[1])
text = file.read_text()
for number in sys.stdin:
    started = perf_counter()
    file.write_text(f"{text}// {number}")
    print(started, flush=True)
"""


class Editor:
    """Another process that saves the file."""

    def __init__(self, file: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(file)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def save(self, number: int) -> float:
        """Save the text with a number in it; give when that began."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(number, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.communicate(timeout=SECONDS)


class Decider:
    """Decides without a pause, and notes when the first decision under each rule set was made."""

    def __init__(self, store: RulesetStore) -> None:
        self.store = store
        self.pod = as_pod(pod(cpu="1", memory="1Gi"))
        self.cluster = snapshot(*(node(f"n{at:04}", cpu=str(1 + at % 8)) for at in range(NODES)))
        self.done = threading.Event()
        self.made = threading.Condition()
        self.first: dict[str, float] = {}
        self.seconds: list[float] = []

    def run(self) -> None:
        """Decide until it is done."""
        while not self.done.is_set():
            started = perf_counter()
            ruleset = self.store.current
            assert ruleset is not None
            assert decide(ruleset, self.pod, self.cluster).chosen is not None
            ended = perf_counter()
            self.seconds.append(ended - started)
            if ruleset.hash not in self.first:
                with self.made:
                    self.first[ruleset.hash] = ended
                    self.made.notify_all()

    def until_decided(self, name: str) -> float:
        """Wait for the first decision under a rule set; give when it was made."""
        with self.made:
            assert self.made.wait_for(lambda: name in self.first, SECONDS), "not decided"
            return self.first[name]


class Installed:
    """Notes when each text was in force."""

    def __init__(self, store: RulesetStore) -> None:
        self.news = threading.Condition()
        self.at: dict[str, tuple[float, str]] = {}
        store.listen(self.hear)

    def hear(self, outcome) -> None:
        """Note an outcome."""
        with self.news:
            state = outcome.state
            if outcome.is_installed:
                self.at[state.texts[0].shown] = (perf_counter(), state.ruleset.hash)
            self.news.notify_all()

    def until(self, text: str) -> tuple[float, str]:
        """Wait until a text is in force; give when it was, and its hash."""
        with self.news:
            assert self.news.wait_for(lambda: text in self.at, SECONDS), "not installed"
            return self.at[text]


@contextmanager
def running(folder: Path):
    """Run a reload of a folder."""
    clock = SystemClock()
    threads, store = Threads(clock), RulesetStore("policyd", now=clock.now)
    reload = FileReload([str(folder)], store, clock)
    installed = Installed(store)
    reload.start(threads)
    yield store, installed
    threads.stop()
    reload.stop()
    assert threads.join(SECONDS) == []


def measure(folder: Path, *, under_load: bool) -> dict[str, list[float]]:
    """Give the seconds from each save to the new set in force, and to the first decision by it."""
    file = folder / "fit.expr"
    text = RULES.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    found: dict[str, list[float]] = {"in force": [], "first decision": []}
    with running(folder) as (store, installed), ThreadPoolExecutor(1) as pool:
        decider, editor = Decider(store), Editor(file)
        deciding = pool.submit(decider.run) if under_load else None
        try:
            for at in range(RELOADS):
                threading.Event().wait(CHANCE.uniform(0, LONGEST_PAUSE))
                started = editor.save(at)
                in_force, name = installed.until(f"{text}// {at}\n")
                found["in force"].append(in_force - started)
                if under_load:
                    found["first decision"].append(decider.until_decided(name) - started)
        finally:
            decider.done.set()
            editor.close()
        if deciding is not None:
            deciding.result(SECONDS)
            found["one decision"] = decider.seconds
    return found


def row(what: str, seconds: Sequence[float]) -> str:
    """Give a line of the table."""
    in_order = sorted(seconds)
    p99 = in_order[min(len(in_order) - 1, round(0.99 * len(in_order)) - 1)]
    return f"| {what} | {median(in_order) * 1000:.1f} | {p99 * 1000:.1f} |"


def main(tell: Callable[[str], None] = print) -> None:
    """Measure, and print the table of docs/performance.md."""
    folders = (tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory())
    with folders[0] as quiet, folders[1] as busy, short_turns():  # as `policyd run` has them
        alone = measure(Path(quiet), under_load=False)
        loaded = measure(Path(busy), under_load=True)
    tell("| | p50 | p99 |\n| --- | ---: | ---: |")
    tell(row("new set in force, nothing else runs", alone["in force"]))
    tell(row("new set in force, under load", loaded["in force"]))
    tell(row("first decision under the new set made, under load", loaded["first decision"]))
    tell(row("(one decision of those that make the load)", loaded["one decision"]))


if __name__ == "__main__":
    main()
