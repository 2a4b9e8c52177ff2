"""Who policyd is for the API server, at this moment: tokens that are read again, plugins that run.

One lock, the object's. It is held while a plugin runs, so that a plugin runs once for all threads
that wait for it.
"""

import base64
import json
import logging
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from policyd.kube.config import Connection, ExecPlugin
from policyd.kube.errors import ApiError
from policyd.scheduler.protocols import Clock
from policyd.values.errors import ValueFault
from policyd.values.times import parse_timestamp

TOKEN_FILE_SECONDS: Final = 60.0
"""How long a token from a file is used before the file is read again; the kubelet renews it."""

PLUGIN_SECONDS: Final = 60.0
"""How long a plugin may take."""

EARLY_SECONDS: Final = 10.0
"""How long before its end a credential of a plugin is renewed."""

_NANOS: Final = 10**9
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A client certificate with its key, in PEM."""

    certificate: bytes
    key: bytes


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    status: _Status | None = None


@dataclass(frozen=True, slots=True, repr=False)
class _Given:
    """What a token file or a plugin gave, and until when it is used: monotonic seconds."""

    token: str = ""
    certificate: Certificate | None = None
    until: float = 0.0


Run = Callable[[ExecPlugin, Mapping[str, str]], bytes]


def run_plugin(plugin: ExecPlugin, env: Mapping[str, str]) -> bytes:
    """Run a credential plugin and give what it prints.

    Raises:
        ApiError: it cannot be run, fails, or takes too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the kubeconfig names it
            [plugin.command, *plugin.args],
            env={**os.environ, **dict(plugin.env), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PLUGIN_SECONDS,
            check=False,
        )
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise ApiError(f"the credential plugin {plugin.command}: {cause}{hint}") from None
    except subprocess.TimeoutExpired:
        message = f"the credential plugin {plugin.command} took over {PLUGIN_SECONDS:g} s"
        raise ApiError(message) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:] or "it says nothing"
        raise ApiError(
            f"the credential plugin {plugin.command} failed with {done.returncode}: {said}"
        )
    return done.stdout


class Credentials:
    """The headers and the client certificate of the next call. Any thread."""

    def __init__(self, connection: Connection, clock: Clock, run: Run = run_plugin) -> None:
        self._connection = connection
        self._identity = connection.identity
        self._clock = clock
        self._run = run
        self._lock = Lock()
        self._given: _Given | None = None

    @property
    def is_renewable(self) -> bool:
        """Say whether there is something that can be read anew after a 401."""
        return bool(self._identity.token_file or self._identity.exec_plugin)

    def current(self) -> tuple[Mapping[str, str], Certificate | None]:
        """Give the headers that say who policyd is, and the client certificate.

        Raises:
            ApiError: a token file or a plugin gives nothing that can be used.
        """
        with self._lock:
            return self._current()

    def renew(self, used: Mapping[str, str]) -> None:
        """Have credentials read anew, unless they are others already than those that were used.

        Raises:
            ApiError: they cannot be read.
        """
        with self._lock:
            if self._given is not None and self._current()[0] == used:
                self._given = None

    # --- under the lock ---

    def _current(self) -> tuple[Mapping[str, str], Certificate | None]:
        identity = self._identity
        headers = dict(identity.impersonate)
        certificate = None
        if identity.certificate:
            certificate = Certificate(identity.certificate, identity.key)
        token = identity.token
        if identity.token_file:
            token = self._renewed(self._read_file).token or token
        elif identity.exec_plugin is not None:
            given = self._renewed(self._ask_plugin)
            token, certificate = given.token or token, given.certificate or certificate
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif identity.username:
            pair = f"{identity.username}:{identity.password}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers, certificate

    def _renewed(self, read: Callable[[], _Given]) -> _Given:
        if self._given is None or self._clock.monotonic() >= self._given.until:
            self._given = read()
        return self._given

    def _read_file(self) -> _Given:
        """Read the token; where the file is gone for a moment, the token that is known stays."""
        until = self._clock.monotonic() + TOKEN_FILE_SECONDS
        path = self._identity.token_file
        try:
            token = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            if self._given is None:
                raise ApiError(f"the token cannot be read: {path}: {cause.lower()}") from None
            _LOG.warning("the token cannot be read again: %s: %s", path, cause.lower())
            return _Given(self._given.token, None, until)
        if not token and self._given is None:
            raise ApiError(f"the token cannot be read: {path}: the file is empty")
        return _Given(token, None, until)

    def _ask_plugin(self) -> _Given:
        plugin = self._identity.exec_plugin
        if plugin is None:
            raise AssertionError("called only where there is a plugin")
        printed = self._run(plugin, {"KUBERNETES_EXEC_INFO": json.dumps(self._about(plugin))})
        try:
            answer = msgspec.json.decode(printed, type=_ExecCredential)
        except msgspec.DecodeError as error:
            message = f"the credential plugin {plugin.command} prints no ExecCredential: {error}"
            raise ApiError(message) from None
        return self._taken(plugin, answer.status or _Status())

    def _taken(self, plugin: ExecPlugin, status: _Status) -> _Given:
        certificate = None
        if status.client_certificate_data and status.client_key_data:
            certificate = Certificate(
                status.client_certificate_data.encode(), status.client_key_data.encode()
            )
        if not status.token and certificate is None:
            raise ApiError(f"the credential plugin {plugin.command} gives no token")
        return _Given(status.token or "", certificate, self._end(plugin, status))

    def _end(self, plugin: ExecPlugin, status: _Status) -> float:
        """Give until when a credential is used: for ever where the plugin does not say."""
        if not status.expiration_timestamp:
            return float("inf")
        try:
            end = parse_timestamp(status.expiration_timestamp)
        except ValueFault as fault:
            raise ApiError(f"the credential plugin {plugin.command}: {fault.message}") from None
        left = (end.nanos - self._clock.now().nanos) / _NANOS - EARLY_SECONDS
        return self._clock.monotonic() + left

    def _about(self, plugin: ExecPlugin) -> dict[str, Any]:
        """Give what a plugin is told, in `KUBERNETES_EXEC_INFO`."""
        spec: dict[str, Any] = {"interactive": False}
        if plugin.provides_cluster:
            connection = self._connection
            spec["cluster"] = {
                "server": connection.server,
                "insecure-skip-tls-verify": not connection.verifies,
            }
            if connection.server_name:
                spec["cluster"]["tls-server-name"] = connection.server_name
            if connection.authority:
                encoded = base64.b64encode(connection.authority).decode()
                spec["cluster"]["certificate-authority-data"] = encoded
        return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
