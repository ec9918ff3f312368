"""What a function's parameters ask for, and what is refused with the forms that there are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from streamiter import ChangeRecord, InvalidOption, Record
from streamiter.app import Events, HeldLease, LeaseBatch
from streamiter.app.forms import Form, read_form


@dataclass
class Order:
    id: str


def by_record(record): ...
def by_batch(batch): ...
def with_lease(batch, lease): ...
def typed_record(change: ChangeRecord): ...
def typed_batch(told: LeaseBatch[Record]): ...
def typed_list(told: list[Record]): ...
def typed_lease(record, held: HeldLease): ...
async def by_events(events): ...
async def typed_events(told: Events[Record]): ...
def by_value(value): ...
def typed_value(order: Order): ...


@pytest.mark.parametrize(
    "function, form, model",
    [
        (by_record, Form.RECORD, None),
        (typed_record, Form.RECORD, None),
        (typed_lease, Form.RECORD, None),
        (by_batch, Form.BATCH, None),
        (with_lease, Form.BATCH, None),
        (typed_batch, Form.BATCH, None),
        (typed_list, Form.BATCH, None),
        (by_events, Form.EVENTS, None),
        (typed_events, Form.EVENTS, None),
        (by_value, Form.VALUE, Order),
        (typed_value, Form.VALUE, Order),
    ],
)
def test_the_first_parameter_says_what_is_handed_over(function, form, model):
    handler = read_form(function, model=model)
    assert handler.form is form
    assert handler.wants_lease == (function in (with_lease, typed_lease))
    assert handler.is_async == (form is Form.EVENTS)


def test_methods_and_objects_with_a_call_are_functions_too():
    class Handler:
        async def __call__(self, batch): ...

        def each(self, record): ...

    assert read_form(Handler()).form is Form.BATCH and read_form(Handler()).is_async
    assert read_form(Handler().each).form is Form.RECORD


def test_a_class_has_process():
    class Whole:
        def initialize(self, lease): ...
        async def process(self, batch): ...
        def lease_lost(self): ...

    assert read_form(Whole).form is Form.CLASS


def generator(record):
    yield record


class NoProcess: ...


class WantsArguments:
    def __init__(self, table): ...
    def process(self, batch): ...


class ProcessTakesTwo:
    def process(self, batch, lease): ...


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda: None, "takes nothing"),
        (lambda thing: None, "the first parameter says nothing known"),
        (lambda record, thing: None, "the second parameter can only be lease"),
        (lambda record, lease, more: None, "the second parameter can only be lease"),
        (lambda events: None, "has to be an async def"),
        (by_value, "needs model="),
        (generator, "has a yield in it"),
        (NoProcess, "has no process(batch)"),
        (WantsArguments, "is made without arguments"),
        (ProcessTakesTwo, "is written process(self, batch)"),
        (7, "is no function"),
        (dict.fromkeys, "says nothing known"),
    ],
)
def test_what_is_no_processor_is_refused(function, said):
    with pytest.raises(InvalidOption, match="a processor is one of|without arguments") as raised:
        read_form(function)
    assert said in str(raised.value)
