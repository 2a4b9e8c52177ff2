"""Whether a pod puts up with a node's taint, as the scheduler decides it."""

from collections.abc import Mapping
from typing import Any

from policyd.model.pod import Pod


def tolerates(pod: Pod, taint: Mapping[str, Any]) -> bool:
    """Say whether one of the pod's tolerations matches a taint.

    A toleration without an effect matches every effect; without a key, and with the operator
    `Exists`, every taint. `Exists` matches any value, `Equal` the same one. Other operators match
    nothing: `Gt` and `Lt` are off by default in Kubernetes 1.36. How long a toleration holds
    (`tolerationSeconds`) does not matter for placement.
    """
    return any(_matches(each, taint) for each in pod.tolerations)


def _matches(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration["effect"] not in ("", taint.get("effect", "")):
        return False
    if toleration["key"] not in ("", taint.get("key", "")):
        return False
    if toleration["operator"] == "Exists":
        return True
    same: bool = toleration["value"] == taint.get("value", "")
    return toleration["operator"] == "Equal" and same
