"""`where=` of a processor: a function, or a text in the command line's language."""

from __future__ import annotations

from decimal import Decimal

import pytest

from streamiter import App, DynamoDBStreams, InvalidOption, Record
from streamiter.testing import Simulator
from tests.where.test_where import record


@pytest.fixture
def source():
    with Simulator(table="orders") as sim:
        yield DynamoDBStreams("orders", client=sim.client("dynamodbstreams"))


def declared(where, source):
    app = App("shop", store="memory:")

    @app.processor(source, where=where)
    def bill(record): ...

    return app.processors["bill"]


def test_a_text_picks_records_as_the_command_line_does(source):
    bill = declared("event = MODIFY and new.total >= 10 and not late", source)
    dear, cheap = ({"id": "A1", "total": Decimal(total)} for total in ("12.5", "3"))
    assert bill.wants(record(new=dear))
    assert not bill.wants(record(new=cheap))
    assert not bill.wants(record("INSERT", new=dear))
    assert not bill.wants(record(new=dear, late=True))


def test_a_function_picks_records(source):
    bill = declared(lambda change: change.key["id"] == "A1", source)
    assert bill.wants(record(key="A1"))
    assert not bill.wants(record(key="A2"))


def test_a_record_on_which_the_function_fails_is_for_the_policy(source):
    bill = declared(lambda change: change.new["total"] > 3, source)
    wrong = record(new={"id": "A1"})
    assert bill.wants(wrong)
    with pytest.raises(KeyError):
        bill.prepare(wrong)


@pytest.mark.parametrize(
    "where, message, caret",
    [
        ("event = MODIFI", "expected INSERT, MODIFY or REMOVE, found 'MODIFI'", "        ^"),
        ("new.total >", "expected a value", "           ^"),
        ("payload = x", "changes of rows have no payload", "^"),
    ],
)
def test_what_is_wrong_is_shown_with_a_caret(source, where, message, caret):
    with pytest.raises(InvalidOption) as caught:
        declared(where, source)
    told, text, mark = str(caught.value).split("\n")
    assert told.startswith(f"where=: {message}")
    assert text == f"  {where}"
    assert mark == f"  {caret}"


def test_something_else_is_refused(source):
    with pytest.raises(InvalidOption, match="where= takes a function of a record, or a text"):
        declared(3, source)


def test_a_source_that_does_not_say_what_its_records_are_may_have_any_field(source):
    source.record_type = Record
    assert declared("new.total > 3 or payload = x", source).where is not None
