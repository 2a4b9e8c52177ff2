"""Functions about taints and tolerations."""

from typing import Final

from policyd.language.declarations import Function, function, overload
from policyd.model.taints import tolerates

FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "tolerates",
        overload(
            "pod_tolerates_taint",
            "Pod.(v1.Taint) -> bool",
            tolerates,
            portable=False,
            reads={0: ("tolerations",)},
        ),
        overload(
            "pod_tolerates_map",
            "Pod.(map(string, string)) -> bool",
            tolerates,
            portable=False,
            reads={0: ("tolerations",)},
        ),
        doc="Says whether one of the pod's tolerations matches a taint.",
    ),
)
