"""Faults: errors on their way to the user through Spark, which prints all that led to them: ours say enough by themselves."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Self

from streamiter.errors import StreamiterError


class told_plainly(ContextDecorator):  # it reads as what it does
    """Our own errors leave without the calls that they came through."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, StreamiterError):
            raise error.with_traceback(None) from None
