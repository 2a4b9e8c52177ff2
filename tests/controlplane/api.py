"""A client of the API server for tests: JSON in, JSON out, one method a verb.

It is not policyd's own client, so that a test that uses it does not trust what it tests.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import urllib3
import yaml

Json = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, body: Json) -> None:
        self.status, self.body = status, body
        super().__init__(f"{status} {body.get('reason', '')}: {body.get('message', body)}")


class UnreachableError(Exception):
    """The server did not answer."""


class Api:
    """Speaks as one user of a kubeconfig, or as whoever owns a token, to that file's server."""

    def __init__(self, kubeconfig: Path, *, context: str | None = None, token: str | None = None):
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        chosen = _named(config["contexts"], context or config["current-context"])["context"]
        cluster = _named(config["clusters"], chosen["cluster"])["cluster"]
        user = {"token": token} if token else _named(config["users"], chosen["user"])["user"]
        self.server: str = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._pool = urllib3.PoolManager(
            ssl_context=_ssl_context(authority, user), retries=False, timeout=30
        )

    def get(self, path: str, **query: str | int) -> Json:
        """Read an object or a list, e.g. `get("/api/v1/nodes", limit=5)`."""
        return self.call("GET", path, query=query)

    def create(self, path: str, body: Json, **query: str | int) -> Json:
        """Post an object to a collection or to a subresource."""
        return self.call("POST", path, body, query=query)

    def replace(self, path: str, body: Json) -> Json:
        """Put an object in place of the one that is there."""
        return self.call("PUT", path, body)

    def patch(self, path: str, body: Json, kind: str = MERGE_PATCH) -> Json:
        """Change an object by a merge patch, or by the kind of patch named."""
        return self.call("PATCH", path, body, kind=kind)

    def delete(self, path: str, **query: str | int) -> Json:
        """Delete an object, or a collection; nobody waits for a grace period here."""
        return self.call("DELETE", path, query={"gracePeriodSeconds": 0, **query})

    def call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        kind: str = "application/json",
        query: Mapping[str, str | int] | None = None,
    ) -> Json:
        """Send one request; raises RefusedError for status 400 and more, and UnreachableError."""
        answer = self._send(method, path, body, kind, query or {})
        with answer:
            content: bytes = answer.data
        document: Json = _document(content)
        if answer.status >= 400:
            raise RefusedError(answer.status, document)
        return document

    def watch(self, path: str, **query: str | int) -> Iterator[Json]:
        """Start a watch, and give its events as they come until the server ends it.

        Raises UnreachableError where it breaks off.
        """
        answer = self._send("GET", path, None, "", {"watch": 1, **query})
        if answer.status >= 400:
            with answer:
                raise RefusedError(answer.status, _document(answer.data))
        return _events(answer)

    def _send(
        self, method: str, path: str, body: Json | None, kind: str, query: Mapping[str, str | int]
    ) -> urllib3.BaseHTTPResponse:
        asked = "?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else ""
        headers = self._headers | ({"Content-Type": kind} if body is not None else {})
        content = json.dumps(body) if body is not None else None
        try:
            return self._pool.request(
                method,
                self.server + path + asked,
                body=content,
                headers=headers,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"{method} {path}: {error}") from error


def _events(answer: urllib3.BaseHTTPResponse) -> Iterator[Json]:
    with answer:
        try:
            for line in answer:
                yield json.loads(line)
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"a watch broke off: {error}") from error


def _document(content: bytes) -> Json:
    """Read an answer; what is not a JSON object (`ok`, a proxy's page) becomes a message."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"message": content.decode(errors="replace")}


def _named(entries: list[Json], name: str) -> Json:
    return next(entry for entry in entries if entry["name"] == name)


def _ssl_context(authority: str, user: Json) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority)
    if "client-certificate-data" in user:
        both = [user["client-certificate-data"], user["client-key-data"]]
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\n".join(base64.b64decode(part) for part in both))
            file.flush()
            context.load_cert_chain(file.name)
    return context
