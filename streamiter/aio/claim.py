"""Claims of tasks: one task at a time reads or moves an AsyncStream; a second one is refused by name."""

from __future__ import annotations

import asyncio
from typing import Any

from streamiter.errors import StreamiterError
from streamiter.stream.claim import READER, Claim


class TaskClaim(Claim):
    """Which task reads at present, and what it is doing."""

    def named(self, name: str) -> TaskClaim:
        """The same, once the stream's name is known."""
        self._name = name
        return self

    def take(self, what: str) -> None:
        """The task that asks begins to read; StreamiterError where another is in the middle of it."""
        self.check_process(what)
        asking: Any = asyncio.current_task()
        reader: Any
        reader, doing = self.holder.setdefault(READER, (asking, what))
        if reader is asking:
            return
        if reader is None or reader.done() or reader.get_loop().is_closed():
            self.holder[READER] = asking, what
            return
        raise StreamiterError(
            f"task {asking.get_name()!r} called {what}() of {self._name} while task {reader.get_name()!r} is in its {doing}(): "
            "one task at a time reads or moves a stream; stats, token, ended and aclose() are free to all. Put an asyncio.Lock "
            "around the stream, or give each task an AsyncStream of its own"
        )
