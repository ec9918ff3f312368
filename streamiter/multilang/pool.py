"""The pool: the children of one command: one for each lease, or a number of them that share all leases."""

from __future__ import annotations

import asyncio
from collections import Counter

from streamiter.multilang.child import Child
from streamiter.multilang.command import Command
from streamiter.multilang.guarding import Guard


class Pool:
    """Starts children, and ends them. With `most`, so many children share all leases; with None, each lease has its own."""

    def __init__(self, command: Command, guard: Guard, most: int | None = None) -> None:
        self.command = command
        self.is_shared = most is not None
        self.form = command.form  # None until a child's first checkpoint tells
        self._guard = guard
        self._most = most
        self._seats: Counter[Child] = Counter()  # how many leases each child works on
        self._starting = asyncio.Lock()

    async def take(self, key: str) -> Child:
        """A child for this lease; raises OSError if it cannot be started."""
        if not self.is_shared:
            return await self._start(key)
        async with self._starting:
            alive = [child for child in self._seats if not (child.is_broken or child.has_ended)]
            if self._most is not None and len(alive) >= self._most:
                least = min(alive, key=lambda child: self._seats[child])
                self._seats[least] += 1
                return least
            return await self._start(f"child {len(alive) + 1}")

    async def leave(self, child: Child, *, is_broken: bool) -> None:
        """A lease needs its child no more. The child ends with its last lease, or at once if it is broken."""
        child.is_broken = child.is_broken or is_broken
        self._seats[child] -= 1
        if child.is_broken:
            await child.kill()
        elif self._seats[child] <= 0:
            await child.end()
        if self._seats[child] <= 0:
            self._seats.pop(child, None)

    async def close(self) -> None:
        """Kills the children that are left."""
        await asyncio.gather(*(child.kill() for child in list(self._seats)))
        self._seats.clear()

    async def _start(self, label: str) -> Child:
        child = Child(self.command, self._guard, label)
        await child.start()
        self._seats[child] += 1
        return child
