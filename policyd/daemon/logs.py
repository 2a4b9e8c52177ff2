"""Writes every log message of the process: a JSON object on a line, or a line to read.

Messages come from the standard library's logging, of policyd and of what it uses, and from
structlog; both get the same fields, an RFC 3339 time in UTC, and what must not be told is masked.
A warning that only repeats is written once a minute, with the number of those left out: a rule
that fails in every decision neither floods the log nor goes unseen.
"""

import json
import logging
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic
from traceback import format_exception
from typing import Any, Final, TextIO

import structlog
from structlog.stdlib import ExtraAdder, ProcessorFormatter
from structlog.tracebacks import ExceptionDictTransformer

from policyd.language.cells import visible
from policyd.metrics import Metrics

FORMS: Final = ("json", "text")
"""One JSON object a line, or a line for a person at a terminal."""

LEVELS: Final = ("debug", "info", "warning", "error")

REPEAT_SECONDS: Final = 60.0
"""For how long a warning that repeats is not written again."""

MOST_OF_A_KIND: Final = 100
"""How many warnings of one kind, whatever they tell of, are written in that time."""

MOST_KEPT: Final = 1000
"""How many warnings are remembered to be recognised."""

_TALKATIVE: Final = ("opentelemetry", "urllib3", "waitress", "watchdog", "werkzeug")
_MASK: Final = "[masked]"
_SECRET_NAMES: Final = re.compile(
    r"passw(or)?d|secret|token|authorization|credential|api_?key|private_?key", re.IGNORECASE
)
_SECRETS: Final = re.compile(
    r"(?P<kept>\bbearer\s+|\b[a-z][a-z0-9+.-]*://[^\s/:@]*:(?=[^\s/@]*@))[^\s\"',@]+"
    r"|\beyJ[\w-]+\.[\w-]+\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.IGNORECASE | re.DOTALL,
)

Fields = MutableMapping[str, Any]


class Logs:
    """What `configure_logs` set up; `close` takes it back and tells what was left out."""

    def __init__(self, handler: "_Handler", undo: Callable[[], None]) -> None:
        self._handler = handler
        self._undo = undo

    def close(self) -> None:
        """Write how often warnings repeated, and leave logging as it was."""
        self._handler.tell_all_repeats()
        self._undo()


def configure_logs(
    level: str = "info",
    form: str | None = None,
    stream: TextIO | None = None,
    *,
    metrics: Metrics | None = None,
    timer: Callable[[], float] = monotonic,
) -> Logs:
    """Have all messages from a level up written to a stream, standard error if none is given.

    Without a form it is `text` on a terminal and `json` elsewhere.

    Raises:
        ValueError: there is no such level or form.
    """
    if level not in LEVELS:
        raise ValueError(f"there is no log level {level!r}: it is one of {', '.join(LEVELS)}")
    if form is not None and form not in FORMS:
        raise ValueError(f"there is no log form {form!r}: it is one of {', '.join(FORMS)}")
    target = sys.stderr if stream is None else stream
    is_text = target.isatty() if form is None else form == "text"
    handler = _Handler(target, metrics, timer)
    handler.setFormatter(_formatter(_as_text if is_text else _as_json))
    return Logs(handler, _install(handler, logging.getLevelName(level.upper())))


def _install(handler: logging.Handler, level: int) -> Callable[[], None]:
    """Take the handler in use; give what takes it back."""
    root = logging.getLogger()
    before = {name: logging.getLogger(name).level for name in _TALKATIVE}
    root_level, configured = root.level, structlog.get_config()
    root.addHandler(handler)
    root.setLevel(level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(level + 10, logging.WARNING))
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )

    def undo() -> None:
        root.removeHandler(handler)
        root.setLevel(root_level)
        for name, old in before.items():
            logging.getLogger(name).setLevel(old)
        logging.captureWarnings(capture=False)
        structlog.configure(**configured)

    return undo


# --- repeats ---


@dataclass(slots=True)
class _Seen:
    """A warning that was written, and how often it came again since."""

    since: float
    written: int = 1
    left_out: int = 0
    fields: dict[str, Any] | None = None  # of the first that was left out


class Repeats:
    """Which warnings only repeat. Belongs to the handler, whose lock guards it."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Hashable, _Seen] = OrderedDict()  # the oldest is the first

    def is_due(self, key: Hashable, now: float, most: int = 1) -> bool:
        """Say whether one with this key is to be written, `most` of them in a while."""
        seen = self._seen.get(key)
        if seen is None or now - seen.since >= REPEAT_SECONDS:
            return True
        return seen.written < most

    def note(self, key: Hashable, now: float) -> int:
        """Take note of one that is written; give how many were left out before it."""
        seen = self._seen.get(key)
        if seen is not None and now - seen.since < REPEAT_SECONDS:
            seen.written += 1
            return 0
        self._seen.pop(key, None)
        self._seen[key] = _Seen(now)
        return 0 if seen is None else seen.left_out

    def leave_out(self, key: Hashable, record: logging.LogRecord) -> None:
        """Take note of one that is not written."""
        seen = self._seen[key]
        seen.left_out += 1
        if seen.fields is None:
            seen.fields = _bare(record)

    def over(self, now: float) -> list[_Seen]:
        """Forget those whose time is over, and those that are too many; give what they were."""
        found = []
        while self._seen:
            key, oldest = next(iter(self._seen.items()))
            if now - oldest.since < REPEAT_SECONDS and len(self._seen) <= MOST_KEPT:
                break
            del self._seen[key]
            found.append(oldest)
        return found

    def all_over(self) -> list[_Seen]:
        """Forget all; give what they were."""
        found, self._seen = list(self._seen.values()), OrderedDict()
        return found


def _bare(record: logging.LogRecord) -> dict[str, Any]:
    """Give a message to be repeated later, without its time and what it would keep alive."""
    fields = {**record.__dict__, "exc_info": None, "exc_text": None, "stack_info": None}
    del fields["created"]
    if not isinstance(record.msg, dict):
        fields |= {"msg": record.getMessage(), "args": ()}
    return fields


def _keys(record: logging.LogRecord) -> tuple[Hashable, Hashable]:
    """Give what a warning repeats: its own key, and that of its kind."""
    kind = (record.name, record.levelno, record.pathname, record.lineno)
    given = getattr(record, "repeats", None)
    if given is not None:
        return (kind, given), (kind, given)
    error = record.exc_info[1] if record.exc_info else None
    return (record.name, record.levelno, record.getMessage(), repr(error)), kind


class _Handler(logging.StreamHandler[TextIO]):
    """Writes messages to a stream, but for warnings that only repeat.

    An extra field `repeats` says what a warning repeats, where its text tells of more than that.
    """

    def __init__(self, stream: TextIO, metrics: Metrics | None, timer: Callable[[], float]) -> None:
        super().__init__(stream)
        self._metrics = metrics
        self._timer = timer
        self._repeats = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message, under this handler's lock."""
        if self._metrics is not None:
            self._metrics.log_messages(record.levelname.lower()).inc()
        try:
            now = self._timer()
            is_due = record.levelno < logging.WARNING or self._is_due(record, now)
            self._tell(self._repeats.over(now))
            if is_due:
                super().emit(record)
        except Exception:  # noqa: BLE001 - what is said must never stop who says it
            self.handleError(record)

    def tell_all_repeats(self) -> None:
        """Write what was left out, at the end."""
        self.acquire()
        try:
            self._tell(self._repeats.all_over())
        finally:
            self.release()

    def _is_due(self, record: logging.LogRecord, now: float) -> bool:
        own, kind = _keys(record)
        for key, most in {kind: MOST_OF_A_KIND, own: 1}.items():
            if not self._repeats.is_due(key, now, most):
                self._repeats.leave_out(key, record)
                if self._metrics is not None:
                    self._metrics.log_suppressed.inc()
                return False
        left_out = sum(self._repeats.note(key, now) for key in {own, kind})
        if left_out:
            record.left_out = left_out
        return True

    def _tell(self, seen: list[_Seen]) -> None:
        for each in seen:
            if each.left_out and each.fields is not None:
                again = {**each.fields, "left_out": each.left_out}
                super().emit(logging.makeLogRecord(again))


# --- fields ---

_Error = BaseException | None
_Render = Callable[[Mapping[str, Any], _Error], str]

_IN_FULL: Final = ExceptionDictTransformer(show_locals=False, max_frames=30, use_rich=False)
"""Exceptions as fields. Values of local variables may be secrets, and stay out."""


def _formatter(render: _Render) -> ProcessorFormatter:
    def rendered(_logger: Any, _method: str, fields: Fields) -> str:
        error = _error_of(fields.pop("exc_info", None))
        return render(_all_masked(_in_order(fields)), error)

    return ProcessorFormatter(foreign_pre_chain=[ExtraAdder()], processors=[rendered])


def _error_of(info: Any) -> _Error:
    """Give the exception of a message, in each of the ways in which one may be given."""
    if info is True:
        return sys.exc_info()[1]
    if isinstance(info, tuple):
        info = info[1]
    return info if isinstance(info, BaseException) else None


def _in_order(fields: Fields) -> dict[str, Any]:
    """Put first what every message has."""
    record: logging.LogRecord = fields.pop("_record")
    left_out = getattr(record, "left_out", 0)
    head = {
        "timestamp": _time_of(record),
        "level": record.levelname.lower(),
        "message": str(fields.pop("event", "")),
        "logger": record.name,
        "thread": record.threadName,
    }
    for name in ("_from_structlog", "repeats", "left_out"):
        fields.pop(name, None)
    return {**head, **fields, **head, **({"left_out": left_out} if left_out else {})}


def _time_of(record: logging.LogRecord) -> str:
    """Give the time of a message as RFC 3339 has it, in UTC."""
    at = datetime.fromtimestamp(record.created, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _all_masked(fields: dict[str, Any]) -> Mapping[str, Any]:
    """Mask the fields of a message; most have nothing to mask, which is seen in one look."""
    texts = []
    for name, value in fields.items():
        if isinstance(value, str):
            texts.append(value)
        elif not isinstance(value, int | float | None):
            return _masked_each(fields)
        if _is_secret_name(name):
            return _masked_each(fields)
    return _masked_each(fields) if _SECRETS.search("\n".join(texts)) else fields


def _masked_each(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: _masked(value, name) for name, value in fields.items()}


@lru_cache(maxsize=256)
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAMES.search(name) is not None


def _masked(value: Any, name: str = "") -> Any:
    """Mask what must not be told: by its name, or because it looks like it."""
    if isinstance(value, str):
        if _is_secret_name(name):
            return _MASK
        return _SECRETS.sub(_mask, value)
    if isinstance(value, Mapping):
        return {str(key): _masked(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(item, name) for item in value]
    return value


def _mask(found: re.Match[str]) -> str:
    return (found["kept"] or "") + _MASK


def _as_json(fields: Mapping[str, Any], error: _Error) -> str:
    whole = dict(fields)
    if error is not None:
        trace = _IN_FULL((type(error), error, error.__traceback__))
        whole["exception"] = _masked(trace)
    return _ENCODED(whole)


_ENCODED: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode
_HEAD: Final = ("timestamp", "level", "message", "logger", "thread")


def _as_text(fields: Mapping[str, Any], error: _Error) -> str:
    """Write a message on one line, and what is under it where it is an exception."""
    level, message = fields["level"], visible(fields["message"])
    rest = " ".join(
        f"{visible(name)}={_shown(value)}" for name, value in fields.items() if name not in _HEAD
    )
    line = f"{fields['timestamp']} {level.upper():<7} {message}" + (f"  {rest}" if rest else "")
    if error is None:
        return line
    trace = _masked("".join(format_exception(error))).splitlines()
    return "\n".join([line, *(f"    {visible(each)}" for each in trace)])


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _ENCODED(value)
    is_plain = text and not any(char.isspace() or char in '"=' for char in text)
    return visible(text if is_plain else json.dumps(text, ensure_ascii=False))
