"""Alerts and dashboard read series that policyd exports, by labels that these have."""

import json
import re
from itertools import pairwise

import pytest

from policyd.metrics import METRICS
from tests.charts.monitored import TARGET, exported, faults, parsed
from tests.charts.rendering import CHART, MONITORED, NAMESPACE, one
from tests.shared import ROOT

KNOWN = exported()
DASHBOARD = json.loads((CHART / "dashboards" / "policyd.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('sum(policyd_lead{namespace="a", job="b"})', "no series policyd_lead"),
        ('sum(policyd_leader{namespace="a", job="b", rule="x"})', "has no label rule"),
        ('sum by (rule) (policyd_leader{namespace="a", job="b"})', "has the label rule"),
        ("sum(policyd_leader)", "not that of one release"),
        ('rate(policyd_bind_duration_seconds{namespace="a", job="b"}[5m])', "no series"),
        ("1 > 0", "reads nothing"),
        ('sum by (instance) (policyd_leader{namespace="policyd_x", job="b"})', None),
        ('sum by (le) (policyd_bind_duration_seconds_bucket{namespace="", job=""})', None),
    ],
)
def test_what_is_wrong_in_an_expression_is_found(text, fault):
    found = list(faults(text, KNOWN))
    assert (fault in found[0]) if fault else not found


# --- the dashboard ---


@pytest.mark.parametrize(("title", "text"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_panel_reads_what_is_exported(title, text):
    assert title
    assert not list(faults(text, KNOWN))


def test_legends_name_labels_that_the_result_has():
    for panel in PANELS:
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            read = parsed(target["expr"])
            result = read.grouped or TARGET
            assert named <= result, (panel["title"], target["expr"])


def test_the_dashboard_asks_which_release_and_which_prometheus():
    names = [variable["name"] for variable in DASHBOARD["templating"]["list"]]
    assert names == ["datasource", "namespace", "job"]
    for variable in DASHBOARD["templating"]["list"][1:]:
        (series,) = re.findall(r"policyd_\w+", variable["query"]["query"])
        assert series in KNOWN
    for annotation in DASHBOARD["annotations"]["list"]:
        assert not list(faults(annotation["expr"], KNOWN))


def test_panels_have_numbers_of_their_own_and_do_not_overlap():
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells = [
        (x, y)
        for p in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(p["x"], p["x"] + p["w"])
        for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_the_dashboard_shows_most_of_what_policyd_counts():
    shown = {name for _, text in QUERIES for name, _ in parsed(text).series}
    missing = {
        metric.name for metric in METRICS if not any(name.startswith(metric.name) for name in shown)
    }
    assert len(missing) < len(METRICS) / 3, missing


def test_the_config_map_has_the_file_as_it_is(charts):
    maps = {made["metadata"]["name"]: made for made in charts.render(MONITORED) if "data" in made}
    made = maps["policyd-dashboard"]
    assert json.loads(made["data"]["policyd.json"]) == DASHBOARD
    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"


# --- the alerts ---


def alerts(objects):
    (group,) = one(objects, "PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def test_alerts_read_what_is_exported(charts):
    for name, rule in alerts(charts.render(MONITORED)).items():
        assert not list(faults(rule["expr"], KNOWN)), name


def test_there_is_an_alert_for_each_thing_to_be_woken_by(charts):
    named = {
        "PolicydNoLeader": "policyd_leader",
        "PolicydReloadRefused": "policyd_reload_refused",
        "PolicydPodsPending": "scheduler_pending_pods",
        "PolicydSlow": "scheduler_scheduling_attempt_duration_seconds_bucket",
        "PolicydRuleErrors": "policyd_rule_errors_total",
    }
    made = alerts(charts.render(MONITORED))
    for name, series in named.items():
        assert series in made[name]["expr"]
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("What to be woken by:")[2].partition("###")[0]
    told = {series for series in KNOWN if series in table}
    assert len(told) > 5
    read = {name for rule in made.values() for name, _ in parsed(rule["expr"]).series}
    assert told <= read


def test_thresholds_and_series_are_those_of_the_values(charts):
    made = alerts(charts.render(MONITORED))
    assert made["PolicydPodsPending"]["expr"].endswith("> 250")
    assert made["PolicydSlow"]["expr"].endswith("> 0.5")
    for rule in made.values():
        assert f'namespace="{NAMESPACE}", job="policyd"' in rule["expr"]
    other = {"prometheusRule": {"enabled": True, "selector": 'namespace="x",job="y"'}}
    for rule in alerts(charts.render(other)).values():
        assert '{namespace="x",job="y"' in rule["expr"]
    plain = alerts(charts.render({"prometheusRule": {"enabled": True}}))
    assert plain["PolicydPodsPending"]["expr"].endswith("> 100")
    assert plain["PolicydSlow"]["expr"].endswith("> 2")


def test_texts_of_alerts_name_labels_that_they_have(charts):
    for name, rule in alerts(charts.render(MONITORED)).items():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "description"}
        text = " ".join(rule["annotations"].values())
        named = set(re.findall(r"\{\{ \$labels\.(\w+) \}\}", text))
        assert named <= parsed(rule["expr"]).grouped, name


@pytest.mark.parametrize(("opening", "closing"), list(pairwise("(){}[]"))[::2])
def test_brackets_of_all_expressions_are_closed(charts, opening, closing):
    texts = [text for _, text in QUERIES]
    texts += [rule["expr"] for rule in alerts(charts.render(MONITORED)).values()]
    for text in texts:
        assert text.count(opening) == text.count(closing), text
