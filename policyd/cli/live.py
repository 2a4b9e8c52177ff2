"""Reaches a live cluster for a command: which one is meant, and why it cannot be had."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policyd.cli.failure import Failure

if TYPE_CHECKING:
    from policyd.kube.client import ApiClient
    from policyd.kube.config import Connection


@dataclass(frozen=True, slots=True)
class Live:
    """A live cluster, as options name it. Without any of these it is the one that kubectl uses."""

    kubeconfig: str | None = None
    context: str | None = None
    in_cluster: bool = False


def read_live(kubeconfig: str | None, context: str | None, *, in_cluster: bool) -> Live | None:
    """Give the cluster that options name, if they name one.

    Raises:
        Failure: they name two.
    """
    if not (kubeconfig or context or in_cluster):
        return None
    if in_cluster and (kubeconfig or context):
        raise Failure(
            "a pod's own cluster is not that of a kubeconfig", "--in-cluster", "give one of them"
        )
    return Live(kubeconfig, context, in_cluster)


def connection_of(live: Live) -> "Connection":
    """Give how a cluster is reached.

    Raises:
        Failure: that cannot be found out.
    """
    from policyd.kube.config import find_connection, in_cluster  # noqa: PLC0415 - rarely needed
    from policyd.kube.errors import ConfigError  # noqa: PLC0415 - as above

    try:
        if live.in_cluster:
            return in_cluster(os.environ)
        return find_connection(live.kubeconfig or "", live.context or "")
    except ConfigError as error:
        raise Failure(error.cause, error.place, error.remedy) from None


def client_of(live: Live) -> "ApiClient":
    """Give a client of a cluster.

    Raises:
        Failure: it is not known how the cluster is reached, or a package is missing.
    """
    connection = connection_of(live)
    try:
        from policyd.daemon.clock import SystemClock  # noqa: PLC0415 - rarely needed
        from policyd.kube.client import ApiClient  # noqa: PLC0415 - needs urllib3
    except ModuleNotFoundError as error:
        raise Failure(
            f"a live cluster needs the package {error.name}",
            remedy="install policyd with its extra `run`: `pip install 'policyd[run]'`",
        ) from None
    return ApiClient(connection, SystemClock())
