"""Where the records of decisions come from: a running policyd, or a file of JSON lines."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final
from urllib.parse import quote, urlsplit

import msgspec

from policyd.cli.failure import Failure, file_named, unreadable
from policyd.cli.notices import names
from policyd.language.suggest import closest
from policyd.policy.record import Brief, Record, RecordError, from_json

STDIN: Final = "-"
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 60.0
_MAX_ANSWER: Final = 64 * 2**20
_LISTED: Final = 10_000
_PATH: Final = "/debug/decisions"


def read_record(
    namespace: str, name: str, source: "str | Server", nodes: Sequence[str] = ()
) -> Record:
    """Give the record of a pod's last decision.

    `nodes` are asked for in full, which a file cannot add.

    Raises:
        Failure: there is none, or it cannot be read.
    """
    if isinstance(source, Server):
        return source.record(namespace, name, nodes)
    if source.startswith(("http://", "https://")):
        return Server(source).record(namespace, name, nodes)
    return _from_file(namespace, name, source)


def _unknown(namespace: str, name: str, known: Iterable[tuple[str, str]], source: str) -> Failure:
    """Say that there is no decision for a pod, and which pod may be meant."""
    titles = sorted({f"{each[0]}/{each[1]}" for each in known})
    wanted = f"{namespace}/{name}"
    elsewhere = next((title for title in titles if title.endswith(f"/{name}")), None)
    near = elsewhere or closest(wanted, titles)
    remedy = f"there are {names(titles)}" if titles else "no decision was made yet"
    return Failure(
        f"there is no decision for pod {wanted}",
        source,
        f"did you mean `{near}`?" if near else remedy,
    )


# --- a file ---


class _PodName(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class _Named(msgspec.Struct, frozen=True):
    """As much of a record as tells whose it is."""

    pod: _PodName


def _from_file(namespace: str, name: str, path: str) -> Record:
    """Give the last record of a pod in a file; the others of the pod count as earlier ones."""
    title = "<stdin>" if path == STDIN else path
    found: list[Record] = []
    known: dict[tuple[str, str], None] = {}
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{title}:{number}"
            pod = _pod_of(line, place)
            known[pod.namespace, pod.name] = None
            if (pod.namespace, pod.name) == (namespace, name):
                found.append(_read(line, place))
    if not found:
        raise _unknown(namespace, name, known, title)
    return _with_earlier(found)


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with file_named(path).open("rb") as file:
            yield file
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _pod_of(line: bytes, place: str) -> _PodName:
    try:
        return msgspec.json.decode(line, type=_Named).pod
    except (msgspec.DecodeError, UnicodeDecodeError):
        _read(line, place)  # which says what is wrong with it, and of which version it is
        raise


def _read(text: bytes, place: str) -> Record:
    try:
        return from_json(text)
    except RecordError as error:
        raise Failure(
            error.message,
            place,
            "give what `policyd simulate --record` or a policyd of this version wrote",
        ) from None


def _with_earlier(found: Sequence[Record]) -> Record:
    last = found[-1]
    if last.earlier or len(found) == 1:
        return last
    earlier = tuple(_brief(record) for record in reversed(found[:-1]))
    return msgspec.structs.replace(last, earlier=earlier, attempt=len(found))


def _brief(record: Record) -> Brief:
    return Brief(
        id=record.id,
        time=record.time,
        namespace=record.pod.namespace,
        name=record.pod.name,
        result=record.result,
        message=record.message,
        node=record.node,
    )


# --- a running policyd ---


class _Listing(msgspec.Struct, frozen=True):
    decisions: tuple[Brief, ...]


class _Told(msgspec.Struct, frozen=True):
    message: str
    help: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: _Told


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


class Server:
    """A running policyd, by the URL of its HTTP endpoints."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        if not _has_host(url):
            raise Failure(f"`{url}` is no URL", "--from", "write it as in `http://127.0.0.1:10259`")

    def record(self, namespace: str, name: str, nodes: Sequence[str]) -> Record:
        """Give the record of a pod's last decision.

        Raises:
            Failure: there is none, or it cannot be read.
        """
        path = f"{_PATH}/{quote(namespace, safe='')}/{quote(name, safe='')}"
        query = "&".join(f"node={quote(node, safe='')}" for node in nodes)
        status, body = self._get(f"{path}?{query}" if query else path)
        if status == 404:
            raise _unknown(namespace, name, self._known(), self._url)
        self._refuse(status, body)
        return _read(body, self._url + path)

    def _known(self) -> list[tuple[str, str]]:
        status, body = self._get(f"{_PATH}?limit={_LISTED}")
        self._refuse(status, body)
        try:
            listing = msgspec.json.decode(body, type=_Listing)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._no_policyd("it does not list decisions") from None
        return [(each.namespace, each.name) for each in listing.decisions]

    def _refuse(self, status: int, body: bytes) -> None:
        """Pass on what the server says where it does not answer with 200."""
        if status == 200:
            return
        try:
            told = msgspec.json.decode(body, type=_Refusal).error
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._no_policyd(f"its status is {status}") from None
        raise Failure(f"it answers {status}: {told.message}", self._url, told.help)

    def _no_policyd(self, cause: str) -> Failure:
        return Failure(
            f"this does not answer as policyd does: {cause}",
            self._url,
            "give the address of `policyd run` with `--from http://HOST:PORT`",
        )

    def _get(self, path: str) -> tuple[int, bytes]:
        """Ask for a path; give the status and the body."""
        try:
            import urllib3  # noqa: PLC0415 - an extra, and only needed here
        except ImportError:
            raise Failure(
                "asking a running policyd needs the package urllib3",
                self._url,
                "install policyd with the extra `run`: `pip install 'policyd[run]'`",
            ) from None
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
        pool = urllib3.PoolManager(retries=False, timeout=timeout)
        try:
            answer = pool.request("GET", self._url + path, preload_content=False)
            body = answer.read(_MAX_ANSWER, decode_content=True)
            answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise self._unanswered(error) from None
        finally:
            pool.clear()
        return answer.status, body

    def _unanswered(self, error: Exception) -> Failure:
        cause = re.sub(r".*: |\[Errno \d+\] ", "", str(error)).lower()
        return Failure(
            f"nothing answers here: {cause}",
            self._url,
            "is `policyd run` at work? In a cluster, `kubectl port-forward` to it; or give a file"
            " of records with `--from FILE`",
        )
