"""The sentence that tells why a pod fits nowhere, in kube-scheduler's shape."""

from policyd.policy.decide import Decision


def unschedulable_message(decision: Decision) -> str:
    """Say how many nodes each reason keeps the pod from.

    `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).` As in
    FitError of kube-scheduler: a node counts for each of its reasons, and the parts are sorted
    as texts.
    """
    total = decision.considered
    if not total:
        return "no nodes are available to schedule pods"
    parts = sorted(f"{count} {reason}" for reason, count in decision.reasons.items())
    return f"0/{total} nodes are available: {', '.join(parts)}."
