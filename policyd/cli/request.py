"""What the options of commands say of their input."""

from dataclasses import dataclass

from policyd.cli.live import Live


@dataclass(frozen=True, slots=True)
class Request:
    """Files, and what of their content is wanted.

    `pod`, `nodes` and `cluster` are paths, `-` for standard input; without `node_names` all nodes
    are wanted, without `pod_name` all pods. `live` is a cluster to be read, where one is.
    """

    pod: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    pod_name: str | None = None
    node_names: tuple[str, ...] = ()
    namespace: str | None = None
    now: str | None = None
    live: Live | None = None

    @property
    def names_files(self) -> bool:
        """Say whether any input is given."""
        return bool(self.pod or self.nodes or self.cluster or self.live)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What the options of `policyd simulate` say of the run, beside its input.

    `arrivals` is how much arrives, in parts of the cluster; `drop` whether pods that fit nowhere
    leave, and nothing where that follows from the rest. `resource` is that which is followed,
    `plot` and `record` the files to be written.
    """

    trace: str | None = None
    trace_dir: str | None = None
    trace_name: str | None = None
    arrivals: float | None = None
    times: bool = False
    drop: bool | None = None
    seed: int = 0
    resource: str | None = None
    plot: str | None = None
    record: str | None = None

    @property
    def drops(self) -> bool:
        """Whether a pod that fits nowhere leaves."""
        if self.drop is not None:
            return self.drop
        return self.trace is not None and not self.times
