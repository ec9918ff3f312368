"""AsyncStream as Stream: what it gives, what it takes, and when it is opened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from streamiter import (
    AsyncStream,
    Event,
    InvalidOption,
    InvalidPosition,
    InvalidToken,
    PoisonRecord,
    RecordsExpired,
    StreamiterError,
)
from streamiter.testing import ManualClock, RunningClock
from tests.aio.uses import ALL, Unsteady, quiet, until_quiet
from tests.aio.virtual import CancelledAt, run
from tests.stream.family import Shelf, family, numbers, read

# -- as Stream


def test_a_loop_over_it_gives_all_and_ends_where_the_stream_does():
    async def main() -> None:
        async with AsyncStream(family(), inline=True) as stream:
            assert numbers([record async for record in stream]) == ALL
            assert stream.ended
            assert await stream.next() is None
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            assert stream.stats.records == stream.token["clock"] == 12
            assert set(stream.lineage) == {"S0", "S1", "S2"}

    run(main())


def test_its_token_is_a_streams_and_the_reverse():
    async def first(position: Any, count: int) -> tuple[list[int], dict[str, Any]]:
        async with AsyncStream(family(), position, inline=True) as stream:
            return numbers(await stream.take(count, 60.0)), stream.token

    came, token = run(first("trim_horizon", 5))
    with read(family(), token) as stream:
        came += [int(next(stream.follow()).number) for _ in range(2)]
        token = stream.token
    came += run(first(token, 100))[0]
    assert came == ALL


@pytest.mark.parametrize("inline", [True, False])
def test_a_clock_turned_by_hand_serves_it(inline: bool):
    async def main() -> None:
        clock = ManualClock()
        async with AsyncStream(family(), clock=clock, inline=inline) as stream:
            assert numbers([record async for record in stream]) == ALL
        assert clock.slept > 10  # until listings agree that no shard follows

    asyncio.run(main())


def test_a_clock_that_only_sleeps_sleeps_off_the_loop():
    threads = []

    class Plain:
        hand = ManualClock()
        now, monotonic = hand.now, hand.monotonic

        def sleep(self, seconds: float) -> None:
            threads.append(threading.current_thread())
            self.hand.sleep(seconds)

    async def main() -> None:
        async with AsyncStream(family(), clock=Plain()) as stream:
            assert numbers([record async for record in stream]) == ALL

    asyncio.run(main())
    assert threads
    assert threading.main_thread() not in threads


def test_a_running_clock_is_waited_for():
    async def main() -> None:
        clock = RunningClock(speed=1000)
        async with AsyncStream(family(), clock=clock) as stream:
            assert numbers([record async for record in stream]) == ALL
        assert clock.slept > 10

    asyncio.run(main())


def test_it_wants_the_same_options():
    for options, told in [
        ({"lateness": -1}, "lateness= takes seconds"),
        ({"on_gap": "ignore"}, "on_gap= takes 'raise' or 'skip'"),
        ({"clock": object()}, "clock= takes an object"),
        ({"on_event": 3}, "on_event= takes a function"),
        ({"model": 3}, "model= takes a class or a function"),
        ({"inline": "yes"}, "inline= takes True or False"),
    ]:
        with pytest.raises(InvalidOption, match=told):
            AsyncStream(quiet(), **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="latenes"):
        AsyncStream(quiet(), latenes=1.0)  # type: ignore[call-overload]
    with pytest.raises(InvalidOption, match="a source is a URL"):
        AsyncStream(3)  # type: ignore[call-overload]


def test_a_coroutine_function_is_no_listener():
    async def on_event(event: Event) -> None: ...

    with pytest.raises(InvalidOption, match="not a coroutine function"):
        AsyncStream(quiet(), on_event=on_event)


def test_a_model_is_applied_and_what_it_refuses_can_be_skipped():
    def model(image: dict[str, Any]) -> int:
        if image["n"] == 3:
            raise ValueError
        return int(image["n"])

    async def main() -> None:
        async with AsyncStream(family(), model=model, inline=True) as stream:
            assert [record.new for record in await stream.take(5, 60.0)] == [1, 2]
            for _ in range(2):
                with pytest.raises(PoisonRecord):
                    await stream.take(5, 60.0)
            await stream.skip()
            assert [record.new async for record in stream] == ALL[3:]
            assert stream.stats.poison == 1

    run(main())


def test_a_table_comes_whole():
    async def main() -> None:
        async with AsyncStream(quiet(), inline=True) as stream:
            table = await stream.to_arrow()
            assert [int(number) for number in table["sequence_number"].to_pylist()] == ALL
            assert stream.token["clock"] == 12

    run(main())


# -- gaps


def test_gaps_are_met_and_skipped_as_in_stream():
    async def main() -> None:
        token = None
        async with AsyncStream(quiet(), inline=True) as stream:
            assert numbers(await stream.take(2, 60.0)) == [1, 2]
            token = stream.token
        source = quiet()
        source._records["S0"] = source._records["S0"][3:]
        source.open_iterator = _trimmed(source.open_iterator)  # type: ignore[method-assign]
        async with AsyncStream(source, token, inline=True) as stream:
            for _ in range(2):
                with pytest.raises(RecordsExpired):
                    await anext(stream)
            await stream.skip()
            assert await until_quiet(stream) == ALL[3:]
            assert stream.stats.gaps == 1

    run(main())


def _trimmed(open_iterator: Callable[..., Any]) -> Callable[..., Any]:
    from streamiter.errors import PositionTrimmed
    from streamiter.position import After

    def opened(shard_id: str, position: Any) -> Any:
        if shard_id == "S0" and isinstance(position, After):
            raise PositionTrimmed("no longer held")
        return open_iterator(shard_id, position)

    return opened


# -- opening


def test_nothing_is_asked_before_the_first_await():
    source = quiet()
    asked = []
    source.on_fetch = lambda: asked.append(1)

    async def main() -> None:
        stream = AsyncStream(source, inline=True)
        assert repr(stream) == "<AsyncStream not opened yet>"
        assert (stream.ended, stream.stats.records, set(stream.lineage)) == (False, 0, set())
        with pytest.raises(StreamiterError, match=r"await its open\(\) first"):
            _ = stream.token
        assert not asked
        assert await stream.open() is stream
        assert repr(stream) == "<AsyncStream shelf>"
        assert stream.token["stream"] == "shelf"
        assert await until_quiet(stream) == ALL
        assert asked
        await stream.aclose()

    run(main())


def test_latest_is_found_at_the_first_await():
    async def main() -> None:
        async with AsyncStream(quiet(), "latest", inline=True) as stream:
            assert await until_quiet(stream) == []
            await stream.move_to("trim_horizon")
            assert await until_quiet(stream) == ALL
            await stream.move_to("latest")
            assert await stream.take(1, 3.0) == []

    run(main())


def test_an_opening_that_was_cancelled_is_done_again():
    async def main() -> None:
        source = Noting({"S0": ()}, {"S0": []}, stays_open=True)
        stream = AsyncStream(source, "latest")
        with pytest.raises(asyncio.CancelledError):
            await CancelledAt(2).run(stream.open())
        assert not source.closes
        await stream.open()
        assert stream.token["stream"] == "shelf"
        await stream.aclose()
        assert source.closes == 1

    asyncio.run(main())


class Noting(Shelf):
    """Counts how often it is closed."""

    closes = 0

    def close(self) -> None:
        self.closes += 1


def test_moved_before_it_was_opened_it_begins_there():
    async def main() -> None:
        stream = AsyncStream(quiet(), "latest", inline=True)
        await stream.move_to("trim_horizon")
        assert await until_quiet(stream) == ALL
        await stream.aclose()

    run(main())


def test_a_wrong_position_is_told_where_it_is_opened():
    async def opened(position: Any) -> None:
        await AsyncStream(quiet(), position, inline=True).open()

    with pytest.raises(InvalidPosition):
        run(opened("the day before"))
    with pytest.raises(InvalidToken):
        run(opened({"streamiter": 2}))


def test_lookups_that_fail_are_made_again_off_the_loop():
    async def main(inline: bool) -> list[threading.Thread]:
        threads = []

        class NotingThreads(Unsteady):
            @property
            def name(self) -> str:  # type: ignore[override]
                threads.append(threading.current_thread())
                return super().name

        stream = AsyncStream(NotingThreads({"S0": ()}, {"S0": []}), inline=inline)
        await stream.open()
        found = list(threads)
        await stream.aclose()
        return found

    assert set(run(main(inline=True))) == {threading.main_thread()}
    assert threading.main_thread() not in asyncio.run(main(inline=False))[:3]
