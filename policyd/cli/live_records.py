"""Asks the policyd that decides in a live cluster, through the API server's proxy."""

from policyd.cli.failure import Failure
from policyd.cli.live import Live, client_of
from policyd.cli.record_sources import Server


class LiveServer(Server):
    """The replica that holds the Lease, asked by way of the API server."""

    def __init__(self, live: Live, lease: str, port: int) -> None:
        self._client = client_of(live)
        namespace, _, name = lease.rpartition("/")
        namespace = namespace or self._client.connection.namespace
        pod = self._holder(namespace, name)
        self._path = f"/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy"
        super().__init__(self._client.connection.server + self._path)

    def _holder(self, namespace: str, name: str) -> str:
        """Give the pod that decides.

        Raises:
            Failure: there is none, or the Lease cannot be read.
        """
        from policyd.kube.errors import ApiError  # noqa: PLC0415 - needs urllib3
        from policyd.kube.lease import holder_of  # noqa: PLC0415 - as above

        place = f"Lease {namespace}/{name}"
        try:
            holder = holder_of(self._client, namespace, name)
        except ApiError as error:
            remedy = "name the one of `policyd run --leader-elect` with --lease NAMESPACE/NAME"
            raise Failure(error.message, place, remedy) from None
        if not holder:
            raise Failure("no policyd decides at this moment", place, "ask again in a while")
        return holder

    def _get(self, path: str) -> tuple[int, bytes]:
        from policyd.kube.client import decode_status  # noqa: PLC0415 - needs urllib3
        from policyd.kube.errors import ApiError  # noqa: PLC0415 - as above

        try:
            answer = self._client.get(self._path + path)
        except ApiError as error:
            if error.status and decode_status(error.data).kind != "Status":
                return error.status, error.data  # of policyd, and not of the API server
            raise Failure(
                error.message, self._url, "let this user `get` the resource pods/proxy there"
            ) from None
        return answer.status, answer.data
