"""`policyd explain`: records of a simulation and of a running policyd, for people and programs."""

import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from policyd.cli.explain import DEFAULT_URL
from policyd.cli.explanation import need_text
from policyd.daemon.clock import SystemClock
from policyd.daemon.health import Health, ping
from policyd.daemon.recent import RecentDecisions
from policyd.daemon.server import Server
from policyd.daemon.threads import Threads
from policyd.language.cells import visible
from policyd.metrics import Metrics
from policyd.policy.record import NeedData, Record, to_json
from tests.cli.command import HUGE, NODES, POD, Ran, documents, run, snapshot, text, write
from tests.daemon.test_recent import attempt
from tests.policy.build import node
from tests.policy.build import snapshot as cluster
from tests.policy.test_record import RECORD

RULES = """
    rule "room" {
      require node.free.cpu >= pod.requests.cpu
              because "Insufficient cpu"
      require node.free.memory >= pod.requests.memory
              because "Insufficient memory"
    }

    rule "fast-disk" {
      when   pod.labels["app"] == "web"
      prefer node.labels["disk"] == "ssd"  weight 2
    }

    rule "empty-first" {
      prefer 100.0 * node.free.cpu / node.allocatable.cpu
    }

    rule "not-big" {
      mode shadow
      require node.name != "big"
              because "big is to be kept free"
    }

    choose {
      order node.name desc
    }

    choose {
      mode shadow
      order node.name asc
    }
"""

NEVER = """
    rule "labels" {
      require node.labels["tier"] == "gold" && node.labels["disk"] in ["ssd", "nvme"]
              because "not gold"
    }

    rule "broken" {
      require 1 / (node.name.size() - 3) > 0
    }
"""

NOW = ("--now", "2026-06-01T12:00:00Z")


@pytest.fixture
def recorded() -> str:
    return record()


def record(rules: str = RULES, pods: str = documents(POD, HUGE)) -> str:
    write("rules.expr", rules)
    write("nodes.yaml", NODES)
    write("pods.yaml", pods)
    ran = run(
        *("simulate", "rules.expr", "--nodes", "nodes.yaml", "--pods", "pods.yaml", *NOW),
        *("--record", "decisions.jsonl"),
    )
    assert ran.status in (0, 1), ran.err
    return "decisions.jsonl"


def explain(pod: str, *more: str, source: str = "decisions.jsonl", given: str = "") -> Ran:
    return run("explain", pod, "--from", source, *more, given=given)


def lasting(out: str) -> str:
    """Put a fixed time in the place of how long the decision took."""
    return re.sub(r" in \d+\.\d ms", " in 1.5 ms", out)


# --- what is said ---


@pytest.mark.parametrize(
    ("name", "pod", "more", "status"),
    [
        ("explain-placed", "shop/web", (), 0),
        ("explain-waiting", "default/huge", (), 1),
        ("explain-node", "shop/web", ("--node", "middle"), 0),
        ("explain-node-rejected", "huge", ("--node", "big"), 1),
    ],
)
def test_a_decision_is_explained(
    recorded: str, name: str, pod: str, more: tuple[str, ...], status: int
) -> None:
    ran = explain(pod, *more, source=recorded)
    assert (ran.status, ran.err) == (status, "")
    assert lasting(ran.out) == snapshot(name, lasting(ran.out))


def test_labels_and_rules_to_be_mended_are_changes_too() -> None:
    ran = explain("shop/web", source=record(NEVER, POD))
    assert ran.status == 1
    assert (
        text("""
        the smallest changes that would have let it fit
          on middle:
            `node.labels["tier"]` to be equal to "gold": it is null  (labels)
        """)
        not in ran.out
    )
    assert "    the rule broken mended: division by zero, at rules.expr:7:11  (broken)\n" in ran.out
    assert '    `node.labels["tier"]` to be equal to "gold": it is null  (labels)\n' in ran.out


def test_equal_totals_are_told() -> None:
    rules = 'rule "same" {\n  prefer 50\n}\n'
    ran = explain("shop/web", source=record(rules, POD))
    assert re.search(
        r"one of the best of 3 nodes that fit: 50, as \w+; `choose`, or a hash of pod", ran.out
    )


def test_a_pod_that_only_fits_in_one_place_has_no_table() -> None:
    rules = 'rule "big" {\n  require node.name == "big"\n}\n'
    out = explain("shop/web", source=record(rules, POD)).out
    assert "why big\n  the only node that fits\n" in out
    assert "RULE" not in out


@pytest.mark.parametrize(
    ("need", "said"),
    [
        (
            NeedData(
                expression="node.free.cpu", value="1", relation="at least", bound="2", missing="1"
            ),
            "1 cpu more free: 1 is free, at least 2 is needed",
        ),
        (
            NeedData(
                expression='node.free["example.com/fpga"]',
                value="0",
                relation="more than",
                bound="2",
                missing="2",
            ),
            "2 example.com/fpga more free: 0 is free, more than 2 is needed",
        ),
        (
            NeedData(
                expression="node.free.cpu - x",
                value="1",
                relation="at least",
                bound="2",
                missing="1",
            ),
            "`node.free.cpu - x` 1 higher: it is 1, at least 2 is needed",
        ),
        (
            NeedData(
                expression="node.pods.size()",
                value="9",
                relation="less than",
                bound="9",
                missing="1",
            ),
            "`node.pods.size()` 1 lower: it is 9, less than 9 is needed",
        ),
        (
            NeedData(expression="node.free.cpu", value="2", relation="more than", bound="2"),
            "`node.free.cpu` to be more than 2: it is 2",
        ),
        (
            NeedData(expression="node.ready", value="false", relation="equal to", bound="true"),
            "`node.ready` to be true",
        ),
    ],
)
def test_a_need_is_said_in_words(need: NeedData, said: str) -> None:
    assert need_text(need) == said


def test_earlier_attempts_of_a_file_are_told(recorded: str) -> None:
    lines = Path(recorded).read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0]) | {"result": "error", "message": "it went wrong", "node": None}
    Path(recorded).write_text("\n".join([json.dumps(first), "", *lines]), encoding="utf-8")
    out = explain("shop/web", source=recorded).out
    assert "attempt 2" in out
    assert "before: 2026-06-01T12:00:00Z error: it went wrong\n" in out


def test_what_went_wrong_on_the_way_is_told(recorded: str) -> None:
    found = json.loads(Path(recorded).read_text(encoding="utf-8").splitlines()[0])
    changed = found | {"failures": ["the connection was lost"]}
    write("one.jsonl", json.dumps(changed))
    assert "  on the way: the connection was lost\n" in explain("shop/web", source="one.jsonl").out
    failed = changed | {"result": "error", "message": "the bind failed"}
    write("one.jsonl", json.dumps(failed))
    ran = explain("shop/web", source="one.jsonl")
    assert ran.status == 1
    assert "waits; the attempt failed, after " in ran.out
    assert "\nthe bind failed\n  the connection was lost\n" in ran.out


def test_an_attempt_without_a_decision_is_told() -> None:
    write("one.jsonl", _bare(result="error", message="no rule set is in force"))
    ran = explain("n/m", source="one.jsonl")
    assert ran.status == 1
    assert ran.out.splitlines()[0] == "pod n/m: waits; the attempt failed"
    assert ran.out.splitlines()[-1] == "no rule set is in force"
    ran = explain("n/m", "--node", "x", source="one.jsonl")
    assert (ran.status, ran.out) == (2, "")
    assert "no node was looked at in this attempt" in ran.err


def _bare(**changes: object) -> str:
    data = {
        "version": 1,
        "id": "a-1",
        "time": "",
        "profile": "p",
        "ruleset": None,
        "pod": {"namespace": "n", "name": "m"},
        "message": "x",
        "node": None,
        "seconds": 0.5,
    }
    return json.dumps(data | changes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(RECORD)
def test_any_record_can_be_printed_and_nothing_in_it_steers_the_terminal(record: Record) -> None:
    Path("any.jsonl").write_bytes(to_json(record))
    pod = record.pod
    if not pod.name or not pod.namespace or "/" in pod.name + pod.namespace:
        return
    ran = explain(f"{pod.namespace}/{pod.name}", source="any.jsonl")
    assert ran.status == (0 if record.result == "scheduled" else 1)
    assert [visible(line) for line in ran.out.split("\n")] == ran.out.split("\n")


# --- for programs ---


def test_json_is_the_record_and_yaml_says_the_same(recorded: str) -> None:
    ran = explain("shop/web", "-o", "json", source=recorded)
    assert ran.status == 0
    written = json.loads(Path(recorded).read_text(encoding="utf-8").splitlines()[0])
    assert json.loads(ran.out) == written
    assert yaml.safe_load(explain("shop/web", "-o", "yaml", source=recorded).out) == written
    assert list(written) == [
        *("version", "id", "time", "profile", "pod", "ruleset", "result", "message", "node"),
        *("failures", "seconds", "attempt", "earlier", "decision"),
    ]


def test_the_decision_has_the_shape_of_those_that_eval_prints(recorded: str) -> None:
    found = json.loads(Path(recorded).read_text(encoding="utf-8").splitlines()[0])
    ran = run(
        *("eval", "rules.expr", "--nodes", "nodes.yaml", "--pod", "pods.yaml"),
        *("--pod-name", "web", "-o", "json", *NOW),
    )
    (decision,) = json.loads(ran.out)["decisions"]
    decision["pod"]["uid"] = found["pod"]["uid"]
    assert found["decision"] == decision
    assert json.loads(ran.out)["ruleset"] == found["ruleset"]


# --- what cannot be explained ---


@pytest.mark.parametrize("pod", ["", "/", "a/", "/b", "a/b/c"])
def test_what_names_no_pod_is_refused(recorded: str, pod: str) -> None:
    ran = explain(pod, source=recorded)
    assert (ran.status, ran.out) == (2, "")
    assert "names no pod" in ran.err


@pytest.mark.parametrize(
    ("pod", "remedy"),
    [
        ("shop/wbe", "did you mean `shop/web`?"),
        ("web", "did you mean `shop/web`?"),
        ("other/huge", "did you mean `default/huge`?"),
        ("shop/something-else", "there are default/huge, shop/web"),
    ],
)
def test_a_pod_that_is_not_there_is_told_with_those_that_are(
    recorded: str, pod: str, remedy: str
) -> None:
    ran = explain(pod, source=recorded)
    assert (ran.status, ran.out) == (2, "")
    named = pod if "/" in pod else f"default/{pod}"
    assert ran.err == text(f"""
        error: there is no decision for pod {named}
          --> decisions.jsonl
           = help: {remedy}
        """)


def test_a_file_without_records_says_so() -> None:
    write("none.jsonl", "\n")
    assert "no decision was made yet" in explain("shop/web", source="none.jsonl").err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "this is not the record of a decision"),
        ("a: b", "this is not the record of a decision"),
        ("{}", "this is not the record of a decision"),
        (_bare(result="error", version=7), "this record is of version 7, and this policyd reads"),
        ('{"version": 7}', "this record is of version 7, and this policyd reads"),
        ('{"version": 1}', "this record cannot be read"),
        (_bare(result=3), "this record cannot be read"),
    ],
)
def test_lines_that_are_no_records_are_refused_with_their_place(content: str, said: str) -> None:
    first = _bare(result="error", pod={"namespace": "a", "name": "b"})
    write("odd.jsonl", first + "\n" + content + "\n")
    ran = explain("n/m", source="odd.jsonl")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}")
    assert "\n  --> odd.jsonl:2\n" in ran.err


def test_a_file_that_is_not_there_is_told() -> None:
    ran = explain("n/m", source="absent.jsonl")
    assert ran.status == 2
    assert "error: no such file or directory\n  --> absent.jsonl\n" in ran.err


def test_records_come_from_standard_input(recorded: str) -> None:
    given = Path(recorded).read_text(encoding="utf-8")
    assert explain("shop/web", source="-", given=given).status == 0
    ran = explain("shop/wbe", source="-", given=given)
    assert "\n  --> <stdin>\n" in ran.err


def test_a_node_that_is_not_in_the_record_is_told_with_what_is(recorded: str) -> None:
    ran = explain("shop/web", "--node", "bigg", source=recorded)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == text("""
        error: this record has nothing of node `bigg`
          --> --node
           = help: did you mean `big`?
        """)


def test_a_node_that_is_only_in_a_group_is_told_with_its_like() -> None:
    many = "\n---\n".join(
        json.dumps(node(f"n{at:02}", {"disk": "hdd"}, cpu="1")) for at in range(40)
    )
    write("rules.expr", RULES)
    write("nodes.yaml", many)
    write("pods.yaml", POD)
    run(
        *("simulate", "rules.expr", "--nodes", "nodes.yaml", "--pods", "pods.yaml"),
        *("--record", "decisions.jsonl"),
    )
    assert explain("shop/web", "--node", "n00").status == 1
    ran = explain("shop/web", "--node", "n03")
    assert ran.status == 2
    assert "no values of node `n03`, only that it is like n00" in ran.err
    assert explain("shop/web").out.count("40 nodes: n00, n01, n02, n03, n04, n05 and 34 more") == 1


# --- a running policyd ---


@contextmanager
def policyd(*attempts, **options) -> Iterator[str]:
    """Run the endpoints of policyd with some attempts; give their URL."""
    recent = RecentDecisions()
    for each in attempts:
        recent.attempted(each)
    threads = Threads(SystemClock())
    server = Server(
        "127.0.0.1",
        0,
        metrics=Metrics(process=False),
        health=Health((ping(),)),
        start_thread=threads.start,
        decisions=recent,
        **options,
    )
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        assert server.stop(30)
        threads.stop()
        assert threads.join(30) == []


def test_a_running_policyd_is_asked() -> None:
    with policyd(attempt("web"), attempt("huge", 2, cpu="99")) as url:
        placed = explain("default/web", source=url)
        waits = explain("huge", source=f"{url}/")
        told = explain("huge", "-o", "json", source=url)
    assert (placed.status, waits.status) == (0, 1)
    assert placed.out.startswith("pod default/web: placed on b\n")
    assert waits.out.startswith("pod default/huge: waits; it fits none of 2 nodes\n")
    assert "95 cpu more free: 4 is free, at least 99 is needed  (room)" in waits.out
    assert json.loads(told.out)["decision"]["considered"] == 2


def test_any_node_of_a_running_policyd_can_be_looked_at() -> None:
    many = cluster(*(node(f"n{at:02}", cpu="1") for at in range(40)))
    with policyd(attempt("web", cpu="2", on=many)) as url:
        assert explain("web", "--node", "n31", source=url).status == 1
        ran = explain("web", "--node", "n99", source=url)
    assert ran.status == 2
    assert "this record has nothing of node `n99`" in ran.err


def test_a_pod_that_a_running_policyd_does_not_know_is_told_with_its_like() -> None:
    with policyd(attempt("web")) as url:
        ran = explain("wbe", source=url)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == text(f"""
        error: there is no decision for pod default/wbe
          --> {url}
           = help: did you mean `default/web`?
        """)
    with policyd() as url:
        assert "no decision was made yet" in explain("web", source=url).err


def test_names_that_are_no_path_reach_the_server_whole() -> None:
    with policyd(attempt("web")) as url:
        ran = explain("default/we?b#%2f", source=url)
    assert "there is no decision for pod default/we?b#%2f" in ran.err


def test_a_refusal_of_the_server_is_passed_on() -> None:
    with policyd(attempt("web"), debug=False) as url:
        ran = explain("web", source=url)
    assert ran.status == 2
    assert ran.err.startswith("error: it answers 403: the debug endpoints are switched off\n")


def test_where_nothing_listens_it_is_said_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    ran = explain("web", source=f"http://127.0.0.1:{port}")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(
        f"error: nothing answers here: connection refused\n  --> http://127.0.0.1:{port}\n"
        "   = help: is `policyd run` at work?"
    )


def test_the_default_is_where_policyd_run_listens() -> None:
    assert run("run", "--help").out.count(f"{DEFAULT_URL}/readyz") == 1
    assert DEFAULT_URL in run("explain", "--help").out


@pytest.mark.parametrize("url", ["http://", "https:///x", "http://[::1"])
def test_what_is_no_url_is_told(url: str) -> None:
    ran = explain("web", source=url)
    assert (ran.status, ran.out) == (2, "")
    assert "is no URL" in ran.err


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    ran = run("explain", "web")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == text("""
        error: asking a running policyd needs the package urllib3
          --> http://127.0.0.1:10259
           = help: install policyd with the extra `run`: `pip install 'policyd[run]'`
        """)


@contextmanager
def answering(answer: Callable[[str], tuple[int, bytes]]) -> Iterator[str]:
    """Run a server that is not policyd."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    threads = Threads(SystemClock())
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threads.start("other", lambda: server.serve_forever(0.02))
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            assert threads.join(30) == []


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>hello</html>", "this is not the record of a decision"),
        (200, _bare(result="error", version=9).encode(), "this record is of version 9"),
        (404, b"not here", "this does not answer as policyd does: its status is 404"),
        (404, b'{"decisions": 1}', "this does not answer as policyd does: its status is 404"),
        (500, b"\xff", "this does not answer as policyd does: its status is 500"),
        (302, b"", "this does not answer as policyd does: its status is 302"),
        (503, b'{"error": {"message": "busy", "help": "later"}}', "it answers 503: busy"),
    ],
)
def test_a_server_that_answers_otherwise_is_told(status: int, body: bytes, said: str) -> None:
    with answering(lambda _: (status, body)) as url:
        ran = explain("web", source=url)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}")
    assert url in ran.err


def test_a_server_that_lists_what_is_no_list_is_told() -> None:
    def answer(path: str) -> tuple[int, bytes]:
        return (200, b"[]") if path.endswith("limit=10000") else (404, b"")

    with answering(answer) as url:
        ran = explain("web", source=url)
    assert "this does not answer as policyd does: it does not list decisions" in ran.err


def test_an_answer_that_breaks_off_is_told() -> None:
    with answering(lambda _: (200, b"")) as url:
        ran = explain("web", source=url)
    assert ran.status == 2
    assert "this is not the record of a decision" in ran.err
