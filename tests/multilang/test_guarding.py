"""The guard beside the daemon: there is one of it, it is replaced, and it ends with the daemon's last child."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from streamiter.multilang.guarding import Guard

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(60)]


def test_children_that_begin_at_once_have_one_guard():
    async def main() -> None:
        guard = Guard()
        pipes = await asyncio.gather(*(guard.start() for _ in range(3)))
        assert len(set(pipes)) == 1
        await guard.close()

    asyncio.run(main())


def test_a_guard_that_stands_still_does_not_hold_the_daemons_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Guard, "END_SECONDS", 0.2)

    async def main() -> None:
        guard = Guard()
        await guard.start()
        assert guard.pid is not None
        os.kill(guard.pid, signal.SIGSTOP)
        await guard.close()

    asyncio.run(main())
