"""Strings: searching, cutting and changing them, and the sizes of everything that has one.

Core CEL and cel-go's strings extension
(https://pkg.go.dev/github.com/google/cel-go/ext#Strings), version 2 in Kubernetes. Positions
count code points. `format` is in `formatting.py`.
"""

from collections.abc import Callable, Sized
from hashlib import blake2b
from typing import Any, Final

from policyd.language.declarations import Function, Library, Overload, function, overload
from policyd.language.dialect import Dialect
from policyd.language.libraries import formatting
from policyd.language.sizes import bounded_list, bounded_text, one_text_cost, text_cost
from policyd.values.errors import ValueFault

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWERED: Final = str.maketrans(_UPPER, _UPPER.lower())
_RAISED: Final = str.maketrans(_UPPER.lower(), _UPPER)
# What Unicode calls white space. Python's `strip()` would take U+001C to U+001F away as well.
_BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_SHORT: Final = 32
_QUOTED: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def library(dialect: Dialect) -> Library:
    """Declare the functions."""
    return Library(
        "strings",
        (
            _size(),
            _predicate("contains", "contains_string", _contains, "holds another"),
            _predicate("startsWith", "starts_with_string", str.startswith, "begins with another"),
            _predicate("endsWith", "ends_with_string", str.endswith, "ends with another"),
            *_searching(dialect),
            *_cutting(),
            *_changing(dialect),
            _join(),
            formatting.declare(dialect),
            *((_hash(),) if dialect is Dialect.KUBERNETES else ()),
        ),
    )


def _by_length(text: str, *_: object) -> int:
    return text_cost(len(text))


def _changed(id_: str, implementation: Callable[[str], str], doc: str, name: str) -> Function:
    """Declare a method that gives a string about as long as the one it is of."""
    made = overload(id_, "string.() -> string", implementation, cost=_by_length)
    return function(name, made, doc=doc)


def _size() -> Function:
    sized: tuple[tuple[str, str], ...] = (
        ("string", "string"),
        ("bytes", "bytes"),
        ("list", "list(A)"),
        ("map", "map(A, B)"),
    )
    return function(
        "size",
        *(overload(f"size_{name}", f"({type_}) -> int", _length) for name, type_ in sized),
        *(overload(f"{name}_size", f"{type_}.() -> int", _length) for name, type_ in sized),
        doc="Counts the characters of a string, or what bytes, a list or a map hold.",
    )


def _length(value: Sized) -> int:
    return len(value)


def _predicate(
    name: str, id_: str, implementation: Callable[[str, str], bool], what: str
) -> Function:
    """Declare a question about a string, to which null, an absent label, answers no."""

    def unless_null(text: str | None, part: str) -> bool:
        return text is not None and implementation(text, part)

    def searching(text: str | None, _: str) -> int:
        return text_cost(len(text)) if text is not None else 0

    def comparing(_: str | None, part: str) -> int:
        return one_text_cost(part)  # at one end only

    cost = searching if name == "contains" else comparing
    return function(
        name,
        overload(id_, "string.(string) -> bool", implementation, cost=cost),
        overload(
            f"nullable_{id_}",
            "string?.(string) -> bool",
            unless_null,
            cost=cost,
            portable=False,
        ),
        doc=f"Says whether a string {what}; null does not.",
    )


def _contains(text: str, part: str) -> bool:
    return part in text


def _hash() -> Function:
    made = overload("hash_string", "(string) -> int", stable_hash, cost=_by_length, portable=False)
    return function(
        "hash",
        made,
        doc="Gives a number of a string, 0 to 2^63 - 1: the same one always, on every machine.",
    )


def stable_hash(text: str) -> int:
    """Give the first 63 bits of a text's BLAKE2b digest of 8 bytes."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


# --- searching -------------------------------------------------------------------------------


def _searching(dialect: Dialect) -> tuple[Function, ...]:
    kubernetes = dialect is Dialect.KUBERNETES
    after = _index_of_from_lenient if kubernetes else _index_of_from
    before = _last_index_of_from_lenient if kubernetes else _last_index_of_from
    return (
        function(
            "indexOf",
            _search("string_index_of_string", "string", str.find),
            _search("string_index_of_string_int", "string, int", after),
            doc="Gives where a string or an element stands first, from 0, or -1.",
        ),
        function(
            "lastIndexOf",
            _search("string_last_index_of_string", "string", _last_index_of),
            _search("string_last_index_of_string_int", "string, int", before),
            doc="Gives where a string or an element stands last, from 0, or -1.",
        ),
    )


def _search(id_: str, params: str, implementation: Callable[..., int]) -> Overload:
    return overload(id_, f"string.({params}) -> int", implementation, cost=_by_length)


def _last_index_of(text: str, part: str) -> int:
    if len(part) < _SHORT:
        return text.rfind(part)
    # Python searches backwards in quadratic time, and forwards in linear time.
    found = text[::-1].find(part[::-1])
    return found if found < 0 else len(text) - len(part) - found


def _index_of_from(text: str, part: str, offset: int) -> int:
    if not 0 <= offset <= len(text):
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of_from(text: str, part: str, offset: int) -> int:
    if not 0 <= offset <= len(text):
        raise _out_of_range(offset)
    return _last_index_of(text[: offset + len(part)], part)


def _index_of_from_lenient(text: str, part: str, offset: int) -> int:
    """Search as version 2 does: nothing is everywhere, and past the end there is nothing else."""
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset) if offset < len(text) else -1


def _last_index_of_from_lenient(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return _last_index_of(text[: offset + len(part)], part) if offset < len(text) else -1


def _out_of_range(index: int) -> ValueFault:
    return ValueFault(f"index out of range: {index}")


# --- cutting ---------------------------------------------------------------------------------


def _cutting() -> tuple[Function, ...]:
    return (
        function(
            "charAt",
            overload("string_char_at_int", "string.(int) -> string", _char_at),
            doc="Gives the character at a position, and the empty string at the end.",
        ),
        function(
            "substring",
            overload(
                "string_substring_int", "string.(int) -> string", _substring_from, cost=_by_length
            ),
            overload(
                "string_substring_int_int",
                "string.(int, int) -> string",
                _substring,
                cost=_by_length,
            ),
            doc="Gives the part of a string from one position up to but without another.",
        ),
        _changed(
            "string_trim", _trim, "Takes white space away from both ends of a string.", "trim"
        ),
        function(
            "split",
            overload(
                "string_split_string", "string.(string) -> list(string)", _split, cost=_split_cost
            ),
            overload(
                "string_split_string_int",
                "string.(string, int) -> list(string)",
                _split,
                cost=_split_cost,
            ),
            doc="Cuts a string at a separator, into at most so many parts where that is given.",
        ),
    )


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _substring_from(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring(text: str, start: int, end: int) -> str:
    if start > end:
        raise ValueFault(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_BLANKS)


def _parts(text: str, separator: str, limit: int) -> int:
    """Count the parts that a string is cut into; a negative `limit` is none."""
    whole = text.count(separator) + 1 if separator else len(text)
    return whole if limit < 0 else min(whole, limit)


def _split_cost(text: str, separator: str, limit: int = -1) -> int:
    return text_cost(len(text)) + _parts(text, separator, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    parts = bounded_list(_parts(text, separator, limit))
    if parts == 0:
        return []
    if separator:
        return text.split(separator, parts - 1)
    return [*text[: parts - 1], text[parts - 1 :]]


# --- changing --------------------------------------------------------------------------------


def _changing(dialect: Dialect) -> tuple[Function, ...]:
    reverse = overload(
        "string_reverse",
        "string.() -> string",
        _reverse,
        cost=_by_length,
        portable=dialect is Dialect.CEL,
    )
    return (
        _changed(
            "string_lower_ascii",
            _lower,
            "Makes the letters A to Z of a string small.",
            "lowerAscii",
        ),
        _changed(
            "string_upper_ascii",
            _upper,
            "Makes the letters a to z of a string capitals.",
            "upperAscii",
        ),
        function(
            "replace",
            _replacing("string_replace_string_string", "string, string"),
            _replacing("string_replace_string_string_int", "string, string, int"),
            doc="Puts a string in the place of another, at most so many times where that is given.",
        ),
        function("reverse", reverse, doc="Turns a string or a list round."),
        function(
            "strings.quote",
            overload(
                "strings_quote",
                "(string) -> string",
                quoted,
                cost=lambda text: text_cost(len(text) * 2),
            ),
            doc="Writes a string as a literal, in double quotes.",
        ),
    )


def _lower(text: str) -> str:
    return text.translate(_LOWERED)


def _upper(text: str) -> str:
    return text.translate(_RAISED)


def _reverse(text: str) -> str:
    return text[::-1]


def _replacing(id_: str, params: str) -> Overload:
    return overload(id_, f"string.({params}) -> string", _replace, cost=_replace_cost)


def _replaced(text: str, old: str, new: str, limit: int) -> int:
    """Give the length of a string with `new` in the place of `old`."""
    count = text.count(old)
    if limit >= 0:
        count = min(count, limit)
    return len(text) + count * (len(new) - len(old))


def _replace_cost(text: str, old: str, new: str, limit: int = -1) -> int:
    return text_cost(len(text), _replaced(text, old, new, limit))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    bounded_text(_replaced(text, old, new, limit))
    return text.replace(old, new, limit)


def quoted(text: str) -> str:
    """Write a string as a literal.

    Raises:
        LimitFault: the literal would be too long.
    """
    made = f'"{text.translate(_QUOTED)}"'
    bounded_text(len(made))
    return made


def _join() -> Function:
    return function(
        "join",
        overload("list_join", "list(string).() -> string", _joined, cost=_join_cost),
        overload("list_join_string", "list(string).(string) -> string", _joined, cost=_join_cost),
        doc="Joins the strings of a list, with a separator between them where one is given.",
    )


def _joined_length(items: list[Any], separator: str) -> int:
    return sum(len(it) if it.__class__ is str else 1 for it in items) + len(separator) * len(items)


def _join_cost(items: list[Any], separator: str = "") -> int:
    return len(items) + text_cost(_joined_length(items, separator))


def _joined(items: list[Any], separator: str = "") -> str:
    bounded_text(_joined_length(items, separator) - (len(separator) if items else 0))
    try:
        return separator.join(items)
    except TypeError:
        raise ValueFault("join needs a list of strings") from None
