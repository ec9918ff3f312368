"""Updating: all of an update means the item as it was before it, and a list is as long as its changes leave it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.expressions.binding import Bindings
from streamiter.testing.expressions.grammar import parse_update
from streamiter.testing.expressions.updating import updated
from streamiter.testing.expressions.words import Malformed
from streamiter.testing.http.refusal import Refusal


def update(item: dict[str, Any], text: str, **given: Any) -> dict[str, Any]:
    bound = Bindings({}, {f":{name}": value for name, value in given.items()}).update(parse_update(text))
    before = copy.deepcopy(item)
    after = updated(item, bound)
    assert item == before, "the item itself is left as it is"
    return after


def numbered(*numbers: int) -> dict[str, Any]:
    return {"L": [{"N": str(number)} for number in numbers]}


V, W = {"N": "70"}, {"N": "71"}


@pytest.mark.parametrize(
    "text, left",
    [
        ("REMOVE a[1] SET a[3] = :v", (0, 2, 70)),
        ("SET a[3] = :v REMOVE a[1]", (0, 2, 70)),
        ("REMOVE a[0], a[2] SET a[1] = :v", (70,)),
        ("SET a[9] = :v, a[5] = :w", (0, 1, 2, 71, 70)),
        ("SET a[1] = :v, a[99] = :w", (0, 70, 2, 71)),
        ("REMOVE a[7]", (0, 1, 2)),
        ("SET a[0] = a[2], a[2] = a[0]", (2, 1, 0)),
        ("SET a = list_append(a, :l)", (0, 1, 2, 70)),
        ("SET a = list_append(:l, a)", (70, 0, 1, 2)),
    ],
)
def test_indexes_go_by_the_list_before_the_update(text, left):
    given_values = {name: value for name, value in (("v", V), ("w", W), ("l", {"L": [V]})) if f":{name}" in text}
    assert update({"a": numbered(0, 1, 2)}, text, **given_values)["a"] == numbered(*left)


@given(
    st.integers(0, 5),
    st.lists(st.integers(0, 8), unique=True, max_size=3),
    st.lists(st.integers(0, 8), unique=True, max_size=3),
)
def test_any_removals_and_settings_of_a_list(length, removed, written):
    written = [index for index in written if index not in removed]
    clauses = [
        ("REMOVE " + ", ".join(f"a[{index}]" for index in removed)) if removed else "",
        ("SET " + ", ".join(f"a[{index}] = :v" for index in written)) if written else "",
    ]
    text = " ".join(clause for clause in clauses if clause)
    if not text:
        return
    kept = [70 if index in written else index for index in range(length) if index not in removed]
    beyond = [70 for index in written if index >= length]
    given_values = {"v": V} if written else {}
    assert update({"a": numbered(*range(length))}, text, **given_values)["a"] == numbered(*kept, *beyond)


@pytest.mark.parametrize(
    "text, left",
    [
        ("SET x = y, y = x", {"x": {"N": "2"}, "y": {"N": "1"}}),
        ("SET x = x + :v", {"x": {"N": "71"}}),
        ("SET x = :v - x", {"x": {"N": "69"}}),
        ("SET q = if_not_exists(q, :v)", {"q": V}),
        ("SET x = if_not_exists(x, :v)", {}),
        ("SET q = if_not_exists(q, x) + :v", {"q": {"N": "71"}}),
        ("ADD q :v", {"q": V}),
        ("ADD x :v", {"x": {"N": "71"}}),
        ("SET m.q = :v REMOVE m.k", {"m": {"M": {"q": V}}}),
        ("REMOVE x, q", {"x": None}),
    ],
)
def test_what_becomes_of_an_item(text, left):
    item = {"x": {"N": "1"}, "y": {"N": "2"}, "m": {"M": {"k": {"S": "k"}}}}
    wanted = {name: value for name, value in {**item, **left}.items() if value is not None}
    assert update(item, text, **({"v": V} if ":v" in text else {})) == wanted


def test_sets_grow_and_shrink_and_go():
    item = {"s": {"SS": ["a", "b"]}}
    assert update(item, "ADD s :v", v={"SS": ["b", "c"]}) == {"s": {"SS": ["a", "b", "c"]}}
    assert update(item, "DELETE s :v", v={"SS": ["a", "z"]}) == {"s": {"SS": ["b"]}}
    assert update(item, "DELETE s :v", v={"SS": ["a", "b"]}) == {}
    assert update(item, "DELETE q :v", v={"SS": ["a"]}) == item


WRONG_TYPE = "An operand in the update expression has an incorrect data type"
NO_PLACE = "The document path provided in the update expression is invalid for update"
ABSENT = "The provided expression refers to an attribute that does not exist in the item"


@pytest.mark.parametrize(
    "text, words",
    [
        ("SET q = p", ABSENT),
        ("SET q = p + :v", ABSENT),
        ("SET q = s + :v", WRONG_TYPE),
        ("SET q = list_append(s, :l)", WRONG_TYPE),
        ("ADD s :v", WRONG_TYPE),
        ("DELETE n :ss", WRONG_TYPE),
        ("SET q.w = :v", NO_PLACE),
        ("SET n.w = :v", NO_PLACE),
        ("SET n[0] = :v", NO_PLACE),
        ("SET m[0] = :v", NO_PLACE),
        ("SET l[7].x = :v", NO_PLACE),
        ("REMOVE q.w", NO_PLACE),
        ("REMOVE s[0]", NO_PLACE),
    ],
)
def test_an_item_that_an_update_does_not_fit(text, words):
    item = {"n": {"N": "1"}, "s": {"S": "a"}, "m": {"M": {}}, "l": {"L": []}}
    given_values = {"v": V, "l": {"L": [V]}, "ss": {"SS": ["a"]}}
    used = {name: value for name, value in given_values.items() if f":{name}" in text}
    with pytest.raises(Refusal) as told:
        update(item, text, **used)
    assert told.value.message == words


@pytest.mark.parametrize(
    "text, words",
    [
        ("SET x = :v, x.y = :v", "overlap"),
        ("REMOVE x SET x = :v", "overlap"),
        ("SET x.y = :v, x[0] = :v", "conflict"),
        ("SET x = size(y)", "The function is not allowed in an update expression; function: size"),
        ("SET x = nothing(y)", "Invalid function name; function: nothing"),
        ("SET x = if_not_exists(:v, :v)", "Operator or function requires a document path"),
        ("SET x = if_not_exists(y)", "Incorrect number of operands"),
        ("SET x = :s + :v", "Incorrect operand type for operator or function; operator or function: +"),
        (
            "SET x = list_append(:v, y)",
            "Incorrect operand type for operator or function; operator or function: list_app",
        ),
        ("ADD x :s", "operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("DELETE x :v", "operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"),
    ],
)
def test_what_no_update_may_say(text, words):
    with pytest.raises(Malformed) as told:
        update({}, text, v=V, s={"S": "s"})
    assert words in str(told.value)
