"""A dump as `kubectl get nodes,pods,namespaces -A` prints it: both formats, and how fast.

`python scripts/make_dump.py` makes dumps of any size; these are a hundredth of the size that
policyd is made for (5,000 nodes and 50,000 pods).
"""

import io
import json
import time
import tracemalloc

import pytest

from policyd.model.documents import SMALL
from policyd.model.manifests import Manifests, read_bytes, read_stream
from policyd.model.snapshot import load_cluster
from policyd.values.times import parse_timestamp
from scripts.make_dump import write_dump

NOW = parse_timestamp("2026-06-01T12:00:00Z")
FLOORS = {"json": 20, "yaml": 4}
"""Megabytes a second that a slow and busy machine still reaches; others read ten times as much."""


def dump(form: str, seed: int = 1) -> bytes:
    out = io.StringIO()
    write_dump(out, nodes=50, pods_=500, form=form, seed=seed)
    return out.getvalue().encode()


@pytest.fixture(scope="module")
def dumps() -> dict[str, bytes]:
    return {form: dump(form) for form in ("json", "yaml")}


@pytest.fixture(scope="module")
def read(dumps) -> dict[str, Manifests]:
    return {form: read_bytes(data, form) for form, data in dumps.items()}


def test_a_seed_gives_the_same_dump_again(dumps):
    assert dump("yaml") == dumps["yaml"]
    assert dump("yaml", seed=2) != dumps["yaml"]


def test_the_dumps_are_large_and_pods_have_the_size_of_real_ones(dumps, read):
    assert all(len(data) > SMALL for data in dumps.values())
    sizes = [len(each.json) for each in read["json"].of_kind("Pod")]
    assert 3000 < sum(sizes) / len(sizes) < 6000


def test_everything_is_read_and_nothing_is_said(read):
    for found in read.values():
        assert (len(found.documents), found.notes, found.problems) == (610, (), ())


def test_both_formats_give_the_same_objects_and_the_same_cluster(read):
    for one, other in zip(read["json"].documents, read["yaml"].documents, strict=True):
        assert json.loads(one.json) == json.loads(other.json)
    clusters = [load_cluster(found, NOW) for found in read.values()]
    assert clusters[0].cluster == clusters[1].cluster
    assert [dict(node.free) for node in clusters[0].nodes] == [
        dict(node.free) for node in clusters[1].nodes
    ]
    assert clusters[0].cluster.pods > 450
    assert (*clusters[0].notes, *clusters[0].problems) == ()


def test_positions_in_a_large_input_are_lines(dumps, read):
    for form, found in read.items():
        lines = dumps[form].splitlines()
        for document in found.documents[::50]:
            assert lines[document.place.line - 1].lstrip() in (b"{", b"- apiVersion: v1")


def test_the_place_of_an_error_in_a_large_input_is_its_line(dumps):
    broken = dumps["yaml"].replace(b"\n    nodeName:", b"\n    nodeName: a:", 1)
    found = read_bytes(broken, "f")
    [problem] = found.problems
    assert broken.splitlines()[problem.place.line - 1].lstrip().startswith(b"nodeName:")
    assert len(found.documents) == 609


def test_progress_is_told_to_the_end(dumps):
    told: list[tuple[int, int]] = []
    read_stream(io.BytesIO(dumps["yaml"]), "f", lambda done, size: told.append((done, size)))
    assert told[-1] == (len(dumps["yaml"]), len(dumps["yaml"]))


@pytest.mark.timing
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_reading_is_fast(form, dumps):
    start = time.perf_counter()
    load_cluster(read_bytes(dumps[form]), NOW)
    seconds = time.perf_counter() - start
    assert len(dumps[form]) / 1e6 / seconds > FLOORS[form]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_memory_grows_with_the_objects_and_not_with_the_text(form, dumps):
    """What stays is the objects as compact JSON; on top comes a block, whatever the size."""
    stream = io.BytesIO(dumps[form] * 1)
    tracemalloc.start()
    try:
        found = read_stream(stream, form)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    compact = sum(len(each.json) for each in found.documents)
    assert kept < 1.5 * compact
    assert most - kept < 30_000_000
