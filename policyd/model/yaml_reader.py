"""Reads YAML as kubectl reads it, into the values that JSON has.

The scanner is libyaml (PyYAML's), of which kubectl's is a port, so both refuse the same texts.
What scalars mean is kubectl's (sigs.k8s.io/yaml over go-yaml v2), not PyYAML's: `yes`, `on` and
`y` are booleans, `0755` is 493 and `0o17` is 15, `1_000` is 1000, `1e3` and `.5` are floats, a
time and `1:20` are texts, keys that are numbers or booleans become texts, and unknown tags are
passed over. `.inf` and `.nan` are refused: JSON has neither.

It differs from kubectl in two points. A key that stands twice in a map is an error, where kubectl
silently takes the last. And `08`, which is no octal number, is a text as in YAML 1.1, where kubectl
takes it for 8.0 and then refuses it: other programs write such texts without quotes.

Values are built from the parser's events without recursion, to a depth of `MAX_DEPTH`, and what
aliases add is counted, so no text can cost more than its size.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, Final

import yaml

from policyd.values.quoting import quote

MAX_DEPTH: Final = 100
"""How many maps and lists may stand in each other."""

MAX_ALIASED: Final = 10_000_000
"""How many values and characters all aliases of one document may add to it."""

_SHOWN: Final = 40  # characters of a wrong text that a message repeats
# A PyYAML built without libyaml has the pure Python scanner only, which refuses more tabs.
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_MISSING: Final = object()
_MERGE: Final = object()
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True
    ),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_OCTAL: Final = re.compile(r"[-+]?0[0-9]+")  # as `_INT` did not match: 08, 0129
_NOT_FINITE: Final = re.compile(r"[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")
_UNCLOSED: Final = "found unexpected end of stream"
_NEST_LESS: Final = f"nest at most {MAX_DEPTH} levels deep"
_LONGEST_NUMBER: Final = 400  # digits; longer ones are beyond a double, which makes them texts
_REMEDIES: Final = (
    ("cannot start any token", "indent with spaces, and quote texts that start with a sign"),
    (
        "mapping values are not allowed",
        "check the indentation, or quote a text that has `: ` in it",
    ),
    ("could not find expected ':'", "check the indentation and the quotes of the lines above"),
    ("did not find expected key", "check the indentation of this line and the ones above"),
    ("did not find expected '-' indicator", "start each element of the list with `- `"),
    ("unexpected end of stream", "close the quote that was opened"),
    (
        "control characters are not allowed",
        "write it as an escape such as \\u0007 in a quoted text",
    ),
    ("nesting depth", _NEST_LESS),
)


class YamlError(Exception):
    """A text that is not YAML, or not YAML that JSON could carry.

    `line` and `column` count from 1 in the text; `remedy` may be empty.
    """

    def __init__(self, cause: str, line: int, column: int, remedy: str = "") -> None:
        super().__init__(cause)
        self.cause: Final = cause
        self.line: Final = line
        self.column: Final = column
        self.remedy: Final = remedy


class UnknownAliasError(YamlError):
    """An alias whose anchor is not in the text before it."""


Step = str | int
Marks = dict[tuple[Step, ...], tuple[int, int]]
"""Lines and columns, from 1, of the values at paths of keys and positions in a document."""


def read_yaml(text: str, marked: int = 2) -> Iterator[tuple[Any, Marks]]:
    """Give each document's value, and the places of what is at most `marked` levels deep in it.

    Values are `dict` with text keys, `list`, `str`, `int`, `float`, `bool` and None, and those
    that aliases repeat are shared: they must not be changed. Comments alone are no document.

    Raises:
        YamlError: the text cannot be read.
    """
    return _Reader(text, marked).documents()


def locate(text: str, path: tuple[Step, ...], document: int = 0) -> tuple[int, int]:
    """Give line and column of the value at a path of keys and positions, as near as it exists.

    `document` is the position of the document in the text. The places in one document are kept
    until another is asked for, so that many questions cost little more than one.

    Raises:
        YamlError: the text cannot be read.
    """
    marks = _all_marks(text, document)
    lengths = range(len(path), -1, -1)
    return next((marks[path[:length]] for length in lengths if path[:length] in marks), (1, 1))


@lru_cache(maxsize=1)
def _all_marks(text: str, document: int) -> Marks:
    for at, (_, marks) in enumerate(read_yaml(text, MAX_DEPTH)):
        if at == document:
            return marks
    return {}


class _Frame:
    """A map or list that is being built."""

    __slots__ = ("anchor", "items", "key", "merges", "start", "values")

    def __init__(self, anchor: str | None, start: int, *, is_map: bool) -> None:
        self.anchor = anchor
        self.start = start
        self.items: list[Any] = []
        self.values: dict[str, Any] | None = {} if is_map else None
        self.key: Any = _MISSING
        self.merges: list[dict[str, Any]] | None = None


class _Reader:
    """Builds the values of one text from the parser's events."""

    def __init__(self, text: str, marked: int) -> None:
        self.text = text.removeprefix("\ufeff")
        self.marked = marked
        self.marks: Marks = {}
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.size = 0  # values and characters so far, those of aliases included
        self.aliased = 0

    def documents(self) -> Iterator[tuple[Any, Marks]]:
        loader: Any = None
        try:
            loader = _Loader(self.text)
            yield from self._documents(loader.get_event)
        except yaml.MarkedYAMLError as error:
            raise _marked(error) from None
        except yaml.reader.ReaderError as error:
            raise self._unreadable(error) from None
        finally:
            if loader is not None:
                loader.dispose()

    def _documents(self, next_event: Callable[[], Any]) -> Iterator[tuple[Any, Marks]]:
        while True:
            kind = next_event().__class__
            if kind is yaml.DocumentStartEvent:
                self.anchors, self.marks, self.size, self.aliased = {}, {}, 0, 0
                value = self._value(next_event)
                if value is not _MISSING:
                    yield value, self.marks
            elif kind is yaml.StreamEndEvent:
                return

    def _value(self, next_event: Callable[[], Any]) -> Any:
        """Build one document's value; `_MISSING` where it holds nothing but comments."""
        event, stack, marked = next_event(), self.stack, self.marked
        if _is_nothing(event):
            next_event()
            return _MISSING
        while True:
            kind = event.__class__
            if len(stack) <= marked:
                self._mark(event)
            if kind is yaml.ScalarEvent:
                value = self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(event, is_map=kind is yaml.MappingStartEvent)
                event = next_event()
                continue
            elif kind is yaml.AliasEvent:
                value = self._alias(event)
            else:
                value = self._close()
            if not stack:
                next_event()  # the document's end
                return value
            self._add(value, event)
            event = next_event()

    def _mark(self, event: Any) -> None:
        """Keep the place of a value that starts with this event."""
        kind = event.__class__
        if kind not in _STARTS or self._expects_key():
            return
        path = tuple(
            frame.key if frame.values is not None else len(frame.items) for frame in self.stack
        )
        self.marks[path] = (event.start_mark.line + 1, event.start_mark.column + 1)

    def _open(self, event: Any, *, is_map: bool) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise _at(event, f"nested deeper than {MAX_DEPTH} levels", _NEST_LESS)
        self.size += 1
        self.stack.append(_Frame(event.anchor, self.size, is_map=is_map))

    def _close(self) -> Any:
        frame = self.stack.pop()
        value: Any = frame.items if frame.values is None else frame.values
        if frame.merges:
            value = _merged(frame)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = value, self.size - frame.start + 1
        return value

    def _scalar(self, event: Any) -> Any:
        text = event.value
        self.size += len(text) + 1
        value: Any = text
        if event.implicit[0]:
            value = self._plain(event, text)
        elif event.tag and event.tag.startswith(_TAG):
            value = self._tagged(event, text)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, len(text) + 1
        return value

    def _plain(self, event: Any, text: str) -> Any:
        if text == "<<" and self._expects_key():
            return _MERGE
        value = resolve(text)
        if isinstance(value, float) and not isfinite(value):
            raise _at(event, f"`{text}` is no number that JSON has", "quote it if it is a text")
        return value

    def _expects_key(self) -> bool:
        return bool(self.stack) and (
            self.stack[-1].values is not None and self.stack[-1].key is _MISSING
        )

    def _tagged(self, event: Any, text: str) -> Any:
        tag = event.tag.removeprefix(_TAG)
        wanted = _TAGGED.get(tag)
        if tag == "binary":
            raise _at(event, "the tag `!!binary` is not read", "write base64 text without a tag")
        if tag == "merge" and text == "<<" and self._expects_key():
            return _MERGE
        if wanted is None:
            return text
        value = resolve(text)
        if tag == "float" and value.__class__ is int:
            value = float(value)
        if value.__class__ is not wanted or (isinstance(value, float) and not isfinite(value)):
            raise _at(event, f"{quote(text, _SHOWN)} is no value of the tag `!!{tag}`")
        return value

    def _alias(self, event: Any) -> Any:
        found = self.anchors.get(event.anchor)
        if found is None:
            mark = event.start_mark
            name = quote(event.anchor, _SHOWN)
            raise UnknownAliasError(
                f"the alias {name} has no anchor that is complete before it",
                mark.line + 1,
                mark.column + 1,
                "set the anchor with `&` before its first use, in the same document",
            )
        value, size = found
        self.size += size
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise _at(
                event,
                f"aliases add more than {MAX_ALIASED} values and characters to the document",
                "write the values out, or repeat less",
            )
        return value

    def _add(self, value: Any, event: Any) -> None:
        """Put a complete value where it belongs in the innermost map or list."""
        frame = self.stack[-1]
        values = frame.values
        if values is None:
            frame.items.append(value)
        elif frame.key is _MISSING:
            frame.key = self._key(value, event, values)
        elif frame.key is _MERGE:
            frame.key = _MISSING
            self._merge(frame, value, event)
        else:
            values[frame.key] = value
            frame.key = _MISSING

    def _key(self, value: Any, event: Any, values: dict[str, Any]) -> Any:
        if value is _MERGE:
            return value
        if value.__class__ is not str:
            value = _key_text(value, event)
        if value in values:
            raise _at(
                event,
                f"the key {quote(value, _SHOWN)} stands twice in this map",
                "remove one of the two: kubectl would take the last",
            )
        return value

    def _merge(self, frame: _Frame, value: Any, event: Any) -> None:
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in maps):
            raise _at(event, "`<<` merges maps, and this is none", "refer to an anchor on a map")
        frame.merges = [*(frame.merges or ()), *maps]

    def _unreadable(self, error: Any) -> YamlError:
        """Say where the character is that YAML does not allow."""
        # libyaml counts bytes here; the first such character is the one.
        before = self.text[: max(self.text.find(chr(error.character)), 0)]
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        cause = f"the character U+{error.character:04X} is not allowed in YAML"
        return YamlError(cause, line, column, _remedy("control characters are not allowed"))


_STARTS: Final = frozenset(
    (yaml.ScalarEvent, yaml.AliasEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent)
)
_TAGGED: Final[dict[str, type]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "null": type(None),
}


def _is_nothing(event: Any) -> bool:
    """Say whether a document's first event stands for the absence of a value."""
    return (
        event.__class__ is yaml.ScalarEvent
        and event.implicit[0]
        and not event.value
        and not event.anchor
    )


def resolve(text: str) -> Any:
    """Give what a scalar without quotes means to kubectl. Infinities and NaN come as floats."""
    value = _WORDS.get(text, _MISSING)
    if value is not _MISSING:
        return value
    return _number(text) if text[0] in _NUMBER_STARTS else text


def _number(text: str) -> Any:
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    if len(text) > _LONGEST_NUMBER or _DATE.fullmatch(text):
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if _INT.fullmatch(plain):
        whole = _whole(plain)
        return whole if -(2**63) <= whole < 2**64 else float(whole)
    if not _FLOAT.fullmatch(plain) or _NOT_OCTAL.fullmatch(plain):
        return text
    number = float(plain)
    return number if isfinite(number) else text


def _whole(text: str) -> int:
    """Read an integer as Go does: a leading zero means octal."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    return sign * (int(digits, 8) if octal else int(digits, 0))


def _key_text(value: Any, event: Any) -> str:
    """Give the text of a key that is not one, as kubectl makes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.17g}" if value.is_integer() else repr(value)
    what = "null" if value is None else "a map" if isinstance(value, dict) else "a list"
    raise _at(event, f"a key must be a text, and this is {what}", "quote it")


def _merged(frame: _Frame) -> dict[str, Any]:
    """Put what `<<` brings under what the map says itself; earlier maps win over later ones."""
    merged: dict[str, Any] = {}
    for each in reversed(frame.merges or ()):
        merged |= each
    return merged | (frame.values or {})


def _at(event: Any, cause: str, remedy: str = "") -> YamlError:
    mark = event.start_mark
    return YamlError(cause, mark.line + 1, mark.column + 1, remedy)


def _marked(error: yaml.MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    if error.problem == _UNCLOSED:
        mark = error.context_mark or mark  # where the quote opens, not where the text ends
    problem = error.problem or "the text is not YAML"
    cause = f"{problem} ({error.context})" if error.context else problem
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return YamlError(cause, line, column, _remedy(problem))


def _remedy(problem: str) -> str:
    return next((remedy for cause, remedy in _REMEDIES if cause in problem), "")
