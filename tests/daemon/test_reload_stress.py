"""Many threads decide while rules are replaced: each decision is of one version, whole."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from policyd.language.source import Source
from policyd.policy.decide import decide
from policyd.policy.load import load
from policyd.policy.outcome import Offer, Origin, Text
from policyd.policy.store import RulesetStore
from policyd.values.times import Timestamp
from tests.daemon.reloading import SECONDS, Reloading
from tests.policy.build import as_pod, node, pod, snapshot

DECIDERS = 16
VERSIONS = 5
POD = as_pod(pod(cpu="1"))
CLUSTER = snapshot(*(node(f"n{at}", cpu=str(2 + at)) for at in range(VERSIONS)))
# Each version takes another node, by three rules and a parameter that must be of one version.
RULES = """
param wanted = "n{version}"

rule "by-name" {{
  require node.name == wanted because "version {version}"
}}

rule "by-room" {{
  require node.free.cpu == {cpus} because "version {version}"
}}

rule "score-{version}" {{
  prefer node.name == "n{version}"
}}
"""
TEXTS = tuple(RULES.format(version=at, cpus=2 + at) for at in range(VERSIONS))
BAD = RULES.format(version=0, cpus="no-number")
NAME = "a.expr"


def verdicts(decision):
    """Give all that a decision says."""
    return (
        decision.chosen and decision.chosen.name,
        dict(decision.reasons),
        [
            (n.name, n.fits, n.total, [(v.rule.name, v.applies, v.rejects) for v in n.verdicts])
            for n in decision.nodes
        ],
    )


def expected(name):
    """Give for each version's hash what a decision under it must say."""
    sets = [load([Source(name, text)]) for text in TEXTS]
    found = {made.hash: verdicts(decide(made, POD, CLUSTER)) for made in sets}
    assert {said[0] for said in found.values()} == {f"n{at}" for at in range(VERSIONS)}
    return found


class Deciders:
    """Threads that decide until they are told to stop, and check each decision."""

    def __init__(self, store, said):
        self.store = store
        self.said = said
        self.ready = threading.Barrier(DECIDERS + 1)
        self.done = threading.Event()

    def decide(self):
        self.ready.wait(SECONDS)
        seen = set()
        decisions = 0
        while not self.done.is_set():
            current = self.store.current
            decision = decide(current, POD, CLUSTER)
            assert decision.ruleset is current
            assert verdicts(decision) == self.said[current.hash]
            seen.add(current.hash)
            decisions += 1
        return decisions, seen

    def run(self, reload):
        """Reload in the middle of it; give how many decisions there were, under which hashes."""
        with ThreadPoolExecutor(DECIDERS) as pool:
            running = [pool.submit(self.decide) for _ in range(DECIDERS)]
            self.ready.wait(SECONDS)
            try:
                reload()
            finally:
                self.done.set()
            results = [one.result(SECONDS) for one in running]
        return sum(made for made, _ in results), set().union(*(seen for _, seen in results))


def test_each_decision_agrees_with_one_version_while_rules_are_replaced_without_pause():
    numbers = count()
    store = RulesetStore("policyd", now=lambda: Timestamp(next(numbers)))
    origin = Origin(0, "a")
    told = []
    store.listen(told.append)

    def offer(text):
        store.update({origin: Offer((Text(NAME, text),))})

    def reload():
        for at in range(100):
            offer(BAD if at % 10 == 5 else TEXTS[at % VERSIONS])

    offer(TEXTS[-1])
    decisions, seen = Deciders(store, expected(NAME)).run(reload)
    assert decisions > DECIDERS
    assert len(seen) > 1
    results = [result.value for outcome in told for result in outcome.results]
    assert results.count("installed") == store.generation == 91
    assert results.count("refused") == 10


def test_each_decision_agrees_with_one_version_while_files_are_reloaded(tmp_path):
    file = tmp_path / NAME
    file.write_text(TEXTS[0])
    with Reloading(tmp_path) as live:
        before = live.store.generation

        def reload():
            for at in range(1, 9):
                if at == 5:
                    file.write_text(BAD)
                    live.until_refused("")
                file.write_text(TEXTS[at % VERSIONS])
                live.until(
                    lambda state, at=at: (
                        state.texts[0].shown == TEXTS[at % VERSIONS] and state.refusal is None
                    )
                )

        decisions, seen = Deciders(live.store, expected(str(file))).run(reload)
        assert decisions > DECIDERS
        assert len(seen) > 1
        assert live.store.generation >= before + 8
