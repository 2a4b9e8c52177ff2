"""What a cluster test stands on: nodes and pods of its own, and a policyd that looks at them.

Everything of a ground has its name: the namespace, the scheduler that its pods ask for, and a label
of its nodes that its pods select. So tests share an API server, and one test's scheduler leaves
alone what another left behind.
"""

from collections import Counter
from contextlib import contextmanager
from threading import Event
from time import monotonic

from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import Daemon, ProfileConfig, RunConfig
from tests.controlplane.api import RefusedError, UnreachableError
from tests.policy.build import node
from tests.shared import ROOT

FIT = ROOT / "rules" / "fit.expr"

PATIENCE = 240.0  # seconds that only a failure needs
_PAUSE = 0.02  # between two looks, to leave the processor to what is looked at


def until(holds):
    """Look again and again until something holds; the time only bounds a failure."""
    end = monotonic() + PATIENCE
    pause = Event()
    while not (found := holds()):
        assert monotonic() < end, "what was waited for did not come"
        pause.wait(_PAUSE)
    return found


def place(pod):
    """Give the node that a pod is on, or nothing."""
    return pod["spec"].get("nodeName")


def condition(pod):
    """Give a pod's condition `PodScheduled`."""
    conditions = pod["status"].get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


def all_placed(pods):
    """Say whether all pods are on a node."""
    return all(map(place, pods.values()))


class Ground:
    """The nodes and pods of one test."""

    def __init__(self, api, name):
        self.api = api
        self.name = name
        self.space = f"/api/v1/namespaces/{name}"
        self.pods = f"{self.space}/pods"
        self.nodes = {}
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def add_node(self, short, labels=None, **amounts):
        """Make a node that is ready; give its name."""
        name = f"{self.name}-{short}"
        made = node(name, {"ground": self.name, **(labels or {})}, **amounts)
        made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        self.api.create("/api/v1/nodes", made)
        self.nodes[name] = made["status"]["allocatable"]
        return name

    def remove_node(self, name):
        """Delete a node."""
        self.api.delete(f"/api/v1/nodes/{name}")
        del self.nodes[name]

    def pod(self, name, cpu="1", scheduler=None, **spec):
        """Give a pod that goes by this ground's scheduler, or another, on this ground's nodes."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        spec = {"nodeSelector": {"ground": self.name}, "containers": [container], **spec}
        spec["schedulerName"] = scheduler or self.name
        return {"metadata": {"name": name}, "spec": spec}

    def add_pod(self, name, cpu="1", scheduler=None, **spec):
        """Make a pod; give it as the server has it."""
        return self.api.create(self.pods, self.pod(name, cpu, scheduler, **spec))

    def add_pods(self, prefix, count, **of_all):
        """Make several pods; give their names."""
        names = [f"{prefix}-{number}" for number in range(count)]
        for name in names:
            self.add_pod(name, **of_all)
        return names

    def remove_pod(self, name):
        """Delete a pod at once."""
        self.api.delete(f"{self.pods}/{name}")

    def wait(self, holds=all_placed):
        """Follow the pods, by name, until something holds of them; give them.

        It goes on where the server was away.
        """
        end = monotonic() + PATIENCE
        while (left := end - monotonic()) > 0:
            try:
                found = self._follow(holds, left)
            except (UnreachableError, RefusedError):
                continue
            if found is not None:
                return found
        raise AssertionError(f"it did not come to hold: {self.summary()}")

    def _follow(self, holds, seconds):
        listed = self.api.get(self.pods)
        found = {pod["metadata"]["name"]: pod for pod in listed["items"]}
        if holds(found):
            return found
        asked = {"resourceVersion": listed["metadata"]["resourceVersion"]}
        for event in self.api.watch(self.pods, **asked, timeoutSeconds=int(seconds) + 1):
            if event["type"] == "ERROR":
                return None
            name = event["object"]["metadata"]["name"]
            if event["type"] == "DELETED":
                found.pop(name, None)
            else:
                found[name] = event["object"]
            if holds(found):
                return found
        return None

    def wait_for(self, *names):
        """Wait until pods are placed; give their nodes."""
        pods = self.wait(lambda pods: all(n in pods and place(pods[n]) for n in names))
        return [place(pods[name]) for name in names]

    def summary(self):
        """Say where the pods are and what the others wait for."""
        pods = self.api.get(self.pods)["items"]
        return Counter(place(pod) or condition(pod).get("message", "waits") for pod in pods)

    def events(self, reason):
        """Give the events of a reason."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.name}/events"
        return [event for event in self.api.get(path)["items"] if event["reason"] == reason]

    def assert_no_node_is_over(self):
        """Hold what the pods of the server ask for to what the nodes have."""
        used = Counter()
        for pod in self.api.get(self.pods)["items"]:
            if place(pod):
                requests = pod["spec"]["containers"][0]["resources"]["requests"]
                used[place(pod)] += int(requests["cpu"])
        for name, cpus in used.items():
            assert cpus <= int(self.nodes[name]["cpu"]), (name, used)
        return used

    def remove_pods(self):
        """Delete all pods, in parts that a busy server has done in time."""
        while self.api.get(self.pods, limit=1)["items"]:
            self.api.delete(self.pods, limit=200)

    def clear(self):
        """Remove what others could meet."""
        self.remove_pods()
        self.api.delete("/api/v1/nodes", labelSelector=f"ground={self.name}")


@contextmanager
def deciding(connection, ground, *rules, configmaps=False):
    """Run a policyd in this process for a ground, by the rules that ship where none are given.

    It ends in order, with everything done that it took.
    """
    paths = tuple(map(str, rules)) or (() if configmaps else (str(FIT),))
    config = RunConfig(
        (ProfileConfig(ground.name, paths),), port=0, awaits=("configmaps",) if configmaps else ()
    )
    kube = KubeConfig(connection, ground.name if configmaps else None)
    daemon = Daemon(config, lambda site: KubeFeed(site, kube))
    daemon.start()
    try:
        until(lambda: daemon.is_ready)
        yield daemon
    finally:
        is_done = daemon.stop(PATIENCE)
    assert is_done
    assert not daemon.threads.silent()
