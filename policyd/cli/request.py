"""What the options of `policyd eval` say of its input."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """Files, and what of their content is wanted.

    `pod`, `nodes` and `cluster` are paths, `-` for standard input; without `node_names` all nodes
    are wanted, without `pod_name` all pods.
    """

    pod: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    pod_name: str | None = None
    node_names: tuple[str, ...] = ()
    namespace: str | None = None
    now: str | None = None

    @property
    def names_files(self) -> bool:
        """Say whether any input is given."""
        return bool(self.pod or self.nodes or self.cluster)
