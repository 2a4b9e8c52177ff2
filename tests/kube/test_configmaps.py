"""Rules from ConfigMaps: what is read, in which order it counts, and what is said of it."""

import json

import pytest

from policyd.daemon.reload_configmaps import PROVIDER, ConfigMapReload
from policyd.kube.configmaps import (
    LABEL,
    ORDER,
    RuleMapEvents,
    RuleMapFeed,
    make_rule_map,
    rule_maps,
)
from policyd.kube.events import Events
from policyd.model.faults import ObjectError
from policyd.policy.outcome import Offer, Origin, Text
from policyd.policy.store import RulesetStore
from tests.kube.fake_apiserver import WatchFault
from tests.kube.recording import reflecting
from tests.scheduler.fakes import HandClock

GOOD = 'rule "{name}" {{ require node.ready }}'
BAD = 'rule "bad" { require node.lables["a"] == "b" }'


def config_map(name="base", order=None, namespace="policyd", **texts):
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: "policyd"}}
    if order is not None:
        metadata["annotations"] = {ORDER: order}
    data = {key.replace("__", "."): text for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def good(name):
    return GOOD.format(name=name)


def made(obj):
    return make_rule_map(json.dumps(obj).encode())


# --- reading ---


def test_the_texts_are_the_keys_that_end_in_expr_by_name():
    found = made(config_map(b__expr="2", a__expr="1", readme="no"))
    assert found.texts == (
        ("configmap/policyd/base/a.expr", b"1"),
        ("configmap/policyd/base/b.expr", b"2"),
    )
    assert (found.name, found.order, found.faults) == ("configmap/policyd/base", 0, ())


def test_binary_data_counts_too():
    found = made({**config_map(), "data": None, "binaryData": {"a.expr": "/w=="}})
    assert found.texts == (("configmap/policyd/base/a.expr", b"\xff"),)
    with pytest.raises(ObjectError, match="base64"):
        made({**config_map(), "binaryData": {"a.expr": "*"}})


def test_what_is_no_source_of_rules_is_a_fault_of_it():
    assert made(config_map()).faults == ("this ConfigMap has no keys that end in `.expr`",)
    assert made(config_map(order="first", a__expr="")).faults == (
        "the annotation policyd.io/order is no whole number: 'first'",
    )


def test_only_those_of_the_scheduler_name_are_looked_for():
    assert rule_maps("policyd", "gpu").path == "/api/v1/namespaces/policyd/configmaps"
    assert rule_maps("", "gpu").path == "/api/v1/configmaps"
    assert dict(rule_maps("", "gpu").query) == {"labelSelector": "policyd.io/rules=gpu"}


# --- with a store ---


class Live:
    """A store at what the ConfigMaps of a server say."""

    def __init__(self, client, awaits=(PROVIDER,)):
        self.store = RulesetStore("policyd", now=HandClock().now, awaits=awaits)
        self.events = Events(client, HandClock(), "host")
        self.reload = ConfigMapReload(self.store, RuleMapEvents(self.events, "policyd"))
        self.feed = Waking(self.reload)

    def rules(self):
        current = self.store.current
        return [] if current is None else [rule.name for rule in current.rules]


class Waking(RuleMapFeed):
    """A feed whose offers a test can wait for."""

    def __init__(self, reload):
        super().__init__(self._take)
        self._reload = reload
        self.recorder = None

    def _take(self, changed, gone):
        self._reload.offered(changed, gone)
        with self.recorder.told:
            self.recorder.told.notify_all()


class Both:
    """Tells a recorder and then a feed."""

    def __init__(self, recorder, feed):
        self.recorder, self.feed = recorder, feed
        feed.recorder = recorder

    def __getattr__(self, name):
        def tell(*args):
            getattr(self.feed, name)(*args)

        return tell


class Told:
    """Lets a test wait for something that an offer brings about."""

    def __init__(self):
        from threading import Condition  # noqa: PLC0415 - only here

        self.told = Condition()

    def wait_for(self, condition):
        with self.told:
            assert self.told.wait_for(condition, 10), "waited in vain"


@pytest.fixture
def live(client):
    live = Live(client)
    told = Told()
    with reflecting(client, rule_maps("policyd", "policyd"), Both(told, live.feed)):
        live.wait_for = told.wait_for
        yield live


def notes(server, live):
    """Give what the events say, in order."""
    assert live.events.flush()
    events = sorted(server.all("Event"), key=lambda e: int(e["metadata"]["resourceVersion"]))
    return [(e["regarding"]["name"], e["reason"], e["note"]) for e in events]


def test_rules_of_several_configmaps_make_one_set_in_the_stated_order(server, client):
    server.create(config_map("zebra", "-1", one__expr=good("first")))
    server.create(config_map("ant", "5", one__expr=good("last")))
    server.create(config_map("bee", two__expr=good("third"), one__expr=good("second")))
    server.create(config_map("other", namespace="elsewhere", one__expr=BAD))
    live = Live(client)
    live.store.update({Origin(0, "files"): Offer((Text("files/a.expr", good("of a file")),))})
    assert live.store.current is None  # the ConfigMaps are awaited
    told = Told()
    with reflecting(client, rule_maps("policyd", "policyd"), Both(told, live.feed)):
        told.wait_for(lambda: live.store.current is not None)
    assert live.rules() == ["of a file", "first", "second", "third", "last"]
    assert live.store.generation == 1


def test_a_change_counts_at_once_and_is_told_on_the_configmap(server, live):
    server.create(config_map(a__expr=good("one")))
    live.wait_for(lambda: live.rules() == ["one"])
    server.update(config_map(a__expr=good("two")))
    live.wait_for(lambda: live.rules() == ["two"])
    told = notes(server, live)
    assert [(name, reason) for name, reason, _ in told] == [("base", "RulesAccepted")] * 2
    current = live.store.current
    assert told[-1][2] == f"in force for policyd: {current.hash}, 1 rules in 1 texts"


def test_a_refusal_is_told_with_file_line_and_message_and_changes_nothing(server, live):
    server.create(config_map(a__expr=good("one")))
    live.wait_for(lambda: live.rules() == ["one"])
    kept = live.store.current
    server.update(config_map(a__expr="\n" + BAD))
    live.wait_for(lambda: live.store.refused is not None)
    assert live.store.current is kept
    name, reason, note = notes(server, live)[-1]
    assert (name, reason) == ("base", "RulesRefused")
    assert note == (
        "configmap/policyd/base/a.expr:2:27: node has no field `lables`\n"
        f"{kept.hash} stays in force for policyd"
    )
    server.update(config_map(a__expr=good("repaired")))
    live.wait_for(lambda: live.rules() == ["repaired"])
    assert notes(server, live)[-1][1] == "RulesAccepted"


def test_a_bad_configmap_does_not_keep_another_ones_change_out(server, live):
    server.create(config_map("good", a__expr=good("one")))
    live.wait_for(lambda: live.rules() == ["one"])
    server.create(config_map("bad", a__expr=BAD))
    live.wait_for(lambda: live.store.refused is not None)
    server.update(config_map("good", a__expr=good("two")))
    live.wait_for(lambda: live.rules() == ["two"])
    assert [(name, reason) for name, reason, _ in notes(server, live)] == [
        ("good", "RulesAccepted"),
        ("bad", "RulesRefused"),
        ("good", "RulesAccepted"),
    ]


def test_without_rules_before_a_bad_configmap_keeps_all_out(server, live):
    server.create(config_map("bad", a__expr=BAD))
    live.wait_for(lambda: live.store.refused is not None)
    name, reason, note = notes(server, live)[-1]
    assert (name, reason) == ("bad", "RulesRefused")
    assert note.endswith("no rules are in force for policyd")


def test_a_name_that_two_define_is_refused_with_both_places(server, live):
    server.create(config_map("one", a__expr=good("same")))
    live.wait_for(lambda: live.rules() == ["same"])
    server.create(config_map("two", a__expr=good("same")))
    live.wait_for(lambda: live.store.refused is not None)
    name, reason, note = notes(server, live)[-1]
    assert (name, reason) == ("two", "RulesRefused")
    assert note.startswith('configmap/policyd/two/a.expr:1:6: the rule "same" is declared twice')
    assert "configmap/policyd/one/a.expr:1" in note
    assert live.rules() == ["same"]


def test_a_configmap_that_goes_takes_its_rules_with_it(server, live):
    server.create(config_map("one", a__expr=good("one")))
    server.create(config_map("two", a__expr=good("two")))
    live.wait_for(lambda: live.rules() == ["one", "two"])
    server.delete("ConfigMap", "one", "policyd")
    live.wait_for(lambda: live.rules() == ["two"])
    unlabelled = config_map("two", a__expr=good("two"))
    unlabelled["metadata"]["labels"] = {}
    server.create(config_map("three", a__expr=good("three")))
    server.update(unlabelled)
    live.wait_for(lambda: live.rules() == ["three"])


def test_a_new_order_moves_the_rules(server, live):
    server.create(config_map("one", a__expr=good("one")))
    server.create(config_map("two", a__expr=good("two")))
    live.wait_for(lambda: live.rules() == ["one", "two"])
    server.update(config_map("two", "-1", a__expr=good("two")))
    live.wait_for(lambda: live.rules() == ["two", "one"])


def test_an_old_version_after_a_newer_one_changes_nothing(server, live):
    server.create(config_map(a__expr=good("one")))
    live.wait_for(lambda: live.rules() == ["one"])
    server.watch_faults.append(WatchFault("configmaps", "swap"))
    server.cut_watches()
    server.wait_for(lambda: not server.watch_faults)
    with server.changed:
        server._replace("configmaps", config_map(a__expr=good("old")))
        server._replace("configmaps", config_map(a__expr=good("new")))
    live.wait_for(lambda: live.rules() == ["new"])
    server.create(config_map("more", a__expr=good("more")))
    live.wait_for(lambda: live.rules() == ["new", "more"])
    assert live.store.generation == 3


def test_only_the_replica_that_leads_tells(server, client):
    events = Events(client, HandClock(), "host")
    leads = [False]
    told = RuleMapEvents(events, "policyd", lambda: leads[0])
    told.accepted(made(config_map(a__expr="")), "quiet")
    leads[0] = True
    told.refused(made(config_map(a__expr="")), "loud")
    assert events.flush()
    assert [e["note"] for e in server.all("Event")] == ["loud"]
