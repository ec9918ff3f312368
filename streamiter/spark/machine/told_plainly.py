"""Our own errors, told plainly: they leave without the call stack that Spark would print of them."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Self

from streamiter.errors import StreamiterError


class told_plainly(ContextDecorator):  # it reads as what it does
    """Takes the traceback off our own errors."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, StreamiterError):
            raise error.with_traceback(None) from None
