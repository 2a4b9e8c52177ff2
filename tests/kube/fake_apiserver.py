"""A small API server over real HTTP, with faults as a test scripts them.

It keeps objects with uids and versions, and a log of changes that watches read. Lists come in
pages, watches with bookmarks; a version that was compacted answers 410. A `Fault` answers a
request otherwise than right, before or after it took effect; a `WatchFault` spoils one watch.
"""

import json
import re
import ssl
from collections import deque
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Condition
from typing import Any
from urllib.parse import parse_qsl, urlsplit

KINDS = {
    "Pod": ("/api/v1", "pods", True),
    "Node": ("/api/v1", "nodes", False),
    "Namespace": ("/api/v1", "namespaces", False),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "Service": ("/api/v1", "services", True),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
}
BY_PLURAL = {plural: kind for kind, (_, plural, _) in KINDS.items()}
_PATH = re.compile(
    r"(?P<prefix>/api/v1|/apis/[^/]+/v1)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[a-z]))?"
    r"/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[a-z]+))?"
)
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class RefusedError(Exception):
    def __init__(self, code, message="", reason="", retry_after=None):
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message or REASONS.get(code, "no"),
            "reason": reason or REASONS.get(code, ""),
            "code": code,
        }


@dataclass
class Fault:
    """What happens to the next requests whose method and path match.

    `action` is `status` (answer with the code), `drop` (close without an answer) or `hang` (no
    answer until the server is closed). With `takes_effect` the request is carried out before.
    """

    method: str
    path: str
    code: int = 500
    action: str = "status"
    takes_effect: bool = False
    retry_after: str | None = None
    times: int = 1

    def matches(self, method, path):
        return self.times > 0 and method == self.method and re.search(self.path, path) is not None


@dataclass
class WatchFault:
    """What happens to the next watch of a kind, after it has sent some events.

    `action` is `cut` (close), `half` (close in the middle of a line), `error` (an ERROR event of
    the code), `garbage` (a line that is no JSON), `twice` (every event comes twice), `swap` (the
    next two events change places), `stall` (nothing comes any more) or `status` (the request
    itself is answered with the code).
    """

    plural: str
    action: str
    after: int = 0
    code: int = 410


@dataclass
class Seen:
    method: str
    path: str
    query: dict
    body: Any


@dataclass
class _Entry:
    version: int
    plural: str
    before: dict | None
    after: dict | None
    at: dict = field(default_factory=dict)  # the object as a watch tells of it


class FakeApiServer:
    """The server: `create`, `update` and `delete` change objects as other clients would."""

    def __init__(self, *, token=None, tls: ssl.SSLContext | None = None):
        self.token = token
        self.changed = Condition()
        self.objects: dict[tuple[str, str, str], dict] = {}
        self.log: list[_Entry] = []
        self.version = 100
        self.compacted = 0
        self.faults: list[Fault] = []
        self.watch_faults: deque[WatchFault] = deque()
        self.seen: list[Seen] = []
        self.canned: dict[str, dict] = {}
        self.expires_pages = 0
        self.watching = 0
        self.connections = 0
        self.closing = False
        self.cuts = 0
        self._uids = count(1)
        self._pages: dict[str, tuple[list[dict], int]] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def serve(self):
        self._server.serve_forever(poll_interval=0.01)

    def close(self):
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.close_all()
        self._server.server_close()

    # --- what other clients do ---

    def create(self, obj):
        with self.changed:
            return deepcopy(self._create(deepcopy(obj)))

    def update(self, obj):
        """Replace an object, whatever its version."""
        with self.changed:
            plural = KINDS[obj["kind"]][1]
            new = deepcopy(obj)
            new["metadata"].pop("resourceVersion", None)
            return deepcopy(self._replace(plural, new))

    def delete(self, kind, name, namespace=""):
        with self.changed:
            self._delete(KINDS[kind][1], namespace, name)

    def get(self, kind, name, namespace=""):
        with self.changed:
            found = self.objects.get((KINDS[kind][1], namespace, name))
            return deepcopy(found)

    def all(self, kind):
        with self.changed:
            plural = KINDS[kind][1]
            return [deepcopy(o) for (p, _, _), o in sorted(self.objects.items()) if p == plural]

    def compact(self):
        """Forget all versions but the newest, as etcd does."""
        with self.changed:
            self.compacted = self.version
            self.log.clear()

    def cut_watches(self):
        """End all watches at once."""
        with self.changed:
            self.cuts += 1
            self.changed.notify_all()

    def wait_for(self, condition, timeout=10):
        """Wait until something holds of the server; the timeout only bounds a failure."""
        with self.changed:
            held = self.changed.wait_for(condition, timeout)
        assert held, "the server was waited for in vain"

    def requests(self, method, pattern):
        with self.changed:
            return [s for s in self.seen if s.method == method and re.search(pattern, s.path)]

    # --- under the lock ---

    def _create(self, obj):
        plural, metadata = KINDS[obj["kind"]][1], obj.setdefault("metadata", {})
        namespace = metadata.get("namespace", "default") if KINDS[obj["kind"]][2] else ""
        if namespace:
            metadata["namespace"] = namespace
        key = (plural, namespace, metadata["name"])
        if key in self.objects:
            raise RefusedError(
                409, f'{plural} "{metadata["name"]}" already exists', "AlreadyExists"
            )
        metadata.setdefault("uid", f"uid-{next(self._uids)}")
        metadata.setdefault("creationTimestamp", "2026-06-01T00:00:00Z")
        self._commit(key, None, obj)
        return obj

    def _replace(self, plural, new):
        metadata = new["metadata"]
        key = (plural, metadata.get("namespace", ""), metadata["name"])
        old = self.objects.get(key)
        if old is None:
            raise RefusedError(404, f'{plural} "{metadata["name"]}" not found')
        wanted = metadata.get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise RefusedError(409, "the object has been modified; please apply your changes to it")
        metadata.setdefault("uid", old["metadata"]["uid"])
        if metadata["uid"] != old["metadata"]["uid"]:
            raise RefusedError(409, "Precondition failed: UID in precondition does not match")
        self._commit(key, old, new)
        return new

    def _delete(self, plural, namespace, name):
        key = (plural, namespace, name)
        old = self.objects.get(key)
        if old is None:
            raise RefusedError(404, f'{plural} "{name}" not found')
        self._commit(key, old, None)

    def _commit(self, key, before, after):
        self.version += 1
        at = deepcopy(before if after is None else after)
        at["metadata"]["resourceVersion"] = str(self.version)
        if after is None:
            del self.objects[key]
        else:
            after["metadata"]["resourceVersion"] = str(self.version)
            self.objects[key] = after
        now = None if after is None else at
        self.log.append(_Entry(self.version, key[0], deepcopy(before), now, at))
        self.changed.notify_all()

    def patched(self, plural, namespace, name, patch):
        old = self.objects.get((plural, namespace, name))
        if old is None:
            raise RefusedError(404, f'{plural} "{name}" not found')
        wanted = (patch.get("metadata") or {}).get("uid")
        if wanted and wanted != old["metadata"]["uid"]:
            raise RefusedError(409, "Precondition failed: UID in precondition does not match")
        if (patch.get("metadata") or {}).get("resourceVersion", "") not in (
            "",
            old["metadata"]["resourceVersion"],
        ):
            raise RefusedError(409, "the object has been modified")
        return self._replace(plural, _merged(old, patch))

    def bind(self, namespace, name, binding):
        pod = self.objects.get(("pods", namespace, name))
        if pod is None:
            raise RefusedError(404, f'pods "{name}" not found')
        uid = binding["metadata"].get("uid")
        if uid and uid != pod["metadata"]["uid"]:
            raise RefusedError(409, "Precondition failed: UID in precondition does not match")
        if pod["spec"].get("nodeName"):
            raise RefusedError(409, f"pod {name} is already assigned to a node")
        new = deepcopy(pod)
        new["metadata"].pop("resourceVersion", None)
        new["spec"]["nodeName"] = binding["target"]["name"]
        if binding["metadata"].get("annotations"):
            annotations = new["metadata"].setdefault("annotations", {})
            annotations.update(binding["metadata"]["annotations"])
        self._replace("pods", new)

    def listed(self, plural, namespace, query):
        if "continue" in query:
            if self.expires_pages > 0:
                self.expires_pages -= 1
                raise RefusedError(410, "The provided continue parameter is too old")
            items, version = self._pages.pop(query["continue"])
        else:
            items = [
                deepcopy(o)
                for (p, ns, _), o in sorted(self.objects.items())
                if p == plural and (not namespace or ns == namespace) and selects(query, o)
            ]
            version = self.version
        limit = int(query.get("limit", 0)) or len(items)
        metadata = {"resourceVersion": str(version)}
        if items[limit:]:
            token = f"page-{len(self._pages)}-{version}-{len(items)}"
            self._pages[token] = (items[limit:], version)
            metadata["continue"] = token
        kind = BY_PLURAL[plural]
        page = [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")} for o in items]
        return {
            "kind": f"{kind}List",
            "apiVersion": "v1",
            "metadata": metadata,
            "items": page[:limit],
        }


def _merged(old, patch):
    """Merge as a strategic merge patch does, as far as tests need it."""
    new = deepcopy(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = _merged(new.get(key) or {}, value)
        elif key == "conditions":
            by_type = {c["type"]: c for c in new.get(key) or []}
            for condition in value:
                merged = {**by_type.get(condition["type"], {}), **condition}
                by_type[condition["type"]] = {k: v for k, v in merged.items() if v is not None}
            new[key] = list(by_type.values())
        else:
            new[key] = value
    return new


def selects(query, obj):
    """Say whether an object is selected by label and field selectors."""
    if obj is None:
        return False
    labels = obj["metadata"].get("labels") or {}
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, equals, value = term.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        path, operator, value = re.match(r"([\w.]+)(!?=)(.*)", term).groups()
        found = obj
        for step in path.split("."):
            found = (found or {}).get(step)
        if path == "status.phase":
            found = found or "Pending"
        if ((found or "") == value) is (operator == "!="):
            return False
    return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args):
        super().__init__(*args)
        self.sockets = set()

    def process_request(self, request, client_address):
        self.sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.sockets.discard(request)
        super().shutdown_request(request)

    def close_all(self):
        for each in list(self.sockets):
            with suppress(OSError):
                each.shutdown(2)

    def handle_error(self, request, client_address):
        """Clients that go away are what is tested."""


def _handler(fake: FakeApiServer):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self):
            super().setup()
            with fake.changed:
                fake.connections += 1

        def log_message(self, *args):
            pass

        def handle_one_request(self):
            with suppress(ConnectionError, ssl.SSLError):
                return super().handle_one_request()
            self.close_connection = True
            return None

        def do_GET(self):
            self._answer()

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - as the server calls them

        def _answer(self):
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            with fake.changed:
                fake.seen.append(Seen(self.command, parts.path, query, body))
                fake.changed.notify_all()
                fault = self._fault(parts.path)
            try:
                if fault is not None and not fault.takes_effect:
                    self._spoil(fault)
                    return
                self._authorise()
                if query.get("watch"):
                    self._watch(parts.path, query)
                    return
                with fake.changed:
                    code, answer = self._do(parts.path, query, body)
                    answer = json.dumps(answer).encode()
                if fault is not None:
                    self._spoil(fault)
                    return
            except RefusedError as refused:
                code, answer = refused.code, json.dumps(refused.status).encode()
                if refused.retry_after is not None:
                    self._send(code, answer, {"Retry-After": str(refused.retry_after)})
                    return
            self._send(code, answer)

        def _authorise(self):
            if fake.token and self.headers.get("Authorization") != f"Bearer {fake.token}":
                raise RefusedError(401, "Unauthorized")

        def _fault(self, path):
            for fault in fake.faults:
                if fault.matches(self.command, path):
                    fault.times -= 1
                    return fault
            return None

        def _spoil(self, fault):
            if fault.action == "status":
                raise RefusedError(fault.code, retry_after=fault.retry_after)
            if fault.action == "hang":
                with fake.changed:
                    fake.changed.wait_for(lambda: fake.closing, 60)
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(2)

        def _send(self, code, data, headers=None):
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _do(self, path, query, body):
            if path in fake.canned:
                return 200, fake.canned[path]
            match = _PATH.fullmatch(path)
            if match is None or match["plural"] not in BY_PLURAL:
                raise RefusedError(404, f"the server could not find the requested resource: {path}")
            plural, name, sub = match["plural"], match["name"], match["sub"]
            namespace = match["namespace"] or ""
            kind = BY_PLURAL[plural]
            if sub == "binding":
                fake.bind(namespace, name, body)
                return 201, {"kind": "Status", "status": "Success"}
            if self.command == "GET" and name is None:
                return 200, fake.listed(plural, namespace, query)
            if self.command == "GET":
                found = fake.objects.get((plural, namespace, name))
                if found is None:
                    raise RefusedError(404, f'{plural} "{name}" not found')
                return 200, found
            if self.command == "POST":
                if namespace:
                    body.setdefault("metadata", {}).setdefault("namespace", namespace)
                return 201, fake._create({"kind": kind, **body})
            if self.command == "PUT":
                return 200, fake._replace(plural, {"kind": kind, **body})
            if self.command == "PATCH":
                return 200, fake.patched(plural, namespace, name, body)
            fake._delete(plural, namespace, name)
            return 200, {"kind": "Status", "status": "Success"}

        # --- watching ---

        def _watch(self, path, query):
            match = _PATH.fullmatch(path)
            plural, namespace = match["plural"], match["namespace"] or ""
            if path in fake.canned:
                plural = "nothing"
            with fake.changed:
                fault = self._watch_fault(plural)
                since = int(query["resourceVersion"])
                cuts = fake.cuts
                if fault is not None and fault.action == "status":
                    raise RefusedError(fault.code)
                if since < fake.compacted:
                    raise RefusedError(410, f"too old resource version: {since} ({fake.compacted})")
                fake.watching += 1
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                self._stream(plural, namespace, query, since, fault, cuts)
            finally:
                with fake.changed:
                    fake.watching -= 1
                    fake.changed.notify_all()
                self.close_connection = True

        def _watch_fault(self, plural):
            for fault in list(fake.watch_faults):
                if fault.plural == plural:
                    fake.watch_faults.remove(fault)
                    return fault
            return None

        def _stream(self, plural, namespace, query, since, fault, cuts):
            sent = 0
            held = None
            while True:
                with fake.changed:
                    if since < fake.compacted:
                        self._line({"type": "ERROR", "object": RefusedError(410).status})
                        self._chunk(b"")
                        return
                    new = [e for e in fake.log if e.version > since]
                    if fake.closing or fake.cuts != cuts:
                        return
                    if not new:
                        fake.changed.wait(60)
                        continue
                bookmark = max(e.version for e in new)
                for entry in new:
                    since = entry.version
                    line = self._event(entry, plural, namespace, query)
                    if line is None:
                        continue
                    action = fault.action if fault and sent >= fault.after else ""
                    if action == "swap" and held is None:
                        held = line
                        continue  # until the next one, if it came in the same step
                    if self._spoiled(action, line, fault):
                        return
                    sent += 1
                    self._line(line)
                    if action == "twice":
                        self._line(line)
                    if held:
                        self._line(held)
                        held, fault = None, None
                if held:
                    self._line(held)
                    held = None
                if query.get("allowWatchBookmarks"):
                    metadata = {"resourceVersion": str(bookmark)}
                    kind = BY_PLURAL[plural]
                    self._line({"type": "BOOKMARK", "object": {"kind": kind, "metadata": metadata}})

        def _spoiled(self, action, line, fault):
            """Spoil the watch before an event; say whether it is over."""
            if action == "half":
                data = json.dumps(line).encode()
                self._chunk(data[: len(data) // 2])
            elif action == "error":
                self._line({"type": "ERROR", "object": RefusedError(fault.code).status})
                self._chunk(b"")
            elif action == "garbage":
                self._chunk(b"\xff{ what?\n")
            elif action == "stall":
                with fake.changed:
                    fake.changed.wait_for(lambda: fake.closing, 60)
            return action in ("cut", "half", "error", "garbage", "stall")

        def _event(self, entry, plural, namespace, query):
            if entry.plural != plural:
                return None
            if namespace and entry.at["metadata"].get("namespace") != namespace:
                return None
            before, after = selects(query, entry.before), selects(query, entry.after)
            if not before and not after:
                return None
            kind = "DELETED" if not after else "MODIFIED" if before else "ADDED"
            return {"type": kind, "object": entry.at}

        def _line(self, event):
            self._chunk(json.dumps(event).encode() + b"\n")

        def _chunk(self, data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    return Handler
