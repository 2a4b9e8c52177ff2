"""Where pods, nodes and namespaces come from, and what is said about the rest."""

import io
import sys
from pathlib import Path

import pytest

from policyd.cli import progress
from policyd.cli.notices import names
from tests.cli.command import NODES, POD, RULES, documents, run, text, write

BOUND = """
    apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: shop, uid: u1}
    spec:
      nodeName: big
      containers: [{name: c, image: i, resources: {requests: {cpu: "10"}}}]
"""
NAMESPACE = """
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop, labels: {org: x}}
"""
CLASS = """
    apiVersion: scheduling.k8s.io/v1
    kind: PriorityClass
    metadata: {name: high}
    value: 1000
"""
CONFIG = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: front}
"""


def _value(expression: str, *arguments: str) -> str:
    ran = run("eval", "-e", expression, *arguments)
    assert ran.status == 0, ran.err
    return ran.out.partition(" : ")[0]


def _free_cpu(*arguments: str) -> dict[str, str]:
    ran = run("eval", "-e", "node.free.cpu", *arguments)
    assert ran.status == 0, ran.err
    return dict(line.split()[:2] for line in ran.out.splitlines()[1:])


def test_nodes_may_stand_in_the_file_of_the_pod() -> None:
    write("all.yaml", documents(POD, NODES))
    assert _value("cluster.nodes", "--pod", "all.yaml") == "3"


def test_pods_of_a_dump_count_on_their_nodes_and_those_beside_bare_nodes_do_not() -> None:
    write("dump.yaml", documents(NODES, BOUND))
    assert _free_cpu("--cluster", "dump.yaml")["big"] == "6"
    ran = run("eval", "-e", "node.free.cpu", "--nodes", "dump.yaml", "--node", "big")
    assert ran.out.splitlines()[1].split()[1] == "16"
    assert ran.err == (
        "note: dump.yaml: 1 pod left out; to count them on their nodes, "
        "give the file with --cluster\n"
    )


def test_a_dump_may_be_in_several_files() -> None:
    write("nodes.yaml", NODES)
    write("pods.yaml", BOUND)
    assert _free_cpu("--cluster", "nodes.yaml", "--cluster", "pods.yaml")["big"] == "6"


def test_a_pod_that_is_on_a_node_already_is_decided_as_if_it_were_not() -> None:
    write("dump.yaml", documents(NODES, BOUND))
    write("rules.expr", 'rule "room" {\n  require node.free.cpu >= pod.requests.cpu\n}\n')
    ran = run("eval", "rules.expr", "--pod", "dump.yaml")
    assert ran.status == 0
    assert "best on big" in ran.out
    assert ran.err == "note: pod shop/web is on big; it is decided as if it were not\n"


def test_a_pod_of_the_same_name_with_another_uid_is_another_pod() -> None:
    write("dump.yaml", documents(NODES, BOUND))
    write("pod.yaml", BOUND.replace("u1", "u2"))
    write("rules.expr", 'rule "room" {\n  require node.free.cpu >= pod.requests.cpu\n}\n')
    ran = run("eval", "rules.expr", "--pod", "pod.yaml", "--cluster", "dump.yaml")
    assert (ran.status, ran.err) == (1, "")


def test_a_file_that_two_options_name_is_read_once() -> None:
    write(
        "dump.yaml",
        documents(NODES, BOUND, NAMESPACE),
    )
    arguments = ("--pod", "dump.yaml", "--cluster", "dump.yaml")
    ran = run("eval", "-e", 'namespace.labels["org"]', *arguments)
    assert (ran.out, ran.err) == ('"x" : string?\n', "")


def test_namespaces_and_classes_beside_the_pod_count() -> None:
    write("nodes.yaml", NODES)
    write(
        "pod.yaml",
        """
        apiVersion: v1
        kind: Namespace
        metadata: {name: shop, labels: {org: retail}}
        ---
        apiVersion: scheduling.k8s.io/v1
        kind: PriorityClass
        metadata: {name: high}
        value: 1000
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: web, namespace: shop}
        spec: {priorityClassName: high, containers: [{name: c, image: i}]}
    """,
    )
    arguments = ("--pod", "pod.yaml", "--nodes", "nodes.yaml")
    assert _value('namespace.labels["org"]', *arguments) == '"retail"'
    assert _value("pod.priority", *arguments) == "1000"


def test_classes_of_the_dump_count_for_the_pod() -> None:
    write(
        "dump.yaml",
        documents(NODES, CLASS),
    )
    write(
        "pod.yaml",
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: web}
        spec: {priorityClassName: high, containers: [{name: c, image: i}]}
    """,
    )
    assert _value("pod.priority", "--pod", "pod.yaml", "--cluster", "dump.yaml") == "1000"


def test_the_namespace_is_for_pods_that_name_none() -> None:
    write("pods.yaml", documents(POD, POD.replace("namespace: shop, ", "")))
    ran = run("eval", "-e", "pod.metadata.namespace", "--pod", "pods.yaml", "-n", "play")
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == ["shop/web", "play/web"]
    ran = run("eval", "-e", "namespace.name", "--pod", "pods.yaml")
    assert [line.split()[1] for line in ran.out.splitlines()[1:]] == ['"shop"', '"default"']


def test_standard_input_is_read() -> None:
    ran = run("eval", "-e", "pod.name", "--pod", "-", given=text(POD))
    assert (ran.status, ran.out) == (0, '"web" : string\n')
    ran = run("eval", "-e", "pod.name", "--pod", "-", given="{")
    assert ran.status == 2
    assert "--> <stdin>:" in ran.err


def test_the_time_of_the_decision_can_be_chosen() -> None:
    assert _value("now", "--now", "2026-06-01T12:00:00Z") == 'timestamp("2026-06-01T12:00:00Z")'
    ran = run("eval", "-e", "now", "--now", "noon")
    assert ran.status == 2
    assert "--> --now\n   = help: write it as in `2026-06-01T12:00:00Z`" in ran.err


def test_what_rules_do_not_read_is_noted_and_many_of_a_kind_in_one_line() -> None:
    write("few.yaml", documents(POD, CONFIG))
    assert run("eval", "-e", "pod.name", "--pod", "few.yaml").err == (
        "note: few.yaml:10:1: ConfigMap front: rules do not read objects of this kind\n"
    )
    write("many.yaml", documents(POD, *[CONFIG] * 5))
    assert run("eval", "-e", "pod.name", "--pod", "many.yaml").err == (
        "note: many.yaml: 5 objects of kind ConfigMap: rules do not read objects of this kind "
        "(the first is front, line 10)\n"
    )


PROBLEMS = [
    ("kind: Pod\n", 'the object of kind "Pod" has no `apiVersion`', "bad.yaml:1:1"),
    ("a: [\n", "", "bad.yaml:"),
    ('{"kind": \n', "", "bad.yaml:"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n", "expected string, got int", ":3:18"),
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {overhead: {cpu: lots}}\n",
        "",
        "bad.yaml:4:",
    ),
]


@pytest.mark.parametrize(("content", "cause", "place"), PROBLEMS)
def test_what_cannot_be_read_is_told_with_place_and_cause(
    content: str, cause: str, place: str
) -> None:
    Path("bad.yaml").write_text(content, encoding="utf-8")
    ran = run("eval", "-e", "pod.name", "--pod", "bad.yaml")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert cause in ran.err
    assert place in ran.err


def test_all_problems_are_told_up_to_twenty() -> None:
    Path("bad.yaml").write_text("kind: Pod\n---\n" * 30, encoding="utf-8")
    ran = run("eval", "-e", "pod.name", "--pod", "bad.yaml")
    assert ran.status == 2
    assert ran.err.count("has no `apiVersion`") == 20
    assert "error: there are 10 more problems like these" in ran.err


@pytest.mark.parametrize(
    ("arguments", "cause", "place", "remedy"),
    [
        (["--pod", "pod.yml"], "no such file or directory", "pod.yml", "did you mean `pod.yaml`?"),
        (["--pod", "."], "is a directory", ".", "give a file"),
        (["--pod", ""], "the name of a file is empty", "= help", "give a name"),
        (["--pod", "a\0b"], "null", "a", "check the name"),
        (["--pod", "service.yaml"], "there is no pod in this input", "service.yaml", "Deployment"),
        (["--pod", "pod.yaml", "--nodes", "pod.yaml"], "there is no node", "pod.yaml", "nodes"),
        (["--pod", "pod.yaml", "--cluster", "x"], "no such file or directory", "x", "check"),
        (["--pod", "pod.yaml", "--nodes", "empty"], "there is no node", "empty", "nodes"),
    ],
)
def test_what_is_not_there_is_told_with_place_cause_and_remedy(
    arguments: list[str], cause: str, place: str, remedy: str
) -> None:
    write("pod.yaml", POD)
    write("service.yaml", CONFIG)
    write("rules.expr", RULES)
    write("empty", "")
    ran = run("eval", "rules.expr", *arguments)
    assert (ran.status, ran.out) == (2, "")
    errors = [line for line in ran.err.splitlines() if not line.startswith("note:")]
    assert len(errors) in (2, 3)
    assert cause in errors[0]
    assert place in errors[1]
    assert remedy in errors[-1]


def test_names_are_listed_and_many_are_counted() -> None:
    assert names(["a", "b"]) == "a, b"
    assert names([f"n{at}" for at in range(1010)], most=2) == "n0, n1 and 1,008 more"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_large_input_is_read_with_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "[red]large.yaml"  # which must not be taken for markup
    Path(name).write_bytes(b"x" * 1000)
    monkeypatch.setattr(progress, "LARGE", 100)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress.reading(Path(name)) as told:
        assert told is not None
        told(500, 1000)
    assert name in sys.stderr.getvalue()


def test_a_small_input_or_one_that_nobody_watches_has_no_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("a.yaml").write_bytes(b"x" * 1000)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    with progress.reading(Path("a.yaml")) as told:
        assert told is None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "LARGE", 100)
    with progress.reading(Path("a.yaml")) as told:
        assert told is None
    with progress.reading(Path("absent.yaml")) as told:
        assert told is None
