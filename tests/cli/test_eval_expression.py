"""`policyd eval -e`."""

import json

import pytest

from tests.cli.command import NODES, POD, documents, run, text, write


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1 + 1", "2 : int"),
        ("false", "false : bool"),
        ("2Gi + 500Mi > 2.4Gi", "true : bool"),
        ("1.5Gi", "1536Mi : kubernetes.Quantity"),
        ('"a\\nb"', '"a\\nb" : string'),
        ("[dyn(1), 2u, 'x']", '[1, 2u, "x"] : list(dyn)'),
        ("{'a': 1}['a']", "1 : int"),
        ("optional.none()", "optional.none() : optional_type(dyn)"),
        ("null", "null : null_type"),
        ("dyn(1.5)", "1.5 : double"),
        ("type(1)", "int : type(int)"),
        ("duration('90s')", 'duration("90s") : google.protobuf.Duration'),
    ],
)
def test_an_expression_gives_its_value_and_type(expression: str, shown: str) -> None:
    assert run("eval", "-e", expression) == (0, f"{shown}\n", "")


def test_a_long_value_is_shown_whole() -> None:
    out = run("eval", "-e", "lists.range(200)").out
    assert out.startswith("[0, 1, ")
    assert out.endswith(", 199] : list(int)\n")


@pytest.mark.parametrize(
    ("binding", "expression", "shown"),
    [
        ("x=5", "x * 2", "10 : int"),
        ("x=1.5", "x * 2.0", "3.0 : double"),
        ('x="a"', "x + 'b'", '"ab" : string'),
        ("x=[1, 2]", "x.map(y, y + 1)", "[2, 3] : list(int)"),
        ('x={"a": {"b": [true]}}', "x.a.b[0]", "true : bool"),
        ('x={"a": 1}', "x", '{"a": 1} : map(string, dyn)'),
        ('node={"name": "mine"}', "node.name", '"mine" : string'),
        ("raw=50", "raw", "50 : int"),
    ],
)
def test_a_bound_name_has_its_value(binding: str, expression: str, shown: str) -> None:
    assert run("eval", "-e", expression, "--bind", binding) == (0, f"{shown}\n", "")


def test_an_expression_that_is_wrong_is_shown_with_its_place() -> None:
    ran = run("eval", "-e", "1 + 'a'")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error[E204]: ")
    assert "--> <expression>:1:" in ran.err


def test_an_evaluation_without_a_value_is_an_error_with_its_place() -> None:
    ran = run("eval", "-e", "x['b']", "--bind", 'x={"a": 1}')
    assert (ran.status, ran.out) == (1, "")
    assert "error[E401]: " in ran.err
    assert " 1 | x['b']" in ran.err


def test_an_evaluation_that_takes_too_much_names_the_limit() -> None:
    loops = "x.all(a, x.all(b, x.all(c, a + b + c >= 0)))"
    ran = run("eval", "-e", loops, "--bind", f"x={list(range(500))}")
    assert ran.status in (1, 2)
    assert "work" in ran.err


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("pod.name", "there is no `pod` here: give one with `--pod FILE`"),
        ("namespace.name", "give one with `--namespace NAME` or `--pod FILE`"),
        ("victim.name", "`victim` belongs to rules; give it a value with `--bind victim=…`"),
        ("params.x", "`params` belongs to rules"),
    ],
)
def test_a_name_without_input_says_how_to_give_it(expression: str, why: str) -> None:
    ran = run("eval", "-e", expression)
    assert ran.status == 2
    assert why in ran.err


def test_an_expression_over_nodes_is_evaluated_for_each() -> None:
    write("nodes.yaml", NODES)
    ran = run("eval", "-e", "node.free.memory", "--nodes", "nodes.yaml")
    assert ran == (
        0,
        text("""
            NODE    VALUE  TYPE
            small   4Gi    kubernetes.Quantity
            big     64Gi   kubernetes.Quantity
            middle  16Gi   kubernetes.Quantity
            """),
        "",
    )


def test_an_error_on_some_nodes_is_told_once_with_the_nodes() -> None:
    write("nodes.yaml", NODES)
    text_ = 'node.metadata.labels["topology.kubernetes.io/zone"]'
    ran = run("eval", "-e", text_, "--nodes", "nodes.yaml")
    assert ran.status == 1
    assert ran.out == text("""
        NODE    VALUE  TYPE
        small   "a"    string
        big     "b"    string
        middle  error
        """)
    assert ran.err.count("error[E401]") == 1
    assert "= note: this comes up for 1 of 3: middle" in ran.err


def test_nodes_can_be_picked() -> None:
    write("nodes.yaml", NODES)
    ran = run(
        "eval", "-e", "node.name", "--nodes", "nodes.yaml", "--node", "big", "--node", "small"
    )
    assert [line.split()[0] for line in ran.out.splitlines()] == ["NODE", "small", "big"]
    ran = run("eval", "-e", "node.name", "--nodes", "nodes.yaml", "--node", "bog")
    assert ran.status == 2
    assert ran.err == text("""
        error: there is no node `bog` in nodes.yaml
          --> --node
           = help: did you mean `big`?
        """)


def test_the_sample_cluster_is_used_and_named_where_no_nodes_are_given() -> None:
    ran = run("eval", "-e", "cluster.nodes")
    assert (ran.status, ran.out) == (0, "6 : int\n")
    assert ran.err == (
        "note: no nodes are given: these are those of the sample cluster, sample-cluster.yaml\n"
    )


def test_what_needs_no_cluster_uses_none() -> None:
    assert run("eval", "-e", "now.getFullYear()", "--now", "2026-06-01T12:00:00Z") == (
        *(0, "2026 : int\n"),
        "",
    )
    assert run("eval", "-e", "namespace.name", "-n", "shop") == (0, '"shop" : string\n', "")


def test_an_expression_over_a_pod_and_nodes_sees_both() -> None:
    write("nodes.yaml", NODES)
    write("pod.yaml", POD)
    text_ = "node.free.memory - pod.requests.memory"
    ran = run("eval", "-e", text_, "--nodes", "nodes.yaml", "--pod", "pod.yaml", "--node", "big")
    assert ran.out.splitlines()[1].split()[:2] == ["big", "56Gi"]


def test_each_of_several_pods_is_evaluated() -> None:
    write("pods.yaml", documents(POD, POD.replace("name: web, namespace", "name: api, namespace")))
    ran = run("eval", "-e", "pod.requests.cpu", "--pod", "pods.yaml")
    assert ran.out == text("""
        POD       VALUE  TYPE
        shop/web  3      kubernetes.Quantity
        shop/api  3      kubernetes.Quantity
        """)
    ran = run("eval", "-e", "pod.requests.cpu", "--pod", "pods.yaml", "--pod-name", "api")
    assert ran.out == "3 : kubernetes.Quantity\n"


def test_json_and_yaml_have_one_shape() -> None:
    write("nodes.yaml", NODES)
    assert json.loads(run("eval", "-e", "1 + 1", "-o", "json").out) == {
        "results": [{"value": 2, "type": "int"}]
    }
    ran = run("eval", "-e", "node.free.cpu", "--nodes", "nodes.yaml", "-o", "yaml")
    assert ran.out == text("""
        results:
        - node: small
          value: '2'
          type: kubernetes.Quantity
        - node: big
          value: '16'
          type: kubernetes.Quantity
        - node: middle
          value: '4'
          type: kubernetes.Quantity
        """)


def test_json_carries_errors_beside_values() -> None:
    ran = run("eval", "-e", "1 / 0", "-o", "json")
    assert ran.status == 1
    (result,) = json.loads(ran.out)["results"]
    assert result["error"]["code"] == "E401"
    assert result["error"]["range"]["start"]["line"] == 1


def test_json_has_no_numbers_that_json_has_not() -> None:
    out = run("eval", "-e", "[dyn(1.0 / 0.0), 0.0 / 0.0, 18446744073709551615u]", "-o", "json").out
    infinite, nothing, largest = json.loads(out)["results"][0]["value"]
    assert (type(infinite), type(nothing), largest) == (str, str, 2**64 - 1)


def test_what_steers_a_terminal_is_shown_and_not_sent() -> None:
    out = run("eval", "-e", "'a\\u001b[31m' + '\\u202e' + '\\u009b'").out
    assert out.isprintable() is False  # for its line's end
    assert out.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give rules, or an expression with -e"),
        (["-e", "1", "rules.expr"], "give rules or an expression, not both"),
        (["-e", "1", "--set", "a=1"], "--set is for parameters of rules"),
        (
            ["-e", "1", "--nodes", "a", "--cluster", "b"],
            "--nodes and --cluster both give the nodes",
        ),
        (["-e", "1", "--pod-name", "a"], "--pod-name picks from a file: give it with --pod FILE"),
        (["rules.expr", "--pod", "a", "--bind", "x=1"], "--bind is for -e"),
        (["rules.expr"], "rules decide for a pod: give one with --pod FILE"),
        (["-e", "1", "-o", "xml"], "'xml' is not one of"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], message: str) -> None:
    ran = run("eval", *arguments)
    assert ran.status == 2
    assert message in ran.err


def test_an_empty_expression_is_a_fault_of_the_expression() -> None:
    ran = run("eval", "-e", "")
    assert ran.status == 2
    assert "error[E107]: an expression was expected" in ran.err
