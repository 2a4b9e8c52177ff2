"""Replaces the names in a dump, so that it can be shown to others and still decides the same.

Every text is replaced by another, the same for the same wherever it stands, so that what matched
before matches after. What stays: the keys of labels, taints and resources, amounts, times, numbers,
the API's own words, and the values of labels that Kubernetes and hardware vendors define. What
tells much and decides nothing (commands, environment, addresses, annotations of others) goes.
"""

import re
from collections import Counter
from typing import Any, Final

import msgspec

_DROPPED: Final = frozenset(
    [
        "managedFields",
        "selfLink",
        "resourceVersion",
        "generateName",
        "finalizers",
        "env",
        "envFrom",
        "command",
        "args",
        "workingDir",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "securityContext",
        "imagePullSecrets",
        "hostAliases",
        "dnsConfig",
        "dnsPolicy",
        "hostname",
        "subdomain",
        "message",
        "nodeInfo",
        "addresses",
        "daemonEndpoints",
        "podIP",
        "podIPs",
        "hostIP",
        "hostIPs",
        "podCIDR",
        "podCIDRs",
        "providerID",
        "config",
        "volumesAttached",
        "volumesInUse",
        "runtimeHandlers",
        "features",
        "containerID",
        "imageID",
        "state",
        "lastState",
        "volumeMounts",
        "volumeDevices",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "clusterIP",
        "clusterIPs",
        "externalIPs",
        "externalName",
        "loadBalancer",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
        "ipFamilies",
        "ipFamilyPolicy",
        "parameters",
        "mountOptions",
        "volumeAttributes",
        "tokenRequests",
        "attachmentMetadata",
        "description",
    ]
)
_KEPT: Final = frozenset(
    [
        "apiVersion",
        "kind",
        "operator",
        "effect",
        "type",
        "status",
        "reason",
        "phase",
        "qosClass",
        "restartPolicy",
        "preemptionPolicy",
        "protocol",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "volumeMode",
        "volumeBindingMode",
        "accessModes",
        "persistentVolumeReclaimPolicy",
        "reclaimPolicy",
        "topologyKey",
        "topologyKeys",
        "key",
        "matchLabelKeys",
        "mismatchLabelKeys",
        "schedulerName",
        "provisioner",
        "driver",
        "attacher",
        "creationTimestamp",
        "deletionTimestamp",
        "lastTransitionTime",
        "lastProbeTime",
        "lastHeartbeatTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "timeAdded",
        "conditionType",
        "resourceName",
        "podManagementPolicy",
        "attachRequired",
        "podInfoOnMount",
        "storageCapacity",
        "fsGroupPolicy",
        "volumeLifecycleModes",
    ]
)
_AMOUNTS: Final = frozenset(
    [
        "requests",
        "limits",
        "allocatable",
        "capacity",
        "podFixed",
        "allocatedResources",
        "allocatedResourceStatuses",
        "maximumVolumeSize",
        "sizeLimit",
    ]
)
_BY_KEY: Final = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
"""Maps whose values belong to label keys."""

_CATEGORIES: Final = {
    "nodeName": "node",
    "nominatedNodeName": "node",
    "namespace": "namespace",
    "namespaces": "namespace",
    "uid": "uid",
    "image": "image",
    "names": "image",
    "claimName": "persistentvolumeclaim",
    "volumeName": "persistentvolume",
    "storageClassName": "storageclass",
    "serviceAccountName": "serviceaccount",
    "serviceAccount": "serviceaccount",
    "priorityClassName": "priorityclass",
    "runtimeClassName": "runtimeclass",
}
_WORDS: Final = (
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "system-cluster-critical",
    "system-node-critical",
    "default-scheduler",
)
"""Names that every cluster has."""

_KNOWN_KEYS: Final = re.compile(
    r"(?:(?:beta\.)?kubernetes\.io/(?:arch|os|instance-type)"
    r"|(?:node|topology|failure-domain\.beta)\.kubernetes\.io/.+"
    r"|node-role\.kubernetes\.io/.+|(?:[\w.-]+\.)?nvidia\.com/.+|amd\.com/.+|gpu\.intel\.com/.+"
    r"|karpenter\.sh/capacity-type|policyd\.io/.+)"
)
_ANNOTATIONS: Final = re.compile(r"policyd\.io/.+|pv\.kubernetes\.io/bind-completed")
_NODE_ANNOTATION: Final = "volume.kubernetes.io/selected-node"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_PLAIN_VALUE: Final = re.compile(r"|true|false|-?\d+(?:\.\d+)?")


class Redaction:
    """Texts and what they were replaced by. For one dump."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {word: word for word in _WORDS}
        self._counts: Counter[str] = Counter()

    def redacted(self, data: bytes) -> bytes:
        """Give an object with its names replaced."""
        raw: dict[str, Any] = msgspec.json.decode(data)
        kind = str(raw.get("kind") or "object").lower()
        metadata = raw.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
            self.name(metadata["name"], kind)
        return msgspec.json.encode(self._map(raw))

    def name(self, text: str, category: str = "name") -> str:
        """Give what replaces a text, the same each time."""
        known = self._names.get(text)
        if known is None:
            self._counts[category] += 1
            known = f"{category}-{self._counts[category]}"
            self._names[text] = known
        return known

    def _value(self, field: str, value: Any) -> Any:
        if field in _AMOUNTS or (field in _KEPT and not isinstance(value, dict)):
            return value
        if isinstance(value, dict):
            if field == "annotations":
                return self._annotations(value)
            if field in _BY_KEY and all(isinstance(v, str) for v in value.values()):
                return {key: self._of_key(key, text) for key, text in value.items()}
            return self._map(value)
        if isinstance(value, list):
            return [self._value(field, each) for each in value]
        if isinstance(value, str) and value:
            return self.name(value, _CATEGORIES.get(field, "name"))
        return value

    def _map(self, value: dict[str, Any]) -> dict[str, Any]:
        key = value.get("key")
        made: dict[str, Any] = {}
        for field, inner in value.items():
            if field in _DROPPED:
                continue
            if isinstance(key, str) and field == "value" and isinstance(inner, str):
                made[field] = self._of_key(key, inner)
            elif isinstance(key, str) and field == "values" and isinstance(inner, list):
                made[field] = [self._of_key(key, str(each)) for each in inner]
            else:
                made[field] = self._value(field, inner)
        return made

    def _of_key(self, key: str, text: str) -> str:
        """Replace the value of a label or a taint, unless what it may be is public."""
        if _KNOWN_KEYS.fullmatch(key) or _PLAIN_VALUE.fullmatch(text):
            return text
        return self.name(text, "value")

    def _annotations(self, value: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, text in value.items():
            if _ANNOTATIONS.fullmatch(key):
                made[key] = text
            elif key in (_NODE_ANNOTATION, _CLASS_ANNOTATION) and isinstance(text, str):
                made[key] = self.name(text, "node" if key == _NODE_ANNOTATION else "storageclass")
        return made
