"""helm for the tests of the chart."""

import pytest

from tests.charts.rendering import Helm


@pytest.fixture
def charts(helm, tmp_path):
    """Give helm without a cluster."""
    return Helm(helm, tmp_path)
