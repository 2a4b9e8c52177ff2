"""Calls to the API server over connections that are kept, typed at the edge, never tried in secret.

A call is sent once (a second time only after a 401, with credentials that were read anew, which
the server cannot have acted on). What goes wrong is an `ApiError`, classed by what helps; whether
a write may have taken effect all the same is part of the class.
"""

import logging
import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InsecureRequestWarning,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    SSLError,
)

from policyd.kube.config import Connection
from policyd.kube.credentials import Certificate, Credentials
from policyd.kube.errors import UNAUTHORISED, ApiError, is_ambiguous, remedy_of
from policyd.scheduler.protocols import Clock, Remedy

T = TypeVar("T")

CONNECTIONS: Final = 24
"""How many idle connections are kept: the pool's threads, the reflectors, events and the lease."""

CONNECT_SECONDS: Final = 5.0
"""How long it may take to connect."""

ANSWER_SECONDS: Final = 30.0
"""How long the server may take for a call that is not watched."""

JSON: Final = "application/json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NOT_SENT: Final = (
    NewConnectionError,
    ConnectTimeoutError,
    NameResolutionError,
    ProxyError,
    SSLError,
)
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
_SHOWN: Final = 300
_LOG: Final = logging.getLogger(__name__)

# The API server closes idle connections as it likes; that a kept one is gone is no news.
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


class _Cause(msgspec.Struct, frozen=True):
    reason: str | None = None
    field: str | None = None
    message: str | None = None


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, frozen=True):
    """The API's own account of what went wrong."""

    kind: str | None = None
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: _Details | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered, with a status below 300."""

    status: int
    data: bytes

    def decoded(self, kind: type[T]) -> T:
        """Decode the body.

        Raises:
            ApiError: it is not what was asked for.
        """
        try:
            return msgspec.json.decode(self.data, type=kind)
        except msgspec.DecodeError as error:
            raise ApiError(f"the answer of the API server cannot be read: {error}") from None


class Stream:
    """The lines of a watch. Read by one thread; any other may end it.

    The lock orders ending it and giving its connection back: a connection that was given back
    must not be shut down, since it may be another's by then.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self._lock = Lock()
        self._is_over = False

    def lines(self) -> Iterator[bytes]:
        """Give whole lines. The beginning of a line whose end never came is left out.

        Raises:
            ApiError: the connection broke, or nothing came for too long.
        """
        rest = b""
        try:
            for piece in self._response.stream(None):
                head, newline, tail = piece.rpartition(b"\n")
                if not newline:
                    rest += piece
                    continue
                yield from (rest + head).split(b"\n")
                rest = tail
        except (HTTPError, OSError, ValueError, AttributeError) as error:
            # ValueError and AttributeError come of a socket that another thread shut down
            raise _broken("GET", self._response.url or "", error) from None

    def end(self) -> None:
        """Have whoever reads stop at once. Any thread."""
        with self._lock:
            if not self._is_over:
                try:
                    self._response.shutdown()
                except (OSError, ValueError, RuntimeError):
                    _LOG.debug("a watch was over before it was ended")

    def close(self) -> None:
        """Drop the connection. Called by the thread that reads, when it is through."""
        with self._lock:
            self._is_over = True
            self._response.close()


class ApiClient:
    """Calls to one API server. Any thread. The lock guards which pool of connections is used."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        credentials: Credentials | None = None,
        connections: int = CONNECTIONS,
        agent: str = "policyd",
    ) -> None:
        self.connection = connection
        self._credentials = credentials or Credentials(connection, clock)
        self._size = connections
        self._agent = agent
        self._lock = Lock()
        self._pool: urllib3.HTTPConnectionPool | None = None
        self._certificate: Certificate | None = None
        self._prefix = urlsplit(connection.server).path.rstrip("/")

    # --- calls ---

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> Answer:
        """Read something.

        Raises:
            ApiError: the server refuses, or cannot be reached.
        """
        return self._call("GET", path, query, None, JSON, timeout)

    def post(
        self,
        path: str,
        body: Any,
        query: Mapping[str, str] | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> Answer:
        """Create something.

        Raises:
            ApiError: as for `get`; `ambiguous` where it may exist all the same.
        """
        return self._call("POST", path, query, body, JSON, timeout)

    def put(self, path: str, body: Any, timeout: float = ANSWER_SECONDS) -> Answer:
        """Replace something.

        Raises:
            ApiError: as for `post`.
        """
        return self._call("PUT", path, None, body, JSON, timeout)

    def patch(
        self, path: str, body: Any, kind: str = STRATEGIC_PATCH, timeout: float = ANSWER_SECONDS
    ) -> Answer:
        """Change a part of something.

        Raises:
            ApiError: as for `post`.
        """
        return self._call("PATCH", path, None, body, kind, timeout)

    def delete(self, path: str, body: Any = None, timeout: float = ANSWER_SECONDS) -> Answer:
        """Delete something.

        Raises:
            ApiError: as for `post`.
        """
        return self._call("DELETE", path, None, body, JSON, timeout)

    def stream(self, path: str, query: Mapping[str, str], idle: float) -> Stream:
        """Begin to watch something; it breaks off where nothing comes for `idle` seconds.

        Raises:
            ApiError: the server refuses, or cannot be reached.
        """
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=idle)
        response = self._send("GET", path, query, None, JSON, timeout, streams=True)
        return Stream(response)

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    # --- the wire ---

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Any,
        content: str,
        timeout: float,
    ) -> Answer:
        limits = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout)
        encoded = None if body is None else msgspec.json.encode(body)
        response = self._send(method, path, query, encoded, content, limits, streams=False)
        return Answer(response.status, response.data)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content: str,
        timeout: urllib3.Timeout,
        *,
        streams: bool,
    ) -> urllib3.BaseHTTPResponse:
        url = self._prefix + path + (f"?{urlencode(query)}" if query else "")

        def once() -> tuple[urllib3.BaseHTTPResponse, Mapping[str, str]]:
            identity, certificate = self._credentials.current()
            headers = {**identity, "Accept": JSON, "User-Agent": self._agent}
            if body is not None:
                headers["Content-Type"] = content
            try:
                response = self._pool_for(certificate).urlopen(
                    method,
                    url,
                    body=body,
                    headers=headers,
                    retries=False,
                    redirect=False,
                    timeout=timeout,
                    preload_content=not streams,
                )
            except (HTTPError, OSError) as error:
                raise _broken(method, path, error) from None
            return response, identity

        response, identity = once()
        if response.status == UNAUTHORISED and self._credentials.is_renewable:
            response.drain_conn()
            self._credentials.renew(identity)
            response, _ = once()
        if response.status >= 300:
            raise _refused(method, path, response)
        return response

    def _pool_for(self, certificate: Certificate | None) -> urllib3.HTTPConnectionPool:
        """Give the pool of connections that show a certificate; another one needs other ones."""
        with self._lock:
            if self._pool is None or self._certificate != certificate:
                # the old one goes with the last call that is under way on it
                self._pool = _make_pool(self.connection, certificate, self._size)
                self._certificate = certificate
            return self._pool


def _make_pool(
    connection: Connection, certificate: Certificate | None, size: int
) -> urllib3.HTTPConnectionPool:
    options: dict[str, Any] = {
        "maxsize": size,
        "block": False,
        "socket_options": [*HTTPConnection.default_socket_options, *_keep_alive()],
    }
    if connection.server.startswith("https:"):
        options["ssl_context"] = _ssl_context(connection, certificate)
        if connection.server_name:
            options["server_hostname"] = connection.server_name
            options["assert_hostname"] = connection.server_name
        if not connection.verifies:
            options["assert_hostname"] = False
            _LOG.warning("the API server at %s is not verified, as is wished", connection.server)
            urllib3.disable_warnings(InsecureRequestWarning)  # which would come with each call
    proxy = _proxy_for(connection)
    if proxy:
        manager: urllib3.PoolManager = urllib3.ProxyManager(proxy, num_pools=1, **options)
    else:
        manager = urllib3.PoolManager(num_pools=1, **options)
    return manager.connection_from_url(connection.server)


def _proxy_for(connection: Connection) -> str:
    """Give the proxy of the kubeconfig, else that of the environment, as kubectl does."""
    if connection.proxy:
        return connection.proxy
    parts = urlsplit(connection.server)
    if parts.scheme != "https" or not parts.hostname or proxy_bypass(parts.hostname):
        return ""
    proxy = getproxies().get("https", "")
    return proxy if urlsplit(proxy).scheme in ("http", "https") else ""


def _keep_alive() -> list[tuple[int, int, int]]:
    """Notice a server that is gone without a word, also while nothing is sent."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


def _ssl_context(connection: Connection, certificate: Certificate | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(
            cadata=connection.authority.decode("ascii") if connection.authority else None
        )
        # Cluster authorities are often made without the fields that Python 3.13 insists on
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        if not connection.verifies:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            _load(context, certificate)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        message = f"the certificates of {connection.origin} cannot be used: {error}"
        raise ApiError(message, Remedy.NEEDS_PERSON) from None
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a certificate and its key, which the ssl module takes from files only."""
    with tempfile.TemporaryDirectory(prefix="policyd-") as folder:
        path = Path(folder) / "client.pem"
        path.touch(mode=0o600)
        path.write_bytes(certificate.certificate + b"\n" + certificate.key)
        context.load_cert_chain(path)


# --- what went wrong ---


def _broken(method: str, path: str, error: Exception) -> ApiError:
    """Class a call without an answer. A write that was sent may have taken effect."""
    was_sent = not isinstance(error, _NOT_SENT)
    cause = _cause(error)
    return ApiError(
        f"{method} {path}: the API server did not answer: {cause}",
        Remedy.RETRY_WITH_BACKOFF,
        ambiguous=was_sent and method in _WRITES,
    )


def _cause(error: Exception) -> str:
    """Give what an error says, without the objects that urllib3 prints in front of it."""
    text = str(error).rpartition("object at 0x")[2].partition(">: ")[2] or str(error)
    return text[:_SHOWN] or type(error).__name__


def _refused(method: str, path: str, response: urllib3.BaseHTTPResponse) -> ApiError:
    """Make an error of an answer that is no success."""
    try:
        data = response.data
    except (HTTPError, OSError):
        data = b""
    status = decode_status(data)
    said = status.message or data[:_SHOWN].decode(errors="replace").strip() or response.reason
    return ApiError(
        f"{method} {path}: {response.status} {said}",
        remedy_of(response.status),
        status=response.status,
        reason=status.reason or "",
        retry_after=_retry_after(response.headers.get("Retry-After"), status),
        ambiguous=method in _WRITES and is_ambiguous(response.status),
        data=data,
    )


def decode_status(data: bytes) -> Status:
    """Read a Status, as far as it is one."""
    try:
        return msgspec.json.decode(data, type=Status)
    except msgspec.DecodeError:
        return Status()


def of_status(status: Status, path: str) -> ApiError:
    """Make an error of a Status that came where an object was expected."""
    code = status.code or 0
    return ApiError(
        f"WATCH {path}: {code} {status.message or 'no reason is given'}",
        remedy_of(code) if code else Remedy.RETRY_WITH_BACKOFF,
        status=code,
        reason=status.reason or "",
        retry_after=_retry_after(None, status),
    )


def _retry_after(header: str | None, status: Status) -> float | None:
    if header is not None and header.strip().isdigit():
        return float(header)
    details = status.details
    seconds = details.retry_after_seconds if details is not None else None
    return None if not seconds else float(seconds)
