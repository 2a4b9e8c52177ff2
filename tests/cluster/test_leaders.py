"""Two replicas, of which the one that decides is killed, again and again, while pods stream in."""

from itertools import count

import pytest

from tests.cluster.ground import condition, until
from tests.cluster.replica import LEASE, Replica
from tests.controlplane.api import RefusedError

pytestmark = pytest.mark.timeout(600)

KILLS = 20
EACH = 10
LEASES = "/apis/coordination.k8s.io/v1/namespaces"


class Replicas:
    """The replicas that live, two at a time."""

    def __init__(self, control_plane, ground, folder):
        self._made = count(1)
        self._start = lambda: Replica(control_plane, ground, folder / f"log-{next(self._made)}")
        self._lease = f"{LEASES}/{ground.name}/leases/{LEASE}"
        self._api = ground.api
        self.living = [self._start(), self._start()]

    def wait_until_ready(self):
        for each in self.living:
            each.wait_until_ready()

    def leader(self):
        """Give the one that holds the lease; nothing while that is one that was killed."""
        try:
            holder = self._api.get(self._lease)["spec"].get("holderIdentity")
        except RefusedError:
            return None
        return next((each for each in self.living if each.identity == holder), None)

    def kill_leader(self):
        """Kill the one that decides, start another, and give who was killed."""
        leader = until(self.leader)
        leader.kill()
        self.living.remove(leader)
        self.living.append(self._start())
        return leader.identity

    def end(self):
        for each in self.living:
            each.kill()


@pytest.fixture
def replicas(control_plane, ground, tmp_path):
    made = Replicas(control_plane, ground, tmp_path)
    yield made
    made.end()


def test_a_leader_that_is_killed_twenty_times_loses_no_pod_and_doubles_none(ground, replicas):
    for number in range(KILLS):
        ground.add_node(f"n{number}", cpu=str(2 * EACH))
    killed = set()
    for turn in range(KILLS):
        replicas.wait_until_ready()
        ground.add_pods(f"before-{turn}", EACH)  # of which some are being bound
        killed.add(replicas.kill_leader())
        ground.add_pods(f"after-{turn}", EACH)
    ground.wait()
    ground.add_pod("late")
    ground.wait(lambda pods: condition(pods["late"]).get("reason") == "Unschedulable")
    assert len(killed) == KILLS
    assert set(ground.assert_no_node_is_over().values()) == {2 * EACH}
    told = [event["regarding"]["name"] for event in ground.events("Scheduled")]
    assert len(told) == len(set(told)) > KILLS * EACH
    assert all(replica.lives for replica in replicas.living)
