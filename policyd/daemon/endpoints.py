"""Answers HTTP requests: health, metrics, and what is to be known about decisions and rules.

Whatever a request is, it gets an answer that says what is wrong with it, and nothing that decides
waits for it: everything here reads facts that never change, or takes a lock for as long as it
takes to copy a list. What is costly (a record, a profile) is done for two requests at a time.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from math import isfinite
from threading import BoundedSemaphore
from typing import Any, Final, Protocol
from wsgiref.types import StartResponse, WSGIEnvironment

import msgspec
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from policyd.daemon.health import Health
from policyd.daemon.profiler import MAX_SECONDS, Profiler
from policyd.daemon.rules_page import LiveRules, rules_page
from policyd.metrics import Metrics

DEBUG_AT_ONCE: Final = 2
"""How many requests for debug endpoints are answered at once."""

LISTED: Final = 100
MOST_LISTED: Final = 10_000
"""How many decisions are listed, and how many may be asked for."""

_LOG: Final = logging.getLogger(__name__)
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"


class Decisions(Protocol):
    """The last decisions. Any thread may ask."""

    def listed(self) -> Sequence[Any]:
        """Give the last attempt of each pod in brief, the newest first, as msgspec encodes it."""
        ...

    def record_json(self, namespace: str, name: str, nodes: Iterable[str] = ()) -> bytes | None:
        """Give the record of a pod's last attempt as JSON; `nodes` are in it in full besides."""
        ...


class RequestError(Exception):
    """A request that is answered with a status: why, and what to do instead."""

    def __init__(
        self, status: int, cause: str, remedy: str = "", headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(cause)
        self.status = status
        self.cause = cause
        self.remedy = remedy
        self.headers = headers


_PATHS: Final = {
    "/": "index",
    "/healthz": "healthz",
    "/livez": "livez",
    "/readyz": "readyz",
    "/healthz/<check>": "healthz",
    "/livez/<check>": "livez",
    "/readyz/<check>": "readyz",
    "/metrics": "metrics",
    "/debug/decisions": "decisions",
    "/debug/decisions/<namespace>/<pod>": "decision",
    "/debug/rules": "rules",
    "/debug/profile": "profile",
}


def _index_page() -> list[str]:
    return [path.replace("<", "{").replace(">", "}") for path in _PATHS if path != "/"]


class Endpoints:
    """The WSGI application. Any thread may call it."""

    def __init__(
        self,
        *,
        metrics: Metrics,
        health: Health,
        decisions: Decisions | None = None,
        rules: Iterable[LiveRules] = (),
        profiler: Profiler | None = None,
        debug: bool = True,
    ) -> None:
        """Take what is to be told. Without `debug` everything under /debug is refused."""
        self._metrics = metrics
        self._health = health
        self._decisions = decisions
        self._rules = tuple(rules)
        self._profiler = profiler
        self._debug = debug
        self._gate = BoundedSemaphore(DEBUG_AT_ONCE)
        self._map = Map(
            [Rule(path, endpoint=name, methods=["GET"]) for path, name in _PATHS.items()],
            strict_slashes=False,
            merge_slashes=False,
        )
        self._answers: dict[str, Callable[..., Response]] = {
            "index": self._index,
            "metrics": self._scrape,
            "decisions": self._guarded(self._list),
            "decision": self._guarded(self._decision),
            "rules": self._guarded(self._rules_now),
            "profile": self._guarded(self._profile),
        }

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request, as PEP 3333 says."""
        request = Request(environ)
        endpoint, response = self._answer(request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-store"
        self._metrics.http_requests(endpoint, str(response.status_code)).inc()
        _LOG.debug("%s %s: %d", request.method, request.path, response.status_code)
        return response(environ, start_response)

    def _answer(self, request: Request) -> tuple[str, Response]:
        """Give the endpoint that a request is for, and the answer."""
        endpoint = "other"
        try:
            rule, values = self._map.bind_to_environ(request).match(return_rule=True)
            endpoint = rule.rule.replace("<", "{").replace(">", "}")
            if rule.endpoint in ("healthz", "livez", "readyz"):
                return endpoint, self._healthy(request, rule.endpoint, **values)
            return endpoint, self._answers[rule.endpoint](request, **values)
        except RequestError as error:
            return endpoint, _refused(error)
        except HTTPException as error:
            return endpoint, _refused(_of_http(error))
        except Exception:  # noqa: BLE001 - whatever happens, there is an answer
            _LOG.exception("a request for %s could not be answered", endpoint)
            fault = RequestError(500, "this could not be answered", "the log of policyd says why")
            return endpoint, _refused(fault)

    # --- for everybody ---

    def _index(self, _request: Request) -> Response:
        return _json({"paths": _index_page()})

    def _healthy(self, request: Request, endpoint: str, check: str | None = None) -> Response:
        checks = self._health.checks(endpoint)
        excluded = set(request.args.getlist("exclude"))
        if check is not None:
            if check not in {each.name for each in checks}:
                names = ", ".join(each.name for each in checks)
                raise RequestError(404, f"{endpoint} has no check {check!r}", f"there is: {names}")
            excluded = {each.name for each in checks if each.name != check}
        verbose = "verbose" in request.args and check is None
        report = self._health.report(endpoint, verbose=verbose, excluded=excluded)
        if not report.is_well:
            _LOG.warning("%s", report.text.strip(), extra={"endpoint": endpoint})
        return Response(report.text, 200 if report.is_well else 500, content_type=_TEXT)

    def _scrape(self, request: Request) -> Response:
        text, content_type = self._metrics.exposition(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    # --- for debugging ---

    def _guarded(self, answer: Callable[..., Response]) -> Callable[..., Response]:
        """Let a few requests in at a time, so that the others' threads stay free for health."""

        def guarded(request: Request, **values: str) -> Response:
            if not self._debug:
                raise RequestError(403, "the debug endpoints are switched off")
            if not self._gate.acquire(blocking=False):
                raise _busy(f"{DEBUG_AT_ONCE} requests for debug endpoints are being answered")
            try:
                return answer(request, **values)
            finally:
                self._gate.release()

        return guarded

    def _list(self, request: Request) -> Response:
        limit = _whole(request, "limit", LISTED, MOST_LISTED)
        wanted = {name: request.args.get(name) for name in ("namespace", "result")}
        briefs = [] if self._decisions is None else self._decisions.listed()
        chosen = [
            brief
            for brief in map(msgspec.to_builtins, briefs)
            if all(value is None or brief.get(name) == value for name, value in wanted.items())
        ]
        return _json({"decisions": chosen[:limit], "total": len(chosen)})

    def _decision(self, request: Request, namespace: str, pod: str) -> Response:
        nodes = request.args.getlist("node")
        found = self._decisions and self._decisions.record_json(namespace, pod, nodes)
        if not found:
            raise RequestError(
                404,
                f"no decision is remembered for pod {namespace}/{pod}",
                "it was not tried yet, or not for a while: /debug/decisions lists what is known",
            )
        return Response(found, content_type=_JSON)

    def _rules_now(self, request: Request) -> Response:
        name = request.args.get("profile")
        chosen = [each for each in self._rules if name is None or each.name == name]
        if name is not None and not chosen:
            known = ", ".join(each.name for each in self._rules) or "none"
            raise RequestError(404, f"there is no profile {name!r}", f"there is: {known}")
        return _json(rules_page(chosen))

    def _profile(self, request: Request) -> Response:
        if not _is_loopback(request.remote_addr):
            raise RequestError(
                403,
                "a profile is given to this machine only",
                "ask from inside, or through a port that is forwarded to it",
            )
        seconds = _seconds(request)
        text = None if self._profiler is None else self._profiler.run(seconds)
        if text is None:
            raise _busy("a profile is being taken")
        return Response(text, content_type=_TEXT)


# --- requests ---


def _whole(request: Request, name: str, default: int, most: int) -> int:
    """Read a number of the query."""
    text = request.args.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most):
        raise RequestError(400, f"{name} is {text[:40]!r}", f"give a whole number from 1 to {most}")
    return int(text)


def _seconds(request: Request) -> float:
    text = request.args.get("seconds", "5")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and 0 < seconds <= MAX_SECONDS):
        raise RequestError(
            400,
            f"seconds is {text[:40]!r}",
            f"give a number above 0 and up to {MAX_SECONDS:g}, as in /debug/profile?seconds=5",
        )
    return seconds


def _is_loopback(address: str | None) -> bool:
    """Say whether a peer is on this machine; it is an IPv4 address within IPv6 for `::`."""
    try:
        parsed = ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


# --- answers ---


def _json(data: Any, status: int = 200) -> Response:
    text = json.dumps(data, indent=2, ensure_ascii=True, default=str) + "\n"
    return Response(text, status, content_type=_JSON)


def _busy(cause: str) -> RequestError:
    return RequestError(503, cause, "ask again in a while", (("Retry-After", "1"),))


def _refused(error: RequestError) -> Response:
    told = {"status": error.status, "message": error.cause}
    if error.remedy:
        told["help"] = error.remedy
    response = _json({"error": told}, error.status)
    response.headers.extend(error.headers)
    return response


def _of_http(error: HTTPException) -> RequestError:
    """Say in our words what Werkzeug refuses."""
    if isinstance(error, NotFound):
        return RequestError(
            404, "there is no such endpoint", f"there is: {', '.join(_index_page())}"
        )
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        return RequestError(405, "this is only to be read", f"use {allowed}", (("Allow", allowed),))
    return RequestError(error.code or 400, error.description or "this request cannot be understood")
