"""Functions about the images that nodes have."""

from collections.abc import Mapping
from typing import Final

from policyd.language.declarations import Function, function, overload
from policyd.model.cluster import Cluster
from policyd.model.node import Node
from policyd.model.tallies import Contribution


def image_size(node: Node, image: str) -> int:
    """Give the size of an image that a node has, in bytes; 0 where it has not."""
    return _sizes(node).get(_full_name(image), 0)


def nodes_with_image(cluster: Cluster, image: str) -> int:
    """Give the number of nodes that have an image."""
    around = cluster.around
    counts: Mapping[str, int] | None = around.memo.get("images")
    if counts is None:
        counts = around.memo["images"] = around.sums("images", _names)
    return counts.get(_full_name(image), 0)


def _names(node: Node) -> Contribution:
    return tuple((name, 1) for name in _sizes(node))


def _sizes(node: Node) -> Mapping[str, int]:
    sizes: dict[str, int] | None = node.memo.get("image sizes")
    if sizes is None:
        sizes = {name: each["sizeBytes"] for each in node.images for name in each["names"]}
        node.memo["image sizes"] = sizes
    return sizes


def _full_name(image: str) -> str:
    """Give an image's name with its tag: `latest` where there is none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "imageSize",
        overload(
            "node_image_size",
            "Node.(string) -> int",
            image_size,
            portable=False,
            reads={0: ("images",)},
        ),
        doc="Gives the size of an image that the node has, in bytes, or 0.",
    ),
    function(
        "nodesWithImage",
        overload(
            "cluster_nodes_with_image",
            "Cluster.(string) -> int",
            nodes_with_image,
            portable=False,
            reads={0: ("images",)},
        ),
        doc="Gives how many nodes have an image.",
    ),
)
