"""What the cases about logs share: rates, an app that works a log off, and rows of ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.results import Row
from streamiter import App, Stream
from streamiter.app.garbage import passing_over_what_lasts
from streamiter.log import Log


class Rate(NamedTuple):
    """Records a second, by the clock and by the CPU time of this process; the server's is nobody's."""

    wall: float
    cpu: float


Rates = dict[str, Rate]


def timed(work: Callable[[], int]) -> Rate:
    """Does the work, which tells how many records it was.

    Both sides are as in a process of their own: the garbage collector does not look at what the other one imported.
    """
    with passing_over_what_lasts():
        wall, cpu = time.monotonic(), time.process_time()
        count = work()
    return Rate(count / (time.monotonic() - wall), count / (time.process_time() - cpu))


def row(rounds: Sequence[Rates], work: str, ours: str, peer: str, told: str, target: float | None) -> Row:
    """The ratios of all rounds."""
    ratios = [found[ours].wall / found[peer].wall for found in rounds]
    by_cpu = [found[ours].cpu / found[peer].cpu for found in rounds]
    return Row(work, told, ratios, target, by_cpu=by_cpu)


def measured(rounds: Sequence[Rates]) -> dict[str, dict[str, float]]:
    """The rates of one round, for people."""
    return {
        name: {"records_per_second": rate.wall, "records_per_cpu_second": rate.cpu}
        for name, rate in rounds[len(rounds) // 2].items()
    }


def work_off(app: App, url: str, count: int, *, size: int, is_events: bool) -> int:
    """An app of one worker, run as `streamiter worker` runs it, from its start to its end."""
    done = 0

    def note(number: int) -> None:
        nonlocal done
        done += number
        if done >= count:
            app.stop()

    if is_events:

        @app.processor(url)
        async def one_by_one(events: Any) -> None:
            async for _ in events.records():
                note(1)

    else:

        @app.processor(url, size=size)
        async def together(batch: Any) -> None:
            note(len(batch))

    app.run()
    assert done == count
    return done


def streamed(source: str | Log, size: int) -> int:
    """A Stream over all of it, in one order."""
    with Stream(source) as stream:
        return sum(map(len, stream.batches(size, until="caught_up")))
