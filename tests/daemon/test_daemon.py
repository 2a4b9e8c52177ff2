"""The parts as one: when it decides, what it finishes, and what ends it."""

import threading

import pytest

from policyd.daemon.run import Daemon, ProfileConfig, RunConfig, run
from policyd.simulation.embedded import EmbeddedCluster
from tests.policy.build import as_pod, node, pod, snapshot

PATIENCE = 30.0
FIT = 'rule "room" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'


class HeldFeed:
    """An embedded cluster in whose bind a test stands, and whose nodes come when it says."""

    def __init__(self, site):
        self.cluster = self
        self.inner = EmbeddedCluster(site.cache, site.queue)
        self.begun, self.go = threading.Event(), threading.Event()
        self.told = []
        self.unknown = None
        self.stands_by = False

    def start(self, _threads):
        for made in snapshot(node("a")).nodes:
            self.inner.put_node(made)

    def stop(self):
        self.told.append("stopped")

    def problem(self):
        return self.unknown

    def is_standby(self):
        return self.stands_by

    def measure(self, _metrics):
        pass

    def bind(self, pod, node):
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.inner.bind(pod, node)
        self.told.append(f"bound {pod.name}")

    def bound_node(self, pod):
        return self.inner.bound_node(pod)

    def scheduled(self, pod, node):
        self.told.append(f"told of {pod.name} on {node}")

    def unschedulable(self, pod, reason, message):
        self.told.append(f"{reason}: {pod.name}: {message}")


@pytest.fixture
def start(tmp_path):
    """Start a daemon on a rule file; it is ended after the test if that did not do it."""
    (tmp_path / "fit.expr").write_text(FIT)
    made = []

    def start(prepare=id, **options):
        config = RunConfig((ProfileConfig("policyd", (str(tmp_path / "fit.expr"),)),), port=0)
        daemon = Daemon(config, HeldFeed, **options)
        prepare(daemon.feed)
        made.append(daemon)
        daemon.start()
        return daemon

    yield start
    for daemon in made:
        daemon.feed.go.set()
        daemon.stop(PATIENCE)
        assert daemon.threads.join(PATIENCE) == []


def a_pod(name, scheduler="policyd"):
    manifest = pod(name, cpu="1")
    manifest["metadata"]["uid"] = name
    manifest["spec"]["schedulerName"] = scheduler
    return as_pod(manifest)


def test_ending_finishes_the_bind_in_flight_and_what_is_written_after_it(start):
    daemon = start()
    daemon.feed.inner.create(a_pod("p"))
    assert daemon.feed.begun.wait(PATIENCE)
    assert daemon.is_ready
    ended = []
    ending = threading.Thread(target=lambda: ended.append(daemon.stop()))  # noqa: TID251 - the test's own
    ending.start()
    assert daemon.threads.stopping.wait(PATIENCE)
    assert not daemon.is_ready
    assert daemon.problems() == "shutdown failed: it is ending"
    daemon.feed.go.set()
    ending.join(PATIENCE)
    assert ended == [True]
    assert daemon.feed.told == ["bound p", "told of p on a", "stopped"]
    assert daemon.recent.record("default", "p").result == "scheduled"


def test_what_does_not_end_in_time_is_told(start, caplog):
    daemon = start()
    daemon.feed.inner.create(a_pod("p"))
    assert daemon.feed.begun.wait(PATIENCE)
    assert not daemon.stop(timeout=0.1)
    assert "these threads did not end in time: " in caplog.text


def test_nothing_is_decided_while_the_cluster_is_not_known(start):
    def unknown(feed):
        feed.unknown = "pods were not listed yet"

    daemon = start(unknown)
    daemon.feed.inner.create(a_pod("p"))
    assert daemon.problems() == "cluster failed: pods were not listed yet"
    assert daemon.queue.where(a_pod("p")) == "active"
    daemon.feed.unknown = None
    assert daemon.feed.begun.wait(PATIENCE)


def test_a_replica_that_stands_by_is_ready_and_decides_nothing(start):
    def standing_by(feed):
        feed.stands_by = True

    daemon = start(standing_by)
    daemon.feed.inner.create(a_pod("p"))
    assert daemon.is_ready
    assert not daemon.feed.begun.wait(0.3)
    daemon.feed.stands_by = False
    assert daemon.feed.begun.wait(PATIENCE)


def test_a_thread_that_dies_is_told_and_shows_in_livez(start):
    told = []
    died = threading.Event()

    def changed(name):
        if name:
            told.append(name)
            died.set()

    daemon = start(changed=changed)
    daemon.scheduler.schedule = None
    daemon.feed.inner.create(a_pod("p"))
    assert died.wait(PATIENCE)
    assert told == ["decider-0"]
    assert not daemon.health.report("livez").is_well


def test_two_profiles_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two profiles have one name: red, red"):
        RunConfig((ProfileConfig("red", ("a",)), ProfileConfig("red", ("b",))))


def test_what_runs_is_said_in_a_line(start):
    daemon = start()
    assert daemon.summary() == (
        f"1 rule ({daemon.stores[0].current.hash}); 1 node, 0 waiting pods;"
        f" http://127.0.0.1:{daemon.server.port}"
    )


def test_a_fault_of_a_thread_ends_the_process_with_its_status(tmp_path):
    (tmp_path / "fit.expr").write_text(FIT)

    class Broken(HeldFeed):
        def start(self, threads):
            threads.start("broken", lambda: 1 / 0)

    config = RunConfig((ProfileConfig("policyd", (str(tmp_path / "fit.expr"),)),), port=0)
    assert run(config, Broken, lambda _: None) == 70
