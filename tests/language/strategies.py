"""Hypothesis strategies for syntax trees, and what tests need to compare trees.

The trees are those that some text has: of every node kind, with every spelling of a literal's
value, bounded in depth. They need not pass the checker.
"""

from dataclasses import fields, is_dataclass, replace
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from policyd.assets.tables import load_lark
from policyd.language.builder import RESERVED
from policyd.language.syntax import (
    Binary,
    Block,
    Call,
    Clause,
    Conditional,
    Element,
    Entry,
    Expr,
    File,
    Index,
    Key,
    Let,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Param,
    Parens,
    Select,
    Unary,
    unwrap,
)
from policyd.values.numbers import UINT_MAX, Uint

BLOCK_WORDS = ("rule", "choose", "queue", "share", "gang", "preempt")
VALUE_WORDS = (
    *("when", "require", "because", "prefer", "avoid", "weight", "normalize", "tenant"),
    *("guarantee", "limit", "measure", "halflife", "of", "size", "within", "timeout", "spare"),
)
WHEN_WORDS = ("hold", "reclaim")
KEY_WORDS = ("order", "device", "cost")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%")
MACROS = ("all", "exists", "map", "filter", "has", "size", "startsWith")
TYPES = ("int", "double", "list(string)", "map(string, int)", "string?", "kubernetes.Quantity")
_WORDS = ("param", "let", *BLOCK_WORDS, *VALUE_WORDS, *WHEN_WORDS, *KEY_WORDS, "normalized", "mode")
_NO_NAMES = frozenset({"in", "true", "false", "null"})
_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "m", "k", "M", "G", "T", "P", "E")
_TRICKY = ("", "//", '"', "'", '"""', "\\", "\0", "\r\n", "\x7f\x85\u2028", "\U0001f680", "`")

_GAPS = (
    *("\n", "\n\n\n", "\r\n", "\t ", " // c{}\n", "\n// c{}\n", "\n\n  // c{}\n\n", "//c{}\n"),
    *(
        " // c{} // not another  \n",
        "\n//\n//\tc{}\n",
        ' // c{} "\r\n// d{}\r\n\r\n',
        "// c{},]\n",
        "\r// c{}\r\r",
    ),
)

selectors = st.one_of(
    st.sampled_from(("pod", "node", "labels", "a", "x", "e5", "as", *_WORDS)),
    st.from_regex(r"[_a-zA-Z][_a-zA-Z0-9]{0,8}", fullmatch=True).filter(
        lambda name: name not in _NO_NAMES
    ),
)
names = selectors.filter(lambda name: name not in RESERVED or name == "namespace")
quoted = st.from_regex(r"[a-zA-Z0-9_./ -]{1,12}", fullmatch=True)
strings = st.one_of(st.sampled_from(_TRICKY), st.text(max_size=12))


def literals() -> SearchStrategy[Expr]:
    """Give constants of every kind, with the edges of each."""
    return st.one_of(
        st.builds(Literal, st.just("int"), st.integers(-(2**63), 2**63)),
        st.builds(Literal, st.just("int"), st.integers(-2, 2)),
        st.builds(Literal, st.just("uint"), st.integers(0, UINT_MAX).map(Uint)),
        st.builds(Literal, st.just("double"), st.floats(allow_nan=False)),
        st.builds(Literal, st.just("string"), strings),
        st.builds(Literal, st.just("bytes"), st.binary(max_size=8)),
        st.builds(Literal, st.just("bool"), st.booleans()),
        st.just(Literal("null_type", None)),
        st.builds(Literal, st.just("quantity"), quantities()),
    )


def quantities() -> SearchStrategy[str]:
    """Give the texts of quantity literals."""
    number = st.from_regex(r"-?([0-9]{1,4}|[0-9]{0,2}\.[0-9]{1,3})", fullmatch=True)
    return st.builds(str.__add__, number, st.sampled_from(_SUFFIXES))


@lru_cache(maxsize=8)
def expressions(depth: int = 3) -> SearchStrategy[Expr]:
    """Give expressions of every node kind, at most `depth` nodes deep above their leaves."""
    leaves = literals() | st.builds(Name, names, st.booleans())
    if depth == 0:
        return leaves
    inner = expressions(depth - 1)
    several = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        leaves,
        _members(inner, several),
        st.builds(Unary, st.sampled_from(("!", "-")), inner),
        st.builds(Binary, st.sampled_from(OPERATORS), inner, inner),
        st.builds(
            Logical,
            st.sampled_from(("&&", "||")),
            st.lists(inner, min_size=2, max_size=4).map(tuple),
        ),
        st.builds(Conditional, inner, inner, inner),
        st.builds(
            ListOf, st.lists(st.builds(Element, inner, st.booleans()), max_size=3).map(tuple)
        ),
        st.builds(
            MapOf, st.lists(st.builds(Entry, inner, inner, st.booleans()), max_size=2).map(tuple)
        ),
        st.builds(Parens, inner),
    )


def _members(inner: SearchStrategy[Expr], several: SearchStrategy) -> SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Select, inner, selectors, st.booleans()),
        st.builds(Select, inner, quoted, st.booleans(), st.just(value=True)),
        st.builds(Index, inner, inner, st.booleans()),
        st.builds(Call, names, several, st.none(), st.booleans()),
        st.builds(Call, selectors | st.sampled_from(MACROS), several, inner),
    )


def params() -> SearchStrategy[Param]:
    """Give `param` declarations with and without types and defaults."""
    return st.builds(
        Param, names, st.none() | st.sampled_from(TYPES), st.none() | expressions(depth=2)
    )


def lets() -> SearchStrategy[Let]:
    """Give `let` declarations with and without parameters."""
    parameters = st.none() | st.lists(names, max_size=3).map(tuple)
    return st.builds(Let, names, parameters, expressions(depth=2))


def clauses() -> SearchStrategy[Clause | Let]:
    """Give clauses of every word."""
    value = expressions(depth=2)
    key = st.builds(Key, value, st.none() | st.sampled_from(("asc", "desc")))
    keys = st.lists(key, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Clause, st.sampled_from(VALUE_WORDS + WHEN_WORDS), value),
        st.builds(Clause, st.sampled_from(("prefer", "avoid", "weight", "because")), value),
        st.builds(Clause, st.sampled_from(KEY_WORDS), st.none(), keys),
        st.just(Clause("normalized")),
        st.just(Clause("mode", mode="shadow")),
        lets(),
    )


def files() -> SearchStrategy[File]:
    """Give rule files: params, lets and blocks of clauses, in any order and mixture."""
    block = st.builds(
        Block,
        st.sampled_from(BLOCK_WORDS),
        st.none() | strings,
        st.lists(clauses(), max_size=5).map(tuple),
    )
    declaration = st.one_of(params(), lets(), block)
    return st.builds(File, st.lists(declaration, max_size=4).map(tuple))


def strip_parens(tree):
    """Give a tree without its `Parens` nodes."""
    if isinstance(tree, tuple):
        return tuple(strip_parens(item) for item in tree)
    if isinstance(tree, Parens):
        return strip_parens(unwrap(tree))
    if not is_dataclass(tree):
        return tree
    inner = {f.name: getattr(tree, f.name) for f in fields(tree) if f.compare}
    return replace(tree, **{name: strip_parens(value) for name, value in inner.items()})


def exact(tree):
    """Give a tree as tuples that are equal only for equal bits: not `-0.0` for `0.0`, 1u for 1."""
    if isinstance(tree, tuple):
        return tuple(exact(item) for item in tree)
    if not is_dataclass(tree):
        return type(tree).__name__, repr(tree)
    inner = [exact(getattr(tree, f.name)) for f in fields(tree) if f.compare]
    return type(tree).__name__, *inner


@st.composite
def untidy(draw, text: str, tree) -> str:
    """Give a text, of which `tree` is the tree, with comments, line ends and commas strewn in.

    Each comment has a number of its own. Commas are added where the grammar allows them.
    """
    tokens = [(token.start_pos, token.end_pos) for token in _lexer().lex(text)]
    ends = sorted(bracket_ends(tree))
    gaps = draw(st.dictionaries(st.integers(0, len(tokens)), st.sampled_from(_GAPS), max_size=8))
    commas = (
        draw(st.dictionaries(st.sampled_from(ends), st.sampled_from(("", *_GAPS)))) if ends else {}
    )
    parts, end = [], 0
    for at, (start, stop) in enumerate([*tokens, (len(text), len(text))]):
        comma = f",{commas[start]}".format(-at, -at) if start in commas else ""
        parts += [text[end:start], gaps.get(at, "").format(at, at), comma, text[start:stop]]
        end = stop
    return "".join(parts)


@lru_cache(maxsize=1)
def _lexer():
    return load_lark()


def bracket_ends(tree):
    """Give the places of the brackets that close lists and maps, before which a comma may stand."""
    if isinstance(tree, tuple):
        return {end for item in tree for end in bracket_ends(item)}
    if not is_dataclass(tree):
        return set()
    inner = bracket_ends(tuple(getattr(tree, f.name) for f in fields(tree) if f.compare))
    return inner | {tree.span.end - 1} if isinstance(tree, ListOf | MapOf) else inner
