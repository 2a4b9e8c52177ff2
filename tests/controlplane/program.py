"""Builds the control plane's Go program, and helm, once, and keeps them outside the repository.

They are kept in the user's cache folder under a hash of what they are made from, so that every
clone with the same sources has them. `python -m tests.controlplane.program` builds them ahead of
the tests.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
PROGRAMS = {"controlplane": ".", "helm": "helm.sh/helm/v3/cmd/helm"}
KEPT = 4
"""How many sets of programs stay in the cache; each is about 200 MB."""


class AbsentError(Exception):
    """The programs cannot be had on this machine; the message says what is missing."""


class BuildError(Exception):
    """The sources do not compile; the message ends with what the compiler said."""


def program(name: str) -> Path:
    """Give the path of `controlplane` or `helm`, built if it is not there yet.

    Raises AbsentError where there is no Go, or its modules cannot be downloaded, and BuildError.
    """
    return built() / name


@functools.cache
def _outcome() -> Path | Exception:
    try:
        return _build()
    except (AbsentError, BuildError) as failure:
        return failure


def built() -> Path:
    """Give the folder of the programs; what went wrong is found out once a process."""
    outcome = _outcome()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _build() -> Path:
    go = shutil.which("go")
    if not go:
        raise AbsentError("there is no Go toolchain (`go`) on the PATH")
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / _fingerprint(go)
    with _locked(cache / "lock"):
        if not all((folder / name).exists() for name in PROGRAMS):
            _download(go)
            _compile(go, folder)
            _forget_old(cache)
    os.utime(folder)
    return folder


def cache_folder() -> Path:
    """Give the folder for all sets of programs, by the XDG rules."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "policyd" / "controlplane"


def sources() -> list[Path]:
    """Give the files that the programs are made from."""
    return sorted(
        path
        for pattern in ("**/*.go", "go.*", "*.flags")
        for path in SOURCES.glob(pattern)
        if not path.name.endswith("_test.go")
    )


def _fingerprint(go: str) -> str:
    digest = hashlib.sha256()
    version = subprocess.run(
        [go, "env", "GOVERSION", "GOOS", "GOARCH"], capture_output=True, check=True
    )
    for part in [version.stdout, repr(_flags()).encode()]:
        digest.update(part + b"\0")
    for path in sources():
        digest.update(str(path.relative_to(SOURCES)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _flags() -> list[str]:
    """Give the flags of `go build`: no debug information, and the versions to be linked in."""
    kubernetes, helm = _version("k8s.io/kubernetes"), _version("helm.sh/helm/v3")
    _, minor, _ = kubernetes.removeprefix("v").split(".")
    linked = {
        "k8s.io/component-base/version.gitVersion": kubernetes,
        "k8s.io/component-base/version.gitMajor": "1",
        "k8s.io/component-base/version.gitMinor": minor,
        "helm.sh/helm/v3/internal/version.version": helm,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": minor,
    }
    return ["-ldflags=-s -w " + " ".join(f"-X {name}={it}" for name, it in linked.items())]


def _version(module: str) -> str:
    found = re.search(rf"{module} (v[\d.]+)", (SOURCES / "go.mod").read_text(encoding="utf-8"))
    assert found, f"go.mod requires no {module}"
    return found[1]


def _download(go: str) -> None:
    done = _go(go, "mod", "download")
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise AbsentError(f"Go modules cannot be had: {said[-1]}")


def _compile(go: str, folder: Path) -> None:
    print("building the test control plane (minutes, once)", file=sys.stderr, flush=True)
    making = folder.with_suffix(".making")
    making.mkdir(exist_ok=True)
    for name, package in PROGRAMS.items():
        done = _go(go, "build", *_flags(), "-o", str(making / name), package)
        if done.returncode:
            shutil.rmtree(making, ignore_errors=True)
            raise BuildError(f"go build {package} failed:\n{done.stderr[-4000:]}")
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)


def _go(go: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"GOWORK": "off", "CGO_ENABLED": "0"}
    nice = shutil.which("nice")
    return subprocess.run(
        [*([nice, "-n", "10"] if nice else []), go, *arguments],
        cwd=SOURCES,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process build while the others wait for what it builds."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_old(cache: Path) -> None:
    folders = sorted(
        (it for it in cache.iterdir() if it.is_dir()), key=lambda it: it.stat().st_mtime
    )
    for folder in folders[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Build the programs; where that cannot be, say why, which is for the tests to judge."""
    try:
        print(f"the test control plane is in {built()}")
    except AbsentError as absent:
        print(f"no test control plane: {absent}")
    except BuildError as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
