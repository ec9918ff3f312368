"""Turns: several chains of shards are read side by side by one task; their tables come one of each in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TypeVar

from streamiter.spark.ahead import Ahead

_Result = TypeVar("_Result")


def in_turns(chains: Iterable[Iterator[_Result]], most: int) -> Generator[_Result]:
    """What the chains give, `most` of them at once; where one ends, the next begins.

    Each goes on by itself, one result ahead, but whose turn it is does not depend on how long any of them takes.
    """
    waiting = iter(chains)
    with ExitStack() as stack:

        def begun(count: int) -> list[Ahead[_Result]]:
            return [stack.enter_context(Ahead(chain, 1)) for chain in islice(waiting, count)]

        running = deque(begun(most))
        while running:
            chain = running.popleft()
            for result in chain:
                yield result
                running.append(chain)
                break
            else:
                running.extend(begun(1))
