"""Forms: what a processor's function takes, by its first parameter: a record, a value, a batch, or events."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, get_origin, get_type_hints

from streamiter.app.feed import Events
from streamiter.app.hand import Keeper
from streamiter.app.held import HeldLease
from streamiter.errors import InvalidOption
from streamiter.record import Record

FORMS = """a processor is one of
    def f(record): ...            one record at a time
    def f(value): ...             what model= makes of it
    def f(batch): ...             a list of records of one lease, with batch.lease and batch.token
    async def f(events): ...      the iterator: async for record in events.records()
    class F: process(batch), and if wanted initialize(lease), lease_lost(), shard_ended(), shutdown_requested()
each with a second parameter, lease, if wanted; def and async def alike, but events needs async def"""
HOOKS = ("initialize", "lease_lost", "shard_ended", "shutdown_requested")


class Form(Enum):
    """What a function gets with one call."""

    RECORD = "record"
    VALUE = "value"
    BATCH = "batch"
    EVENTS = "events"
    CLASS = "class"
    KEEPER = "keeper"


@dataclass(frozen=True, slots=True)
class Handler:
    """The user's function, or class, and how to call it."""

    form: Form
    function: Any
    wants_lease: bool
    is_async: bool

    @property
    def takes_single_records(self) -> bool:
        """Whether each record is handed over by itself."""
        return self.form in (Form.RECORD, Form.VALUE)


def read_form(function: Any, *, model: Any = None) -> Handler:
    """The form of a user's function or class. Raises InvalidOption, with the possible forms, if it has none of them."""
    if inspect.isclass(function):
        return _read_class(function)
    if isinstance(function, Keeper):
        return Handler(Form.KEEPER, function, False, True)
    name = getattr(function, "__name__", repr(function))
    if not callable(function):
        raise InvalidOption(f"{name} is no function: {FORMS}")
    if _yields(function):
        raise InvalidOption(f"{name} has a yield in it: {FORMS}")
    parameters = _positional(function, name)
    hints = _hints(function)
    form = _form_of(parameters[0], hints.get(parameters[0]), model)
    if form is None:
        raise InvalidOption(f"{name}({', '.join(parameters)}): the first parameter says nothing known: {FORMS}")
    if len(parameters) > 2 or (len(parameters) == 2 and not _is_lease(parameters[1], hints.get(parameters[1]))):
        raise InvalidOption(f"{name}({', '.join(parameters)}): the second parameter can only be lease: {FORMS}")
    is_async = is_coroutine(function)
    if form is Form.EVENTS and not is_async:
        raise InvalidOption(f"{name}(events) has to be an async def: {FORMS}")
    if form is Form.VALUE and model is None:
        raise InvalidOption(f"{name}(value) needs model=, which makes values of records: {FORMS}")
    return Handler(form, function, len(parameters) == 2, is_async)


def _read_class(cls: type) -> Handler:
    process = getattr(cls, "process", None)
    if not callable(process):
        raise InvalidOption(f"the class {cls.__name__} has no process(batch): {FORMS}")
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise InvalidOption(f"{cls.__name__}() is made without arguments, once for each lease: {error}") from None
    for name in ("process", "initialize"):
        hook = getattr(cls, name, None)
        if hook is not None and _yields(hook):
            raise InvalidOption(f"{cls.__name__}.{name} has a yield in it: {FORMS}")
        if hook is not None and len(_positional(hook, f"{cls.__name__}.{name}")) != 2:  # with self
            wanted = "process(self, batch)" if name == "process" else "initialize(self, lease)"
            raise InvalidOption(f"{cls.__name__}.{name} is written {wanted}: {FORMS}")
    return Handler(Form.CLASS, cls, False, is_coroutine(process))


def _form_of(name: str, hint: Any, model: Any) -> Form | None:
    kind = get_origin(hint) or hint
    if isinstance(kind, type):
        if issubclass(kind, Record):
            return Form.RECORD
        if issubclass(kind, Events):
            return Form.EVENTS
        if issubclass(kind, list):
            return Form.BATCH
        if model is not None and kind is model:
            return Form.VALUE
    return Form(name) if name in ("record", "value", "batch", "events") else None


def _is_lease(name: str, hint: Any) -> bool:
    return name == "lease" or hint is HeldLease


def _positional(function: Callable[..., Any], name: str) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidOption(f"{name} does not tell its parameters: {FORMS}") from None
    found = [told.name for told in parameters if told.kind in (told.POSITIONAL_ONLY, told.POSITIONAL_OR_KEYWORD)]
    if not found:
        raise InvalidOption(f"{name}() takes nothing: {FORMS}")
    return found


def _hints(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function if inspect.isroutine(function) else type(function).__call__)
    except Exception:  # its annotations name types that only a type checker sees; then the parameter's name tells
        return {}


def _yields(function: Any) -> bool:
    called = function if inspect.isroutine(function) or isinstance(function, partial) else type(function).__call__
    return inspect.isasyncgenfunction(called) or inspect.isgeneratorfunction(called)


def is_coroutine(function: Any) -> bool:
    """Whether a call of it has to be awaited."""
    if inspect.iscoroutinefunction(function):
        return True
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(type(function).__call__)
