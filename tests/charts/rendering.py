"""The chart, and helm as the tests call it: what it renders, refuses and installs."""

import subprocess
from pathlib import Path

import yaml

from tests.shared import ROOT

CHART = ROOT / "charts" / "policyd"
NAMESPACE = "policyd"

MONITORED = {
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "pendingPods": 250, "p99Seconds": 0.5},
    "dashboard": {"enabled": True, "annotations": {"folder": "Scheduling"}},
}
SPARSE = {
    "replicas": 1,
    "debug": False,
    "rbac": {"storage": False, "owners": False},
    "rules": {"shipped": ["fit.expr"], "namespace": "rules"},
    "podDisruptionBudget": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "priorityClassName": "",
    "serviceAccount": {"create": False, "name": "given"},
}
FULL = {
    "image": {"repository": "images/policyd", "digest": f"sha256:{'a' * 64}"},
    "imagePullSecrets": [{"name": "pull"}],
    "replicas": 3,
    "schedulerName": "batch",
    "rules": {
        "shipped": ["fit.expr", "headroom.expr"],
        "files": {"fit.expr": 'rule "other" { require node.ready }'},
    },
    "profiles": [
        {"name": "gpu", "shipped": ["fit.expr", "gpu.expr"]},
        {"name": "own", "files": {"a.expr": 'rule "a" { require true }'}},
        {"name": "elsewhere"},
    ],
    "parameters": {"reserve": 0.2, "resource": "example.com/gpu"},
    "workers": 2,
    "deadline": "1s",
    "logLevel": "debug",
    "bindAddress": "::",
    "port": 8080,
    "extraArgs": ["--workers=3"],
    "env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
    "serviceAccount": {"annotations": {"a": "b"}},
    "podAnnotations": {"a": "1"},
    "podLabels": {"team": "infra"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "spread": "DoNotSchedule",
    "service": {"type": "NodePort", "annotations": {"a": "b"}},
    "networkPolicy": {"from": [], "egress": [{"ports": [{"port": 4318}]}]},
    **MONITORED,
}
VALUE_SETS = {"default": {}, "monitored": MONITORED, "sparse": SPARSE, "full": FULL}


class Helm:
    """The program, with a home of its own and, where there is one, a cluster."""

    def __init__(self, program: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self._program = program
        self._home = home
        self._kubeconfig = kubeconfig

    def call(self, *arguments) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self._home)}
        if self._kubeconfig:
            environment["KUBECONFIG"] = str(self._kubeconfig)
        command = [self._program, *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def run(self, *arguments) -> str:
        done = self.call(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def values(self, values) -> Path:
        """Write values into a file for `--values`."""
        path = self._home / f"values-{len(list(self._home.glob('values-*')))}.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        return path

    def render(self, values=None, *, release="policyd", namespace=NAMESPACE):
        """Give the objects that a release would have."""
        file = self.values(values or {})
        text = self.run("template", release, CHART, "-n", namespace, "--values", file)
        return [made for made in yaml.safe_load_all(text) if made]

    def refusal(self, values) -> str:
        """Give why values are refused."""
        done = self.call("template", "policyd", CHART, "--values", self.values(values))
        assert done.returncode != 0, f"these were accepted: {values}"
        return done.stderr


def of_kind(objects, kind):
    return [made for made in objects if made["kind"] == kind]


def one(objects, kind):
    (found,) = of_kind(objects, kind)
    return found


def container(objects):
    """Give policyd's container of the Deployment."""
    (found,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return found


def permissions(objects):
    """Give what is granted: (group, resource, verb), and where: a namespace, or all for None."""
    for role in (*of_kind(objects, "ClusterRole"), *of_kind(objects, "Role")):
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield group, resource, verb, role["metadata"].get("namespace")
