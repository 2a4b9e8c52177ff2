"""Random placement scenarios, far from those of the reference: what is odd is drawn often.

Odd quantities, absent and empty fields, label values that no label can have, constraints that
overlap, claims that are bound, half bound, lost or another pod's. All is drawn from one source of
randomness, so that Hypothesis can shrink a scenario.
"""

from random import Random
from typing import Any, Final

Json = dict[str, Any]

KEYS: Final = (
    "zone",
    "rack",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "gen",
)
VALUES: Final = ("a", "b", "c", "", "7", "-3", "007")
APPS: Final = ("web", "db", "x", "")
NAMESPACES: Final = ("default", "prod", "dev", "ghost")
DRIVERS: Final = ("csi.a", "csi.b")
CLASSES: Final = ("fast", "slow", "hand", "topo")
IMAGES: Final = ("i:latest", "i:1", "reg.io:5000/i:latest", "reg/x:2", "i@sha256:abc", "y:latest")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
AMOUNTS: Final = {
    "cpu": ("0", "1", "100m", "1500m", "0.1", "2", "333m", "1m", "4", "7"),
    "memory": ("0", "1", "128Mi", "1Gi", "1G", "3Gi", "1e9", "123456789", "10Gi", "500M"),
    "ephemeral-storage": ("1Gi", "20Gi", "0"),
    "nvidia.com/gpu": ("1", "2", "0"),
    "hugepages-2Mi": ("2Mi", "10Mi"),
}
OFTEN: Final = {"cpu": 0.7, "memory": 0.7, "hugepages-2Mi": 0.05}


class Drawing:
    """Draws scenarios; `plain` ones have a pod that resources and nodes rarely reject."""

    def __init__(self, source: Random) -> None:
        self.source = source
        self.plain = self.maybe(0.5)
        self.crowded = not self.plain and self.maybe(0.3)

    def maybe(self, chance: float) -> bool:
        return self.source.random() < chance

    def one(self, values):
        return self.source.choice(list(values))

    def some(self, values, most):
        return self.source.sample(list(values), self.source.randint(1, most))

    def many(self, make, most, least=1):
        return [make() for _ in range(self.source.randint(least, most))]

    def scenario(self, name: str) -> Json:
        count = self.source.randint(1, 7)
        namespaces = NAMESPACES[:3]
        return {
            "id": name,
            "nodes": [self.node(at) for at in range(count)],
            "pods": [
                self.pod(f"b{at}", on=f"n{self.source.randint(0, count)}")
                for at in range(self.source.randint(0, 10))
            ],
            "pod": self.owned(self.pod("pending")),
            "namespaces": [
                {"metadata": {"name": each, "labels": self.namespace_labels(each)}}
                for each in namespaces
            ],
            **self.storage(count),
            **self.owners(),
        }

    def namespace_labels(self, name: str) -> Json:
        labels = {"kubernetes.io/metadata.name": name}
        return labels if name == "default" else labels | {"env": name}

    # --- selectors ---

    def labels(self, chance=0.7) -> Json:
        return {key: self.one(APPS) for key in ("app", "tier") if self.maybe(chance)}

    def selector(self) -> Json | None:
        kind = self.source.random()
        if kind < 0.16:
            return {} if kind < 0.08 else None
        made: Json = {"matchLabels": self.labels(0.5)} if self.maybe(0.6) else {}
        if self.maybe(0.5):
            keys = ("app", "tier", "zz")
            made["matchExpressions"] = self.many(lambda: self.expression(keys, APPS), 2)
        return made

    def expression(self, keys, values) -> Json:
        operator = self.one(("In", "NotIn", "Exists", "DoesNotExist"))
        made: Json = {"key": self.one(keys), "operator": operator}
        if operator in ("In", "NotIn"):
            made["values"] = self.some(values, 2)
        return made

    def node_expression(self) -> Json:
        if self.maybe(0.3):
            numbers = ("1", "-5", "7", "x", "9223372036854775808", "+2")
            return {"key": "gen", "operator": self.one(("Gt", "Lt")), "values": [self.one(numbers)]}
        return self.expression(KEYS, VALUES[:4] if self.plain else VALUES)

    def node_name(self) -> Json:
        operator = self.one(("In", "In", "NotIn"))
        name = f"n{self.source.randint(0, 7)}"
        return {"key": "metadata.name", "operator": operator, "values": [name]}

    def node_term(self) -> Json:
        made: Json = {}
        if self.maybe(0.8):
            made["matchExpressions"] = self.many(self.node_expression, 2)
        if self.maybe(0.2):
            made["matchFields"] = self.many(self.node_name, 2)
        return made

    # --- pods ---

    def pod(self, name: str, on: str = "") -> Json:
        spaces = ("default",) if self.plain and self.maybe(0.8) else NAMESPACES[: 3 if on else 4]
        metadata: Json = {"name": name, "namespace": self.one(spaces), "uid": f"uid-{name}"}
        if self.maybe(0.95):
            metadata["labels"] = self.labels()
        spec: Json = {"schedulerName": "default-scheduler", "restartPolicy": "Always"}
        spec["containers"] = [self.container(at, on) for at in range(self.source.randint(1, 3))]
        if self.maybe(0.3) and (on or not self.plain):
            spec["initContainers"] = [self.init_container(at) for at in (10, 11)]
        if self.maybe(0.15) and (on or not self.plain):
            spec["overhead"] = self.amounts()
        if self.maybe(0.12) and (on or not self.plain):
            asked = {k: v for k, v in self.amounts().items() if k in ("cpu", "memory")}
            spec["resources"] = {"requests": asked}
        if self.maybe(0.3):
            spec["affinity"] = self.affinity(on)
        if self.maybe(0.5):
            spec["volumes"] = [self.volume(at) for at in range(self.source.randint(1, 3))]
        if on:
            return self.bound({"metadata": metadata, "spec": spec}, on)
        self.demands(spec)
        return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}

    def bound(self, pod: Json, on: str) -> Json:
        spec = pod["spec"]
        spec["nodeName"] = on
        status: Json = {
            "phase": "Running" if self.maybe(0.97) else self.one(("Succeeded", "Failed"))
        }
        if self.maybe(0.08):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if self.maybe(0.1):
            reported = {"image": "i", "imageID": "", "ready": True, "restartCount": 0}
            status["containerStatuses"] = [
                {
                    **reported,
                    "name": each["name"],
                    "resources": {"requests": self.amounts()},
                    "allocatedResources": self.amounts(),
                }
                for each in spec["containers"]
            ]
            if self.maybe(0.4):
                reason = self.one(("Infeasible", "Deferred"))
                pending = {"type": "PodResizePending", "status": "True", "reason": reason}
                status["conditions"] = [pending]
        return {**pod, "status": status}

    def demands(self, spec: Json) -> None:
        if self.plain:
            spec["tolerations"] = [{"operator": "Exists"}]
        elif self.maybe(0.4):
            spec["tolerations"] = self.many(self.toleration, 3)
        if self.maybe(0.4):
            spec["topologySpreadConstraints"] = self.many(self.spread, 3)
        if not self.plain and self.maybe(0.2):
            spec["nodeSelector"] = {self.one(KEYS): self.one(VALUES)}
        if self.maybe(0.05):
            spec["hostNetwork"] = True
            spec["hostUsers"] = False
        if self.maybe(0.03):
            rule = {
                "action": "RestartAllContainers",
                "exitCodes": {"operator": "In", "values": [1]},
            }
            spec["containers"][0]["restartPolicyRules"] = [rule]

    def owned(self, pod: Json) -> Json:
        if self.maybe(0.4):
            kinds = (("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1"))
            more = (("ReplicationController", "v1"), ("ReplicaSet", "extensions/v1beta1"))
            kind, version = self.one((*kinds, *more))
            owner = {"apiVersion": version, "kind": kind, "name": "o", "uid": "o"}
            pod["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        return pod

    def amounts(self) -> Json:
        return {
            name: self.one(values)
            for name, values in AMOUNTS.items()
            if self.maybe(OFTEN.get(name, 0.15))
        }

    def container(self, at: int, on: str = "on") -> Json:
        images = ("i", "i:1", "reg.io:5000/i", "reg/x:2", "i@sha256:abc", "y:latest")
        made: Json = {"name": f"c{at}", "image": self.one(images), "resources": {}}
        if self.plain and not on:
            return made | {"resources": {"requests": {"cpu": "1m"}}}
        if self.maybe(0.85):
            made["resources"]["requests"] = self.amounts()
        if self.maybe(0.2):
            made["ports"] = self.many(self.port, 2)
        return made

    def init_container(self, at: int) -> Json:
        made = self.container(at)
        if self.maybe(0.5):
            return made | {"restartPolicy": "Always"}
        made.pop("ports", None)
        return made

    def port(self) -> Json:
        made = {"containerPort": 80, "hostPort": self.one((80, 81, 0, 8080))}
        made["protocol"] = self.one(("TCP", "UDP"))
        if self.maybe(0.5):
            made["hostIP"] = self.one(("127.0.0.1", "0.0.0.0", "::", "10.0.0.1"))  # noqa: S104 - the API's default
        return made

    def toleration(self) -> Json:
        made: Json = {}
        if self.maybe(0.8):
            made["key"] = self.one(("t1", "t2", "node.kubernetes.io/unschedulable"))
        if "key" not in made or self.maybe(0.5):
            made["operator"] = "Exists"
        elif self.maybe(0.7):
            made["value"] = self.one(("v", "w", ""))
        if self.maybe(0.5):
            made["effect"] = self.one(("NoSchedule", "PreferNoSchedule", "NoExecute"))
        return made

    def spread(self) -> Json:
        when = self.one(("DoNotSchedule", "ScheduleAnyway"))
        made: Json = {"maxSkew": self.source.randint(1, 3), "topologyKey": self.one(KEYS[:4])}
        made["whenUnsatisfiable"] = when
        if (selector := self.selector()) is not None:
            made["labelSelector"] = selector
        if self.maybe(0.3) and when == "DoNotSchedule":
            made["minDomains"] = self.source.randint(1, 4)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self.maybe(0.4):
                made[policy] = self.one(("Honor", "Ignore"))
        if self.maybe(0.2):
            made["matchLabelKeys"] = ["tier"]
        return made

    def affinity(self, on: str) -> Json:
        made: Json = {
            kind: self.pod_affinity()
            for kind in ("podAffinity", "podAntiAffinity")
            if self.maybe(0.5)
        }
        if not on and not self.plain and self.maybe(0.6):
            made["nodeAffinity"] = self.node_affinity()
        return made

    def pod_affinity(self) -> Json:
        made: Json = {}
        if self.maybe(0.4):
            made[REQUIRED] = self.many(self.term, 2)
        if self.maybe(0.5):
            made[PREFERRED] = self.many(
                lambda: {"weight": self.source.randint(1, 100), "podAffinityTerm": self.term()}, 2
            )
        return made

    def term(self) -> Json:
        made: Json = {"topologyKey": self.one(KEYS)}
        if (selector := self.selector()) is not None:
            made["labelSelector"] = selector
        if self.maybe(0.5):
            keys, values = ("env", "kubernetes.io/metadata.name"), ("prod", "dev", "default")
            expressions = [self.expression(keys, values)] if self.maybe(0.8) else []
            made["namespaceSelector"] = {"matchExpressions": expressions} if expressions else {}
        if self.maybe(0.3):
            made["namespaces"] = self.some(NAMESPACES, 2)
        return made

    def node_affinity(self) -> Json:
        made: Json = {}
        if self.maybe(0.5):
            made[REQUIRED] = {"nodeSelectorTerms": self.many(self.node_term, 3)}
        if self.maybe(0.6):
            made[PREFERRED] = self.many(
                lambda: {"weight": self.source.randint(1, 100), "preference": self.node_term()}, 3
            )
        return made

    def volume(self, at: int) -> Json:
        kind = self.source.random()
        if kind < 0.62:
            source: Json = {"persistentVolumeClaim": {"claimName": f"c{self.source.randint(0, 7)}"}}
        elif kind < 0.66:
            asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
            source = {"ephemeral": {"volumeClaimTemplate": {"spec": asked}}}
        elif kind < 0.75:
            disk = {"pdName": self.one(("d1", "d2")), "readOnly": self.maybe(0.5)}
            source = {"gcePersistentDisk": disk}
        elif kind < 0.84:
            source = {"awsElasticBlockStore": {"volumeID": self.one(("e1", "e2"))}}
        elif kind < 0.92:
            target = {"targetPortal": "1.2.3.4", "lun": self.source.randint(0, 1)}
            source = {
                "iscsi": {**target, "iqn": self.one(("q1", "q2")), "readOnly": self.maybe(0.5)}
            }
        else:
            image = {"image": self.one(("im", "in")), "pool": "rbd", "readOnly": self.maybe(0.5)}
            source = {"rbd": {**image, "monitors": self.some(("m1", "m2", "m3"), 2)}}
        return {"name": f"v{at}", **source}

    # --- nodes ---

    def node(self, at: int) -> Json:
        labels = {
            key: self.one(VALUES if key == "gen" else VALUES[:4])
            for key in KEYS
            if self.maybe(0.75)
        }
        if self.maybe(0.8):
            labels["kubernetes.io/hostname"] = f"n{at}"
        spec: Json = {}
        if self.maybe(0.3 if self.crowded else 0.1):
            spec["taints"] = [self.taint(key) for key in self.some(("t1", "t2", "t3"), 3)]
        if self.maybe(0.08):
            spec["unschedulable"] = True
        amounts = self.allocatable()
        status: Json = {"allocatable": amounts, "capacity": amounts}
        if self.maybe(0.4):
            status["images"] = self.many(self.image, 3)
        if self.maybe(0.2):
            known = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
            status["declaredFeatures"] = sorted(self.some((*known, "Zed"), 3))
        metadata = {"name": f"n{at}", "uid": f"node-{at}", "labels": labels}
        return {"metadata": metadata, "spec": spec, "status": status}

    def taint(self, key: str) -> Json:
        effects = ("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")
        return {"key": key, "value": self.one(("v", "w", "")), "effect": self.one(effects)}

    def image(self) -> Json:
        sizes = (1, 25 * 2**20, 100 * 2**20, 999_999_999, 2**33)
        return {"names": self.some(IMAGES, 3), "sizeBytes": self.one(sizes)}

    def allocatable(self) -> Json:
        if not self.crowded:
            made = {"cpu": self.one(("8", "32")), "memory": "64Gi", "pods": "110"}
        else:
            made = {"cpu": self.one(("4", "500m", "0")), "memory": self.one(("4Gi", "8G", "0"))}
            made["pods"] = self.one(("110", "3", "0"))
        for name, value in (("ephemeral-storage", "50Gi"), ("hugepages-2Mi", "10Mi")):
            if self.maybe(0.4):
                made[name] = value
        if self.maybe(0.3):
            made["nvidia.com/gpu"] = self.one(("2", "4", "0"))
        return made

    # --- storage ---

    def storage(self, count: int) -> Json:
        claims = [self.claim(at, count) for at in range(8) if self.maybe(0.95)]
        return {
            "storageClasses": self.classes(),
            "pvcs": claims,
            "pvs": [self.persistent(at, claims) for at in range(10) if self.maybe(0.9)],
            "csiNodes": [self.csi_node(at) for at in range(count) if self.maybe(0.8)],
            "csiDrivers": [
                {"metadata": {"name": name}, "spec": {"storageCapacity": self.maybe(0.6)}}
                for name in DRIVERS
                if self.maybe(0.8)
            ],
            "csiStorageCapacities": [self.capacity(at) for at in range(self.source.randint(0, 4))],
            "volumeAttachments": [
                self.attachment(at, count) for at in range(self.source.randint(0, 5))
            ],
        }

    def classes(self) -> list[Json]:
        late = {"volumeBindingMode": "WaitForFirstConsumer"}
        topologies = self.many(
            lambda: {
                "matchLabelExpressions": [{"key": self.one(KEYS), "values": self.some("abc", 2)}]
            },
            2,
        )
        return [
            {"metadata": {"name": "fast"}, "provisioner": "csi.a", **late},
            {"metadata": {"name": "slow"}, "provisioner": "csi.b", **late},
            {"metadata": {"name": "hand"}, "provisioner": "kubernetes.io/no-provisioner", **late},
            {
                "metadata": {"name": "topo"},
                "provisioner": "csi.a",
                "allowedTopologies": topologies,
                **late,
            },
            {
                "metadata": {"name": "soon"},
                "provisioner": "csi.a",
                "volumeBindingMode": "Immediate",
            },
        ]

    def claim(self, at: int, count: int) -> Json:
        space = "default" if self.maybe(0.9) else self.one(NAMESPACES)
        metadata: Json = {"name": f"c{at}", "namespace": space, "uid": f"c-{at}"}
        modes = (["ReadWriteOnce"], ["ReadWriteOncePod"], ["ReadWriteMany", "ReadWriteOnce"])
        spec: Json = {"accessModes": self.one(modes), "volumeMode": self.mode()}
        spec["resources"] = {"requests": {"storage": self.one(("1Gi", "5Gi", "10Gi"))}}
        if self.maybe(0.97):
            named = CLASSES if self.maybe(0.93) else ("soon", "gone", "")
            spec["storageClassName"] = self.one(named)
        phase = "Pending"
        if self.maybe(0.45):
            spec["volumeName"] = f"v{self.source.randint(0, 9)}"
            if self.maybe(0.9):
                metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
                phase = "Bound"
        elif self.maybe(0.1):
            name = f"n{self.source.randint(0, count)}"
            metadata["annotations"] = {"volume.kubernetes.io/selected-node": name}
        if self.maybe(0.15):
            spec["selector"] = {"matchLabels": {"k": self.one("12")}}
        if self.maybe(0.03):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        phase = "Lost" if self.maybe(0.03) else phase
        return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}

    def mode(self) -> str:
        return "Filesystem" if self.maybe(0.9) else "Block"

    def persistent(self, at: int, claims: list[Json]) -> Json:
        labels = {
            key: self.one(("a", "b", "a__b", "a__b__c", "", "a__ "))
            for key in KEYS[3:6]
            if self.maybe(0.2)
        }
        if self.maybe(0.3):
            labels["k"] = self.one("12")
        spec: Json = {
            "capacity": {"storage": self.one(("1Gi", "5Gi", "10Gi", "100Gi"))},
            "accessModes": self.one((["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"])),
            "storageClassName": self.one(CLASSES),
            "volumeMode": self.mode(),
        }
        if self.maybe(0.5):
            spec["csi"] = {"driver": self.one(DRIVERS), "volumeHandle": self.one((f"h{at}", "x"))}
        if self.maybe(0.4):
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": self.many(self.node_term, 2)}}
        if self.maybe(0.2) and claims:
            spec["claimRef"] = self.reference(self.one(claims)["metadata"])
        phase = self.one(("Available", "Available", "Available", "Bound", "Released"))
        metadata = {"name": f"v{at}", "uid": f"v-{at}", "labels": labels}
        return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}

    def reference(self, claim: Json) -> Json:
        made = {"kind": "PersistentVolumeClaim", "name": claim["name"]}
        made["namespace"] = claim["namespace"]
        if self.maybe(0.7):
            made["uid"] = claim["uid"] if self.maybe(0.8) else "other"
        return made

    def csi_node(self, at: int) -> Json:
        drivers: list[Json] = []
        for name in DRIVERS:
            if self.maybe(0.8):
                drivers.append({"name": name, "nodeID": "x"})
                if self.maybe(0.8):
                    drivers[-1]["allocatable"] = {"count": self.source.randint(0, 3)}
        return {"metadata": {"name": f"n{at}"}, "spec": {"drivers": drivers}}

    def capacity(self, at: int) -> Json:
        made: Json = {"metadata": {"name": f"cap{at}", "namespace": "default"}}
        made["storageClassName"] = self.one(CLASSES)
        if self.maybe(0.85):
            chosen = {"matchLabels": {self.one(KEYS): self.one("ab")}}
            made["nodeTopology"] = chosen if self.maybe(0.6) else {}
        if self.maybe(0.85):
            made["capacity"] = self.one(("1Gi", "5Gi", "50Gi"))
        if self.maybe(0.3):
            made["maximumVolumeSize"] = self.one(("1Gi", "10Gi"))
        return made

    def attachment(self, at: int, count: int) -> Json:
        spec = {"attacher": self.one(DRIVERS), "nodeName": f"n{self.source.randint(0, count - 1)}"}
        spec["source"] = {"persistentVolumeName": f"v{self.source.randint(0, 9)}"}
        return {"metadata": {"name": f"va{at}"}, "spec": spec, "status": {"attached": True}}

    # --- what selects pods ---

    def owners(self) -> Json:
        template = {"metadata": {}, "spec": {"containers": []}}

        def each(make):
            return [
                {"metadata": {"name": "o", "namespace": space}, "spec": make()}
                for space in NAMESPACES
                if self.maybe(0.5)
            ]

        return {
            "services": [
                {
                    "metadata": {"name": f"s{at}", "namespace": self.one(NAMESPACES)},
                    "spec": {"selector": self.labels(0.5)} if self.maybe(0.8) else {},
                }
                for at in range(self.source.randint(0, 2))
            ],
            "replicaSets": each(
                lambda: {"selector": {"matchLabels": self.labels()}, "template": template}
            ),
            "statefulSets": each(lambda: {"selector": self.selector() or {}, "template": template}),
            "replicationControllers": each(
                lambda: {"selector": self.labels(), "template": template}
            ),
        }
