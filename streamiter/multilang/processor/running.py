"""Running: runs a processor as the child of a MultiLang daemon, over this process's standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamiter.clock import Clock, SystemClock
from streamiter.errors import InvalidOption
from streamiter.multilang.processor.conversation import Conversation
from streamiter.multilang.processor.ending import GRACE, Watch
from streamiter.multilang.processor.forms import Hooks, hooks_of
from streamiter.multilang.processor.pipe import StandardPipe
from streamiter.multilang.processor.work import Checkpoints, check_checkpoints
from streamiter.multilang.wire import Form

PATIENCE: Final = 30.0  # for how many seconds a throttled checkpoint is tried again


def run(
    processor: Any,
    *,
    name: str | None = None,
    checkpoint: Checkpoints = None,
    patience: float = PATIENCE,
    grace: float = GRACE,
    form: str | None = None,
    clock: Clock | None = None,
) -> None:
    """Runs a processor under a MultiLang daemon, streamiter's or Java's, until the daemon ends it.

    `processor`: a function of a batch or of a record, a class with `process(batch)`, a class with amazon_kclpy's methods, or an
    App, of which `name` chooses a processor.
    `checkpoint`: "batch", behind each batch (the default); a number, every so many seconds; "never": the processor calls
    `batch.checkpoint(record)` (the default for amazon_kclpy's methods). At the shard's end it is done in any case.
    `patience`: for how many seconds a checkpoint is tried again while the daemon's table is throttled.
    `grace`: after how many seconds a processor is ended that still works though the daemon is gone.
    `form`: "newer" or "older", the fields that the daemon knows; by default it is found out.

    What the processor raises comes out of here, and the batch is not answered: the records come again. Standard output is put
    aside first: what is printed goes to standard error.
    """
    check_options(checkpoint, patience, grace, form)
    hold(
        lambda: hooks_from(processor, name),
        checkpoint=checkpoint,
        patience=patience,
        grace=grace,
        form=form,
        clock=SystemClock() if clock is None else clock,
    )


def check_options(checkpoint: Checkpoints, patience: float, grace: float, form: str | None) -> None:
    """Raises InvalidOption if one of them makes no sense."""
    check_checkpoints(checkpoint)
    for option, seconds in (("patience", patience), ("grace", grace)):
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise InvalidOption(f"{option}= is a number of seconds, not {seconds!r}")
    if form is not None and form not in [one.value for one in Form]:
        raise InvalidOption(f"form= is 'newer' or 'older', not {form!r}")


def hold(
    found: Callable[[], Hooks],
    *,
    checkpoint: Checkpoints,
    patience: float,
    grace: float,
    form: str | None,
    clock: Clock,
) -> None:
    """As `run`, with checked options. `found` is called once standard output is put aside, so that its imports may print."""
    pipe = StandardPipe()
    try:
        conversation = Conversation(pipe, found, checkpoint=checkpoint, patience=patience, clock=clock)
        watch = Watch(pipe.descriptor, grace, clock)
        watch.begin()
        conversation.hold(None if form is None else Form(form))
        watch.end()
    finally:
        pipe.close()


def hooks_from(processor: Any, name: str | None = None) -> Hooks:
    """The hooks of a processor, or of a processor of an App."""
    if is_app(processor):
        from streamiter.multilang.processor.app import hooks_of_app

        return hooks_of_app(processor, name)
    if name is not None:
        raise InvalidOption("name= chooses a processor of an App; this is none")
    return hooks_of(processor)


def is_app(processor: Any) -> bool:
    """Whether it is an App. This does not import App: if the object is one, its module is loaded already."""
    return any(f"{kind.__module__}.{kind.__name__}" == "streamiter.app.app.App" for kind in type(processor).__mro__)
