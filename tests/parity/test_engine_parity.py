"""The engine under kube-scheduler's default policy: the reference's decision in each scenario."""

from dataclasses import replace

from policyd.model.journal import Journal
from policyd.policy.decide import decide
from policyd.policy.engine import Engine
from tests.parity.compare import default_rules, read_lines, situation
from tests.shared import SHARED, needs_shared

_EACH = 4
"""Of the scenarios every fourth is taken, so that all kinds of them are met."""


@needs_shared
def test_the_engine_decides_every_scenario_as_the_reference_does():
    """All are one cluster to the engine, whose nodes are others each time: nothing may stay."""
    ruleset, journal = default_rules(), Journal()
    engine = Engine(journal)
    scenarios = read_lines(SHARED / "data" / "parity" / "scenarios.ndjson.gz")
    for number, scenario in enumerate(scenarios):
        if number % _EACH:
            continue
        given, pod = situation(scenario)
        for slot in range(len(given.nodes)):
            journal.add(slot)
        taken = replace(given, journal=journal, version=journal.version)
        found, expected = engine.decide(ruleset, pod, taken), decide(ruleset, pod, taken)
        assert found.node is expected.node, number
        assert found.tallies == expected.tallies, number
        assert found.node is not None or found.reasons == expected.reasons, number
    assert engine.refused == 0
