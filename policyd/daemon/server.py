"""Listens for HTTP requests, with bounds on everything that a client could make large or long."""

import errno
import logging
import socket
from collections.abc import Callable, Iterable
from threading import Event, Lock
from time import monotonic
from typing import Any, Final

from waitress import wasyncore
from waitress.server import create_server

from policyd.daemon.endpoints import Decisions, Endpoints
from policyd.daemon.health import Health
from policyd.daemon.profiler import Profiler
from policyd.daemon.rules_page import LiveRules
from policyd.metrics import Metrics

THREADS: Final = 4
"""How many requests are answered at once; the debug endpoints take two of these at most."""

MAX_CONNECTIONS: Final = 64
MAX_HEADER_BYTES: Final = 16 * 1024
MAX_BODY_BYTES: Final = 1024
MAX_PORT: Final = 65535
IDLE_SECONDS: Final = 60
"""After how long a connection on which nothing happens is closed."""

_LOG: Final = logging.getLogger(__name__)

_REMEDIES: Final = {
    errno.EADDRINUSE: "another process listens there: stop it, or choose another port",
    errno.EACCES: "choose a port from 1024 up, or run with the right to use this one",
    errno.EADDRNOTAVAIL: "this machine does not have the address: 0.0.0.0 or :: stand for all",
}


class ListenError(Exception):
    """An address that cannot be listened on: why, where, and what to do."""

    def __init__(self, message: str, place: str, remedy: str) -> None:
        super().__init__(f"{message}: {place} ({remedy})")
        self.message = message
        self.place = place
        self.remedy = remedy


class Server:
    """The HTTP endpoints of the daemon. `start` and `stop` belong to the thread that made it.

    `start_thread` starts a thread by its name, as `Threads.start` does. Port 0 is any free port.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        metrics: Metrics,
        health: Health,
        start_thread: Callable[[str, Callable[[], None]], None],
        decisions: Decisions | None = None,
        rules: Iterable[LiveRules] = (),
        debug: bool = True,
    ) -> None:
        self._host = host
        self._wanted = port
        self._start_thread = start_thread
        self._ending = Event()
        self._ended = Event()
        self._waking = Lock()  # the loop's trigger is not closed while it is pulled
        self._endpoints = Endpoints(
            metrics=metrics,
            health=health,
            decisions=decisions,
            rules=rules,
            profiler=Profiler(self._ending.wait, monotonic),
            debug=debug,
        )
        self._sockets: dict[int, Any] = {}
        self._server: Any = None
        self.port = port

    def start(self) -> None:
        """Listen, and answer from now on; `port` is then the port that it is.

        Raises:
            ListenError: the address cannot be listened on.
        """
        listening = _listen(self._host, self._wanted)
        self.port = listening.getsockname()[1]
        self._server = create_server(
            self._endpoints,
            map=self._sockets,
            sockets=[listening],
            threads=THREADS,
            connection_limit=MAX_CONNECTIONS,
            channel_timeout=IDLE_SECONDS,
            cleanup_interval=10,
            max_request_header_size=MAX_HEADER_BYTES,
            max_request_body_size=MAX_BODY_BYTES,
            asyncore_use_poll=True,
            ident="policyd",
            clear_untrusted_proxy_headers=True,
        )
        self._start_thread("http", self._serve)
        _LOG.info("listening on %s", _shown(self._host, self.port))

    def stop(self, timeout: float = 5.0) -> bool:
        """Answer no more, and close all connections; say whether that worked in so many seconds."""
        self._ending.set()
        if self._server is None:
            return True
        with self._waking:
            if not self._ended.is_set():
                self._server.pull_trigger()
        return self._ended.wait(timeout)

    def _serve(self) -> None:
        """Read and write all connections until the end; then let the answers under way end."""
        try:
            while not self._ending.is_set():
                wasyncore.loop(timeout=1.0, use_poll=True, map=self._sockets, count=1)
        finally:
            self._close()

    def _close(self) -> None:
        """Close everything. What a thread still answers may wake the loop, until it is done."""
        dispatcher, trigger = self._server.task_dispatcher, self._server.trigger
        self._server.accepting = False
        dispatcher.shutdown(timeout=1)
        with self._waking:
            if dispatcher.threads:  # closing what they write to could hit a file of somebody else
                trigger.del_channel()
            wasyncore.close_all(self._sockets)
            self._ended.set()


def _listen(host: str, port: int) -> socket.socket:
    place = _shown(host, port)
    is_six = ":" in host
    if not 0 <= port <= MAX_PORT:
        raise ListenError("there is no such port", place, f"ports go up to {MAX_PORT}")
    try:
        return socket.create_server(
            (host, port),
            family=socket.AF_INET6 if is_six else socket.AF_INET,
            dualstack_ipv6=is_six and host == "::" and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        cause = (error.strerror or str(error)).partition(" (while")[0].lower()
        remedy = _REMEDIES.get(error.errno or 0, "check the address")
        raise ListenError(cause, place, remedy) from error


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host or '0.0.0.0'}:{port}"  # noqa: S104 - a name for all
