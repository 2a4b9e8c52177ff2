"""`policyd run` from its start to its end, as a process that a user starts."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from tests.daemon.running import PATIENCE, answers, command, running
from tests.policy.build import node, pod

FIT = """
rule "room" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }
rule "open" { require node.name != "CLOSED" because "closed" }
"""


def dump(*objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def waiting(name, scheduler="", **requests):
    made = pod(name, **requests)
    if scheduler:
        made["spec"]["schedulerName"] = scheduler
    return made


@pytest.fixture
def place(tmp_path):
    """Give a directory with rules, a dump of two nodes and a pod, and a place for manifests."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "fit.expr").write_text(FIT)
    (tmp_path / "incoming").mkdir()
    (tmp_path / "dump.json").write_text(
        dump(node("a"), node("b"), waiting("first", cpu="3"), waiting("huge", cpu="64"))
    )
    return tmp_path


def arguments(place):
    return ["--rules", place / "rules", "--cluster", place / "dump.json"]


def decided(run, name):
    """Give the node and the result of a pod's last decision."""
    status, body = run.get(f"/debug/decisions/default/{name}")
    if status != 200:
        return None
    record = json.loads(body)
    return record["result"], record["node"]


def test_from_start_to_end(place):
    with running(place, *arguments(place), "--watch-pods", place / "incoming") as run:
        line = run.wait_until_ready()
        assert "2 rules (" in line
        assert "2 nodes, " in line
        for endpoint in ("/livez", "/readyz", "/healthz"):
            assert run.get(endpoint) == (200, "ok")

        # What waits in the dump is placed, or told why not.
        result, first = run.until(lambda: decided(run, "first"))
        assert result == "scheduled"
        assert run.until(lambda: decided(run, "huge"))[0] == "unschedulable"
        run.until(lambda: run.metric('scheduler_pending_pods{queue="unschedulable"}') == 1)

        # So is what a file brings; when it goes, there is room again.
        (place / "incoming" / "second.json").write_text(json.dumps(waiting("second", cpu="3")))
        result, second = run.until(lambda: decided(run, "second"))
        assert (result, {first, second}) == ("scheduled", {"a", "b"})
        (place / "incoming" / "third.json").write_text(json.dumps(waiting("third", cpu="3")))
        assert run.until(lambda: decided(run, "third")) == ("unschedulable", None)

        # A new text is in force without more ado, and is seen.
        before = run.data("/debug/rules")["profiles"][0]["inForce"]
        (place / "rules" / "fit.expr").write_text(FIT.replace("CLOSED", second))
        now = run.until(lambda: newer(run, before))
        assert run.metric(f'policyd_ruleset_info{{hash="{now["hash"]}",profile="policyd"}}') == 1
        assert run.metric('policyd_reloads_total{profile="policyd",result="installed"}') == 2
        (place / "incoming" / "second.json").unlink()
        run.until(lambda: run.metric('scheduler_cache_size{type="pods"}') == 1)
        (place / "incoming" / "third.json").unlink()
        (place / "incoming" / "fourth.json").write_text(json.dumps(waiting("fourth", cpu="3")))
        assert run.until(lambda: decided(run, "fourth")) == ("unschedulable", None)

        # A bad text is refused, told, and changes nothing.
        (place / "rules" / "fit.expr").write_text('rule "broken" { require node.nmae == "a" }')
        run.until(lambda: run.metric('policyd_reload_refused{profile="policyd"}') == 1)
        page = run.data("/debug/rules")["profiles"][0]
        assert page["inForce"]["hash"] == now["hash"]
        assert page["refused"]["faults"][0]["line"] == 1
        assert "node has no field `nmae`" in page["refused"]["faults"][0]["message"]
        assert run.get("/readyz") == (200, "ok")
        assert "node has no field `nmae`" in run.logged()

        # Rules that let the pod in bring it back at once.
        (place / "rules" / "fit.expr").write_text(FIT)
        assert run.until(lambda: (decided(run, "fourth") or [""])[0] == "scheduled")
        explained = explain(run, "default/fourth")
        assert explained.returncode == 0
        assert f"pod default/fourth: placed on {second}" in explained.stdout

        assert run.end() == 0
        assert not answers(run.url)
        messages = [json.loads(line) for line in run.logged().splitlines()]
    errors = {m["logger"] for m in messages if m["level"] == "error"}
    assert errors == {"policyd.policy.outcome_log"}  # the refusal
    assert messages[-1]["message"].startswith("policyd ends")


def newer(run, before):
    found = run.data("/debug/rules")["profiles"][0]["inForce"]
    return found if found["generation"] > before["generation"] else None


def explain(run, name):
    words = [*command()[:-1], "explain", name, "--from", run.url]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_each_profile_has_its_rules_and_others_pods_are_left_alone(place):
    (place / "batch.expr").write_text('rule "b" { require node.name == "b" because "not b" }')
    (place / "dump.json").write_text(
        dump(
            node("a"),
            node("b"),
            waiting("one", "batch"),
            waiting("two", "policyd"),
            waiting("three", "volcano"),
        )
    )
    (place / "rules" / "fit.expr").write_text('rule "a" { require node.name == "a" }')
    with running(place, *arguments(place), "--profile", f"batch={place / 'batch.expr'}") as run:
        assert "1 rule (" in run.wait_until_ready()
        assert run.until(lambda: decided(run, "one")) == ("scheduled", "b")
        assert run.until(lambda: decided(run, "two")) == ("scheduled", "a")
        assert run.metric("policyd_ignored_pods") == 1
        assert "asks for the scheduler 'volcano', which is no profile here" in run.logged()
        assert decided(run, "three") is None
        assert run.end(signal.SIGINT) == 0


def test_without_a_first_good_rule_set_it_is_not_ready_and_decides_nothing(place):
    (place / "rules" / "fit.expr").write_text('rule "broken" { require nothing }')
    with running(place, *arguments(place)) as run:
        port = run.until(lambda: listening(run))
        run.url = f"http://{port}"
        status, body = run.get("/readyz")
        assert (status, run.get("/livez")) == (500, (200, "ok"))
        assert "no rule set is in force for: policyd" in body
        run.until(lambda: "there is nothing called `nothing` here" in run.logged())
        assert run.data("/debug/decisions")["total"] == 0
        (place / "rules" / "fit.expr").write_text(FIT)
        run.wait_until_ready()
        assert run.until(lambda: decided(run, "first"))[0] == "scheduled"
        assert run.end() == 0


def listening(run):
    for line in run.logged().splitlines():
        message = json.loads(line)["message"]
        if message.startswith("listening on "):
            return message.split()[-1]
    return None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--deadline", "soon"], "--deadline"),
        (["--deadline", "0s"], "no time at all"),
        (["--profile", "batch"], "write `NAME=PATH`"),
        (["--profile", "policyd=x.expr"], "the profile policyd is given already by --rules"),
        (["--watch-pods", "nowhere"], "no such file or directory"),
        (["--cluster", "nowhere.json"], "no such file or directory"),
        (["--bind-address", "no.such.host.invalid"], "check the address"),
        (["--port", "TAKEN"], "another process listens there"),
    ],
)
def test_input_that_cannot_be_used_is_told_of_and_ends_with_status_two(place, more, said):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [port if each == "TAKEN" else each for each in more]
        free = [] if "--port" in more else ["--port", "0"]
        ended = subprocess.run(
            command(*arguments(place), *free, *given),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert ended.returncode == 2, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_rules_are_needed(place):
    ended = subprocess.run(
        command("--cluster", place / "dump.json"), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "there are no rules" in ended.stderr


def test_what_is_not_installed_is_named(place):
    script = (
        "import sys; sys.modules['waitress'] = None;"
        "from policyd.cli.main import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, "run", *map(str, arguments(place)), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2
    assert "`policyd run` needs the package waitress" in ended.stderr
    assert "pip install 'policyd[run]'" in ended.stderr
