"""The grammar: text and tree say the same, and whatever is no expression is told so in the service's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.expressions.grammar import parse_condition, parse_projection, parse_update
from streamiter.testing.expressions.terms import Chain, Change, Comparison, Function, Literal, Not, Path, Sum
from streamiter.testing.expressions.words import Malformed
from tests.testing.expressions.drawn import conditions, written


@given(conditions)
def test_a_condition_is_read_as_it_was_written(condition):
    assert parse_condition(written(condition)) == condition


@given(st.text("ab:#()[].,=<>+- 1ANDORTSEMV", max_size=30))
def test_whatever_a_client_sends_it_is_read_or_refused(text):
    for parse in (parse_condition, parse_projection, parse_update):
        try:
            parse(text)
        except Malformed as error:
            assert str(error)


def test_or_binds_less_than_and_and_and_less_than_not():
    a, b, c = (Comparison("=", Path((name,)), Literal(":v")) for name in "abc")
    assert parse_condition("NOT a = :v and b = :v OR NOT NOT c = :v") == Chain(
        "OR", (Chain("AND", (Not(a), b)), Not(Not(c)))
    )
    assert parse_condition("NOT (a = :v OR b = :v)") == Not(Chain("OR", (a, b)))


def test_operands_may_stand_in_parentheses():
    assert parse_condition("(a) = (:v)") == Comparison("=", Path(("a",)), Literal(":v"))
    assert parse_update("SET a = (b + :v)") == (Change("SET", Path(("a",)), Sum("+", Path(("b",)), Literal(":v"))),)


def test_a_placeholder_may_have_hyphens_but_a_difference_is_one():
    (change,) = parse_update("SET #a = #my-name-:v")
    assert change.operand == Sum("-", Path(("#my-name",)), Literal(":v"))


@pytest.mark.parametrize(
    "text, words",
    [
        ("a = :v AND", 'Syntax error; token: "<EOF>", near: "AND"'),
        ("a = = :v", 'Syntax error; token: "=", near: "= = :v"'),
        ("a", 'Syntax error; token: "<EOF>", near: "a"'),
        ("a = :v)", 'Syntax error; token: ")", near: ":v)"'),
        ("(a = :v", "Syntax error"),
        ("_a = :v", "Syntax error"),
        ("a[-1] = :v", "Syntax error"),
        ("a[:v] = :v", "Syntax error"),
        ("a..b = :v", "Syntax error"),
        ("a & :v", "Syntax error"),
        ("a IN :v", "Syntax error"),
        ("a BETWEEN :v OR :w", "Syntax error"),
        ("((a = :v))", "The expression has redundant parentheses;"),
        ("NOT " * 400 + "a = :v", "maximum number of operators"),
        ("(" * 200 + "a = :v" + ")" * 200, "nested too deep"),
        ("a" + "[0]" * 40 + " = :v", "too many nesting elements"),
        ("a[99999999999] = :v", "List index is not within the allowable range"),
        (f"a IN ({', '.join([':v'] * 101)})", "too many operands"),
    ],
)
def test_what_is_no_condition(text, words):
    with pytest.raises(Malformed) as told:
        parse_condition(text)
    assert words in str(told.value)


@pytest.mark.parametrize(
    "text, words",
    [
        ("SET a = :v SET b = :v", 'The "SET" section can only be used once in an update expression;'),
        ("SET a", "Syntax error"),
        ("SET a = :v,", "Syntax error"),
        ("SET a = :v + :w + :x", "Syntax error"),
        ("REMOVE a = :v", "Syntax error"),
        ("ADD a b", "Syntax error"),
        ("DELETE a", "Syntax error"),
        ("PUT a = :v", "Syntax error"),
    ],
)
def test_what_is_no_update(text, words):
    with pytest.raises(Malformed) as told:
        parse_update(text)
    assert words in str(told.value)


def test_functions_are_read_with_their_operands():
    assert parse_condition("size(a.b[1]) > :v") == Comparison(
        ">", Function("size", (Path(("a", "b", 1)),)), Literal(":v")
    )
