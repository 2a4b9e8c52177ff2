"""The functions of the language that are about Kubernetes' objects and not about values.

What is an algorithm of the API rather than a policy has a name here, one module an area; what is
done with its answer stands in the rules. A function that looks beyond the pod and the node takes
`cluster` as an argument and declares what of it it reads, so that the analysis of reads sees it.
"""

from typing import Final

from policyd.language.declarations import Function
from policyd.policy.functions import affinity, images, nodes, ports, spread, taints, volumes

FUNCTIONS: Final[tuple[Function, ...]] = (
    *taints.FUNCTIONS,
    *nodes.FUNCTIONS,
    *ports.FUNCTIONS,
    *images.FUNCTIONS,
    *spread.FUNCTIONS,
    *affinity.FUNCTIONS,
    *volumes.FUNCTIONS,
)
