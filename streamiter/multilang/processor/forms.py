"""Forms: turns what a user wrote as a processor into the five functions that the conversation calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import CoroutineType
from typing import Any

from streamiter.errors import InvalidOption
from streamiter.multilang.processor.record import Batch, ChildLease, KCLRecord, LastCall, Record

FORMS = """a processor is one of
    def f(batch): ...             a list of records, with batch.shard_id and batch.checkpoint(record)
    def f(record): ...            one record at a time
    class F: process(batch), and if wanted initialize(lease), lease_lost(), shard_ended(), shutdown_requested();
             the last two may take one argument, for its checkpoint()
    class F: amazon_kclpy's methods: process_records(input), or process_records(records, checkpointer) of its first version
    an App of streamiter with one processor, or an app and the name of one
def and async def alike"""

Function = Callable[..., Any]


def _nothing(_: Any) -> None:
    """Stands for a method that the user did not write."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """A processor's part in the conversation. Each function returns when its action is done."""

    process: Callable[[Batch], Any]
    initialize: Callable[[ChildLease], Any] = _nothing
    lease_lost: Callable[[LastCall], Any] = _nothing
    shard_ended: Callable[[LastCall], Any] = _nothing
    shutdown_requested: Callable[[LastCall], Any] = _nothing
    record_type: type[Record] = Record
    keeps_places: bool = field(default=False)  # it checkpoints by itself: nothing does so for it but at the shard's end


def hooks_of(processor: Any) -> Hooks:
    """The hooks of a class, an object, or a function. Raises InvalidOption, with the possible forms, for anything else."""
    if isinstance(processor, Hooks):
        return processor
    if inspect.isclass(processor):
        try:
            processor = processor()
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # of its own __init__
            raise InvalidOption(f"{processor.__name__}() is made without arguments: {error}; {FORMS}") from None
    if callable(getattr(processor, "process_records", None)):
        return _kcl_hooks(processor)
    if callable(getattr(processor, "process", None)):
        return _hooks(processor)
    if callable(processor):
        return _function_hooks(processor)
    raise InvalidOption(f"{type(processor).__name__} has no process(batch): {FORMS}")


def _function_hooks(function: Function) -> Hooks:
    name = getattr(function, "__name__", type(function).__name__)
    parameters = _parameters(function, name)
    if len(parameters) != 1:
        raise InvalidOption(f"{name}({', '.join(parameters)}) takes one argument, the batch or a record: {FORMS}")
    call = awaited(function)
    if parameters[0] != "record":
        return Hooks(call)

    def each(batch: Batch) -> None:
        for record in batch:
            call(record)

    return Hooks(each)


def _hooks(processor: Any) -> Hooks:
    name = type(processor).__name__
    if len(_parameters(processor.process, f"{name}.process")) != 1:
        raise InvalidOption(f"{name}.process is written process(self, batch): {FORMS}")
    return Hooks(awaited(processor.process), **_optional(processor, name))


def _kcl_hooks(processor: Any) -> Hooks:
    """The hooks of a processor written for amazon_kclpy: its methods and their parameters tell for which of three versions."""
    name = type(processor).__name__
    process = awaited(processor.process_records)
    taken = _parameters(processor.process_records, f"{name}.process_records")
    hooks = _optional(processor, name)
    if len(taken) == 2:  # the first version
        hooks["initialize"] = _with(getattr(processor, "initialize", _nothing), lambda lease: (lease.shard_id,))
        hooks["shutdown_requested"] = _with(
            getattr(processor, "shutdown_requested", _nothing), lambda call: (call.checkpointer,)
        )

        def process_two(batch: Batch) -> Any:
            return process(batch, batch.checkpointer)

    elif len(taken) != 1:
        raise InvalidOption(f"{name}.process_records takes one argument, or records and checkpointer: {FORMS}")
    shutdown = getattr(processor, "shutdown", None)
    if callable(shutdown) and not callable(getattr(processor, "shard_ended", None)):
        is_first = len(_parameters(shutdown, f"{name}.shutdown")) == 2
        hooks["shard_ended"] = hooks["lease_lost"] = _with(
            shutdown, lambda call: (call.checkpointer, call.reason) if is_first else (call,)
        )
    return Hooks(process_two if len(taken) == 2 else process, **hooks, record_type=KCLRecord, keeps_places=True)


def _optional(processor: Any, name: str) -> dict[str, Any]:
    """The methods that a processor may leave out. Each takes the conversation's argument, or none."""
    found: dict[str, Any] = {}
    for method in ("initialize", "lease_lost", "shard_ended", "shutdown_requested"):
        hook = getattr(processor, method, None)
        if not callable(hook):
            continue
        count = len(_parameters(hook, f"{name}.{method}"))
        if count > 1:
            raise InvalidOption(f"{name}.{method} takes at most one argument: {FORMS}")
        found[method] = awaited(hook) if count else _with(hook, lambda _: ())
    return found


def _with(hook: Function, arguments: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], Any]:
    call = awaited(hook)
    return lambda given: call(*arguments(given))


def awaited(function: Function) -> Function:
    """The function; if it gives a coroutine, that runs to its end on the child's event loop."""

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        return _loop().run(result) if isinstance(result, CoroutineType) else result

    return call


@cache
def _loop() -> Any:
    """The child's event loop. There is one for the whole life of the child, so that a processor can keep connections in it."""
    import asyncio

    return asyncio.Runner()


def _parameters(function: Function, name: str) -> list[str]:
    """The names of its required positional parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidOption(f"{name} does not tell its parameters: {FORMS}") from None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [told.name for told in parameters if told.kind in kinds and told.default is told.empty]
