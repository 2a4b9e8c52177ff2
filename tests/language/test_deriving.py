"""Fields that follow from another field and a variable: the same wherever and however read."""

from types import MappingProxyType
from typing import ClassVar

import pytest

from policyd.language.declarations import Derived, Field, ObjectType
from policyd.language.diagnostics import RuleError
from policyd.language.environment import Environment
from policyd.language.errors import EvaluationError
from policyd.language.reads import reads
from policyd.language.types import DYN, INT, nullable, object_type, optional_of
from policyd.values.optional import NONE, Optional


class Jar:
    """An object whose `room` is what the variable `size` leaves beside its `content`."""

    cel_type: ClassVar[str] = "Jar"
    FIELDS: ClassVar = MappingProxyType({"content": ("int?", ""), "room": ("int?", "")})
    DERIVED: ClassVar = MappingProxyType({"room": ("size", "-", "content")})

    def __init__(self, content):
        self.content = content


ROOM = Derived("size", "-", "content")
JAR = ObjectType(
    "Jar",
    {
        "content": Field(nullable(INT), native=True),
        "room": Field(nullable(INT), native=True, derived=ROOM),
    },
)
VARIABLES = {
    "jar": object_type("Jar"),
    "maybe": optional_of(object_type("Jar")),
    "some": nullable(object_type("Jar")),
    "any": DYN,
    "size": INT,
}
ENV = Environment(variables=VARIABLES, objects={"Jar": JAR}, derived={"room": ROOM})
FULL, EMPTY = Jar(3), Jar(None)


def value(text, jar=FULL, check=True, **more):
    made = ENV.compile(text, check=check)
    known = {"jar": jar, "maybe": Optional(jar), "some": jar, "any": jar, "size": 10, **more}
    return ENV.program(made).evaluate(known)


FORMS = [
    ("jar.room", 7, None),
    ("some.room", 7, None),
    ("any.room", 7, None),
    ("dyn(jar).room", 7, None),
    ("[jar][0].room", 7, None),
    ("[jar].map(j, j.room)[0]", 7, None),
    ("cel.bind(j, jar, j.room)", 7, None),
    ("has(jar.room)", True, False),
    ("has(any.room)", True, False),
    ("has(maybe.room)", True, False),
    ("jar.?room.orValue(-1)", 7, -1),
    ("any.?room.orValue(-1)", 7, -1),
    ("maybe.room.orValue(-1)", 7, -1),
    ("[jar][?0].room.orValue(-1)", 7, -1),
    ("jar.room == null", False, True),
    ("jar.room > 5", True, None),
]


@pytest.mark.parametrize(("text", "full", "empty"), FORMS)
def test_it_is_the_variable_and_the_other_field_or_null(text, full, empty):
    assert value(text) == full
    if empty is None and ">" in text:
        with pytest.raises(EvaluationError):
            value(text, EMPTY)
    else:
        assert value(text, EMPTY) == empty


@pytest.mark.parametrize("text", [text for text, _, _ in FORMS])
def test_without_types_it_is_the_same(text):
    for jar in (FULL, EMPTY):
        if jar is EMPTY and ">" in text:
            continue
        assert value(text, jar, check=False) == value(text, jar)


@pytest.mark.parametrize("text", [text for text, _, _ in FORMS if "has(" not in text])
def test_who_reads_it_reads_the_variable(text):
    checked = ENV.compile(text)
    assert "size" in checked.variables
    assert "size.*" in reads(checked.root)


def test_who_reads_it_reads_the_other_field():
    assert reads(ENV.compile("jar.room").root) == {"jar.content", "size.*"}


def test_the_same_object_has_another_value_when_the_variable_has():
    assert value("jar.room", size=10) == 7
    assert value("jar.room", size=4) == 1


def test_what_only_has_the_name_keeps_its_own_field():
    assert value("any.room", any={"room": "mine"}) == "mine"
    assert value("any.?room", any={}) == NONE
    assert value("has(any.room)", any={"room": 0}) is True
    with pytest.raises(EvaluationError, match="no such key: room"):
        value("any.room", any={})
    with pytest.raises(EvaluationError, match="int has no field `room`"):
        value("any.room", any=1)


def test_the_type_is_the_declared_one():
    assert str(ENV.compile("jar.room").type) == "int?"
    assert str(ENV.compile("jar.?room").type) == "optional_type(int)"
    assert str(ENV.compile("has(jar.room)").type) == "bool"


def test_where_the_variable_cannot_be_read_neither_can_the_field():
    env = Environment(
        variables={"jar": object_type("Jar"), "any": DYN},
        objects={"Jar": JAR},
        derived={"room": ROOM},
        unavailable={"size": "`size` is not known here"},
    )
    with pytest.raises(RuleError) as caught:
        env.compile("jar.room")
    [found] = caught.value.diagnostics
    assert found.code == "E217"
    assert found.message == "`room` is derived from `size`: `size` is not known here"
    with pytest.raises(EvaluationError, match="Jar has no field `room`"):
        env.program(env.compile("any.room")).evaluate({"any": FULL})
