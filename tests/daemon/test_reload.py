"""Reload of rules by touching real files: nothing here calls the reload itself."""

import errno
import logging
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as given_
from hypothesis import strategies as st
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, EventEmitter

from policyd.cli.rule_files import one_set, read_sources
from policyd.daemon import reload as reload_module
from policyd.daemon.reload_files import Trail, read_paths, trail_of
from policyd.daemon.reload_settle import LONGEST_SECONDS, OPEN_SECONDS, QUIET_SECONDS, Settling
from policyd.daemon.reload_watch import Watch
from policyd.language.decoding import MAX_BYTES
from policyd.policy.load import load
from policyd.policy.store import RulesetStore
from tests.daemon.reloading import SECONDS, Reloading, rule, rules_of
from tests.policy.portrait import portrait
from tests.scheduler.fakes import HandClock

BAD = '\nrule "bad" { require node.lables["x"] == "y" }\n'


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rules"
    made.mkdir()
    (made / "a.expr").write_text(rule("x"))
    return made


class Mount:
    """A folder as the kubelet mounts a ConfigMap, and writes it anew."""

    def __init__(self, folder: Path, **texts: str) -> None:
        self.folder = folder
        self.version = 0
        folder.mkdir()
        self.write(**texts)

    def write(self, **texts: str) -> None:
        old = self.folder / f"..2026_06_01.{self.version}"
        self.version += 1
        new = self.folder / f"..2026_06_01.{self.version}"
        new.mkdir()
        for key, text in texts.items():
            (new / f"{key}.expr").write_text(text)
        link = self.folder / "..data_tmp"
        link.symlink_to(new.name)
        link.rename(self.folder / "..data")
        for entry in self.folder.glob("[!.]*"):
            if entry.stem not in texts:
                entry.unlink()
        for key in texts:
            visible = self.folder / f"{key}.expr"
            if not visible.is_symlink():
                visible.symlink_to(f"..data/{key}.expr")
        shutil.rmtree(old, ignore_errors=True)


# --- how files are saved ---


def test_a_saved_file_is_in_force(folder):
    with Reloading(folder) as live:
        assert live.rules == ["x"]
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")
        assert live.store.current.hash == _as_the_command_line_loads(folder).hash


def test_a_file_is_watched_by_its_name_too(folder):
    with Reloading(folder / "a.expr") as live:
        (folder / "b.expr").write_text(rule("other"))
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")


def test_files_come_and_go(folder):
    with Reloading(folder) as live:
        (folder / "b.expr").write_text(rule("y"))
        live.until_rules("x", "y")
        (folder / "a.expr").unlink()
        live.until_rules("y")


def test_an_editor_may_write_beside_and_rename(folder):
    with Reloading(folder) as live:
        (folder / ".a.expr.swp").write_text(rule("y"))
        (folder / ".a.expr.swp").rename(folder / "a.expr")
        live.until_rules("y")


def test_an_editor_may_rename_into_the_folder_from_elsewhere(folder, tmp_path):
    with Reloading(folder) as live:
        (tmp_path / "new").write_text(rule("y"))
        (tmp_path / "new").rename(folder / "a.expr")
        live.until_rules("y")


def test_an_editor_may_rename_the_old_file_away_and_write_a_new_one(folder):
    with Reloading(folder) as live:
        (folder / "a.expr").rename(folder / "a.expr~")
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")
        (folder / "a.expr~").unlink()


def test_a_file_may_be_a_link_to_one_elsewhere(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b").write_text(rule("y"))
    (folder / "b.expr").symlink_to("../elsewhere/b")
    with Reloading(folder) as live:
        (elsewhere / "b").write_text(rule("z"))
        live.until_rules("x", "z")


def test_a_link_to_the_folder_may_be_moved_to_another(tmp_path):
    for name in "xy":
        (tmp_path / name / "rules").mkdir(parents=True)
        (tmp_path / name / "rules" / "a.expr").write_text(rule(name))
    (tmp_path / "current").symlink_to("x")
    with Reloading(tmp_path / "current" / "rules") as live:
        assert live.rules == ["x"]
        (tmp_path / "next").symlink_to("y")
        (tmp_path / "next").rename(tmp_path / "current")
        live.until_rules("y")
        (tmp_path / "y" / "rules" / "a.expr").write_text(rule("z"))
        live.until_rules("z")


def test_a_mounted_config_map_is_replaced_as_a_whole(tmp_path):
    mount = Mount(tmp_path / "rules", a=rule("a0"), b=rule("b0"))
    with Reloading(mount.folder) as live:
        assert live.rules == ["a0", "b0"]
        for at in range(1, 6):
            mount.write(a=rule(f"a{at}"), b=rule(f"b{at}"))
            live.until_rules(f"a{at}", f"b{at}")
        mount.write(b=rule("b6"), c=rule("c6"))
        live.until_rules("b6", "c6")
        # Never were two versions in force together.
        mount.write(a=rule("a7"), b=rule("b7"))
        live.until_rules("a7", "b7")
        seen = [{name[1:] for name in rules_of(outcome.state)} for outcome in live.told]
        assert all(len(versions) == 1 for versions in seen)


def test_a_reading_is_of_one_version_however_often_a_mount_is_replaced(tmp_path):
    texts = [f"k{at}" for at in range(4)]
    mount = Mount(tmp_path / "rules", **dict.fromkeys(texts, "0"))
    done = threading.Event()

    def replace():
        for at in range(1, 300):
            mount.write(**dict.fromkeys(texts, str(at)))
        done.set()

    with ThreadPoolExecutor(1) as pool:
        replacing = pool.submit(replace)
        versions = set()
        while not done.is_set():
            (offer,) = read_paths([str(mount.folder)]).values()
            assert offer.faults == ()
            versions.add(frozenset(text.data for text in offer.texts))
            assert all(len(version) == 1 for version in versions)
        replacing.result(SECONDS)
    assert len(versions) > 1


def test_a_bad_version_of_a_mounted_config_map_is_refused(tmp_path):
    mount = Mount(tmp_path / "rules", a=rule("x"))
    with Reloading(mount.folder) as live:
        mount.write(a=BAD)
        live.until_refused("lables")
        assert live.rules == ["x"]
        mount.write(a=rule("z"))
        live.until_rules("z")


def test_a_chain_of_folders_may_be_made_step_by_step(tmp_path):
    with Reloading(tmp_path / "one" / "two" / "rules") as live:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "two").mkdir()
        (tmp_path / "one" / "two" / "rules").mkdir()
        (tmp_path / "one" / "two" / "rules" / "a.expr").write_text(rule("x"))
        live.until_rules("x")


# --- what changes nothing ---


def test_the_same_text_saved_again_is_no_reload(folder):
    with Reloading(folder) as live:
        before = live.store.current
        (folder / "a.expr").write_text(rule("x"))
        live.until_told(2)
        assert live.results == [["installed"], ["unchanged"]]
        assert live.store.current is before


def test_hidden_files_and_files_of_other_names_change_nothing(folder):
    with Reloading(folder) as live:
        (folder / ".b.expr").write_text(BAD)
        (folder / "notes.md").write_text("no rules")
        (folder / "a.expr~").write_text(BAD)
        (folder / "more.expr").mkdir()
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")
        assert {tuple(results) for results in live.results} <= {("installed",), ("unchanged",)}


def test_reading_files_is_no_change_of_them(folder):
    noted, news = [], threading.Event()

    def changed(path, _):
        noted.append(Path(path).name)
        if path.endswith("b.expr"):
            news.set()

    watch = Watch(changed)
    watch.start()
    (folder / "b.expr").write_text(rule("y"))
    watch.follow(trail_of([str(folder)]))
    (folder / "a.expr").read_text()
    read_paths([str(folder)])
    (folder / "b.expr").write_text(rule("z"))
    assert news.wait(SECONDS)
    watch.stop()
    assert set(noted) == {"b.expr"}


# --- what is bad ---


def test_a_bad_file_is_refused_with_file_line_and_message(folder, caplog):
    with Reloading(folder) as live:
        before = live.store.current
        (folder / "a.expr").write_text(BAD)
        refusal = live.until_refused("lables")
        assert live.store.current is before
        assert refusal.texts[0].shown == BAD
        (record,) = [r for r in caplog.records if getattr(r, "line", 0)]
        assert (record.file, record.line) == (str(folder / "a.expr"), 2)
        assert "node has no field `lables`" in record.getMessage()
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")


def test_a_first_start_with_bad_rules_has_nothing_in_force_until_they_are_mended(folder):
    (folder / "a.expr").write_text(BAD)
    with Reloading(folder) as live:
        assert live.store.current is None
        assert live.store.refused is not None
        (folder / "a.expr").write_text(rule("x"))
        live.until_rules("x")


def test_a_path_that_is_not_there_at_the_start_may_come(tmp_path):
    with Reloading(tmp_path / "a.expr") as live:
        assert str(live.store.refused.faults[0]) == f"{tmp_path}/a.expr: no such file or directory"
        (tmp_path / "a.expr").write_text(rule("x"))
        live.until_rules("x")


def test_one_bad_folder_does_not_keep_anothers_repair_out(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for made in (one, other):
        made.mkdir()
        (made / "a.expr").write_text(rule(made.name))
    with Reloading(one, other) as live:
        (one / "a.expr").write_text(BAD)
        live.until_refused("lables")
        (other / "a.expr").write_text(rule("new"))
        live.until(lambda state: rules_of(state) == ["one", "new"])
        assert live.store.refused.names == (str(one),)
        (one / "a.expr").write_text(rule("mended"))
        live.until_rules("mended", "new")


def _make_fifo(path: Path) -> None:
    os.mkfifo(path)


UNREADABLE = {
    "leads nowhere": lambda path: path.symlink_to("nowhere"),
    "too many levels of symbolic links": lambda path: path.symlink_to(path.name),
    "not a regular file": _make_fifo,
    "input/output error": lambda path: path.symlink_to("/proc/self/mem"),
    "is not UTF-8": lambda path: path.write_bytes(b"// gr\xfc\xdfe\n"),
    "characters are read": lambda path: path.write_bytes(b" " * (MAX_BYTES + 10)),
}


@pytest.mark.parametrize("cause", UNREADABLE)
def test_a_file_that_cannot_be_read_is_refused_and_can_be_mended(folder, cause):
    with Reloading(folder) as live:
        UNREADABLE[cause](folder / "b.expr")
        refusal = live.until_refused(cause)
        assert refusal.faults[0].file == str(folder / "b.expr")
        assert live.rules == ["x"]
        (folder / "b.expr").unlink()
        (folder / "b.expr").write_text(rule("y"))
        live.until_rules("x", "y")


def test_a_file_without_the_permission_to_read_it_is_refused_until_there_is_one(folder):
    with Reloading(folder) as live:
        (folder / "a.expr").chmod(0)
        if os.access(folder / "a.expr", os.R_OK):
            pytest.skip("whoever runs this may read every file, as root may")
        live.until_refused("permission denied")
        (folder / "a.expr").chmod(0o600)
        live.until_rules("x")


def test_a_change_of_permissions_is_noticed(folder):
    with Reloading(folder) as live:
        (folder / "a.expr").chmod(0o600)
        live.until_told(2)
        assert live.results[1] == ["unchanged"]


def test_an_emptied_folder_keeps_its_rules(folder):
    with Reloading(folder) as live:
        (folder / "a.expr").unlink()
        live.until_refused("this directory has no `.expr` files")
        assert live.rules == ["x"]
        (folder / "b.expr").write_text(rule("y"))
        live.until_rules("y")


# --- folders that go and come ---


def test_a_folder_that_vanishes_keeps_its_rules_and_is_read_when_it_returns(folder):
    with Reloading(folder) as live:
        for at in range(3):
            shutil.rmtree(folder)
            live.until_refused("no such file or directory")
            assert live.rules
            folder.mkdir()
            (folder / "a.expr").write_text(rule(f"x{at}"))
            live.until_rules(f"x{at}")
            (folder / "a.expr").write_text(rule(f"y{at}"))
            live.until_rules(f"y{at}")


def test_a_folder_may_be_swapped_for_another(folder, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    (new / "a.expr").write_text(rule("y"))
    with Reloading(folder) as live:
        folder.rename(tmp_path / "old")
        new.rename(folder)
        live.until_rules("y")
        (folder / "a.expr").write_text(rule("z"))
        live.until_rules("z")
        (tmp_path / "old" / "a.expr").write_text(rule("old"))
        (folder / "a.expr").write_text(rule("w"))
        live.until_rules("w")


def test_a_folder_above_may_vanish_and_return(tmp_path):
    above = tmp_path / "above"
    folder = above / "rules"
    folder.mkdir(parents=True)
    (folder / "a.expr").write_text(rule("x"))
    with Reloading(folder) as live:
        shutil.rmtree(above)
        live.until_refused("no such file or directory")
        folder.mkdir(parents=True)
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")


# --- half-written files ---


def _poked(live, clock, holds):
    """Wait for something while time passes in small steps."""

    def pass_time():
        clock.seconds += QUIET_SECONDS / 2

    return live.until(holds, poke=pass_time, every=0.005)


def test_a_half_written_file_is_not_read_until_it_is_closed(folder):
    clock = HandClock()
    with Reloading(folder, clock=clock) as live:
        with (folder / "a.expr").open("w") as file:
            file.write(rule("first"))  # which would be a rule set by itself
            file.flush()
            live.until_written_to()
            clock.seconds += OPEN_SECONDS * 0.9
            assert live.reload._settling._left() > 0
            file.write(rule("second"))
        _poked(live, clock, lambda state: rules_of(state) == ["first", "second"])
        assert live.results == [["installed"], ["installed"]]


def test_a_file_that_stays_open_is_read_after_a_while(folder):
    clock = HandClock()
    with Reloading(folder, clock=clock) as live, (folder / "a.expr").open("w") as file:
        file.write(rule("y"))
        file.flush()
        _poked(live, clock, lambda state: rules_of(state) == ["y"])
        assert clock.seconds >= OPEN_SECONDS


def _settling():
    clock = HandClock()
    return clock, Settling(clock)


def _rests(settling, clock, at):
    """Say whether, at a moment, files may be read."""
    clock.seconds = at
    return settling._left() <= 0


def test_a_change_is_taken_over_after_a_short_quiet_time():
    clock, settling = _settling()
    settling.changed("a")
    assert not _rests(settling, clock, QUIET_SECONDS * 0.9)
    assert _rests(settling, clock, QUIET_SECONDS)
    assert QUIET_SECONDS < 0.1


def test_files_that_keep_changing_are_read_all_the_same():
    clock, settling = _settling()
    for at in range(100):
        clock.seconds = at * QUIET_SECONDS / 2
        settling.changed("a")
    assert _rests(settling, clock, LONGEST_SECONDS)
    assert LONGEST_SECONDS <= 0.1


def test_a_file_that_is_written_to_is_waited_for_until_it_is_closed_or_too_long():
    clock, settling = _settling()
    settling.changed("a", True)
    clock.seconds = OPEN_SECONDS / 2
    settling.changed("a", True)
    settling.changed("a")  # another notice of it, which says nothing of the end
    assert not _rests(settling, clock, OPEN_SECONDS * 0.9)
    assert _rests(settling, clock, OPEN_SECONDS)


def test_a_file_that_is_closed_is_not_waited_for_any_longer():
    clock, settling = _settling()
    settling.changed("a", True)
    settling.changed("b", True)
    settling.changed("a", False)
    assert not _rests(settling, clock, LONGEST_SECONDS)
    settling.changed("b", False)
    assert _rests(settling, clock, LONGEST_SECONDS)


# --- where the kernel does not tell ---


def test_without_notices_of_the_kernel_files_are_looked_at_and_the_log_says_so(folder, caplog):
    def exhausted(**_):
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    with Reloading(folder, make_observer=exhausted) as live:
        assert "inotify instance limit reached" in caplog.text
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")
        (folder / "a.expr").write_text(BAD)
        live.until_refused("lables")
        (folder / "b.expr").write_text(rule("z"))
        (folder / "a.expr").write_text(rule("x"))
        live.until_rules("x", "z")


def test_where_a_limit_is_reached_later_files_are_looked_at_from_then_on(folder, caplog):
    class Short(Observer):
        """An observer that may watch one folder only."""

        def schedule(self, *arguments, **options):
            if self._watches:
                raise OSError(errno.ENOSPC, "inotify watch limit reached")
            return super().schedule(*arguments, **options)

    with Reloading(folder, make_observer=Short) as live:
        assert "inotify watch limit reached" in caplog.text
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")


class Deaf(EventEmitter):
    """Never tells of anything."""

    def queue_events(self, timeout):
        self.stopped_event.wait(timeout)


def test_what_nobody_tells_of_is_found_by_reading_now_and_then(folder, caplog):
    def deaf(*, timeout):
        return BaseObserver(Deaf, timeout=timeout)

    with (
        caplog.at_level(logging.INFO),
        Reloading(folder, make_observer=deaf, read_seconds=0.05) as live,
    ):
        (folder / "a.expr").write_text(rule("y"))
        live.until_rules("y")
        assert "rule files have changed without notice" in caplog.messages
        assert "unchanged" not in [result for results in live.results for result in results]


# --- threads ---


def test_what_watchdog_says_of_its_own_end_is_no_error_and_the_rest_is_told(folder, caplog):
    theirs = logging.getLogger("watchdog.observers.inotify")
    with Reloading(folder):
        theirs.error("InotifyEmitter.queue_events() called when the thread is inactive")
        theirs.error("something else")
    assert [r.message for r in caplog.records if r.name == theirs.name] == ["something else"]


def test_a_fault_in_taking_a_notice_does_not_end_the_notices(folder, caplog):
    called = threading.Semaphore(0)

    def broken(*_):
        called.release()
        raise RuntimeError("no")

    watch = Watch(broken)
    watch.start()
    watch.follow(trail_of([str(folder)]))
    for at in range(3):
        (folder / "a.expr").write_text(rule(f"x{at}"))
        assert called.acquire(timeout=SECONDS)
    watch.stop()
    assert "a change of rule files could not be noted" in caplog.text


def test_a_fault_in_reading_does_not_end_the_reloads(folder, caplog, monkeypatch):
    failed = threading.Event()

    def broken(_):
        failed.set()
        raise RuntimeError("no")

    with Reloading(folder) as live:
        with monkeypatch.context() as patched:
            patched.setattr(reload_module, "read_paths", broken)
            (folder / "a.expr").write_text(rule("y"))
            assert failed.wait(SECONDS)
        (folder / "a.expr").write_text(rule("z"))
        live.until_rules("z")
        assert "rule files could not be reloaded" in caplog.text


def test_stopping_ends_also_a_wait_for_a_file_that_is_never_closed(folder):
    clock = HandClock()
    live = Reloading(folder, clock=clock)
    with live, (folder / "a.expr").open("w") as file:
        file.write(rule("y"))
        file.flush()
    assert live.results == [["installed"]]


def test_it_may_be_stopped_twice_and_before_its_threads(folder):
    with Reloading(folder) as live:
        live.reload.stop()
        live.reload.stop()
        (folder / "a.expr").write_text(rule("y"))
        assert live.rules == ["x"]


def test_readers_see_whole_sets_while_files_are_reloaded(folder):
    done = threading.Event()

    def look(store: RulesetStore):
        seen = {}
        while not done.is_set():
            current = store.current
            names = tuple(made.name for made in current.rules)
            assert seen.setdefault(current.hash, names) == names
            assert len({name[1:] for name in names}) == 1
        return seen

    (folder / "a.expr").write_text(rule("a0") + rule("b0"))
    with Reloading(folder) as live, ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(look, live.store) for _ in range(4)]
        for at in range(1, 11):
            (folder / "a.expr").write_text(rule(f"a{at}") + rule(f"b{at}"))
            live.until_rules(f"a{at}", f"b{at}")
        done.set()
        seen = [looked.result(SECONDS) for looked in looking]
    assert {len(names) for one in seen for names in one.values()} == {2}


# --- the same as a cold start, and as the command line ---


def _as_the_command_line_loads(*paths):
    sources, faults = read_sources(one_set([str(path) for path in paths]))
    assert not faults
    return load(sources)


def test_what_is_read_is_what_the_command_line_reads(folder, tmp_path):
    mount = Mount(tmp_path / "mount", b=rule("b"), a=rule("a"))
    (folder / ".hidden.expr").write_text(BAD)
    (folder / "z.txt").write_text(BAD)
    (folder / "Z.expr").write_text(rule("Z"))
    (folder / "dir.expr").mkdir()
    paths = [mount.folder, folder / "a.expr", folder]
    with Reloading(*paths) as live:
        assert live.rules == ["a", "b", "x", "Z"]
        assert portrait(live.store.current) == portrait(_as_the_command_line_loads(*paths))


TEXTS = st.sampled_from([*(rule(name) for name in "xyz"), "param p = 1\n", BAD, 'rule "t" {', ""])
NAMES = st.sampled_from(["one/a.expr", "one/b.expr", "two/a.expr", "two/.c.expr"])
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("replace"), NAMES, TEXTS),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("remove folder"), st.sampled_from(["one", "two"])),
)


def _edit(root: Path, edit) -> None:
    kind, name, *rest = edit
    path = root / name
    if kind == "remove folder":
        shutil.rmtree(path, ignore_errors=True)
        return
    path.parent.mkdir(exist_ok=True)
    if kind == "write":
        path.write_text(rest[0])
    elif kind == "replace":
        aside = root / "aside" / "a.expr"
        aside.parent.mkdir(exist_ok=True)
        aside.write_text(rest[0])
        aside.rename(path)
    elif kind == "remove":
        path.unlink(missing_ok=True)
    elif path.exists():
        (root / rest[0]).parent.mkdir(exist_ok=True)
        path.rename(root / rest[0])


def _is_of(state, reading) -> bool:
    """Say whether a state is about these texts: each is in force, or held back."""
    held = dict(state.refusal.held) if state.refusal else {}
    return {**dict(state.sources), **held} == dict(reading)


@settings(
    max_examples=max(10, settings().max_examples // 4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given_(edits=st.lists(EDITS, min_size=1, max_size=6))
def test_after_any_edits_the_state_is_that_of_a_cold_start(tmp_path_factory, edits):
    root = tmp_path_factory.mktemp("edits")
    for name in ("one", "two"):
        (root / name).mkdir()
        (root / name / "a.expr").write_text(rule(name))
    paths = [root / "one", root / "two"]
    with Reloading(*paths) as live:
        for edit in edits:
            _edit(root, edit)
            reading = read_paths([str(path) for path in paths])
            state = live.until(lambda state, reading=reading: _is_of(state, reading))
            cold = RulesetStore("cold", now=live.clock.now)
            cold.update(reading)
            if cold.refused is None:
                assert state.refusal is None
                assert portrait(state.ruleset) == portrait(cold.current)
            else:
                assert state.refusal is not None
            again = RulesetStore("again", now=live.clock.now)
            again.update(dict(state.sources))
            assert portrait(again.current) == portrait(state.ruleset)


# --- what is watched ---


def test_what_leads_to_a_file_is_watched_and_nothing_else(tmp_path):
    mount = Mount(tmp_path / "rules", a=rule("x"))
    real = os.path.realpath(tmp_path)
    trail = trail_of([str(mount.folder)])
    assert trail == Trail(
        frozenset({f"{real}/rules"}),
        frozenset(
            {
                (real, "rules"),
                (f"{real}/rules", "a.expr"),
                (f"{real}/rules", "..data"),
                (f"{real}/rules/..2026_06_01.1", "a.expr"),
            }
        ),
    )
    assert trail.concerns(f"{real}/rules/new.expr")
    assert not trail.concerns(f"{real}/rules/new.md")
    assert not trail.concerns(f"{real}/rules/.new.expr")
    assert not trail.concerns(f"{real}/other")


def test_links_that_lead_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    real = os.path.realpath(tmp_path)
    assert trail_of([str(tmp_path / "a")]).looked_up == {(real, "a"), (real, "b")}
