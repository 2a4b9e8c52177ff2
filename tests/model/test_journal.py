"""The journal of nodes: what changed since a version, as long as it is kept."""

from policyd.model import journal as module
from policyd.model.journal import EVERYTHING, Journal

LABELS = frozenset({"node.labels"})


def test_the_changes_since_a_version_are_those_that_came_after_it():
    journal = Journal()
    journal.add(3)
    before = journal.version
    journal.add(1, LABELS)
    journal.add(2)
    slots, kinds = journal.since(before, journal.version)
    assert slots.tolist() == [1, 2]
    assert [journal.kinds[kind] for kind in kinds.tolist()] == [LABELS, EVERYTHING]


def test_a_reader_sees_nothing_that_came_after_its_own_version():
    journal = Journal()
    journal.add(1)
    mine = journal.version
    journal.add(2)
    slots, _ = journal.since(0, mine)
    assert slots.tolist() == [1]


def test_what_was_read_stays_when_more_is_added():
    journal = Journal()
    journal.add(7)
    slots, _ = journal.since(0, journal.version)
    for slot in range(5000):
        journal.add(slot)
    assert slots.tolist() == [7]
    assert journal.since(5000, 5001)[0].tolist() == [4999]


def test_a_reader_that_is_too_far_behind_is_told_so(monkeypatch):
    monkeypatch.setattr(module, "_KEPT", 2048)
    journal = Journal()
    for slot in range(5000):
        journal.add(slot)
    assert journal.since(0, journal.version) is None
    slots, _ = journal.since(journal.version - 10, journal.version)
    assert slots.tolist() == list(range(4990, 5000))


def test_the_last_change_of_each_kind_is_known():
    journal = Journal()
    journal.add(1, LABELS)
    journal.add(1)
    journal.add(1)
    assert dict(zip(journal.kinds, journal.last, strict=True)) == {LABELS: 1, EVERYTHING: 3}
