"""The functions of the language that are about Kubernetes' objects and not about values.

What is an algorithm of the API rather than a policy has a name here; what is done with its answer
stands in the rules.
"""

from typing import Final

from policyd.language.declarations import Function, function, overload
from policyd.model.taints import tolerates

FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "tolerates",
        overload("pod_tolerates_taint", "Pod.(v1.Taint) -> bool", tolerates, portable=False),
        overload(
            "pod_tolerates_map", "Pod.(map(string, string)) -> bool", tolerates, portable=False
        ),
        doc="Says whether one of the pod's tolerations matches a taint.",
    ),
)
