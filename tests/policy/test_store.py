"""The live rule set: what is in force, what is held back, and who is told, after any offers."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.language.limits import MAX_SOURCE
from policyd.language.source import Source
from policyd.policy import choice
from policyd.policy import store as store_module
from policyd.policy.choice import MOST_TRIES, RefusedError, compile_sources
from policyd.policy.load import load
from policyd.policy.outcome import Fault, Offer, Origin, Result, Text
from policyd.policy.store import RulesetStore
from policyd.values.times import Timestamp
from tests.policy.portrait import portrait

A, B, C = Origin(0, "a"), Origin(1, "b"), Origin(2, "c")
BAD = 'rule "bad" { require node.lables["x"] == "y" }'
TORN = 'rule "torn" { require'
SECONDS = 30  # bounds what a fault would make endless


def rule(name: str, condition: str = "node.ready") -> str:
    return f'rule "{name}" {{ require {condition} }}'


def offer(*texts: str | bytes, name: str = "") -> Offer:
    """Give an offer of texts, called `1.expr`, `2.expr` … in the folder `name`."""
    return Offer(tuple(Text(f"{name}{at}.expr", text) for at, text in enumerate(texts, 1)))


def of(origin: Origin, *texts: str | bytes) -> Offer:
    return offer(*texts, name=f"{origin.name}/")


class Stopwatch:
    """A time of day that moves a second at each look."""

    def __init__(self) -> None:
        self.seconds = 0

    def now(self) -> Timestamp:
        self.seconds += 1
        return Timestamp(self.seconds * 10**9)


class Told(list):
    """A store, and what it told."""

    def __init__(self, **parameters: str) -> None:
        super().__init__()
        self.store = RulesetStore("policyd", parameters, now=Stopwatch().now)
        self.store.listen(self.append)

    def give(self, **offers: str | bytes | None):
        """Offer one text of each of the sources `a`, `b`, `c`; nothing withdraws."""
        known = {"a": A, "b": B, "c": C}
        return self.store.update(
            {
                known[name]: None if text is None else of(known[name], text)
                for name, text in offers.items()
            }
        )

    @property
    def rules(self) -> list[str]:
        return [rule.name for rule in self.store.current.rules]


def results(outcome) -> list[str]:
    return [result.value for result in outcome.results]


# --- one source ---


def test_what_is_offered_first_is_installed_with_the_hash_that_loading_gives():
    told = Told()
    outcome = told.give(a=rule("x"))
    assert outcome.results == (Result.INSTALLED,)
    assert told.store.current.hash == load([Source("a/1.expr", rule("x"))]).hash
    assert told.store.generation == 1
    assert told.store.texts == (Text("a/1.expr", rule("x")),)
    assert told.store.refused is None
    assert told == [outcome]


def test_the_same_text_again_changes_nothing():
    told = Told()
    told.give(a=rule("x"))
    before = told.store.state
    assert results(told.give(a=rule("x"))) == ["unchanged"]
    assert told.store.state is before


def test_a_bad_text_is_refused_and_leaves_the_last_good_set_in_force():
    told = Told()
    told.give(a=rule("x"))
    before = told.store.current
    assert results(told.give(a=f"\n{BAD}")) == ["refused"]
    assert told.store.current is before
    assert told.store.generation == 1
    refused = told.store.refused
    assert refused.texts == (Text("a/1.expr", f"\n{BAD}"),)
    assert refused.names == ("a",)
    (fault,) = refused.faults_of("a")
    assert (fault.file, fault.line, fault.column, fault.code) == ("a/1.expr", 2, 27, "E203")
    assert str(fault) == "a/1.expr:2:27: node has no field `lables`"


def test_a_first_bad_text_leaves_nothing_in_force():
    told = Told()
    assert results(told.give(a=BAD)) == ["refused"]
    assert told.store.current is None
    assert told.store.texts == ()
    assert results(told.give(a=rule("x"))) == ["installed"]
    assert told.store.refused is None


def test_going_back_to_the_text_in_force_ends_the_refusal_without_a_reload():
    told = Told()
    told.give(a=rule("x"))
    before = told.store.current
    told.give(a=BAD)
    outcome = told.give(a=rule("x"))
    assert results(outcome) == ["unchanged"]
    assert outcome.is_repaired
    assert told.store.current is before
    assert told.store.refused is None


def test_a_second_bad_text_is_another_refusal_and_the_same_again_is_none():
    told = Told()
    told.give(a=rule("x"))
    told.give(a=BAD)
    first = told.store.refused
    assert results(told.give(a=BAD)) == ["unchanged"]
    assert told.store.refused is first
    assert results(told.give(a=TORN)) == ["refused"]
    assert told.store.refused.at > first.at


def test_all_that_is_wrong_in_all_files_is_told_at_once():
    told = Told()
    told.store.update({A: of(A, TORN, b"\xff", TORN)})
    assert [f.file for f in told.store.refused.faults] == ["a/2.expr", "a/1.expr", "a/3.expr"]


@pytest.mark.parametrize(
    ("text", "code"),
    [(b"\xff", "E304"), ("\ud800", "E304"), ("\0", "E305"), (" " * (MAX_SOURCE + 1), "E301")],
    ids=["not UTF-8", "a lone surrogate", "NUL", "too large"],
)
def test_what_is_no_text_is_refused(text, code):
    told = Told()
    told.give(a=rule("x"))
    assert results(told.give(a=text)) == ["refused"]
    assert [fault.code for fault in told.store.refused.faults] == [code]
    assert all(isinstance(text.shown, str) for text in told.store.refused.texts)


def test_bytes_and_text_of_the_same_content_make_the_same_set():
    told = Told()
    told.give(a=rule("x"))
    before = told.store.current.hash
    told.give(a=b"\xef\xbb\xbf" + rule("x").encode())
    assert told.store.current.hash == before


def test_a_source_that_cannot_be_read_keeps_its_rules():
    told = Told()
    told.give(a=rule("x"))
    fault = Fault("no such file or directory", "a", "a")
    assert results(told.store.update({A: Offer(faults=(fault,))})) == ["refused"]
    assert told.store.refused.faults == (fault,)
    assert told.rules == ["x"]


def test_texts_without_a_rule_are_refused():
    told = Told()
    assert results(told.give(a="// nothing here\n")) == ["refused"]
    assert str(told.store.refused.faults[0]) == "there is no rule in a"


@pytest.mark.parametrize("sources", [{}, {A: None}])
def test_no_source_at_all_is_refused(sources):
    told = Told()
    assert results(told.store.update(sources)) == ["refused"]
    assert str(told.store.refused.faults[0]) == "no source gives rules"


def test_the_last_source_cannot_be_withdrawn():
    told = Told()
    told.give(a=rule("x"))
    assert results(told.give(a=None)) == ["refused"]
    assert told.rules == ["x"]


def test_values_of_parameters_are_part_of_the_set():
    text = "param zone: string = 'a'\n" + rule("x", 'node.labels["zone"] == zone')
    told = Told(zone="b")
    told.give(a=text)
    assert told.store.current.values == {"zone": "b"}
    told.give(a=rule("x"))
    (fault,) = told.store.refused.faults
    assert str(fault) == "no rule has a parameter `zone`"
    assert told.store.current.values == {"zone": "b"}


def test_a_fault_of_the_compiler_refuses_the_text_and_goes_no_further(monkeypatch, caplog):
    told = Told()
    told.give(a=rule("x"))

    def broken(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr(choice, "load", broken)
    assert results(told.give(a=rule("y"))) == ["refused"]
    assert "RecursionError: too deep" in told.store.refused.faults[0].message
    assert told.rules == ["x"]
    assert "could not be compiled" in caplog.text


def test_what_could_not_even_be_tried_is_tried_when_it_is_offered_again(monkeypatch):
    told = Told()
    told.give(a=rule("x"))
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "choose", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            told.give(a=rule("y"))
    assert told.rules == ["x"]
    assert results(told.give(a=rule("y"))) == ["installed"]


# --- several sources ---


def test_sources_are_compiled_in_their_order_whenever_they_came():
    one, other = Told(), Told()
    one.give(a=rule("x"), b=rule("y"))
    other.give(b=rule("y"))
    other.give(a=rule("x"))
    assert one.rules == other.rules == ["x", "y"]
    assert one.store.current.hash == other.store.current.hash


def test_a_bad_source_does_not_keep_anothers_repair_out():
    told = Told()
    told.give(a=rule("x"), b=rule("y"))
    told.give(a=BAD)
    told.give(b=TORN)
    assert told.store.refused.names == ("a", "b")
    outcome = told.give(b=rule("z"))
    assert results(outcome) == ["installed", "refused"]
    assert told.rules == ["x", "z"]
    assert told.store.refused.names == ("a",)


def test_a_refusal_ends_with_the_repair_of_its_own_source():
    told = Told()
    told.give(a=rule("x"), b=rule("y"))
    told.give(a=BAD)
    told.give(b=rule("z"))
    assert told.store.refused.names == ("a",)
    assert results(told.give(a=rule("w"))) == ["installed"]
    assert told.store.refused is None
    assert told.rules == ["w", "z"]


def test_a_refusal_ends_when_its_source_is_withdrawn():
    told = Told()
    told.give(a=rule("x"), b=rule("y"))
    told.give(a=BAD)
    told.give(a=None)
    assert told.store.refused is None
    assert told.rules == ["y"]


def test_a_new_source_that_is_bad_keeps_nothing_out():
    told = Told()
    told.give(a=rule("x"))
    told.give(b=BAD)
    assert told.rules == ["x"]
    told.give(a=rule("z"))
    assert told.rules == ["z"]
    assert told.store.refused.names == ("b",)


def test_at_the_start_all_sources_must_be_good():
    told = Told()
    told.give(a=rule("x"), b=BAD)
    assert told.store.current is None
    told.give(b=rule("y"))
    assert told.rules == ["x", "y"]


def test_a_bad_source_may_also_be_withdrawn_at_the_start():
    told = Told()
    told.give(a=rule("x"), b=BAD)
    told.give(b=None)
    assert told.rules == ["x"]


def test_nothing_is_installed_before_all_that_is_awaited_is_there():
    store = RulesetStore("policyd", now=Stopwatch().now, awaits=["files", "maps"])
    assert results(store.update({A: of(A, rule("x"))}, "files")) == ["unchanged"]
    assert store.current is None
    assert store.refused is None
    assert results(store.update({}, "maps")) == ["installed"]
    assert store.texts == (Text("a/1.expr", rule("x")),)
    assert results(store.update({B: of(B, rule("y"))}, "maps")) == ["installed"]


def test_of_two_changes_that_exclude_each_other_the_first_source_goes_in():
    told = Told()
    told.give(a=rule("x"), b=rule("y"))
    told.give(a=rule("same"), b=rule("same"))
    assert told.rules == ["same", "y"]
    assert told.store.refused.names == ("b",)


def test_one_good_and_one_bad_change_at_once_are_installed_and_refused():
    told = Told()
    told.give(a=rule("x"), b=rule("y"))
    outcome = told.give(a=rule("z"), b=BAD)
    assert results(outcome) == ["installed", "refused"]
    assert outcome.accepted == ("a",)
    assert outcome.refusal.names == ("b",)
    assert told.rules == ["z", "y"]
    assert told.give(a=None).accepted == ("a",)


def test_two_changes_that_need_each_other_go_in_though_a_third_is_bad():
    param = "param zone = 'a'\n"
    told = Told()
    told.give(a=param + rule("x"), b=rule("y", 'zone == "a"'), c=rule("z"))
    told.give(a=rule("x"), b=param + rule("y", 'zone == "a"'), c=BAD)
    assert told.store.refused.names == ("c",)
    assert told.store.texts[1].data == param + rule("y", 'zone == "a"')


def test_a_source_that_others_need_cannot_be_withdrawn():
    told = Told()
    told.give(a="param zone = 'a'", b=rule("y", 'zone == "a"'))
    told.give(a=None)
    assert told.store.refused.names == ("a",)
    assert told.store.refused.texts == ()
    assert told.store.refused.faults[0].file == "b/1.expr"
    told.give(b=rule("y"))
    assert told.store.refused is None
    assert told.store.texts == (Text("b/1.expr", rule("y")),)


def test_a_rule_that_two_sources_define_names_both():
    told = Told()
    told.give(a=rule("x"))
    told.give(b=rule("x"))
    (fault,) = told.store.refused.faults
    assert fault.message == 'the rule "x" is declared twice'
    assert fault.place == "b/1.expr:1:6"
    assert fault.diagnostic.notes == ("it is declared at a/1.expr:1",)
    assert told.store.refused.names == ("b",)


def test_a_text_that_two_sources_give_names_both():
    told = Told()
    told.store.update({A: offer(rule("x")), B: offer(rule("y"))})
    (fault,) = told.store.refused.faults
    assert str(fault) == "1.expr: the text `1.expr` is given by a and by b"
    assert fault.source == "b"


def test_of_many_changes_those_go_in_that_can():
    origins = [Origin(at, f"s{at:02}") for at in range(12)]
    told = Told()
    told.store.update({o: of(o, rule(o.name)) for o in origins})
    # Every second one declares a rule that the first declares too, so that each must be held back.
    changed = {
        o: of(o, rule("same" if at % 2 == 0 else f"new{at}")) for at, o in enumerate(origins)
    }
    assert 2 ** (len(origins) // 2) > MOST_TRIES
    told.store.update(changed)
    assert told.store.refused.names == tuple(o.name for o in origins[2::2])
    assert told.rules[:4] == ["same", "new1", "s02", "new3"]


# --- who is told ---


def test_a_listener_that_fails_keeps_neither_the_rules_nor_others_back(caplog):
    told = Told()
    store = told.store

    def broken(_):
        raise RuntimeError("no")

    after = []
    store.listen(broken)
    store.listen(after.append)
    told.give(a=rule("x"))
    assert told.rules == ["x"]
    assert after == told
    assert "a listener of the rules of policyd failed" in caplog.text


def test_what_is_refused_is_logged_with_file_line_and_message(caplog):
    told = Told()
    with caplog.at_level(logging.INFO):
        told.give(a=rule("x"))
        told.give(a=f"\n\n{BAD}")
        told.give(a=rule("x"))
    installed, refused, stays, repaired = caplog.records
    assert installed.ruleset == told.store.current.hash
    assert installed.levelno == logging.INFO
    assert refused.getMessage() == "rules refused: a/1.expr:3:27: node has no field `lables`"
    assert (refused.file, refused.line, refused.code) == ("a/1.expr", 3, "E203")
    assert refused.levelno == logging.ERROR
    assert stays.getMessage().startswith(f"rules {installed.ruleset} stay in force for policyd: ")
    assert "newer ones of a are held back" in stays.getMessage()
    assert repaired.levelno == logging.INFO
    assert "again those in force" in repaired.getMessage()


def test_a_refusal_at_the_start_says_that_nothing_is_in_force(caplog):
    Told().give(a=BAD)
    assert caplog.messages[-1] == "no rules are in force for policyd: those of a are refused"


def test_of_very_many_faults_the_log_shows_some_and_counts_the_rest(caplog):
    Told().store.update({A: of(A, *[TORN] * 30)})
    lines = [m for m in caplog.messages if m.startswith("rules refused: a/")]
    assert len(lines) == 20
    assert "rules refused: there are 10 more errors" in caplog.messages


def test_warnings_of_an_installed_set_are_logged(caplog):
    Told().give(a="param unused = 1\n" + rule("x"))
    assert "rules: a/1.expr:1:7: the parameter `unused` is not used" in caplog.messages


# --- threads ---


def test_readers_do_not_wait_while_rules_are_compiled(monkeypatch):
    told = Told()
    told.give(a=rule("x"))
    compiling, go_on = threading.Event(), threading.Event()

    def slow(*arguments):
        compiling.set()
        assert go_on.wait(SECONDS)
        return load(*arguments)

    monkeypatch.setattr(choice, "load", slow)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(told.give, a=rule("y"))
        assert compiling.wait(SECONDS)
        assert told.rules == ["x"]
        assert told.store.refused is None
        assert told.store.generation == 1
        go_on.set()
        writing.result(SECONDS)
    assert told.rules == ["y"]


def test_writers_take_turns_and_every_outcome_follows_from_the_one_before():
    told = Told()
    origins = [Origin(at, f"s{at}") for at in range(4)]
    start = threading.Barrier(len(origins))

    def offers(origin):
        start.wait(SECONDS)
        for at in range(10):
            text = rule(f"{origin.name}-{at}") if at % 3 else BAD
            told.store.update({origin: of(origin, text)})

    with ThreadPoolExecutor(len(origins)) as pool:
        for writing in [pool.submit(offers, origin) for origin in origins]:
            writing.result(SECONDS)
    assert len(told) == 40
    for before, after in pairwise(told):
        assert after.before is before.state
    # The last texts are bad, and those before them are in force.
    told.store.update({o: of(o, rule(f"{o.name}-end")) for o in origins})
    assert told.rules == [f"{o.name}-end" for o in origins]
    assert told.store.refused is None


# --- whatever is offered ---

TEXTS = st.sampled_from(
    [
        *(rule(name) for name in "xyz"),
        "param zone = 'a'\n" + rule("p"),
        "param zone = 'a'",
        rule("q", 'zone == "a"'),
        *(BAD, TORN, "// nothing", b"\xff"),
    ]
)
OFFERS = st.dictionaries(
    st.sampled_from([A, B, C]),
    st.none() | st.lists(TEXTS, min_size=1, max_size=2),
    min_size=1,
    max_size=3,
)


def _compiles(sources):
    try:
        return compile_sources(tuple(sorted(sources.items())), {})
    except RefusedError:
        return None


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(OFFERS, min_size=1, max_size=8))
def test_after_any_offers_the_state_is_that_of_a_cold_start_with_the_texts_in_force(history):
    told = Told()
    newest = {}
    for offers in history:
        made = {o: None if texts is None else of(o, *texts) for o, texts in offers.items()}
        before = told.store.state
        told.store.update(made)
        newest = {o: v for o, v in {**newest, **made}.items() if v is not None}
        state = told.store.state

        cold = Told().store
        cold.update(dict(state.sources))
        assert portrait(cold.current) == portrait(state.ruleset)
        assert state.ruleset is None or cold.refused is None

        whole = _compiles(newest)
        assert (state.refusal is None) == (whole is not None)
        if whole is not None:
            assert dict(state.sources) == newest
        if state.ruleset is not None and state.refusal is not None:
            _held_back_as_little_as_possible(before, state, newest)


def _held_back_as_little_as_possible(before, state, newest):
    """Each source has its newest text or the one from before; and no held one could go in."""
    chosen, old = dict(state.sources), dict(before.sources)
    held = {origin for origin, _ in state.refusal.held}
    assert held
    for origin in {*chosen, *newest}:
        kept = old if origin in held else newest
        assert chosen.get(origin) == kept.get(origin)
    for origin in held:
        tried = {o: v for o, v in {**chosen, origin: newest.get(origin)}.items() if v is not None}
        assert _compiles(tried) is None
