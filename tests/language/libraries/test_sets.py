"""Sets: by the language's equality, however it differs from Python's."""

import pytest

from tests.language.libraries.evaluation import CEL, KUBERNETES, assert_gives


@pytest.mark.parametrize("dialect", [KUBERNETES, CEL])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sets.contains([1], [])", "true"),
        ("sets.contains([], [1])", "false"),
        ("sets.contains([], [])", "true"),
        ("sets.contains([1, 2, 3, 4], [2, 3])", "true"),
        ("sets.contains([dyn(1), dyn(2.0), dyn(3u)], [dyn(1.0), dyn(2u), dyn(3)])", "true"),
        ('sets.contains([double("NaN")], [double("NaN")])', "false"),
        ("sets.contains([[1, 2]], [[1, 2]])", "true"),
        ("sets.contains([dyn(true)], [dyn(1)])", "false"),
        ("sets.equivalent([], [])", "true"),
        ("sets.equivalent([1], [1, 1])", "true"),
        ("sets.equivalent([dyn(1)], [dyn(1u), dyn(1.0)])", "true"),
        ("sets.equivalent([1], [1, 2])", "false"),
        ("sets.intersects([1], [])", "false"),
        ("sets.intersects([1], [1, 2])", "true"),
        ("sets.intersects([dyn([1]), dyn([2, 3])], [dyn([1, 2]), dyn([2.0, 3.0])])", "true"),
        ('sets.intersects([{"a": 1}], [{"a": 1}])', "true"),
        (
            "sets.intersects([9007199254740993], [dyn(9007199254740992), dyn(9007199254740992.0)])",
            "true",
        ),
    ],
)
def test_sets_answer_as_cel_go(expression, expected, dialect):
    assert_gives(expression, expected, dialect)
