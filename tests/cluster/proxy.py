"""A proxy between policyd and a real API server, which can cut, hold, and answer for the server.

policyd speaks HTTP in clear to it, and it speaks TLS to the server. What goes through is not
changed: all that policyd sees is the real server's, but for the faults that a test asks for.
"""

import http.client
import json
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock
from urllib.parse import urlsplit

from policyd.kube.config import Connection, Identity, from_kubeconfig
from tests.cluster.ground import PATIENCE

REASONS = {409: "Conflict", 500: "InternalError", 503: "ServiceUnavailable"}
HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})


@dataclass
class Fault:
    """What happens to the next requests of a method whose path ends so.

    A request first waits for `go`. Where it `reaches` the server it is carried out there. Then it
    is answered with `status`, or with nothing at all where that is 0; without one it is answered
    by the server.
    """

    method: str
    path: str
    status: int | None = None
    reaches: bool = True
    times: int = 1
    arrived: Event = field(default_factory=Event)
    go: Event = field(default_factory=Event)


@dataclass(frozen=True)
class Seen:
    """A request that the server carried out, and the status that it answered with."""

    method: str
    path: str
    status: int


class Proxy:
    """One proxy. Its lock guards the faults, what was seen, and which sockets are open."""

    def __init__(self, kubeconfig):
        to = from_kubeconfig([str(kubeconfig)], "token")
        self._token = to.identity.token
        self._server = urlsplit(to.server)
        self._tls = ssl.create_default_context(cadata=to.authority.decode())
        self._lock = Lock()
        self._faults = []
        self._sockets = set()
        self._watches = set()
        self._halves = 0
        self.seen = []
        self.ended = Event()
        self.may_watch = Event()
        self.may_watch.set()
        self._http = _Server(("127.0.0.1", 0), _handler(self))

    # --- what a test asks for ---

    @property
    def connection(self):
        """Give what policyd reaches the proxy by."""
        host, port = self._http.server_address[:2]
        identity = Identity(token=self._token)
        return Connection(f"http://{host}:{port}", "the proxy", identity=identity)

    def meet(self, method, path, *, holds=False, **what):
        """Let the next request of this kind meet a fault; held until its `go` where asked for."""
        fault = Fault(method, path, **what)
        if not holds:
            fault.go.set()
        with self._lock:
            self._faults.append(fault)
        return fault

    def cut(self):
        """Cut all watches off; say how many."""
        with self._lock:
            watches, self._watches = self._watches, set()
        for each in watches:
            _shut(each)
        return len(watches)

    def cut_in_a_line(self, times=1):
        """Cut the next watches off in the middle of the next event that each of them gets."""
        with self._lock:
            self._halves = times

    @property
    def watches(self):
        """Give how many watches are open."""
        with self._lock:
            return len(self._watches)

    @property
    def halves(self):
        """Give how many watches are still to be cut off in a line."""
        with self._lock:
            return self._halves

    def carried_out(self, method, path):
        """Give the statuses with which the server answered such requests."""
        with self._lock:
            return [s.status for s in self.seen if s.method == method and s.path.endswith(path)]

    # --- its life ---

    def serve(self):
        self._http.serve_forever(poll_interval=0.01)

    def close(self):
        self.ended.set()
        self.may_watch.set()
        self._http.shutdown()
        with self._lock:
            for fault in self._faults:
                fault.go.set()
            sockets = list(self._sockets)
        for each in sockets:
            _shut(each)
        self._http.server_close()

    # --- its handlers ---

    def opened(self, each):
        with self._lock:
            self._sockets.add(each)

    def closed(self, each):
        with self._lock:
            self._sockets.discard(each)
            self._watches.discard(each)

    def watching(self, each):
        with self._lock:
            self._watches.add(each)

    def takes_half(self):
        """Say whether an event is one to be cut off in."""
        with self._lock:
            self._halves -= (found := self._halves > 0)
            return found

    def saw(self, method, path, status):
        with self._lock:
            self.seen.append(Seen(method, path, status))

    def fault_for(self, method, path):
        with self._lock:
            for fault in self._faults:
                if fault.times and fault.method == method and path.endswith(fault.path):
                    fault.times -= 1
                    return fault
        return None

    def connect(self):
        """Open a connection to the server."""
        made = http.client.HTTPSConnection(
            self._server.hostname, self._server.port, context=self._tls, timeout=PATIENCE
        )
        made.connect()
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


def _shut(each):
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing it waits for all of them
    request_queue_size = 128


def _handler(proxy):
    class Handler(_Handler):
        pass

    Handler.proxy = proxy
    return Handler


class _Handler(BaseHTTPRequestHandler):
    """One connection of policyd's, and the one to the server that answers it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy: Proxy
    upstream = None

    def handle(self):
        self.proxy.opened(self.connection)
        try:
            super().handle()
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # a connection that breaks is what this is for
        finally:
            self._drop()
            self.proxy.closed(self.connection)

    def log_message(self, *_):
        pass

    def _serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        fault = self.proxy.fault_for(self.command, path)
        if fault is not None:
            fault.arrived.set()
            assert fault.go.wait(PATIENCE)
        if "watch=" in query:
            self.proxy.may_watch.wait(PATIENCE)
        answer = self._ask(path, body) if fault is None or fault.reaches else None
        if fault is None or fault.status is None:
            self._pass_on(answer, is_watch="watch=" in query)
            return
        if answer is not None:
            answer.read()
        if fault.status:
            self._refuse(fault.status)
            return
        self.proxy.ended.wait()  # the caller gives up before
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - the class's names

    def _ask(self, path, body):
        if self.upstream is None:
            self.upstream = self.proxy.connect()
            self.proxy.opened(self.upstream.sock)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP | {"host"}}
        self.upstream.request(self.command, self.path, body or None, headers)
        answer = self.upstream.getresponse()
        self.proxy.saw(self.command, path, answer.status)
        return answer

    def _pass_on(self, answer, *, is_watch):
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if not is_watch or answer.status >= 300:
            data = answer.read()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.proxy.watching(self.connection)
        self._stream(answer)

    def _stream(self, answer):
        while data := answer.read1():
            if self.proxy.takes_half():
                half = data[: len(data) // 2]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(half), half))
                self.proxy.closed(self.connection)
                _shut(self.connection)
                break
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _refuse(self, status):
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": f"the proxy answers {status}",
            "reason": REASONS[status],
            "code": status,
        }
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _drop(self):
        if self.upstream is not None:
            if self.upstream.sock is not None:
                self.proxy.closed(self.upstream.sock)
            self.upstream.close()
            self.upstream = None


@contextmanager
def proxied(control_plane):
    """Put a proxy before a control plane."""
    proxy = Proxy(control_plane.kubeconfig)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(proxy.serve)
        try:
            yield proxy
        finally:
            proxy.close()
