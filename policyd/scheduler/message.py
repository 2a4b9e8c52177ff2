"""The sentence that tells why a pod fits nowhere, in kube-scheduler's shape."""

from collections import Counter

from policyd.policy.decide import Decision
from policyd.policy.devices import REASON


def unschedulable_message(decision: Decision, without_devices: int = 0) -> str:
    """Say how many nodes each reason keeps the pod from.

    `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).` As in
    FitError of kube-scheduler: a node counts for each of its reasons, and the parts are sorted
    as texts. `without_devices` nodes were left out because their devices do not suffice.
    """
    total = decision.considered + without_devices
    if not total:
        return "no nodes are available to schedule pods"
    reasons = Counter(decision.reasons)
    if without_devices:
        reasons[REASON] += without_devices
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{total} nodes are available: {', '.join(parts)}."
