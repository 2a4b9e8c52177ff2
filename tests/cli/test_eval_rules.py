"""`policyd eval RULE...`: pods on nodes, by rules."""

import json
import re

import pytest
import yaml

from tests.cli.command import HUGE, NODES, POD, RULES, Ran, documents, run, snapshot, text, write
from tests.shared import needs_shared, shared_file

ODD = """
    rule "zone" {
      require node.metadata.labels["topology.kubernetes.io/zone"] != "x"
    }

    rule "large" {
      prefer 1000.0 * node.allocatable.cpu
    }

    rule "odd-score" {
      prefer 10 / (node.name.size() - 3)
    }

    rule "tried-out" {
      mode shadow
      require node.labels["disk"] == "ssd" && pod.labels["app"] == "api"
              because "not an api pod"
    }
"""


def _decide(*more: str, rules: str = RULES, pod: str = POD) -> Ran:
    write("rules.expr", rules)
    write("pod.yaml", pod)
    write("nodes.yaml", NODES)
    return run("eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml", *more)


def test_a_decision_shows_the_best_node_first_and_why_the_others_do_not_fit() -> None:
    ran = _decide()
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == snapshot("decision", ran.out)


def test_a_pod_that_fits_nowhere_ends_with_status_1() -> None:
    ran = _decide(pod=HUGE)
    assert ran.status == 1
    assert ran.out.startswith("pod default/huge: fits none of 3 nodes\n")


def test_the_reasons_are_counted_the_most_frequent_first() -> None:
    rules = """
        rule "cpu" {
          require node.free.cpu >= 16.0 because "Insufficient cpu"
        }

        rule "name" {
          require node.name.size() == 3 because "name of " + node.name
        }
    """
    lines = _decide(rules=rules).out.splitlines()
    assert lines[1] == "rejected: 2 Insufficient cpu, 1 name of middle, 1 name of small"


def test_nodes_with_the_same_explanation_are_explained_together() -> None:
    rules = 'rule "never" {\n  require pod.priority > 5\n}\n'
    out = _decide(rules=rules).out
    assert "\nbig, middle, small\n  ✗ never: not: pod.priority > 5\n" in out
    assert out.count("✗ never") == 1


def test_errors_clamped_scores_and_shadow_rules_are_marked() -> None:
    ran = _decide(rules=ODD)
    assert ran.status == 0
    assert ran.out == snapshot("marks", ran.out)


def test_json_carries_everything_and_its_keys_are_a_promise() -> None:
    ran = _decide("-o", "json", rules=ODD)
    assert ran.status == 0
    data = json.loads(ran.out)
    assert list(data) == ["ruleset", "nodesFrom", "decisions"]
    assert list(data["ruleset"]) == ["hash", "rules", "params"]
    assert data["ruleset"]["rules"][3] == {
        "name": "tried-out",
        "place": "rules.expr:13:1",
        "shadow": True,
    }
    assert data["nodesFrom"] == "nodes.yaml"
    (decision,) = data["decisions"]
    assert list(decision) == [
        *("pod", "fits", "node", "considered", "feasible", "withoutDevices", "devices"),
        *("reasons", "shadow", "nodes", "groups", "ungrouped"),
    ]
    assert decision["pod"] == {"namespace": "shop", "name": "web", "uid": "", "workload": ""}
    assert (decision["fits"], decision["node"]) == (True, "small")
    middle = decision["nodes"][2]
    assert (middle["node"], middle["fits"], middle["total"]) == ("middle", False, None)
    zone, large = middle["rules"][:2]
    assert list(zone) == [
        *("rule", "shadow", "applies", "rejects", "score", "rejections", "scores"),
    ]
    (rejection,) = zone["rejections"]
    assert rejection["error"] == {
        "message": "no such key: topology.kubernetes.io/zone",
        "place": "rules.expr:2:11",
    }
    assert rejection["values"][1] == {
        "expression": "node.metadata.labels",
        "value": '{"disk": "ssd"}',
    }
    assert large["scores"] == []
    assert decision["nodes"][0]["rules"][1]["scores"] == [
        {"raw": 2000.0, "score": 100.0, "weighted": 100.0, "clamped": True, "error": None}
    ]


def test_what_shadow_rules_would_have_changed_is_told_in_the_table_and_in_json() -> None:
    shadow = """
        rule "stricter" {
          mode shadow
          require node.labels["disk"] == "ssd" && node.name != "big" because "not big"
        }

        rule "same" {
          mode shadow
          prefer node.labels["disk"] == "ssd"
        }

        choose {
          order node.name asc
        }

        choose {
          mode shadow
          order node.name desc
        }
    """
    out = _decide(rules=RULES + shadow).out
    assert (
        text("""
        in shadow mode, so that it changed nothing:
          rule stricter: disagrees, and would have taken middle, not big (rejects 2 of 3 nodes)
          rule same: agrees
          choose: disagrees, and would have taken middle, not big
        """)
        in out
    )
    (decision,) = json.loads(_decide("-o", "json", rules=RULES + shadow).out)["decisions"]
    assert [(each["name"], each["disagrees"], each["node"]) for each in decision["shadow"]] == [
        ("stricter", True, "middle"),
        ("same", False, "big"),
        ("choose", True, "middle"),
    ]
    assert decision["shadow"][0] == {
        "block": "rule",
        "name": "stricter",
        "place": "rules.expr:16:5",
        "rejected": 2,
        "errors": 0,
        "disagrees": True,
        "node": "middle",
        "devices": {},
    }


def test_yaml_says_the_same_as_json() -> None:
    as_json = json.loads(_decide("-o", "json").out)
    assert yaml.safe_load(_decide("-o", "yaml").out) == as_json


def test_a_parameter_is_set() -> None:
    rules = 'param most: int = 5\nrule "few" {\n  require node.pods.size() >= most\n}\n'
    assert _decide(rules=rules).status == 1
    assert _decide("--set", "most=0", rules=rules).status == 0
    ran = _decide("--set", "mots=0", rules=rules)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == text("""
        error: no rule has a parameter `mots`
          --> --set
           = help: did you mean `most`?
        """)


def test_a_parameter_without_a_value_says_how_to_give_one() -> None:
    rules = 'param most: int\nrule "few" {\n  require node.pods.size() >= most\n}\n'
    ran = _decide(rules=rules)
    assert ran.status == 2
    assert "= help: set it with `--set most=…`" in ran.err


def test_rules_that_are_wrong_are_shown_and_nothing_is_decided() -> None:
    ran = _decide(rules='rule "x" {\n  require node.redy\n}\nrule "y" {\n  require 1\n}\n')
    assert (ran.status, ran.out) == (2, "")
    assert "error[E203]" in ran.err
    assert "error[E205]" in ran.err


def test_warnings_are_mentioned() -> None:
    ran = _decide(rules='rule "x" {\n  when    1 < 2\n  require node.pods.size() == 0\n}\n')
    assert ran.status == 0
    assert ran.err == "note: 1 warning: see `policyd check rules.expr`\n"


def test_files_without_a_rule_are_mentioned() -> None:
    ran = _decide(rules="queue {\n  order pod.priority desc\n}\n")
    assert ran.status == 0
    assert "note: there is no `rule` in these files" in ran.err


def test_several_pods_are_decided_one_after_another() -> None:
    ran = _decide(pod=documents(POD, HUGE))
    assert ran.status == 1
    titles = [line for line in ran.out.splitlines() if line.startswith("pod ")]
    assert titles == [
        "pod shop/web: fits 2 of 3 nodes, best on big",
        "pod default/huge: fits none of 3 nodes",
    ]
    ran = _decide("--pod-name", "shop/web", pod=documents(POD, HUGE))
    assert ran.status == 0
    ran = _decide("--pod-name", "wbe", pod=documents(POD, HUGE))
    assert ran.status == 2
    assert ran.err == text("""
        error: there is no pod `wbe` in pod.yaml
          --> --pod-name
           = help: did you mean `web`?
        """)


def test_a_workload_is_decided_by_its_pod_template() -> None:
    deployment = """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: api, namespace: shop}
        spec:
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
    """
    ran = _decide(pod=deployment)
    assert ran.out.startswith("pod shop/api (of the Deployment): fits 2 of 3 nodes, best on ")


def test_a_directory_is_a_rule_set() -> None:
    write("rules/a.expr", RULES)
    write("rules/b.expr", 'rule "ready" {\n  require !node.ready\n}\n')
    write("pod.yaml", POD)
    write("nodes.yaml", NODES)
    ran = run("eval", "rules", "--pod", "pod.yaml", "--nodes", "nodes.yaml")
    assert ran.status == 0
    assert re.search(
        "^NODE +FITS +TOTAL +room +fast-disk +only-batch +ready$", ran.out, re.MULTILINE
    )


def test_colours_mark_what_fits() -> None:
    write("rules.expr", RULES)
    write("pod.yaml", POD)
    write("nodes.yaml", NODES)
    arguments = ("eval", "rules.expr", "--pod", "pod.yaml", "--nodes", "nodes.yaml")
    out = run(*arguments, env={"FORCE_COLOR": "1"}).out
    assert "\x1b[32myes\x1b[0m" in out
    assert "\x1b[1;31mno\x1b[0m" in out


def test_names_and_reasons_from_the_input_cannot_steer_the_terminal() -> None:
    pod = POD.replace("app: web", 'app: "web\\e[2J\\u202e"').replace("name: web,", 'name: "w\\eb",')
    rules = 'rule "x\\u001b" {\n  require false\n          because "so: " + pod.labels["app"]\n}\n'
    ran = _decide(rules=rules, pod=pod)
    assert ran.status == 1
    assert all(line.isprintable() for line in (ran.out + ran.err).split("\n"))


@pytest.mark.parametrize("form", ["yaml", "json"])
@needs_shared
def test_real_manifests_are_decided_on_a_real_cluster(form: str) -> None:
    manifests = shared_file("data", "manifests")
    write("rules.expr", RULES)
    ran = run(
        *("eval", "rules.expr", "-o", "json"),
        *("--pod", str(manifests / "given" / "deploy-02-unknown-fields-five-docs.yaml")),
        *("--cluster", str(manifests / "nodes" / f"cluster-small.{form}")),
    )
    assert ran.status == 0, ran.err
    (decision,) = json.loads(ran.out)["decisions"]
    assert decision["pod"]["workload"] == "Deployment"
    assert len(decision["nodes"]) == 6
    assert ran.err == "", "claims and services are read too"


@needs_shared
def test_every_pod_of_a_dump_is_decided_as_if_it_were_not_there() -> None:
    dump = shared_file("data", "manifests", "nodes", "cluster-small.json")
    write("rules.expr", RULES)
    ran = run("eval", "rules.expr", "--pod", str(dump), "-o", "json")
    decisions = json.loads(ran.out)["decisions"]
    assert len(decisions) > 10
    assert ran.err.count("it is decided as if it were not") > 5
