"""Hypothesis strategies for expressions that are well-typed, drawn by the type that they give.

Whatever can make a value of the wanted type may be drawn: a literal, a name, a path of fields,
each overload of each function by its result, each macro, optional syntax, `? :`, `cel.bind`. So
a new overload is drawn, and tested, without a change here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from policyd.language.declarations import Overload
from policyd.language.environment import Environment
from policyd.language.syntax import (
    Binary,
    Call,
    Conditional,
    Element,
    Entry,
    Expr,
    Index,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Parens,
    Select,
    Unary,
    children,
    unwrap,
)
from policyd.language.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NAMED_FORMAT,
    NULL,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    Kind,
    Type,
    list_of,
    map_of,
    nullable,
    optional_of,
    type_of,
)
from policyd.values.formats import FORMATS
from policyd.values.numbers import Uint
from tests.language import typed_values as tv

ENVIRONMENT = Environment(variables=tv.VARIABLES, objects=tv.OBJECTS)

SCALARS = (INT, BOOL, STRING, DOUBLE, UINT, BYTES, QUANTITY, DURATION, TIMESTAMP)
TYPES = (
    *(*SCALARS, NULL, SEMVER, IP, CIDR, URL, NAMED_FORMAT, DYN),
    *(list_of(INT), list_of(STRING), list_of(DOUBLE), list_of(QUANTITY), list_of(list_of(INT))),
    *(map_of(STRING, INT), map_of(INT, STRING), map_of(BOOL, DOUBLE), map_of(STRING, QUANTITY)),
    *(optional_of(INT), optional_of(STRING), optional_of(list_of(STRING)), type_of(INT)),
    *(nullable(STRING), nullable(QUANTITY), list_of(nullable(STRING)), list_of(DYN)),
    *(tv.VARIABLES["box"], tv.VARIABLES["part"]),
)
"""Types that expressions are drawn for."""

_MAX_NODES = 60
_WRITTEN = {  # the functions that read a text, and the texts of each library's type
    QUANTITY: ("quantity", tv.QUANTITIES),
    TIMESTAMP: ("timestamp", tv.TIMES),
    DURATION: ("duration", tv.DURATIONS),
    SEMVER: ("semver", tv.VERSIONS),
    URL: ("url", tv.URLS),
    IP: ("ip", tv.ADDRESSES),
    CIDR: ("cidr", tv.RANGES),
}
_CHECKED_TEXTS = {  # literal arguments that the checker reads, by place
    "matches": (1, tv.PATTERNS),
    "find": (1, tv.PATTERNS),
    "findAll": (1, tv.PATTERNS),
    "duration": (0, tv.DURATIONS),
    "timestamp": (0, tv.TIMES),
}
_CLAUSES = (  # of `format`, with what they print
    *(("%s", t) for t in (STRING, INT, DOUBLE, BOOL, BYTES, TIMESTAMP, DURATION, list_of(INT))),
    *(("%d", INT), ("%x", BYTES), ("%X", STRING), ("%o", UINT), ("%b", BOOL), ("%.3f", DOUBLE)),
    *(("%e", DOUBLE), ("%f", DOUBLE), ("%s", NULL), ("%s", map_of(STRING, DOUBLE))),
)
_LITERALS: dict[str, SearchStrategy] = {
    "bool": st.booleans(),
    "int": st.integers(-3, 12) | st.sampled_from(tv.INTS),
    "uint": st.sampled_from(tv.UINTS).map(Uint),
    "double": st.sampled_from(tv.DOUBLES[:-1]),
    "string": st.sampled_from(tv.TEXTS) | st.text(max_size=8),
    "bytes": st.sampled_from((b"", b"abc", b"\xff")) | st.binary(max_size=4),
    "null_type": st.none(),
}
_QUANTITY_LITERALS = ("1Gi", "500m", "0k", "-2Ki", "1.5Ti", "100M", ".5G", "123456789n")
Draw = Callable[[SearchStrategy], Any]
Path = tuple[str, tuple[str, ...]]
Bound = dict[Type, Type]
Choice = tuple[str, Overload, Bound]


# --- what there is to draw from ----------------------------------------------------------------


class Pool:
    """What an environment has to draw from: its functions and its variables, by type."""

    def __init__(self, environment: Environment) -> None:
        self.functions = tuple(
            (function.name, overload)
            for function in environment.function_table.values()
            for overload in function.overloads
        )
        self.paths = _paths(environment)
        self.fields = [path for paths in self.paths.values() for path in paths if path[1]]
        self._giving: dict[Type, list[list[Choice]]] = {}

    def giving(self, type_: Type) -> list[list[Choice]]:
        """Give the overloads whose result can be of a type, those of one function together."""
        found = self._giving.get(type_)
        if found is None:
            by_name: dict[str, list[Choice]] = {}
            for name, overload in self.functions:
                bound: Bound = {}
                if _fits(overload.result, type_, bound):
                    by_name.setdefault(name, []).append((name, overload, bound))
            found = self._giving[type_] = list(by_name.values())
        return found


def _fits(pattern: Type, type_: Type, bound: Bound) -> bool:
    if pattern.kind is Kind.PARAM:
        return bound.setdefault(pattern, type_) == type_
    return (
        pattern.kind is type_.kind
        and pattern.name == type_.name
        and all(_fits(p, t, bound) for p, t in zip(pattern.params, type_.params, strict=True))
    )


def _filled(pattern: Type, bound: Bound) -> Type:
    if pattern.kind is Kind.PARAM:
        return bound[pattern]
    if not pattern.params:
        return pattern
    return replace(pattern, params=tuple(_filled(param, bound) for param in pattern.params))


def _paths(environment: Environment) -> dict[Type, list[Path]]:
    """Give the variables, and the fields of fields of them, by type."""
    found: dict[Type, list[Path]] = {}
    waiting: list[tuple[Path, Type]] = [
        ((name, ()), type_) for name, type_ in environment.variables.items()
    ]
    for (name, steps), type_ in waiting:
        found.setdefault(type_, []).append((name, steps))
        inner = type_.params[0] if type_.kind is Kind.NULLABLE else type_
        if inner.kind is Kind.OBJECT and len(steps) < 3:
            waiting += [
                ((name, (*steps, field)), declared.type)
                for field, declared in environment.objects[inner.name].fields.items()
            ]
    return found


_UP_TO = [st.integers(0, top) for top in range(64)]


# --- drawing ------------------------------------------------------------------------------------


class Maker:
    """The drawing of one expression: the names in scope, and how much may still be drawn."""

    def __init__(self, draw: Draw, pool: Pool, *, certain: bool = False) -> None:
        """Start a drawing.

        `certain` draws only what fits whatever stands around it: no `[]`, `{}`, `null` or
        `optional.none()`, whose types the checker, as that of CEL, settles by the first overload
        that it considers, and nothing of another type that agrees.
        """
        self.draw = draw
        self.pool = pool
        self.certain = certain
        self.scope: dict[str, Type] = {}  # the local names
        self.left = _MAX_NODES

    # --- choices ---

    def number(self, top: int) -> int:
        return self.draw(_UP_TO[top] if top < len(_UP_TO) else st.integers(0, top))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.number(len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.number(one_in - 1) == one_in - 1

    def type(self) -> Type:
        return self.pick(SCALARS if self.number(3) else TYPES)

    # --- expressions ---

    def expression(self, type_: Type, depth: int) -> Expr:
        """Draw an expression of a type, or of one that agrees with it wherever it may stand."""
        self.left -= 1
        if depth <= 0 or self.left <= 0:
            return self.leaf(type_)
        way = self.pick(self.ways(type_))
        made = way(type_, depth - 1)
        return Parens(made) if self.chance(20) else made

    def argument(self, type_: Type, depth: int) -> Expr:
        """Draw an argument of a call: now and then dyn, or what may be null, instead."""
        if self.chance(24) and not self.certain:
            return self.dynamic(type_, depth)
        if self.chance(24) and not self.certain and type_ in (STRING, QUANTITY):
            return self.expression(nullable(type_), depth)
        return self.expression(type_, depth)

    def ways(self, type_: Type) -> list[Callable[[Type, int], Expr]]:
        """Give the ways to make a type; the simplest first, to which failures shrink."""
        ways: list[Callable[[Type, int], Expr]] = [self.leaf]
        if self.pool.giving(type_):
            ways += [self.call] * 4
        ways += [self.conditional, self.bind, self.element, self.value_of_key, self.unwrapped]
        match type_.kind:
            case Kind.LIST:
                ways += [self.list, self.filter, self.map, self.transform_list, self.sort_by]
            case Kind.MAP:
                ways += [self.map_literal, self.transform_map, self.transform_entries]
            case Kind.OPTIONAL:
                ways += [self.opt_map, self.optional_item, self.optional_field]
            case Kind.NULLABLE if not self.certain:
                ways += [lambda t, d: self.expression(t.params[0], d)]
            case Kind.DYN:
                ways += [self.dynamic] * 3
        if type_ == BOOL:
            ways += [self.logical, self.logical, self.quantifier, self.has]
        return ways

    def leaf(self, type_: Type, _: int = 0) -> Expr:
        names = [name for name, local in self.scope.items() if local == type_]
        if names and self.number(2):
            return Name(self.pick(names))
        paths = self.pool.paths.get(type_)
        if paths and self.number(2):
            return self.path(self.pick(paths))
        return self.constant(type_)

    def path(self, path: Path) -> Expr:
        name, steps = path
        made: Expr = Name(name, root=name in self.scope or self.chance(20))
        for step in steps:
            made = Select(made, step)
        return made

    def constant(self, type_: Type) -> Expr:
        if type_.name in _LITERALS and type_.kind is Kind.PRIMITIVE:
            return Literal(type_.name, self.draw(_LITERALS[type_.name]))
        if type_ == QUANTITY and self.number(1):
            return Literal("quantity", self.pick(_QUANTITY_LITERALS))
        if type_ in _WRITTEN:
            function, texts = _WRITTEN[type_]
            return Call(function, (Literal("string", self.pick(texts)),))
        bare = not self.certain and self.number(1) == 1
        match type_.kind:
            case Kind.LIST:
                return ListOf(() if bare else (Element(self.constant(type_.params[0])),))
            case Kind.MAP:
                return MapOf(() if bare else (Entry(*map(self.constant, type_.params)),))
            case Kind.OPTIONAL if bare:
                return Call("none", (), Name("optional"))
            case Kind.OPTIONAL:
                inner = self.constant(type_.params[0])
                if type_.params[0].kind is Kind.OPTIONAL or self.number(1):
                    return Call("of", (inner,), Name("optional"))
                return Index(ListOf((Element(inner),)), Literal("int", 1), optional=True)
            case Kind.NULLABLE if bare:
                return Literal("null_type", None)
            case Kind.NULLABLE if type_ in self.pool.paths:
                return self.path(self.pool.paths[type_][0])
            case Kind.NULLABLE:
                return self.constant(type_.params[0])
            case Kind.TYPE:
                return Name(self.pick(("int", "string", "list", "type")))
        if type_ == NAMED_FORMAT:
            return Call(self.pick(sorted(FORMATS)), (), Name("format"))
        return Call("dyn", (self.constant(self.pick((INT, STRING, BOOL, NULL, list_of(INT)))),))

    # --- calls ---

    def call(self, type_: Type, depth: int) -> Expr:
        return self.call_of(*self.pick(self.pick(self.pool.giving(type_))), depth)

    def call_of(self, name: str, overload: Overload, bound: Bound, depth: int) -> Expr:
        """Draw a call that an overload fits; `bound` has type parameters that are settled."""
        filled = dict(bound)
        for param in _parameters(overload.params):
            filled.setdefault(param, self.type())
        params = [_filled(param, filled) for param in overload.params]
        if name == "@sortByAssociatedKeys":
            return self.sort_by(params[0], depth, params[1].params[0])
        if name == "format":
            return self.format(depth)
        args = [self.argument(param, depth) for param in params]
        return called(name, overload, self.readable(name, args))

    def readable(self, name: str, args: list[Expr]) -> list[Expr]:
        """Put a text that can be read where the checker reads it."""
        at, texts = _CHECKED_TEXTS.get(name, (0, None))
        if texts is not None and at < len(args):
            inner = unwrap(args[at])
            if isinstance(inner, Literal) and inner.kind == "string" and inner.value not in texts:
                args[at] = Literal("string", self.pick(texts))
        return args

    def format(self, depth: int) -> Expr:
        if self.chance(3):  # a text that is not known before it is evaluated
            text = self.bind(STRING, 0)
            return Call("format", (self.expression(list_of(DYN), depth),), text)
        clauses = [self.pick(_CLAUSES) for _ in range(self.number(3))]
        values = tuple(Element(self.expression(type_, depth)) for _, type_ in clauses)
        text = Literal("string", "é %% ".join(["", *(clause for clause, _ in clauses)]))
        return Call("format", (ListOf(values),), text)

    def dynamic(self, type_: Type, depth: int) -> Expr:
        """Draw what has the type dyn: mostly a value of a type, which the checker cannot see."""
        inner = self.type() if type_ == DYN or self.chance(4) else type_
        return Call("dyn", (self.expression(inner, depth),))

    # --- forms of every type ---

    def conditional(self, type_: Type, depth: int) -> Expr:
        condition = self.expression(BOOL, depth)
        return Conditional(condition, *(self.expression(type_, depth) for _ in range(2)))

    def bind(self, type_: Type, depth: int) -> Expr:
        inner = self.type()
        init = self.expression(inner, depth)
        name, body = self.within((inner,), lambda: self.expression(type_, depth))
        return Call("bind", (Name(name[0]), init, body), Name("cel"))

    def element(self, type_: Type, depth: int) -> Expr:
        if self.number(2):  # one that is there
            count = 1 + self.number(1)
            items = tuple(Element(self.expression(type_, depth)) for _ in range(count))
            return Index(ListOf(items), Literal("int", self.number(count - 1)))
        index = self.expression(INT, 0)
        return Index(self.expression(list_of(type_), depth), index)

    def value_of_key(self, type_: Type, depth: int) -> Expr:
        key = self.pick((STRING, INT, BOOL))
        if self.number(2):  # one that is there
            entry = self.entry(map_of(key, type_), depth)
            if not entry.optional:
                return self.item(MapOf((entry,)), entry.key)
        operand = self.expression(map_of(key, type_), depth)
        drawn = Literal("string", self.pick(tv.KEYS)) if key == STRING else None
        return self.item(operand, drawn or self.expression(key, depth))

    def item(self, operand: Expr, key: Expr) -> Expr:
        if isinstance(key, Literal) and key.value in tv.KEYS and self.number(1):
            return Select(operand, key.value, quoted=self.chance(6))
        return Index(operand, key)

    def unwrapped(self, type_: Type, depth: int) -> Expr:
        if type_.kind is Kind.OPTIONAL:
            return self.expression(type_, depth)
        optional = self.expression(optional_of(type_), depth)
        if self.chance(8):
            return Call("value", (), optional)
        return Call("orValue", (self.expression(type_, depth),), optional)

    def within(self, types: tuple[Type, ...], draw: Callable[[], Any]) -> tuple[list[str], Any]:
        """Draw with more names in scope; now and then one that hides another."""
        names: list[str] = []
        for _ in types:
            hidden = [*self.scope, "count", "text", "labels"] if self.chance(8) else []
            fresh = f"x{len(self.scope) + len(names)}"
            names.append(next((n for n in hidden[self.number(2) :] if n not in names), fresh))
        before, self.scope = self.scope, self.scope | dict(zip(names, types, strict=True))
        made = draw()
        self.scope = before
        return names, made

    # --- lists, maps, optionals, bools ---

    def list(self, type_: Type, depth: int) -> Expr:
        (inner,) = type_.params
        count = self.number(4) or int(self.certain)
        return ListOf(tuple(self.list_element(inner, depth) for _ in range(count)))

    def list_element(self, inner: Type, depth: int) -> Element:
        if inner.kind is not Kind.OPTIONAL and self.chance(6):
            return Element(self.expression(optional_of(inner), depth), optional=True)
        return Element(self.expression(inner, depth))

    def map_literal(self, type_: Type, depth: int) -> Expr:
        count = self.number(3) or int(self.certain)
        return MapOf(tuple(self.entry(type_, depth) for _ in range(count)))

    def entry(self, type_: Type, depth: int) -> Entry:
        key, value = type_.params
        drawn = Literal("string", self.pick(tv.KEYS)) if key == STRING else None
        drawn = drawn or self.expression(key, depth)
        if value.kind is not Kind.OPTIONAL and self.chance(6):
            return Entry(drawn, self.expression(optional_of(value), depth), optional=True)
        return Entry(drawn, self.expression(value, depth))

    def range(self, depth: int, count: int) -> tuple[Expr, tuple[Type, ...]]:
        """Draw what a macro goes over, and give the types of its variables."""
        if self.number(2):
            inner = self.type()
            types = (inner,) if count == 1 else (INT, inner)
            return self.expression(list_of(inner), depth), types
        key, value = self.pick((STRING, INT, BOOL)), self.type()
        return self.expression(map_of(key, value), depth), (key, value)[:count]

    def loop(
        self, name: str, depth: int, count: int, result: Type, *, filtered: bool = False
    ) -> Expr:
        """Draw a macro with so many variables."""
        over, types = self.range(depth, count)
        bodies = ([BOOL] if filtered else []) + [result]
        names, drawn = self.within(types, lambda: [self.expression(body, depth) for body in bodies])
        return Call(name, (*map(Name, names), *drawn), over)

    def filter(self, type_: Type, depth: int) -> Expr:
        over = self.expression(type_, depth)
        names, body = self.within(type_.params, lambda: self.expression(BOOL, depth))
        return Call("filter", (Name(names[0]), body), over)

    def map(self, type_: Type, depth: int) -> Expr:
        return self.loop("map", depth, 1, type_.params[0], filtered=self.chance(3))

    def transform_list(self, type_: Type, depth: int) -> Expr:
        return self.loop("transformList", depth, 2, type_.params[0], filtered=self.chance(3))

    def transform_map(self, type_: Type, depth: int) -> Expr:
        key, value = type_.params
        over = list_of(self.type()) if key == INT and self.number(1) else map_of(key, self.type())
        types = (key, over.params[-1])
        drawn = self.expression(over, depth)
        names, body = self.within(types, lambda: self.expression(value, depth))
        return Call("transformMap", (*map(Name, names), body), drawn)

    def transform_entries(self, type_: Type, depth: int) -> Expr:
        over, types = self.range(depth, 2)
        names, body = self.within(types, lambda: MapOf((self.entry(type_, depth),)))
        return Call("transformMapEntry", (*map(Name, names), body), over)

    def sort_by(self, type_: Type, depth: int, key: Type | None = None) -> Expr:
        over = self.expression(type_, depth)
        wanted = key or self.pick(SCALARS)
        names, body = self.within(type_.params, lambda: self.expression(wanted, depth))
        return Call("sortBy", (Name(names[0]), body), over)

    def opt_map(self, type_: Type, depth: int) -> Expr:
        inner = self.type()
        target = self.expression(optional_of(inner), depth)
        flat = bool(self.number(1))
        wanted = type_ if flat else type_.params[0]
        names, body = self.within((inner,), lambda: self.expression(wanted, depth))
        return Call("optFlatMap" if flat else "optMap", (Name(names[0]), body), target)

    def optional_item(self, type_: Type, depth: int) -> Expr:
        (inner,) = type_.params
        if inner.kind is Kind.OPTIONAL:
            return self.opt_map(type_, depth)
        if self.number(1):
            operand = self.expression(list_of(inner), depth)
            return Index(operand, self.expression(INT, 0), optional=True)
        key = self.pick((STRING, INT))
        operand = self.expression(map_of(key, inner), depth)
        if self.chance(3):  # of an optional map
            operand = Call("of", (operand,), Name("optional"))
            return Index(operand, self.expression(key, depth), optional=bool(self.number(1)))
        return Index(operand, self.expression(key, depth), optional=True)

    def optional_field(self, type_: Type, depth: int) -> Expr:
        (inner,) = type_.params
        if inner.kind is Kind.OPTIONAL:
            return self.opt_map(type_, depth)
        operand = self.expression(map_of(STRING, inner), depth)
        return Select(operand, self.pick(tv.KEYS), optional=True)

    def logical(self, _: Type, depth: int) -> Expr:
        operands = tuple(self.expression(BOOL, depth) for _ in range(2 + self.number(2)))
        return Logical(self.pick(("&&", "||")), operands)

    def quantifier(self, _: Type, depth: int) -> Expr:
        name = self.pick(("all", "exists", "exists_one", "existsOne"))
        return self.loop(name, depth, 1 + self.number(1), BOOL)

    def has(self, _: Type, depth: int) -> Expr:
        if self.number(1):
            operand = self.expression(map_of(STRING, self.type()), depth)
            return Call("has", (Select(operand, self.pick(tv.KEYS)),))
        if not self.pool.fields:
            return self.leaf(BOOL)
        return Call("has", (self.path(self.pick(self.pool.fields)),))


def _parameters(types: tuple[Type, ...]) -> Iterator[Type]:
    """Give the type parameters in types."""
    for type_ in types:
        if type_.kind is Kind.PARAM:
            yield type_
        yield from _parameters(type_.params)


def called(name: str, overload: Overload, args: list[Expr]) -> Expr:
    """Write a call of a function as the language has it."""
    if name == "@in":
        return Binary("in", *args)
    if name[0] in "_!-" and name[-1] == "_":
        op = name.strip("_")
        return Unary(op, *args) if len(args) == 1 else Binary(op, *args)
    if overload.member:
        return Call(name, tuple(args[1:]), args[0])
    space, _, short = name.rpartition(".")
    return Call(short, tuple(args), Name(space) if space else None)


POOL = Pool(ENVIRONMENT)


@st.composite
def expressions(
    draw: Draw,
    type_: Type | None = None,
    depth: int = 3,
    pool: Pool | None = None,
    *,
    certain: bool = False,
) -> Expr:
    """Draw a well-typed expression of a type, or of any; see `Maker` for `certain`."""
    maker = Maker(draw, pool or POOL, certain=certain)
    return maker.expression(type_ or maker.pick(TYPES), depth)


@st.composite
def calls_of(draw: Draw, name: str, overload: Overload, depth: int = 1) -> Expr:
    """Draw a call that an overload fits."""
    return Maker(draw, POOL, certain=True).call_of(name, overload, {}, depth)


OVERLOADS = {overload.id: (name, overload) for name, overload in POOL.functions}
"""Every overload of every library, by its id."""


# --- changing trees -----------------------------------------------------------------------------


def nodes(tree: Expr) -> Iterator[Expr]:
    """Give an expression and all in it."""
    yield tree
    for child in children(tree):
        yield from nodes(child)


def swapped(tree: Any, old: Expr, new: Expr) -> Any:
    """Give a tree with another expression in the place of one of its own."""
    if tree is old:
        return new
    if isinstance(tree, tuple):
        return tuple(swapped(item, old, new) for item in tree)
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    inner = {f.name: getattr(tree, f.name) for f in fields(tree) if f.compare}
    changed = {name: swapped(value, old, new) for name, value in inner.items()}
    return replace(tree, **{k: v for k, v in changed.items() if v is not inner[k]})


@st.composite
def mutated(draw: Draw, depth: int = 3) -> Expr:
    """Draw an expression with a part that is of a type of its own, and so perhaps wrong."""
    tree = draw(expressions(depth=depth))
    for _ in range(draw(st.integers(1, 2))):
        parts = list(nodes(tree))
        old = parts[draw(st.integers(0, len(parts) - 1))]
        tree = swapped(tree, old, draw(expressions(depth=1)))
    return tree
