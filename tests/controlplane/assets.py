"""Runs the kube-apiserver and etcd of KUBEBUILDER_ASSETS as `controlplane up` runs its own.

`python -m tests.controlplane.assets --data-dir DIR [-- FLAGS]` prints the same line
when the server is ready, stops at SIGTERM or the end of standard input, and starts again with the
objects, keys and port that it finds in DIR. Keys are made by the program `openssl`.
"""

import argparse
import base64
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from tests.controlplane.api import Api, RefusedError, UnreachableError

FLAGS = Path(__file__).with_name("kube-apiserver.flags")
NEEDED = ("kube-apiserver", "etcd")
ATTEMPTS = 600
"""How often the server is asked whether it is ready, a fifth of a second apart."""

NO_EXTENSIONS = "[req]\ndistinguished_name = name\n[name]\n"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365")


class IncompleteAssetsError(Exception):
    """KUBEBUILDER_ASSETS names a folder that lacks a program."""


def assets() -> Path | None:
    """Give the folder of KUBEBUILDER_ASSETS, None where it is not set.

    Raises IncompleteAssetsError.
    """
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return None
    missing = [name for name in NEEDED if not os.access(Path(named) / name, os.X_OK)]
    if missing:
        raise IncompleteAssetsError(
            f"KUBEBUILDER_ASSETS names {named}, which has no {' and no '.join(missing)}"
        )
    return Path(named)


class Cluster:
    """The folder of a cluster, and the two processes that serve it."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.keys, self.kubeconfig = folder / "keys", folder / "kubeconfig"
        if not self.kubeconfig.exists():
            self._make()
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        self.server: str = config["clusters"][0]["cluster"]["server"]
        self.etcd = f"http://127.0.0.1:{free_port()}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def _make(self) -> None:
        self.keys.mkdir(parents=True, exist_ok=True)
        authority = ("-addext", "basicConstraints=critical,CA:TRUE")
        self._issue("ca", "/CN=controlplane", *authority)
        signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE")
        names = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        usage = "extendedKeyUsage="
        self._issue(
            "server",
            "/CN=kube-apiserver",
            *signed,
            "-addext",
            names,
            "-addext",
            f"{usage}serverAuth",
        )
        self._issue("admin", "/O=system:masters/CN=admin", *signed, "-addext", f"{usage}clientAuth")
        self._openssl(
            "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "service-accounts.key"
        )
        token = secrets.token_urlsafe()
        (self.keys / "tokens.csv").write_text(
            f"{token},admin,admin,system:masters\n", encoding="utf-8"
        )
        self._write_kubeconfig(token)

    def _issue(self, name: str, subject: str, *extensions: str) -> None:
        (self.keys / "openssl.cnf").write_text(NO_EXTENSIONS, encoding="utf-8")
        request = ("req", "-x509", "-config", "openssl.cnf", "-subj", subject, *KEY)
        self._openssl(*request, "-keyout", f"{name}.key", "-out", f"{name}.crt", *extensions)

    def _openssl(self, *arguments: str) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            raise SystemExit("KUBEBUILDER_ASSETS needs the program openssl, to make keys")
        subprocess.run([openssl, *arguments], cwd=self.keys, check=True, stderr=subprocess.PIPE)

    def _write_kubeconfig(self, token: str) -> None:
        def data(name: str) -> str:
            return base64.b64encode((self.keys / name).read_bytes()).decode()

        users: dict[str, Any] = {
            "certificate": {
                "client-certificate-data": data("admin.crt"),
                "client-key-data": data("admin.key"),
            },
            "token": {"token": token},
        }
        server = f"https://127.0.0.1:{free_port()}"
        cluster = {"server": server, "certificate-authority-data": data("ca.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "certificate",
            "clusters": [{"name": "controlplane", "cluster": cluster}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [
                {"name": name, "context": {"cluster": "controlplane", "user": name}}
                for name in users
            ],
        }
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")

    def start(self, extra_flags: Sequence[str]) -> str:
        """Start both programs, wait until the server is ready, and give its version."""
        peer = f"http://127.0.0.1:{free_port()}"
        self._spawn("etcd", *_etcd_flags(self.folder / "etcd", self.etcd, peer))
        server = self._spawn("kube-apiserver", *self._server_flags(), *extra_flags)
        api = Api(self.kubeconfig)
        for _ in range(ATTEMPTS):
            try:
                api.get("/readyz")
                api.get("/api/v1/namespaces/default")
                return str(api.get("/version")["gitVersion"])
            except (RefusedError, UnreachableError):
                _wait_a_little(server)
        raise SystemExit("kube-apiserver did not become ready")

    def _spawn(self, name: str, *flags: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [self.programs / name, *flags], stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        self.processes.append(process)
        return process

    def _server_flags(self) -> list[str]:
        keys = self.keys
        fixed = FLAGS.read_text(encoding="utf-8").splitlines()
        return [
            f"--etcd-servers={self.etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.server.rpartition(':')[2]}",
            f"--tls-cert-file={keys / 'server.crt'}",
            f"--tls-private-key-file={keys / 'server.key'}",
            f"--client-ca-file={keys / 'ca.crt'}",
            f"--token-auth-file={keys / 'tokens.csv'}",
            f"--service-account-key-file={keys / 'service-accounts.key'}",
            f"--service-account-signing-key-file={keys / 'service-accounts.key'}",
            *(line for line in fixed if line.startswith("--")),
        ]

    def stop(self) -> None:
        """Stop the server, then etcd; what does not stop in three seconds is killed."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _etcd_flags(folder: Path, client: str, peer: str) -> list[str]:
    return [
        f"--data-dir={folder}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def _wait_a_little(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server may be asked again; a server that ends meanwhile ends this process."""
    try:
        server.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return
    raise SystemExit("kube-apiserver ended before it was ready: see its log above")


def free_port() -> int:
    """Give a port that nobody listens on, below those that the kernel gives to clients.

    None of them must get it while the server that had it is started again.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _end(_signal: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


def main(arguments: Sequence[str]) -> int:
    """Run a cluster in the folder given until told to stop."""
    parser = argparse.ArgumentParser(prog="tests.controlplane.assets")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("flags", nargs="*")
    chosen = parser.parse_args(arguments)
    programs = assets()
    if programs is None:
        parser.error("KUBEBUILDER_ASSETS is not set")
    cluster = Cluster(programs, chosen.data_dir.resolve())
    signal.signal(signal.SIGTERM, _end)
    try:
        version = cluster.start(chosen.flags)
        ready = {"kubeconfig": str(cluster.kubeconfig), "server": cluster.server}
        print(json.dumps(ready | {"etcd": cluster.etcd, "version": version}), flush=True)
        sys.stdin.buffer.read()
    finally:
        cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
