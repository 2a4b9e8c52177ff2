"""Pods come with their manifests, change with them, and go with them."""

import json

import pytest

from policyd.daemon.pod_files import PodFiles
from policyd.scheduler.cache import Cache
from policyd.scheduler.queue import SchedulingQueue
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import node, pod, snapshot
from tests.scheduler.fakes import HandClock


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def cluster(clock):
    made = EmbeddedCluster(Cache(), SchedulingQueue(clock))
    made.put_node(snapshot(node("a")).nodes[0])
    return made


def names(cluster):
    return sorted(made.name for made in cluster.pods.values())


def only(cluster):
    [made] = cluster.pods.values()
    return made


def test_pods_come_and_go_with_their_files(tmp_path, cluster, clock):
    files = PodFiles(str(tmp_path), cluster, clock)
    files.look()
    (tmp_path / "a.json").write_text(json.dumps(pod("one")))
    (tmp_path / "b.yaml").write_text("\n---\n".join(json.dumps(pod(n)) for n in ("two", "three")))
    (tmp_path / ".hidden.json").write_text(json.dumps(pod("hidden")))
    (tmp_path / "notes.txt").write_text("not a manifest")
    files.look()
    assert names(cluster) == ["one", "three", "two"]
    (tmp_path / "b.yaml").write_text(json.dumps(pod("two")))
    files.look()
    assert names(cluster) == ["one", "two"]
    (tmp_path / "a.json").unlink()
    files.look()
    assert names(cluster) == ["two"]


def test_a_pod_gets_a_uid_and_a_time_of_its_own_and_keeps_them(tmp_path, cluster, clock):
    path = tmp_path / "a.json"
    files = PodFiles(str(path), cluster, clock)
    files.look()
    clock.seconds = 5
    path.write_text(json.dumps(pod("p", cpu="1")))
    files.look()
    first = only(cluster)
    assert (first.uid, str(first.created)) == ("file-1", "1970-01-01T00:00:05Z")
    clock.seconds = 9
    path.write_text(json.dumps(pod("p", cpu="25")))
    files.look()
    assert (only(cluster).uid, only(cluster).created) == (first.uid, first.created)
    assert only(cluster).requests["cpu"] == 25
    path.unlink()
    files.look()
    path.write_text(json.dumps(pod("p", cpu="1")))
    files.look()
    assert only(cluster).uid == "file-2"


def test_what_a_manifest_says_itself_stays(tmp_path, cluster, clock):
    manifest = pod("p")
    manifest["metadata"] |= {"uid": "own", "creationTimestamp": "2026-01-01T00:00:00Z"}
    (tmp_path / "a.json").write_text(json.dumps(manifest))
    PodFiles(str(tmp_path), cluster, clock).look()
    assert (only(cluster).uid, str(only(cluster).created)) == ("own", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("bad", ["{", '{"kind": "Pod", "apiVersion": "v1"}', "[1"])
def test_a_file_that_cannot_be_read_leaves_what_it_brought(tmp_path, cluster, clock, caplog, bad):
    path = tmp_path / "a.json"
    files = PodFiles(str(tmp_path), cluster, clock)
    path.write_text(json.dumps(pod("p")))
    files.look()
    path.write_text(bad)
    files.look()
    assert names(cluster) == ["p"]
    assert str(path) in caplog.text


def test_a_change_of_a_pod_on_a_node_comes_too_late(tmp_path, cluster, clock, caplog):
    path = tmp_path / "a.json"
    files = PodFiles(str(tmp_path), cluster, clock)
    path.write_text(json.dumps(pod("p", cpu="1")))
    files.look()
    cluster.bind(only(cluster), "a")
    path.write_text(json.dumps(pod("p", cpu="2")))
    files.look()
    assert (only(cluster).requests["cpu"], only(cluster).nodeName) == (1, "a")
    assert "comes too late" in caplog.text


def test_a_directory_that_goes_takes_its_pods_and_may_return(tmp_path, cluster, clock):
    place = tmp_path / "in"
    place.mkdir()
    (place / "a.json").write_text(json.dumps(pod("p")))
    files = PodFiles(str(place), cluster, clock)
    files.look()
    (place / "a.json").rename(tmp_path / "a.json")
    place.rmdir()
    files.look()
    assert names(cluster) == []
    place.mkdir()
    (tmp_path / "a.json").rename(place / "a.json")
    files.look()
    assert names(cluster) == ["p"]
