"""The sentence that tells why a pod fits nowhere, in kube-scheduler's shape."""

from collections import Counter

from policyd.policy.decide import Decision


def unschedulable_message(decision: Decision) -> str:
    """Say how many nodes each reason keeps the pod from.

    `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).` As in
    FitError of kube-scheduler: a node counts for each of its reasons, and the parts are sorted
    as texts.
    """
    total = len(decision.nodes)
    if not total:
        return "no nodes are available to schedule pods"
    reasons = Counter(
        reason
        for node in decision.nodes
        for reason in {
            reason for verdict in node.verdicts if verdict.rejects for reason in verdict.reasons
        }
    )
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{total} nodes are available: {', '.join(parts)}."
