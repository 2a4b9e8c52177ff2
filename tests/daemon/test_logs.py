"""Every message is one line with the same fields, repeats are counted, and secrets are masked."""

import io
import json
import logging
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog

from policyd.daemon.logs import MOST_OF_A_KIND, REPEAT_SECONDS, configure_logs
from policyd.metrics import Metrics
from tests.daemon.watched import FIT, Scrape, Watched

PATIENCE = 30  # seconds that only a fault needs
LOG = logging.getLogger("policyd.tests.logs")


class Written:
    """Logs that are written into memory, on a clock in the test's hand."""

    def __init__(self, level="info", form="json", metrics=None, stream=None):
        self.stream = stream or io.StringIO()
        self.seconds = 0.0
        self.logs = configure_logs(
            level, form, self.stream, metrics=metrics, timer=lambda: self.seconds
        )

    @property
    def text(self):
        return self.stream.getvalue()

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def of(self, logger=LOG.name):
        return [line for line in self.lines if line["logger"] == logger]


@pytest.fixture
def make():
    made = []

    def written(*args, **kwargs):
        made.append(Written(*args, **kwargs))
        return made[-1]

    yield written
    for each in made:
        each.logs.close()


@pytest.fixture
def written(make):
    return make()


def test_a_message_of_the_standard_library_is_an_object_with_its_fields(written):
    LOG.info("pod %s is bound", "shop/web", extra={"pod": "shop/web", "count": 3})
    (line,) = written.lines
    at = line.pop("timestamp")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", at)
    assert line == {
        "level": "info",
        "message": "pod shop/web is bound",
        "logger": LOG.name,
        "thread": "MainThread",
        "pod": "shop/web",
        "count": 3,
    }


def test_a_message_of_structlog_has_the_same_fields(written):
    structlog.get_logger(LOG.name).warning("pod is bound", pod="shop/web")
    (line,) = written.lines
    assert (line["level"], line["message"], line["pod"]) == ("warning", "pod is bound", "shop/web")
    assert list(line)[:5] == ["timestamp", "level", "message", "logger", "thread"]


def test_levels_hold_and_libraries_that_talk_much_are_quieter(make):
    written = make("info")
    LOG.debug("no")
    logging.getLogger("urllib3.util").info("no")
    logging.getLogger("urllib3.util").warning("yes")
    logging.getLogger("policyd.x").info("yes")
    assert [line["message"] for line in written.lines] == ["yes", "yes"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"level": "loud"}, "no log level 'loud'"), ({"form": "xml"}, "no log form 'xml'")],
)
def test_what_is_no_level_or_form_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        configure_logs(**arguments)


def test_afterwards_logging_is_as_it_was():
    before = (logging.getLogger().handlers[:], logging.getLogger().level)
    structlog_before = structlog.get_config()
    configure_logs("debug", "json", io.StringIO()).close()
    assert (logging.getLogger().handlers, logging.getLogger().level) == before
    assert structlog.get_config() == structlog_before


def test_an_exception_is_fields_and_tells_no_values(written):
    def fail():
        password = "hunter2"  # noqa: S105 - this is what must not be told
        assert password
        raise ZeroDivisionError("by zero")

    try:
        fail()
    except ZeroDivisionError:
        LOG.exception("it failed")
        structlog.get_logger(LOG.name).exception("it failed too")
    for line in written.lines:
        (error,) = line["exception"]
        assert (error["exc_type"], error["exc_value"]) == ("ZeroDivisionError", "by zero")
        assert error["frames"][-1]["name"] == "fail"
        assert line["level"] == "error"
    assert len(written.lines) == 2
    assert "hunter2" not in written.text


@pytest.mark.parametrize(
    ("message", "fields", "secret"),
    [
        ("Authorization: Bearer abc.def-ghi", {}, "abc.def-ghi"),
        ("GET https://user:s3cr3t@host/x failed", {}, "s3cr3t"),
        ("token eyJhbGciOi.eyJzdWIi.c2ln", {}, "eyJhbGciOi.eyJzdWIi"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----", {}, "MIIEvQ"),
        ("fine", {"token": "abcdef"}, "abcdef"),
        ("fine", {"request": {"headers": {"authorization": "Basic abcdef"}}}, "abcdef"),
        ("fine", {"urls": ["http://a:abcdef@b"]}, "abcdef"),
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_are_masked(make, form, message, fields, secret):
    written = make(form=form)
    LOG.warning("%s", message, extra=fields)
    LOG.error("failed", exc_info=ValueError(message if not fields else ""), extra=fields)
    assert secret not in written.text
    assert "[masked]" in written.text


def test_what_cannot_be_encoded_is_written_all_the_same(written):
    record = LOG.makeRecord(
        *(LOG.name, logging.INFO, "x.py", 1, "odd \ud800 \x00 text", (), None),
        extra={"odd": object(), "set": {1}, "bytes": b"\xff"},
    )
    written.logs._handler.handle(record)  # pytest's own handler could not pass it on
    (line,) = written.lines
    assert line["message"] == "odd \ud800 \x00 text"
    assert line["set"] == [1]
    assert line["bytes"] == "b'\\xff'"


def test_a_message_that_cannot_be_made_stops_nobody(written, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    LOG.info("%d", "no number")
    LOG.info("yes")
    assert [line["message"] for line in written.lines] == ["yes"]


def test_warnings_of_python_are_logged(written):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old ways", stacklevel=1)
    assert "old ways" in written.lines[0]["message"]


# --- at a terminal ---


def test_the_readable_form_is_one_line_that_cannot_be_forged(make):
    written = make(form="text")
    LOG.warning("two\nlines \x1b[31mred", extra={"pod": "a/b", "q": 'say "x"'})
    (line,) = written.text.splitlines()
    assert re.match(r"20\S+Z WARNING two␊lines ␛\[31mred  pod=a/b q=", line)
    assert "\x1b" not in line


def test_the_readable_form_has_the_trace_beneath(make):
    written = make(form="text")
    try:
        int("x")
    except ValueError:
        LOG.exception("it failed")
    head, *rest = written.text.splitlines()
    assert "ERROR   it failed" in head
    assert rest[0].strip() == "Traceback (most recent call last):"
    assert rest[-1].strip().startswith("ValueError: invalid literal")


@pytest.mark.parametrize(("terminal", "is_json"), [(True, False), (False, True)])
def test_the_form_follows_where_it_is_written_to(make, terminal, is_json):
    class Stream(io.StringIO):
        def isatty(self):
            return terminal

    written = make(form=None, stream=Stream())
    LOG.info("hello")
    assert written.text.startswith("{") == is_json


# --- what repeats ---


def test_a_warning_that_repeats_is_written_once_and_then_with_its_count(written):
    for _ in range(500):
        LOG.warning("the same")
    assert len(written.lines) == 1
    assert "left_out" not in written.lines[0]
    written.seconds = REPEAT_SECONDS
    LOG.warning("the same")
    first, second = written.lines
    assert (second["message"], second["left_out"]) == ("the same", 499)
    assert first["level"] == second["level"] == "warning"


def test_what_was_left_out_is_told_although_it_never_comes_again(written):
    for _ in range(3):
        LOG.error("once")
    written.seconds = REPEAT_SECONDS + 1
    LOG.info("something else")
    assert [(line["message"], line.get("left_out")) for line in written.lines] == [
        ("once", None),
        ("once", 2),
        ("something else", None),
    ]


def test_what_was_left_out_is_told_at_the_end(make):
    written = make()
    for _ in range(3):
        LOG.error("once")
    written.logs.close()
    assert written.lines[-1]["left_out"] == 2


def test_what_only_informs_is_written_each_time_and_what_differs_too(written):
    for number in range(3):
        LOG.info("the same")
        LOG.warning("number %d", number)
    assert len(written.lines) == 6


def test_one_kind_of_warning_is_bounded_whatever_it_tells_of(written):
    for number in range(MOST_OF_A_KIND + 50):
        LOG.warning("number %d", number)
    assert len(written.lines) == MOST_OF_A_KIND
    LOG.warning("of another kind")
    assert len(written.lines) == MOST_OF_A_KIND + 1
    written.seconds = REPEAT_SECONDS
    LOG.info("later")
    assert sum(line.get("left_out", 0) for line in written.lines) == 50


def test_what_is_left_out_is_not_even_put_in_words(written):
    class Costly:
        made = 0

        def __str__(self):
            Costly.made += 1
            return "costly"

    for _ in range(10):
        record = LOG.makeRecord(
            *(LOG.name, logging.WARNING, "x.py", 1, "%s", (Costly(),), None),
            extra={"repeats": "key"},
        )
        written.logs._handler.handle(record)
    assert Costly.made == 2
    assert written.lines[0]["message"] == "costly"
    assert "repeats" not in written.lines[0]


def test_different_exceptions_with_one_text_are_no_repeats(written):
    for error in (ValueError("a"), ValueError("b"), ValueError("a")):
        LOG.error("failed", exc_info=error)
    assert len(written.lines) == 2


def test_messages_are_counted_by_level_written_or_not(make):
    metrics = Metrics(process=False)
    make(metrics=metrics)
    for _ in range(4):
        LOG.warning("the same")
    LOG.info("hello")
    got = Scrape.of(*metrics.exposition())
    assert got("policyd_log_messages_total", level="warning") == 4
    assert got("policyd_log_messages_total", level="info") == 1
    assert got("policyd_log_messages_suppressed_total") == 3


def test_threads_that_warn_at_once_are_all_counted(make):
    written, threads, times = make(), 8, 200
    start = threading.Barrier(threads)

    def warn():
        start.wait(PATIENCE)
        for _ in range(times):
            LOG.warning("the same")

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(warn) for _ in range(threads)]:
            done.result(PATIENCE)
    written.logs.close()
    assert [line.get("left_out") for line in written.lines] == [None, threads * times - 1]


# --- what the scheduler says ---


def test_a_decision_is_logged_with_what_names_it(written):
    loop = Watched()
    loop.create("p", cpu="1")
    loop.create("q", cpu="99")
    loop.run()
    bound, nowhere = written.of("policyd.daemon.observe")
    assert bound["message"] == f"pod default/p is bound to {bound['node']}"
    assert bound["ruleset"] == loop.store.current.hash
    assert bound["decision"] == f"{loop.store.current.hash[:8]}-1"
    assert (bound["profile"], bound["result"], bound["attempt"]) == ("policyd", "scheduled", 1)
    assert nowhere["message"] == (
        "pod default/q fits nowhere: 0/2 nodes are available: 2 Insufficient cpu."
    )
    assert nowhere["pod"] == "default/q"
    assert "node" not in nowhere


def test_a_rule_that_fails_in_every_decision_is_told_once_with_its_error(make):
    written = make()
    loop = Watched(FIT + ' rule "bad" { prefer 1 / (pod.priority - pod.priority) }')
    for number in range(30):
        loop.create(f"p{number}", cpu="10m")
    loop.run()

    def told():
        return [line for line in written.lines if line.get("rule") == "bad"]

    (line,) = told()
    assert line["level"] == "warning"
    assert line["message"].startswith(
        "rule bad could not be evaluated on 2 of 2 nodes: division by zero (test.expr:1, on node "
    )
    written.seconds = REPEAT_SECONDS
    loop.create("late", cpu="10m")
    loop.run()
    assert sum(line.get("left_out", 0) for line in told()) == 29


def test_attempts_that_fail_for_one_cause_are_told_once(written):
    loop = Watched(None)
    for number in range(5):
        loop.create(f"p{number}")
    loop.run()
    told = written.of("policyd.daemon.observe")
    assert [line["message"] for line in told] == [
        "the attempt for pod default/p0 failed: no rule set is in force"
    ]
    assert told[0]["cause"] == "rules"


def test_a_refused_reload_is_logged_with_file_and_line(written):
    loop = Watched()
    loop.offer('rule "bad" {\n  require node.lables["x"] == "y"\n}')
    told = [line for line in written.lines if line["level"] == "error"]
    assert (told[0]["file"], told[0]["line"], told[0]["code"]) == ("test.expr", 2, "E203")
    assert told[0]["profile"] == "policyd"
