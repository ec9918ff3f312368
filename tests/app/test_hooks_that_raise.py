"""What users hang into a processor may raise, too: the policy decides, told with lease and place, and no other lease ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from streamiter import Halt, Ignore, InvalidOption, Quarantine, Retry
from streamiter.app import App, Poisoned, Policy, Retried, TimerFailed
from streamiter.errors import ProcessorFailed
from streamiter.testing import FleetOf, GivenRecords
from tests.app.rows import SOURCE, make_app

BAD = 6  # of shard-0; by its key 2 and 10 are of the same
EACH = [{"id": f"row-{n}", "n": n} for n in range(12)]
PLACE = "record 000000000000000000007"


def source() -> GivenRecords:
    """The even rows in one shard, the odd ones in the other."""
    given = GivenRecords(shards=2)
    for row in EACH:
        given.put(row, f"shard-{row['n'] % 2}")
    return given


class Trips:
    """Raises on one row: as often as it is told to."""

    def __init__(self, times: int = 10**9) -> None:
        self.left = times

    def over(self, row: Any) -> None:
        if row["n"] == BAD and self.left:
            self.left -= 1
            raise LookupError("it trips")


def hooks(trips: Trips) -> dict[str, dict[str, Any]]:
    def key(record: Any) -> Any:
        trips.over(record.new)
        return record.new["n"] % 4

    def unhashable(record: Any) -> Any:
        is_bad = record.new["n"] == BAD and trips.left
        trips.left -= bool(is_bad)
        return [] if is_bad else record.new["n"] % 4

    def where(record: Any) -> bool:
        trips.over(record.new)
        return True

    def model(row: Any) -> Any:
        trips.over(row)
        return row

    async def middleware(record: Any, call_next: Callable[[Any], Any]) -> None:
        trips.over(record.new)
        await call_next(record)

    async def cancelled(record: Any, call_next: Callable[[Any], Any]) -> None:
        try:
            trips.over(record.new)
        except LookupError:
            raise asyncio.CancelledError from None
        await call_next(record)

    ordered = {"order": "key", "key": lambda record: record.new["n"] % 4, "concurrency": 4}
    return {
        "key": ordered | {"key": key},
        "unhashable": ordered | {"key": unhashable},
        "where": {"where": where},
        "where by key": ordered | {"where": where},
        "model": {"model": model},
        "model by key": ordered | {"model": model},
        "middleware": {"middleware": [middleware]},
        "middleware by key": ordered | {"middleware": [middleware]},
        "cancelled": {"middleware": [cancelled]},
        "cancelled by key": ordered | {"middleware": [cancelled]},
        "where in total": {"order": "total", "where": where},
        "middleware in total": {"order": "total", "middleware": [middleware]},
    }


HOOKS = list(hooks(Trips()))


def app_with(hook: str, trips: Trips, on_error: Policy, found: list[int], events: list[Any] | None = None) -> App:
    app = make_app(on_event=None if events is None else events.append)

    @app.processor(SOURCE, on_error=on_error, **hooks(trips)[hook])
    async def work(record):
        await asyncio.sleep(0.01)
        found.append(int(record.new["n"]))

    return app


def in_order(found: list[int]) -> None:
    for rest in range(4):
        told = [number for number in found if number % 4 == rest]
        assert told == sorted(told)


@pytest.mark.parametrize("hook", HOOKS)
def test_halt_ends_the_app_with_the_place_and_nothing_comes_again(hook):
    found: list[int] = []
    trips = Trips()
    app = app_with(hook, trips, Halt(), found)
    lease = "total" if "total" in hook else "shard-0"
    with FleetOf(app, source(), workers=1, tolerates=ProcessorFailed) as fleet:
        fleet.run(20)
        assert not fleet.workers
        (process,) = fleet.processes
        assert isinstance(process.error, ProcessorFailed)
        assert f"{PLACE} of lease {lease}" in str(process.error)
        assert BAD not in found
        trips.left = 0
        fleet.join()
        fleet.catch_up()
    assert sorted(found) == list(range(12)), "each once"
    in_order(found)


@pytest.mark.parametrize("hook", HOOKS)
def test_ignore_passes_over_that_record_alone(hook):
    found: list[int] = []
    events: list[Any] = []
    app_with(hook, Trips(), Ignore(), found, events).test(source())
    assert sorted(found) == [number for number in range(12) if number != BAD]
    in_order(found)
    (told,) = [event for event in events if isinstance(event, Poisoned)]
    assert (told.place, told.verdict) == (PLACE, "ignore")


@pytest.mark.parametrize("hook", HOOKS)
def test_quarantine_stops_that_lease_alone(hook):
    found: list[int] = []
    result = app_with(hook, Trips(), Quarantine(), found).test(source(), until=20)
    assert BAD not in found
    assert result.events and any(isinstance(event, Poisoned) for event in result.events)
    if "total" not in hook:
        assert sorted(number for number in found if number % 2) == [1, 3, 5, 7, 9, 11]


@pytest.mark.parametrize("hook", HOOKS)
def test_retry_tries_again_and_keeps_the_order(hook):
    found: list[int] = []
    events: list[Any] = []
    app_with(hook, Trips(2), Retry(after=[1, 1, 1, 1]), found, events).test(source())
    assert sorted(found) == list(range(12))
    in_order(found)
    retried = [event for event in events if isinstance(event, Retried)]
    assert retried and all(event.place == PLACE for event in retried)


def test_what_has_no_key_yet_waits_for_all_before_it_and_all_behind_it_wait():
    found: list[int] = []
    app_with("key", Trips(1), Retry(after=[30]), found).test(GivenRecords(EACH))
    assert set(found[:BAD]) == set(range(BAD)) and found[BAD] == BAD


def test_a_policy_that_gives_no_verdict_stops_the_app_and_says_so():
    class Mute(Policy):
        def decide(self, failure, chance):
            return None

    with pytest.raises(ProcessorFailed, match=r"shard-0") as caught:
        app_with("middleware", Trips(), Mute(), []).test(source())
    assert "Mute" in str(caught.value.__cause__)


async def awaited(record: Any) -> bool:
    return True


@pytest.mark.parametrize("options", [{"where": awaited}, {"order": "key", "key": awaited}])
def test_where_and_key_that_would_have_to_be_awaited_are_refused(options):
    app = make_app()
    with pytest.raises(InvalidOption, match="def, not async def"):

        @app.processor(SOURCE, **options)
        def work(record):
            pass


@pytest.mark.parametrize("form", ["events", "timer", "leader"])
def test_a_function_that_awaits_what_was_cancelled_has_failed(form):
    app, found = make_app(), []

    async def fail_once() -> None:
        if not found:
            found.append("cancelled")
            raise asyncio.CancelledError

    if form == "events":

        @app.processor(SOURCE, on_error=Retry(after=[1]))
        async def work(events):
            async for record in events.records():
                await fail_once()
                found.append(int(record.new["n"]))
    else:

        @app.timer(1, on_leader=form == "leader")
        async def tick():
            await fail_once()
            found.append("tick")

        @app.processor(SOURCE)
        async def idle(record):
            pass

    result = app.test(EACH[:3], until=6.5)
    assert found[0] == "cancelled"
    if form == "events":
        assert found[1:] == [0, 1, 2]
    else:
        assert len(found) >= 4
        assert [event for event in result.events if isinstance(event, TimerFailed)]
