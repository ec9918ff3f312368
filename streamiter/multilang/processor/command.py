"""The child as a command: finds the processor that MODULE:NAME names, and runs it, for both commands that do so."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from streamiter.clock import SystemClock
from streamiter.errors import InvalidOption
from streamiter.finding import find
from streamiter.multilang.processor.ending import end_within
from streamiter.multilang.processor.forms import Hooks
from streamiter.multilang.processor.running import check_options, hold, hooks_from, is_app
from streamiter.multilang.processor.work import EACH_BATCH, NEVER, Checkpoints

FAILED = 1
# Frames from here tell a user nothing about the processor: they are this package's, and the event loop's.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_OURS = tuple(os.path.join(folder, "") for folder in (_PACKAGE, os.path.join(os.path.dirname(os.__file__), "asyncio")))


def serve(
    target: str, *, only: str | None, checkpoint: str | None, patience: float, grace: float, form: str | None
) -> int:
    """Runs it until the daemon ends it; the exit code. InvalidOption where it cannot be what was meant.

    A processor's error is told with its traceback, on standard error, and the code is 1.
    """
    places = checkpoints_meant(checkpoint)
    check_options(places, patience, grace, form)
    _log_to_stderr()
    try:
        hold(
            lambda: _found(target, only),
            checkpoint=places,
            patience=patience,
            grace=grace,
            form=form,
            clock=SystemClock(),
        )
    except Misnamed as error:
        raise error.why from None
    except Exception as error:
        code = _fail(error)
    else:
        code = 0
    end_within(grace, code, SystemClock())
    return code


def checkpoints_meant(text: str | None) -> Checkpoints:
    """`--checkpoint` as `run` takes it."""
    if text is None or text in (EACH_BATCH, NEVER):
        return text
    try:
        return float(text)
    except ValueError:
        raise InvalidOption(f"--checkpoint is 'batch', 'never' or a number of seconds, not {text!r}") from None


class Misnamed(Exception):
    """The target's name is wrong."""

    def __init__(self, why: InvalidOption) -> None:
        super().__init__(str(why))
        self.why = why


def _found(target: str, only: str | None) -> Hooks:
    try:
        module, found = find(target, "processor", "MODULE:NAME, such as shop:process for `process` in shop.py")
        app, name = _app_of(module, found)
        return hooks_from(found if app is None else app, only or name)
    except InvalidOption as error:
        raise Misnamed(error) from error


def _app_of(module: ModuleType, found: object) -> tuple[Any, str | None]:
    """The app of this module that declared the function, and the processor's name in it: the app's options hold here, too."""
    if is_app(found):
        return found, None
    for app in filter(is_app, vars(module).values()):
        for name, processor in app.processors.items():
            if processor.handler.function is found:
                return app, name
    return None, None


def _fail(error: Exception) -> int:
    """Prints the error with its traceback, from the processor's own code on."""
    kept = error.__traceback__
    while kept is not None and kept.tb_frame.f_code.co_filename.startswith(_OURS):
        kept = kept.tb_next
    sys.stderr.write("".join(traceback.format_exception(error.with_traceback(kept or error.__traceback__))))
    sys.stderr.flush()
    return FAILED


def _log_to_stderr() -> None:
    """Logs each message on a line that begins with its level, so that the daemon can log it at the same level."""
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
