"""How the API server is reached: read from kubeconfig files, or from the pod's service account.

As kubectl reads them: `--kubeconfig` alone, else the files of `KUBECONFIG` merged, the first
winning, else `~/.kube/config`. The result is an immutable `Connection`; what may change while the
process runs (tokens, certificates of a plugin) is read by `policyd.kube.credentials`.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from policyd.kube.errors import ConfigError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token, certificate authority and namespace."""

_SCHEMES: Final = ("http", "https")
_PROXIES: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints credentials, by the API `client.authentication.k8s.io`."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    provides_cluster: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """Who policyd is for the API server. Any of these may be empty."""

    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    certificate: bytes = b""
    key: bytes = b""
    exec_plugin: ExecPlugin | None = None
    impersonate: tuple[tuple[str, str], ...] = ()  # headers

    def __repr__(self) -> str:  # which goes into logs
        return "<Identity>"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where an API server is, how it is known, and who policyd is there.

    `origin` says where that stands, for messages. `namespace` is that of the context, or of the
    pod that policyd runs in.
    """

    server: str
    origin: str
    authority: bytes = b""
    verifies: bool = True
    server_name: str = ""
    proxy: str = ""
    namespace: str = "default"
    identity: Identity = Identity()


def find_connection(
    kubeconfig: str = "", context: str = "", env: Mapping[str, str] = os.environ
) -> Connection:
    """Give the connection that the user means: a kubeconfig, or where there is none the pod's own.

    Raises:
        ConfigError: there is neither, or it cannot be used.
    """
    if kubeconfig or context:
        return from_kubeconfig([kubeconfig] if kubeconfig else default_files(env), context)
    existing = [file for file in default_files(env) if Path(file).exists()]
    if existing:
        return from_kubeconfig(existing)
    if env.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(env)
    raise ConfigError(
        "it is not known where the API server is",
        ", ".join(default_files(env)),
        "give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a service account",
    )


def default_files(env: Mapping[str, str]) -> list[str]:
    """Give the kubeconfig files that count where none is named, whether they exist or not."""
    listed = [file for file in env.get("KUBECONFIG", "").split(os.pathsep) if file]
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return list(dict.fromkeys(listed)) or [str(home / ".kube" / "config")]


# --- in a pod ---


def in_cluster(env: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT) -> Connection:
    """Give the connection of the service account of the pod that this runs in.

    Raises:
        ConfigError: this is no pod, or it has no service account.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError(
            "this does not run in a pod", "KUBERNETES_SERVICE_HOST", "give --kubeconfig FILE"
        )
    bracketed = f"[{host}]" if ":" in host else host
    hint = "let the pod have one: automountServiceAccountToken: true"
    authority = _read(folder / "ca.crt", hint)
    _read(folder / "token", hint)
    namespace = _read(folder / "namespace", hint).decode().strip()
    return Connection(
        server=f"https://{bracketed}:{port}",
        origin=str(folder),
        authority=authority,
        namespace=namespace or "default",
        identity=Identity(token_file=str(folder / "token")),
    )


def _read(path: Path, remedy: str = "check the name and who may read it") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError((error.strerror or str(error)).lower(), str(path), remedy) from None


# --- kubeconfig ---


@dataclass(frozen=True, slots=True)
class _Entry:
    """A cluster, user or context of a kubeconfig, with the file that it stands in."""

    file: str
    path: str
    content: Mapping[str, Any]

    def text(self, field: str) -> str:
        value = self.content.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(field, f"expected text, got {type(value).__name__}")
        return value

    def flag(self, field: str) -> bool:
        value = self.content.get(field, False)
        if not isinstance(value, bool):
            raise self.wrong(field, f"expected true or false, got {value!r}")
        return value

    def wrong(self, field: str, cause: str, remedy: str = "") -> ConfigError:
        return ConfigError(cause, f"{self.file}: {self.path}.{field}", remedy)

    def resolved(self, path: str) -> str:
        """Give a path, which is relative to the file that names it."""
        return str(Path(self.file).absolute().parent / path)

    def data(self, field: str) -> bytes:
        """Give what `FIELD-data` holds in base64, else the content of the file `FIELD`."""
        encoded = self.text(f"{field}-data")
        if encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise self.wrong(f"{field}-data", "this is not base64") from None
        named = self.text(field)
        if not named:
            return b""
        try:
            return _read(Path(self.resolved(named)))
        except ConfigError as error:
            cause = f"{error.place}: {error.cause}"
            raise self.wrong(field, cause, "check the name and who may read it") from None


@dataclass(slots=True)
class _Files:
    """Kubeconfig files, merged: of what has one name the first counts."""

    names: tuple[str, ...]
    current: str
    sections: dict[str, dict[str, _Entry]]

    def entry(self, section: str, name: str, field: str, wanted_by: str) -> _Entry:
        known = self.sections[section]
        if name in known:
            return known[name]
        there = f"there are {', '.join(sorted(known))}" if known else "there is none"
        raise ConfigError(f"there is no {field} {name!r}", wanted_by, there)


def from_kubeconfig(paths: Sequence[str], context: str = "") -> Connection:
    """Give the connection of a context, the current one where none is named.

    Raises:
        ConfigError: a file cannot be read, or what it says cannot be used.
    """
    files = _merged(paths)
    name = context or files.current
    where = ", ".join(files.names)
    if not name:
        raise ConfigError(
            "no context is chosen",
            f"{where}: current-context",
            "give --context NAME, or choose one: kubectl config use-context NAME",
        )
    chosen = files.entry("contexts", name, "context", where)
    place = f"{chosen.file}: {chosen.path}"
    cluster = files.entry("clusters", chosen.text("cluster"), "cluster", f"{place}.cluster")
    user_name = chosen.text("user")
    user = files.entry("users", user_name, "user", f"{place}.user") if user_name else None
    return Connection(
        server=_server(cluster),
        origin=f"{chosen.file}: context {name}",
        authority=cluster.data("certificate-authority"),
        verifies=not cluster.flag("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name"),
        proxy=_proxy(cluster),
        namespace=chosen.text("namespace") or "default",
        identity=Identity() if user is None else _identity(user),
    )


def _merged(paths: Sequence[str]) -> _Files:
    files = _Files(tuple(paths), "", {"clusters": {}, "contexts": {}, "users": {}})
    for path in paths:
        if len(paths) > 1 and not Path(path).exists():
            continue  # as kubectl does, where several are listed
        content = _parsed(path)
        current = content.get("current-context")
        files.current = files.current or (current if isinstance(current, str) else "")
        for section, known in files.sections.items():
            for at, (name, inner) in enumerate(_named(content, section, path)):
                known.setdefault(name, _Entry(path, f"{section}[{at}].{section[:-1]}", inner))
    return files


def _parsed(path: str) -> Mapping[str, Any]:
    data = _read(Path(path))
    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark is not None else path
        cause = getattr(error, "problem", None) or "this is not YAML"
        raise ConfigError(str(cause), place) from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError("this is not a kubeconfig: it is no map", path)
    return content


def _named(
    content: Mapping[str, Any], section: str, path: str
) -> list[tuple[str, Mapping[str, Any]]]:
    """Give the entries of a section: each is a name and a map."""
    entries = content.get(section) or []
    if not isinstance(entries, list):
        raise ConfigError("expected a list", f"{path}: {section}")
    found: list[tuple[str, Mapping[str, Any]]] = []
    for at, entry in enumerate(entries):
        place = f"{path}: {section}[{at}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ConfigError("expected a map with a name", place)
        inner = entry.get(section[:-1]) or {}
        if not isinstance(inner, dict):
            raise ConfigError("expected a map", f"{place}.{section[:-1]}")
        found.append((entry["name"], inner))
    return found


def _server(cluster: _Entry) -> str:
    server = cluster.text("server").rstrip("/")
    parts = urlsplit(server)
    if not server or parts.scheme not in _SCHEMES or not parts.hostname:
        raise cluster.wrong(
            "server", f"{server!r} is no address", "write it as in https://10.0.0.1:6443"
        )
    return server


def _proxy(cluster: _Entry) -> str:
    proxy = cluster.text("proxy-url")
    if proxy and urlsplit(proxy).scheme not in _PROXIES:
        raise cluster.wrong("proxy-url", f"{proxy!r} is no proxy that policyd can use", "use http")
    return proxy


def _identity(user: _Entry) -> Identity:
    if user.content.get("auth-provider"):
        raise user.wrong(
            "auth-provider", "Kubernetes removed these in 1.26", "use an exec plugin or a token"
        )
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if bool(certificate) != bool(key):
        lacking = "client-key" if certificate else "client-certificate"
        raise user.wrong(lacking, "a client certificate and its key go together", "give both")
    token_file = user.text("tokenFile")
    return Identity(
        token=user.text("token"),
        token_file=user.resolved(token_file) if token_file else "",
        username=user.text("username"),
        password=user.text("password"),
        certificate=certificate,
        key=key,
        exec_plugin=_plugin(user),
        impersonate=_impersonation(user),
    )


def _impersonation(user: _Entry) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", user.text("as")), ("Impersonate-Uid", user.text("as-uid"))]
    groups = user.content.get("as-groups") or []
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        raise user.wrong("as-groups", "expected a list of names")
    if len(groups) > 1:
        raise user.wrong("as-groups", "policyd can impersonate one group at most", "name one")
    headers += [("Impersonate-Group", group) for group in groups]
    if user.content.get("as-user-extra"):
        raise user.wrong("as-user-extra", "policyd does not impersonate extra fields", "leave out")
    return tuple((name, value) for name, value in headers if value)


def _plugin(user: _Entry) -> ExecPlugin | None:
    content = user.content.get("exec")
    if content is None:
        return None
    if not isinstance(content, dict):
        raise user.wrong("exec", "expected a map")
    plugin = _Entry(user.file, f"{user.path}.exec", content)
    version = plugin.text("apiVersion")
    if version not in (
        "client.authentication.k8s.io/v1",
        "client.authentication.k8s.io/v1beta1",
    ):
        raise plugin.wrong(
            "apiVersion", f"{version!r} is not known", "use client.authentication.k8s.io/v1"
        )
    command = plugin.text("command")
    if not command:
        raise plugin.wrong("command", "there is no command", "name the program to run")
    if os.sep in command:
        command = plugin.resolved(command)
    return ExecPlugin(
        command=command,
        api_version=version,
        args=_texts(plugin, "args"),
        env=_environment(plugin),
        install_hint=plugin.text("installHint"),
        provides_cluster=plugin.flag("provideClusterInfo"),
    )


def _texts(entry: _Entry, field: str) -> tuple[str, ...]:
    values = entry.content.get(field) or []
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise entry.wrong(field, "expected a list of texts", "put numbers in quotes")
    return tuple(values)


def _environment(entry: _Entry) -> tuple[tuple[str, str], ...]:
    values = entry.content.get("env") or []
    try:
        return tuple((str(each["name"]), str(each["value"])) for each in values)
    except (TypeError, KeyError):
        raise entry.wrong("env", "expected a list of maps with name and value") from None
