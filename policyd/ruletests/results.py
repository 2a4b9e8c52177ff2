"""What became of rule tests: which passed, and of those that failed what is behind it."""

from collections.abc import Callable
from dataclasses import dataclass

from policyd.policy.record import DecisionData
from policyd.policy.recording import decision_data
from policyd.policy.ruleset import Ruleset
from policyd.ruletests.cases import Case, Suite
from policyd.ruletests.expect import Mismatch, mismatches
from policyd.ruletests.run import Ruling, rule_on


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one test. `decision` is there where it failed."""

    case: Case
    mismatches: tuple[Mismatch, ...]
    seconds: float
    decision: DecisionData | None = None

    @property
    def passed(self) -> bool:
        """Say whether everything came out as expected."""
        return not self.mismatches


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What became of the tests of one file."""

    suite: Suite
    results: tuple[CaseResult, ...]

    @property
    def failed(self) -> int:
        """Count the tests that failed."""
        return sum(not result.passed for result in self.results)

    @property
    def seconds(self) -> float:
        """Give how long its tests took together."""
        return sum(result.seconds for result in self.results)


def run_case(case: Case, ruleset: Ruleset, clock: Callable[[], float]) -> CaseResult:
    """Decide for a case and compare. `clock` gives seconds from any start."""
    start = clock()
    ruling = rule_on(case, ruleset)
    found = tuple(mismatches(case, ruling))
    seconds = clock() - start
    if not found:
        return CaseResult(case, found, seconds)
    return CaseResult(case, found, seconds, _record(ruling, found))


def _record(ruling: Ruling, found: tuple[Mismatch, ...]) -> DecisionData:
    """Give the decision as data, with the nodes in full that mismatches are about."""
    choice = ruling.choice
    wanted = {name for mismatch in found for name in mismatch.nodes}
    return decision_data(choice.decision, taken=choice.taken, refused=choice.refused, wanted=wanted)
