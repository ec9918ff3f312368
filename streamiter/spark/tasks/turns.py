"""Turns: a task reads several chains of shards side by side, and gives one table of each chain in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TypeVar

from streamiter.spark.tasks.ahead import Ahead

_Result = TypeVar("_Result")


def in_turns(chains: Sequence[Iterator[_Result]], most: int) -> Generator[_Result]:
    """The results of the chains, of `most` chains at once; when one ends, the next begins.

    Each chain runs on a thread, one result ahead. The order of the results does not depend on how long any chain takes.
    """
    if len(chains) == 1:
        yield from chains[0]  # There is nothing to read beside it, so it needs no thread.
        return
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
