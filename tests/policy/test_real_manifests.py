"""Every real pod and pod template is decided on every real node, by the rules that ship."""

from collections import Counter

import pytest

from policyd.assets.locate import shipped
from policyd.language.decoding import decode
from policyd.model.manifests import read_file
from policyd.model.snapshot import load_cluster, load_pods
from policyd.policy.decide import decide
from policyd.policy.load import load
from tests.policy.build import NOW
from tests.shared import SHARED, needs_shared

GIVEN = sorted((SHARED / "data" / "manifests" / "given").glob("*")) if SHARED.exists() else []
NODES = sorted((SHARED / "data" / "manifests" / "nodes").glob("*")) if SHARED.exists() else []


@pytest.fixture(scope="module")
def ruleset():
    files = sorted(shipped("rules").glob("*.expr"))
    return load([decode(path.name, path.read_bytes()) for path in files])


@pytest.fixture(scope="module")
def clusters():
    return [load_cluster(read_file(path), NOW) for path in NODES]


@needs_shared
def test_there_are_files():
    assert len(GIVEN) > 75
    assert len(NODES) > 20


@needs_shared
@pytest.mark.parametrize("path", GIVEN or [SHARED], ids=lambda path: path.name)
def test_every_pod_is_decided_on_every_node(path, ruleset, clusters):
    manifests = read_file(path)
    pods = load_pods(manifests)
    assert not manifests.problems
    assert not pods.problems
    skipped = Counter(note.kind for note in manifests.notes)
    assert pods.pods or skipped or load_cluster(manifests, NOW).nodes
    for pod in pods.pods:
        for cluster in clusters:
            decision = decide(ruleset, pod, cluster)
            assert len(decision.nodes) == len(cluster.nodes)
            for node in decision.nodes:
                assert node.fits != any(v.rejects for v in node.verdicts)
                assert not [error for v in node.verdicts for error in v.errors]
                if node.fits:
                    assert all(free >= 0 for free in _left(node.node, pod))


def _left(node, pod):
    return [node.free[r].minus(amount) for r, amount in pod.requests.items() if amount > 0]
