"""A scheduling loop on the embedded cluster that is watched, with rules that a test replaces."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text

from policyd.daemon.observe import (
    observer,
    tell_build,
    watch_cache,
    watch_leader,
    watch_pool,
    watch_queue,
    watch_rules,
)
from policyd.daemon.threads import PoolCounts
from policyd.metrics import Metrics
from policyd.policy.outcome import Offer, Origin, Text
from policyd.policy.store import RulesetStore
from policyd.scheduler.cache import Cache
from policyd.scheduler.cycle import Scheduler
from policyd.scheduler.queue import SchedulingQueue
from policyd.simulation.embedded import EmbeddedCluster, InlinePool
from tests.policy.build import as_pod, node, pod, snapshot
from tests.scheduler.fakes import HandClock

FIT = 'rule "fit" { require node.free.cpu >= pod.requests.cpu because "Insufficient cpu" }'
SOURCE = Origin(0, "rules")


class Watched:
    """A loop whose clock is in the test's hand."""

    def __init__(self, text=FIT, nodes=("a", "b"), *, cluster=None, timer=None, **others):
        self.clock = HandClock()
        self.metrics = Metrics(process=False)
        self.store = RulesetStore("policyd", now=self.clock.now)
        self.queue = SchedulingQueue(self.clock, profile_of=lambda _: "policyd", longest_wait=300)
        self.cache = Cache()
        self.cluster = EmbeddedCluster(self.cache, self.queue)
        watch_rules(self.metrics, [self.store])
        watch_queue(self.metrics, self.queue, self.clock)
        watch_cache(self.metrics, self.cache)
        watch_pool(self.metrics, lambda: PoolCounts(5, 3, 1, 1, 0, 0))
        self.standby = False
        watch_leader(self.metrics, lambda: self.standby)
        tell_build(self.metrics, "1.2.3", "abc")
        self.attempts = []
        self.scheduler = Scheduler(
            cluster=cluster or self.cluster,
            clock=self.clock,
            pool=InlinePool(),
            cache=self.cache,
            queue=self.queue,
            profile_of=lambda _: self.store,
            observer=observer(self.metrics, tests=self, **others),
            timer=timer or self.clock.monotonic,
        )
        if text is not None:
            self.offer(text)
        for made in snapshot(*map(node, nodes)).nodes if nodes else ():
            self.cluster.put_node(made)

    def attempted(self, attempt):
        self.attempts.append(attempt)

    def offer(self, text):
        """Replace the rules, and have the pods tried that others rejected."""
        outcome = self.store.update({SOURCE: Offer((Text("test.expr", text),))})
        if outcome.is_installed:
            self.queue.rules_changed("policyd", outcome.state.ruleset.hash)
        return outcome

    def create(self, name, annotations=None, gates=(), **requests):
        manifest = pod(name, **requests)
        manifest["metadata"] |= {"uid": name, "annotations": dict(annotations or {})}
        manifest["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
        made = as_pod(manifest)
        self.cluster.create(made)
        return made

    def run(self):
        """Try all pods that can be tried now."""
        while self.scheduler.schedule_next(timeout=0):
            pass

    def scrape(self):
        return Scrape.of(*self.metrics.exposition())


@dataclass
class Scrape:
    """What a scrape gave, parsed."""

    families: dict
    samples: dict

    @classmethod
    def of(cls, text, content_type):
        is_open = content_type.startswith("application/openmetrics-text")
        parse = parse_open if is_open else parse_text
        families = {family.name: family for family in parse(text.decode())}
        samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families.values()
            for sample in family.samples
        }
        return cls(families, samples)

    def __call__(self, name, **labels):
        """Give a value; nothing where there is no such series."""
        return self.samples.get((name, frozenset(labels.items())))

    def series(self, name):
        """Give the label values of all series of a name."""
        return sorted(
            tuple(sorted(dict(labels).items())) for n, labels in self.samples if n == name
        )


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


def ask(server, path, method="GET", **headers):
    """Send a request, whatever the answer's status is."""
    url = f"http://127.0.0.1:{server.port}{path}"
    request = urllib.request.Request(
        url, method=method, headers={key.replace("_", "-"): value for key, value in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as got:  # noqa: S310 - as above
            return Answer(got.status, dict(got.headers), got.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers), error.read())
