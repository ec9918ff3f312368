"""What a user's function leaves to be run is refused: else its records would count as processed, and nothing was done."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from streamiter.errors import InvalidOption, ProcessorFailed
from tests.app.rows import SOURCE, make_app

GOT: list[Any] = []
ROWS = [{"id": "a"}, {"id": "b"}]


async def by_record(record: Any) -> None:
    GOT.append(record)


async def by_batch(batch: Any) -> None:
    GOT.extend(batch)


@functools.wraps(by_record)
def wrapped(*arguments: Any) -> Any:
    return by_record(*arguments)


async def returns(record: Any) -> Any:
    return by_record(record)


class Returns:
    def process(self, batch: Any) -> Any:
        return by_batch(batch)


async def forgets(record: Any, call_next: Callable[[Any], Any]) -> None:
    call_next(record)


@pytest.mark.parametrize(
    "function, options",
    [
        (wrapped, {}),
        (wrapped, {"order": "key"}),
        (wrapped, {"order": "total"}),
        (lambda batch: by_batch(batch), {}),
        (Returns, {}),
        (returns, {}),
        (by_record, {"middleware": [forgets]}),
        (by_record, {"where": lambda record: by_record(record)}),
        (by_record, {"order": "key", "key": lambda record: by_record(record)}),
    ],
)
def test_what_is_returned_and_not_awaited_is_an_error(function: Any, options: dict[str, Any]):
    GOT.clear()
    app = make_app()
    app.processor(SOURCE, name="work", **options)(function)
    with pytest.raises(ProcessorFailed) as failed:
        app.test(ROWS)
    assert isinstance(failed.value.__cause__, InvalidOption)
    assert not GOT


class Yields:
    def process(self, batch: Any) -> Any:
        yield batch


class YieldsLater:
    async def process(self, batch: Any) -> Any:
        yield batch


class Called:
    def __call__(self, record: Any) -> Any:
        yield record


@pytest.mark.parametrize("function", [Yields, YieldsLater, Called()])
def test_a_yield_is_refused_wherever_it_stands(function: Any):
    with pytest.raises(InvalidOption, match="has a yield in it"):
        make_app().processor(SOURCE, name="work")(function)


@pytest.mark.parametrize(
    "options, told",
    [
        ({"middleware": 5}, "middleware= takes a list"),
        ({"order": "key", "key": 5}, "key= takes a function"),
    ],
)
def test_options_of_a_wrong_type(options: dict[str, Any], told: str):
    with pytest.raises(InvalidOption, match=told):
        make_app().processor(SOURCE, **options)(by_record)


def test_a_function_without_a_name_asks_for_one():
    with pytest.raises(InvalidOption, match="say name="):
        make_app().processor(SOURCE)(functools.partial(by_record))
    GOT.clear()
    app = make_app()
    app.processor(SOURCE, name="work")(functools.partial(by_record))
    app.test(ROWS)
    assert len(GOT) == 2
