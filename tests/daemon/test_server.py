"""The endpoints over real HTTP: what they answer, what they refuse, and what harms nobody."""

import json
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from policyd.daemon.clock import SystemClock
from policyd.daemon.endpoints import DEBUG_AT_ONCE, Endpoints
from policyd.daemon.health import Check, Health, ping, rules_in_force, threads_move
from policyd.daemon.profiler import Profiler
from policyd.daemon.recent import RecentDecisions
from policyd.daemon.server import MAX_CONNECTIONS, MAX_HEADER_BYTES, ListenError, Server
from policyd.daemon.threads import SILENCE_SECONDS, Threads
from policyd.metrics import Metrics
from tests.daemon.watched import FIT, Scrape, Watched, ask
from tests.scheduler.fakes import HandClock

PATIENCE = 30  # seconds that only a fault needs


@pytest.fixture
def threads():
    made = Threads(SystemClock())
    yield made
    made.stop()
    assert made.join(PATIENCE) == []


@pytest.fixture
def serve(threads):
    """Start servers that end with the test."""
    made = []

    def start(health=None, metrics=None, **options):
        server = Server(
            "127.0.0.1",
            0,
            metrics=metrics or Metrics(process=False),
            health=health or Health((ping(),)),
            start_thread=threads.start,
            **options,
        )
        server.start()
        made.append(server)
        return server

    yield start
    for server in made:
        assert server.stop(PATIENCE)


# --- health ---


def test_a_process_that_is_well_says_ok(serve):
    server = serve()
    for path in ("/healthz", "/livez", "/readyz", "/livez/ping"):
        got = ask(server, path)
        assert (got.status, got.text) == (200, "ok")
        assert got.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_each_check_has_its_line_as_kube_schedulers_have(serve):
    health = Health((ping(),), (Check("rules", lambda: "none is in force"),))
    server = serve(health)
    assert ask(server, "/livez?verbose").text == "[+]ping ok\nlivez check passed\n"
    got = ask(server, "/readyz")
    assert (got.status, got.text) == (
        500,
        "[+]ping ok\n[-]rules failed: none is in force\nreadyz check failed\n",
    )
    got = ask(server, "/readyz?verbose&exclude=rules&exclude=nothing")
    assert (got.status, got.text) == (
        200,
        (
            "[+]ping ok\n[+]rules excluded: ok\n"
            "warn: there is no check to exclude named: nothing\nreadyz check passed\n"
        ),
    )
    assert ask(server, "/readyz/rules").status == 500
    assert ask(server, "/readyz/ping").status == 200
    missing = ask(server, "/livez/rules")
    assert (missing.status, missing.json["error"]["help"]) == (404, "there is: ping")


def test_a_check_that_cannot_be_made_is_one_that_failed(serve):
    def broken():
        raise ZeroDivisionError("by zero")

    got = ask(serve(Health((Check("odd", broken),))), "/livez")
    assert got.status == 500
    assert "[-]odd failed: it cannot be checked: ZeroDivisionError: by zero" in got.text


def test_readiness_begins_with_the_first_good_rules_and_outlives_a_refusal(serve):
    loop = Watched(None)
    server = serve(Health((ping(),), (rules_in_force([loop.store]),)))

    def states():
        return [ask(server, path).status for path in ("/livez", "/readyz")]

    assert states() == [200, 500]
    assert "no rule set is in force for: policyd" in ask(server, "/readyz").text
    loop.offer("rule broken {")
    assert states() == [200, 500]
    loop.offer(FIT)
    assert states() == [200, 200]
    refused = loop.offer("rule broken {")
    assert refused.refusal is not None
    assert states() == [200, 200]


def test_a_deciding_thread_that_does_not_move_is_not_alive(serve):
    clock, stuck, go_on = HandClock(), threading.Event(), threading.Event()
    watched = Threads(clock)

    def turn(_seconds):
        stuck.set()
        assert go_on.wait(PATIENCE)

    watched.repeat("decider", turn)
    assert stuck.wait(PATIENCE)
    server = serve(Health((threads_move(watched.silent),)))
    clock.seconds = SILENCE_SECONDS
    assert ask(server, "/livez").status == 200
    clock.seconds += 1
    got = ask(server, "/livez")
    assert (got.status, "no sign of life from: decider" in got.text) == (500, True)
    watched.stop()
    go_on.set()
    clock.seconds = 0
    assert watched.join(PATIENCE) == []


# --- metrics ---


def test_a_scrape_gives_what_the_loop_did_in_the_format_that_is_asked_for(serve):
    loop = Watched()
    server = serve(metrics=loop.metrics)
    loop.create("p", cpu="1")
    loop.run()
    attempts = ("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": "policyd"})
    for accept in ("*/*", "application/openmetrics-text; version=1.0.0"):
        got = ask(server, "/metrics", Accept=accept)
        content_type = got.headers["Content-Type"]
        assert content_type.startswith("application/openmetrics" if "open" in accept else "text/")
        parsed = Scrape.of(got.body, content_type)
        assert parsed(attempts[0], **attempts[1]) == 1
    assert parsed("policyd_http_requests_total", endpoint="/metrics", code="200") == 1


def test_requests_are_counted_by_endpoint_and_never_by_what_they_name(serve):
    metrics = Metrics(process=False)
    server = serve(metrics=metrics)
    for path in ("/debug/decisions/a/b", "/debug/decisions/c/d", "/x", "/y/z", "/livez/none"):
        ask(server, path)
    got = Scrape.of(*metrics.exposition())
    endpoints = {dict(labels)["endpoint"] for labels in got.series("policyd_http_requests_total")}
    assert endpoints == {"/debug/decisions/{namespace}/{pod}", "other", "/livez/{check}"}


def test_scrapes_of_eight_clients_while_pods_are_placed_are_all_answered(serve, threads):
    loop = Watched(nodes=[f"n{number}" for number in range(20)])
    server = serve(metrics=loop.metrics)
    start, placed = threading.Barrier(9), threading.Event()

    def place():
        start.wait(PATIENCE)
        for number in range(150):
            loop.create(f"p{number}", cpu="10m")
            loop.run()
        placed.set()

    def scrape():
        start.wait(PATIENCE)
        seen = []
        while not placed.is_set() or not seen:
            got = ask(server, "/metrics")
            assert got.status == 200
            parsed = Scrape.of(got.body, got.headers["Content-Type"])
            name = "policyd_rule_evaluations_total"
            seen.append(parsed(name, rule="fit", profile="policyd"))
        assert seen == sorted(seen)
        return len(seen)

    threads.start("placing", place)
    with ThreadPoolExecutor(8) as pool:
        assert all(
            n >= 1 for n in [d.result(PATIENCE) for d in [pool.submit(scrape) for _ in range(8)]]
        )
    assert loop.scrape()("policyd_rule_evaluations_total", rule="fit", profile="policyd") == 3000


# --- decisions and rules ---


@pytest.fixture
def decided(serve):
    recent = RecentDecisions()
    loop = Watched(recent=recent)
    loop.create("p", cpu="1")
    loop.create("q", cpu="99")
    loop.run()
    return loop, serve(decisions=recent, rules=[loop.store])


def test_the_last_decision_of_a_pod_is_told_in_full(decided):
    loop, server = decided
    got = ask(server, "/debug/decisions/default/q")
    assert (got.status, got.headers["Content-Type"]) == (200, "application/json")
    record = got.json
    assert record["result"] == "unschedulable"
    assert record["message"] == "0/2 nodes are available: 2 Insufficient cpu."
    assert record["ruleset"]["hash"] == loop.store.current.hash
    (rule,) = record["decision"]["nodes"][0]["rules"]
    assert rule["rejections"][0]["values"][0]["expression"] == "node.free.cpu"


def test_the_decisions_are_listed_the_newest_first_and_can_be_chosen(decided):
    _, server = decided
    got = ask(server, "/debug/decisions").json
    assert [(each["name"], each["result"]) for each in got["decisions"]] == [
        ("q", "unschedulable"),
        ("p", "scheduled"),
    ]
    for query, names in (
        ("limit=1", ["q"]),
        ("result=scheduled", ["p"]),
        ("namespace=other", []),
    ):
        listed = ask(server, f"/debug/decisions?{query}").json["decisions"]
        assert [each["name"] for each in listed] == names


def test_a_pod_that_is_not_known_is_told_with_what_to_do(decided):
    _, server = decided
    got = ask(server, "/debug/decisions/default/nobody")
    assert got.status == 404
    assert got.json["error"]["message"] == "no decision is remembered for pod default/nobody"
    assert "/debug/decisions" in got.json["error"]["help"]


def test_the_rules_are_told_as_they_are_in_force_and_as_they_are_refused(decided):
    loop, server = decided
    (told,) = ask(server, "/debug/rules").json["profiles"]
    assert told["profile"] == "policyd"
    assert told["inForce"]["hash"] == loop.store.current.hash
    assert told["inForce"]["sources"][0]["texts"] == [{"name": "test.expr", "text": FIT}]
    assert told["inForce"]["rules"] == [{"name": "fit", "shadow": False, "file": "test.expr"}]
    assert told["refused"] is None
    bad = 'rule "bad" {\n  require node.lables["x"] == "y"\n}'
    loop.offer(bad)
    (told,) = ask(server, "/debug/rules?profile=policyd").json["profiles"]
    assert told["inForce"]["sources"][0]["texts"][0]["text"] == FIT
    assert told["refused"]["sources"][0]["texts"][0]["text"] == bad
    (fault,) = told["refused"]["faults"]
    assert (fault["file"], fault["line"], fault["code"]) == ("test.expr", 2, "E203")
    assert "did you mean `labels`?" in fault["shown"]
    assert ask(server, "/debug/rules?profile=other").status == 404


def test_before_the_first_rules_none_are_in_force(serve):
    loop = Watched(None)
    server = serve(rules=[loop.store])
    (told,) = ask(server, "/debug/rules").json["profiles"]
    assert (told["inForce"], told["refused"]) == (None, None)


def test_debug_endpoints_can_be_switched_off(serve):
    server = serve(debug=False)
    for path in ("/debug/decisions", "/debug/decisions/a/b", "/debug/rules", "/debug/profile"):
        got = ask(server, path)
        assert (got.status, got.json["error"]["message"]) == (
            403,
            "the debug endpoints are switched off",
        )
    assert ask(server, "/metrics").status == 200


# --- profiles ---


def test_a_profile_has_a_line_for_each_stack_with_its_samples(serve, threads):
    begun, end = threading.Event(), threading.Event()

    def a_function_to_be_seen():
        begun.set()
        assert end.wait(PATIENCE)

    threads.start("seen", a_function_to_be_seen)
    assert begun.wait(PATIENCE)
    got = ask(serve(), "/debug/profile?seconds=0.1")
    end.set()
    assert (got.status, got.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    stacks = dict(line.rsplit(" ", 1) for line in got.text.splitlines())
    assert all(count.isdigit() for count in stacks.values())
    mine = [stack for stack in stacks if stack.startswith("seen;")]
    assert mine
    assert all("a_function_to_be_seen" in stack for stack in mine)


def test_a_profile_takes_as_many_samples_as_fit_and_leaves_itself_out():
    ticks = iter([0.0, 0.1, 0.2, 0.3, 9.9])
    frames = {threading.get_ident(): sys._getframe(), 1: sys._getframe()}
    text = Profiler(lambda _: False, lambda: next(ticks), lambda: frames).run(0.3)
    (line,) = text.splitlines()
    assert line.startswith("thread-1;")
    assert line.endswith(
        "test_server.py:test_a_profile_takes_as_many_samples_as_fit_and_leaves_itself_out 3"
    )


def test_a_profile_ends_with_the_process():
    assert Profiler(lambda _: True, lambda: 0.0).run(1e9) is not None


def test_one_profile_is_taken_at_a_time():
    taken, go_on = threading.Event(), threading.Event()

    def wait(_seconds):
        taken.set()
        return go_on.wait(PATIENCE)

    endpoints = Endpoints(
        metrics=Metrics(process=False),
        health=Health(()),
        profiler=Profiler(wait, lambda: 0.0, sys._current_frames),
    )
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(call, endpoints, "/debug/profile", REMOTE_ADDR="127.0.0.1")
        assert taken.wait(PATIENCE)
        second = call(endpoints, "/debug/profile", REMOTE_ADDR="127.0.0.1")
        go_on.set()
        assert first.result(PATIENCE).status == 200
    assert second.status == 503
    assert ("Retry-After", "1") in second.headers
    assert second.json["error"]["message"] == "a profile is being taken"


def call(application, path, method="GET", **environ):
    """Call the application as a server would, from an address of choice."""
    path, _, query = path.partition("?")
    answer = SimpleNamespace()

    def start_response(status, headers, _info=None):
        answer.status, answer.headers = int(status.split()[0]), headers

    made = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "x",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        **environ,
    }
    answer.body = b"".join(application(made, start_response))
    answer.json = json.loads(answer.body) if answer.body[:1] == b"{" else None
    return answer


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("127.0.0.1", 200),
        ("127.8.8.8", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("10.0.0.7", 403),
        ("::ffff:10.0.0.7", 403),
        ("fe80::1%eth0", 403),
        ("", 403),
        ("localhost", 403),
    ],
)
def test_a_profile_is_given_to_this_machine_only(address, status):
    endpoints = Endpoints(
        metrics=Metrics(process=False),
        health=Health(()),
        profiler=Profiler(lambda _: True, lambda: 0.0),
    )
    got = call(endpoints, "/debug/profile", REMOTE_ADDR=address)
    assert got.status == status
    if status == 403:
        assert got.json["error"]["message"] == "a profile is given to this machine only"


def test_who_says_to_come_from_here_is_not_believed(serve):
    server = serve()
    server._endpoints._profiler = None  # nothing but the address is of interest
    got = ask(server, "/debug/profile", X_Forwarded_For="10.0.0.7")
    assert got.status == 503  # the peer is this machine, whatever the header says


# --- what is refused ---


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nowhere", 404, "there is no such endpoint"),
        ("/debug", 404, "there is no such endpoint"),
        ("/debug/decisions/only-a-namespace", 404, "there is no such endpoint"),
        ("/%2e%2e/metrics", 404, "there is no such endpoint"),
        ("/debug/profile?seconds=x", 400, "seconds is 'x'"),
        ("/debug/profile?seconds=nan", 400, "seconds is 'nan'"),
        ("/debug/profile?seconds=-1", 400, "seconds is '-1'"),
        ("/debug/profile?seconds=61", 400, "seconds is '61'"),
        ("/debug/profile?seconds=inf", 400, "seconds is 'inf'"),
        ("/debug/decisions?limit=0", 400, "limit is '0'"),
        ("/debug/decisions?limit=%D9%A1", 400, "limit is '\u0661'"),
        ("/debug/decisions?limit=99999999999", 400, "limit is '99999999999'"),
    ],
)
def test_what_cannot_be_answered_says_why(serve, path, status, said):
    got = ask(serve(), path)
    assert (got.status, got.json["error"]["message"]) == (status, said)
    assert got.json["error"]["status"] == status
    assert got.json["error"]["help"]
    assert got.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_everything_is_only_to_be_read(serve, method):
    got = ask(serve(), "/metrics", method)
    assert (got.status, got.headers["Allow"]) == (405, "GET, HEAD")
    assert got.json["error"]["message"] == "this is only to be read"


def test_the_head_of_an_answer_can_be_asked_for(serve):
    got = ask(serve(), "/livez", "HEAD")
    assert (got.status, got.body) == (200, b"")


def test_a_fault_of_ours_is_told_without_its_details(serve, caplog):
    class Broken:
        def listed(self):
            raise ZeroDivisionError("secret")

    got = ask(serve(decisions=Broken()), "/debug/decisions")
    assert (got.status, got.json["error"]["message"]) == (500, "this could not be answered")
    assert "secret" not in got.text
    assert "ZeroDivisionError" in caplog.text


def raw(server, data):
    """Send bytes; give what comes back until the server closes."""
    got = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                got += chunk
        except OSError:
            pass  # it closed before it had read all
    return got


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\xff\x00\r\n\r\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n", b"413"),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET /%ff%fe/\xff HTTP/1.0\r\n\r\n", b"40"),
    ],
)
def test_what_is_no_request_or_too_large_is_refused_and_harms_nobody(serve, data, status):
    server = serve()
    got = raw(server, data)
    assert got.split(b" ", 1)[1].startswith(status)
    assert b"Traceback" not in got
    assert ask(server, "/livez").text == "ok"


def test_a_header_without_end_is_not_read_to_its_end(serve):
    metrics = Metrics(process=False)
    server = serve(metrics=metrics)
    got = raw(server, b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (20 * MAX_HEADER_BYTES))
    assert got[:12] in (b"", b"HTTP/1.0 431")  # the answer may be lost with what was not read
    assert Scrape.of(*metrics.exposition()).series("policyd_http_requests_total") == []
    assert ask(server, "/livez").text == "ok"


def test_clients_that_say_nothing_do_not_keep_others_out(serve):
    server = serve()
    silent = [
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        for _ in range(MAX_CONNECTIONS // 2)
    ]
    for connection in silent:
        connection.sendall(b"GET /livez HTTP/1.1\r\n")
    assert ask(server, "/livez").text == "ok"
    for connection in silent:
        connection.close()


def test_debugging_leaves_threads_for_health(serve):
    entered = threading.Semaphore(0)
    go_on = threading.Event()

    class Slow:
        def listed(self):
            entered.release()
            assert go_on.wait(PATIENCE)
            return []

    server = serve(decisions=Slow())
    with ThreadPoolExecutor(DEBUG_AT_ONCE) as pool:
        waiting = [pool.submit(ask, server, "/debug/decisions") for _ in range(DEBUG_AT_ONCE)]
        for _ in waiting:
            assert entered.acquire(timeout=PATIENCE)
        assert ask(server, "/debug/rules").status == 503
        assert ask(server, "/livez").text == "ok"
        assert ask(server, "/metrics").status == 200
        go_on.set()
        assert [done.result(PATIENCE).status for done in waiting] == [200] * DEBUG_AT_ONCE


# --- listening ---


def test_a_port_that_is_taken_is_told_with_what_to_do(serve, threads):
    first = serve()
    second = Server(
        "127.0.0.1",
        first.port,
        metrics=Metrics(process=False),
        health=Health(()),
        start_thread=threads.start,
    )
    with pytest.raises(ListenError) as caught:
        second.start()
    assert caught.value.place == f"127.0.0.1:{first.port}"
    assert "in use" in caught.value.message
    assert "choose another port" in caught.value.remedy
    assert second.stop()
    assert ask(first, "/livez").text == "ok"


@pytest.mark.parametrize(
    ("host", "port", "remedy"),
    [
        ("127.0.0.1", 70000, "ports go up to 65535"),
        ("203.0.113.1", 0, "this machine does not have the address"),
    ],
)
def test_an_address_that_cannot_be_had_is_told(threads, host, port, remedy):
    server = Server(
        host, port, metrics=Metrics(process=False), health=Health(()), start_thread=threads.start
    )
    with pytest.raises(ListenError) as caught:
        server.start()
    assert remedy in caught.value.remedy


def test_a_server_that_ended_leaves_no_connection_and_no_thread(threads):
    before = set(threading.enumerate())
    server = Server(
        "127.0.0.1",
        0,
        metrics=Metrics(process=False),
        health=Health((ping(),)),
        start_thread=threads.start,
    )
    server.start()
    open_one = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    assert ask(server, "/livez").text == "ok"
    assert server.stop(PATIENCE)
    assert server.stop(PATIENCE)
    assert open_one.recv(1) == b""
    open_one.close()
    assert threads.join(PATIENCE) == []
    assert set(threading.enumerate()) <= before
    assert server._sockets == {}


def test_an_address_of_version_six_is_listened_on(threads):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    server = Server(
        "::1",
        0,
        metrics=Metrics(process=False),
        health=Health((ping(),)),
        start_thread=threads.start,
    )
    server.start()
    with socket.create_connection(("::1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert b"200 OK" in connection.recv(4096)
    assert server.stop(PATIENCE)
