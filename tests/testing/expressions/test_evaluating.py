"""Evaluating: conditions keep the laws of logic, whatever the item has, and say what the service says of odd values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.expressions.binding import Bindings
from streamiter.testing.expressions.evaluating import found, meets, projected
from streamiter.testing.expressions.grammar import parse_condition, parse_projection
from streamiter.testing.expressions.terms import Between, Chain, Comparison, Literal, Not, OneOf, Path
from streamiter.testing.expressions.values import compares
from streamiter.testing.expressions.words import Malformed
from tests.testing.expressions.drawn import items, paths, scalars, values

ITEM: dict[str, Any] = {
    "n": {"N": "10"},
    "s": {"S": "abc"},
    "b": {"B": b"\x01\x02\x03"},
    "l": {"L": [{"N": "1"}, {"S": "x"}, {"L": [{"N": "2"}]}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"S": "z"}}},
    "ss": {"SS": ["a", "b"]},
    "bs": {"BS": [b"a", b"b"]},
    "t": {"BOOL": True},
    "z": {"NULL": True},
}


def holds(expression: str, **given: Any) -> bool:
    bound = Bindings({}, {f":{name}": value for name, value in given.items()})
    return meets(ITEM, bound.condition(parse_condition(expression)))


@pytest.mark.parametrize(
    "text, is_true",
    [
        ("q = r", False),  # neither is there
        ("q <> r", True),
        ("NOT q = r", True),
        ("NOT NOT n = :ten", True),
        ("q < :ten", False),
        ("NOT q < :ten", True),
        ("n = :ten", True),
        ("n = :text", False),
        ("n <> :text", True),
        ("n < :text", False),  # a number and a text: neither before the other
        ("n > :text", False),
        ("s BETWEEN :a AND :text", True),
        ("n BETWEEN :a AND :text", False),
        ("n IN (:text, :ten)", True),
        ("q IN (:text, :ten)", False),
        ("b > :one", True),
        ("begins_with(b, :one)", True),
        ("contains(b, :one)", True),
        ("contains(bs, :letter)", True),
        ("begins_with(n, :text)", False),
        ("contains(n, :ten)", False),
        ("contains(l, :x)", True),
        ("contains(ss, :a)", True),
        ("contains(ss, :ten)", False),
        ("contains(:text, s)", True),
        ("begins_with(q, :a)", False),
        ("contains(q, :a)", False),
        ("size(s) = :three", True),
        ("size(b) = :three", True),
        ("size(l) = :three", True),
        ("size(m) < :three", True),
        ("size(:text) = :three", True),
        ("size(n) < :ten", False),  # a number has no size
        ("size(t) <> :ten", True),
        ("size(q) < :ten", False),
        ("attribute_type(z, :null)", True),
        ("attribute_type(q, :null)", False),
        ("attribute_exists(l[2][0])", True),
        ("attribute_exists(l[3])", False),
        ("attribute_exists(m.x.y)", False),
        ("attribute_not_exists(s[0])", True),
    ],
)
def test_what_holds(text, is_true):
    given_values = {
        "ten": {"N": "10"},
        "text": {"S": "abc"},
        "a": {"S": "a"},
        "x": {"S": "x"},
        "three": {"N": "3"},
        "one": {"B": b"\x01"},
        "letter": {"B": b"a"},
        "null": {"S": "NULL"},
    }
    assert holds(text, **given_values) is is_true


@pytest.mark.parametrize(
    "text, words",
    [
        ("s = s", "The first operand must be distinct from the remaining operands"),
        ("s IN (:a, s)", "The first operand must be distinct"),
        ("size(s)", "The function is not allowed to be used this way in an expression; function: size"),
        ("s = attribute_exists(n)", "not allowed to be used this way in an expression; function: attribute_exists"),
        ("size(size(s)) = :ten", "not allowed to be used this way in an expression; function: size"),
        ("if_not_exists(s, :a)", "The function is not allowed in a condition expression; function: if_not_exists"),
        ("foo(s)", "Invalid function name; function: foo"),
        ("SIZE(s) = :ten", "Invalid function name; function: SIZE"),
        ("attribute_exists(:a)", "Operator or function requires a document path"),
        ("attribute_exists(s, n)", "Incorrect number of operands"),
        ("begins_with(s, :ten)", "Incorrect operand type for operator or function; operator or function: begins_with"),
        ("contains(:ten, s)", "Incorrect operand type for operator or function; operator or function: contains"),
        ("size(:ten) = :ten", "Incorrect operand type for operator or function; operator or function: size"),
        ("s < :truth", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
        ("attribute_type(s, :a)", "Invalid attribute type name found; type: a"),
        ("attribute_type(s, :ten)", "Incorrect operand type for operator or function"),
        ("s BETWEEN :a AND :ten", "The BETWEEN operator requires same data type"),
        ("n BETWEEN :ten AND :one", "requires upper bound to be greater than or equal to lower bound"),
        ("name = :a", "Attribute name is a reserved keyword; reserved keyword: name"),
        ("#q = :a", "attribute name used in the document path is not defined; attribute name: #q"),
        ("s = :q", "attribute value used in expression is not defined; attribute value: :q"),
    ],
)
def test_what_no_condition_may_say(text, words):
    with pytest.raises(Malformed) as told:
        holds(text, a={"S": "a"}, ten={"N": "10"}, one={"N": "1"}, truth={"BOOL": True})
    assert words in str(told.value)


@given(items, paths, scalars, scalars, scalars)
def test_the_laws_of_logic(item, path, low, high, third):
    first, second, other = Literal(":v", low), Literal(":w", high), Literal(":x", third)
    within = Between(path, first, second)
    assert meets(item, within) == meets(
        item, Chain("AND", (Comparison(">=", path, first), Comparison("<=", path, second)))
    )
    assert meets(item, OneOf(path, (first, second, other))) == any(
        meets(item, Comparison("=", path, one)) for one in (first, second, other)
    )
    assert meets(item, Not(within)) is not meets(item, within)
    assert meets(item, Comparison("<>", path, first)) is not meets(item, Comparison("=", path, first))


@given(values, values)
def test_values_compare_in_one_way_alone(one, other):
    assert compares("=", one, one)
    assert compares("=", one, other) == compares("=", other, one)
    before, after = compares("<", one, other), compares(">", one, other)
    assert before == compares(">", other, one)
    assert before + after + (compares("=", one, other) and compares("<=", one, other)) <= 1
    assert compares("<=", one, other) == (before or (compares("=", one, other) and next(iter(one)) in "SNB"))


def test_a_projection_gives_the_parts_that_are_there_and_no_empty_holders():
    def project(text: str) -> Any:
        return projected(ITEM, Bindings({}, {}).projection(parse_projection(text)))

    assert project("l[2][0], l[0], m.y, q.w, m.q, s[0], n") == {
        "l": {"L": [{"N": "1"}, {"L": [{"N": "2"}]}]},
        "m": {"M": {"y": {"S": "z"}}},
        "n": {"N": "10"},
    }
    for text, words in (("m, m.x", "overlap"), ("m.x, m[0]", "conflict"), ("l[0], l[0]", "overlap")):
        with pytest.raises(Malformed, match=f"Two document paths {words} with each other"):
            project(text)


@given(items, st.lists(paths, min_size=1, max_size=3))
def test_a_projection_has_what_its_paths_find(item, wanted):
    try:
        bound = Bindings({}, {}).projection(tuple(Path(path.steps) for path in wanted))
    except Malformed:
        return
    left = projected(item, bound)
    whole = projected(item, [Path((name,)) for name in item])
    assert whole == item
    assert bool(left) == any(found(item, path) is not None for path in bound)
    for path in bound:
        if not any(isinstance(step, int) for step in path.steps):  # elements of a list move together
            assert found(left, path) == found(item, path)
