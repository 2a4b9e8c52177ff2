"""The fixtures of tests that need a real API server, and what happens where there is none.

A test that uses one of them is marked `cluster` by that, and `make test` runs it after the others.
Where the control plane cannot be had, it is skipped and says why; with CI set it fails, for there
nothing may be missing. A KUBEBUILDER_ASSETS that lacks a program, and sources that do not compile,
are failures everywhere.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import plane
from tests.controlplane.api import Api
from tests.controlplane.assets import IncompleteAssetsError, assets
from tests.controlplane.plane import ControlPlane
from tests.controlplane.program import AbsentError, BuildError, built, program

OF_THE_SERVER = frozenset({"api", "control_plane", "new_control_plane"})
OF_THE_PROGRAMS = frozenset({"helm", "oracle", "kube_scheduler", "go_program"})


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests that use the control plane."""
    for item in items:
        if _fixtures(item) & (OF_THE_SERVER | OF_THE_PROGRAMS):
            item.add_marker(pytest.mark.cluster)


def prepare(items: list[pytest.Item]) -> None:
    """Build what the chosen tests need before the first: that takes longer than a test may."""
    used = frozenset[str]().union(*(_fixtures(item) for item in items))
    with contextlib.suppress(AbsentError, BuildError, IncompleteAssetsError):
        if used & OF_THE_PROGRAMS or (used & OF_THE_SERVER and not assets()):
            built()


def _fixtures(item: pytest.Item) -> frozenset[str]:
    return frozenset(getattr(item, "fixturenames", ()))


def _program(name: str) -> Path:
    """Give a program, or end the test as the module's docstring says."""
    try:
        return program(name)
    except AbsentError as absent:
        reason = f"no test control plane: {absent}"
        if os.environ.get("CI", "") not in {"", "0", "false"}:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[ControlPlane]:
    if not assets():
        _program("controlplane")
    started = ControlPlane(folder)
    started.start()
    try:
        yield started
    finally:
        started.kill()
        shutil.rmtree(folder / "etcd", ignore_errors=True)  # large; the logs stay


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give the control plane that tests share; each uses a namespace or names of its own."""
    with _running(tmp_path_factory.mktemp("controlplane")) as running:
        yield running


@pytest.fixture
def new_control_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Give a control plane that belongs to one test, which may kill it and start it again."""
    with _running(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Api:
    """Give the administrator's client of the shared control plane."""
    return control_plane.api()


@pytest.fixture(scope="session")
def go_program() -> Path:
    """Give the program `controlplane`, which no KUBEBUILDER_ASSETS replaces."""
    return _program("controlplane")


@pytest.fixture(scope="session")
def kube_scheduler(go_program: Path) -> Callable[..., Any]:
    """Give what runs kube-scheduler on a control plane: `with kube_scheduler(control_plane):`."""
    assert go_program.exists()
    return ControlPlane.scheduler


@pytest.fixture(scope="session")
def oracle(go_program: Path) -> Callable[[bytes], list[dict[str, Any]]]:
    """Give what answers scenarios as kube-scheduler would."""
    assert go_program.exists()
    return plane.oracle


@pytest.fixture(scope="session")
def helm() -> Path:
    """Give the program `helm`."""
    return _program("helm")
