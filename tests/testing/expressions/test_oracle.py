"""The engine against an oracle that knows nothing of it: what holds of an item, and what becomes of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.expressions.binding import Bindings
from streamiter.testing.expressions.evaluating import meets
from streamiter.testing.expressions.grammar import parse_condition, parse_update
from streamiter.testing.expressions.terms import Change, Function, Literal, Path, Sum
from streamiter.testing.expressions.updating import updated
from streamiter.testing.expressions.words import Malformed
from streamiter.testing.http.refusal import Refusal
from tests.testing.expressions import plain
from tests.testing.expressions.drawn import NAMES, PLACEHOLDERS, conditions, items, numbers, sets, values, written
from tests.testing.expressions.drawn import paths as deep_paths
from tests.testing.expressions.plain import Unfit

_kinds = st.sampled_from(["S", "N", "L", "M", "SS"]).map(lambda kind: {"S": kind})
given_values = st.fixed_dictionaries(dict.fromkeys(PLACEHOLDERS, st.one_of(values, numbers, sets, _kinds)))

paths = st.one_of(st.sampled_from(NAMES).map(lambda name: Path((name,))), deep_paths)
_operands = st.one_of(paths, st.sampled_from(PLACEHOLDERS).map(Literal))
_news = st.recursive(
    _operands,
    lambda inner: st.one_of(
        st.builds(lambda path, other: Function("if_not_exists", (path, other)), paths, inner),
        st.builds(lambda one, other: Function("list_append", (one, other)), inner, inner),
    ),
    max_leaves=3,
)
_sums = st.one_of(_news, st.builds(Sum, st.sampled_from("+-"), _news, _news))
_changes = st.one_of(
    st.builds(lambda path, new: Change("SET", path, new), paths, _sums),
    st.builds(lambda path: Change("REMOVE", path), paths),
    st.builds(
        lambda clause, path, name: Change(clause, path, Literal(name)),
        st.sampled_from(("ADD", "DELETE")),
        paths,
        st.sampled_from(PLACEHOLDERS),
    ),
)
updates = st.lists(_changes, min_size=1, max_size=3)


def text_of(update: list[Change]) -> str:
    """An update as a client writes it: each clause once."""
    clauses: dict[str, list[str]] = {}
    for change in update:
        says = written(change.path)
        if change.clause == "SET":
            assert change.operand is not None
            says += f" = {_new(change.operand)}"
        elif change.operand is not None:
            says += f" {written(change.operand)}"
        clauses.setdefault(change.clause, []).append(says)
    return " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items())


def _new(operand: Any) -> str:
    if isinstance(operand, Sum):
        return f"{_new(operand.left)} {operand.sign} {_new(operand.right)}"
    if isinstance(operand, Function):
        return f"{operand.name}({', '.join(map(_new, operand.arguments))})"
    return written(operand)


@given(updates)
def test_an_update_is_read_as_it_was_written(update):
    ordered = [
        change for clause in dict.fromkeys(one.clause for one in update) for change in update if change.clause == clause
    ]
    assert list(parse_update(text_of(update))) == ordered


@given(items, conditions, given_values)
def test_a_condition_holds_where_the_oracle_says_so(item, condition, chosen):
    try:
        bound = Bindings({}, chosen).condition(parse_condition(written(condition)))
    except Malformed as error:
        assert str(error)  # an operand of the wrong type, or an operand that is its own
        return
    said = plain.holds(
        {name: plain.plain(value) for name, value in item.items()},
        condition,
        {name: plain.plain(value) for name, value in chosen.items()},
    )
    assert meets(item, bound) is said


@given(items, updates, given_values)
def test_an_item_becomes_what_the_oracle_says(item, update, chosen):
    try:
        bound = Bindings({}, chosen).update(parse_update(text_of(update)))
    except Malformed as error:
        assert str(error)
        return
    was = {name: plain.plain(value) for name, value in item.items()}
    by_place = sorted(bound, key=lambda change: [step for step in change.path.steps if isinstance(step, int)])
    names = {name: plain.plain(value) for name, value in chosen.items()}
    try:
        becomes = plain.updated(was, [_unbound(change) for change in by_place], names)
    except Unfit:
        becomes = None
    try:
        new = updated(item, bound)
    except Refusal as refusal:
        assert refusal.name == "ValidationException"
        new = None
    assert (None if new is None else {name: plain.plain(value) for name, value in new.items()}) == becomes
    assert was == {name: plain.plain(value) for name, value in item.items()}  # the item itself is left alone


def _unbound(change: Change) -> Change:
    return Change(change.clause, Path(change.path.steps), change.operand)


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")), given_values)
def test_any_bytes_are_read_or_refused(text, chosen):
    for parse, bind in (
        (parse_condition, Bindings({"#a": "a"}, chosen).condition),
        (parse_update, Bindings({"#a": "a"}, chosen).update),
    ):
        try:
            bind(parse(text))  # type: ignore[operator]
        except Malformed as error:
            assert str(error)
