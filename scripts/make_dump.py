"""Write a made-up cluster dump of any size, as `kubectl get nodes,pods,namespaces -A` prints one.

    python scripts/make_dump.py --nodes 5000 --pods 50000 --format yaml -o dump.yaml

The same seed and sizes give the same bytes, and both formats hold the same objects. Pods come
from workloads, as they do in a cluster: those of one workload differ in name, uid, node, times
and addresses, and workloads differ in everything else. Each object is rendered once for its
workload with stand-ins, which are then replaced pod by pod, so that a gigabyte takes seconds.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

Object = dict[str, Any]

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
TEAMS = ("payments", "search", "research", "platform", "media", "risk")
NAMESPACES = 60
PODS_PER_WORKLOAD = 40

# Stand-ins have the shape of what replaces them, so that YAML quotes both alike.
NAME, UID, NODE = "stand-in-name", "stand-in-uid", "stand-in-node"
POD_IP, HOST_IP, HEX = "10.255.255.254", "10.255.255.253", "c0ffee" * 10 + "beef"
CREATED, STARTED = "1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"

# What stands plain in YAML: not empty, not a number, date, bool or null, no special signs.
_PLAIN = re.compile(r"(?!-)[A-Za-z/.][A-Za-z0-9_./@()=;+-]*(?:[: ,][A-Za-z0-9_./@()=;+-]+)*")
_NOT_PLAIN = re.compile(
    r"(?i)~|null|true|false|y|yes|n|no|on|off|\.(?:inf|nan)|[\d.+-][\d_.,:eE+-]*|\S+: .*|0[xob]\w+"
)
_PLAIN_NUMERIC = re.compile(r"\d[\w.-]*[A-Za-df-z][\w.-]*|\d+(?:\.\d+){3}")


def yaml_text(text: str, indent: int) -> str:
    """Give a string as go-yaml writes it after a key or a dash at `indent` spaces."""
    if "\n" in text and not re.search(r"[^\x20-\x7e\n]|\A[\s]|\s\Z(?<!\n)", text):
        pad = " " * (indent + 2)
        body = text.removesuffix("\n")
        mark = "|" if text.endswith("\n") else "|-"
        return mark + "".join(f"\n{pad}{line}" if line else "\n" for line in body.split("\n"))
    if _PLAIN_NUMERIC.fullmatch(text) and not re.match(r"\d{4}-\d", text):
        return text
    if _PLAIN.fullmatch(text) and not _NOT_PLAIN.fullmatch(text):
        return text
    if text.startswith(("{", "[", "*", "%")) and "\\" not in text and "'" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def yaml_lines(value: Any, indent: int) -> Iterator[str]:
    """Give the lines of a non-empty map or list in block style, keys sorted, lists not indented."""
    pad = " " * indent
    if isinstance(value, dict):
        for key, entry in sorted(value.items()):
            name = yaml_text(key, indent)
            if isinstance(entry, dict | list) and entry:
                yield f"{pad}{name}:"
                yield from yaml_lines(entry, indent + (2 if isinstance(entry, dict) else 0))
            else:
                yield f"{pad}{name}: {yaml_scalar(entry, indent)}"
        return
    for entry in value:
        if isinstance(entry, dict | list) and entry:
            lines = yaml_lines(entry, indent + 2)
            yield f"{pad}- {next(lines)[indent + 2 :]}"
            yield from lines
        else:
            yield f"{pad}- {yaml_scalar(entry, indent)}"


def yaml_scalar(value: Any, indent: int) -> str:
    """Give a scalar, or an empty map or list."""
    return yaml_text(value, indent) if isinstance(value, str) else json.dumps(value)


def as_yaml(item: Object) -> str:
    """Give one item of the list as YAML."""
    return "\n".join(yaml_lines([item], 0)) + "\n"


def as_json(item: Object) -> str:
    """Give one item of the list as kubectl indents it, without a comma."""
    text = json.dumps(item, indent=4, sort_keys=True, ensure_ascii=False)
    return "        " + text.replace("\n", "\n        ")


def stamp(seconds: float) -> str:
    """Give a time as RFC 3339, in seconds before the epoch of the dump."""
    return (EPOCH - timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


def uid(rng: random.Random) -> str:
    """Give a random uid."""
    text = f"{rng.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def suffix(rng: random.Random, length: int) -> str:
    """Give a random suffix in the alphabet of generated names."""
    return "".join(rng.choices("bcdfghjklmnpqrstvwxz2456789", k=length))


def namespaces(rng: random.Random) -> Iterator[Object]:
    """Give the namespaces, each with an org label."""
    for number in range(NAMESPACES):
        name = namespace_name(number)
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "creationTimestamp": stamp(rng.uniform(1e6, 6e7)),
                "labels": {"kubernetes.io/metadata.name": name, "org": TEAMS[number % len(TEAMS)]},
                "name": name,
                "resourceVersion": str(rng.randrange(10**8)),
                "uid": uid(rng),
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }


def namespace_name(number: int) -> str:
    """Give the name of a namespace by its number."""
    return "kube-system" if number == 0 else f"{TEAMS[number % len(TEAMS)]}-{number:02d}"


SHAPES = (
    # instance type, CPUs, GiB, GPUs, labels
    ("m6i.2xlarge", 8, 32, 0, {}),
    ("m6i.8xlarge", 32, 128, 0, {}),
    ("c6g.4xlarge", 16, 32, 0, {"kubernetes.io/arch": "arm64"}),
    ("r6i.4xlarge", 16, 128, 0, {"workload-class": "memory"}),
    ("p4d.24xlarge", 96, 1152, 8, {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}),
)


GPU_EVERY = 17
"""Every so many nodes there is one with GPUs."""


def node_name(number: int) -> str:
    """Give the name of a node by its number."""
    high, low = divmod(number, 250)
    return f"ip-10-{high}-{low}-17.eu-west-1.compute.internal"


def node(number: int, rng: random.Random) -> Object:
    """Give one node."""
    *plain, with_gpus = SHAPES
    chosen = rng.choices(plain, weights=(40, 30, 12, 12))[0]
    shape, cpus, gib, gpus, labels = with_gpus if number % GPU_EVERY == 0 else chosen
    name, zone = node_name(number), ZONES[number % len(ZONES)]
    capacity = {
        "cpu": str(cpus),
        "ephemeral-storage": "104845292Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{gib * 1024 * 1024 - rng.randrange(900_000)}Ki",
        "pods": "110",
    } | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    allocatable = capacity | {
        "cpu": f"{cpus * 1000 - 80}m",
        "memory": f"{gib * 1024 * 1024 - 1_400_000}Ki",
        "ephemeral-storage": "95551679124",
    }
    spec: Object = {
        "podCIDR": f"10.{number // 250}.{number % 250}.0/24",
        "providerID": f"aws:///{zone}/i-{rng.getrandbits(68):017x}",
    }
    taints = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "present"}] if gpus else []
    if rng.random() < 0.02:
        spec["unschedulable"] = True
        taints += [
            {
                "effect": "NoSchedule",
                "key": "node.kubernetes.io/unschedulable",
                "timeAdded": stamp(rng.uniform(0, 1e5)),
            }
        ]
    if taints:
        spec["taints"] = taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.aws.com":"i-{number:017x}"}}',
                "node.alpha.kubernetes.io/ttl": "300",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "creationTimestamp": stamp(rng.uniform(1e4, 2e7)),
            "labels": {
                "beta.kubernetes.io/instance-type": shape,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": shape,
                "topology.kubernetes.io/region": zone[:-1],
                "topology.kubernetes.io/zone": zone,
                "topology.ebs.csi.aws.com/zone": zone,
                "pool": rng.choice(("general", "spot", "batch")),
                **labels,
            },
            "name": name,
            "resourceVersion": str(rng.randrange(10**9)),
            "uid": uid(rng),
        },
        "spec": spec,
        "status": {
            "addresses": [
                {"address": f"10.{number // 250}.{number % 250}.17", "type": "InternalIP"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": list(_node_conditions(rng)),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [
                {
                    "names": [f"{name}@sha256:{rng.getrandbits(256):064x}", f"{name}:{tag}"],
                    "sizeBytes": rng.randrange(10**6, 3 * 10**9),
                }
                for name, tag in rng.sample(_images(), 20)
            ],
            "nodeInfo": {
                "architecture": labels.get("kubernetes.io/arch", "amd64"),
                "bootID": uid(rng),
                "containerRuntimeVersion": "containerd://1.7.27",
                "kernelVersion": "6.1.141-155.222.amzn2023.x86_64",
                "kubeletVersion": "v1.36.1-eks-0a1b2c3",
                "machineID": f"{rng.getrandbits(128):032x}",
                "operatingSystem": "linux",
                "osImage": "Amazon Linux 2023.7.20250623",
                "systemUUID": uid(rng),
            },
        },
    }


def _node_conditions(rng: random.Random) -> Iterator[Object]:
    ready = rng.random() > 0.01
    for kind, status, reason, message in (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "sufficient PID available"),
        ("Ready", str(ready), "KubeletReady" if ready else "KubeletNotReady", "posting status"),
    ):
        yield {
            "lastHeartbeatTime": stamp(rng.uniform(0, 300)),
            "lastTransitionTime": stamp(rng.uniform(1e4, 1e6)),
            "message": f"kubelet has {message}",
            "reason": reason,
            "status": status,
            "type": kind,
        }


@lru_cache
def _images() -> list[tuple[str, str]]:
    rng = random.Random(7)  # noqa: S311 - made-up data, not a secret
    words = ("api", "worker", "proxy", "cache", "etl", "train", "gateway", "agent", "exporter")
    return [
        (f"registry.example.com/{team}/{word}-{number}", f"v{rng.randrange(9)}.{rng.randrange(40)}")
        for team in TEAMS
        for word in words
        for number in range(4)
    ]


def container(name: str, rng: random.Random, *, gpus: int = 0) -> Object:
    """Give one container of a workload's template."""
    image, tag = rng.choice(_images())
    cpu = rng.choice(("50m", "100m", "250m", "500m", "1", "1500m", "2"))
    memory = rng.choice(("64Mi", "128Mi", "256Mi", "512Mi", "1Gi", "1500M", "4Gi"))
    requests = {"cpu": cpu, "memory": memory}
    limits = {"memory": memory} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    made: Object = {
        "image": f"{image}:{tag}",
        "imagePullPolicy": "IfNotPresent",
        "name": name,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "name": "kube-api-access-x7k2p",
                "readOnly": True,
            }
        ],
        "resources": rng.choice(
            (
                {"limits": limits, "requests": requests},
                {"limits": limits, "requests": requests},
                {"limits": limits},
                {"requests": requests} if not gpus else {"limits": limits},
                {} if not gpus else {"limits": limits},
            )
        ),
    }
    if rng.random() < 0.6:
        made["args"] = [
            f"--workers={rng.randrange(1, 32)}",
            "--log-level=info",
            rng.choice(("--config=/etc/app/config.yaml", "--mode=fast", "-v", "--seed=0x1f")),
        ]
    if rng.random() < 0.7:
        made["env"] = [
            {"name": f"SETTING_{index}", "value": rng.choice(ENV_VALUES)}
            for index in range(rng.randrange(1, 9))
        ] + [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {
                "name": "TOKEN",
                "valueFrom": {"secretKeyRef": {"key": "token", "name": f"{name}-secret"}},
            },
        ]
    if rng.random() < 0.5:
        port = rng.choice((8080, 8443, 9090, 9100))
        made["ports"] = [{"containerPort": port, "name": "http", "protocol": "TCP"}]
        made["readinessProbe"] = {
            "failureThreshold": 3,
            "httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"},
            "periodSeconds": 10,
            "successThreshold": 1,
            "timeoutSeconds": 1,
        }
    return made


ENV_VALUES = (
    "true",
    "8080",
    "0.25",
    "production",
    "http://upstream.default.svc.cluster.local:8080/v1?mode=fast&x=1",
    "",
    "yes",
    "2026-01-01",
    '{"level": "info", "targets": ["a", "b"]}',
    "10s",
    "1e3",
    "Straße 7, München",
    "select *\n  from events\n where day = '2026-01-01'\n",
)

KINDS = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"))


def workload(number: int, rng: random.Random) -> Object:
    """Give the pod of one workload, with stand-ins for what differs between its pods."""
    app, team = f"{rng.choice(('api', 'worker', 'etl', 'train'))}-{number}", rng.choice(TEAMS)
    gpus = rng.choices((0, 1, 4), weights=(196, 3, 1))[0]
    version, kind = rng.choice((*KINDS, KINDS[0], KINDS[0], ("batch/v1", "Job")))
    containers = [
        container(name, rng, gpus=gpus if not index else 0)
        for index, name in enumerate(("main", "proxy", "logs")[: rng.choice((1, 1, 1, 2, 2, 3))])
    ]
    spec: Object = {
        "containers": containers,
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": NODE,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": rng.choice((0, 0, 0, 1000, 100000)),
        "restartPolicy": "Never" if kind == "Job" else "Always",
        "schedulerName": "default-scheduler",
        "securityContext": rng.choice(({}, {"runAsUser": 1000, "fsGroup": 2000})),
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": _tolerations(rng, gpus),
        "volumes": [_token_volume()],
    }
    _vary(spec, app, rng)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {
                "checksum/config": f"{rng.getrandbits(256):064x}",
                "prometheus.io/port": "9090",
                "prometheus.io/scrape": "true",
            },
            "creationTimestamp": CREATED,
            "generateName": f"{app}-",
            "labels": {
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/version": f"1.{rng.randrange(30)}",
                "pod-template-hash": suffix(rng, 10),
                "team": team,
            },
            "name": NAME,
            "namespace": namespace_name(number % NAMESPACES),
            "ownerReferences": [
                {
                    "apiVersion": version,
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": kind,
                    "name": f"{app}-{suffix(rng, 10)}",
                    "uid": uid(rng),
                }
            ],
            "resourceVersion": str(rng.randrange(10**9)),
            "uid": UID,
        },
        "spec": spec,
        "status": _status(containers, rng),
    }


def _vary(spec: Object, app: str, rng: random.Random) -> None:
    if rng.random() < 0.25:
        spec["initContainers"] = [container("setup", rng)]
        if rng.random() < 0.4:
            spec["initContainers"].append(container("mesh", rng) | {"restartPolicy": "Always"})
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"kubernetes.io/os": "linux", "pool": "general"}
    if rng.random() < 0.2:
        spec["topologySpreadConstraints"] = [
            {
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            }
        ]
    if rng.random() < 0.15:
        spec["affinity"] = {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "podAffinityTerm": {
                            "labelSelector": {
                                "matchExpressions": [
                                    {
                                        "key": "app.kubernetes.io/name",
                                        "operator": "In",
                                        "values": [app],
                                    }
                                ]
                            },
                            "topologyKey": "kubernetes.io/hostname",
                        },
                        "weight": 100,
                    }
                ]
            }
        }


def _tolerations(rng: random.Random, gpus: int) -> list[Object]:
    made: list[Object] = [
        {
            "effect": "NoExecute",
            "key": f"node.kubernetes.io/{what}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for what in ("not-ready", "unreachable")
    ]
    if gpus:
        made.append({"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"})
    if rng.random() < 0.05:
        made.append({"operator": "Exists"})
    return made


def _token_volume() -> Object:
    return {
        "name": "kube-api-access-x7k2p",
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {
                    "configMap": {
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        "name": "kube-root-ca.crt",
                    }
                },
            ],
        },
    }


def _status(containers: list[Object], rng: random.Random) -> Object:
    return {
        "conditions": [
            {
                "lastProbeTime": None,
                "lastTransitionTime": STARTED,
                "status": "True",
                "type": kind,
            }
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "containerID": f"containerd://{HEX}",
                "image": entry["image"],
                "imageID": f"{entry['image'].split(':')[0]}@sha256:{rng.getrandbits(256):064x}",
                "lastState": {},
                "name": entry["name"],
                "ready": True,
                "restartCount": rng.choice((0, 0, 0, 1, 7)),
                "started": True,
                "state": {"running": {"startedAt": STARTED}},
            }
            for entry in containers
        ],
        "hostIP": HOST_IP,
        "phase": "Running",
        "podIP": POD_IP,
        "podIPs": [{"ip": POD_IP}],
        "qosClass": "Burstable",
        "startTime": CREATED,
    }


def finished(pod: Object, phase: str) -> Object:
    """Give the same pod as it looks after it ran."""
    return pod | {"status": {"phase": phase, "qosClass": "Burstable", "startTime": CREATED}}


def waiting(pod: Object) -> Object:
    """Give the same pod as it looks before it is scheduled."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    condition = {
        "lastProbeTime": None,
        "lastTransitionTime": STARTED,
        "message": "0/5000 nodes are available: 4100 Insufficient cpu, 900 node(s) had untolerated "
        "taint(s). preemption: 0/5000 nodes are available.",
        "reason": "Unschedulable",
        "status": "False",
        "type": "PodScheduled",
    }
    return pod | {
        "spec": spec,
        "status": {"conditions": [condition], "phase": "Pending", "qosClass": "Burstable"},
    }


def pods(
    count: int, nodes: int, rng: random.Random, render: Callable[[Object], str]
) -> Iterator[str]:
    """Give the text of each pod."""
    for number in range(0, count, PODS_PER_WORKLOAD):
        template = workload(number // PODS_PER_WORKLOAD, rng)
        running = render(template)
        others = (
            render(finished(template, "Succeeded")),
            render(finished(template, "Failed")),
            render(waiting(template)),
        )
        for _ in range(min(PODS_PER_WORKLOAD, count - number)):
            text = running if rng.random() < 0.93 else rng.choice(others)
            host = rng.randrange(max(nodes, 1))
            if "nvidia.com/gpu" in text:
                host -= host % GPU_EVERY
            yield _fill(text, template["metadata"]["generateName"], host, rng)


def _fill(text: str, generate_name: str, number: int, rng: random.Random) -> str:
    created = rng.uniform(100, 5e6)
    for stand_in, value in (
        (NAME, f"{generate_name}{suffix(rng, 10)}"),
        (UID, f"p{uid(rng)[1:]}"),
        (NODE, node_name(number)),
        (HEX, f"{rng.getrandbits(256):064x}"),
        (POD_IP, f"100.{rng.randrange(64, 128)}.{rng.randrange(250)}.{rng.randrange(250)}"),
        (HOST_IP, f"10.{number // 250}.{number % 250}.17"),
        (CREATED, stamp(created)),
        (STARTED, stamp(created - 9)),
    ):
        text = text.replace(stand_in, value)
    return text


def write_dump(out: TextIO, *, nodes: int, pods_: int, form: str, seed: int = 1) -> None:
    """Write the dump as one List in `form`, "json" or "yaml"."""
    rng = random.Random(seed)  # noqa: S311 - made-up data, not a secret
    render = as_json if form == "json" else as_yaml
    items = chain(
        (render(node(number, rng)) for number in range(nodes)),
        pods(pods_, nodes, rng, render),
        map(render, namespaces(rng)),
    )
    if form == "yaml":
        out.write("apiVersion: v1\nitems:\n")
        out.writelines(items)
        out.write('kind: List\nmetadata:\n  resourceVersion: ""\n')
        return
    out.write('{\n    "apiVersion": "v1",\n    "items": [\n')
    out.writelines(",\n" + item if index else item for index, item in enumerate(items))
    out.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n')
    out.write("    }\n}\n")


def main() -> None:
    """Read the command line and write the dump."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--format", choices=("json", "yaml"), default="json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    out = args.output.open("w", encoding="utf-8") if args.output else sys.stdout
    with out:
        write_dump(out, nodes=args.nodes, pods_=args.pods, form=args.format, seed=args.seed)


if __name__ == "__main__":
    main()
