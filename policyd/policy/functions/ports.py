"""Functions about the ports of the host that pods take."""

from collections.abc import Mapping
from typing import Any, Final

from policyd.language.declarations import Function, function, overload
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.wanted import ANY_ADDRESS, host_ports


def host_ports_of(pod: Pod) -> list[dict[str, Any]]:
    """Give the ports that a pod takes of its host, with address and protocol always there."""
    return [
        {"hostIP": address, "protocol": protocol, "hostPort": port}
        for address, protocol, port in host_ports(pod)
    ]


def has_free_port(node: Node, port: Mapping[str, Any]) -> bool:
    """Say whether no pod on a node has a port: one on any address takes it on all of them."""
    wanted = port.get("hostPort") or 0
    if wanted <= 0:
        return True
    key = (port.get("protocol") or "TCP", wanted)
    taken = _taken(node).get(key)
    if not taken:
        return True
    address = port.get("hostIP") or ANY_ADDRESS
    return address != ANY_ADDRESS and address not in taken and ANY_ADDRESS not in taken


def _taken(node: Node) -> Mapping[tuple[str, int], set[str]]:
    """Give the addresses on which each port of a node is taken."""
    taken: dict[tuple[str, int], set[str]] | None = node.memo.get("ports")
    if taken is None:
        taken = {}
        for pod in node.pods:
            for address, protocol, port in host_ports(pod):
                taken.setdefault((protocol, port), set()).add(address)
        node.memo["ports"] = taken
    return taken


FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "hostPorts",
        overload(
            "pod_host_ports",
            "Pod.() -> list(v1.ContainerPort)",
            host_ports_of,
            portable=False,
            reads={0: ("spec.containers", "spec.initContainers")},
        ),
        doc="Gives the ports that a pod takes of its host, those of sidecars included.",
    ),
    function(
        "hasFreePort",
        overload(
            "node_has_free_port",
            "Node.(v1.ContainerPort) -> bool",
            has_free_port,
            portable=False,
            reads={0: ("pods",)},
        ),
        doc="Says whether no pod on the node has taken a port of the host.",
    ),
)
