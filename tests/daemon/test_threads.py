"""The pool does all it takes, in order where it matters; threads end cleanly or are told of."""

import sys
import threading
from functools import partial

import pytest

from policyd.daemon.clock import SystemClock
from policyd.daemon.threads import SILENCE_SECONDS, TURN_SECONDS, Threads, WorkerPool, short_turns
from tests.scheduler.fakes import HandClock

PATIENCE = 20.0  # seconds that only a broken pool needs


class Gate:
    """Work that waits until it is let go, and says that it has begun."""

    def __init__(self):
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.open.wait(PATIENCE)


@pytest.fixture
def threads():
    made = Threads(SystemClock())
    yield made
    made.stop()
    assert made.join(PATIENCE) == []


@pytest.fixture
def make_pool(threads):
    made = []

    def make(**options):
        made.append(WorkerPool(SystemClock(), **options))
        made[-1].start(threads)
        return made[-1]

    yield make
    for pool in made:
        assert pool.stop(PATIENCE)


def test_all_work_that_was_taken_is_done_before_the_pool_ends(make_pool):
    pool = make_pool(size=3)
    done = []
    gates = [Gate() for _ in range(3)]
    for gate in gates:
        pool.submit(gate)
    for number in range(100):
        pool.submit(partial(done.append, number))
        pool.trail(partial(done.append, 100 + number))
    for gate in gates:
        gate.open.set()
    assert pool.stop(PATIENCE)
    assert sorted(done) == list(range(200))
    assert pool.counts().done == 203
    assert (pool.counts().waiting, pool.counts().busy) == (0, 0)


def test_work_of_one_key_is_done_in_order_and_one_at_a_time(make_pool):
    pool = make_pool(size=8)
    seen = {key: [] for key in "abc"}
    inside = dict.fromkeys("abc", 0)

    def work(key, number):
        inside[key] += 1
        assert inside[key] == 1
        seen[key].append(number)
        inside[key] -= 1

    for number in range(300):
        for key in "abc":
            hand_in = pool.trail if number % 3 else pool.submit
            hand_in(partial(work, key, number), key)
    assert pool.stop(PATIENCE)
    assert seen == {key: list(range(300)) for key in "abc"}
    assert pool.counts().failed == 0


def test_keys_do_not_wait_for_each_other(make_pool):
    pool = make_pool(size=2)
    gate, other = Gate(), threading.Event()
    pool.submit(gate, "a")
    pool.submit(other.set, "b")
    assert other.wait(PATIENCE)
    gate.open.set()


def test_what_trails_waits_for_what_is_urgent(make_pool):
    pool = make_pool(size=1)
    gate, done = Gate(), []
    pool.submit(gate)
    assert gate.begun.wait(PATIENCE)
    pool.trail(partial(done.append, "event"))
    pool.submit(partial(done.append, "bind"))
    gate.open.set()
    assert pool.stop(PATIENCE)
    assert done == ["bind", "event"]


def test_an_error_kills_no_thread_and_is_counted_and_logged(make_pool, caplog):
    pool = make_pool(size=1)
    done = threading.Event()

    def fail():
        raise ZeroDivisionError("oops")

    pool.submit(fail, "a")
    pool.submit(done.set, "a")
    assert done.wait(PATIENCE)
    assert pool.stop(PATIENCE)
    assert (pool.counts().failed, pool.counts().done) == (1, 1)
    assert "ZeroDivisionError: oops" in caplog.text


def test_who_hands_in_too_much_has_to_wait_and_nothing_is_lost(make_pool, threads):
    pool = make_pool(size=1, backlog=3)
    gate, done, all_in = Gate(), [], threading.Event()
    pool.submit(gate)
    assert gate.begun.wait(PATIENCE)

    def hand_in():
        for number in range(50):
            pool.submit(partial(done.append, number), "k")
            assert pool.counts().waiting <= 3
        all_in.set()

    threads.start("feeder", hand_in)
    gate.open.set()
    assert all_in.wait(PATIENCE)
    assert pool.stop(PATIENCE)
    assert done == list(range(50))


def test_the_pools_own_threads_never_wait_for_room(make_pool):
    pool = make_pool(size=1, backlog=1)
    done = []

    def bind():
        for number in range(5):
            pool.trail(partial(done.append, number), "p")

    pool.submit(bind, "p")
    assert pool.stop(PATIENCE)
    assert done == list(range(5))


def test_later_waits_its_time_and_stopping_does_it_at_once(make_pool):
    pool = make_pool(size=1)
    soon, much_later = threading.Event(), threading.Event()
    pool.later(3600, much_later.set)
    pool.later(0.01, soon.set)
    assert soon.wait(PATIENCE)
    assert not much_later.is_set()
    assert pool.stop(PATIENCE)
    assert much_later.is_set()


def test_what_comes_after_the_end_is_counted_and_not_done(make_pool, caplog):
    pool = make_pool(size=1)
    assert pool.stop(PATIENCE)
    for hand_in in (pool.submit, pool.trail, partial(pool.later, 0)):
        hand_in(partial(pytest.fail, "done after the end"))
    assert pool.counts().dropped == 3
    assert "after the pool was stopped" in caplog.text


def test_stopping_gives_up_on_work_that_does_not_end(make_pool):
    pool = make_pool(size=1)
    gate = Gate()
    pool.submit(gate)
    assert gate.begun.wait(PATIENCE)
    assert not pool.stop(0.01)
    gate.open.set()


def test_threads_have_names_and_end_when_asked(threads):
    names, turned = [], threading.Event()

    def turn(seconds):
        assert seconds > 0
        names.append(threading.current_thread().name)
        turned.set()
        threads.stopping.wait(seconds)

    threads.repeat("decider", turn)
    assert turned.wait(PATIENCE)
    threads.stop()
    assert threads.join(PATIENCE) == []
    assert set(names) == {"decider"}
    assert threads.silent() == []


def test_a_thread_that_dies_is_told_of_and_counts_as_silent(caplog):
    died = threading.Event()
    told = []

    def failed(name):
        told.append(name)
        died.set()

    threads = Threads(SystemClock(), failed)
    threads.repeat("decider", lambda _: 1 / 0)
    assert died.wait(PATIENCE)
    assert threads.join(PATIENCE) == []
    assert (told, threads.silent()) == (["decider"], ["decider"])
    assert "the thread decider ended with an error" in caplog.text


def test_a_thread_that_is_stuck_counts_as_silent():
    clock, gate = HandClock(), Gate()
    threads = Threads(clock)
    threads.repeat("decider", lambda _: gate())
    assert gate.begun.wait(PATIENCE)
    clock.seconds = SILENCE_SECONDS
    assert threads.silent() == []
    clock.seconds += 1
    assert threads.silent() == ["decider"]
    threads.stop()
    gate.open.set()
    clock.seconds = 0
    assert threads.join(PATIENCE) == []


def test_turns_are_short_while_it_runs_and_as_before_afterwards():
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(TURN_SECONDS)
        assert before > TURN_SECONDS
    assert sys.getswitchinterval() == before


def test_a_thread_that_waits_for_room_in_the_pool_is_not_stuck(monkeypatch):
    monkeypatch.setattr("policyd.daemon.threads.HEARTBEAT_SECONDS", 0.01)
    clock, gate, beaten = HandClock(), Gate(), threading.Event()
    threads, pool = Threads(clock), WorkerPool(SystemClock(), size=1, backlog=1)
    pool.start(threads)
    pool.submit(gate)
    assert gate.begun.wait(PATIENCE)

    def turn(_):
        for _ in range(3):
            pool.submit(lambda: None)

    real = threads.beat

    def beat():
        real()
        if clock.seconds:
            beaten.set()

    threads.beat = beat
    threads.repeat("decider", turn)
    for _ in range(2):  # the first may still be the beginning of the turn
        clock.seconds += 10 * SILENCE_SECONDS
        assert beaten.wait(PATIENCE)
        assert threads.silent() == []
        beaten.clear()
    threads.stop()
    gate.open.set()
    assert pool.stop(PATIENCE)
    clock.seconds = 0
    assert threads.join(PATIENCE) == []
