"""The cluster in memory as a running scheduler's: what a dump holds, and pods that files bring."""

from policyd.daemon.pod_files import PodFiles
from policyd.daemon.run import Site
from policyd.daemon.threads import Threads
from policyd.metrics import Metrics
from policyd.model.snapshot import Snapshot
from policyd.simulation.embedded import EmbeddedCluster


class EmbeddedFeed:
    """A cluster that is a dump at first, and then goes on by what is bound and what files bring."""

    def __init__(self, site: Site, snapshot: Snapshot, watched: str | None = None) -> None:
        self.cluster = EmbeddedCluster(site.cache, site.queue)
        self._snapshot = snapshot
        self._files = PodFiles(watched, self.cluster, site.clock) if watched else None

    def start(self, threads: Threads) -> None:
        """Fill the cluster; its waiting pods are queued."""
        for namespace in self._snapshot.namespaces.values():
            self.cluster.put_namespace(namespace)
        for node in self._snapshot.nodes:
            self.cluster.put_node(node)
        for pod in self._snapshot.pods:
            self.cluster.create(pod)
        if self._files is not None:
            self._files.start(threads)

    def stop(self) -> None:
        """Do nothing: there is nobody to tell of the end."""

    def problem(self) -> str | None:
        """Say that all is known: it was there from the start."""
        return None

    def is_standby(self) -> bool:
        """Say that nobody else decides here."""
        return False

    def measure(self, metrics: Metrics) -> None:
        """Do nothing: nothing is watched, and no event is written."""
