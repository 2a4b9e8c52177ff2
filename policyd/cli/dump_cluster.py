"""Reads a live cluster for commands: into a file, or into the memory of this process."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from policyd.cli.failure import Failure, os_failure
from policyd.cli.live import Live, client_of
from policyd.cli.notices import print_note
from policyd.cli.report import in_words
from policyd.model.manifests import Manifests, read_bytes

if TYPE_CHECKING:
    from policyd.kube.dump import Dump

_TOLD: Final = {"Node": "node", "Pod": "pod", "Namespace": "namespace"}


def read_cluster(live: Live) -> tuple[Manifests, str]:
    """Read a live cluster as `read_stream` would its dump; and give the server's address.

    Raises:
        Failure: it cannot be read.
    """
    source = _dump(live)
    data = b"".join(_pieces(source))
    _note_left_out(source)
    server = source.client.connection.server
    source.client.close()
    return read_bytes(data, server), server


def dump_cluster(live: Live, file: str | None, output: str, *, redact: bool) -> None:
    """Write a live cluster to a file, whole or not at all, or to standard output.

    Raises:
        Failure: it cannot be read, or the file cannot be written.
    """
    source = _dump(live, redact=redact)
    pieces = _pieces(source) if output == "json" else _as_yaml(source)
    if file is None or file == "-":
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    else:
        _write(Path(file), pieces)
    _note_left_out(source)
    counts = ", ".join(in_words(source.counts[kind], word) for kind, word in _TOLD.items())
    print_note(f"{counts} from {source.client.connection.server}")
    source.client.close()


def _dump(live: Live, *, redact: bool = False) -> "Dump":
    client = client_of(live)
    from policyd.kube.dump import Dump  # noqa: PLC0415 - needs urllib3

    if not redact:
        return Dump(client)
    from policyd.kube.redact import Redaction  # noqa: PLC0415 - rarely needed

    return Dump(client, Redaction().redacted)


def _pieces(source: "Dump") -> Iterator[bytes]:
    """Give the dump's JSON.

    Raises:
        Failure: the cluster cannot be read.
    """
    try:
        yield from source.document()
    except Exception as error:
        raise _failure(error, source) from error


def _as_yaml(source: "Dump") -> Iterator[bytes]:
    """Give the dump as one YAML document."""
    import yaml  # noqa: PLC0415 - rarely needed

    from policyd.kube.dump import decoded  # noqa: PLC0415 - needs urllib3

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yield b"apiVersion: v1\nkind: List\nitems:\n"
    try:
        for each in source.objects():
            text = yaml.dump([decoded(each)], Dumper=dumper, sort_keys=False, allow_unicode=True)
            yield text.encode()
    except Exception as error:
        raise _failure(error, source) from error


def _failure(error: Exception, source: "Dump") -> Exception:
    """Say what keeps the cluster from being read; pass on what is a fault of policyd."""
    from policyd.kube.errors import FORBIDDEN, UNAUTHORISED, ApiError  # noqa: PLC0415 - as above

    if not isinstance(error, ApiError):
        return error
    connection = source.client.connection
    remedy = f"check that {connection.server} can be reached from here"
    if error.status == UNAUTHORISED:
        remedy = "check the credentials, or log in again"
    elif error.status == FORBIDDEN:
        remedy = "let this user list nodes, pods and namespaces"
    return Failure(error.message, connection.origin, remedy)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file beside and then in place, so that a dump that breaks off replaces nothing."""
    try:
        folder = path.resolve().parent
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", delete=False) as out:
            beside = Path(out.name)
            try:
                _fill(out, pieces)
                umask = os.umask(0)
                os.umask(umask)
                beside.chmod(0o666 & ~umask)
                beside.replace(path)
            except BaseException:
                beside.unlink()
                raise
    except OSError as error:
        raise os_failure(error, str(path)) from None


def _fill(out: IO[bytes], pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        out.write(piece)
    out.flush()


def _note_left_out(source: "Dump") -> None:
    for text in source.left_out:
        print_note(text)
