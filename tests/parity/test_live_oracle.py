"""The default policy gives the real scheduler's answers to whatever Hypothesis thinks of.

The oracle is kube-scheduler's own framework, in the Go program of `tests/controlplane`: one process
that answers one scenario a line.
"""

import json
import subprocess
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.parity.compare import answer, default_rules, difference
from tests.parity.drawing import Drawing


@pytest.fixture(scope="module")
def ask(go_program):
    """Give what answers a scenario as kube-scheduler would."""
    with subprocess.Popen(
        [go_program, "oracle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def asked(scenario):
            process.stdin.write(json.dumps(scenario) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield asked
        process.stdin.close()


@pytest.fixture(scope="module")
def ruleset():
    return default_rules()


def differing(ask, ruleset, source):
    """Draw a scenario; give it and where the answers differ, or nothing if there is no answer.

    The scheduler ends with an error for some selectors that the API server would refuse.
    """
    scenario = Drawing(source).scenario("drawn-live")
    theirs = ask(scenario)
    if theirs.get("error"):
        return scenario, None
    return scenario, difference(answer(ruleset, scenario), theirs)


@pytest.mark.timeout(1800)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(source=st.randoms(use_true_random=False))
def test_the_scheduler_gives_the_same_answers(ask, ruleset, source):
    scenario, found = differing(ask, ruleset, source)
    note(json.dumps(scenario))
    assert not found


@pytest.mark.timeout(1800)
def test_the_scheduler_gives_the_same_answers_to_many(ask, ruleset):
    """Three thousand more, the same each time; most of them must have an answer."""
    unanswered = 0
    for seed in range(3000):
        scenario, found = differing(ask, ruleset, Random(seed))  # noqa: S311 - nothing is secret
        unanswered += found is None
        assert not found, json.dumps(scenario)
    assert unanswered < 150
