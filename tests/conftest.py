"""What all tests share: how hard Hypothesis tries, what is slow, and a list of what did not run.

`HYPOTHESIS_PROFILE` is `dev` (the default), `ci` (repeatable) or `deep` (`make fuzz`; slow tests
run too). Reference data is in `tests/shared.py`, the control plane in `tests/controlplane/`.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.controlplane import fixtures
from tests.controlplane.fixtures import (  # noqa: F401 - fixtures for all tests
    api,
    control_plane,
    go_program,
    helm,
    kube_scheduler,
    new_control_plane,
    oracle,
)
from tests.shared import ABSENT, SHARED

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers are measured by `make test`; the processes that tests start are left as users have
    # them, for what they import and how long they take is tested.
    for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]:
        del os.environ[name]

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")

settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
settings.register_profile(
    "deep",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(PROFILE)

NOT_RUN = os.environ.get("POLICYD_NOT_RUN", "")
"""The file that sums up, over the runs of pytest in one `make test`, what did not run."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the benchmarks to `make bench`, which has the peers and the plugin for them."""
    chosen = config.getoption("benchmark_only", default=False)
    return True if collection_path.name == "bench" and not chosen else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the slow tests to `make fuzz`, and say so in the list of what did not run."""
    fixtures.mark(items)
    if PROFILE == "deep":
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run by `make fuzz`"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the control plane before the first test if one needs it."""
    if not session.config.option.collectonly:
        fixtures.prepare(session.items)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of reference data; a test that asks for it is skipped without one."""
    if ABSENT:
        pytest.skip(ABSENT)
    return SHARED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what did not run, by reason, with counts."""
    reasons = _earlier_reasons()
    for test in terminalreporter.stats.get("skipped", []):
        reason = test.longrepr[2] if isinstance(test.longrepr, tuple) else str(test.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    terminalreporter.section("tests that did not run")
    if not reasons:
        terminalreporter.line("none: every chosen test ran")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:6}  {reason}")
    if NOT_RUN:
        Path(NOT_RUN).write_text(json.dumps(reasons), encoding="utf-8")


def _earlier_reasons() -> Counter[str]:
    """Give the counts of the runs of pytest before this one that `make test` consists of."""
    if NOT_RUN and Path(NOT_RUN).exists():
        return Counter(json.loads(Path(NOT_RUN).read_text(encoding="utf-8")))
    return Counter()
