"""The fuzz targets hold for their seeds, and for what bytes make at random, without atheris."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.targets import TARGETS

SEEDS = Path(__file__).resolve().parents[2] / "fuzz" / "seeds"


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_holds(name):
    seeds = sorted((SEEDS / name).iterdir())
    assert seeds
    for seed in seeds:
        TARGETS[name](seed.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=200))
def test_random_bytes_hold(name, data):
    TARGETS[name](data)
