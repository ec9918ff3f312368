"""Declaring: makes a processor of what a user wrote; an error for a wrong option says what is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streamiter.app.forms import Form, is_coroutine, read_form
from streamiter.app.policies import Policy
from streamiter.app.processor import Processor
from streamiter.errors import InvalidOption
from streamiter.locate import locate
from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.stream import options
from streamiter.stream.model import Model
from streamiter.topic import Topic
from streamiter.where import WhereError, parse_where
from streamiter.where.clauses import test_of


def declare(
    function: Any,
    *,
    source: str | Source[Any],
    name: str | None,
    order: str,
    concurrency: int,
    size: int,
    within: float,
    start: Any,
    on_error: Policy,
    where: Callable[[Any], bool] | str | None,
    middleware: Sequence[Any],
    model: Any,
    key: Callable[[Any], Any] | None,
    in_flight: int,
    acks: str = "lease",
) -> Processor:
    """The processor that the user declared."""
    options.check_choice("order", order, ("shard", "key", "total"))
    options.check_choice("acks", acks, ("lease", "group"))
    options.check_count("concurrency", concurrency)
    options.check_count("size", size)
    options.check_count("in_flight", in_flight)
    options.check_seconds("within", within)
    found = locate(source)  # refuses what is no source
    makes = found.model if model is None else model
    record = found.record if isinstance(found, Topic) and model is None else None
    handler = read_form(function, model=record or makes)
    name = name or getattr(function, "__name__", None)
    if name is None:
        raise InvalidOption(f"a processor is known by its function's name, and {function!r} has none; say name=")
    if not isinstance(name, str) or not name.isprintable() or "/" in name:
        raise InvalidOption(f"a processor's name is a word without slashes, not {name!r}")
    if not isinstance(on_error, Policy):
        raise InvalidOption(f"on_error= takes Halt(), Ignore(), Quarantine() or Retry(after=[...]), not {on_error!r}")
    if order == "key" and not handler.takes_single_records:
        raise InvalidOption(f"{name}: order='key' hands over single records: its parameter is record or value")
    if order != "key" and (concurrency != 1 or key is not None):
        raise InvalidOption(f"{name}: concurrency= and key= go with order='key': other orders do one thing at a time")
    if handler.form is Form.KEEPER and (order != "shard" or acks != "lease"):
        raise InvalidOption(
            f"{name}: order={order!r} and acks={acks!r} do not go with a processor that keeps its own checkpoints"
        )
    if acks == "group" and order == "total":
        raise InvalidOption(
            f"{name}: acks='group' goes with order='shard' and 'key': consumers of a group share partitions out"
        )
    if middleware and handler.form is Form.EVENTS:
        raise InvalidOption(
            f"{name}: middleware= goes with records, values and batches; events are asked for by the function"
        )
    if isinstance(middleware, str) or not isinstance(middleware, Sequence):
        raise InvalidOption(f"{name}: middleware= takes a list, such as [timed], not {middleware!r}")
    for one in middleware:
        if not is_coroutine(one):
            raise InvalidOption(
                f"{name}: middleware is written `async def (record, call_next)`, and awaits call_next(record); not {one!r}"
            )
    if key is not None and not callable(key):
        raise InvalidOption(f"{name}: key= takes a function of a record, not a {type(key).__name__}")
    for option, asked in (("where", where), ("key", key)):
        if callable(asked) and is_coroutine(asked):
            raise InvalidOption(
                f"{name}: {option}= takes a def, not async def: it is asked about each record on the spot"
            )
    return Processor(
        name=name,
        source=source,
        handler=handler,
        order=order,
        concurrency=concurrency,
        size=size,
        within_seconds=within,
        start=start,
        on_error=on_error,
        where=_test_of(where, found),
        middleware=tuple(middleware),
        model=None if makes is None else Model(makes),
        in_flight=max(in_flight, size),
        key=key,
        acks=acks,
        has_values=model is None and makes is not None,
    )


def _test_of(where: Callable[[Any], bool] | str | None, source: Source[Any]) -> Callable[[Any], bool] | None:
    """The test that `where` stands for. Refuses a text that names a field which the source's records never have."""
    if where is None or callable(where):
        return where
    if not isinstance(where, str):
        raise InvalidOption(
            f"where= takes a function of a record, or a text such as 'event = MODIFY', not a {type(where).__name__}"
        )
    try:
        asked = parse_where(where)
        if source.record_type is not Record:  # the class of a source that does not say
            asked.check_for(source.record_type, lambda: None)
    except WhereError as error:
        raise InvalidOption(f"where=: {error.shown}") from None
    return test_of(asked.clause)
