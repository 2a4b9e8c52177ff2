"""A ground for each test on the shared control plane, or on one of the test's own."""

from itertools import count

import pytest

from tests.cluster.ground import Ground
from tests.cluster.proxy import proxied

NUMBERS = count(1)


@pytest.fixture
def ground(control_plane, api):
    """Give a ground on the control plane that tests share."""
    assert control_plane.server
    ground = Ground(api, f"ground-{next(NUMBERS)}")
    try:
        yield ground
    finally:
        ground.clear()


@pytest.fixture
def own_ground(new_control_plane):
    """Give a ground on a control plane that the test may break."""
    return Ground(new_control_plane.api(), f"ground-{next(NUMBERS)}")


@pytest.fixture
def proxy(control_plane):
    """Give a proxy before the shared control plane."""
    with proxied(control_plane) as proxy:
        yield proxy
