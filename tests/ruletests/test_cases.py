"""What a file of rule tests can say, and what is said of one that cannot be used."""

from pathlib import Path
from textwrap import dedent

import pytest

from policyd.ruletests.cases import Suite, read_suite
from policyd.ruletests.text import MAX_BYTES, UnusableError

NODES = "{nodes: [{metadata: {name: ant}, status: {allocatable: {cpu: 4}}}]}"

CASE = "pod: {spec: {containers: []}}, expect: {fits: true}"


def _suite(folder: Path, text: str) -> Suite:
    file = folder / "a.test.yaml"
    file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return read_suite(file)


def _problems(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Give place (from the line on), cause and remedy of each problem."""
    with pytest.raises(UnusableError) as raised:
        _suite(folder, text)
    return [
        (str(problem.place).rpartition("yaml:")[2], problem.cause, problem.remedy)
        for problem in raised.value.problems
    ]


# --- what can be said ---


def test_a_case_has_a_pod_a_cluster_and_what_is_expected(tmp_path: Path) -> None:
    suite = _suite(
        tmp_path,
        f"""
        cluster: {NODES}
        set: {{reserve: 0.1, spread: true, name: web}}
        tests:
        - name: it fits
          set: {{reserve: 2Gi, count: 3}}
          {CASE.replace(", expect", chr(10) + "          expect")}
        """,
    )
    (case,) = suite.cases
    assert (case.name, str(case.place).rpartition(":")[0][-2:]) == ("it fits", ":4")
    assert (case.pod.namespace, case.pod.name) == ("default", "pod")
    assert [node.name for node in case.snapshot.nodes] == ["ant"]
    assert case.settings == {"reserve": "2Gi", "spread": "true", "name": "web", "count": "3"}
    assert case.expect.fits is True


def test_the_rules_are_those_beside_the_tests_unless_others_are_named(tmp_path: Path) -> None:
    tests = f"cluster: {NODES}\ntests: [{{name: a, {CASE}}}]\n"
    assert _suite(tmp_path, tests).rules == (str(tmp_path / "a.expr"),)
    named = _suite(tmp_path, "rules: [../b.expr, c]\n" + tests)
    assert named.rules == (str(tmp_path.parent / "b.expr"), str(tmp_path / "c"))


def test_clusters_and_pods_can_stand_in_files_beside_the_tests(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: bee}\n", encoding="utf-8"
    )
    (tmp_path / "pods.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: two}\n"
        "spec: {template: {spec: {containers: []}}}\n",
        encoding="utf-8",
    )
    suite = _suite(
        tmp_path,
        f"""
        cluster: nodes.yaml
        tests:
        - {{name: a, pod: pods.yaml, podName: one, expect: {{fits: true}}}}
        - {{name: b, pod: pods.yaml, podName: default/two, cluster: [nodes.yaml], expect: {{node: null}}}}
        - {{name: c, pod: pods.yaml, podName: one, cluster: {{from: nodes.yaml, pods: [
            {{metadata: {{name: x}}, spec: {{nodeName: bee}}}}]}}, expect: {{fits: true}}}}
        - {{name: d, cluster: sample, {CASE}}}
        """,  # noqa: E501 - YAML in flow style
    )
    a, b, c, d = suite.cases
    assert (a.pod.name, b.pod.name, b.pod.workload) == ("one", "two", "Deployment")
    assert [len(each.snapshot.nodes) for each in (a, b, c)] == [1, 1, 1]
    assert [pod.name for pod in c.snapshot.nodes[0].pods] == ["x"]
    assert len(d.snapshot.nodes) == 6
    assert a.snapshot is not c.snapshot


def test_a_pod_that_is_on_a_node_counts_as_waiting(tmp_path: Path) -> None:
    pods = "pods: [{metadata: {name: web}, spec: {nodeName: ant}}, {metadata: {name: other}}]"
    suite = _suite(
        tmp_path,
        f"""
        cluster: {NODES[:-1]}, {pods}}}
        tests:
        - {{name: a, pod: {{metadata: {{name: web}}}}, expect: {{fits: true}}}}
        - {{name: b, pod: {{metadata: {{name: web, namespace: b}}}}, expect: {{fits: true}}}}
        """,
    )
    a, b = suite.cases
    assert (len(a.snapshot.nodes[0].pods), len(b.snapshot.nodes[0].pods)) == (0, 1)
    assert (len(a.snapshot.pods), len(b.snapshot.pods)) == (1, 2)


def test_cases_of_one_cluster_share_it(tmp_path: Path) -> None:
    suite = _suite(
        tmp_path, f"cluster: {NODES}\ntests: [{{name: a, {CASE}}}, {{name: b, {CASE}}}]\n"
    )
    a, b = suite.cases
    assert a.snapshot is b.snapshot


def test_classes_and_other_objects_count(tmp_path: Path) -> None:
    suite = _suite(
        tmp_path,
        f"""
        cluster: {NODES[:-1]}, objects: [
          {{kind: PriorityClass, metadata: {{name: high}}, value: 7}},
          {{kind: Namespace, metadata: {{name: b, labels: {{team: x}}}}}}]}}
        tests:
        - name: a
          pod: {{metadata: {{namespace: b}}, spec: {{priorityClassName: high}}}}
          expect: {{fits: true}}
        """,
    )
    (case,) = suite.cases
    assert case.pod.priority == 7
    assert case.snapshot.namespace("b").labels["team"] == "x"


def test_the_time_is_fixed_for_a_file_and_can_be_given_for_a_test(tmp_path: Path) -> None:
    suite = _suite(
        tmp_path,
        f"""
        cluster: {NODES}
        tests:
        - {{name: a, {CASE}}}
        - {{name: b, now: "2026-06-01T12:00:00Z", {CASE}}}
        """,
    )
    a, b = suite.cases
    assert str(a.snapshot.now) == "2026-01-01T00:00:00Z"
    assert str(b.snapshot.now) == "2026-06-01T12:00:00Z"


def test_objects_that_rules_do_not_read_are_noted(tmp_path: Path) -> None:
    other = "{kind: Ingress, apiVersion: v1, metadata: {name: i}}"
    suite = _suite(
        tmp_path, f"cluster: {NODES[:-1]}, objects: [{other}]}}\ntests: [{{name: a, {CASE}}}]\n"
    )
    assert [note.kind for note in suite.notes] == ["Ingress"]


# --- what cannot be used ---

GOOD = f"cluster: {NODES}\n"


@pytest.mark.parametrize(
    ("text", "place", "cause", "remedy"),
    [
        ("tests: [}", "1:9", "", "…"),
        ("", "1:1", "a file of tests is one document, and this has 0", "begin with `tests:`"),
        (
            "tests: []\n---\ntests: []",
            "1:1",
            "a file of tests is one document, and this has 2",
            "…",
        ),
        ("- a", "1:1", "expected map, got list", "…"),
        ("cluster: sample", "1:1", "the field `tests` is missing here", "…"),
        ("test: []\ntests: []", "1:7", "there is no field `test` here", "did you mean `tests`?"),
        ("tests: []", "1:8", "there are no tests in this file", "add one to `tests`"),
        ("tests: [{name: a}]", "1:9", "the field `pod` is missing here", "…"),
        ("tests: []\ntests: []", "2:1", "", "…"),
    ],
    ids=[
        *("no YAML", "empty", "two documents", "a list", "no tests", "a wrong field"),
        *("none", "no pod", "a key twice"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_its_place(
    tmp_path: Path, text: str, place: str, cause: str, remedy: str
) -> None:
    ((found_place, found_cause, found_remedy),) = _problems(tmp_path, text)
    assert found_place == place
    assert cause in found_cause
    assert remedy in ("…", found_remedy)


@pytest.mark.parametrize(
    ("case", "place", "cause", "remedy"),
    [
        (
            "name: a, pod: 1, expect: {fits: true}",
            "3:18",
            "expected string or map, got int",
            "pod: pod.yaml",
        ),
        ("name: a, pod: {}, expect: {}", "3:30", "this test expects nothing", "`fits: true`"),
        (
            "name: a, pod: {}, expect: {fit: true}",
            "3:36",
            "there is no field `fit` here",
            "did you mean `fits`?",
        ),
        (
            "name: a, pod: {}, expect: {fits: 1}",
            "3:37",
            "expected bool, map or list, got int",
            "fits: [ant]",
        ),
        (
            "name: a, pod: {}, expect: {fits: [1]}",
            "3:38",
            "expected string, got int",
            "fits: [ant]",
        ),
        (
            "name: a, pod: {}, expect: {totals: {ant: x}}",
            "3:45",
            "expected double, got string",
            "totals: {ant: 250}",
        ),
        (
            "name: a, pod: {}, expect: {scores: {ant: 1}}",
            "3:45",
            "expected map, got int",
            "scores: {pack:",
        ),
        (
            "name: a, pod: {}, expect: {rejected: {ant: {rul: x}}}",
            "3:53",
            "no field `rul`",
            "`rule`",
        ),
        ("name: a, pod: {}, expect: {rejected: {ant: 1}}", "3:47", "got int", "rejected: {ant:"),
        (
            "name: a, pod: {}, expect: {order: ant}",
            "3:38",
            "expected list, got string",
            "order: [ant, bee]",
        ),
        ("name: a, pod: {}, expect: {devices: {x: [a]}}", "3:45", "expected int", "devices: {"),
        (
            "name: a, pod: {}, set: {x: [1]}, expect: {fits: true}",
            "3:31",
            "got list",
            "set: {reserve",
        ),
        (
            "name: ' ', pod: {}, expect: {fits: true}",
            "3:10",
            "this test has no name",
            "say what it proves",
        ),
        ("name: a, pod: {}, now: noon, expect: {fits: true}", "3:27", "", "2026-06-01T12:00:00Z"),
        (
            "name: a, pod: p.yaml, expect: {fits: true}",
            "3:18",
            "there is no file",
            "beside the file of tests",
        ),
        (
            "name: a, pod: {kind: Ship}, expect: {fits: true}",
            "3:18",
            "no `apiVersion`",
            "apiVersion: v1",
        ),
        (
            "name: a, pod: {kind: Node}, expect: {fits: true}",
            "3:18",
            "there is no pod here",
            "a workload",
        ),
        ("name: a, pod: {spec: 1}, expect: {fits: true}", "3:25", "expected ", ""),
        (
            "name: a, pod: {}, cluster: c.yaml, expect: {fits: true}",
            "3:31",
            "there is no file",
            "beside",
        ),
        (
            "name: a, pod: {}, cluster: {}, expect: {fits: true}",
            "3:31",
            "this cluster has no node",
            "to `nodes`",
        ),
        (
            "name: a, pod: {}, cluster: {node: []}, expect: {fits: true}",
            "3:38",
            "no field `node`",
            "`nodes`",
        ),
        (
            "name: a, pod: {}, cluster: {nodes: [{spec: {taints: 1}}]}, expect: {fits: true}",
            "3:56",
            "expected list",
            "",
        ),
        (
            "name: a, pod: {}, cluster: {objects: [{}]}, expect: {fits: true}",
            "3:42",
            "the object has no `kind`",
            "add",
        ),
    ],
)
def test_a_test_that_cannot_be_run_is_refused_with_its_place(
    tmp_path: Path, case: str, place: str, cause: str, remedy: str
) -> None:
    found = _problems(tmp_path, f"{GOOD}tests:\n- {{{case}}}\n")
    assert found[0][0] == place
    assert cause in found[0][1]
    assert remedy in found[0][2]


def test_a_test_without_a_cluster_is_refused(tmp_path: Path) -> None:
    ((place, cause, remedy),) = _problems(tmp_path, f"tests: [{{name: a, {CASE}}}]")
    assert (place, cause) == ("1:9", "this test has no cluster")
    assert "cluster: sample" in remedy


def test_two_tests_of_one_name_are_refused(tmp_path: Path) -> None:
    found = _problems(tmp_path, f"{GOOD}tests:\n- {{name: a, {CASE}}}\n- {{name: a, {CASE}}}\n")
    assert found == [("4:10", "another test is called so, on line 3", "rename one of them")]


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    found = _problems(
        tmp_path,
        f"""
        cluster: {NODES}
        tests:
        - {{name: a, pod: none.yaml, expect: {{fits: true}}}}
        - {{name: b, pod: {{}}, expect: {{}}}}
        - {{name: c, pod: {{}}, cluster: {{}}, expect: {{fits: true}}}}
        """,
    )
    assert [place.partition(":")[0] for place, _, _ in found] == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("name", "cause", "remedy"),
    [
        (
            "",
            "there are 2 such pods, and a test is about one",
            "name it with `podName`; there are: one, two",
        ),
        ("oen", "there is no pod `oen` there", "did you mean `one`?"),
        ("three", "there is no pod `three` there", "there are: one, two"),
    ],
)
def test_of_several_pods_one_must_be_named(
    tmp_path: Path, name: str, cause: str, remedy: str
) -> None:
    pods = [f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}}}\n" for pod in ("one", "two")]
    (tmp_path / "pods.yaml").write_text("---\n".join(pods), encoding="utf-8")
    named = f"podName: {name}, " if name else ""
    found = _problems(
        tmp_path, f"{GOOD}tests: [{{name: a, pod: pods.yaml, {named}expect: {{fits: true}}}}]"
    )
    assert [each[1:] for each in found] == [(cause, remedy)]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.test.yaml").write_bytes(b"tests:\n- \xff")
    with pytest.raises(UnusableError) as raised:
        read_suite(tmp_path / "a.test.yaml")
    (problem,) = raised.value.problems
    assert (problem.place.line, problem.cause) == (2, "the byte 0xff is not UTF-8")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.test.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(UnusableError) as raised:
        read_suite(tmp_path / "a.test.yaml")
    assert "put clusters into files of their own" in raised.value.problems[0].remedy
