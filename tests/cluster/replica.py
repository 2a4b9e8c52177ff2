"""A `policyd run` with leader election whose times are short, as a process that tests may kill.

The process is forked from one that has imported everything already, since there are many of them.
"""

import logging
from multiprocessing import get_context

from policyd.daemon.kube_feed import KubeConfig, KubeFeed
from policyd.daemon.run import ProfileConfig, RunConfig, run
from policyd.kube.config import from_kubeconfig
from policyd.kube.lease import Timing
from tests.cluster.ground import FIT, PATIENCE

LEASE = "policyd"
TIMING = Timing(lease=1.0, renew=0.7, retry=0.2)

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


def replicate(kubeconfig, name, log, tell):
    """Run until the end; tell who this is for the lease, and then that it is ready."""
    logging.basicConfig(filename=log, level=logging.INFO)
    kube = KubeConfig(from_kubeconfig([kubeconfig]), lease=LEASE, namespace=name, timing=TIMING)
    config = RunConfig((ProfileConfig(name, (str(FIT),)),), port=0)

    def connect(site):
        feed = KubeFeed(site, kube)
        tell.send(feed.election.identity)
        return feed

    run(config, connect, tell.send)


class Replica:
    """A replica's process, and who it is for the lease."""

    def __init__(self, control_plane, ground, log):
        self._log = log
        self._told, tell = CONTEXT.Pipe(duplex=False)
        arguments = (str(control_plane.kubeconfig), ground.name, str(log), tell)
        self._process = CONTEXT.Process(target=replicate, args=arguments)
        self._process.start()
        tell.close()
        self.identity = ""

    def wait_until_ready(self):
        """Wait until it stands by or leads."""
        if not self.identity:
            assert self._told.poll(PATIENCE), self._log.read_text()
            self.identity = self._told.recv()
            assert self._told.poll(PATIENCE), self._log.read_text()
            self._told.recv()

    @property
    def lives(self):
        return self._process.is_alive()

    def kill(self):
        """Kill it with SIGKILL."""
        self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()
        self._told.close()
