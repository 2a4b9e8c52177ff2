"""Leader election: one leads, others take over, and never two at once by any of their clocks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.kube.lease import LeaderElection, Timing
from tests.kube.conftest import calling, serving
from tests.kube.fake_apiserver import Fault
from tests.scheduler.fakes import HandClock

LEASES = "/leases"


class Candidate:
    """A candidate whose clock a test moves, and what it was told."""

    def __init__(self, client, identity, start=0.0):
        self.clock = HandClock()
        self.clock.seconds = start
        self.told = []
        self.election = LeaderElection(
            client,
            "kube-system",
            "policyd",
            identity,
            self.clock,
            lambda: 0.0,
            started=lambda: self.told.append("started"),
            lost=lambda: self.told.append("lost"),
        )

    @property
    def leads(self):
        return self.election.leads

    def after(self, seconds):
        """Let time pass, and take a turn that does not wait."""
        self.clock.seconds += seconds
        self.election.turn(0)
        return self


@pytest.fixture
def one(client):
    return Candidate(client, "one")


@pytest.fixture
def two(client):
    return Candidate(client, "two", start=1000.0)  # monotonic clocks start anywhere


def lease(server):
    return server.get("Lease", "policyd", "kube-system")


def test_the_first_makes_the_lease_and_leads(server, one):
    one.after(0)
    assert one.leads
    assert one.told == ["started"]
    spec = lease(server)["spec"]
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0
    assert spec["renewTime"] == spec["acquireTime"] == "1970-01-01T00:00:00.000000Z"


def test_a_leader_renews_every_two_seconds(server, one):
    for _ in range(10):
        one.after(2.1)
    assert one.leads
    assert one.told == ["started"]
    assert lease(server)["spec"]["renewTime"] == "1970-01-01T00:00:21.000000Z"
    assert lease(server)["spec"]["acquireTime"] == "1970-01-01T00:00:02.100000Z"
    assert len(server.requests("PUT", LEASES)) == 9


def test_before_it_is_time_nothing_is_sent(server, one):
    one.after(0)
    sent = len(server.seen)
    one.after(1.9)
    assert len(server.seen) == sent


def test_another_waits_while_the_leader_renews(one, two):
    one.after(0)
    for _ in range(20):
        two.after(2.1)
        one.after(2.1)
    assert one.leads
    assert not two.leads
    assert two.election.holder == "one"


def test_another_takes_over_once_the_lease_stood_still_for_its_whole_duration(server, one, two):
    one.after(0)
    two.after(0)
    for _ in range(7):
        two.after(2.1)
    assert not two.leads  # after 14.7 s
    two.after(2.1)
    assert two.leads
    assert lease(server)["spec"]["leaseTransitions"] == 1


def test_a_leader_that_cannot_renew_stops_after_ten_seconds(server, one):
    one.after(0)
    server.faults.append(Fault("GET", LEASES, 503, times=100))
    for _ in range(4):
        one.after(2.4)
    assert one.leads  # 9.6 s after its last renewal
    one.clock.seconds += 0.5
    assert not one.leads  # at once, before its thread has looked
    assert one.told == ["started"]
    one.after(0)
    assert one.told == ["started", "lost"]


def test_one_that_stood_still_for_too_long_lost_the_lease_and_stands_for_it_anew(one):
    one.after(0)
    one.after(10.1)  # its thread did not run in between
    assert one.told == ["started", "lost", "started"]
    assert one.leads


def test_one_that_lost_waits_like_any_other(one, two):
    one.after(0)
    two.after(0)
    one.clock.seconds += 16
    two.after(16)
    assert two.leads
    one.election.turn(0)
    assert one.told == ["started", "lost"]
    for _ in range(3):
        two.after(2.1)
        one.after(2.1)
    assert two.leads
    assert not one.leads
    one.after(14)  # since it saw the last renewal
    one.after(2.1)
    assert one.told == ["started", "lost", "started"]


def test_one_that_gave_the_lease_back_is_no_candidate_any_more(server, one):
    one.after(0)
    one.election.release()
    sent = len(server.seen)
    for _ in range(5):
        one.after(20)
    assert not one.leads
    assert len(server.seen) == sent


def test_a_leader_whose_lease_is_taken_stops_at_once(server, one):
    one.after(0)
    taken = lease(server)
    taken["spec"]["holderIdentity"] = "somebody"
    server.update(taken)
    one.after(2.1)
    assert not one.leads
    assert one.told == ["started", "lost"]


def test_a_lost_answer_to_a_renewal_is_no_loss(server, one):
    one.after(0)
    server.faults.append(Fault("PUT", LEASES, action="drop", takes_effect=True))
    one.after(2.1)
    one.after(2.1)
    assert one.leads
    assert one.told == ["started"]


def test_a_lost_answer_to_the_first_acquisition_is_found_out(server, one):
    server.faults.append(Fault("POST", LEASES, action="drop", takes_effect=True))
    one.after(0)
    assert not one.leads
    one.after(2.1)
    assert one.leads
    assert lease(server)["spec"]["leaseTransitions"] == 0


def test_of_two_that_take_an_old_lease_one_gets_it(client, one, two):
    dead = Candidate(client, "dead").after(0)
    one.after(0)
    two.after(0)
    one.after(16)
    two.after(16)
    assert [dead.told, one.told, two.told] == [["started"], ["started"], []]


def test_a_released_lease_is_free_at_once(server, one, two):
    one.after(0)
    two.after(0)
    one.election.release()
    assert not one.leads
    assert lease(server)["spec"]["holderIdentity"] == ""
    two.after(2.1)
    assert two.leads
    assert one.told == ["started"]  # giving it back is no loss


def test_one_that_does_not_lead_releases_nothing(server, one, two):
    one.after(0)
    two.after(0)
    two.election.release()
    assert lease(server)["spec"]["holderIdentity"] == "one"


def test_a_release_does_not_take_the_lease_from_another(server, one):
    one.after(0)
    taken = lease(server)
    taken["spec"]["holderIdentity"] = "somebody"
    server.update(taken)
    one.election.release()
    assert lease(server)["spec"]["holderIdentity"] == "somebody"


def test_a_release_that_fails_is_no_error(server, one, caplog):
    one.after(0)
    server.faults.append(Fault("PUT", LEASES, 500))
    one.election.release()
    assert "could not be released" in caplog.text


def test_a_turn_waits_until_it_is_time_or_woken(one):
    one.after(0)
    one.election.wake()
    one.election.turn(60)  # ends at once


@pytest.mark.parametrize("numbers", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_timings_that_would_let_two_lead_are_refused(numbers):
    with pytest.raises(ValueError, match="must last longer"):
        Timing(*numbers)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),  # who takes a turn
        st.floats(0, 6),  # after how long, for everyone
        st.sampled_from(["", "", "", "503", "lost", "lost after", "409"]),
    ),
    min_size=10,
    max_size=60,
)


@given(STEPS, st.tuples(*[st.floats(0.8, 1.2)] * 3))
@settings(max_examples=60, deadline=None)
def test_two_never_lead_at_once_whoever_runs_when_and_whatever_fails(steps, rates):
    """Clocks may run up to a fifth faster or slower, and threads may stand still for long."""
    with serving() as server, calling(server) as client:
        candidates = [Candidate(client, name, 10.0 * at) for at, name in enumerate("abc")]
        for who, seconds, fault in steps:
            for candidate, rate in zip(candidates, rates, strict=True):
                candidate.clock.seconds += seconds * rate
            with server.changed:
                server.faults = faults(fault)
            candidates[who].election.turn(0)
            assert sum(candidate.leads for candidate in candidates) <= 1


def faults(fault):
    actions = {
        "503": [Fault("GET", LEASES, 503)],
        "lost": [Fault(m, LEASES, action="drop") for m in ("PUT", "POST")],
        "lost after": [Fault(m, LEASES, action="drop", takes_effect=True) for m in ("PUT", "POST")],
        "409": [Fault(m, LEASES, 409) for m in ("PUT", "POST")],
    }
    return actions.get(fault, [])
